"""A backtest as files in a job or a run, and back again without torch; and the parts that are kept for the next one.

backtest.npz             everything, for pages
backtest.parquet         the tidy table: model, origin, horizon, action, metric, value
backtest.dyads.parquet   means over origins per pair and action
backtest.json            protocol, models in words, leaderboards
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trnn_core.errors import TRNNError
from trnn_core.evaluation.forecasters import RUN_NETWORK
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.results import BacktestResult
from trnn_core.evaluation.score_tables import summary
from trnn_core.evaluation.scoring import BROKEN, BlockScores
from trnn_core.files import with_no_error
from trnn_core.runs import layout
from trnn_core.runs.recorder import add_results
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore

log = logging.getLogger(__name__)
PARTS_BYTES = 500_000_000  # finished parts kept for later backtests, the newest of them

WHOLE = layout.BACKTEST_ARRAYS
_COMPACT = {"cell_sums": np.float32, "cell_n": np.int32, "table": np.float64}
_LABELS = (
    "words",
    "title",
    "simulated",
    "fingerprint",
    "dates",
    "actors",
    "actions",
    "calendar",
    "period",
    "kind",
    "licence",
)


def result_files(result: BacktestResult) -> dict[str, bytes]:
    """All files of a backtest by name."""
    names = [layout.BACKTEST_SCORES, layout.BACKTEST_DYADS]
    return {
        WHOLE: pack(result),
        names[0]: _parquet(result.table()),
        names[1]: _parquet(result.by_dyad()),
        layout.BACKTEST_ABOUT: (json.dumps(summary(result, names), indent=1) + "\n").encode(),
    }


def pack(result: BacktestResult) -> bytes:
    """One NPZ without objects: the labels as JSON, and each model's arrays."""
    about = {name: getattr(result, name) for name in _LABELS}
    about |= {"protocol": asdict(result.protocol), "models": list(result.scores)}
    arrays = {"about": np.array(json.dumps(about))}
    for n, scores in enumerate(result.scores.values()):
        for part in fields(BlockScores):
            array = getattr(scores, part.name)
            arrays[f"{n}.{part.name}"] = array.astype(_COMPACT.get(part.name, array.dtype))
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def unpack(content: bytes) -> BacktestResult:
    """What `pack` wrote."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            scores = {str(name): BlockScores.of(stored, f"{n}.") for n, name in enumerate(about["models"])}
        labels: dict[str, Any] = {name: tuple(v) if isinstance(v := about[name], list) else v for name in _LABELS}
        return BacktestResult(protocol=Protocol(**about["protocol"]), scores=scores, **labels)
    except BROKEN as e:
        raise TRNNError(
            f"A stored backtest must be an NPZ of scores with their labels. It is not ({e}); run the backtest again."
        ) from e


def read_stored(read: Callable[[str], bytes | None]) -> BacktestResult | None:
    """The backtest of a job or a run, given its way to read a file; None when there is none."""
    content = read(WHOLE)
    return None if content is None else unpack(content)


def _parquet(table: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    table.to_parquet(out, index=False, compression="zstd")
    return out.getvalue()


def parts_folder(store: RunStore) -> Path:
    return store.root / layout.TASKS / ".parts"


def drop_damaged(folder: Path, names: list[str]) -> None:
    """A part that cannot be read is scored again."""
    for path in (folder / f"{name}.npz" for name in names):
        if path.exists():
            try:
                BlockScores.load(path)
            except TRNNError as e:
                log.warning("part dropped: %s", e)
                with_no_error(path.unlink)


def trim_parts(folder: Path, limit: int = PARTS_BYTES) -> None:
    """Keep the newest parts within the limit."""
    total = 0
    for path in sorted(folder.glob("*.npz"), key=lambda p: p.stat().st_mtime_ns, reverse=True):
        total += path.stat().st_size
        if total > limit:
            with_no_error(path.unlink)


def attach(run: Run, result: BacktestResult, files: Mapping[str, bytes]) -> str:
    """Add a backtest to its run, for reports; one with the run's own network does not give way to one without."""
    if RUN_NETWORK not in result.scores and _has_network(run):
        return "The run keeps its earlier backtest, which has its own network in it."
    try:
        add_results(run, files)
        return "Added to the run."
    except TRNNError as e:
        return f"It could not be added to the run: {e}"


def _has_network(run: Run) -> bool:
    content = run.read_checked(layout.BACKTEST_ABOUT)
    try:
        return content is not None and RUN_NETWORK in json.loads(content)["models"]
    except (ValueError, KeyError, TypeError):
        return False

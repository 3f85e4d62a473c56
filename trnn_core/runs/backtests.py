"""A backtest as files in a job or a run, and back again without torch.

backtest.npz             everything, for pages
backtest.parquet         the tidy table: model, origin, horizon, action, metric, value
backtest.dyads.parquet   means over origins per pair and action
backtest.json            protocol, models in words, leaderboards
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pandas as pd

from trnn_core.errors import TRNNError
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.results import BacktestResult
from trnn_core.evaluation.scoring import BROKEN, BlockScores
from trnn_core.evaluation.tables import summary
from trnn_core.runs import layout

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
            scores = {
                str(name): BlockScores(**{f.name: stored[f"{n}.{f.name}"] for f in fields(BlockScores)})
                for n, name in enumerate(about["models"])
            }
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

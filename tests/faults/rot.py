"""Flip bits in, and cut the ends off, all files of a run: noticed or harmless, marked, and never the neighbour's fault."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd

from tests.campaign import Tally
from tests.training.small import SMALL
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.runs.execute import train_run
from trnn_core.runs.recorder import add_results
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore
from trnn_core.training.checkpoints import list_epochs, newest_good


def prepare(store: RunStore, series: RelationalSeries) -> None:
    """A finished run with every kind of result in it, one left in the middle, and a neighbour."""
    whole = store.create(SMALL.changed(**{"train.epochs": 4}), series, run_id="whole", name="Whole", tags=["a"])
    train_run(store, whole)
    table, arrays = io.BytesIO(), io.BytesIO()
    pd.DataFrame({"model": ["tgru"] * 50, "metric": ["mse"] * 50, "value": np.arange(50.0)}).to_parquet(table)
    np.savez_compressed(arrays, sender=np.arange(36.0).reshape(6, 6), method=np.array("occlusion"))
    add_results(whole, {"backtest.parquet": table.getvalue(), "explanation.npz": arrays.getvalue()})
    half = store.create(SMALL, series, run_id="half")
    train_run(store, half, control=lambda: "pause" if half.status().epoch >= 4 else None)
    train_run(store, store.create(SMALL.changed(**{"train.epochs": 2}), series, run_id="neighbour"))


def reading(run: Run) -> str:
    """All that a page, an export or a resume would learn from the run."""
    forecast = run.forecast()
    arrays = None if forecast is None else forecast.to_npz()
    weights = sorted((k, v.tobytes()) for k, v in (run.weights() or {}).items())
    more = [run.read_checked(name) for name in sorted(run.manifest())]
    snapshot = newest_good(run.folder / "checkpoints")[0]
    return repr(
        (
            run.config,
            run.labels(),
            run.status(),
            run.history(),
            run.summary(),
            arrays,
            weights,
            more,
            snapshot and snapshot.epoch,
        )
    )


def files_of(store: RunStore, run_id: str) -> list[Path]:
    """Every file of a run that says anything, the series it was trained on included."""
    run = store.get(run_id)
    mine = [p for p in run.folder.rglob("*") if p.is_file() and p.stat().st_size]
    return [*sorted(mine), store.series_path(run.config["data"]["fingerprint"])]


def spoil(content: bytes, cut: bool, rng: np.random.Generator) -> bytes:
    if cut:
        return content[: rng.integers(len(content))]
    spoilt = bytearray(content)
    spoilt[rng.integers(len(spoilt))] ^= 1 << rng.integers(8)
    return bytes(spoilt)


def rot_campaign(store: RunStore, series: RelationalSeries, n_flips: int, n_cuts: int, seed: int) -> Tally:
    """Every file gets its turn; each case is put right again before the next."""
    prepare(store, series)
    rng, tally, counts = np.random.default_rng(seed), Tally(), {"noticed": 0, "harmless": 0}
    before = {name: reading(store.get(name)) for name in ("whole", "half")}
    neighbour = reading(store.get("neighbour"))
    data = store.series_path(series.fingerprint)
    files = {name: files_of(store, name) for name in before}
    for case in range(n_flips + n_cuts):
        run_id = ("whole", "half")[case % 2]
        victim = files[run_id][(case // 2) % len(files[run_id])]
        content = victim.read_bytes()
        victim.write_bytes(spoil(content, case >= n_flips, rng))
        with tally.case(f"{run_id}/{victim.name} {'cut' if case >= n_flips else 'flipped'}"):
            noticed = (
                check_series(store, run_id, series)
                if victim == data
                else check_run(store, run_id, before[run_id], victim)
            )
            counts["noticed" if noticed else "harmless"] += 1
            beside = {run.run_id: run for run in RunStore(store.root).runs()}["neighbour"]
            assert beside.verify() == [] and reading(beside) == neighbour, "the neighbour is damaged too"
        victim.write_bytes(content)
    kinds = {p.name for found in files.values() for p in found}
    tally.figures = {
        "noticed": str(counts["noticed"]),
        "harmless": str(counts["harmless"]),
        "kinds of file": str(len(kinds)),
    }
    return tally


def check_series(store: RunStore, run_id: str, series: RelationalSeries) -> bool:
    """A damaged series is refused, or it is the same series (dates of a zip member, say)."""
    try:
        found = store.series(store.get(run_id))
    except TRNNError:
        return True
    assert found.fingerprint == series.fingerprint and (found.values == series.values).all(), "read as if it were whole"
    return False


def check_run(store: RunStore, run_id: str, before: str, victim: Path) -> bool:
    """Noticed: marked as damaged, with what can be saved. Not noticed: nothing anybody reads has changed."""
    fresh = RunStore(store.root)
    run = fresh.get(run_id)
    damage = run.verify()
    if not damage:
        assert reading(run) == before, "changed what is read, and nobody noticed"
        return False
    assert run_id in {r.run_id for r in fresh.runs()}, "not listed any more"
    status = run.status()
    assert status.state == "damaged", f"damaged but shown as {status.state}"
    if victim.name != "status.json":
        assert "Still whole: " in status.message, status.message
    epochs = list_epochs(run.folder / "checkpoints")
    snapshot, _, problems = newest_good(run.folder / "checkpoints")
    if victim.parent.name.isdigit():
        spoilt = int(victim.parent.name)
        assert snapshot is not None and snapshot.epoch != spoilt, "a damaged checkpoint is used"
        assert snapshot.epoch == max(e for e in epochs if e != spoilt), "not the previous good one"
        assert (spoilt < snapshot.epoch) or problems, "left out without a word"
    elif epochs:
        assert snapshot is not None and snapshot.epoch == epochs[-1]
    return True

"""A backtest as a task, in a real process: progress, stop, go on, results in task and run."""

from __future__ import annotations

import io
import os
import shutil

import numpy as np
import pandas as pd
import psutil
import pytest

from tests.jobs.dask_cluster import Cluster
from tests.jobs.ending import end_jobs, slot_process, until
from tests.trained_store import make_home
from trnn_core.errors import TRNNError
from trnn_core.evaluation.costs import estimate_seconds
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.rolling_origins import backtest
from trnn_core.export.material import read_backtest
from trnn_core.jobs.job import Job
from trnn_core.runs.backtests import pack, parts_folder, read_stored, trim_parts, unpack
from trnn_core.runs.store import RunStore
from trnn_core.verbs.as_job import start
from trnn_core.verbs.backtest import KIND, Request

SHORT = Protocol(min_origins=10, horizon=2)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_home(tmp_path_factory.mktemp("evaluate") / "home", n_actors=5, n_periods=90, epochs=1)


@pytest.fixture(scope="module")
def store(home):
    store = RunStore(home / "runs")
    yield store
    end_jobs(store)


def begin(store: RunStore, *models: str, protocol: Protocol = SHORT, **resources: object) -> Job:
    return start(store, KIND, Request.of_run(store.get("first"), models, protocol, **resources))


def ended(task: Job):
    until(lambda: not task.status().is_live, "the backtest must end", 120)
    return task.status()


def test_a_backtest_is_done_kept_and_added_to_its_run(store):
    task = begin(store, "persistence", "mean", "network")
    status = ended(task)
    assert status.state == "done", status
    assert status.message == "10 past weeks, 3 models. Added to the run."
    result = read_stored(task.read)
    series = store.series(store.get("first"))
    recipe = Request.of_run(store.get("first"), ["network"]).recipe
    here = backtest(series, {"persistence": {}, "mean": {}, "network": {"recipe": recipe}}, SHORT, each=lambda *_: None)
    pd.testing.assert_frame_equal(result.leaderboard(2), here.leaderboard(2))
    pd.testing.assert_frame_equal(result.misses("network"), here.misses("network"))
    assert (result.period, result.kind, result.simulated, result.words) == (
        "week",
        "count",
        True,
        SHORT.describe(series),
    )
    tidy = pd.read_parquet(io.BytesIO(task.read("backtest.parquet")))
    assert list(tidy.columns) == ["model", "origin", "horizon", "action", "metric", "value"]
    run = store.get("first")
    assert run.verify() == [] and read_backtest(run).table.equals(tidy) and "10 origins" in read_backtest(run).protocol
    assert read_stored(run.read_checked).leaderboard().equals(result.leaderboard())

    # A further model is added without scoring the others again, and one without the network does not replace it.
    before = {p.name: p.stat().st_mtime_ns for p in parts_folder(store).iterdir()}
    more = begin(store, "persistence", "mean", "ewma")
    assert (
        ended(more).message
        == "10 past weeks, 3 models. The run keeps its earlier backtest, which has its own network in it."
    )
    after = {p.name: p.stat().st_mtime_ns for p in parts_folder(store).iterdir()}
    assert before.items() <= after.items() and len(after) == len(before) + 1
    assert "network" in set(read_backtest(store.get("first")).table["model"])


def test_a_stopped_backtest_goes_on_where_it_was(store):
    protocol, models = Protocol(min_origins=40, refit_every=1), ("relational_ar", "ar", "nb_ewma")
    task = begin(store, *models, protocol=protocol)
    until(lambda: task.status().done > 0.02, "progress must be seen")
    assert task.status().state == "running" and "of 3)" in task.status().message
    task.stop()
    assert ended(task).state == "stopped"
    found = lambda: [p for m in models for p in parts_folder(store).glob(f"{m}-*")]  # noqa: E731
    kept = {p.name: p.stat().st_mtime_ns for p in found()}
    assert 2 <= len(kept) < 120
    damaged = found()[0]
    damaged.write_bytes(damaged.read_bytes()[:100])
    again = begin(store, *models, protocol=protocol)
    assert again.job_id == task.job_id and ended(again).state == "done"
    after = {p.name: p.stat().st_mtime_ns for p in found()}
    assert len(after) == 120 and all(after[n] == t for n, t in kept.items() if n != damaged.name)
    assert len(read_stored(task.read).dates) == 40


@pytest.mark.slow
def test_two_processes_and_a_cluster_that_loses_a_worker_give_the_bits_of_one(store, tmp_path, monkeypatch):
    cluster = Cluster(tmp_path, 2)
    monkeypatch.setenv("TRNN_CLUSTER", cluster.address)
    models, protocol = ("ewma", "network"), Protocol(min_origins=12, refit_every=2)
    recipe = Request.of_run(store.get("first"), ["network"]).recipe
    options = {name: {"recipe": recipe} if name == "network" else {} for name in models}
    here = backtest(store.series(store.get("first")), options, protocol, each=lambda *_: None)

    def done_with(stir=lambda: None, **resources: object) -> Job:
        shutil.rmtree(parts_folder(store), ignore_errors=True)  # nothing is taken from another's work
        task = start(store, KIND, Request.of_run(store.get("first"), models, protocol, **resources), fresh=True)
        until(
            lambda: len(list(parts_folder(store).glob("*.npz"))) >= 3 or not task.status().is_live, "parts must be kept"
        )
        stir()
        assert ended(task).state == "done", task.status()
        result = read_stored(task.read)
        for name in models:
            np.testing.assert_array_equal(result.scores[name].table, here.scores[name].table)
        return task

    alone = done_with(workers=2)
    assert read_stored(alone.read).made_on == ("this machine",)
    with cluster:
        there = done_with(cluster.kill_worker, cluster=True)
    assert there.job_id == alone.job_id
    assert read_stored(there.read).made_on == (f"cluster 127.0.0.1:{cluster.port}",)


@pytest.mark.slow
def test_a_backtest_on_two_processes_stops_when_asked_and_tells_of_a_cluster_that_is_not_there(store, monkeypatch):
    monkeypatch.setenv("TRNN_CLUSTER", "tcp://127.0.0.1:9")
    task = begin(store, "network", "mltr", protocol=Protocol(min_origins=40, refit_every=1), workers=2)
    until(lambda: "scored" in task.status().message, "progress must be seen")
    share = task.status().done
    task.stop()
    assert 0 < share < 1 and ended(task).state == "stopped"
    process = psutil.Process(slot_process(store, "backtest")["pid"])
    until(
        lambda: not [p for p in process.children(recursive=True) if "spawn_main" in " ".join(p.cmdline())],
        "no process is left at work",
    )
    lost = begin(store, "seasonal", protocol=Protocol(min_origins=11), cluster=True)
    assert ended(lost).state == "failed" and "does not answer" in lost.status().message


def test_what_cannot_be_scored_says_so(store):
    task = begin(store, "persistence", protocol=Protocol(min_origins=80))
    assert ended(task).state == "failed" and "needs at least 160 periods. Got 90" in task.status().message
    with pytest.raises(TRNNError, match="must be one of"):
        begin(store, "nonsense")
    with pytest.raises(TRNNError, match="choose a run"):
        Request(fingerprint="f" * 64, models=("network",))
    with pytest.raises(TRNNError, match="at least one model"):
        Request(fingerprint="f" * 64, models=())


def test_the_largest_misses_are_the_largest(store):
    series = store.series(store.get("first"))
    result = backtest(series, ["persistence"], SHORT, each=lambda *_: None)
    level, off = np.log1p(series.values), ~np.eye(5, dtype=bool)
    errors = [((level[t + 1] - level[t]) ** 2)[off] for t in SHORT.origins(len(series))]
    found = result.misses("persistence", n=3)
    np.testing.assert_allclose(found["error"], np.sort(np.concatenate(errors).ravel())[::-1][:3], rtol=1e-5)
    first = found.iloc[0]
    t = list(series.dates.astype(str)).index(first["period"])
    i, j, k = (
        series.actors.index(first["source"]),
        series.actors.index(first["target"]),
        series.actions.index(first["action"]),
    )
    assert series.values[t, i, j, k] == first["observed"] and first["lower"] <= first["upper"]
    assert set(result.misses("persistence", 2, series.actions[1])["action"]) == {series.actions[1]}


def test_a_stored_backtest_that_is_damaged_is_refused(store):
    result = backtest(store.series(store.get("first")), ["mean"], SHORT, each=lambda *_: None)
    content = pack(result)
    assert unpack(content).leaderboard().equals(result.leaderboard())
    for bad in (content[:300], b"", b"PK\x03\x04", content[:5000] + bytes(200) + content[5200:]):
        with pytest.raises(TRNNError, match="run the backtest again"):
            unpack(bad)


def test_longer_backtests_are_estimated_longer():
    shape = (548, 25, 25, 4)
    short = estimate_seconds(["persistence"], shape, Protocol())
    assert short < estimate_seconds(["persistence", "mltr"], shape, Protocol())
    assert short < estimate_seconds(["persistence"], shape, Protocol(refit_every=10))
    assert short < estimate_seconds(["persistence"], (548, 50, 50, 4), Protocol())


def test_parts_stay_within_their_limit(tmp_path):
    for n in range(4):
        (tmp_path / f"{n}.npz").write_bytes(bytes(100))
        os.utime(tmp_path / f"{n}.npz", (n, n))
    trim_parts(tmp_path, limit=250)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2.npz", "3.npz"]

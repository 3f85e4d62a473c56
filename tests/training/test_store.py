"""The run store: list, filter, rename, tag, compare, throw away; shared by many processes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.small import TINY
from trnn_core.errors import TRNNError
from trnn_core.files import lock
from trnn_core.runs.run import HISTORY_COLUMNS, load_run, parse_history
from trnn_core.runs.store import RunStore

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture(scope="module")
def trained(small_series, tmp_path_factory):
    from trnn_core.runs.execute import train_run

    store = RunStore(tmp_path_factory.mktemp("trained"))
    run = store.create(TINY, small_series, run_id="done", name="First")
    train_run(store, run)
    return store


def test_a_run_carries_everything(trained):
    run = load_run("done", trained.root)
    assert run.status().state == "finished" and run.verify() == []
    assert [tuple(row) for row in run.history()] == [HISTORY_COLUMNS] * 2
    assert run.recipe.train == TINY.train and run.config["data"]["simulated"] is True
    assert set(run.manifest()) == {
        "config.json",
        "history.jsonl",
        "weights.safetensors",
        "hindcast.npz",
        "forecast.npz",
        "summary.json",
    }
    assert list(run.history_frame().columns) == list(HISTORY_COLUMNS)


def test_runs_are_listed_newest_first_and_filtered(store, small_series):
    for name in ("one", "two", "three"):
        store.create(TINY, small_series, run_id=name, tags=["odd"] if name != "two" else [])
    assert {r.run_id for r in store.runs()} == {"one", "two", "three"}
    assert {r.run_id for r in store.runs(tag="odd")} == {"one", "three"}
    assert [r.run_id for r in store.runs(text="THREE")] == ["three"]
    assert store.runs(state="finished") == [] and len(store.runs(state="queued")) == 3
    store.rename("one", "  A name\nwith <b>anything</b> ")
    store.tag("one", add=["fine"], remove=["odd"])
    assert store.get("one").name == "A name with <b>anything</b>" and store.get("one").tags == ("fine",)
    assert [r.run_id for r in store.runs(text="anything")] == ["one"]


@pytest.mark.parametrize("run_id", ["../evil", "a/b", ".hidden", "x" * 81, "", "a\0b", "naïve", "-x", "a b"])
def test_an_id_can_never_lead_out_of_the_store(store, small_series, run_id):
    for act in (lambda: load_run(run_id, store.root), lambda: store.create(TINY, small_series, run_id=run_id or "/")):
        with pytest.raises(TRNNError, match="run id must be"):
            act()


def test_a_taken_id_is_refused_and_the_run_untouched(store, small_series):
    run = store.create(TINY, small_series, run_id="mine")
    before = (run.folder / "config.json").read_bytes()
    with pytest.raises(TRNNError, match="already a run 'mine'"):
        store.create(TINY.changed(**{"train.seed": 9}), small_series, run_id="mine")
    assert (run.folder / "config.json").read_bytes() == before


def test_deleted_runs_wait_in_the_trash(store, small_series):
    store.create(TINY, small_series, run_id="gone")
    store.delete("gone")
    assert store.runs() == [] and len(store.trash()) == 1
    with pytest.raises(TRNNError, match="no run 'gone'"):
        store.get("gone")
    assert store.restore("gone").run_id == "gone"
    store.delete("gone")
    assert store.empty_trash() > 0 and store.trash() == []
    with pytest.raises(TRNNError, match="in the trash"):
        store.restore("gone")


def test_a_run_at_work_is_not_deleted(store, small_series):
    run = store.create(TINY, small_series, run_id="busy")
    with lock(run.folder / ".lock", ""), pytest.raises(TRNNError, match="stop or cancel it before"):
        store.delete("busy")


def test_two_trainers_on_one_run_is_refused_and_nothing_lost(store, small_series):
    from trnn_core.runs.execute import train_run

    run = store.create(TINY, small_series)
    with lock(run.folder / ".lock", ""), pytest.raises(TRNNError, match="already being trained by another process"):
        train_run(store, run)
    assert run.status().state == "queued" and run.verify() == []
    assert train_run(store, run).state == "finished"


def test_compare_shows_what_differs(store, trained, small_series):
    trained.create(TINY.changed(**{"train.seed": 3}), small_series, run_id="other")
    table = trained.compare(["done", "other"])
    assert table["done"]["train.seed"] == 5 and table["other"]["train.seed"] == 3
    assert "train.epochs" not in table["done"] and table["done"]["state"] == "finished"


def test_the_series_is_stored_once_and_checked(store, small_series):
    a, b = (store.create(TINY, small_series) for _ in range(2))
    assert len(list((store.root / ".data").glob("*.npz"))) == 1
    assert store.series(a).fingerprint == small_series.fingerprint == store.series(b).fingerprint
    path = store.series_path(small_series.fingerprint)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(TRNNError):
        store.series(a)


def test_usage_adds_up(trained):
    usage = trained.disk_usage()
    assert usage["total"] == sum(n for name, n in usage.items() if name != "total") and usage["done"] > 1000


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "history.jsonl",
        "weights.safetensors",
        "forecast.npz",
        "summary.json",
        "status.json",
        "manifest.json",
    ],
)
def test_a_flipped_bit_anywhere_in_a_finished_run_is_noticed(trained, name):
    run = trained.get("done")
    path = run.folder / name
    whole = path.read_bytes()
    try:
        for place in (len(whole) // 3, len(whole) // 2, len(whole) - 4):
            content = bytearray(whole)
            content[place] ^= 16
            path.write_bytes(content)
            assert trained.get("done").verify(), f"{name}, byte {place}"
            path.write_bytes(whole[: len(whole) // 2])
            assert trained.get("done").verify(), f"{name}, truncated"
    finally:
        path.write_bytes(whole)
    assert trained.get("done").verify() == []


def test_a_run_with_damaged_settings_lives_on_their_copy(store, small_series):
    run = store.create(TINY, small_series, run_id="hurt")
    (run.folder / "config.json").write_bytes(b"{}")
    hurt = store.get("hurt")
    assert hurt.recipe.train == TINY.train and any("config.json" in problem for problem in hurt.verify())
    assert [r.run_id for r in store.runs()] == ["hurt"]


def test_results_are_added_with_their_checksum(trained, tmp_path):
    from trnn_core.runs.recorder import add_results

    shutil.copytree(trained.root / "done", tmp_path / "done")
    run = RunStore(tmp_path).get("done")
    add_results(run, {"backtest.parquet": b"PAR1...PAR1"})
    assert run.read_checked("backtest.parquet") == b"PAR1...PAR1" and "backtest.parquet" in run.manifest()
    (run.folder / "backtest.parquet").write_bytes(b"PAR1..!PAR1")
    with pytest.raises(TRNNError, match="does not match its checksum"):
        run.read_checked("backtest.parquet")
    with pytest.raises(TRNNError, match="whole runs only"):
        add_results(run, {"more.npz": b""})
    (run.folder / "backtest.parquet").write_bytes(b"PAR1...PAR1")
    for name in ("../x", "status.json", ".lock"):
        with pytest.raises(TRNNError, match="plain file name"):
            add_results(run, {name: b""})


def test_a_torn_last_line_is_left_out():
    rows = [{"epoch": 1, "train_loss": 0.5}, {"epoch": 2, "train_loss": 0.4}]
    whole = "".join(json.dumps(r) + "\n" for r in rows).encode()
    assert parse_history(whole) == rows
    for cut in range(len(whole)):
        assert parse_history(whole[:cut]) == rows[: whole[:cut].count(b"\n")]


def test_eight_processes_on_one_store_lose_and_double_nothing(store, small_series):
    store.create(TINY, small_series, run_id="shared")
    code = (
        "import sys; from trnn_core.runs.store import RunStore; from trnn_core.data.readers.npz import read_npz\n"
        "from tests.training.small import TINY\nfrom trnn_core.errors import TRNNError\n"
        "store = RunStore(sys.argv[1]); series = store.series(store.get('shared')); won = 0\n"
        "for i in range(5): store.create(TINY, series, tags=[sys.argv[2]])\n"
        "for i in range(10):\n"
        "  try: store.create(TINY, series, run_id=f'contested-{i}', name=sys.argv[2]); won += 1\n"
        "  except TRNNError: pass\n"
        "for i in range(3):\n"
        "  while True:\n"
        "    try: store.tag('shared', add=[f'{sys.argv[2]}-{i}']); break\n"
        "    except TRNNError: pass\n"
        "print(won)"
    )
    jobs = [
        subprocess.Popen([sys.executable, "-c", code, str(store.root), f"p{i}"], cwd=ROOT, stdout=subprocess.PIPE)
        for i in range(8)
    ]
    won = sum(int(job.communicate(timeout=100)[0]) for job in jobs)
    assert won == 10  # each contested id went to exactly one
    assert len(store.runs()) == 1 + 8 * 5 + 10
    assert all(run.verify() == [] for run in store.runs())
    assert set(store.get("shared").tags) == {f"p{i}-{j}" for i in range(8) for j in range(3)}
    assert not list(store.root.glob(".tmp-*"))

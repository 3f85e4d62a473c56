"""Rot: a flipped bit or a lost end in any file of a run is noticed, or changes nothing that anybody reads."""

from __future__ import annotations

import shutil

import pytest

from tests.faults.rot import prepare, rot_campaign
from trnn_core.runs.checkup import Checkup
from trnn_core.runs.execute import train_run
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore


def test_rot_is_noticed_or_harmless(small_series, tmp_path):
    tally = rot_campaign(RunStore(tmp_path), small_series, n_flips=100, n_cuts=20, seed=0)
    assert tally.failures == [] and tally.tried == 120
    assert int(tally.figures["noticed"]) > 80 and int(tally.figures["kinds of file"]) >= 14


@pytest.fixture(scope="module")
def store(small_series, tmp_path_factory):
    made = RunStore(tmp_path_factory.mktemp("rot"))
    prepare(made, small_series)
    return made


def test_a_damaged_run_says_so_and_what_is_left(store, tmp_path):
    shutil.copytree(store.root, tmp_path / "copy")
    copy = RunStore(tmp_path / "copy")
    forecast = copy.root / "whole" / "forecast.npz"
    forecast.write_bytes(forecast.read_bytes()[:-9])
    status = copy.get("whole").status()
    assert status.state == "damaged" and "forecast.npz is damaged" in status.message
    assert "Still whole: settings, history, weights, scores, checkpoint. Resume" in status.message
    assert {r.run_id for r in copy.runs(state="damaged")} == {"whole"}
    for path in (copy.root / "half").glob("config*.json"):
        path.write_bytes(b"\xff")
    assert {run.run_id for run in copy.runs()} == {"whole", "half", "neighbour"}
    assert copy.get("neighbour").status().state == "finished" and len(copy.get("half").verify()) >= 2
    status = train_run(copy, copy.get("whole"))  # from its last checkpoint: the forecast is made again
    assert status.state == "finished" and copy.get("whole").verify() == []


def test_a_whole_run_is_not_read_again_at_every_look(store, monkeypatch):
    looks = []
    verify = Run.verify
    monkeypatch.setattr(Run, "verify", lambda self: looks.append(self.run_id) or verify(self))
    fresh = RunStore(store.root)
    for _ in range(3):
        assert fresh.get("whole").status().state == "finished"
    assert looks == ["whole"]
    (store.root / "whole" / "labels.json").touch()
    fresh.get("whole").status()
    assert looks == ["whole"] * 2
    fresh.checkup = Checkup(again=-1.0)
    fresh.get("whole").status(), fresh.get("whole").status()
    assert looks == ["whole"] * 4

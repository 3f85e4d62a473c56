"""A search kept by a real PostgreSQL server: the same as in a file, and shared by several machines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import optuna
import pytest

from tests.jobs.dask_cluster import ROOT
from tests.training.postgres import server
from tests.training.test_tuning import CONFIG, outcome
from trnn_core.data.readers.npz import write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.runs.optuna_storage import storage_address
from trnn_core.runs.tuning import tune

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with server() as found:
        yield found


def test_a_search_in_postgresql_is_that_of_a_file(address: str, small_series: RelationalSeries, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as here:
        kept = tune(small_series, CONFIG, tmp_path / "a" / "equal", here, storage=address)
        assert not (tmp_path / "a" / "equal" / "study.db").exists()
        assert outcome(kept) == outcome(tune(small_series, CONFIG, tmp_path / "b" / "equal", here))
    assert "127.0.0.1" not in (tmp_path / "a" / "equal" / "study.json").read_text()


def test_two_machines_share_a_search_and_one_that_is_killed_goes_on(
    address: str, small_series: RelationalSeries, tmp_path: Path
) -> None:
    write_npz(small_series, tmp_path / "x.npz")
    environment = {**os.environ, "TRNN_STUDIES": address, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}

    def machine(name: str) -> subprocess.Popen[str]:
        command = [
            sys.executable,
            "-m",
            "trnn_core",
            "tune",
            "--data",
            str(tmp_path / "x.npz"),
            "--runs",
            str(tmp_path / name),
            "--study",
            "shared",
            "--trials",
            "10",
            "--batch",
            "2",
            "--workers",
            "1",
            "--set",
            "train.epochs=5",
            "--search",
            "data.window=3:9",
            "--search",
            "train.learning_rate=0.001:0.1:log",
            "--json",
        ]
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    first, second = machine("one"), machine("two")
    study_file = tmp_path / "one" / ".studies" / "shared" / "study.json"
    while not study_file.exists() and first.poll() is None:
        time.sleep(0.1)
    first.send_signal(signal.SIGKILL)
    first.wait()
    again = machine("one")
    results = [p.communicate(timeout=240) for p in (second, again)]
    assert second.returncode == 0 and again.returncode == 0, results
    assert json.loads(results[0][0])["best"] is not None
    study = optuna.load_study(study_name="shared", storage=storage_address(address, tmp_path))
    states = [t.state.name for t in study.trials]
    assert len(states) >= 10 and "RUNNING" not in states and "FAIL" not in states
    assert len({t.user_attrs["owner"] for t in study.trials}) == 2


def test_a_server_that_does_not_answer_is_told_without_its_password(
    small_series: RelationalSeries, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as here, pytest.raises(TRNNError, match="PostgreSQL server does not answer") as told:
        tune(small_series, CONFIG, tmp_path / "s", here, storage="postgresql://trnn:secret@127.0.0.1:9/x")
    assert "secret" not in str(told.value)

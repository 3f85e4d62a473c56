"""One interface for local processes and a Dask cluster: the same bits, nothing lost, nothing counted twice."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import as_completed
from pathlib import Path

import psutil
import pytest

from tests.jobs.dask_cluster import ROOT, Cluster
from tests.jobs.executor_tasks import die, die_once, refuse, tally, threads
from trnn_core.errors import TRNNError
from trnn_core.jobs.executors import cluster_address, open_executor, operators_address


def expected(folder: Path, numbers: range) -> list[tuple[int, float]]:
    other = folder / "expected"
    other.mkdir()
    return [tally(str(other), n) for n in numbers]


def test_a_killed_process_is_replaced_and_every_result_comes_once(tmp_path: Path) -> None:
    with open_executor(workers=2) as executor:
        futures = [executor.submit(die_once if n in (1, 4) else tally, str(tmp_path), n) for n in range(6)]
        done = [future.result() for future in as_completed(futures)]
    assert sorted(done) == expected(tmp_path, range(6))
    assert (tmp_path / "died-1").exists() and (tmp_path / "died-4").exists()


def test_a_task_that_kills_every_process_ends_with_a_sentence_and_the_others_are_not_waited_for() -> None:
    began = time.monotonic()
    with (
        pytest.raises(TRNNError, match="broke down 3 times without finishing a task"),
        open_executor(workers=1) as executor,
    ):
        executor.submit(die, 0).result()
    assert time.monotonic() - began < 60


def test_an_error_of_a_task_is_its_own_and_threads_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with open_executor(workers=1) as executor:
        bad, good = executor.submit(refuse, 3), executor.submit(threads)
        with pytest.raises(TRNNError, match=r"must be even\. Got 3"):
            bad.result()
        assert good.result() == ("1", 1)
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_processes_end_with_a_killed_parent(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom trnn_core.jobs.executors import open_executor\n"
        "from tests.jobs.executor_tasks import tally\n"
        "if __name__ == '__main__':\n"
        f"    with open_executor(workers=1) as executor:\n        executor.submit(tally, {str(tmp_path)!r}, 0).result()\n"
        "        print('ready', flush=True)\n        time.sleep(60)\n"
    )
    script = tmp_path / "parent.py"
    script.write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, cwd=ROOT, env=environment)
    assert parent.stdout is not None and parent.stdout.readline() == b"ready\n"
    children = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert children and not alive


@pytest.mark.parametrize("text", ["here", "http://x:1", "tcp://host", "8786:"])
def test_a_wrong_address_is_told(text: str) -> None:
    with pytest.raises(TRNNError, match=r"must look like tcp://10\.0\.0\.1:8786"):
        cluster_address(text)


def test_the_address_comes_from_the_argument_then_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRNN_CLUSTER", raising=False)
    assert cluster_address() is None
    monkeypatch.setenv("TRNN_CLUSTER", "lab:8786")
    assert cluster_address() == "tcp://lab:8786" and cluster_address("tls://other:1") == "tls://other:1"
    assert cluster_address("") is None, "an emptied field means this machine"


def test_work_of_a_page_is_done_on_the_operators_cluster_or_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRNN_CLUSTER", "lab:8786")
    assert operators_address(True) == "tcp://lab:8786"
    assert operators_address(bool("tcp://planted:1")) == "tcp://lab:8786", (
        "an address that an older page stored is no more"
    )
    assert operators_address(False) == ""
    monkeypatch.delenv("TRNN_CLUSTER")
    with pytest.raises(TRNNError, match="TRNN_CLUSTER names none"):
        operators_address(True)


def test_on_a_cluster_a_worker_killed_in_mid_sweep_and_a_restarted_scheduler_lose_nothing(tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster", 2) as cluster:
        done: list[tuple[int, float]] = []
        with open_executor(cluster.address) as executor:
            futures = [executor.submit(tally, str(tmp_path), n, 0.25) for n in range(16)]
            for future in as_completed(futures):
                done.append(future.result())
                if len(done) == 3:
                    cluster.kill_worker()
                if len(done) == 7:
                    cluster.restart_scheduler()
    assert sorted(done) == expected(tmp_path, range(16))
    began = [p.name.split("-")[1] for p in tmp_path.glob("began-*")]
    assert len(began) > 16, "a killed worker's task has been begun a second time"


def test_a_cluster_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnn_core.jobs.cluster.CONNECT_SECONDS", 0.5)
    with pytest.raises(TRNNError, match="does not answer"), open_executor("tcp://127.0.0.1:9"):
        pass

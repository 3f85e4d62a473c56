"""A cluster may fail us, it may lie about numbers; it may not run anything where its answers are read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.dask_cluster import ROOT, Cluster
from tests.jobs.executor_tasks import die, own_class, tally, wrong_kind
from tests.jobs.hostile_cluster import SCHEDULER, WORKER
from trnn_core.errors import TRNNError
from trnn_core.jobs.executors import open_executor

PLAIN_CLIENT = """
import sys
from distributed import Client
from tests.jobs.executor_tasks import tally
from trnn_core.jobs.cluster import do_task, pack
with Client(sys.argv[1], timeout=10) as client:
    task = client.submit(do_task, "tests.jobs.executor_tasks:tally", {}, pack(sys.argv[2]), pack(1), pack(1.0))
    task.result(timeout=10)
"""
IGNORED = ("type", "warning")  # what we do not even look at: the true answer is taken


def hostile(folder: Path, where: str) -> tuple[Cluster, Path]:
    mark = folder / "opened"
    return Cluster(folder / "c", 1, "tests.jobs.hostile_cluster", HOSTILE=where, HOSTILE_MARK=str(mark)), mark


@pytest.mark.parametrize("where", [*SCHEDULER, *WORKER])
def test_nothing_that_a_cluster_sends_is_run_and_the_person_is_told_in_a_sentence(where: str, tmp_path: Path) -> None:
    cluster, mark = hostile(tmp_path, where)
    with cluster:
        said = ""
        try:
            with open_executor(cluster.address) as executor:
                assert executor.submit(tally, str(tmp_path), 1, 1.0).result(60) == tally(str(tmp_path), 1)
        except TRNNError as e:
            said = str(e)
    assert not mark.exists(), "code of the cluster's choosing was run in the client"
    if where in IGNORED:
        assert said == ""
    elif where == "error":
        assert "cannot begin a task" in said
    else:
        assert "sent code where data were expected; it was not run" in said


@pytest.mark.slow
@pytest.mark.parametrize("where", [*SCHEDULER, *WORKER])
def test_the_attacks_are_real_a_plain_client_falls_for_each(where: str, tmp_path: Path) -> None:
    cluster, mark = hostile(tmp_path, where)
    with cluster:
        subprocess.run(
            [sys.executable, "-c", PLAIN_CLIENT, cluster.address, str(tmp_path)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=120,
        )
    assert mark.exists()


def test_answers_of_another_kind_own_classes_and_deadly_tasks_are_told(tmp_path: Path) -> None:
    environment = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with Cluster(tmp_path / "c", 2, **environment) as cluster, open_executor(cluster.address) as executor:
        with pytest.raises(TRNNError, match="data of the kind that was asked for"):
            executor.submit(wrong_kind).result(60)
        with pytest.raises(TRNNError, match=r"Only data can be sent to a cluster\. Got a \w*Path instead"):
            executor.submit(own_class, tmp_path).result(60)
        with pytest.raises(TRNNError, match="ended several workers of the cluster at tcp"):
            executor.submit(die, 1).result(60)
        assert executor.submit(tally, str(tmp_path), 2).result(60) == tally(str(tmp_path), 2)

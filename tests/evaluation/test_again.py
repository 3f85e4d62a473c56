"""Scored twice on one machine, every model of the benchmark gives the same bits, whatever else differs between the runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.models.test_baselines import make_series
from trnn_core.data.readers.npz import write_npz
from trnn_core.evaluation.forecasters import names

RUN = """
import hashlib, json, sys
from dataclasses import fields
from pathlib import Path
from trnn_core.data.readers.npz import read_npz
from trnn_core.evaluation.rolling_origins import backtest
from trnn_core.evaluation.forecasters import names
from trnn_core.evaluation.protocol import Protocol

series = read_npz(Path(sys.argv[1]))
order = sorted(names(), reverse=sys.argv[2] == "backwards")
result = backtest(series, order, Protocol(min_origins=8, horizon=2), workers=1)
digests = {}
for name, scores in result.scores.items():
    arrays = b"".join(getattr(scores, f.name).tobytes() for f in fields(scores))
    digests[name] = hashlib.sha256(arrays).hexdigest()
print(json.dumps(digests))
"""


@pytest.fixture(scope="module")
def twice(tmp_path_factory) -> list[dict[str, str]]:
    """Two processes at the same time, with other hash seeds and threads asked for, going through the models the other way."""
    path = write_npz(make_series(100), tmp_path_factory.mktemp("again") / "small.npz")
    root = Path(__file__).resolve().parents[2]
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, str(path), order],
            cwd=root,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads},
        )
        for order, seed, threads in (("forwards", "1", "1"), ("backwards", "2", "2"))
    ]
    found = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    return [json.loads(text.splitlines()[-1]) for text in found]


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_a_second_run_gives_the_same_bits(twice, name):
    assert twice[0][name] == twice[1][name]

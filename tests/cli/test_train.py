"""The verbs of training, as a person types them."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.training.small import SMALL
from trnn_core.cli import main
from trnn_core.data.readers.npz import write_npz
from trnn_core.runs.store import RunStore
from trnn_core.training.recipes import read_recipe, write_recipe

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys, small_series):
    """Type a command in a folder with a series and a recipe; returns exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRNN_RUNS", raising=False)
    write_npz(small_series, tmp_path / "x.npz")
    write_recipe(SMALL, tmp_path / "small.toml")

    def run(line: str) -> tuple[int, str, str]:
        code = main(line.split())
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


TRAIN = "train --data x.npz --recipe small.toml --set train.epochs=2 --run-id one"


def test_train_writes_plain_lines_when_piped(typed):
    code, out, err = typed(TRAIN)
    assert code == 0 and out.startswith("Finished: ")
    lines = [line for line in err.splitlines() if line.startswith("epoch")]
    assert len(lines) == 2 and "\r" not in err and "ETA 0:00:00" in lines[-1] and "validation" in lines[-1]


def test_train_answers_in_json(typed):
    code, out, err = typed(TRAIN + " --json")
    answer = json.loads(out)
    assert code == 0 and err == "" and answer["run_id"] == "one" and len(answer["history"]) == 2
    assert answer["status"]["state"] == "finished" and answer["summary"]["test"]["n_origins"] > 0


def test_a_recipe_file_reproduces_a_run(typed):
    typed(TRAIN)
    assert typed("runs recipe one again.toml")[0] == 0
    assert read_recipe(Path("again.toml")).train.epochs == 2
    assert typed("train --data x.npz --recipe again.toml --run-id two")[0] == 0
    store = RunStore("runs")
    assert store.get("one").read_checked("weights.safetensors") == store.get("two").read_checked("weights.safetensors")


def test_runs_are_listed_shown_changed_and_deleted(typed):
    typed(TRAIN + " --name First --tag trial")
    code, out, _ = typed("runs")
    assert code == 0 and "First" in out and "finished" in out and "2/2" in out
    assert json.loads(typed("runs --json --tag trial")[1])[0]["run"] == "one"
    assert json.loads(typed("runs --json --state running")[1]) == []
    assert json.loads(typed("runs show one")[1])["recipe"]["train"]["epochs"] == 2
    assert typed("runs rename one Another name")[0] == 0 and "Another name" in typed("runs")[1]
    assert typed("runs verify") == (0, "one: whole\n", "")
    assert json.loads(typed("runs usage")[1])["one"] > 0
    assert typed("runs delete one")[0] == 0 and "No runs" in typed("runs")[1]
    assert typed("runs restore one")[0] == 0 and typed("runs delete one")[0] == 0
    assert "freed" in typed("runs empty-trash")[1]


def test_forecast_writes_a_table(typed, small_series):
    typed(TRAIN)
    assert typed("forecast one --horizon 2 --out f.csv")[0] == 0
    rows = list(csv.DictReader(io.StringIO(Path("f.csv").read_text(encoding="utf-8-sig"))))
    assert len(rows) == 2 * 6 * 5 * 4 and rows[0]["data"] == "simulated"
    assert {row["date"] for row in rows} == {str(d) for d in small_series.next_dates(2)}
    assert all(float(r["lower"]) <= float(r["median"]) <= float(r["upper"]) for r in rows)
    assert typed("forecast one --horizon 10 --out far.csv")[0] == 0
    assert len(Path("far.csv").read_text().splitlines()) == 10 * 6 * 5 * 4 + 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("train", "needs data"),
        ("train --data none.npz", "none.npz"),
        ("train --data x.npz --preset best", "A preset must be one of quick"),
        ("train --data x.npz --set epochs=3", "named data.NAME"),
        ("train --data x.npz --set train.epochs", "must be NAME=VALUE"),
        ("train --data x.npz --set train.epochs=0", "'train.epochs' must be at least 1"),
        ("train --data x.npz --set train.epoch=3", "did you mean 'train.epochs'"),
        ("train --data x.npz --run-id ../x", "run id must be"),
        ("train --resume none", "no run 'none'"),
        ("train --resume none --set train.epochs=3", "keeps its own data and settings"),
        ("forecast none", "no run 'none'"),
        ("stop none", "no run 'none'"),
        ("runs show", "needs a run"),
        ("worker --limit 0", "at least 1"),
    ],
)
def test_mistakes_are_one_sentence_and_code_2(typed, line, words):
    code, out, err = typed(line)
    assert code == 2 and words in err and "Traceback" not in err and len(err.strip().splitlines()) == 1 and out == ""


def test_forecast_and_resume_of_the_wrong_run_are_told(typed, small_series):
    RunStore("runs").create(SMALL, small_series, run_id="fresh")
    assert "no forecast yet: it is queued" in typed("forecast fresh")[2]
    typed(TRAIN)
    assert "start a new run with more epochs" in typed("train --resume one")[2]


def test_ctrl_c_on_a_terminal_stops_cleanly_and_resume_goes_on(typed, small_series):
    """A real terminal (pty): a bar that redraws itself; Ctrl-C keeps the best weights; resume ends as if never stopped."""
    RunStore("runs").create(SMALL.changed(**{"train.epochs": 100000}), small_series, run_id="long")
    control, terminal = pty.openpty()
    command = [sys.executable, "-m", "trnn_core", "train", "--resume", "long", "--runs", str(Path("runs").resolve())]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
    )
    os.close(terminal)
    run, deadline = RunStore("runs").get("long"), time.monotonic() + 60
    seen = b""
    while run.status().epoch < 3 and time.monotonic() < deadline:
        seen += os.read(control, 65536)
    process.send_signal(signal.SIGINT)
    while process.poll() is None:
        try:
            seen += os.read(control, 65536)
        except OSError:  # the terminal's other end is closed
            break
    assert process.wait(timeout=60) == 0
    os.close(control)
    assert b"\r[" in seen and b"windows/s" in seen and b"Stopping" in seen
    assert run.status().state == "stopped" and run.forecast() is not None and run.verify() == []
    asked = typed("pause long")
    assert asked[0] == 2 and "It is stopped instead" in asked[2]

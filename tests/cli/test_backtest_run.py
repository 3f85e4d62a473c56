"""`backtest --run`: a run's own network beside the baselines, added to the run, told by its report."""

from __future__ import annotations

from tests.trained_store import make_home
from trnn_core.cli import main
from trnn_core.export.evidence import past
from trnn_core.export.material import gather
from trnn_core.runs.backtests import read_stored
from trnn_core.runs.store import RunStore


def test_a_backtest_of_a_run_is_added_to_it_and_told_by_its_report(tmp_path, capsys):
    home = make_home(tmp_path / "home", n_actors=4, n_periods=80, epochs=1)
    runs = str(home / "runs")
    command = [
        "backtest",
        "--run",
        "first",
        "--runs",
        runs,
        "--models",
        "persistence,network",
        "--min-origins",
        "8",
        "--workers",
        "1",
    ]
    assert main(command) == 0
    assert "Added to the run." in capsys.readouterr().out
    store = RunStore(runs)
    assert list(read_stored(store.get("first").read_checked).scores) == ["persistence", "network"]
    told = " ".join(block.text for block in past(gather("first", store)) if hasattr(block, "text"))
    assert "On 8 past weeks, one week ahead, this run's network was" in told
    assert main(["backtest", "--runs", runs]) == 2
    assert "either --data FILE or --run RUN" in capsys.readouterr().err

"""A small trained run whose names try to be something else; made once per test process."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trnn_core.data.series import QUAD_ACTIONS, Provenance, RelationalSeries
from trnn_core.export.material import Material, gather
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe

NASTY = (
    "France",
    "Côte d'Ivoire",
    "Korea, South",
    '=cmd|"/C calc"!A0',
    "<script>window.hacked=1</script>",
    'Quoted "Name"',
    "@SUM(1+1)",
    "A & B <b>bold</b>",
    "{{7*7}} \\input{x} 50 % of_$a#~^",
    "</script><img src=x onerror=window.hacked=1>",
)
TITLE = 'Made up <img src=x onerror="window.hacked=1">, & more'


def make_series(simulated: bool = True) -> RelationalSeries:
    rng = np.random.default_rng(11 if simulated else 12)
    n = len(NASTY)
    rates = rng.gamma(0.6, 4.0, size=(n, n, 4)) * (1 - np.eye(n))[:, :, None]
    values = rng.poisson(rates, size=(70, n, n, 4)).astype(float)
    values[-1, 2, 3, 1] = np.nan  # the last period of one pair was not observed
    dates = np.datetime64("2004-01-01") + 7 * np.arange(70)
    source = Provenance(TITLE, simulated=simulated, licence="" if simulated else "research & <education> only")
    return RelationalSeries(values, dates, NASTY, QUAD_ACTIONS, source=source)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """Runs 'nasty' (simulated) and 'real' (not), trained for two epochs."""
    found = RunStore(tmp_path_factory.mktemp("exports") / "runs")
    recipe = Recipe(
        data={"validation": 0.2, "test": 0.2}, model={"cell": "gru", "hidden_shape": (2, 2, 2)}, train={"epochs": 2}
    )
    for run_id, simulated in (("nasty", True), ("real", False)):
        train_run(found, found.create(recipe, make_series(simulated), run_id=run_id, name="Run <i>1</i>, =1+1"))
    return found


@pytest.fixture(scope="session")
def material(store: RunStore) -> Material:
    return gather("nasty", store, made="2026-01-02")


@pytest.fixture(scope="session")
def real(store: RunStore) -> Material:
    return gather("real", store, made="2026-01-02")


@pytest.fixture(scope="session")
def backtested(material: Material, tmp_path_factory: pytest.TempPathFactory) -> Material:
    """The same run with a backtest and an explanation beside it, as the Evaluate and Explain pages leave them."""
    folder = tmp_path_factory.mktemp("backtested") / "runs"
    shutil.copytree(material.run.folder.parent, folder)
    run = folder / "nasty"
    rng = np.random.default_rng(3)
    rows = [
        (
            model,
            f"2005-0{1 + o // 4}-{1 + 7 * (o % 4):02d}",
            1,
            action,
            metric,
            level * (1 + 0.2 * rng.random()) if metric != "coverage90" else 0.88,
        )
        for model, level in (("persistence", 0.5), ("tgru", 0.3), ("<b>ewma</b>", 0.4))
        for o in range(12)
        for action in (*QUAD_ACTIONS, "all")
        for metric in ("mse", "mae", "crps", "coverage90")
    ]
    pd.DataFrame(rows, columns=["model", "origin", "horizon", "action", "metric", "value"]).to_parquet(
        run / "backtest.parquet"
    )
    (run / "backtest.json").write_text('{"protocol_in_words": "Rolling origins: 12 origins <of> the test."}')
    dyads = pd.DataFrame(
        {
            "model": "tgru",
            "horizon": 1,
            "source": NASTY[3],
            "target": NASTY[4],
            "action": QUAD_ACTIONS[0],
            "metric": "mse",
            "value": [2.5],
        }
    )
    dyads.to_parquet(run / "backtest.dyads.parquet")
    n = len(NASTY)
    np.savez(
        run / "explanation.npz",
        sender=rng.normal(size=(n, n)),
        receiver=rng.normal(size=(n, n)),
        actors=np.array(NASTY),
        method="the Jacobian",
    )
    return gather("nasty", RunStore(folder), made="2026-01-02")


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(os.environ, "TRNN_BROWSER", str(tmp_path / "no-such-browser"))


@pytest.fixture
def unforecast(store: RunStore, material: Material, tmp_path: Path) -> RunStore:
    """A store whose run was never trained."""
    empty = RunStore(tmp_path / "runs")
    empty.create(material.run.recipe, material.series, run_id="new")
    return empty

"""A small home for pages: one simulated set and one really trained run, made in a few seconds."""

from __future__ import annotations

from pathlib import Path


def make_home(folder: Path, *, n_actors: int = 6, n_periods: int = 80, epochs: int = 3) -> Path:
    """`folder` with data/demo.npz and runs/first."""
    from trnn_core.data.readers.npz import write_npz
    from trnn_core.data.simulation import simulate
    from trnn_core.runs.execute import train_run
    from trnn_core.runs.store import RunStore
    from trnn_core.training.config import Recipe

    series = simulate(seed=1, n_actors=n_actors, n_periods=n_periods)
    (folder / "data").mkdir(parents=True)
    write_npz(series, folder / "data" / "demo.npz")
    store = RunStore(folder / "runs")
    recipe = Recipe(model={"cell": "gru", "hidden_shape": (3, 3, 2)}, train={"epochs": epochs})
    train_run(store, store.create(recipe, series, run_id="first", name="First run"))
    return folder

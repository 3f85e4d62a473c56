"""Many actors: what is done in parts is what would be done at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training.small import SMALL
from trnn_core.data import transforms
from trnn_core.data.readers.npz import read_npz, write_npz
from trnn_core.data.series import Provenance, RelationalSeries
from trnn_core.models.baselines import level_forecaster
from trnn_core.training import prepare as preparing
from trnn_core.training.config import Recipe


@pytest.mark.parametrize(
    "change",
    [
        {"data.transform": "log1p+standardise"},
        {"data.slices": ("direct", "reciprocal", "sender")},
        {"data.slices": ("direct", "direct@ewma:0.2")},
        {"model.likelihood": "negative_binomial"},
        {"model.likelihood": "cross_entropy", "data.transform": "min-max"},
    ],
    ids=str,
)
def test_preparing_in_parts_gives_the_same_bits(
    change: dict, small_series: RelationalSeries, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe: Recipe = SMALL.changed(**change)
    whole = preparing.prepare(small_series, recipe)
    monkeypatch.setattr(preparing, "BLOCK_CELLS", 500)  # three periods of 6 x 6 x 4
    monkeypatch.setattr(transforms, "BLOCK_CELLS", 2000)  # one sender at a time
    parts = preparing.prepare(small_series, recipe)
    assert torch.equal(whole.inputs, parts.inputs) and torch.equal(whole.targets, parts.targets)
    assert whole.input_names == parts.input_names
    for (_, a), (_, b) in zip(whole.transform.steps, parts.transform.steps, strict=True):
        assert all(np.array_equal(a[key], b[key]) for key in a)


def test_few_enough_cells_are_all_kept_and_many_are_thinned_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = np.random.default_rng(0).random((50, 6, 6)) < 0.8
    assert level_forecaster._thinned(seen, 4) is seen
    monkeypatch.setattr(level_forecaster, "_NOISE_CELLS", 400)
    fewer = level_forecaster._thinned(seen, 4)
    assert fewer.sum() == 100 and not (fewer & ~seen).any()
    by_period = fewer.sum((1, 2))
    assert by_period.max() - by_period.min() <= 2


def test_a_large_and_very_sparse_set_can_be_read_back(tmp_path: Path) -> None:
    """One cell in a thousand is not zero: it packs to less than a 200th, which for text would be a zip bomb."""
    rng = np.random.default_rng(0)
    values = np.zeros((20, 250, 250, 20), dtype=np.float32)
    values[tuple(rng.integers(size, size=values.size // 1000) for size in values.shape)] = 1.0
    dates = np.datetime64("2004-01-01") + 7 * np.arange(20)
    names = [tuple(f"{kind}{i}" for i in range(n)) for kind, n in (("A", 250), ("K", 20))]
    series = RelationalSeries(values, dates, *names, source=Provenance("Sparse", simulated=True))
    path = write_npz(series, tmp_path / "sparse.npz")
    assert path.stat().st_size < values.nbytes / 200
    assert read_npz(path).fingerprint == series.fingerprint

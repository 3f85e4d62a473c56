"""Whether a training fits into memory, before it starts: an estimate from its shapes, and what this process may use.

No torch here. Where the batches of a recipe do not fit, smaller ones are taken and the run says so; where the series
itself does not fit, nothing is started.
"""

from __future__ import annotations

from math import prod
from pathlib import Path

import psutil

from trnn_core.cells.kinds import CELLS
from trnn_core.errors import TRNNError
from trnn_core.training.config import Recipe

SHARE = 0.5  # of the free memory that batches may take: the rest is for the forecast at the end, and for others
_CGROUPS = Path("/sys/fs/cgroup")


def available_memory(cgroups: Path = _CGROUPS, own: Path = Path("/proc/self/cgroup")) -> int:
    """Bytes this process may still take: what the machine has free, or what its container or service is allowed."""
    free = psutil.virtual_memory().available
    for folder in _own_groups(cgroups, own):
        limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
        used = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes") or 0
        if limit is not None:
            free = min(free, max(limit - used, 0))
    return free


def _own_groups(cgroups: Path, own: Path) -> list[Path]:
    """This process's control groups, from its own up to the root: the tightest limit holds."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    folders = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        root = cgroups / "memory" if "memory" in controllers.split(",") else cgroups
        here = root / path.lstrip("/")
        folders += [here, *[p for p in here.parents if p.is_relative_to(root)]]
    return [f for f in folders if f.is_dir()]


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() and int(text) < 2**60 else None  # "max", or a huge number: no limit


def series_bytes(recipe: Recipe, shape: tuple[int, ...]) -> int:
    """The whole series as the network reads it: values, inputs, targets and masks."""
    n_periods, n, m, k = shape
    width = 8 if recipe.train.precision == "float64" else 4
    return n_periods * n * m * k * (4 + 1 + width * len(recipe.data.slices) + width + 1)


def batch_bytes(recipe: Recipe, shape: tuple[int, ...], size: int) -> int:
    """What a batch of `size` windows needs on its way forward and back.

    Per week: the input products of all gates and their gradient, the widest array between two mode products, and the
    targets; a few windows at a time also keep the gates of all their steps (see `TensorNetwork.accumulate`).
    """
    _, n, m, k = shape
    k_in, hidden = k * len(recipe.data.slices), recipe.model.hidden_shape
    gates, width = len(CELLS[recipe.model.cell].gates), 8 if recipe.train.precision == "float64" else 4
    weeks = size + recipe.data.window - 1
    between = max(gates * hidden[0] * m * k_in, gates * hidden[0] * hidden[1] * k_in)
    per_week = 2 * gates * prod(hidden) + 2 * between + 3 * n * m * k + n * m * k_in
    steps = recipe.data.window * max(4, 320_000 // (gates * prod(hidden))) * gates * prod(hidden) * 4
    return width * (weeks * per_week + min(steps, recipe.data.window * size * gates * prod(hidden) * 4))


def fit_to_memory(recipe: Recipe, shape: tuple[int, ...], free: int | None = None) -> tuple[Recipe, list[str]]:
    """The recipe with batches that fit, and in words what was changed.

    >>> recipe = Recipe(model={"hidden_shape": (50, 50, 4)})
    >>> fit_to_memory(recipe, (500, 25, 25, 4), free=8 * 10**9)[1]
    []
    >>> smaller, words = fit_to_memory(recipe, (200, 200, 200, 20), free=4 * 10**9)
    >>> smaller.train.batch_size < recipe.train.batch_size, words[0].startswith("Batches of")
    (True, True)
    """
    if recipe.model.network != "tensor":
        return recipe, []  # the dyad network keeps to a budget of its own
    free = available_memory() if free is None else free
    whole = series_bytes(recipe, shape)
    room = int(SHARE * (free - whole))
    asked = recipe.train.batch_size
    if batch_bytes(recipe, shape, 1) > room:
        need = (whole + batch_bytes(recipe, shape, 1) / SHARE) / 1e9
        raise TRNNError(
            f"This training needs about {need:.1f} GB and {free / 1e9:.1f} GB are free; choose fewer countries, actions"
            " or periods, a smaller hidden shape, or a larger machine."
        )
    if batch_bytes(recipe, shape, asked) <= room:
        return recipe, []
    low, high = 1, asked  # the largest that fits
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if batch_bytes(recipe, shape, middle) <= room else (low, middle)
    words = f"Batches of {low} windows instead of {asked}: {free / 1e9:.1f} GB of memory are free"
    return recipe.changed(**{"train.batch_size": low}), [words]

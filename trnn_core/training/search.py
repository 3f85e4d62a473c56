"""What a search for good settings may change, and what it has found so far. No torch and no Optuna here, for pages.

store/.studies/<name>/config.json     the recipe to begin with, the space, how many trials
                      study.db        Optuna's own record (SQLite), unless a PostgreSQL server keeps it
                      study.json      what pages and people read: every trial, the best, which settings mattered
                      trials/         checkpoints of the trials at work
                      recipe.toml     the best settings, for `train --recipe`
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, field_validator

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.training.config import Recipe, Settings

# These change what the validation loss is measured in or on: trials could not be compared.
FIXED = {
    "data.transform",
    "data.design",
    "data.validation",
    "data.test",
    "data.diagonal",
    "data.actors",
    "data.actions",
    "data.path",
    "data.fingerprint",
    "model.likelihood",
    "train.epochs",
    "train.device",
    "train.precision",
    "train.threads",
    "train.checkpoint_every",
}
Pruner = Literal["median", "hyperband", "none"]


@dataclass(frozen=True)
class Choices:
    """One of some values, as they are typed."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class Between:
    """A number from low to high, ends included."""

    low: float
    high: float
    log: bool = False
    whole: bool = False


Range = Choices | Between


class TuneConfig(Settings):
    """A whole search: the same one on the same data finds the same settings, wherever its trials run."""

    section = "tune"

    recipe: Recipe
    space: dict[str, str] = Field(description="setting -> what it may be: 'lstm|gru', '4:12', '0.001:0.03:log'")
    trials: int = Field(default=24, ge=1, le=100_000, description="trainings to try")
    batch: int = Field(default=6, ge=1, le=1000, description="trials chosen at once, which may then run side by side")
    pruner: Pruner = Field(default="median", description="how hopeless trials are ended early")
    seed: int = Field(default=0, ge=0, lt=2**31, description="start of the search's random numbers")

    @field_validator("space")
    @classmethod
    def _not_empty(cls, space: dict[str, str]) -> dict[str, str]:
        if not space:
            raise ValueError("must name at least one setting to search, for example train.learning_rate=0.001:0.03:log")
        return space

    def ranges(self) -> dict[str, Range]:
        """The space, checked against the recipe: every end and every choice must be a setting that can be trained."""
        if self.recipe.data.validation <= 0:
            raise TRNNError(
                "A search judges trials by their validation loss. Got data.validation=0 instead; keep some periods"
                " for it."
            )
        ranges = {name: parse_range(name, text) for name, text in self.space.items()}
        for name, found in ranges.items():
            ends = found.values if isinstance(found, Choices) else (found.low, found.high)
            for value in ends:
                self.recipe.changed(**{name: int(value) if isinstance(found, Between) and found.whole else value})
        return ranges


def parse_range(name: str, text: str) -> Range:
    """What a setting may be, as typed.

    >>> parse_range("data.window", "4:12")
    Between(low=4, high=12, log=False, whole=True)
    >>> parse_range("train.learning_rate", "0.001:0.1:log").log
    True
    >>> parse_range("model.hidden_shape", "14,14,4|25,25,8").values
    ('14,14,4', '25,25,8')
    """
    if name in FIXED:
        raise TRNNError(
            f"The setting '{name}' cannot be searched: it changes what the validation loss means; set it in the recipe."
        )
    parts = [p.strip() for p in text.split(":")]
    if len(parts) in (2, 3) and all(_is_number(p) for p in parts[:2]) and parts[2:] in ([], ["log"]):
        whole = all(re.fullmatch(r"[+-]?\d+", p) for p in parts[:2])
        low, high = (int(p) if whole else float(p) for p in parts[:2])
        log = len(parts) == 3
        if low >= high or (log and low <= 0):
            raise TRNNError(
                f"The range of '{name}' must go upwards{', from above 0' if log else ''}. Got {text!r} instead."
            )
        return Between(low, high, log, bool(whole))
    values = tuple(p.strip() for p in text.split("|") if p.strip())
    if ":" in text or len(values) < 2 or len(set(values)) < len(values):
        raise TRNNError(f"What '{name}' may be must be typed as LOW:HIGH, LOW:HIGH:log or A|B|C. Got {text!r} instead.")
    return Choices(values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def default_space(recipe: Recipe, series: RelationalSeries) -> dict[str, str]:
    """What is worth searching on this series, the recipe's own settings included."""
    rate, window = recipe.train.learning_rate, recipe.data.window
    common = {
        "data.window": f"{min(4, window)}:{max(12, window)}",
        "train.learning_rate": f"{min(0.0005, rate):g}:{max(0.03, rate):g}:log",
        "model.dropout": "0.0:0.4",
    }
    if recipe.model.network == "dyad":
        channels, decay = recipe.model.channels, max(recipe.train.weight_decay, 1e-4)
        sizes = sorted({8, 16, 32, channels})
        return common | {
            "model.channels": "|".join(map(str, sizes)),
            "train.weight_decay": f"{min(0.001, decay):g}:{max(0.3, decay):g}:log",
        }
    n, k = series.shape[1], series.shape[3]
    shapes = {recipe.model.hidden_shape, (n, n, k), (max(n // 2, 2), max(n // 2, 2), k), (n, n, 2 * k)}
    cells = sorted({"gru", "lstm", recipe.model.cell})
    weight = max(recipe.train.regularisation, 1e-6)
    return common | {
        "model.cell": "|".join(cells),
        "model.hidden_shape": "|".join(",".join(map(str, shape)) for shape in sorted(shapes)),
        "train.regularisation": f"{min(0.001, weight):g}:{max(10.0, weight):g}:log",
    }


def parse_space(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=RANGE as typed on the command line."""
    space = {}
    for text in pairs:
        name, equals, value = text.partition("=")
        if not equals:
            raise TRNNError(f"What to search must be NAME=RANGE, for example data.window=4:12. Got {text!r} instead.")
        space[name.strip()] = value.strip()
    return space

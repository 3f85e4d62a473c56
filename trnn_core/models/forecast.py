"""Forecast: a predictive distribution for every entry of the coming periods; Forecaster: whatever makes one.

The one form a forecast has from the model to the run, the page and the export. No torch here.

Dimension letters: H steps ahead, N sources, M targets, K actions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np

from trnn_core.data.long_table import tidy
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.files import load_arrays, npz_bytes, read_bytes, write_atomic
from trnn_core.models import distributions
from trnn_core.models.distributions import Bernoulli, Distribution
from trnn_core.words import percent

if TYPE_CHECKING:
    import pandas as pd

FIGURES = ("mean", "median", "lower", "upper")
_LABELS = {"dates", "actors", "actions", "last_date", "meta", "distribution"}
_NEEDED = {"dates", "actors", "actions", "last_date", "meta", "mean", "lower", "upper", "last_values"}


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is expected of the H periods after `last_date`, and how sure one may be.

    level         (H, N, M, K) the expected level on the working scale: E log(1 + count), or E value; NaN where the
                  file was written before it was kept
    exact         (H, N, M, K) the distribution of the count (or value) itself; None where a file has only figures of it
    last_values   (N, M, K) of the last period known, NaN where it was not observed
    observed      (H, N, M, K) what came true, NaN where that is not known (yet); None for a forecast of the future
    figures       mean, median, lower and upper end of the interval as a file keeps them, (H, N, M, K) each
    meta          plain values: whether simulated, the level of the interval, units, and what the run says of itself
    """

    dates: np.ndarray
    last_date: np.datetime64
    actors: tuple[str, ...]
    actions: tuple[str, ...]
    level: np.ndarray
    exact: Distribution | None
    last_values: np.ndarray
    observed: np.ndarray | None = None
    figures: Mapping[str, np.ndarray] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def horizon(self) -> int:
        return len(self.dates)

    @property
    def simulated(self) -> bool:
        return bool(self.meta.get("simulated", False))

    @property
    def interval_level(self) -> float:
        """How often the interval is meant to hold what comes true."""
        return float(self.meta.get("level", 0.9))

    @property
    def distribution(self) -> Distribution:
        if self.exact is None:
            raise TRNNError(
                f"Only the expected figures and the {percent(self.interval_level)} interval of this forecast are"
                " stored, not its whole distribution; train the run again to ask for more."
            )
        return self.exact

    @cached_property
    def mean(self) -> np.ndarray:
        """Expected counts (or values)."""
        stored = self.figures.get("mean")
        return self.distribution.mean if stored is None else stored

    @cached_property
    def median(self) -> np.ndarray:
        """The middle; of a chance the chance itself, since the outcome around it is 0 or 1."""
        if "median" in self.figures:
            return self.figures["median"]
        return self.mean if isinstance(self.exact, Bernoulli) else self.distribution.quantile(0.5)

    @property
    def lower(self) -> np.ndarray:
        return self._interval[0]

    @property
    def upper(self) -> np.ndarray:
        return self._interval[1]

    @cached_property
    def _interval(self) -> tuple[np.ndarray, np.ndarray]:
        if "lower" in self.figures:
            return self.figures["lower"], self.figures["upper"]
        return _central(self.distribution, self.interval_level)

    def interval(self, level: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The central interval: lower and upper bound, (H, N, M, K) each; of the usual level unless told."""
        if level is None or level == self.interval_level:
            return self._interval
        if not 0 < level < 1:
            raise TRNNError(f"The interval's level must lie between 0 and 1. Got {level} instead; 0.9 is usual.")
        return _central(self.distribution, level)

    def probability(self, at_least: float = 1) -> np.ndarray:
        """The chance of so many events (or of a value so large) or more, (H, N, M, K)."""
        if isinstance(self.exact, Bernoulli) and at_least > 1:
            raise TRNNError(
                f"This forecast states the chance of any event only. Got a question for at least {at_least}; ask for 1,"
                " or train with a likelihood of counts."
            )
        return 1.0 - self.distribution.below(np.asarray(at_least, dtype=float))

    @property
    def change(self) -> np.ndarray:
        """Expected minus last observed, (H, N, M, K); NaN where the last period was not observed."""
        return self.mean - self.last_values

    @property
    def width(self) -> np.ndarray:
        """How wide the interval is, (H, N, M, K)."""
        return self.upper - self.lower

    @property
    def error(self) -> np.ndarray | None:
        """Expected minus what came true, (H, N, M, K); None for a forecast of the future."""
        return None if self.observed is None else self.mean - self.observed

    def is_past(self, step: int) -> bool:
        """Whether it is known what came true in this period."""
        return self.observed is not None and bool(np.isfinite(self.observed[step]).any())

    def select(self, *, steps: slice = slice(None), actions: slice = slice(None)) -> Forecast:
        """Some of the periods or actions."""
        at = (steps, ..., actions)
        return replace(
            self,
            dates=self.dates[steps],
            actions=self.actions[actions],
            level=self.level[at],
            exact=None if self.exact is None else self.exact[at],
            last_values=self.last_values[..., actions],
            observed=None if self.observed is None else self.observed[at],
            figures={name: array[at] for name, array in self.figures.items()},
        )

    @property
    def _kept(self) -> tuple[str, ...]:
        """The figures there are: past forecasts are stored without a median."""
        return FIGURES if self.exact is not None else tuple(self.figures)

    def to_frame(self, columns: Mapping[str, str] | None = None, *, diagonal: bool = False) -> pd.DataFrame:
        """Tidy: one row per period, sender, receiver and action.

        columns  name of a column -> the attribute it holds; mean, median and interval unless told
        """
        columns = columns or {name: name for name in self._kept}
        found = {name: getattr(self, part) for name, part in columns.items()}
        arrays = {name: np.broadcast_to(array, self.mean.shape) for name, array in found.items() if array is not None}
        return tidy(arrays, list(self.dates), self.actors, self.actions, simulated=self.simulated, diagonal=diagonal)

    def to_npz(self) -> bytes:
        """As a file keeps it, without pickled objects and with no more digits than are worth their room."""
        exact = {} if self.exact is None else distributions.parameters(self.exact)
        kind = {} if self.exact is None else {"distribution": np.array(type(self.exact).__name__)}
        known = {"last_values": self.last_values, "observed": self.observed}
        return npz_bytes(
            dates=self.dates.astype(str),
            actors=np.array(self.actors),
            actions=np.array(self.actions),
            last_date=np.array(str(self.last_date)),
            meta=np.array(json.dumps(dict(self.meta))),
            **{name: array.astype(np.float32) for name, array in known.items() if array is not None},
            **{name: rounded(getattr(self, name)) for name in self._kept},
            **{name: rounded(array, 7) for name, array in (exact | {"level": self.level}).items() if name != "mean"},
            **kind,
        )

    @classmethod
    def from_npz(cls, content: bytes, name: object = "The forecast") -> Forecast:
        """What `to_npz` made, now or in an earlier version; `name` is told when it is broken."""
        return load_arrays(content, cls.from_arrays, name)

    def save(self, path: str | Path) -> None:
        write_atomic(Path(path), self.to_npz())

    @classmethod
    def load(cls, path: str | Path) -> Forecast:
        return cls.from_npz(read_bytes(Path(path)), path)

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> Forecast:
        """The arrays of a file, checked against their labels."""
        missing = sorted(_NEEDED - set(stored))
        if missing:
            raise TRNNError(f"A forecast must hold {', '.join(missing)}; train the run again.")
        dates = np.asarray(stored["dates"], dtype="datetime64[D]")
        actors, actions = (tuple(str(x) for x in stored[part]) for part in ("actors", "actions"))
        shape = (len(dates), len(actors), len(actors), len(actions))
        arrays = {
            name: _checked(array, name, shape[1:] if name == "last_values" else shape)
            for name, array in stored.items()
            if name not in _LABELS
        }
        meta, kind = stored["meta"], stored.get("distribution")
        return cls(
            dates,
            np.datetime64(str(stored["last_date"])[:10], "D"),
            actors,
            actions,
            level=arrays.get("level", np.full(shape, np.nan)),
            exact=None if kind is None else distributions.restore(str(kind), arrays),
            last_values=arrays["last_values"],
            observed=arrays.get("observed"),
            figures={name: arrays[name] for name in FIGURES if name in arrays},
            meta=dict(meta) if isinstance(meta, Mapping) else json.loads(str(meta)),
        )


def _central(distribution: Distribution, level: float) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = distribution.quantiles(((1 - level) / 2, (1 + level) / 2))
    return lower, upper


def _checked(array: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    found = np.asarray(array, dtype=float)
    if found.shape != shape:
        raise TRNNError(
            f"The forecast's '{name}' must have the shape of its labels, {shape}. Got {found.shape} instead."
        )
    return found


def rounded(x: np.ndarray, bits: int = 12) -> np.ndarray:
    """Float32 with so many bits of the fraction, the others 0, so that it packs well.

    With 12 whole numbers up to 4096 stay exact and the rest errs by at most 1 in 8000, with 7 by 1 in 256.
    """
    spare = 23 - bits
    whole = np.asarray(x, dtype=np.float32).view(np.uint32) + np.uint32(1 << (spare - 1))
    return (whole >> np.uint32(spare) << np.uint32(spare)).view(np.float32)


@runtime_checkable
class Forecaster(Protocol):
    """The two verbs of every model. `fit` looks at the given series only; `forecast` starts after its last period."""

    name: str

    def fit(self, series: RelationalSeries) -> Self: ...

    def forecast(self, history: RelationalSeries, horizon: int) -> Forecast: ...


def forecast_each(
    model: Forecaster, series: RelationalSeries, origins: Sequence[int], horizon: int
) -> Iterator[tuple[int, Forecast]]:
    """Forecasts from several origins of one series; models that can share work between origins offer `forecast_many`.

    An origin is the index of the last period the model may see.
    """
    many = getattr(model, "forecast_many", None)
    forecasts: Iterable[Forecast] = (
        many(series, origins, horizon)
        if many is not None
        else (model.forecast(series.select(periods=slice(0, t + 1)), horizon) for t in origins)
    )
    yield from zip(origins, forecasts, strict=True)


def check_horizon(horizon: int) -> None:
    if not isinstance(horizon, int | np.integer) or horizon < 1:
        raise TRNNError(f"The horizon must be a whole number of periods, at least 1. Got {horizon!r} instead.")

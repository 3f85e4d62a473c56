"""Hindcast: what a model would have forecast from past periods, as it would have then. No torch here.

Dimension letters: O origins (the last period known), H steps ahead, N sources, M targets, K actions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trnn_core.data.series import RelationalSeries, step_dates
from trnn_core.errors import TRNNError
from trnn_core.files import load_arrays, npz_bytes
from trnn_core.models.forecast import Forecast

FIGURES = ("mean", "lower", "upper")


@dataclass(frozen=True, eq=False)
class Hindcast:
    """Forecasts from O origins (dates): mean and interval, float32, (O, H, N, M, K) each."""

    origins: np.ndarray
    actors: tuple[str, ...]
    actions: tuple[str, ...]
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    meta: Mapping[str, Any]

    @property
    def horizon(self) -> int:
        return self.mean.shape[1]

    def forecast(self, origin: str, series: RelationalSeries) -> Forecast:
        """The forecast made after one origin, with what came true in the series."""
        origins, known = (dates.astype(str).tolist() for dates in (self.origins, series.dates))
        if origin not in origins or origin not in known:
            raise TRNNError(
                f"A backtested period must be one of {origins[0]} to {origins[-1]}. Got {origin!r} instead."
            )
        o, t = origins.index(origin), known.index(origin)
        observed = np.full((self.horizon, *series.shape[1:]), np.nan)
        after = series.values[t + 1 : t + 1 + self.horizon]
        observed[: len(after)] = after
        return Forecast.from_arrays(
            {
                "dates": step_dates(series.dates[t], series.period, self.horizon),
                "last_date": origin,
                "actors": self.actors,
                "actions": self.actions,
                "last_values": series.values[t],
                "observed": observed,
                "meta": {**self.meta, "simulated": series.source.simulated},
                **{name: getattr(self, name)[o] for name in FIGURES},
            }
        )

    def shortened(self, n_origins: int, n_steps: int) -> Hindcast:
        """The first steps of the last origins only; its words say so."""
        words = f"{self.meta.get('words', '')}; shipped with the last {n_origins} origins and {n_steps} steps"
        arrays = {name: getattr(self, name)[-n_origins:, :n_steps] for name in FIGURES}
        return replace(self, origins=self.origins[-n_origins:], meta={**self.meta, "words": words}, **arrays)

    def to_npz(self) -> bytes:
        return npz_bytes(
            origins=self.origins.astype(str),
            actors=np.array(self.actors),
            actions=np.array(self.actions),
            meta=np.array(json.dumps(dict(self.meta))),
            **{name: getattr(self, name) for name in FIGURES},
        )

    @classmethod
    def from_npz(cls, content: bytes, name: object = "The hindcast") -> Hindcast:
        """What `to_npz` made; `name` is told when it is broken."""
        return load_arrays(content, cls._from_arrays, name)

    @classmethod
    def _from_arrays(cls, stored: Mapping[str, np.ndarray]) -> Hindcast:
        origins = np.asarray(stored["origins"], dtype="datetime64[D]")
        actors, actions = (tuple(str(x) for x in stored[part]) for part in ("actors", "actions"))
        meta = json.loads(str(stored["meta"]))
        return cls(origins, actors, actions, stored["mean"], stored["lower"], stored["upper"], meta)

"""About how long models take in a backtest, and how far one has come, measured by it. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trnn_core.data.series import RelationalSeries
from trnn_core.evaluation.forecasters import RUN_NETWORK, label
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.rolling_origins import part_name
from trnn_core.evaluation.scoring import Block
from trnn_core.jobs.context import Context

FAST = ("persistence", "ewma", "relational_ar")  # enough to see whether a network earns its place
USUAL = ("persistence", "mean", "seasonal", "ewma", "nb_ewma", "ar", "relational_ar", "mltr")

# Seconds to fit and to score one origin, on one core, for 25 countries, 4 actions and 548 weeks; grow with the data.
_COSTS = {
    "persistence": 2,
    "mean": 3,
    "seasonal": 3,
    "ewma": 2,
    "nb_ewma": 3,
    "ar": 3,
    "relational_ar": 3,
    "mltr_additive": 3,
    "mltr_bilinear": 4,
    "mltr_joint": 8,
    "mltr": 10,
    "vector_lstm": 45,
    "vector_gru": 45,
    "tlstm": 30,
    "tgru": 30,
    "network": 30,
    "recommended": 150,
}
_ORIGIN_SECONDS = 0.022
_REFERENCE_CELLS, _REFERENCE_PERIODS = 25 * 25 * 4, 548


def fast_first(models: Sequence[str]) -> list[str]:
    """The quick ones first, so that something is seen soon; the same models are then the same request in any order."""
    return sorted(set(models), key=lambda name: (_COSTS.get(name, 10), name))


def part_costs(
    model: str, shape: Sequence[int], horizon: int, network_seconds: float | None = None
) -> tuple[float, float]:
    """Seconds to fit a model and to score one origin, roughly; `network_seconds` is what the run's training took."""
    periods, size = shape[0], shape[1] * shape[2] * shape[3] / _REFERENCE_CELLS
    fit = _COSTS.get(model, 10) * size * periods / _REFERENCE_PERIODS
    if model == RUN_NETWORK and network_seconds:
        fit = network_seconds + part_costs("persistence", shape, horizon)[0]
    return fit, _ORIGIN_SECONDS * size * horizon


def estimate_seconds(
    models: Sequence[str], shape: Sequence[int], protocol: Protocol, network_seconds: float | None = None
) -> float:
    """About how long a backtest takes on one core."""
    blocks = protocol.blocks(shape[0])
    total = 0.0
    for model in models:
        fit, origin = part_costs(model, shape, protocol.horizon, network_seconds)
        total += sum(fit + len(block) * origin for block in blocks)
    return total


class Ledger:
    """How much of a backtest is done, in parts weighed by what they cost, and whether to go on."""

    def __init__(
        self,
        context: Context,
        series: RelationalSeries,
        parts: list[Block],
        folder: Path,
        network_seconds: float | None = None,
    ):
        self.context, self.period, self.series = context, series.period, series
        self.network_seconds = network_seconds
        self.models = list(dict.fromkeys(part.model for part in parts))
        self.costs = [self._cost(part, len(part.origins)) for part in parts]
        self.places = {(part.model, part.origins[0]): n for n, part in enumerate(parts)}
        stored = [(folder / f"{part_name(series, part)}.npz").exists() for part in parts]
        self.done = {n for n, there in enumerate(stored) if there}
        self.scored = {
            m: sum(len(p.origins) for n, p in enumerate(parts) if p.model == m and n in self.done) for m in self.models
        }
        self.origins = sum(len(part.origins) for part in parts) // len(self.models)

    def _cost(self, part: Block, scored: int) -> float:
        fit, origin = part_costs(part.model, self.series.shape, part.horizon, self.network_seconds)
        return fit + origin * scored if scored else 0.0

    def __call__(self, part: Block, scored: int) -> None:
        """After the fit and after every origin, or after a part that was done elsewhere: tell, and leave when asked
        to."""
        self.context.check()
        place = self.places[part.model, part.origins[0]]
        known = sum(self.costs[n] for n in self.done) + self._cost(part, scored)
        number = f"model {self.models.index(part.model) + 1} of {len(self.models)}"
        what = (
            "is being fitted"
            if not scored
            else f"{self.scored[part.model] + scored} of {self.origins} {self.period}s scored"
        )
        total = sum(self.costs)
        self.context.expect(round(total - known, 1))
        self.context.progress(min(known / total, 0.999), f"{label(part.model, self.period)}: {what} ({number})")
        if scored == len(part.origins):
            self.done.add(place)
            self.scored[part.model] += scored

"""What a backtest is asked to do, as plain values that a task can carry, and about how long it will take. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.evaluation.forecasters import RUN_NETWORK, names
from trnn_core.evaluation.protocol import MIN_ORIGINS, Protocol
from trnn_core.runs.run import Run
from trnn_core.training.recipes import plain

KIND = "backtest"
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
_LEARN = 62  # periods that the networks need before the first origin
_REFERENCE_CELLS, _REFERENCE_PERIODS = 25 * 25 * 4, 548


@dataclass(frozen=True)
class BacktestRequest:
    """Models and protocol for one series; `recipe` is that of the run whose network is among the models."""

    fingerprint: str
    models: tuple[str, ...]
    protocol: Protocol = field(default_factory=Protocol)
    actors: tuple[str, ...] | None = None
    actions: tuple[str, ...] | None = None
    recipe: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.models:
            raise TRNNError("A backtest needs at least one model; choose one or more.")
        for name in self.models:
            if name not in (RUN_NETWORK, *names()):
                raise TRNNError(f"The model must be one of {RUN_NETWORK}, {', '.join(names())}. Got {name!r} instead.")
        if RUN_NETWORK in self.models and self.recipe is None:
            raise TRNNError("The model 'network' is a run's own: choose a run, or leave it out.")

    @classmethod
    def of_run(cls, run: Run, models: Sequence[str], protocol: Protocol | None = None) -> BacktestRequest:
        """The data as the run saw it: its countries and actions."""
        data = run.recipe.data
        return cls(
            run.config["data"]["fingerprint"],
            tuple(models),
            protocol or Protocol(),
            data.actors,
            data.actions,
            plain(run.recipe) if RUN_NETWORK in models else None,
        )

    def options(self) -> dict[str, dict[str, Any]]:
        """Models with the options each is made with."""
        return {name: {"recipe": self.recipe} if name == RUN_NETWORK else {} for name in self.models}

    def to_arguments(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "models": list(self.models),
            "actors": None if self.actors is None else list(self.actors),
            "actions": None if self.actions is None else list(self.actions),
        }

    @classmethod
    def from_arguments(cls, found: Mapping[str, Any]) -> BacktestRequest:
        try:
            labels = {name: None if found[name] is None else tuple(found[name]) for name in ("actors", "actions")}
            return cls(
                found["fingerprint"],
                tuple(found["models"]),
                Protocol(**found["protocol"]),
                labels["actors"],
                labels["actions"],
                found["recipe"],
            )
        except (KeyError, TypeError) as e:
            raise TRNNError(f"A backtest must name its data, models and protocol. Got something else ({e}).") from e


def usual_protocol(n_periods: int) -> Protocol:
    """The last tenth, at least 50 periods; fewer where the series is short, so that enough is left to learn from.

    >>> [len(usual_protocol(n).origins(n)) for n in (548, 120, 80)]
    [55, 40, 18]
    """
    return Protocol(min_origins=max(2, min(MIN_ORIGINS, n_periods // 3, n_periods - _LEARN)))


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

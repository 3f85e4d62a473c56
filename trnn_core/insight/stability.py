"""How far influence can be believed: does it hold from week to week, and does it come back when learnt anew?

data       without training: the standard errors of Hoff's regression on the same weeks (clustered by week), which say
           how well these data can tell such a tie from none at all, joined with the Jacobian's own change from week
           to week. This is an approximation: it knows nothing of what another training would find.
retrained  three further networks, each taught without another third of the training weeks and from another seed
           (a delete-a-third jackknife): noise in the data and in the training both show. Three networks tell little
           of a single tie's error, so that it is drawn towards the usual error of its matrix (Smyth 2004).

A tie is *solid* when it lies three standard errors or more from zero, else it is drawn grey.
Dimension letters: O periods, S networks, N actors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.insight.answers import Influence
from trnn_core.insight.influence_matrices import jacobian_influence
from trnn_core.insight.view import NetworkView
from trnn_core.jobs.context import Progress, Stopped, quiet
from trnn_core.models.baselines.mltr import JointMLTR
from trnn_core.models.baselines.multilinear import Multilinear
from trnn_core.models.panel import Panel
from trnn_core.training.config import Recipe
from trnn_core.training.events import EpochDone, Event
from trnn_core.training.trainer import fit

N_PARTS = 3
SOLID = 3.0  # standard errors: with hundreds of ties, two would let dozens of accidents through
_BLOCK = 4  # neighbouring weeks are alike: drawn together
_DRAWS = 400


@dataclass(frozen=True)
class Stability:
    """Standard errors of an influence's matrices, and in words where they come from."""

    sender: np.ndarray
    receiver: np.ndarray
    action: np.ndarray
    words: str

    @classmethod
    def of(cls, parts: Iterable[np.ndarray], words: str) -> Stability:
        sender, receiver, action = parts
        return cls(sender, receiver, action, words)

    def solid(self, influence: Influence) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which ties are three standard errors or more from zero."""
        pairs = zip(influence.parts(), (self.sender, self.receiver, self.action), strict=True)
        sender, receiver, action = (np.abs(m) >= SOLID * np.maximum(se, 1e-12) for m, se in pairs)
        return sender, receiver, action


def over_weeks(by_period: tuple[np.ndarray, ...], period: str = "week", seed: int = 0) -> Stability:
    """Standard errors of the mean over periods (O, N, N), by drawing blocks of neighbouring periods."""
    n = len(by_period[0])
    rng = np.random.default_rng(seed)
    block = min(_BLOCK, n)
    starts = rng.integers(n - block + 1, size=(_DRAWS, -(-n // block)))
    rows = (starts[..., None] + np.arange(block)).reshape(_DRAWS, -1)[:, :n]
    weights = np.zeros((_DRAWS, n))
    np.add.at(weights, (np.arange(_DRAWS)[:, None], rows), 1.0 / rows.shape[1])
    found = [np.tensordot(weights, part, axes=1).std(axis=0) for part in by_period]
    return Stability.of(
        found,
        f"over {n} recent {period}s drawn again in blocks: how much the influence depends on the {period}s looked at,"
        " not on the training",
    )


def from_data(
    series: RelationalSeries, fitted: JointMLTR, by_period: tuple[np.ndarray, ...], influence: Influence
) -> Stability:
    """Standard errors of the regression, brought to the scale of the influence, joined with those over weeks."""
    weeks = over_weeks(by_period, series.period)
    found = []
    for mode, (matrix, week) in enumerate(
        zip(influence.parts(), (weeks.sender, weeks.receiver, weeks.action), strict=True)
    ):
        factor, error = regression_errors(fitted, series, mode)
        ratio = abs(float(np.trace(matrix)) / (float(np.trace(factor)) or 1.0))
        found.append(np.hypot(error * ratio, week))
    return Stability.of(
        found,
        f"standard errors of Hoff's regression on the same {len(series)} {series.period}s, joined with the change from"
        f" {series.period} to {series.period}; no network was trained again",
    )


def regression_errors(fitted: JointMLTR, series: RelationalSeries, mode: int) -> tuple[np.ndarray, np.ndarray]:
    """One factor of the regression and its standard errors with the other factors held, clustered by week."""
    panel, found = Panel.of(series), fitted.coefficients(1)[0]
    assert isinstance(found, Multilinear) and fitted._scores is not None
    scores = fitted._scores.of(panel)
    x = z = fitted.inputs(scores)[:-1]  # (T, N, M, P, 1)
    seen = (panel.observed[1:] & panel.cells[..., None])[..., None]
    error = np.where(seen, (scores[1:] - found.predict(x))[..., None], 0.0)
    for other, factor in enumerate(found.factors):
        if other != mode:
            z = np.moveaxis(np.tensordot(z, factor, axes=(other + 1, 1)), -1, other + 1)
    z, error = np.moveaxis(z, mode + 1, 1), np.moveaxis(error, mode + 1, 1)  # (T, moves, ...), (T, moved, ...)
    z, error = z.reshape(*z.shape[:2], -1), error.reshape(*error.shape[:2], -1)
    gram = np.einsum("tmc,tnc->mn", z, z)
    bread = np.linalg.inv(gram + 1e-6 * np.trace(gram) / len(gram) * np.eye(len(gram)))
    score = np.einsum("tic,tmc->tim", error, z, optimize=True) @ bread
    return found.factors[mode], np.sqrt((score**2).sum(axis=0))


def over_trainings(members: list[Influence]) -> Stability:
    """The jackknife's standard errors from networks that each left out another part of the weeks."""
    if len(members) < 2:
        raise TRNNError(f"Stability over trainings needs at least 2 networks. Got {len(members)} instead.")
    n, found = len(members), []
    for part in ("sender", "receiver", "action"):
        each = np.stack([getattr(m, part) for m in members])
        found.append(np.sqrt(moderate((n - 1) / n * ((each - each.mean(axis=0)) ** 2).sum(axis=0), n - 1)))
    return Stability.of(found, f"over {n} further trainings, each without another {_share(n)} of the training weeks")


def moderate(variances: np.ndarray, freedom: int) -> np.ndarray:
    """Variances (N, N) known from few networks, drawn towards the usual one off the diagonal (Smyth 2004, section 6).

    How far follows from them: the less they differ beyond what `freedom` explains by chance, the more is borrowed.
    """
    off = ~np.eye(len(variances), dtype=bool) & (variances > 0)
    if off.sum() < 3:
        return variances
    logs = np.log(variances[off])
    excess = float(logs.var(ddof=1)) - float(polygamma(1, freedom / 2))
    level = float(logs.mean()) - digamma(freedom / 2) + np.log(freedom / 2)
    if excess <= 1e-6:  # all alike but for chance
        return np.full_like(variances, np.exp(level))
    prior = 2 * brentq(lambda y: polygamma(1, y) - excess, 1e-8, 1e8)
    usual = np.exp(level + digamma(prior / 2) - np.log(prior / 2))
    return (prior * usual + freedom * variances) / (prior + freedom)


def between(members: list[Influence]) -> tuple[float, float, float]:
    """How alike further trainings are off the diagonal, for senders, receivers and actions: the mean correlation of
    two."""
    found = []
    for parts in zip(*(m.parts() for m in members), strict=True):
        off = ~np.eye(len(parts[0]), dtype=bool)
        alike = np.corrcoef([m[off] for m in parts])
        found.append(float(alike[np.triu_indices(len(parts), 1)].mean()))
    return (found[0], found[1], found[2]) if found else (np.nan, np.nan, np.nan)


def retrain(
    series: RelationalSeries,
    recipe: Recipe,
    n_parts: int = N_PARTS,
    progress: Progress = quiet,
    stopping: Callable[[], bool] = lambda: False,
) -> list[Influence]:
    """The Jacobian influence of networks taught by the same recipe, each without one part of the training weeks."""
    if recipe.data.actors or recipe.data.actions:
        series = series.select(actors=recipe.data.actors, actions=recipe.data.actions)
        recipe = recipe.changed(**{"data.actors": None, "data.actions": None})
    members = []
    for part in range(n_parts):
        said = f"training network {part + 1} of {n_parts}"
        progress(part / n_parts, said)

        def told(event: Event, part: int = part, said: str = said) -> None:
            if isinstance(event, EpochDone):
                progress((part + event.epoch / event.epochs) / n_parts, said)

        seeded = recipe.changed(**{"train.seed": recipe.train.seed + 1 + part, "data.fingerprint": None})
        fitted = fit(
            without_part(series, recipe, part, n_parts),
            seeded,
            listeners=[told],
            control=lambda: "stop" if stopping() else None,
        )
        if stopping():
            raise Stopped
        if fitted.outcome != "finished":
            raise TRNNError(
                f"The check needs {n_parts} further networks; training number {part + 1} did not finish:"
                f" {fitted.message}"
            )
        view = NetworkView(fitted.network, fitted.prepared)
        view.look_at(series)  # what this network was not taught is still in the past that it is questioned about
        members.append(jacobian_influence(view))
    progress(1.0, "all networks are trained")
    return members


def without_part(series: RelationalSeries, recipe: Recipe, part: int, n_parts: int) -> RelationalSeries:
    """The series with one part of its training periods marked as not observed, so that nothing is learnt from them."""
    held_out = round(len(series) * (recipe.data.validation + recipe.data.test))
    edges = np.linspace(0, len(series) - held_out, n_parts + 1).astype(int)
    observed = series.observed.copy()
    observed[edges[part] : edges[part + 1]] = False
    if part == 0:  # a cell must be known once before it can be carried on
        observed[0] = series.observed[0]
    return replace(series, values=np.where(observed, series.values, np.nan), observed=observed)


def _share(n: int) -> str:
    return {2: "half", 3: "third", 4: "quarter"}.get(n, f"{n}th")

"""The simulated demo set: counts that look like weekly event data, from a model whose influence ties are known.

The model, its equations and how it compares with real event data stand in docs/simulation.md. In short, with
x = log(1 + y), its usual level u, and an intensity eta on the same scale,

    eta_t  =  b_t  +  g * strength * ( f(x_{t-1} - u) x1 A x2 B x3 C  +  reciprocity * the same with i and j swapped )
    y_t    ~  over-dispersed counts around exp(eta_t) - 1, the two directions of a dyad sharing part of the noise

A (sender), B (receiver) and C (action influence) are sparse and known: A[i, m] says how strongly what m did last
week moves what i does next week. b drifts slowly; g keeps quiet dyads quiet.

Dimension letters: T periods, N actors, K = 4 actions.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from trnn_core.data.series import QUAD_ACTIONS, Provenance, RelationalSeries
from trnn_core.data.simulated_world import Structure, Ties, build_structure, slow_change, world_names
from trnn_core.errors import TRNNError

Response = Literal["linear", "saturating", "threshold"]
START = "2004-01-01"  # a Thursday, as in Hoff (2015)


@dataclass(frozen=True)
class Dynamics:
    """The numbers of the model; the defaults give the demo set."""

    strength: float = 0.4  # weight of last week's actions, a country's own and those of the ones it follows
    reciprocity: float = 0.12  # lagged answer of the target, relative to A, B and C
    response: Response = "linear"
    level: float = 1.0  # saturating: height of the plateau; threshold: where an effect sets in (full one unit later)
    noise_shape: float = 3.0  # gamma shape of a cell's own noise: smaller is wilder
    shared_shape: float = 1.7  # gamma shape of the noise that both directions and all actions of a dyad share
    burst_rate: float = 0.02  # chance of a crisis or a summit per dyad and week
    burst_size: float = 1.2  # mean of its exponential size, in multiples of the usual intensity
    meetings: float = 0.9  # share of verbal cooperation that is one event in both directions


LINEAR = Dynamics()
THRESHOLD = Dynamics(response="threshold", strength=1.3, level=1.0)  # only an unusual week spreads
SATURATING = Dynamics(response="saturating", strength=0.6, level=0.3)  # many small pushes add up to little


@dataclass(frozen=True)
class Truth:
    """What the model knows and a trained network should find. Row: who is moved; column: who moves."""

    sender_influence: np.ndarray  # A (N, N)
    receiver_influence: np.ndarray  # B (N, N)
    action_influence: np.ndarray  # C (K, K)
    susceptibility: np.ndarray  # g (N, N, K), from 0 (deaf) to 1
    dynamics: Dynamics
    actors: tuple[str, ...]
    actions: tuple[str, ...] = QUAD_ACTIONS

    def step(self, deviation: np.ndarray) -> np.ndarray:
        """What one week's deviation from the usual (N, N, K) adds to the intensity of the next, on the log1p scale."""
        ties = (self.sender_influence, self.receiver_influence, self.action_influence)
        return _influence(deviation, ties, self.susceptibility, self.dynamics)

    def response(self, source: str, target: str, action: str, *, size: float = 1.0, n: int = 4) -> np.ndarray:
        """How a shock of the given size (log1p scale) spreads over the n following weeks, (n, N, N, K)."""
        x = np.zeros(self.susceptibility.shape)
        x[self.actors.index(source), self.actors.index(target), self.actions.index(action)] = size
        steps = []
        for _ in range(n):
            x = self.step(x)
            steps.append(x)
        return np.array(steps)


def simulate(
    seed: int = 0, *, n_actors: int = 25, n_periods: int = 548, start: str = START, dynamics: Dynamics | None = None
) -> RelationalSeries:
    """A simulated weekly series of counts, four quad classes, no domestic events; the same for the same arguments.

    >>> series = simulate(seed=1, n_actors=5, n_periods=20)
    >>> series.shape, series.period, series.source.simulated
    ((20, 5, 5, 4), 'week', True)
    """
    d = dynamics or Dynamics()
    _check(seed, n_actors, n_periods, d)
    structure = build_structure(n_actors, np.random.default_rng([seed, 0]))
    counts = _run(structure, d, n_periods, np.random.default_rng([seed, 1]))
    report: dict[str, Any] = {
        "simulation": {"seed": seed, "n_actors": n_actors, "n_periods": n_periods, "start": start, **asdict(d)},
        "note": "Simulated: these events never happened.",
    }
    source = Provenance(title="Simulated demo", simulated=True, kind="count", report=report)
    dates = np.datetime64(start, "D") + 7 * np.arange(n_periods)
    return RelationalSeries(counts, dates, world_names(n_actors), QUAD_ACTIONS, source=source)


def simulation_truth(seed: int = 0, *, n_actors: int = 25, dynamics: Dynamics | None = None) -> Truth:
    """The influence that `simulate` with the same seed, number of actors and dynamics puts into the data."""
    d = dynamics or Dynamics()
    _check(seed, n_actors, 2, d)
    s = build_structure(n_actors, np.random.default_rng([seed, 0]))
    return Truth(*s.ties, s.susceptibility, d, world_names(n_actors))


def truth_of(series: RelationalSeries) -> Truth:
    """The truth behind a simulated series, from the parameters that travel with it."""
    parameters = series.source.report.get("simulation")
    if not series.source.simulated or not isinstance(parameters, dict):
        raise TRNNError(f"Only a simulated series has a known truth. {series.source.title!r} is not one.")
    fields = {key: parameters[key] for key in Dynamics.__dataclass_fields__ if key in parameters}
    dynamics = replace(Dynamics(), **fields)
    return simulation_truth(int(parameters["seed"]), n_actors=int(parameters["n_actors"]), dynamics=dynamics)


def _run(s: Structure, d: Dynamics, n_periods: int, rng: np.random.Generator) -> np.ndarray:
    n, _, k = s.log_rate.shape
    drift, world = slow_change(n, n_periods, rng)  # (T, N, N), (T,)
    usual = _usual_level(s, d, rng)
    counts = np.zeros((n_periods, n, n, k), dtype=np.float32)  # whole numbers, far below 2**24
    x = usual
    for t in range(-52, n_periods):  # a year to forget the start
        baseline = s.baseline(drift[max(t, 0)], world[max(t, 0)])
        eta = baseline + _influence(x - usual, s.ties, s.susceptibility, d)
        y = _draw(np.expm1(np.clip(eta, 0.0, 5.0)), d, rng)
        x = np.log1p(y)
        if t >= 0:
            counts[t] = y
    return counts


def _usual_level(s: Structure, d: Dynamics, rng: np.random.Generator) -> np.ndarray:
    """The mean of log(1 + y) when nothing but the baseline is at work, (N, N, K)."""
    mean = np.expm1(s.baseline())
    return np.mean([np.log1p(_draw(mean, d, rng)) for _ in range(200)], axis=0)


def _influence(deviation: np.ndarray, ties: Ties, susceptibility: np.ndarray, d: Dynamics) -> np.ndarray:
    felt = np.clip(deviation - d.level, 0.0, 1.0) if d.response == "threshold" else deviation
    total = d.strength * (_tucker(felt, *ties) + d.reciprocity * felt.swapaxes(0, 1))
    return susceptibility * (d.level * np.tanh(total / d.level) if d.response == "saturating" else total)


def _tucker(x: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """x x1 A x2 B x3 C for one week (N, N, K)."""
    moved = np.tensordot(a, x, axes=(1, 0))  # (N, N, K), senders mixed
    moved = np.matmul(b, moved)  # receivers mixed
    return moved @ c.T


def _noise(n: int, k: int, d: Dynamics, rng: np.random.Generator) -> np.ndarray:
    """Gamma noise of mean one, (N, N, K): a part of its own for each cell, a part common to both directions of a
    dyad."""
    own = rng.gamma(d.noise_shape, 1 / d.noise_shape, size=(n, n, k))
    shared = rng.gamma(d.shared_shape, 1 / d.shared_shape, size=(n, n, 1))
    upper = np.triu(np.ones((n, n), dtype=bool), 1)[:, :, None]
    return own * np.where(upper, shared, shared.swapaxes(0, 1))


def _bursts(n: int, k: int, d: Dynamics, rng: np.random.Generator) -> np.ndarray:
    """Now and then a dyad's week is a crisis (conflict) or a summit (cooperation), for both directions."""
    hit = np.triu(rng.random((n, n)) < d.burst_rate, 1)
    size = np.where(hit, rng.exponential(d.burst_size, size=(n, n)), 0.0)
    hostile = rng.random((n, n)) < 0.5
    size, hostile = size + size.T, np.where(np.tri(n, dtype=bool), hostile.T, hostile)
    conflict = np.array([False, True, False, True])[:k]
    return 1 + size[:, :, None] * (hostile[:, :, None] == conflict)


def _draw(mean: np.ndarray, d: Dynamics, rng: np.random.Generator) -> np.ndarray:
    """Counts of one week (N, N, K); meetings, a share of verbal cooperation, are one event in both directions."""
    n, _, k = mean.shape
    mean = mean * _noise(n, k, d, rng) * _bursts(n, k, d, rng) * (1.0 - np.eye(n))[:, :, None]
    talk = mean[:, :, 0]
    meeting = d.meetings * np.sqrt(talk * talk.T)
    both = np.triu(rng.poisson(meeting), 1)
    mean[:, :, 0] = np.maximum(talk - meeting, 0.0)
    counts = rng.poisson(mean)
    counts[:, :, 0] += both + both.T
    return counts


def _check(seed: int, n_actors: int, n_periods: int, d: Dynamics) -> None:
    if seed < 0:
        raise TRNNError(f"A seed must be 0 or more. Got {seed} instead.")
    if n_actors < 3 or n_periods < 2:
        raise TRNNError(
            f"A simulation needs at least 3 actors and 2 periods. Got {n_actors} actors and {n_periods} periods."
        )
    if d.response not in ("linear", "saturating", "threshold"):
        raise TRNNError(f"The response must be linear, saturating or threshold. Got {d.response!r} instead.")
    if not 0 <= d.strength <= 2 or not 0 <= d.meetings <= 1 or d.level <= 0:
        raise TRNNError(
            f"The strength must be from 0 to 2, meetings a share and the level positive. Got {d.strength},"
            f" {d.meetings}, {d.level}."
        )

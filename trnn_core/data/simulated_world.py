"""The world behind the simulated set: blocs, activity, ties of influence and slow change.

Dimension letters: T periods, N actors, K = 4 actions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trnn_core.data.countries import actors

# The 25 countries in Hoff's order, each with a bloc and a rough weight in the world's news. The weights are a plain
# guess, not an estimate from any event data.
COUNTRIES: tuple[tuple[str, str, float], ...] = (
    ("North Korea", "East Asia", 1.2),
    ("Georgia", "Eurasia", 0.4),
    ("Japan", "East Asia", 1.9),
    ("Ukraine", "Eurasia", 1.0),
    ("South Korea", "East Asia", 1.7),
    ("Russian Federation", "Eurasia", 2.6),
    ("United Kingdom", "West", 2.0),
    ("Germany", "West", 1.7),
    ("China", "East Asia", 2.5),
    ("Turkey", "Middle East", 1.6),
    ("Taiwan", "East Asia", 0.9),
    ("United States", "West", 3.2),
    ("Australia", "West", 1.2),
    ("Egypt", "Middle East", 1.1),
    ("Iran", "Middle East", 1.9),
    ("France", "West", 1.8),
    ("India", "South Asia", 1.7),
    ("Afghanistan", "South Asia", 1.2),
    ("Lebanon", "Middle East", 0.9),
    ("Syria", "Middle East", 1.5),
    ("Iraq", "Middle East", 1.5),
    ("Israel", "Middle East", 1.9),
    ("Pakistan", "South Asia", 1.6),
    ("Occupied Palestinian Territory", "Middle East", 1.1),
    ("Sudan", "Middle East", 0.5),
)
BLOCS = ("West", "East Asia", "Eurasia", "Middle East", "South Asia")
ACTION_RATE = np.array([-2.15, -4.35, -5.75, -4.95])  # log of a middling dyad's weekly count, per quad class
ACTION_CAP = np.array([3.5, 2.6, 1.6, 2.5])  # and of the busiest dyad's
ACTION_INFLUENCE = np.array(
    [[1.0, 0.0, 0.2, 0.0], [0.0, 1.0, 0.0, 0.3], [0.25, 0.0, 0.8, 0.0], [0.0, 0.35, 0.0, 1.0]]
)  # talk leads to deeds and deeds to talk, within cooperation and within conflict
Ties = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Structure:
    """Everything that does not change from week to week."""

    ties: Ties  # A (N, N), B (N, N), C (K, K)
    log_rate: np.ndarray  # (N, N, K)
    susceptibility: np.ndarray  # (N, N, K)

    def baseline(self, drift: np.ndarray | float = 0.0, world: float = 0.0) -> np.ndarray:
        """The intensity without anybody's influence, on the log1p scale, (N, N, K)."""
        shift = drift[:, :, None] if isinstance(drift, np.ndarray) else drift
        return np.log1p(np.exp(_capped(self.log_rate + shift) + world))


def build_structure(n_actors: int, rng: np.random.Generator) -> Structure:
    activity, bloc = _actors(n_actors, rng)
    ties = (_follow(activity, bloc, rng), _follow(activity, bloc, rng), ACTION_INFLUENCE)
    log_rate = _log_rate(activity, bloc, rng)
    usual = np.log1p(np.exp(_capped(log_rate)))
    susceptibility = usual / (usual + 0.02) * (1.0 - np.eye(n_actors))[:, :, None]
    return Structure(ties, log_rate, susceptibility)


def slow_change(n_actors: int, n_periods: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Drift of each dyad's log rate, both directions alike, (T, N, N), and of the world's volume of news, (T,)."""
    actor = 0.15 * _slow_noise(n_periods, (n_actors,), 200.0, rng)
    pair = np.triu(0.5 * _slow_noise(n_periods, (n_actors, n_actors), 100.0, rng), 1)
    drift = actor[:, :, None] + actor[:, None, :] + pair + pair.swapaxes(1, 2)
    week = np.arange(n_periods) % 52.18
    turn_of_year = np.where((week < 0.9) | (week > 50.9), -0.3, 0.0)
    world = turn_of_year + 0.08 * _slow_noise(n_periods, (), 60.0, rng) + 0.06 * rng.standard_normal(n_periods)
    return drift, world


def world_names(n_actors: int) -> tuple[str, ...]:
    """Hoff's 25 countries, then the other states of the table, then numbered actors."""
    names = [name for name, _, _ in COUNTRIES]
    names += [a.name for a in actors("state") if a.name not in names]
    names += [f"Actor {i + 1}" for i in range(len(names), n_actors)]
    return tuple(names[:n_actors])


def _actors(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    activity = np.array([weight for _, _, weight in COUNTRIES[:n]])
    bloc = np.array([BLOCS.index(name) for _, name, _ in COUNTRIES[:n]])
    more = max(n - len(COUNTRIES), 0)
    return (
        np.append(activity, rng.gamma(2.0, 0.3, size=more)),
        np.append(bloc, rng.integers(len(BLOCS), size=more)),
    )


def _follow(activity: np.ndarray, bloc: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Own continuation on the diagonal; every actor also follows two others, mostly active ones of its own bloc."""
    n = len(activity)
    ties = np.eye(n) * 0.75
    for i in range(n):
        pull = activity**2 * np.where(bloc == bloc[i], 4.0, 1.0)
        pull[i] = 0.0
        followed = rng.choice(n, size=2, replace=False, p=pull / pull.sum())
        ties[i, followed] = rng.uniform(0.25, 0.6, size=2)
    return ties


def _log_rate(activity: np.ndarray, bloc: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Busy actors, blocs that keep to themselves or deal with each other, close pairs, and rivals."""
    n = len(activity)
    between = np.triu(rng.normal(0.0, 0.7, size=(len(BLOCS), len(BLOCS))), 1)
    affinity = between + between.T + 1.5 * np.eye(len(BLOCS))
    close = np.triu(rng.normal(0.0, 0.95, size=(n, n)), 1)
    rival = np.triu(rng.gamma(0.33, 2.0, size=(n, n)), 1)
    rate = 1.65 * (activity[:, None] + activity[None, :] - 3.1) + affinity[bloc][:, bloc] + close + close.T
    hostile = (rival + rival.T)[:, :, None] * np.array([0.0, 0.75, 0.0, 1.0])
    return ACTION_RATE + rate[:, :, None] + hostile + rng.normal(0.0, 0.35, size=(n, n, 4))


def _capped(log_rate: np.ndarray) -> np.ndarray:
    """A smooth ceiling: no dyad fills the news alone."""
    return ACTION_CAP - np.log1p(np.exp(ACTION_CAP - log_rate))


def _slow_noise(n_periods: int, shape: tuple[int, ...], scale: float, rng: np.random.Generator) -> np.ndarray:
    """A stationary AR(1) of unit variance with a memory of about `scale` periods, (T, *shape)."""
    keep = np.exp(-1 / scale)
    out = rng.standard_normal((n_periods, *shape))
    for t in range(1, n_periods):
        out[t] = keep * out[t - 1] + np.sqrt(1 - keep**2) * out[t]
    return out

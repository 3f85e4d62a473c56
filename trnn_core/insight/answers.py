"""Answers: what questions to a trained model give back, as plain arrays that travel through files. No torch here.

Dimension letters: T past periods, H steps ahead, W weeks, N actors, K actions.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from trnn_core.errors import TRNNError

TOLERANCE = 0.01  # largest gap of an attribution, as a share of the difference explained
NOTHING = 0.01  # a difference of levels below this, about 1 % of the events, is nothing to explain
THRESHOLD, STRETCH, STRETCH_WEEKS = 3.0, 2.0, 8  # of the surprise of a week, and of its mean over a stretch

PARTS = ("sender", "receiver", "action")


@dataclass(frozen=True)
class Influence:
    """Sender (N, N): what m did moves what i does. Receiver (N, N): what was done to m moves what is done to i.

    Action (K, K): what was done of l moves what is done of k, within the same pair.
    """

    sender: np.ndarray
    receiver: np.ndarray
    action: np.ndarray
    method: str

    @classmethod
    def of(cls, parts: Iterable[np.ndarray], method: str) -> Influence:
        sender, receiver, action = parts
        return cls(sender, receiver, action, method)

    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.sender, self.receiver, self.action

    def scaled(self) -> Influence:
        """Turned and stretched so that the mean of each diagonal is 1; the largest entry is 1 where that mean is next
        to 0."""
        return Influence.of((scale_matrix(m) for m in self.parts()), self.method)


def scale_matrix(matrix: np.ndarray) -> np.ndarray:
    """
    >>> scale_matrix(np.array([[-2.0, 1.0], [0.0, -2.0]]))
    array([[ 1. , -0.5],
           [-0. ,  1. ]])
    """
    size = float(np.mean(np.diag(matrix)))
    largest = float(np.abs(matrix).max(initial=0.0))
    if abs(size) < 0.05 * largest or largest == 0:
        return matrix / (largest or 1.0)
    return matrix / size


@dataclass(frozen=True)
class InfluenceSet:
    """Influence of one run read three ways, each scaled to a mean continuation of 1, with what may be believed of it.

    errors and solid belong to the Jacobian: standard errors, and which ties stand out from them, (N, N), (N, N), (K,
    K).
    """

    jacobian: Influence
    regression: Influence
    modes: Influence | None
    errors: tuple[np.ndarray, np.ndarray, np.ndarray]
    solid: tuple[np.ndarray, np.ndarray, np.ndarray]
    stability: str
    retrained: int  # how many further networks stand behind the errors
    between: tuple[
        float, float, float
    ]  # how alike these are, sender, receiver, action: mean correlation of two off the diagonal
    actors: tuple[str, ...]
    actions: tuple[str, ...]

    def agreement(self, other: Influence) -> tuple[float, float, float]:
        """Correlation off the diagonal between the Jacobian and another way, for senders, receivers and actions."""
        found = []
        for a, b in zip(self.jacobian.parts(), other.parts(), strict=True):
            off = ~np.eye(len(a), dtype=bool)
            flat = min(float(a[off].std()), float(b[off].std())) == 0 if off.any() else True
            found.append(float("nan") if flat else float(np.corrcoef(a[off], b[off])[0, 1]))
        return found[0], found[1], found[2]

    def to_npz(self) -> bytes:
        """The content of a run's explanation.npz; a report reads `sender`, `receiver`, `actors` and `method` of it."""
        arrays: dict[str, Any] = {
            "actors": np.array(self.actors),
            "actions": np.array(self.actions),
            "method": np.array(self.jacobian.method),
            "stability": np.array(self.stability),
            "retrained": np.array(self.retrained),
            "between": np.array(self.between),
        }
        for p, part in enumerate(PARTS):
            arrays |= {
                part: self.jacobian.parts()[p],
                f"{part}_error": self.errors[p],
                f"{part}_solid": self.solid[p],
                f"{part}_regression": self.regression.parts()[p],
            }
            if self.modes is not None:
                arrays[f"{part}_modes"] = self.modes.parts()[p]
        arrays |= {
            "regression_method": np.array(self.regression.method),
            "modes_method": np.array(self.modes.method if self.modes else ""),
        }
        return _npz(arrays)

    @classmethod
    def from_npz(cls, content: bytes) -> InfluenceSet:
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as stored:
                a = {name: stored[name] for name in stored.files}
            modes = (
                Influence.of((a[f"{p}_modes"] for p in PARTS), str(a["modes_method"])) if "sender_modes" in a else None
            )
            return cls(
                Influence.of((a[p] for p in PARTS), str(a["method"])),
                Influence.of((a[f"{p}_regression"] for p in PARTS), str(a["regression_method"])),
                modes,
                tuple(a[f"{p}_error"] for p in PARTS),
                tuple(a[f"{p}_solid"] for p in PARTS),  # type: ignore[arg-type]
                str(a["stability"]),
                int(a["retrained"]),
                tuple(map(float, a["between"])),  # type: ignore[arg-type]
                tuple(map(str, a["actors"])),
                tuple(map(str, a["actions"])),
            )
        except Exception as e:  # a zip can break in many ways; all of them mean the same here
            raise TRNNError(f"The stored explanation cannot be read ({e}); explain the run again.") from e


@dataclass(frozen=True)
class Attribution:
    """Contributions (T, N, N, K) of past cells to the level of one forecast cell, oldest period first."""

    cell: tuple[int, int, int]  # sender, receiver, action
    step: int  # periods ahead, from 1
    dates: tuple[str, ...]  # of the past periods
    contributions: np.ndarray
    usual: float  # forecast level after a usual past
    level: float  # forecast level
    usual_value: float  # the same two in events (or values)
    value: float
    past: np.ndarray  # what happened, in events (or values), (T, N, N, K)
    usual_past: np.ndarray  # what is usual, (N, N, K)
    n_points: int

    @property
    def difference(self) -> float:
        return self.level - self.usual

    @property
    def gap(self) -> float:
        """What the contributions miss of the difference, as a share of it (of `NOTHING`, where there is hardly any)."""
        return abs(float(self.contributions.sum()) - self.difference) / max(abs(self.difference), NOTHING)

    @property
    def complete(self) -> bool:
        return self.gap <= TOLERANCE

    @property
    def in_events(self) -> np.ndarray:
        """The contributions in events: the same shares of the difference in expected events."""
        rate = (self.value - self.usual_value) / self.difference if abs(self.difference) > 1e-9 else 1.0
        return self.contributions * rate


@dataclass(frozen=True)
class Outcome:
    """Two forecasts, `changed` and `usual` (mean, lower, upper: (H, N, N, K) each), and their difference with an
    interval."""

    changed: tuple[np.ndarray, np.ndarray, np.ndarray]
    usual: tuple[np.ndarray, np.ndarray, np.ndarray]
    difference: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    dates: tuple[str, ...]
    interval_words: str

    @property
    def horizon(self) -> int:
        return len(self.dates)


@dataclass(frozen=True)
class Impulse:
    """Answers in events (H, N, N, K): the mean over recent origins, and the range that holds 90 % of them."""

    cell: tuple[int, int, int]
    size: float  # events added to one week
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    levels: np.ndarray  # the mean answer on the level scale
    n_origins: int

    def strongest(self, n: int = 10) -> list[tuple[int, int, int]]:
        """The cells that answer most over the whole horizon, by the sum of their absolute answers; the pushed one
        too."""
        total = np.abs(self.mean).sum(axis=0)
        places = np.argsort(-total, axis=None, kind="stable")[:n]
        return [tuple(int(x) for x in np.unravel_index(p, total.shape)) for p in places]  # type: ignore[misc]


@dataclass(frozen=True)
class Unusual:
    """Surprise of W weeks, and for each the C relations furthest from what was expected, the furthest first."""

    weeks: np.ndarray  # positions in the series
    dates: tuple[str, ...]
    surprise: np.ndarray
    learnt: np.ndarray  # bool (W,): whether the network was taught with that week
    cells: np.ndarray  # (W, C, 3): sender, receiver, action
    z: np.ndarray  # (W, C): error over the relation's usual error
    observed: np.ndarray  # (W, C) events
    expected: np.ndarray  # (W, C) events

    @property
    def flagged(self) -> np.ndarray:
        """Positions (in `dates`) of unusual weeks, the most unusual first."""
        at = np.flatnonzero(self.surprise >= THRESHOLD)
        return at[np.argsort(-self.surprise[at], kind="stable")]

    @property
    def stretches(self) -> list[tuple[int, int]]:
        """First and last position of stretches whose mean surprise over 8 weeks is high."""
        if len(self.surprise) < STRETCH_WEEKS:
            return []
        mean = np.convolve(self.surprise, np.ones(STRETCH_WEEKS) / STRETCH_WEEKS, mode="valid")
        inside = np.zeros(len(self.surprise), dtype=bool)
        for end in np.flatnonzero(mean >= STRETCH):
            inside[end : end + STRETCH_WEEKS] = True
        edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
        return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


Answer = TypeVar("Answer", Attribution, Outcome, Impulse, Unusual)


def pack(answer: Attribution | Outcome | Impulse | Unusual) -> bytes:
    """An answer as an NPZ file: arrays as they are, everything else as JSON."""
    arrays: dict[str, np.ndarray] = {}
    plain: dict[str, Any] = {}
    for field in fields(answer):
        value = getattr(answer, field.name)
        if isinstance(value, np.ndarray):
            arrays[field.name] = value.astype(np.float32) if value.dtype == np.float64 and value.ndim > 2 else value
        elif isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
            arrays |= {f"{field.name}.{i}": part.astype(np.float32) for i, part in enumerate(value)}
        else:
            plain[field.name] = value
    return _npz(arrays | {"plain": np.array(json.dumps(plain))})


def unpack(kind: type[Answer], content: bytes) -> Answer:
    """An answer as it was packed."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            found: dict[str, Any] = {name: stored[name] for name in stored.files}
        found |= {k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(str(found.pop("plain"))).items()}
        for field in fields(kind):
            parts = sorted(name for name in found if name.startswith(f"{field.name}."))
            if parts:
                found[field.name] = tuple(found.pop(name) for name in parts)
        return kind(**found)
    except Exception as e:  # a zip can break in many ways; all of them mean the same here
        raise TRNNError(f"A stored answer cannot be read ({e}); ask again.") from e


def _npz(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()

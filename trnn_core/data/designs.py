"""Explanatory tensors: from the series itself, what a network or a regression may look at in each period.

Row t of an input describes period t and is used to predict later ones: only periods up to t enter it.
A slice is written "what" or "what@when", for instance

    direct                what i did to j                                      y_ijk
    reciprocal@mean:4     what j did to i, averaged over the last four periods
    transitive@lag:1      ties through third countries, one period earlier
    lag:2                 short for direct@lag:2

Dimension letters: T periods, N actors, K actions (the actors are sources and targets alike).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trnn_core.data import relations
from trnn_core.data.relations import Array, namespace
from trnn_core.errors import TRNNError

BASES: dict[str, str] = {
    "direct": "what the source did to the target",
    "reciprocal": "what the target did to the source",
    "transitive": "ties through third countries: sum over m of (y_im + y_mi)(y_jm + y_mj) (Hoff 2015)",
    "transitive_root": "the same as a mean over third countries, its signed square root, on the scale of the data",
    "sender": "how much the source did to everybody",
    "receiver": "how much was done to the target by everybody",
    "sender_received": "how much was done to the source by everybody",
    "receiver_sent": "how much the target did to everybody",
    "world": "how much everybody did to everybody",
    "observed": "1 where the cell was observed, 0 where it is missing",
}
TIMES: dict[str, str] = {
    "now": "this period",
    "lag": "so many periods earlier",
    "mean": "mean of so many periods up to this one",
    "ewma": "exponentially weighted mean with this weight on the newest period",
    "level": "log(1 + exponentially weighted mean of the raw counts)",
}
LONG_MEMORY = ("ewma", "level")
HOFF = ("direct", "reciprocal", "transitive")
HOFF_LAGGED = (*HOFF, *(f"{base}@mean:4" for base in HOFF))  # his final model: last week and the last four weeks


@dataclass(frozen=True)
class Slice:
    """One parsed slice; `reach` is the number of earlier periods it needs to be complete."""

    base: str
    time: str
    amount: float

    @property
    def reach(self) -> int:
        return {"lag": int(self.amount), "mean": int(self.amount) - 1}.get(self.time, 0)

    def __str__(self) -> str:
        words = self.base.replace("_", " ")
        if self.time == "lag":
            return f"{words}, {int(self.amount)} before"
        if self.time == "mean":
            return f"{words}, mean of {int(self.amount)}"
        if self.time in ("ewma", "level"):
            return f"{words}, {self.time} {self.amount:g}"
        return words


def parse_slice(text: str) -> Slice:
    """Read "what", "what@when:amount" or "when:amount".

    >>> parse_slice("reciprocal@mean:4"), str(parse_slice("lag:2"))
    (Slice(base='reciprocal', time='mean', amount=4.0), 'direct, 2 before')
    """
    base, at, when = text.strip().partition("@")
    if not at and base.partition(":")[0] in TIMES:
        base, when = "direct", base
    time, _, amount_text = (when or "now").partition(":")
    try:
        amount = float(amount_text) if amount_text else 0.0
    except ValueError:
        amount = float("nan")
    if base not in BASES or time not in TIMES or not _amount_fits(time, amount):
        raise TRNNError(
            f"An input slice must be one of {', '.join(BASES)}, alone or with '@lag:n', '@mean:n' (n whole, 1 or more),"
            f" '@ewma:a' or '@level:a' (0 < a <= 1). Got {text!r} instead."
        )
    return Slice(base, time, amount)


def warm_up(slices: Sequence[str]) -> int:
    """How many first rows of `build_inputs` look back beyond the beginning, where the first period is repeated."""
    return max((parse_slice(s).reach for s in slices), default=0)


def build_inputs(
    z: np.ndarray,
    slices: Sequence[str] = ("direct",),
    *,
    actions: Sequence[str] | None = None,
    counts: np.ndarray | None = None,
    diagonal: bool = False,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Stack the slices of a (T, N, N, K) series along its last mode; returns (T, N, N, K_in) and the K_in names.

    z         transformed values; a missing cell (NaN) takes its last observed value, or 0 before there is one
              (add the slice "observed" to let the model see which)
    counts    the untransformed counts, needed by "@level" only
    diagonal  whether acts of a country towards itself are data; if not they count for nothing in the sums over actors

    >>> z = np.arange(8.0).reshape(2, 2, 2, 1)
    >>> x, names = build_inputs(z, ("direct", "reciprocal"), actions=("threats",))
    >>> x.shape, names, float(x[0, 0, 1, 1])
    ((2, 2, 2, 2), ('threats (direct)', 'threats (reciprocal)'), 2.0)
    """
    z = np.asarray(z)
    if z.ndim != 4 or z.shape[1] != z.shape[2]:
        raise TRNNError(
            f"Inputs are built from (time, source, target, action) with equal sources and targets. Got shape {z.shape}."
        )
    parsed = [parse_slice(s) for s in slices]
    if not parsed or len(set(parsed)) < len(parsed):
        raise TRNNError(f"Inputs need at least one slice and none twice. Got {list(slices)} instead.")
    if counts is None and any(s.time == "level" for s in parsed):
        raise TRNNError("The slices '@level' need the untransformed counts; pass them as `counts`.")
    labels = [f"action {k + 1}" for k in range(z.shape[3])] if actions is None else list(actions)
    if len(labels) != z.shape[3]:
        raise TRNNError(f"There must be one label for each of {z.shape[3]} actions. Got {len(labels)} instead.")

    filled = relations.fill_forward(z, ~np.isnan(z))
    if counts is not None:
        counts = np.asarray(counts, dtype=z.dtype)
        counts = relations.fill_forward(counts, ~np.isnan(counts))
    names = tuple(f"{label} ({s})" for s in parsed for label in labels)
    return stack_slices(filled, counts, ~np.isnan(z), parsed, diagonal=diagonal), names


def stack_slices(
    z: Array, counts: Array | None, observed: Array, slices: Sequence[Slice], *, diagonal: bool, axis: int = 0
) -> Array:
    """Slices of values without gaps (..., N, N, K), NumPy or torch, stacked along the last mode; periods stand along
    `axis`."""
    blocks = []
    for s in slices:
        if s.base == "observed":
            block = namespace(z).ones_like(z) * observed
        else:
            block = _base(counts if s.time == "level" else z, s.base, diagonal)
        blocks.append(_over_time(block, s, axis))
    return namespace(z).concatenate(blocks, axis=-1)


def _amount_fits(time: str, amount: float) -> bool:
    if time == "now":
        return amount == 0
    if time in ("lag", "mean"):
        return amount >= 1 and amount == int(amount)
    return 0 < amount <= 1


def _base(z: Array, base: str, diagonal: bool) -> Array:
    """What a slice shows of one period, of z's shape."""
    if base == "direct":
        return z
    if base == "reciprocal":
        return relations.reciprocal(z)
    off, n = z if diagonal else relations.without_diagonal(z), z.shape[-3]
    if base.startswith("transitive"):
        both = relations.ties(off)
        paths = relations.common_partners(both, both)
        return paths if base == "transitive" else _signed_root(paths / (4 * n))
    partners = max(n if diagonal else n - 1, 1)
    total = relations.TOTALS[base](off) / (n * partners if base == "world" else partners)
    return relations.spread(total, z.shape)


def _signed_root(x: Array) -> Array:
    """The root is kept off zero, where its derivative has no end."""
    xp = namespace(x)
    return xp.sign(x) * xp.sqrt(xp.abs(x).clip(1e-20))


def _over_time(block: Array, s: Slice, axis: int) -> Array:
    if s.time == "lag":
        return relations.earlier(block, int(s.amount), axis)
    if s.time == "mean":
        total = block
        for lag in range(1, int(s.amount)):
            total = total + relations.earlier(block, lag, axis)
        return total / int(s.amount)
    if s.time in LONG_MEMORY:
        smooth = relations.smoothed(block, s.amount, axis)
        return namespace(smooth).log1p(smooth) if s.time == "level" else smooth
    return block

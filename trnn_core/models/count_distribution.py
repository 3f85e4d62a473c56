"""The negative binomial distribution: counts that vary more than chance alone would have it.

Everything a score needs is summed over the support, never drawn: count by count where counts are small, by quadrature
beyond, so that the cost does not grow with the level. Arrays are of any common shape S.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

Scale = Literal["log1p", "count"]
_TAIL = 1e-10  # probability beyond which the walk along the support stops
_FIRST_BLOCK = 16  # most dyads are quiet: their whole mass lies below this count
_BLOCK_ENTRIES = 2_000_000
_EXACT = 4080  # counts below this are summed one by one, in blocks of 16, 32, ..., 2048; beyond, by quadrature
_PANELS = 24  # of the quadrature on each side of the observation
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True)
class NegativeBinomial:
    """Counts with the given mean and variance mean + mean^2 / size; a mean of 0 is the point mass at 0.

    >>> d = NegativeBinomial(np.array([2.0]), np.array([1.0]))
    >>> [round(float(d.probability(np.array([k]))[0]), 4) for k in range(3)]
    [0.3333, 0.2222, 0.1481]
    >>> d.quantile(0.5), d.quantile(0.95)
    (array([1.]), array([7.]))
    """

    mean: np.ndarray
    size: np.ndarray
    scale = "log1p"
    units = "expected count"

    def __getitem__(self, index: Any) -> NegativeBinomial:
        return NegativeBinomial(self.mean[index], self.size[index])

    @property
    def variance(self) -> np.ndarray:
        return self.mean + self.mean**2 / self.size

    def log_probability(self, y: np.ndarray) -> np.ndarray:
        """log P(Y = y)."""
        mean, size, y = np.broadcast_arrays(self.mean, self.size, y)
        total = mean + size
        with np.errstate(divide="ignore"):
            zero = -size * np.log1p(mean / size)  # log P(Y = 0), exact for small means
            log_share = np.log(mean) - np.log(total)
        rest = special.gammaln(y + size) - special.gammaln(size) - special.gammaln(y + 1)
        return np.where(y == 0, zero, zero + rest + y * np.where(y == 0, 0.0, log_share))

    def probability(self, y: np.ndarray) -> np.ndarray:
        return np.exp(self.log_probability(y))

    def cdf(self, y: np.ndarray, whole: bool = True) -> np.ndarray:
        """P(Y <= y); without `whole`, smoothly from count to count."""
        mean, size, y = np.broadcast_arrays(self.mean, self.size, np.asarray(y, dtype=float))
        inside = special.betainc(size, np.maximum(np.floor(y) if whole else y, 0) + 1, size / (size + mean))
        return np.where(y < 0, 0.0, np.where(mean == 0, 1.0, inside))

    def below(self, y: np.ndarray) -> np.ndarray:
        return self.cdf(np.ceil(y) - 1)

    def to_level(self, values: np.ndarray) -> np.ndarray:
        return np.log1p(values)

    def quantile(self, p: float) -> np.ndarray:
        """The smallest count whose cdf reaches p."""
        return self.quantiles((p,))[0]

    def quantiles(self, levels: tuple[float, ...]) -> np.ndarray:
        """Several quantiles at once, (len(levels), *S)."""
        out = np.zeros((len(levels), self.mean.size))
        for cells, _, _, cdf in (walk := _Walk(self, (1 - max(levels)) / 2)):
            for row, level in zip(out, levels, strict=True):
                row[cells] += (cdf < level).sum(1)
        for row, level in zip(out, levels, strict=True):
            beyond = walk.left[row[walk.left] >= _EXACT]
            row[beyond] = self._flat(beyond)._bisected(level)
        return out.reshape(len(levels), *self.mean.shape)

    def expected_log1p(self) -> np.ndarray:
        """E log(1 + Y), the forecast with the least squared error on the log1p scale."""
        out = np.zeros(self.mean.size)
        for cells, counts, pmf, _ in (walk := _Walk(self, _TAIL)):
            out[cells] += pmf @ np.log1p(counts)
        for cells in walk.beyond():
            out[cells] += self._flat(cells)._log1p_beyond()
        return out.reshape(self.mean.shape)

    def crps(self, y: np.ndarray) -> dict[Scale, np.ndarray]:
        """The continuous ranked probability score of Y and of log(1 + Y): sum over k of (F(k) - 1[y <= k])^2 times
        the step."""
        y_flat = np.broadcast_to(y, self.mean.shape).ravel().astype(float)
        count, log = np.zeros(self.mean.size), np.zeros(self.mean.size)
        for cells, counts, _, cdf in (walk := _Walk(self, _TAIL, at_least=y_flat)):
            gap = (cdf - (y_flat[cells, None] <= counts)) ** 2
            count[cells] += gap.sum(1)
            log[cells] += gap @ np.log((counts + 2) / (counts + 1))
        for cells in walk.beyond():
            more, more_log = self._flat(cells)._crps_beyond(y_flat[cells])
            count[cells] += more
            log[cells] += more_log
        return {"count": count.reshape(self.mean.shape), "log1p": log.reshape(self.mean.shape)}

    def _log1p_beyond(self) -> np.ndarray:
        """The part of E log(1 + Y) from _EXACT on, by parts: P(Y > k) is exact where probabilities of single counts
        are not."""
        low, high = (edge + shift for edge, shift in zip(self._body(), (-0.5, 0.5), strict=True))
        at, weight = _between(low, high)
        spread = NegativeBinomial(self.mean[:, None], self.size[:, None])
        rising = (weight * (1 - spread.cdf(at, whole=False)) / (at + 1.5)).sum(1)
        reached = 1 - self.cdf(np.full(self.mean.shape, _EXACT - 1.0))
        return reached * np.log1p(_EXACT) + np.log1p((low - _EXACT + 0.5) / (_EXACT + 1)) + rising

    def _crps_beyond(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both scores over the counts from _EXACT on: where F is next to 0 or 1 in closed form, between by quadrature.

        A sum over counts is the integral over half a step more on either side; F(k) takes over at k, so that counts
        are shifted by a half on the scale of log(1 + Y) too.
        """
        start = _EXACT - 0.5
        low, high = (edge + shift for edge, shift in zip(self._body(), (-0.5, 0.5), strict=True))
        turn = np.maximum(y - 0.5, start)  # where 1[y <= k] jumps
        count, log = np.zeros(y.size), np.zeros(y.size)
        for a, b in ((turn, low), (high, turn)):  # below the body F = 0 behind the turn, above it F = 1 before
            b = np.maximum(a, b)
            count += b - a
            log += np.log1p((b - a) / (a + 1.5))
        spread = NegativeBinomial(self.mean[:, None], self.size[:, None])
        middle = np.clip(turn, low, high)
        for a, b, reached in ((low, middle, 0.0), (middle, high, 1.0)):
            at, weight = _between(a, b)
            gap = (spread.cdf(at, whole=False) - reached) ** 2
            count += (weight * gap).sum(1)
            log += (weight * gap / (at + 1.5)).sum(1)
        return count, log

    def _body(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last count from _EXACT on between which all but next to nothing of the mass beyond it lies."""
        low, high = (self._bisected(p) for p in (1e-13, 1 - 1e-13))
        return np.maximum(low, _EXACT), np.maximum(high, _EXACT)

    def _bisected(self, p: float) -> np.ndarray:
        """The smallest count whose cdf reaches p, by halving the interval on a logarithmic scale."""
        low, high = np.full(self.mean.shape, -1.0), self.mean + 40 * self._sd + 40
        for _ in range(20):  # a very uneven one has its last quantiles further out
            high = np.where(self.cdf(high) < p, 2 * high, high)
        while True:
            middle = np.floor(np.sqrt(low + 2) * np.sqrt(high + 2) - 2)
            middle = np.where(middle <= low, np.floor(low + (high - low) / 2), middle)
            open_ = (middle > low) & (middle < high)
            if not open_.any():
                return np.ceil(high)
            reached = self.cdf(middle) >= p
            low, high = np.where(open_ & ~reached, middle, low), np.where(open_ & reached, middle, high)

    @property
    def _sd(self) -> np.ndarray:
        return np.hypot(np.sqrt(self.mean), self.mean / np.sqrt(self.size))

    def _flat(self, cells: np.ndarray) -> NegativeBinomial:
        mean, size = np.broadcast_arrays(self.mean, self.size)
        return NegativeBinomial(np.ravel(mean)[cells].astype(float), np.ravel(size)[cells].astype(float))


class _Walk:
    """Blocks (cells, counts, pmf, cdf) along the support until each cell's tail is spent and y is passed.

    left    after the walk: the cells for which the counts below _EXACT were not enough
    """

    def __init__(self, distribution: NegativeBinomial, tail: float, at_least: np.ndarray | None = None) -> None:
        every = np.arange(distribution.mean.size)
        self.flat, self.tail, self.at_least, self.left = distribution._flat(every), tail, at_least, every

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        mean, far = self.flat.mean, self.flat.mean + 40 * self.flat._sd
        start, width = 0, _FIRST_BLOCK
        below = np.zeros(mean.size)  # P(Y < start)
        while self.left.size and start < _EXACT:
            counts = np.arange(start, start + width, dtype=float)
            left: list[np.ndarray] = []
            for part in np.array_split(self.left, max(1, self.left.size * width // _BLOCK_ENTRIES)):
                block = NegativeBinomial(mean[part, None], self.flat.size[part, None])
                pmf = block.probability(counts)
                cdf = np.minimum(below[part, None] + np.cumsum(pmf, 1), 1.0)
                yield part, counts, pmf, cdf
                below[part] = cdf[:, -1]
                # Rounding may keep the cdf a hair under 1 for ever: the bound of 40 sd ends the walk.
                done = (below[part] > 1 - self.tail) | (counts[-1] > far[part])
                more = self.at_least[part] > counts[-1] if self.at_least is not None else np.zeros(part.size, bool)
                left.append(part[~done | more])
            self.left, start, width = np.concatenate(left), start + width, width * 2

    def beyond(self) -> Iterator[np.ndarray]:
        """The cells that are left, in parts that fit into memory."""
        if self.left.size:
            yield from np.array_split(self.left, max(1, self.left.size * _PANELS * 16 // _BLOCK_ENTRIES))


def _between(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights (cells, nodes) that sum a smooth function over the counts from start + 1/2 to end - 1/2.

    Panels even in log(count), and the first term of Euler and Maclaurin at both ends, which makes an integral a sum.
    """
    end = np.maximum(end, start)
    edges = start[:, None] * (end / start)[:, None] ** np.linspace(0, 1, _PANELS + 1)
    half = np.diff(edges, axis=1)[..., None] / 2
    places, weights = (edges[:, :-1, None] + half) + half * _NODES, half * _WEIGHTS
    ends = np.stack([start + 0.5, start - 0.5, end - 0.5, end + 0.5], axis=1)
    correction = np.broadcast_to(np.array([1, -1, 1, -1]) / 24, ends.shape) * (end > start)[:, None]
    flat = (len(start), -1)
    return np.hstack([places.reshape(flat), ends]), np.hstack([weights.reshape(flat), correction])

"""Links: what a network's raw prediction stands for, and the way from it to a forecast and back from the data.

Predictions are on the *working scale*: that of the data's transform (identity), log(1 + count) (log), or the
probability of any event (logit). Arrays are NumPy's or torch's, so that an explanation takes the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trnn_core.data.relations import Array
from trnn_core.data.series import RelationalSeries
from trnn_core.data.transforms import Transform
from trnn_core.errors import TRNNError

if TYPE_CHECKING:
    from trnn_core.models.distributions import Distribution

_LARGEST = 60.0  # of a logarithm: its exponential stays finite
Predicted: TypeAlias = "tuple[np.ndarray, Distribution]"


class Identity:
    """The value itself, on the scale of the transform."""

    transformed = True  # whether raw predictions are on the transform's scale
    chance = False  # whether it says how likely any event is, and not how many or how much

    def scale(self, transform: str) -> str:
        """The working scale in words."""
        return transform

    def check(self, series: RelationalSeries, loss: str) -> None:
        """Refuse a series that the loss cannot be computed of."""

    def targets(self, values: np.ndarray, z: np.ndarray) -> np.ndarray:
        """What is to be predicted, from values and from the same transformed."""
        return z

    def point(self, raw: Array) -> Array:
        """From raw predictions to the working scale."""
        return raw

    def values(self, point: np.ndarray, transform: Transform, counts: bool) -> np.ndarray:
        """From the working scale to counts or values; counts are never negative."""
        values = transform.invert(point)
        return np.maximum(values, 0.0) if counts else values

    def level(self, point: Array, invert: Callable[[Array], Array]) -> Array:
        """From the working scale to levels; `invert` leads there from the transform's scale."""
        return invert(point)

    def predict(self, levels: Callable[[], np.ndarray], with_noise: Callable[[], Predicted]) -> Predicted:
        """Expected levels and their distribution: the network's own, or that of the noise learnt from its errors."""
        return with_noise()


class Log(Identity):
    """The logarithm of the expected count."""

    transformed = False

    def scale(self, transform: str) -> str:
        return "log1p"

    def check(self, series: RelationalSeries, loss: str) -> None:
        if series.source.kind != "count" or np.nanmin(series.values, initial=0.0) < 0:
            raise TRNNError(
                f"The loss '{loss}' needs counts of at least 0. Got the series {series.source.title!r} of other"
                " values; choose the loss 'squared'."
            )

    def targets(self, values: np.ndarray, z: np.ndarray) -> np.ndarray:
        return values

    def point(self, raw: Array) -> Array:
        if isinstance(raw, np.ndarray):
            return np.log1p(np.exp(np.minimum(raw, _LARGEST)))
        from torch.nn.functional import softplus

        return softplus(raw.clamp_max(_LARGEST))

    def values(self, point: np.ndarray, transform: Transform, counts: bool) -> np.ndarray:
        return np.expm1(np.minimum(point, _LARGEST)).clip(0.0)

    def level(self, point: Array, invert: Callable[[Array], Array]) -> Array:
        return point.clip(0.0)

    def predict(self, levels: Callable[[], np.ndarray], with_noise: Callable[[], Predicted]) -> Predicted:
        level, distribution = with_noise()
        from trnn_core.models.distributions import NegativeBinomial  # settings need not wait for scipy

        if isinstance(distribution, NegativeBinomial):  # the network says the mean, not the mean level
            return distribution.expected_log1p(), distribution
        return level, distribution


class Logit(Identity):
    """The log-odds of any event."""

    transformed = False
    chance = True

    def scale(self, transform: str) -> str:
        return "probability"

    def targets(self, values: np.ndarray, z: np.ndarray) -> np.ndarray:
        return (values > 0).astype(np.float64)

    def point(self, raw: Array) -> Array:
        return 1 / (1 + np.exp(-raw)) if isinstance(raw, np.ndarray) else raw.sigmoid()

    def values(self, point: np.ndarray, transform: Transform, counts: bool) -> np.ndarray:
        return np.clip(point, 0.0, 1.0)

    def level(self, point: Array, invert: Callable[[Array], Array]) -> Array:
        return point.clip(0.0, 1.0)

    def predict(self, levels: Callable[[], np.ndarray], with_noise: Callable[[], Predicted]) -> Predicted:
        chance = levels()
        from trnn_core.models.distributions import Bernoulli

        return chance, Bernoulli(chance)

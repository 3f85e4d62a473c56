"""Cross-entropy: whole-number targets with one more axis of classes in raw are categorical, any other 0 to 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnn_core.models.likelihoods.likelihood import Likelihood
from trnn_core.models.likelihoods.link_functions import Logit

if TYPE_CHECKING:
    from torch import Tensor


class CrossEntropy(Likelihood):
    name = "cross_entropy"
    label = "cross-entropy"
    loss_words = "mean cross-entropy of whether anything happened"
    link = Logit()

    def cost(self, raw: Tensor, target: Tensor, **parameters: Tensor) -> Tensor:
        from torch.nn import functional

        if _is_categorical(raw, target):
            return functional.cross_entropy(raw.movedim(-1, 1), target.long(), reduction="none")
        return functional.binary_cross_entropy_with_logits(raw, target.to(raw.dtype), reduction="none")

    def predicted_shape(self, raw: Tensor, target: Tensor) -> tuple[int, ...]:
        return tuple(raw.shape[:-1] if _is_categorical(raw, target) else raw.shape)


def _is_categorical(raw: Tensor, target: Tensor) -> bool:
    return not target.is_floating_point() and raw.ndim == target.ndim + 1

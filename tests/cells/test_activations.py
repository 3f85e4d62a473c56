"""Every activation: its values by hand, and its derivative, which is written in terms of its own output."""

from __future__ import annotations

import math

import pytest
import torch

from trnn_core.cells.activations import ACTIVATIONS, get_activation
from trnn_core.errors import TRNNError

BY_HAND = {
    "sigmoid": (math.log(3), 0.75),
    "tanh": (math.log(2), 0.6),
    "relu": (-2.0, 0.0),
    "identity": (-2.0, -2.0),
    "hard_sigmoid": (1.5, 0.75),
    "softsign": (-3.0, -0.75),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_by_hand(name: str) -> None:
    x, y = BY_HAND[name]
    z = torch.tensor([x], dtype=torch.float64)
    out = ACTIVATIONS[name].apply_(z)
    assert out.item() == pytest.approx(y, abs=1e-15)
    assert out.data_ptr() == z.data_ptr()  # in place


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivative_from_the_output_equals_finite_differences(name: str) -> None:
    x = torch.linspace(-4.03, 4.03, 52, dtype=torch.float64)  # on neither side of a kink within the step
    step, apply = 1e-6, ACTIVATIONS[name].apply_
    expected = (apply((x + step).clone()) - apply((x - step).clone())) / (2 * step)
    upstream = torch.full_like(x, 3.0)
    out = apply(x.clone())
    kept = out.clone()
    assert torch.allclose(ACTIVATIONS[name].chain_(upstream, out), 3.0 * expected, atol=1e-8, rtol=0)
    assert torch.equal(out, kept)


def test_unknown_activation() -> None:
    with pytest.raises(TRNNError, match=r"one of sigmoid, tanh, relu, identity, hard_sigmoid, softsign. Got 'gelu'"):
        get_activation("gelu")

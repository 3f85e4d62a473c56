"""From H_t to a scalar, a vector or a tensor response of any shape."""

from __future__ import annotations

import pytest
import torch

from trnn_core.cells.stacked import Layout
from trnn_core.cells.tucker import tucker_map
from trnn_core.models.readout import TensorReadout

SHAPES = [((4,), (3,)), ((4,), ()), ((4,), (2, 3)), ((3, 2), (5, 4)), ((3, 2, 4), (2, 5, 3)), ((3, 2, 4), (6,))]
SHAPES += [((3, 2, 4), ()), ((3, 2, 4), (2, 2)), ((3, 2), (2, 1, 3)), ((2, 3, 1, 2), (1, 2, 4, 3))]
SHAPES += [((2, 14), (3, 16)), ((2, 14), (5,))]


def make_readout(hidden: tuple[int, ...], output: tuple[int, ...]) -> TensorReadout:
    torch.manual_seed(0)
    readout = TensorReadout(Layout(hidden), hidden, output).double()
    with torch.no_grad():
        for parameter in readout.parameters():
            parameter.normal_()
    return readout


@pytest.mark.parametrize("hidden, output", SHAPES)
def test_response_equals_the_plain_formula(hidden: tuple[int, ...], output: tuple[int, ...]) -> None:
    """The same order as H: a Tucker map. Any other order: one weight for each pair of entries."""
    readout = make_readout(hidden, output)
    H = torch.randn(6, *hidden, dtype=torch.float64)
    Y = readout.outward(readout(readout.layout.inward(H)))
    assert Y.shape == (6, *output)
    for b in range(6):
        if len(hidden) == len(output):
            V = [readout.get_parameter(f"V{d}")[0] for d in range(1, len(hidden) + 1)]
            expected = tucker_map(H[b], V) + readout.B[0]
        else:
            expected = (readout.V @ H[b].reshape(-1)).view(output) + readout.B[0]
        assert torch.allclose(Y[b], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("hidden, output", SHAPES)
def test_gradients_equal_finite_differences(hidden: tuple[int, ...], output: tuple[int, ...]) -> None:
    readout = make_readout(hidden, output)
    names = [name for name, _ in readout.named_parameters()]
    H = torch.randn(2, *hidden, dtype=torch.float64, requires_grad=True)

    def run(H, *values):
        inner = readout.layout.inward(H)
        return readout.outward(torch.func.functional_call(readout, dict(zip(names, values, strict=True)), (inner,)))

    assert torch.autograd.gradcheck(run, (H, *readout.parameters()), fast_mode=True)


@pytest.mark.parametrize("hidden, output", SHAPES)
def test_inward_and_outward_are_inverse(hidden: tuple[int, ...], output: tuple[int, ...]) -> None:
    readout = make_readout(hidden, output)
    y = torch.randn(5, *output, dtype=torch.float64)
    assert torch.equal(readout.outward(readout.inward(y)), y)


def test_reset_starts_the_bias_at_zero_and_follows_its_generator() -> None:
    readout = make_readout((3, 2), (4, 4))
    readout.reset_parameters(torch.Generator().manual_seed(3))
    first = readout.V1.detach().clone()
    readout.reset_parameters(torch.Generator().manual_seed(3))
    assert torch.equal(readout.V1, first)
    assert not readout.B.any()

"""Parameters by the paper's names, how they start, and what the regulariser covers."""

from __future__ import annotations

import pytest
import torch

from tests.cells.reference import CELLS, HIDDEN, INPUT, OUTPUT, make_input, make_layer
from trnn_core.cells.gru import TensorGRU
from trnn_core.cells.lstm import TensorLSTM
from trnn_core.cells.rnn import TensorRNN
from trnn_core.cells.tensor_cell import init_factor
from trnn_core.errors import TRNNError

every_cell = pytest.mark.parametrize("cell", CELLS)


@every_cell
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_factors_and_biases_have_the_papers_shapes(cell: str, order: int) -> None:
    layer = make_layer(cell, order, num_layers=2)
    state = OUTPUT[order] if cell == "jordan" else HIDDEN[order]
    for gate in layer.gates:
        for d, (h, s, x) in enumerate(zip(HIDDEN[order], state, INPUT[order], strict=True), start=1):
            assert layer.factor("W", gate, d).shape == (h, s)
            assert layer.factor("U", gate, d).shape == (h, x)
            assert layer.factor("U", gate, d, layer=1).shape == (h, s)
        assert layer.bias(gate).shape == HIDDEN[order]
    if cell == "jordan":
        assert [layer.factor("V", "h", d).shape for d in range(1, order + 1)] == list(
            zip(OUTPUT[order], HIDDEN[order], strict=True)
        )
        assert layer.bias("y").shape == OUTPUT[order]


@every_cell
def test_factors_and_biases_are_views_that_can_be_set_in_place(cell: str) -> None:
    """Setting one moves the output; setting it back restores it; no other gate or mode is touched."""
    layer = make_layer(cell, 3)
    x = make_input(layer)
    before, whole = layer(x)[0].detach(), {n: p.detach().clone() for n, p in layer.named_parameters()}
    views = [layer.factor(kind, gate, mode) for kind in "WU" for gate in layer.gates for mode in (1, 2, 3)]
    views += [layer.bias(gate) for gate in layer.gates]
    for view in views:
        old = view.detach().clone()
        with torch.no_grad():
            view.mul_(1.5)
        assert sum(int((p != whole[n]).sum()) for n, p in layer.named_parameters()) == view.numel()
        assert not torch.equal(layer(x)[0], before)
        with torch.no_grad():
            view.copy_(old)
    assert torch.equal(layer(x)[0], before)


def test_gates_and_kinds_are_named_when_wrong() -> None:
    lstm, gru, elman = TensorLSTM((2, 2), (2, 2)), TensorGRU((2, 2), (2, 2)), TensorRNN((2, 2), (2, 2))
    with pytest.raises(TRNNError, match=r"TensorLSTM has the gates f, i, o, c\. Got 'r'"):
        lstm.factor("W", "r", 1)
    with pytest.raises(TRNNError, match=r"gates r, z, h\. Got 'fi'"):
        gru.bias("fi")
    with pytest.raises(TRNNError, match=r"W or U of a mode from 1 to 2\. Got 'V' of mode 1"):
        elman.factor("V", "h", 1)
    with pytest.raises(TRNNError, match=r"Got 'W' of mode 3"):
        lstm.factor("W", "f", 3)
    with pytest.raises(TRNNError, match=r"layer must be one of 0 to 0\. Got 1"):
        lstm.factor("W", "f", 1, layer=1)
    with pytest.raises(TRNNError, match=r"layer must be one of 0 to 0\. Got -1"):
        lstm.bias("f", layer=-1)
    with pytest.raises(TRNNError, match=r"gates h"):
        elman.bias("y")  # only Jordan's network has an output of its own
    with pytest.raises(TRNNError, match=r"made without biases"):
        TensorGRU((2,), (2,), bias=False).bias("r")


@every_cell
def test_without_bias_there_is_none(cell: str) -> None:
    layer = make_layer(cell, 2, bias=False)
    assert not [name for name, _ in layer.named_parameters() if name.startswith("B")]
    assert layer(make_input(layer))[0].isfinite().all()


@every_cell
def test_penalty_covers_W_and_U_only(cell: str) -> None:
    layer = make_layer(cell, 3, num_layers=2)
    named = [
        layer.factor(kind, gate, mode, number)
        for kind in "WU"
        for gate in layer.gates
        for mode in (1, 2, 3)
        for number in (0, 1)
    ]
    assert layer.penalty().item() == pytest.approx(sum(f.square().sum().item() for f in named), rel=1e-12)
    layer.penalty().backward()
    for name, parameter in layer.named_parameters():
        if name[0] in "WU":
            assert torch.equal(parameter.grad, 2 * parameter)
        else:
            assert parameter.grad is None


@every_cell
def test_reset_follows_its_generator_and_nothing_else(cell: str) -> None:
    layer = make_layer(cell, 3)
    drawn = []
    for noise in (1, 2):
        torch.manual_seed(noise)
        layer.reset_parameters(torch.Generator().manual_seed(7))
        drawn.append([p.detach().clone() for p in layer.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*drawn, strict=True))
    layer.reset_parameters(torch.Generator().manual_seed(8))
    assert not torch.equal(layer.factor("U", layer.gates[0], 1), drawn[0][1][0])


def test_biases_start_at_zero_and_the_forget_gate_open() -> None:
    layer = TensorLSTM((3, 3), (2, 2), num_layers=2)
    for number in (0, 1):
        assert (layer.bias("f", number) == 1).all()
        assert not any(layer.bias(gate, number).any() for gate in "ioc")
    assert not any(TensorGRU((3,), (2,)).bias(gate).any() for gate in "rzh")


@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (4, 9)])
def test_identity_start_maps_each_input_to_its_own_unit(shape: tuple[int, int]) -> None:
    factor = torch.empty(shape)
    init_factor(factor, "identity", torch.Generator().manual_seed(0))
    expected = torch.zeros(shape)
    expected[torch.arange(shape[0]), torch.arange(shape[0]) % shape[1]] = 1
    assert (factor - expected).abs().max() < 0.06  # noise of standard deviation 0.01
    assert not torch.equal(factor, expected)


def test_orthogonal_start_is_orthogonal() -> None:
    layer = TensorLSTM((5, 3), (5, 4), init="orthogonal").double()
    W = layer.factor("W", "c", 1)
    assert torch.allclose(W @ W.T, torch.eye(5, dtype=W.dtype), atol=1e-6)
    assert not torch.equal(W, layer.factor("W", "f", 1))


@pytest.mark.parametrize("scheme, bound", [("glorot", (6 / 70) ** 0.5), ("uniform", (3 / 30) ** 0.5)])
def test_uniform_starts_keep_to_their_bounds(scheme: str, bound: float) -> None:
    factor = torch.empty(40, 30)
    init_factor(factor, scheme, torch.Generator().manual_seed(0))
    assert 0.95 * bound < factor.abs().max() <= bound
    assert factor.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)


def test_unknown_names_are_told_with_the_choices() -> None:
    with pytest.raises(TRNNError, match=r"one of glorot, orthogonal, identity, uniform. Got 'xavier'"):
        TensorLSTM((2,), (2,), init="xavier")
    with pytest.raises(TRNNError, match=r"activation must be one of sigmoid, tanh, .*Got 'swish'"):
        TensorLSTM((2,), (2,), activations=("sigmoid", "swish", "tanh"))
    with pytest.raises(TRNNError, match=r"takes 3 activations .*sigmoid, tanh, tanh.*Got 2"):
        TensorLSTM((2,), (2,), activations=("sigmoid", "tanh"))


def test_weights_can_be_exchanged_by_functional_call() -> None:
    layer, other = make_layer("lstm", 2, seed=0), make_layer("lstm", 2, seed=5)
    x = make_input(layer)
    exchanged = torch.func.functional_call(layer, dict(other.named_parameters()), (x,))
    assert torch.equal(exchanged[0], other(x)[0])

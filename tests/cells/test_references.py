"""The cells against independent implementations: torch's vector networks (D = 1) and TensorLy (D = 1 to 4)."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.cells.reference import CELLS, gradients, make_input, make_layer, make_state, parts_of, run_reference, worst
from trnn_core.cells.gru import TensorGRU
from trnn_core.cells.lstm import TensorLSTM
from trnn_core.cells.rnn import TensorRNN

EXACT = 1e-12


def share_weights(ours, theirs, gates: str) -> None:
    """Copy ours into torch's stacked rows, given the order in which torch stacks the gates."""
    with torch.no_grad():
        for layer in range(ours.num_layers):
            for name, kind in (("weight_ih", "U"), ("weight_hh", "W")):
                rows = torch.cat([ours.factor(kind, gate, 1, layer) for gate in gates])
                getattr(theirs, f"{name}_l{layer}").copy_(rows)
            getattr(theirs, f"bias_ih_l{layer}").copy_(torch.cat([ours.bias(gate, layer) for gate in gates]))
            getattr(theirs, f"bias_hh_l{layer}").zero_()


def assert_same_gradients(ours, theirs, gates: str) -> None:
    for layer in range(ours.num_layers):
        for name, kind in (("weight_ih", "U1"), ("weight_hh", "W1"), ("bias_ih", "B")):
            mine = ours.get_parameter(f"{kind}_{layer}").grad
            stacked = torch.cat([mine[ours.gates.index(gate)] for gate in gates])
            assert torch.allclose(stacked, getattr(theirs, f"{name}_l{layer}").grad, atol=EXACT, rtol=EXACT)


@pytest.mark.parametrize("num_layers", [1, 2])
def test_first_order_lstm_is_torch_lstm(num_layers: int) -> None:
    """Outputs, both states, and the gradients of every weight, of the input and of the initial state."""
    torch.manual_seed(0)
    ours = TensorLSTM((5,), (7,), num_layers=num_layers).double()
    theirs = nn.LSTM(5, 7, num_layers, batch_first=True).double()
    share_weights(ours, theirs, "ifco")
    x = torch.randn(3, 6, 5, dtype=torch.float64)
    state = tuple(torch.randn(num_layers, 3, 7, dtype=torch.float64) for _ in range(2))
    seen = []
    for network in (ours, theirs):
        inputs = [t.clone().requires_grad_() for t in (x, *state)]
        out, (H, C) = network(inputs[0], tuple(inputs[1:]))
        (out.square().sum() + (H * C).sum()).backward()
        seen.append([out, H, C, *(t.grad for t in inputs)])
    for mine, other in zip(*seen, strict=True):
        assert torch.allclose(mine, other, atol=EXACT, rtol=EXACT)
    assert_same_gradients(ours, theirs, "ifco")


def test_first_order_elman_is_torch_rnn() -> None:
    torch.manual_seed(0)
    ours, theirs = TensorRNN((5,), (7,), num_layers=2).double(), nn.RNN(5, 7, 2, batch_first=True).double()
    share_weights(ours, theirs, "h")
    x = torch.randn(3, 6, 5, dtype=torch.float64)
    for network in (ours, theirs):
        network(x)[0].square().sum().backward()
    assert torch.allclose(ours(x)[0], theirs(x)[0], atol=EXACT, rtol=0)
    assert_same_gradients(ours, theirs, "h")


def test_first_order_gru_is_torch_gru_only_where_reset_before_and_after_agree() -> None:
    """W(R o H) = R o (WH) when W is diagonal; with a full W_h, torch's reset-after network is another one."""
    torch.manual_seed(0)
    ours, theirs = TensorGRU((5,), (7,)).double(), nn.GRU(5, 7, batch_first=True).double()
    x = torch.randn(3, 6, 5, dtype=torch.float64)
    share_weights(ours, theirs, "rzh")
    assert (ours(x)[0] - theirs(x)[0]).abs().max() > 1e-3
    with torch.no_grad():
        ours.factor("W", "h", 1).copy_(torch.diag(torch.randn(7)))
    share_weights(ours, theirs, "rzh")
    assert torch.allclose(ours(x)[0], theirs(x)[0], atol=EXACT, rtol=0)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("num_layers", [1, 2])
def test_cells_equal_the_tensorly_reference(cell: str, order: int, num_layers: int) -> None:
    layer = make_layer(cell, order, num_layers=num_layers)
    x, state = make_input(layer), make_state(layer)
    for start in (None, state):
        ours, theirs = layer(x, start), run_reference(layer, x, start)
        assert ours[0].shape == (3, 4, *layer.state_shape)
        for mine, other in zip((ours[0], *parts_of(ours[1])), (theirs[0], *parts_of(theirs[1])), strict=True):
            assert (mine - other).abs().max() < EXACT
    ours_grad = gradients(layer, layer, x, state)
    theirs_grad = gradients(layer, lambda *given: run_reference(layer, *given), x, state)
    assert worst(ours_grad, theirs_grad) < EXACT


@pytest.mark.parametrize("hidden", [(14,), (15, 3), (2, 15, 14), (2, 1, 3, 30)])
@pytest.mark.parametrize("cell", CELLS)
def test_sizes_that_fill_no_register_equal_the_reference(cell: str, hidden: tuple[int, ...]) -> None:
    """Sizes around those of a vector register; sigma_c(0) and sigma_h(0) that are not zero themselves included."""
    activations = {"lstm": ("sigmoid", "hard_sigmoid", "hard_sigmoid"), "gru": ("sigmoid", "hard_sigmoid")}
    for names in (None, activations.get(cell)):
        layer = make_layer(cell, len(hidden), hidden=hidden, num_layers=2, activations=names)
        x, state, lengths = make_input(layer), make_state(layer), torch.tensor([4, 1, 3])
        ours, theirs = layer(x, state, lengths), run_reference(layer, x, state, lengths)
        assert ours[0].shape == (3, 4, *layer.state_shape)
        for mine, other in zip((ours[0], *parts_of(ours[1])), (theirs[0], *parts_of(theirs[1])), strict=True):
            assert (mine - other).abs().max() < EXACT
        reference = gradients(layer, lambda *given, net=layer: run_reference(net, *given), x, state, lengths)
        assert worst(gradients(layer, layer, x, state, lengths), reference) < EXACT


def test_paper_size_equals_the_tensorly_reference() -> None:
    """Case II of the paper: 25 x 25 x 4 in, 14 x 14 x 4 hidden, T = 7."""
    torch.manual_seed(0)
    layer = TensorLSTM((25, 25, 4), (14, 14, 4)).double()
    x = torch.randn(2, 7, 25, 25, 4, dtype=torch.float64)
    ours, theirs = layer(x), run_reference(layer, x)
    assert (ours[0] - theirs[0]).abs().max() < EXACT
    reference = gradients(layer, lambda *given: run_reference(layer, *given), x)
    assert worst(gradients(layer, layer, x), reference) < EXACT

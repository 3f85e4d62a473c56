"""Laws of a sequence layer: padding, handing over the state, order of a mode's entries, dtype, repeatability."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cells.reference import (
    CELLS,
    gradients,
    make_input,
    make_layer,
    make_state,
    parts_of,
    run_reference,
    worst,
)
from trnn_core.cells.gru import TensorGRU
from trnn_core.cells.lstm import TensorLSTM
from trnn_core.cells.rnn import TensorRNN

every_cell = pytest.mark.parametrize("cell", CELLS)
every_order = pytest.mark.parametrize("order", [1, 2, 3, 4])


@every_cell
@every_order
def test_padded_batch_equals_each_series_alone(cell: str, order: int) -> None:
    layer = make_layer(cell, order, num_layers=2)
    x, state, lengths = make_input(layer, 4, 5), make_state(layer, 4), [5, 2, 1, 4]
    outputs, end = layer(x, state, torch.tensor(lengths))
    for b, length in enumerate(lengths):
        start = tuple(s[:, b : b + 1] for s in parts_of(state))
        alone, alone_end = layer(x[b : b + 1, :length], start if layer.n_states > 1 else start[0])
        assert torch.allclose(outputs[b, :length], alone[0], atol=1e-13, rtol=0)
        assert not outputs[b, length:].any()
        for ours, theirs in zip(parts_of(end), parts_of(alone_end), strict=True):
            assert torch.allclose(ours[:, b], theirs[:, 0], atol=1e-13, rtol=0)


@every_cell
def test_what_stands_behind_the_end_does_not_matter(cell: str) -> None:
    """Not even NaN or infinity, in values or in gradients."""
    layer = make_layer(cell, 3, num_layers=2)
    x, lengths = make_input(layer, 3, 4), torch.tensor([4, 1, 2])
    spoiled = x.clone()
    spoiled[1, 1:], spoiled[2, 2:] = float("nan"), float("inf")
    clean, dirty = (gradients(layer, layer, z, None, lengths) for z in (x, spoiled))
    assert torch.equal(layer(x, None, lengths)[0], layer(spoiled, None, lengths)[0])
    assert all(torch.equal(clean[name], dirty[name]) for name in clean)
    assert not clean["x"][1, 1:].any()


@every_cell
@every_order
@pytest.mark.parametrize("cut", [1, 3])
def test_a_sequence_cut_in_two_equals_one_call(cell: str, order: int, cut: int) -> None:
    """With the state handed over; gradients pass through the cut as well."""
    layer = make_layer(cell, order, num_layers=2)
    x = make_input(layer, 2, 5)

    def in_two(x, state, lengths):
        first, state = layer(x[:, :cut], state)
        second, state = layer(x[:, cut:], state)
        return torch.cat([first, second], dim=1), state

    whole, halves = layer(x), in_two(x, None, None)
    for ours, theirs in zip((whole[0], *parts_of(whole[1])), (halves[0], *parts_of(halves[1])), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-13, rtol=0)
    assert worst(gradients(layer, layer, x), gradients(layer, in_two, x)) < 1e-12


@every_cell
@every_order
def test_permuting_an_input_mode_with_the_columns_of_its_factor_changes_nothing(cell: str, order: int) -> None:
    """The order in which countries are listed carries no meaning."""
    layer = make_layer(cell, order)
    x = make_input(layer)
    for mode in range(1, order + 1):
        permuted = copy.deepcopy(layer)
        shuffle = torch.randperm(layer.input_shape[mode - 1], generator=torch.Generator().manual_seed(mode))
        with torch.no_grad():
            for gate in layer.gates:
                factor = permuted.factor("U", gate, mode)
                factor.copy_(factor[:, shuffle].clone())
        z = x.index_select(mode + 1, shuffle)
        assert torch.allclose(permuted(z)[0], layer(x)[0], atol=1e-13, rtol=0)


@every_cell
def test_permuting_the_hidden_units_of_a_mode_permutes_the_output(cell: str) -> None:
    """Rows of U and V's columns, rows (and, where H is fed back, columns) of W, and the biases move together."""
    layer, moved = make_layer(cell, 3), make_layer(cell, 3)
    x, shuffle = make_input(layer), torch.tensor([2, 0, 1])
    with torch.no_grad():
        for gate in layer.gates:
            U, W = moved.factor("U", gate, 2), moved.factor("W", gate, 2)
            U.copy_(U[shuffle].clone())
            W.copy_((W[shuffle] if cell == "jordan" else W[shuffle][:, shuffle]).clone())
            moved.bias(gate).copy_(moved.bias(gate)[:, shuffle].clone())
        if cell == "jordan":
            V = moved.factor("V", "h", 2)
            V.copy_(V[:, shuffle].clone())
    expected = layer(x)[0] if cell == "jordan" else layer(x)[0][..., shuffle, :]
    assert torch.allclose(moved(x)[0], expected, atol=1e-13, rtol=0)


@every_cell
def test_zero_state_is_no_state(cell: str) -> None:
    layer = make_layer(cell, 3, num_layers=2)
    x = make_input(layer)
    zeros = tuple(torch.zeros_like(s) for s in parts_of(make_state(layer)))
    assert torch.allclose(layer(x, zeros if layer.n_states > 1 else zeros[0])[0], layer(x)[0], atol=1e-14, rtol=0)


@every_cell
def test_last_output_is_the_end_state(cell: str) -> None:
    layer = make_layer(cell, 3, num_layers=2)
    outputs, end = layer(make_input(layer))
    assert torch.equal(outputs[:, -1], parts_of(end)[0][-1])


@every_cell
@every_order
def test_float32_is_close_to_float64(cell: str, order: int) -> None:
    layer = make_layer(cell, order, num_layers=2)
    single = copy.deepcopy(layer).float()
    x, lengths = make_input(layer), torch.tensor([4, 2, 3])
    seen = []
    for network, z in ((layer, x), (single, x.float())):
        outputs, _ = network(z, None, lengths)
        grads = torch.autograd.grad(outputs.square().sum(), list(network.parameters()))
        assert {t.dtype for t in (outputs, *grads)} == {z.dtype}
        seen.append((outputs, *grads))
    for exact, rounded in zip(*seen, strict=True):
        assert (rounded.double() - exact).abs().max() < 1e-4 * exact.abs().max().clamp(min=1e-2)


@every_cell
def test_same_input_same_bits(cell: str) -> None:
    layer = make_layer(cell, 3, num_layers=2)
    x = make_input(layer)
    one, other = gradients(layer, layer, x), gradients(layer, layer, x)
    assert torch.equal(layer(x)[0], layer(x)[0])
    assert all(torch.equal(one[name], other[name]) for name in one)


@every_cell
def test_input_need_not_be_contiguous(cell: str) -> None:
    layer = make_layer(cell, 3)
    x = make_input(layer)
    strided = x.transpose(0, 1).contiguous().transpose(0, 1)
    assert not strided.is_contiguous()
    assert torch.equal(layer(strided)[0], layer(x)[0])


sizes = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=4)


@given(sizes, st.sampled_from(CELLS), st.integers(1, 3), st.integers(1, 4), st.data())
@settings(max_examples=60, deadline=None)
def test_any_shape_equals_the_reference(modes, cell: str, n_sequences: int, n_steps: int, data) -> None:
    """Random orders, sizes (ones among them), lengths and layers: values and gradients."""
    given_shape, hidden_shape = (tuple(m) for m in zip(*modes, strict=True))
    num_layers = data.draw(st.integers(1, 2))
    lengths = torch.tensor(data.draw(st.lists(st.integers(1, n_steps), min_size=n_sequences, max_size=n_sequences)))
    torch.manual_seed(0)
    kind = {"lstm": TensorLSTM, "gru": TensorGRU}.get(cell, TensorRNN)
    extra = {"output_shape": given_shape[::-1]} if cell == "jordan" else {}
    layer = kind(given_shape, hidden_shape, num_layers=num_layers, **extra).double()
    x = make_input(layer, n_sequences, n_steps)
    ours, theirs = layer(x, None, lengths), run_reference(layer, x, None, lengths)
    assert torch.allclose(ours[0], theirs[0], atol=1e-12, rtol=0)
    weights = torch.randn_like(ours[0])
    mine, other = (
        torch.autograd.grad((out[0] * weights).sum(), list(layer.parameters()), allow_unused=True)
        for out in (ours, theirs)
    )
    for a, b in zip(mine, other, strict=True):
        assert torch.allclose(a, torch.zeros_like(a) if b is None else b, atol=1e-11, rtol=1e-10)

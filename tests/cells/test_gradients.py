"""The analytic backward pass against autograd through the reference, and against finite differences (gradcheck)."""

from __future__ import annotations

import pytest
import torch
from torch.func import functional_call

from tests.cells.reference import (
    CELLS,
    SIGMA,
    gradients,
    make_input,
    make_layer,
    make_state,
    parts_of,
    run_reference,
    worst,
)
from trnn_core.cells import stacked

VARIANTS = {
    "plain": {},
    "lengths": {"lengths": [2, 3, 1]},
    "state": {"state": True},
    "lengths and state": {"lengths": [3, 1, 2], "state": True},
    "no bias": {"bias": False},
    "two layers": {"num_layers": 2},
    "everything": {"num_layers": 2, "lengths": [1, 3, 2], "state": True, "bias": False},
}


def set_up(cell: str, order: int, variant: str):
    options = dict(VARIANTS[variant])
    lengths, with_state = options.pop("lengths", None), options.pop("state", False)
    layer = make_layer(cell, order, **options)
    x = make_input(layer, n_steps=3)
    return layer, x, make_state(layer) if with_state else None, None if lengths is None else torch.tensor(lengths)


def check_by_finite_differences(layer, x, state, lengths, fast: bool = True) -> bool:
    """gradcheck over the input, the initial state and every parameter at once."""
    names = [name for name, _ in layer.named_parameters()]
    parts = () if state is None else parts_of(state)

    def run(x, *rest):
        start = rest[: len(parts)]
        start = None if not start else start if layer.n_states > 1 else start[0]
        outputs, end = functional_call(
            layer, dict(zip(names, rest[len(parts) :], strict=True)), (x, start), {"lengths": lengths}
        )
        return (outputs, *parts_of(end))

    leaves = [t.detach().clone().requires_grad_() for t in (x, *parts, *layer.parameters())]
    return torch.autograd.gradcheck(run, leaves, fast_mode=fast)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("cell", CELLS)
def test_analytic_gradients_equal_autograd_and_finite_differences(cell: str, order: int, variant: str) -> None:
    layer, x, state, lengths = set_up(cell, order, variant)
    ours = gradients(layer, layer, x, state, lengths)
    theirs = gradients(layer, lambda *given: run_reference(layer, *given), x, state, lengths)
    assert worst(ours, theirs) < 1e-10
    assert check_by_finite_differences(layer, x, state, lengths)


@pytest.mark.parametrize("cell", CELLS)
def test_every_single_entry_against_finite_differences(cell: str) -> None:
    """The full gradcheck, entry by entry (above it is a random projection of them)."""
    layer, x, state, _ = set_up(cell, 2, "lengths and state")
    assert check_by_finite_differences(layer, x[:, :2], state, torch.tensor([2, 1, 2]), fast=False)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["lengths and state", "everything"])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("cell", CELLS)
def test_every_single_entry_against_finite_differences_everywhere(cell: str, order: int, variant: str) -> None:
    layer, x, state, _ = set_up(cell, order, variant)
    assert check_by_finite_differences(layer, x[:, :2], state, torch.tensor([2, 1, 2]), fast=False)


@pytest.mark.parametrize("name", SIGMA)
@pytest.mark.parametrize("cell", CELLS)
def test_every_activation_in_every_place(cell: str, name: str) -> None:
    n_places = {"lstm": 3, "gru": 2, "elman": 1, "jordan": 2}[cell]
    default = make_layer(cell, 2).activations
    for place in range(n_places):
        names = [name if p == place else old for p, old in enumerate(default)]
        layer = make_layer(cell, 2, activations=names)
        x, state, lengths = make_input(layer, n_steps=3), make_state(layer), torch.tensor([3, 1, 2])
        reference = run_reference(layer, x, state, lengths)
        assert (layer(x, state, lengths)[0] - reference[0]).abs().max() < 1e-12
        theirs = gradients(layer, lambda *given, it=layer: run_reference(it, *given), x, state, lengths)
        assert worst(gradients(layer, layer, x, state, lengths), theirs) < 1e-10
        assert check_by_finite_differences(layer, x, state, lengths)


@pytest.mark.parametrize("cell", CELLS)
def test_backward_can_be_repeated_and_leaves_its_input_alone(cell: str) -> None:
    """Activations are applied in place inside the engine; what the user holds must never change."""
    layer = make_layer(cell, 3)
    x, state = make_input(layer).requires_grad_(), make_state(layer)
    kept = x.detach().clone(), tuple(s.clone() for s in parts_of(state))
    outputs, _ = layer(x, state)
    weights = torch.randn_like(outputs)
    first = torch.autograd.grad((outputs * weights).sum(), [x, *layer.parameters()], retain_graph=True)
    second = torch.autograd.grad((outputs * weights).sum(), [x, *layer.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert torch.equal(x, kept[0])
    assert all(torch.equal(a, b) for a, b in zip(parts_of(state), kept[1], strict=True))


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_of_the_end_state_alone(cell: str) -> None:
    """Many-to-one: nothing comes from the outputs, all from the last state, through every part of it in turn."""
    layer = make_layer(cell, 2)
    x = make_input(layer)
    for part in range(layer.n_states):
        ours = torch.autograd.grad(parts_of(layer(x)[1])[part].square().sum(), list(layer.parameters()))
        theirs = torch.autograd.grad(
            parts_of(run_reference(layer, x)[1])[part].square().sum(), list(layer.parameters()), allow_unused=True
        )
        for mine, other in zip(ours, theirs, strict=True):
            assert torch.allclose(mine, torch.zeros_like(mine) if other is None else other, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("cell", CELLS)
def test_products_kept_or_computed_again_give_the_same_bits(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x, state, lengths = set_up(cell, 3, "everything")
    x.requires_grad_()
    grads = []
    for entries in (stacked.KEPT_ENTRIES, 0):
        monkeypatch.setattr(stacked, "KEPT_ENTRIES", entries)
        outputs, _ = layer(x, state, lengths)
        grads.append(torch.autograd.grad(outputs.square().sum(), [x, *layer.parameters()], allow_unused=True))
    assert any(g is not None and g.any() for g in grads[0])
    assert all(a is b or torch.equal(a, b) for a, b in zip(*grads, strict=True))

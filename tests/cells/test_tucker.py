"""The Tucker map: a number by hand, the identities, TensorLy, the Jacobians of eq. 19-22, the errors."""

from __future__ import annotations

import pytest
import tensorly as tl
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorly.tenalg import mode_dot, multi_mode_dot
from torch.autograd.functional import jacobian

from trnn_core.cells.tucker import (
    fold,
    ivec,
    jacobian_bias,
    jacobian_factor,
    jacobian_input,
    kronecker,
    mode_product,
    tucker_map,
    unfold,
    vec,
)
from trnn_core.errors import TRNNError

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def random_map(shape: tuple[int, ...]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    return random(*shape), [random((size + d) % 4 + 1, size, seed=d + 1) for d, size in enumerate(shape)]


def test_mode_products_by_hand() -> None:
    """The matrix [[1, 2, 3], [4, 5, 6]]: its row sums weighted 1 and 10, its columns added up in pairs."""
    X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert mode_product(X, torch.tensor([[1.0, 10.0]]), mode=1).tolist() == [[41, 52, 63]]
    assert mode_product(X, torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), mode=2).tolist() == [[3, 5], [9, 11]]
    assert tucker_map(X, [torch.tensor([[1.0, 10.0]]), torch.tensor([[1.0, 1.0, 1.0]])]).tolist() == [[156]]


def test_unfoldings_of_kolda_and_bader() -> None:
    """The example of Kolda and Bader (2009, section 2.4): the frontal slices 1..12 and 13..24, column by column."""
    X = ivec(torch.arange(1, 25), (3, 4, 2))
    assert unfold(X, 1)[0].tolist() == [1, 4, 7, 10, 13, 16, 19, 22]
    assert unfold(X, 2)[0].tolist() == [1, 2, 3, 13, 14, 15]
    assert unfold(X, 3)[1].tolist() == list(range(13, 25))


@given(shapes)
@settings(max_examples=40, deadline=None)
def test_vec_and_unfold_have_inverses(shape: tuple[int, ...]) -> None:
    X = random(*shape)
    assert torch.equal(ivec(vec(X), shape), X)
    for mode in range(1, len(shape) + 1):
        assert torch.equal(fold(unfold(X, mode), mode, shape), X)


@given(shapes)
@settings(max_examples=40, deadline=None)
def test_tucker_map_is_a_kronecker_product(shape: tuple[int, ...]) -> None:
    """vec(X x_1 W_1 ... x_D W_D) = (W_D (x) ... (x) W_1) vec(X), and the same seen along each mode."""
    X, W = random_map(shape)
    M = tucker_map(X, W)
    assert torch.allclose(vec(M), kronecker(W) @ vec(X), atol=1e-12, rtol=0)
    for d in range(1, len(shape) + 1):
        others = [w for i, w in enumerate(W, start=1) if i != d]
        rest = kronecker(others) if others else torch.ones(1, 1, dtype=X.dtype)
        assert torch.allclose(unfold(M, d), W[d - 1] @ unfold(X, d) @ rest.T, atol=1e-12, rtol=0)


@given(shapes)
@settings(max_examples=40, deadline=None)
def test_mode_product_equals_tensorly(shape: tuple[int, ...]) -> None:
    X, W = random_map(shape)
    with tl.backend_context("pytorch", local_threadsafe=True):
        for d, w in enumerate(W, start=1):  # TensorLy counts modes from 0
            assert torch.allclose(mode_product(X, w, mode=d), mode_dot(X, w, d - 1), atol=1e-12, rtol=0)
        assert torch.allclose(tucker_map(X, W), multi_mode_dot(X, W), atol=1e-12, rtol=0)


def test_mode_products_of_different_modes_commute() -> None:
    X, (A, _, C) = random_map((3, 2, 4))
    one, other = mode_product(mode_product(X, A, 1), C, 3), mode_product(mode_product(X, C, 3), A, 1)
    assert torch.allclose(one, other, atol=1e-13, rtol=0)


def test_columns_run_in_kolda_order_not_in_tensorly_order() -> None:
    """Both unfoldings have the same columns; ours let the lowest mode run fastest (as the paper's vec demands),
    TensorLy's the highest. They are the same matrix once the other modes are turned round."""
    X = random(2, 3, 4)
    with tl.backend_context("pytorch", local_threadsafe=True):
        theirs = tl.unfold(X, 0)
        turned = tl.unfold(X.permute(0, 2, 1), 0)
    assert not torch.equal(unfold(X, 1), theirs)
    assert torch.equal(unfold(X, 1), turned)


@given(shapes.filter(lambda s: torch.Size(s).numel() <= 36))
@settings(max_examples=25, deadline=None)
def test_jacobians_equal_autograd(shape: tuple[int, ...]) -> None:
    """Eq. 19-22, rows and columns in the order of vec (eq. 20, 21: of the unfolding M_(d))."""
    X, W = random_map(shape)
    n_in = X.numel()

    def by_vector(x: torch.Tensor) -> torch.Tensor:
        return vec(tucker_map(ivec(x, shape), W))

    assert torch.allclose(jacobian_input(W), jacobian(by_vector, vec(X)).view(-1, n_in), atol=1e-12, rtol=0)
    for d in range(1, len(shape) + 1):

        def by_factor(w: torch.Tensor, d: int = d) -> torch.Tensor:
            factors = [ivec(w, W[d - 1].shape) if i == d else f for i, f in enumerate(W, start=1)]
            return vec(unfold(tucker_map(X, factors), d))

        theirs = jacobian(by_factor, vec(W[d - 1])).view(-1, W[d - 1].numel())
        assert torch.allclose(jacobian_factor(X, W, mode=d), theirs, atol=1e-12, rtol=0)


def test_bias_jacobian_is_the_identity() -> None:
    B = random(2, 3)
    theirs = jacobian(lambda b: vec(torch.ones_like(B) + ivec(b, (2, 3))), vec(B))
    assert torch.equal(jacobian_bias((2, 3), like=B), theirs)


def test_errors_name_mode_and_both_sizes() -> None:
    X = torch.zeros(2, 3)
    with pytest.raises(TRNNError, match=r"mode-2 product needs a matrix with 3 columns.*shape \(2, 3\).*\(4, 5\)"):
        mode_product(X, torch.zeros(4, 5), mode=2)
    with pytest.raises(TRNNError, match=r"one of 1 to 2\. Got 0"):
        mode_product(X, torch.zeros(4, 5), mode=0)
    with pytest.raises(TRNNError, match=r"one of 1 to 2\. Got 3"):
        unfold(X, mode=3)
    with pytest.raises(TRNNError, match="one factor for each mode, 2 for"):
        tucker_map(X, [torch.zeros(2, 2)])

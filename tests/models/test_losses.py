"""The losses of eq. 14-18: sums by hand, distributions by SciPy, masks, and the errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trnn_core.errors import TRNNError
from trnn_core.models.losses import entry_loss, loss, sequence_loss

RAW = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 5.0]], dtype=torch.float64)  # two series, three steps, a scalar each
TARGET = torch.tensor([[0.0, 2.0, 5.0], [1.0, 3.0, 4.0]], dtype=torch.float64)  # squares: 1 0 4 and 1 9 1


@pytest.mark.parametrize(
    "equation, steps, lengths, target, total, n",
    [
        (14, "every", None, TARGET[:1], 5.0, 3),
        (15, "last", None, TARGET[:, 2], 5.0, 2),
        (16, "every", None, TARGET, 16.0, 6),
        (17, "last", [3, 1], torch.tensor([5.0, 1.0], dtype=torch.float64), 5.0, 2),
        (18, "every", [3, 1], TARGET, 6.0, 4),
        (18, "every", [1, 2], TARGET, 11.0, 3),
    ],
)
def test_the_papers_losses_by_hand(equation: int, steps: str, lengths, target, total: float, n: int) -> None:
    raw = RAW[: len(target)]
    assert sequence_loss("squared", raw, target, steps, lengths).item() == total
    assert sequence_loss("squared", raw, target, steps, lengths, reduction="mean").item() == pytest.approx(total / n)


def test_entries_of_a_tensor_response_add_up() -> None:
    raw, target = torch.zeros(2, 3, 4, 5), torch.ones(2, 3, 4, 5)
    assert sequence_loss("squared", raw, target).item() == 2 * 3 * 4 * 5
    assert sequence_loss("squared", raw, target, lengths=[1, 3]).item() == 4 * 4 * 5
    assert sequence_loss("squared", raw, target[:, 0], steps="last", lengths=[1, 3]).item() == 2 * 4 * 5


def test_panel_loss_equals_the_sum_over_each_series_alone() -> None:
    """And whatever stands behind the ends, NaN included, counts neither in the value nor in the gradient."""
    generator = torch.Generator().manual_seed(0)
    raw, target = (torch.randn(3, 4, 2, dtype=torch.float64, generator=generator) for _ in range(2))
    lengths = [2, 4, 1]
    alone = sum(sequence_loss("squared", raw[j : j + 1, :n], target[j : j + 1, :n]) for j, n in enumerate(lengths))
    target[0, 2:] = target[2, 1:] = float("nan")
    raw.requires_grad_()
    together = sequence_loss("squared", raw, target, lengths=lengths)
    together.backward()
    assert together.item() == pytest.approx(alone.item(), rel=1e-14)
    assert raw.grad.isfinite().all()
    assert not raw.grad[0, 2:].any()
    assert not raw.grad[2, 1:].any()


counts = st.integers(0, 400)
log_rates = st.floats(-6, 6)


@given(counts, log_rates)
@settings(max_examples=60, deadline=None)
def test_poisson_is_the_negative_log_pmf(count: int, log_rate: float) -> None:
    ours = entry_loss("poisson", *(torch.tensor(v, dtype=torch.float64) for v in (log_rate, float(count)))).item()
    assert ours == pytest.approx(-stats.poisson.logpmf(count, math.exp(log_rate)), rel=1e-10, abs=1e-10)


@given(counts, log_rates, st.floats(-5, 4))
@settings(max_examples=60, deadline=None)
def test_negative_binomial_is_the_negative_log_pmf(count: int, log_rate: float, log_dispersion: float) -> None:
    """SciPy's form: r = 1/a successes with p = r / (r + m)."""
    r, m = math.exp(-log_dispersion), math.exp(log_rate)
    raw, target, a = (torch.tensor(v, dtype=torch.float64) for v in (log_rate, float(count), log_dispersion))
    ours = entry_loss("negative_binomial", raw, target, log_dispersion=a).item()
    assert ours == pytest.approx(-stats.nbinom.logpmf(count, r, r / (r + m)), rel=1e-8, abs=1e-8)


def test_negative_binomial_has_the_stated_variance() -> None:
    """Mean m and variance m + a m^2, by summing over the distribution that the loss defines."""
    m, a = 3.0, 0.5
    y = torch.arange(0, 600, dtype=torch.float64)
    costs = entry_loss(
        "negative_binomial", torch.full_like(y, math.log(m)), y, log_dispersion=torch.tensor(math.log(a)).double()
    )
    p = torch.exp(-costs)
    mean = (p * y).sum()
    assert p.sum().item() == pytest.approx(1.0, abs=1e-9)
    assert mean.item() == pytest.approx(m, abs=1e-8)
    assert (p * (y - mean).square()).sum().item() == pytest.approx(m + a * m * m, abs=1e-6)


def test_negative_binomial_tends_to_poisson() -> None:
    raw, target = torch.tensor([0.5, 2.0]).double(), torch.tensor([3.0, 5.0]).double()
    near = entry_loss("negative_binomial", raw, target, log_dispersion=torch.tensor(-15.0).double())
    assert torch.allclose(near, entry_loss("poisson", raw, target), atol=1e-5)


@pytest.mark.parametrize("log_dispersion", [-12.0, -8.0, -4.0, 0.0, 4.0])
def test_negative_binomial_in_single_precision(log_dispersion: float) -> None:
    """lgamma(y + r) - lgamma(r) cancels for small a; values and both gradients must survive it in float32."""
    rng = np.random.default_rng(0)
    target, raw = torch.as_tensor(rng.poisson(4.0, 200).astype(float)), torch.as_tensor(rng.normal(1, 0.5, 200))
    seen = []
    for dtype in (torch.float64, torch.float32):
        z = raw.to(dtype, copy=True).requires_grad_()
        a = torch.tensor(log_dispersion, dtype=dtype, requires_grad=True)
        value = loss("negative_binomial", z, target.to(dtype), log_dispersion=a)
        value.backward()
        seen.append((value.detach(), z.grad, a.grad))
    for exact, rounded in zip(*seen, strict=True):
        assert (rounded.double() - exact).abs().max() < 1e-4


def test_count_losses_do_not_overflow() -> None:
    raw = torch.tensor([60.0, -60.0], requires_grad=True)
    costs = entry_loss("negative_binomial", raw, torch.tensor([0.0, 7.0]), log_dispersion=torch.tensor([5.0, -5.0]))
    costs.sum().backward()
    assert costs.isfinite().all()
    assert raw.grad.isfinite().all()


def test_cross_entropy_of_entries_by_hand() -> None:
    """Log-odds log 3 is a probability of 3/4."""
    raw = torch.full((3,), math.log(3.0), dtype=torch.float64)
    costs = entry_loss("cross_entropy", raw, torch.tensor([1.0, 0.0, 0.5], dtype=torch.float64))
    expected = [-math.log(0.75), -math.log(0.25), -0.5 * math.log(0.75) - 0.5 * math.log(0.25)]
    assert costs.tolist() == pytest.approx(expected, rel=1e-12)
    whole = entry_loss("cross_entropy", raw[:2], torch.tensor([1, 0]))
    assert whole.tolist() == pytest.approx(expected[:2], rel=1e-12)


def test_cross_entropy_of_classes_by_hand() -> None:
    """Scores log 1, log 2, log 5 are probabilities 1/8, 2/8, 5/8; over a batch, over steps, over a tensor."""
    scores = torch.log(torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64))
    for shape in ((2,), (2, 3), (2, 3, 4, 5)):
        raw = scores.expand(*shape, 3)
        target = torch.full(shape, 2)
        target.view(-1)[0] = 0
        costs = entry_loss("cross_entropy", raw, target)
        assert costs.shape == shape
        assert costs.view(-1)[0].item() == pytest.approx(math.log(8.0))
        assert costs.view(-1)[1:].tolist() == pytest.approx([math.log(8 / 5)] * (target.numel() - 1))
    panel = sequence_loss("cross_entropy", scores.expand(2, 3, 3), torch.full((2, 3), 1), lengths=[1, 3])
    assert panel.item() == pytest.approx(4 * math.log(4.0))
    last = sequence_loss("cross_entropy", scores.expand(2, 3, 3), torch.tensor([1, 1]), steps="last")
    assert last.item() == pytest.approx(2 * math.log(4.0))


@pytest.mark.parametrize("likelihood", ["squared", "poisson", "negative_binomial", "cross_entropy"])
def test_masked_entries_count_nowhere(likelihood: str) -> None:
    """The same value and gradient as with those entries left out; NaN in them does no harm."""
    generator = torch.Generator().manual_seed(0)
    raw = torch.randn(4, 5, dtype=torch.float64, generator=generator)
    target = torch.randint(0, 2, (4, 5), generator=generator).double()
    mask = torch.rand(4, 5, generator=generator) < 0.6
    a = torch.zeros((), dtype=torch.float64) if likelihood == "negative_binomial" else None
    holes = torch.where(mask, target, float("nan"))
    for reduction in ("mean", "sum"):
        seen = []
        for z, y, m in ((raw, holes, mask), (raw[mask], target[mask], None)):
            z = z.clone().requires_grad_()
            value = loss(likelihood, z, y, m, reduction, log_dispersion=a)
            value.backward()
            seen.append((value.detach(), z.grad[mask] if m is not None else z.grad))
        assert torch.allclose(seen[0][0], seen[1][0], rtol=1e-12)
        assert torch.allclose(seen[0][1], seen[1][1], rtol=1e-12)


def test_a_mask_that_hides_everything_costs_nothing() -> None:
    raw = torch.ones(3, requires_grad=True)
    value = loss("squared", raw, torch.full((3,), float("nan")), torch.zeros(3, dtype=torch.bool))
    value.backward()
    assert value.item() == 0
    assert not raw.grad.any()


@pytest.mark.parametrize("likelihood", ["squared", "poisson", "negative_binomial", "cross_entropy"])
def test_gradients_equal_finite_differences(likelihood: str) -> None:
    generator = torch.Generator().manual_seed(0)
    raw = torch.randn(2, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    target = torch.randint(0, 2, (2, 3), generator=generator).double()
    a = torch.randn(3, dtype=torch.float64, generator=generator, requires_grad=True)
    uses = likelihood == "negative_binomial"
    inputs = (raw, a) if uses else (raw,)
    assert torch.autograd.gradcheck(
        lambda z, *d: loss(likelihood, z, target, log_dispersion=d[0] if d else None), inputs
    )


def test_errors() -> None:
    raw, target = torch.zeros(2, 3), torch.zeros(2, 3)
    with pytest.raises(TRNNError, match=r"one of squared, poisson, negative_binomial, cross_entropy\. Got 'mse'"):
        loss("mse", raw, target)
    with pytest.raises(TRNNError, match=r"same shape\. Got \(2, 3\) and \(2, 4\)"):
        loss("squared", raw, torch.zeros(2, 4))
    with pytest.raises(TRNNError, match=r"same shape\. Got \(2, 3\) and \(2,\)"):
        loss("poisson", raw, torch.zeros(2))  # would be broadcast
    with pytest.raises(TRNNError, match="needs the network's log_dispersion"):
        loss("negative_binomial", raw, target)
    with pytest.raises(TRNNError, match=r"mask must be boolean.*Got torch\.float32; use mask\.bool\(\)"):
        loss("squared", raw, target, torch.ones(2, 3))
    with pytest.raises(TRNNError, match=r"reduction must be 'mean' or 'sum'. Got 'none'"):
        loss("squared", raw, target, reduction="none")
    with pytest.raises(TRNNError, match=r"steps that count must be 'last' or 'every'. Got 'first'"):
        sequence_loss("squared", raw, target, steps="first")
    with pytest.raises(TRNNError, match="Got 0 for sequence 1"):
        sequence_loss("squared", raw, torch.zeros(2), steps="last", lengths=[3, 0])

"""The network: windows share work and change nothing; `accumulate` is forward, loss and backward in one."""

from __future__ import annotations

import copy
from itertools import product
from threading import Barrier, get_ident
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cells.reference import CELLS, parts_of
from trnn_core.errors import TRNNError
from trnn_core.models import network as network_module
from trnn_core.models.losses import loss, sequence_loss
from trnn_core.models.model_config import ModelConfig
from trnn_core.models.network import TensorNetwork

LIKELIHOODS = ("squared", "poisson", "negative_binomial", "cross_entropy")
N_WEEKS, LENGTH = 13, 4


def make_network(cell="lstm", likelihood="squared", hidden=(3, 2, 4), given=(4, 3, 2), target=None, **options):
    torch.manual_seed(0)
    config = ModelConfig(cell=cell, likelihood=likelihood, hidden_shape=hidden, **options)
    network = TensorNetwork(config, given, given if target is None else target).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return network


def make_weeks(network: TensorNetwork, n_weeks: int = N_WEEKS):
    generator = torch.Generator().manual_seed(1)
    weeks = torch.randn(n_weeks, *network.input_shape, dtype=torch.float64, generator=generator)
    targets = torch.randint(0, 2, (n_weeks, *network.target_shape), generator=generator).double()
    return weeks, targets, torch.rand(targets.shape, generator=generator) < 0.7


def explicit(weeks: torch.Tensor, length: int) -> torch.Tensor:
    """All windows laid out one by one, (W - length + 1, length, ...)."""
    return torch.stack([weeks[s : s + length] for s in range(len(weeks) - length + 1)])


def grads_of(network: TensorNetwork) -> dict[str, torch.Tensor | None]:
    grads = {name: None if p.grad is None else p.grad.clone() for name, p in network.named_parameters()}
    network.zero_grad()
    return grads


def plain_step(network: TensorNetwork, weeks, targets, length: int, every_step: bool, mask):
    """Forward on explicit windows, the loss, and loss.backward()."""
    raw, _ = network(explicit(weeks, length), every_step=every_step)
    wanted, counted = (None if y is None else explicit(y, length) for y in (targets, mask))
    if not every_step:
        wanted, counted = wanted[:, -1], None if counted is None else counted[:, -1]
    a = network.log_dispersion if network.config.likelihood == "negative_binomial" else None
    value = loss(network.config.likelihood, raw, wanted, counted, log_dispersion=a)
    value.backward()
    return value.detach(), grads_of(network)


def assert_step_equals_plain(network: TensorNetwork, length=LENGTH, every_step=False, masked=False, n_weeks=N_WEEKS):
    weeks, targets, mask = make_weeks(network, n_weeks)
    mask = mask if masked else None
    expected, expected_grads = plain_step(network, weeks, targets, length, every_step, mask)
    value = network.accumulate(weeks, targets, length, every_step, mask)
    grads = grads_of(network)
    assert torch.allclose(value, expected, rtol=1e-12)
    for name, grad in expected_grads.items():
        if grad is None:
            assert grads[name] is None or not grads[name].any(), name
        else:
            assert (grads[name] - grad).abs().max() <= 1e-10 * grad.abs().max(), name


@pytest.mark.parametrize("every_step", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_windows_equal_forward_on_explicit_windows(cell: str, num_layers: int, every_step: bool) -> None:
    network = make_network(cell, num_layers=num_layers)
    weeks, _, _ = make_weeks(network)
    expected, _ = network(explicit(weeks, LENGTH), every_step=every_step)
    ours = network.windows(weeks, LENGTH, every_step)
    steps = (LENGTH,) if every_step else ()
    assert ours.shape == (N_WEEKS - LENGTH + 1, *steps, *network.target_shape)
    assert torch.allclose(ours, expected, atol=1e-12, rtol=0)
    weights = torch.randn_like(ours)
    (ours * weights).sum().backward()
    mine = grads_of(network)
    (expected * weights).sum().backward()
    for name, grad in grads_of(network).items():
        assert (mine[name] - grad).abs().max() <= 1e-10 * grad.abs().max(), name


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("every_step", [False, True])
@pytest.mark.parametrize("cell, likelihood", [*product(CELLS, ("squared",)), *product(("lstm",), LIKELIHOODS[1:])])
def test_accumulate_equals_forward_loss_backward(cell: str, likelihood: str, every_step: bool, masked: bool) -> None:
    assert_step_equals_plain(make_network(cell, likelihood, num_layers=2), every_step=every_step, masked=masked)


@pytest.mark.parametrize("target", [(4, 3, 2), (2, 5, 3), (6,), (), (2, 3)])
@pytest.mark.parametrize("likelihood", ["squared", "negative_binomial"])
def test_accumulate_for_every_kind_of_response(target: tuple[int, ...], likelihood: str) -> None:
    """A tensor of the same order, of another order, a vector, a scalar."""
    for every_step in (False, True):
        assert_step_equals_plain(make_network("gru", likelihood, target=target), every_step=every_step, masked=True)


@pytest.mark.parametrize("given, hidden", [((5,), (3,)), ((3, 4), (2, 5)), ((2, 3, 2, 2), (3, 1, 2, 2))])
@pytest.mark.parametrize("cell", CELLS)
def test_accumulate_for_every_order(cell: str, given: tuple[int, ...], hidden: tuple[int, ...]) -> None:
    assert_step_equals_plain(make_network(cell, given=given, hidden=hidden), every_step=True, masked=True)


@pytest.mark.parametrize("tile", [1, 200, 500, 700, 1000, 10**6])
@pytest.mark.parametrize("every_step", [False, True])
def test_tiles_of_any_size_give_the_same_sums(tile: int, every_step: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile is a few windows that go forward and back together; a last tile may be smaller."""
    monkeypatch.setattr(network_module, "TILE_ENTRIES", tile)
    network = make_network()
    assert_step_equals_plain(network, every_step=every_step, masked=True)
    weeks, _, _ = make_weeks(network)
    expected, _ = network(explicit(weeks, LENGTH))
    assert torch.allclose(network.windows(weeks, LENGTH), expected, atol=1e-12, rtol=0)


@pytest.fixture
def n_threads(request: pytest.FixtureRequest):
    """Torch's threads for one test; the number is the process's own, so it is put back."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture
def worth_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small networks of these tests count as large enough for any number of threads."""
    monkeypatch.setattr(network_module, "PART_ENTRIES", 1)


@pytest.mark.parametrize("n_threads", [4], indirect=True)
@pytest.mark.parametrize("part, used", [(1, 4), (34 * 72 // 3, 3), (34 * 72 // 2, 2), (34 * 72, 1), (10**6, 1)])
def test_a_thread_takes_part_only_where_it_has_work_enough(
    n_threads: int, part: int, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """34 windows of 4 gates of 3 x 3 x 2: 72 entries each. No operation is shared among threads."""
    monkeypatch.setattr(network_module, "PART_ENTRIES", part)
    network = make_network("lstm", hidden=(3, 3, 2))
    weeks, targets, _ = make_weeks(network, LENGTH + 33)
    hiddens, within = network._hiddens, set()
    for step in (network.accumulate, network.windows):
        met = Barrier(used)  # passed only when as many threads are at work at once
        seen: set[int] = set()

        def watch(*given: Any, met: Barrier = met, seen: set[int] = seen) -> torch.Tensor:
            met.wait(20)
            seen.add(get_ident())
            within.add(torch.get_num_threads())
            return hiddens(*given)

        monkeypatch.setattr(network, "_hiddens", watch)
        step(*((weeks, targets, LENGTH) if step == network.accumulate else (weeks, LENGTH)))
        assert len(seen) == used
    assert within == {1} and torch.get_num_threads() == n_threads


@pytest.mark.parametrize("n_threads", [3], indirect=True)
@pytest.mark.usefixtures("worth_sharing")
def test_threads_work_as_their_caller_does(n_threads: int) -> None:
    """No gradients where none are asked for, tiny numbers as zero where they are, BLAS threads as they were."""
    network = make_network()
    weeks, targets, _ = make_weeks(network, 40)
    seen = []
    hiddens = network._hiddens
    network._hiddens = lambda *given: seen.append((torch.is_grad_enabled(), tiny_times_one())) or hiddens(*given)  # type: ignore[method-assign]
    with torch.no_grad():
        assert not network.windows(weeks, LENGTH).requires_grad
    assert network.windows(weeks, LENGTH).requires_grad
    assert {enabled for enabled, _ in seen[:3]} == {False} and {enabled for enabled, _ in seen[3:]} == {True}
    assert all(tiny > 0 for _, tiny in seen)
    if torch.set_flush_denormal(True):
        try:
            network.accumulate(weeks, targets, LENGTH)
            assert len(seen) == 9 and all(tiny == 0 for _, tiny in seen[6:])
        finally:
            torch.set_flush_denormal(False)


def tiny_times_one() -> float:
    return float(torch.tensor(1e-310, dtype=torch.float64) * 1.0)


@pytest.mark.parametrize("n_threads", [2], indirect=True)
@pytest.mark.usefixtures("worth_sharing")
def test_an_error_in_a_thread_is_the_callers(n_threads: int) -> None:
    network = make_network()
    weeks, targets, _ = make_weeks(network, 40)

    def fail(*given: Any) -> None:
        raise MemoryError(str(get_ident()))

    network._hiddens = fail  # type: ignore[assignment]
    with pytest.raises(MemoryError):
        network.accumulate(weeks, targets, LENGTH)
    assert torch.get_num_threads() == n_threads and all(p.grad is None for p in network.parameters())


@pytest.mark.parametrize("n_threads", [2, 3], indirect=True)
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.usefixtures("worth_sharing")
def test_several_threads_give_the_same_sums_and_the_same_bits_each_time(cell: str, n_threads: int) -> None:
    """Windows are dealt out to threads; which thread is first must not show in any sum."""
    network = make_network(cell, num_layers=2)
    for every_step in (False, True):
        assert_step_equals_plain(network, every_step=every_step, masked=True)
    assert_step_equals_plain(network, n_weeks=LENGTH)  # one window, more threads than windows
    weeks, targets, _ = make_weeks(network, 40)
    runs = [(network.accumulate(weeks, targets, LENGTH), grads_of(network)) for _ in range(5)]
    for value, grads in runs[1:]:
        assert torch.equal(value, runs[0][0])
        assert all(torch.equal(grads[name], runs[0][1][name]) for name in grads)


@pytest.mark.parametrize("n_threads", [2], indirect=True)
@pytest.mark.usefixtures("worth_sharing")
def test_dropout_follows_its_seed_with_several_threads(n_threads: int) -> None:
    network = make_network(dropout=0.4).train()
    weeks, targets, _ = make_weeks(network, 40)
    drawn = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        drawn.append(network.accumulate(weeks, targets, LENGTH))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


@given(st.integers(1, 12), st.integers(0, 14), st.sampled_from(CELLS), st.booleans(), st.booleans())
@settings(max_examples=25, deadline=None)
def test_any_number_of_weeks_and_any_length(length: int, more: int, cell: str, every_step: bool, masked: bool) -> None:
    network = make_network(cell, hidden=(2, 3), given=(3, 2))
    assert_step_equals_plain(network, length, every_step, masked, n_weeks=length + more)


def test_gradients_add_up_over_calls() -> None:
    network = make_network()
    weeks, targets, _ = make_weeks(network)
    network.accumulate(weeks, targets, LENGTH)
    once = grads_of(network)
    network.accumulate(weeks, targets, LENGTH)
    network.accumulate(weeks, targets, LENGTH)
    for name, grad in grads_of(network).items():
        assert torch.allclose(grad, 2 * once[name], rtol=1e-12), name


@pytest.mark.parametrize("cell", ["lstm", "gru", "elman"])
@pytest.mark.parametrize("fixed", ["W", "U", "WU", "WUB"])
def test_weights_held_fixed_do_not_disturb_the_others(cell: str, fixed: str) -> None:
    """Country modes may be held at the identity; the gradients of what is left to learn stay the same."""
    network = make_network(cell)
    weeks, targets, _ = make_weeks(network)
    _, expected = plain_step(network, weeks, targets, LENGTH, False, None)
    for name, parameter in network.cell.named_parameters():
        parameter.requires_grad_(name[0] not in fixed)
    network.accumulate(weeks, targets, LENGTH)
    for name, grad in grads_of(network).items():
        if network.get_parameter(name).requires_grad:
            assert torch.allclose(grad, expected[name], atol=1e-13, rtol=1e-10), name
        else:
            assert grad is None


def test_missing_targets_may_be_nan_behind_the_mask() -> None:
    network = make_network()
    weeks, targets, mask = make_weeks(network)
    value = network.accumulate(weeks, targets, LENGTH, mask=mask)
    expected = grads_of(network)
    with_holes = network.accumulate(weeks, torch.where(mask, targets, float("nan")), LENGTH, mask=mask)
    assert torch.equal(value, with_holes)
    assert all(torch.equal(grad, expected[name]) for name, grad in grads_of(network).items())


def test_classes_of_a_vector_response() -> None:
    """Categorical cross-entropy: scores of five classes for each window, learned down to certainty."""
    network = make_network("gru", "cross_entropy", target=(5,))
    weeks, _, _ = make_weeks(network)
    classes = torch.arange(N_WEEKS - LENGTH + 1) % 5
    optimiser = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(120):
        optimiser.zero_grad()
        value = loss("cross_entropy", network.windows(weeks, LENGTH), classes)
        value.backward()
        optimiser.step()
    assert (network.windows(weeks, LENGTH).argmax(-1) == classes).all()
    assert value.item() < 0.1


@pytest.mark.parametrize("cell", CELLS)
def test_panel_of_different_lengths(cell: str) -> None:
    """Eq. 17 and 18: the same loss and gradient as the series one by one."""
    network = make_network(cell, num_layers=2)
    x = explicit(make_weeks(network)[0], 5)[:3]
    lengths = torch.tensor([5, 2, 3])
    for steps in ("last", "every"):
        y = torch.zeros(3, *([5] if steps == "every" else []), *network.target_shape, dtype=torch.float64)
        raw, _ = network(x, lengths=lengths, every_step=True)
        together = sequence_loss("squared", raw, y, steps, lengths)
        together.backward()
        mine = grads_of(network)
        alone = sum(
            sequence_loss(
                "squared",
                network(x[j : j + 1, :n], every_step=True)[0],
                y[j : j + 1, :n] if steps == "every" else y[j : j + 1],
                steps,
            )
            for j, n in enumerate(lengths.tolist())
        )
        alone.backward()
        assert torch.allclose(together, alone, rtol=1e-12)
        for name, grad in grads_of(network).items():
            assert torch.allclose(mine[name], grad, atol=1e-11, rtol=1e-10), name
    last, _ = network(x, lengths=lengths)
    every, _ = network(x, lengths=lengths, every_step=True)
    assert torch.allclose(last, every[torch.arange(3), lengths - 1], atol=1e-13, rtol=0)


def carried(network: TensorNetwork, x: torch.Tensor, y: torch.Tensor, piece: int, cut: bool):
    """Eq. 14 in pieces with the state handed on; `cut` ends the gradient's way back at each border."""
    total, state = 0.0, None
    for start in range(0, x.shape[1], piece):
        raw, state = network(x[:, start : start + piece], state=state, every_step=True)
        total = total + sequence_loss("squared", raw, y[:, start : start + piece])
        if cut:
            state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
    total.backward()
    return total.detach(), grads_of(network)


@pytest.mark.parametrize("cell", CELLS)
def test_single_long_series_in_pieces(cell: str) -> None:
    """Truncated BPTT: the loss is that of the whole series; the gradient too if it is let through the borders, and
    only an approximation where it is cut."""
    network = make_network(cell)
    weeks, targets, _ = make_weeks(network)
    x, y = weeks[None], targets[None]
    whole, exact = carried(network, x, y, N_WEEKS, cut=False)
    through, same = carried(network, x, y, 5, cut=False)
    truncated, near = carried(network, x, y, 5, cut=True)
    assert torch.allclose(whole, through, rtol=1e-13)
    assert torch.allclose(whole, truncated, rtol=1e-13)
    assert all(torch.allclose(same[name], exact[name], atol=1e-11, rtol=1e-10) for name in exact)
    W = "cell.W1_0"
    assert not torch.allclose(near[W], exact[W], rtol=1e-4)
    assert torch.nn.functional.cosine_similarity(near[W].flatten(), exact[W].flatten(), dim=0) > 0.5


def test_penalty_covers_the_cells_W_and_U_only() -> None:
    network = make_network("lstm", num_layers=2)
    expected = sum(p.square().sum() for name, p in network.named_parameters() if name.startswith(("cell.W", "cell.U")))
    assert torch.allclose(network.penalty(), expected, rtol=1e-14)
    network.penalty().backward()
    touched = {name for name, p in network.named_parameters() if p.grad is not None}
    assert touched == {name for name, _ in network.named_parameters() if name.startswith(("cell.W", "cell.U"))}


def test_dropout_acts_in_training_only() -> None:
    network = make_network(dropout=0.5)
    weeks, _, _ = make_weeks(network)
    network.eval()
    assert torch.equal(network.windows(weeks, LENGTH), network.windows(weeks, LENGTH))
    network.train()
    assert not torch.equal(network.windows(weeks, LENGTH), network.windows(weeks, LENGTH))


def test_same_seed_same_bits() -> None:
    drawn = []
    for noise in (1, 2):
        network = make_network()
        torch.manual_seed(noise)
        network.reset_parameters(torch.Generator().manual_seed(4))
        weeks, targets, _ = make_weeks(network)
        drawn.append((network.accumulate(weeks, targets, LENGTH), grads_of(network)))
    assert torch.equal(drawn[0][0], drawn[1][0])
    assert all(torch.equal(drawn[0][1][name], drawn[1][1][name]) for name in drawn[0][1])


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_single_precision_is_close_to_double(likelihood: str) -> None:
    network = make_network("lstm", likelihood)
    weeks, targets, mask = make_weeks(network)
    exact, exact_grads = network.accumulate(weeks, targets, LENGTH, mask=mask), grads_of(network)
    single = copy.deepcopy(network).float()
    value = single.accumulate(weeks.float(), targets.float(), LENGTH, mask=mask)
    assert value.item() == pytest.approx(exact.item(), rel=1e-5)
    for name, grad in grads_of(single).items():
        assert grad.dtype == torch.float32
        assert (grad.double() - exact_grads[name]).abs().max() < 1e-4 * exact_grads[name].abs().max(), name


def test_a_copy_is_learned() -> None:
    """The engine's gradients lead downhill: next week is this week turned round, and the network finds it."""
    network = make_network("lstm", hidden=(4, 4, 2), given=(4, 4, 2))
    weeks = make_weeks(network, 40)[0].tanh()
    targets = weeks.transpose(1, 2).contiguous() * 0.5
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
    values = []
    for _ in range(150):
        optimiser.zero_grad()
        values.append(network.accumulate(weeks, targets, 3).item())
        optimiser.step()
    assert values[-1] < 0.35 * values[0]


def test_errors_name_what_came_and_the_cure() -> None:
    network = make_network()
    weeks, targets, mask = make_weeks(network)
    with pytest.raises(TRNNError, match=r"weeks must have shape \(weeks, 4, 3, 2\)\. Got \(13, 4, 3\)"):
        network.windows(weeks[..., 0], LENGTH)
    with pytest.raises(TRNNError, match=r"weeks must have the cell's dtype torch\.float64\. Got torch\.float32"):
        network.windows(weeks.float(), LENGTH)
    with pytest.raises(TRNNError, match=r"device cpu\. Got meta"):
        network.windows(weeks.to("meta"), LENGTH)
    with pytest.raises(TRNNError, match=r"must be a torch tensor \(weeks, 4, 3, 2\)\. Got ndarray"):
        network.windows(weeks.numpy(), LENGTH)
    for length in (0, 14, 2.5):
        with pytest.raises(TRNNError, match=rf"between 1 and the 13 weeks given\. Got {length} instead"):
            network.windows(weeks, length)
    with pytest.raises(TRNNError, match=r"targets must have shape \(13, 4, 3, 2\)\. Got \(12, 4, 3, 2\)"):
        network.accumulate(weeks, targets[:-1], LENGTH)
    with pytest.raises(TRNNError, match=r"targets must have the cell's dtype"):
        network.accumulate(weeks, targets.float(), LENGTH)
    with pytest.raises(TRNNError, match=r"mask must have shape \(13, 4, 3, 2\)"):
        network.accumulate(weeks, targets, LENGTH, mask=mask[:3])
    with pytest.raises(TRNNError, match=r"mask must be boolean"):
        network.accumulate(weeks, targets, LENGTH, mask=mask.double())


def test_not_a_number_is_named_with_its_week() -> None:
    network = make_network()
    weeks, targets, _ = make_weeks(network)
    spoiled = weeks.clone()
    spoiled[7, 2, 1, 0] = float("nan")
    with pytest.raises(TRNNError, match=r"weeks must be finite.*nan at week 7, mode 1 index 2, mode 2 index 1"):
        network.windows(spoiled, LENGTH)
    spoiled = targets.clone()
    spoiled[: LENGTH - 1] = float("nan")  # no window ends there
    assert network.accumulate(weeks, spoiled, LENGTH).isfinite()
    with pytest.raises(TRNNError, match=r"targets must be finite.*at week 0"):
        network.accumulate(weeks, spoiled, LENGTH, every_step=True)
    spoiled[9] = float("nan")
    with pytest.raises(TRNNError, match=r"targets must be finite.*at week 9"):
        network.accumulate(weeks, spoiled, LENGTH)


def test_the_states_of_both_parts_come_back() -> None:
    network = make_network("lstm", num_layers=2)
    weeks, _, _ = make_weeks(network)
    _, state = network(weeks[None])
    assert [tuple(s.shape) for s in parts_of(state)] == [(2, 1, 3, 2, 4)] * 2

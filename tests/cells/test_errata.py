"""Every erratum of docs/maths.md: the equation as printed is wrong, ours is right.

The judge is the central finite difference of a loss computed by the forward equations alone. Errata 5 to 8 are about
the experiment (target, split, sizes, scale) and are judged by their arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.cells.paper_bptt import ALL, Backward, Weights, algorithm_1, algorithm_2
from tests.cells.reference import make_input, make_layer, make_state
from trnn_core.cells.lstm import TensorLSTM
from trnn_core.cells.rnn import TensorRNN
from trnn_core.cells.tensor_cell import TensorCell
from trnn_core.cells.tucker import jacobian_factor, kronecker, tucker_map, unfold
from trnn_core.data.windows import make_windows, split_periods
from trnn_core.models.losses import loss
from trnn_core.models.model_config import ModelConfig

RIGHT, WRONG = 1e-8, 1e-2  # relative: finite differences are good to about 1e-9, the errata are off by far more


@torch.no_grad()
def finite_differences(f: Callable[[], Tensor], at: Tensor, step: float = 1e-5) -> Tensor:
    """Central differences of f by every entry of `at`, which is changed in place and put back."""
    grad, flat = torch.empty(at.shape, dtype=at.dtype), at.detach().view(-1)
    for i in range(flat.numel()):
        value = flat[i].item()
        flat[i] = value + step
        above = f().item()
        flat[i] = value - step
        below = f().item()
        flat[i] = value
        grad.view(-1)[i] = (above - below) / (2 * step)
    return grad


def off_by(a: Tensor, b: Tensor) -> float:
    return ((a - b).abs().max() / b.abs().max()).item()


class Case:
    """One series of three steps from a non-zero state, a loss at every step: the layer, and the truth about it."""

    def __init__(self, cell: str, order: int = 3) -> None:
        self.layer: TensorCell = make_layer(cell, order)
        self.x, self.state = make_input(self.layer, 1, 3), make_state(self.layer, 1)
        generator = torch.Generator().manual_seed(5)
        self.dH = torch.randn(1, 3, *self.layer.hidden_shape, dtype=torch.float64, generator=generator)
        modes = range(1, order + 1)
        self.weights = Weights(
            W={g: [self.layer.factor("W", g, d).detach() for d in modes] for g in self.layer.gates},
            U={g: [self.layer.factor("U", g, d).detach() for d in modes] for g in self.layer.gates},
            B={g: self.layer.bias(g).detach() for g in self.layer.gates},
        )

    def loss(self) -> Tensor:
        return (self.layer(self.x, self.state)[0].detach() * self.dH).sum()

    def truth(self, what: Tensor) -> Tensor:
        return finite_differences(self.loss, what)

    def printed(self, *corrected: str, **options):
        xs, dHs = list(self.x[0]), list(self.dH[0])
        if isinstance(self.state, tuple):
            H, C = (s[0, 0] for s in self.state)
            return algorithm_1(self.weights, xs, (H, C), dHs, frozenset(corrected))
        return algorithm_2(self.weights, xs, self.state[0, 0], dHs, frozenset(corrected), **options)

    def without(self, erratum: str, **options):
        return self.printed(*(ALL - {erratum}), **options)


@pytest.fixture(scope="module", params=["lstm", "gru"])
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def entries(weights: Weights):
    for gate in weights.B:
        for kind in "WU":
            for d, factor in enumerate(getattr(weights, kind)[gate]):
                yield (kind, gate, d + 1), factor
        yield ("B", gate), weights.B[gate]


def test_corrected_algorithms_equal_finite_differences_and_the_engine(case: Case) -> None:
    """The paper's algorithms, every erratum put right, give every gradient; so does the engine."""
    grads, start = case.printed(*ALL)
    state = case.state if isinstance(case.state, tuple) else (case.state,)
    leaves = [s.clone().requires_grad_() for s in state]
    outputs, _ = case.layer(case.x, tuple(leaves) if len(leaves) > 1 else leaves[0])
    case.layer.zero_grad()
    (outputs * case.dH).sum().backward()
    for (kind, gate, *mode), grad in entries(grads):
        name = f"{kind}{mode[0]}_0" if mode else "B_0"
        engine = case.layer.get_parameter(name).grad[case.layer.gates.index(gate)]
        weight = case.layer.factor(kind, gate, mode[0]) if mode else case.layer.bias(gate)
        assert off_by(grad, case.truth(weight)) < RIGHT, name
        assert off_by(engine, grad) < 1e-12, name
    for leaf, given, grad in zip(leaves, state, start if len(leaves) > 1 else (start,), strict=True):
        assert off_by(grad, case.truth(given)[0, 0]) < RIGHT
        assert off_by(leaf.grad[0, 0], grad) < 1e-12


def test_1_the_path_through_the_reset_gate_is_missing_in_eq_39() -> None:
    """With it, dl/dH_{t-1} is right; without it, or with dM^r/dR and dM^z/dZ taken literally, it is not."""
    case = Case("gru")
    truth = case.truth(case.state)[0, 0]
    assert off_by(case.printed(*ALL)[1], truth) < RIGHT
    assert off_by(case.without("missing path")[1], truth) > WRONG
    assert off_by(case.printed(*ALL, literal=True)[1], truth) > WRONG
    assert off_by(case.without("missing path", literal=True)[1], truth) > WRONG


def test_2_the_candidate_has_its_own_slope_in_eq_29_to_31(case: Case) -> None:
    """sigma'_g in the place of sigma'_c (tLSTM) or sigma'_h (tGRU) spoils W, U and B of the candidate."""
    candidate = case.layer.gates[-1]
    right, wrong = case.printed(*ALL)[0], case.without("candidate slope")[0]
    for kind in "WU":
        truth = case.truth(case.layer.factor(kind, candidate, 1))
        assert off_by(getattr(right, kind)[candidate][0], truth) < RIGHT
        assert off_by(getattr(wrong, kind)[candidate][0], truth) > WRONG
    assert off_by(wrong.B[candidate], case.truth(case.layer.bias(candidate))) > WRONG


def test_2_the_wrong_slope_also_spoils_what_is_carried_back_by_eq_29() -> None:
    case = Case("lstm")
    truth = case.truth(case.state[0])[0, 0]
    assert off_by(case.printed(*ALL)[1][0], truth) < RIGHT
    assert off_by(case.without("candidate slope")[1][0], truth) > WRONG


def test_3_a_tensor_bias_has_an_entrywise_gradient_unlike_eq_32(case: Case) -> None:
    """The printed sum is the gradient of one scalar bias added to every entry, and of nothing else."""
    right, wrong = case.printed(*ALL)[0], case.without("entry-wise bias")[0]
    for gate in case.layer.gates:
        truth = case.truth(case.layer.bias(gate))
        assert off_by(right.B[gate], truth) < RIGHT
        assert off_by(wrong.B[gate], truth) > WRONG
        assert torch.allclose(wrong.B[gate], truth.sum().expand_as(truth), rtol=1e-6)


def test_4_the_identity_of_eq_21_has_the_size_of_the_output() -> None:
    """With I of size x_d the matrix does not even have |M| rows; with h_d it is the Jacobian."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(3, 2, 4, dtype=torch.float64, generator=generator)
    U = [torch.randn(h, x, dtype=torch.float64, generator=generator) for h, x in zip((5, 3, 2), X.shape, strict=True)]
    n_out = tucker_map(X, U).numel()
    weights = Weights({}, {}, {})
    for d in range(3):
        printed = Backward(weights, ALL - {"identity size"}).jacobian(X, U, d, of_input=True)
        assert printed.shape == (n_out // U[d].shape[0] * X.shape[d], X.shape[d] ** 2)
        assert printed.shape != (n_out, U[d].numel())
        assert jacobian_factor(X, U, mode=d + 1).shape == (n_out, U[d].numel())


def test_4_the_kronecker_order_of_eq_20_is_D_to_1_without_d(case: Case) -> None:
    """Exchanged as printed, the shapes fit and the numbers do not; for the outer modes there is nothing to exchange."""
    right, wrong = case.printed(*ALL)[0], case.without("kronecker order")[0]
    gate = case.layer.gates[-1]
    for kind in "WU":
        truth = case.truth(case.layer.factor(kind, gate, 2))
        assert off_by(getattr(right, kind)[gate][1], truth) < RIGHT
        assert off_by(getattr(wrong, kind)[gate][1], truth) > WRONG
        assert torch.equal(getattr(wrong, kind)[gate][0], getattr(right, kind)[gate][0])
        assert torch.equal(getattr(wrong, kind)[gate][2], getattr(right, kind)[gate][2])


def test_4_read_to_the_letter_eq_20_cannot_be_multiplied() -> None:
    """ "D ... d-1, d+1 ... 1" for D = 3, d = 2 is 3 2 1 3 2 1: twice the whole, which fits no unfolding of X."""
    order, d = 3, 2
    X, W = torch.ones(2, 3, 2), [torch.ones(2, 2), torch.ones(3, 3), torch.ones(2, 2)]
    read = [*range(order, d - 2, -1), *range(d + 1, 0, -1)]
    rest = kronecker([W[k - 1] for k in reversed(read)])
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        rest @ unfold(X, d).T
    assert (kronecker([W[0], W[2]]) @ unfold(X, d).T).shape == (4, 3)


def test_9_the_output_gate_is_missing_in_eq_24_to_27() -> None:
    """H_t = O_t o sigma_h(C_t), so dH/dC = O_t o sigma'_h(C_t): everything that passes through C_t lacks O_t."""
    case = Case("lstm")
    (right, right_start), (wrong, wrong_start) = case.printed(*ALL), case.without("output gate")
    truth = case.truth(case.state[1])[0, 0]
    assert off_by(right_start[1], truth) < RIGHT
    assert off_by(wrong_start[1], truth) > WRONG  # eq. 24
    for gate in "fic":  # eq. 25, 27, 26
        truth = case.truth(case.layer.bias(gate))
        assert off_by(right.B[gate], truth) < RIGHT
        assert off_by(wrong.B[gate], truth) > WRONG


def test_9_one_number_by_hand() -> None:
    """All weights zero, biases such that O = 1/2, C_0 = 0 and one step: dl/dC_0 = F O sigma'_h(0) = 1/2 * 1/2 * 1."""
    layer = TensorLSTM((1,), (1,)).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
    C0 = torch.zeros(1, 1, 1, dtype=torch.float64, requires_grad=True)
    outputs, _ = layer(torch.zeros(1, 1, 1, dtype=torch.float64), (torch.zeros_like(C0), C0))
    outputs.sum().backward()
    assert C0.grad.item() == 0.25  # eq. 24 as printed: 0.5


def test_10_vec_must_run_over_the_unfolding_in_eq_30_and_31(case: Case) -> None:
    """The rows of dM_(d)/dW_d are ordered as vec(M_(d)); Vec of the tensor itself is that order for d = 1 only."""
    right, wrong = case.printed(*ALL)[0], case.without("vec of the unfolding")[0]
    gate = case.layer.gates[0]
    for kind in "WU":
        for d in (1, 2, 3):
            truth = case.truth(case.layer.factor(kind, gate, d))
            assert off_by(getattr(right, kind)[gate][d - 1], truth) < RIGHT
            assert (off_by(getattr(wrong, kind)[gate][d - 1], truth) < RIGHT) == (d == 1)


SPOILED = {  # erratum: gradients off by more than one per cent, of 30 (tLSTM) and of 22 (tGRU); the table of docs/maths.md
    "missing path": (0, 22),
    "candidate slope": (30, 7),
    "entry-wise bias": (4, 3),
    "kronecker order": (8, 6),
    "output gate": (30, 0),
    "vec of the unfolding": (16, 12),
}


@pytest.mark.parametrize("erratum", SPOILED)
def test_how_many_gradients_each_erratum_spoils(case: Case, erratum: str) -> None:
    """All others put right: an error in what is carried back spoils everything, one in a weight's equation only that."""
    (right, start), (wrong, wrong_start) = case.printed(*ALL), case.without(erratum)
    pairs = [(b, a) for (_, a), (_, b) in zip(entries(right), entries(wrong), strict=True)]
    if isinstance(start, tuple):
        pairs += zip(wrong_start, start, strict=True)
    else:
        pairs.append((wrong_start, start))
    is_gru = case.layer.gates == "rzh"
    assert len(pairs) == (22 if is_gru else 30)
    assert sum(off_by(printed, ours) > WRONG for printed, ours in pairs) == SPOILED[erratum][is_gru]


def copying_network(shape: tuple[int, int]) -> TensorRNN:
    """An Elman network with twice the input's size in mode 1: the upper half sees X_t, the lower half keeps X_{t-1}."""
    n, m = shape
    layer = TensorRNN(shape, (2 * n, m), bias=False, activations=("identity",)).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.factor("U", "h", 1)[:n] = torch.eye(n)
        layer.factor("U", "h", 2).copy_(torch.eye(m))
        layer.factor("W", "h", 1)[n:, :n] = torch.eye(n)
        layer.factor("W", "h", 2).copy_(torch.eye(m))
    return layer


def test_5_the_printed_target_can_be_copied_from_the_input() -> None:
    """Y_t = X_{t-1}: a network that has learned nothing but to wait one step is perfect, on pure noise. On the
    target X_{t+1}, which is what a forecast is, nobody can do better than the variance of the noise."""
    weeks = torch.randn(60, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    windows = weeks.unfold(0, 7, 1).movedim(-1, 1)  # (54, 7, 5, 3)
    H, _ = copying_network((5, 3))(windows)
    answer = H[:, -1, 5:]
    printed = windows[:, -2]  # Y_{j+6} = X_{j+5}
    assert loss("squared", answer, printed).item() == 0.0
    ours = weeks[7:]  # X_{t+1}, the week after each window but the last
    assert loss("squared", answer[:-1], ours).item() > 1.0
    assert not any(torch.equal(step, target) for window, target in zip(windows, ours, strict=False) for step in window)


def test_5_our_windows_never_read_what_they_predict() -> None:
    windows = make_windows(split_periods(120), "train", 7)
    last_read = windows.first + 7 - 1
    assert (windows.last_touched == last_read + 1).all()


def test_6_543_windows_of_7_do_not_fit_into_543_weeks() -> None:
    n_weeks, length, n_train, n_test = 543, 7, 488, 55
    n_windows = n_weeks - length + 1
    assert n_train + n_test == n_weeks  # the printed split counts weeks ...
    assert n_train + n_test > n_windows == 537  # ... but deals out windows, of which there are fewer
    assert n_train + n_test + length - 1 == 549  # the last of them would end six weeks after the data
    train = {week for j in range(1, n_train + 1) for week in range(j, j + length)}
    test = {week for j in range(n_train + 1, n_windows + 1) for week in range(j, j + length)}
    assert len(train & test) == length - 1  # and the first test windows begin inside the training weeks


def test_6_no_training_window_of_ours_touches_a_test_week() -> None:
    split = split_periods(548, validation=0, test=55)
    windows = make_windows(split, "train", 7)
    assert windows.last_touched.max() == split.test.start - 1
    scored = make_windows(split, "test", 7).last_touched
    assert sorted(scored) == list(split.test)  # every test week is predicted exactly once
    assert len(windows) == 548 - 55 - 7


def test_7_hidden_shape_50_by_50_does_not_say_which_network() -> None:
    """The third mode changes the state and the number of parameters; ours is 4 unless the user sets it."""
    sizes = {k: sum(p.numel() for p in TensorLSTM((25, 25, 4), (50, 50, k)).parameters()) for k in (1, 4, 8)}
    assert len(set(sizes.values())) == 3
    assert sizes[4] == 4 * (2 * (50 * 50 + 50 * 25) + (4 * 4 + 4 * 4) + 50 * 50 * 4)
    assert ModelConfig().hidden_shape[2] == 4
    assert ModelConfig(hidden_shape=(50, 50, 8)).hidden_shape == (50, 50, 8)


def test_8_an_error_without_its_scale_says_nothing() -> None:
    """The same forecast of the same counts: 0.0081 or anything else, by choice of the unit. Only a ratio stays."""
    rng = np.random.default_rng(0)
    counts = torch.as_tensor(rng.poisson(3.0, size=(50, 6, 6, 4)).astype(float))
    forecast, persistence, truth = counts[:-1].mean(0).expand(49, 6, 6, 4), counts[:-1], counts[1:]
    plain, naive = loss("squared", forecast, truth), loss("squared", persistence, truth)
    unit = (0.0081 / plain).sqrt()
    rescaled, naive_rescaled = (loss("squared", unit * f, unit * truth) for f in (forecast, persistence))
    assert rescaled.item() == pytest.approx(0.0081)
    assert plain.item() > 1.0
    assert (rescaled / naive_rescaled).item() == pytest.approx((plain / naive).item())


def test_jacobian_and_unfolding_agree_on_the_order_of_rows() -> None:
    """What erratum 10 rests on, on its own: the change of M_(d) is the Jacobian times the change of W_d."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(2, 3, 2, dtype=torch.float64, generator=generator)
    W = [torch.randn(3, size, dtype=torch.float64, generator=generator) for size in X.shape]
    for d in (1, 2, 3):
        moved = [w + 1.0 if i == d else w for i, w in enumerate(W, start=1)]
        change = unfold(tucker_map(X, moved) - tucker_map(X, W), d)
        predicted = jacobian_factor(X, W, mode=d) @ torch.ones(W[d - 1].numel(), dtype=torch.float64)
        assert torch.allclose(change.T.reshape(-1), predicted, atol=1e-12)


def test_the_page_names_every_erratum_and_only_tests_that_exist() -> None:
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs" / "maths.md").read_text(encoding="utf-8")
    listed = page.split("## 6. Errata")[1].split("## 7.")[0]
    numbers = {int(n) for n in re.findall(r"^(\d+)\. \*\*", listed, flags=re.M)}
    tested = {int(n) for n in re.findall(r"^def test_(\d+)_", Path(__file__).read_text(encoding="utf-8"), flags=re.M)}
    assert numbers == tested == set(range(1, 11))
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", page))
    assert len(named) >= 11
    assert not [path for path in named if not (root / path).is_file()]

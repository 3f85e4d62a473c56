"""An independent reference: one Tucker map for each gate and step, by TensorLy, differentiated by autograd.

It shares nothing with the engine but the parameters, which it asks for by the paper's names. A batch of different
lengths is run series by series, so that padding never enters.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorly as tl
import torch
from tensorly.tenalg import multi_mode_dot
from torch import Tensor
from torch.nn import functional

from trnn_core.cells.gru import TensorGRU
from trnn_core.cells.lstm import TensorLSTM
from trnn_core.cells.rnn import TensorRNN
from trnn_core.cells.tensor_cell import TensorCell

SIGMA: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": functional.relu,
    "identity": lambda x: x,
    "hard_sigmoid": lambda x: (x / 6 + 0.5).clamp(
        0, 1
    ),  # the slope of torch.nn.functional.hardsigmoid is 1/6 in float32
    "softsign": functional.softsign,
}
CELLS = ("lstm", "gru", "elman", "jordan")
INPUT = {1: (3,), 2: (3, 2), 3: (3, 2, 4), 4: (2, 3, 1, 2)}
HIDDEN = {1: (4,), 2: (2, 4), 3: (4, 3, 2), 4: (3, 2, 2, 1)}
OUTPUT = {1: (2,), 2: (3, 2), 3: (2, 3, 2), 4: (2, 1, 3, 2)}


def make_layer(cell: str, order: int, seed: int = 0, hidden: tuple[int, ...] | None = None, **options) -> TensorCell:
    """A float64 cell of small, uneven sizes with random biases, so that no two modes or gates can be mistaken."""
    torch.manual_seed(seed)
    if cell == "jordan":
        options["output_shape"] = OUTPUT[order]
    kind = {"lstm": TensorLSTM, "gru": TensorGRU, "elman": TensorRNN, "jordan": TensorRNN}[cell]
    layer = kind(INPUT[order], hidden or HIDDEN[order], **options).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.6)
    return layer


def make_input(layer: TensorCell, n_sequences: int = 3, n_steps: int = 4, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n_sequences, n_steps, *layer.input_shape, dtype=torch.float64, generator=generator)


def make_state(layer: TensorCell, n_sequences: int = 3, seed: int = 2):
    generator = torch.Generator().manual_seed(seed)
    shape = (layer.num_layers, n_sequences, *layer.state_shape)
    parts = tuple(torch.randn(shape, dtype=torch.float64, generator=generator) for _ in range(layer.n_states))
    return parts if layer.n_states > 1 else parts[0]


def parts_of(state) -> tuple[Tensor, ...]:
    return state if isinstance(state, tuple) else (state,)


def tucker(batch: Tensor, factors: list[Tensor]) -> Tensor:
    """TensorLy's mode products over all modes but the batch, which stands first."""
    with tl.backend_context("pytorch", local_threadsafe=True):
        return multi_mode_dot(batch, factors, modes=list(range(1, batch.ndim)))


def run_reference(layer: TensorCell, x: Tensor, state=None, lengths=None):
    """What layer(x, state, lengths) must give."""
    if lengths is None:
        return _run(layer, x, state)
    outputs, ends = [], []
    for b, length in enumerate(lengths):
        alone = None if state is None else tuple(s[:, b : b + 1] for s in parts_of(state))
        alone = alone if alone is None or layer.n_states > 1 else alone[0]
        out, end = _run(layer, x[b : b + 1, : int(length)], alone)
        missing = out.new_zeros(1, x.shape[1] - int(length), *out.shape[2:])
        outputs.append(torch.cat([out, missing], dim=1))
        ends.append(parts_of(end))
    joined = tuple(torch.cat(part, dim=1) for part in zip(*ends, strict=True))
    return torch.cat(outputs), joined if layer.n_states > 1 else joined[0]


def _run(layer: TensorCell, x: Tensor, state):
    finals = []
    for number in range(layer.num_layers):
        shape = (len(x), *layer.state_shape)
        parts = (
            tuple(x.new_zeros(shape) for _ in range(layer.n_states))
            if state is None
            else tuple(s[number] for s in parts_of(state))
        )
        outputs = []
        for t in range(x.shape[1]):
            parts = _step(layer, number, x[:, t], parts)
            outputs.append(parts[0])
        x = torch.stack(outputs, dim=1)
        finals.append(parts)
    ends = tuple(torch.stack(part) for part in zip(*finals, strict=True))
    return x, ends if layer.n_states > 1 else ends[0]


def _step(layer: TensorCell, number: int, X: Tensor, parts: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    def M(gate: str, H: Tensor) -> Tensor:
        W, U = (
            [layer.factor(kind, gate, mode, number) for mode in range(1, len(layer.input_shape) + 1)] for kind in "WU"
        )
        both = tucker(H, W) + tucker(X, U)
        return both + layer.bias(gate, number) if layer.has_bias else both

    sigma = [SIGMA[name] for name in layer.activations]
    if isinstance(layer, TensorLSTM):
        H, C = parts
        F, I, O = (sigma[0](M(gate, H)) for gate in "fio")
        C = F * C + I * sigma[1](M("c", H))
        return O * sigma[2](C), C
    (H,) = parts
    if isinstance(layer, TensorGRU):
        R, Z = (sigma[0](M(gate, H)) for gate in "rz")
        return (Z * H + (1 - Z) * sigma[1](M("h", R * H)),)
    H = sigma[0](M("h", H))
    if layer.output_shape is None:
        return (H,)
    V = [layer.factor("V", "h", mode, number) for mode in range(1, len(layer.input_shape) + 1)]
    Y = tucker(H, V)
    return (sigma[1](Y + layer.bias("y", number) if layer.has_bias else Y),)


def gradients(layer: TensorCell, run, x: Tensor, state=None, lengths=None) -> dict[str, Tensor]:
    """Of one random weighting of all outputs and end states: by every parameter, the input and the initial state."""
    wanted = {"x": x.clone().requires_grad_(), **dict(layer.named_parameters())}
    if state is not None:
        wanted |= {f"state{i}": s.clone().requires_grad_() for i, s in enumerate(parts_of(state))}
        given = tuple(wanted[f"state{i}"] for i in range(layer.n_states))
        state = given if layer.n_states > 1 else given[0]
    outputs, end = run(wanted["x"], state, lengths)
    generator = torch.Generator().manual_seed(9)
    total = sum(
        (torch.randn(part.shape, dtype=part.dtype, generator=generator) * part).sum()
        for part in (outputs, *parts_of(end))
    )
    grads = torch.autograd.grad(total, list(wanted.values()))
    return dict(zip(wanted, grads, strict=True))


def worst(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> float:
    """The largest difference of any entry, relative to the largest entry of the same gradient."""
    assert ours.keys() == theirs.keys()
    return max(float((ours[k] - theirs[k]).abs().max() / theirs[k].abs().max()) for k in theirs)

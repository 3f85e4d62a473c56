"""The tensorial GRU: eq. 9-13 forward, eq. 36-39 (Algorithm 2, corrected) backward.

Letters: T steps, B sequences, G gates in the order r, z, h; everything lies in the layout of `stacked.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trnn_core.cells.activations import get_activation
from trnn_core.cells.bptt import Walk, plus
from trnn_core.cells.stacked import StackedTucker
from trnn_core.cells.tensor_cell import TensorCell

R, Z, H = range(3)
GATES, CANDIDATE = slice(R, Z + 1), slice(H, H + 1)


class GRUSweep(torch.autograd.Function):
    """All steps of a tGRU, given the input products of every step."""

    @staticmethod
    def forward(ctx, inputs: Tensor, H0: Tensor | None, walk: Walk, names: tuple[str, ...], *W: Tensor):  # type: ignore[override]
        sigma_g, sigma_h = map(get_activation, names)
        gated, candidate = StackedTucker([w[GATES] for w in W]), StackedTucker([w[CANDIDATE] for w in W])
        hiddens = inputs.new_empty(walk.n_steps, *inputs.shape[1:-2], walk.n_sequences, inputs.shape[-1])
        gates = []
        H_prev = H0
        for t in range(walk.n_steps):
            A = walk.at(inputs, t).clone(memory_format=torch.contiguous_format)
            if H_prev is None:
                sigma_g.apply_(A[GATES])  # eq. 9, 10
                sigma_h.apply_(A[H])  # eq. 12
                torch.addcmul(A[H], A[Z], A[H], value=-1, out=hiddens[t])  # eq. 13
            else:
                sigma_g.apply_(A[GATES].add_(gated.apply(H_prev, keep_as=t)))  # eq. 9, 10
                R_hat = A[R] * H_prev  # eq. 11
                sigma_h.apply_(A[CANDIDATE].add_(candidate.apply(R_hat, keep_as=t)))  # eq. 12
                torch.addcmul(A[H], A[Z], H_prev - A[H], out=hiddens[t])  # eq. 13
            walk.freeze(hiddens[t], H_prev, t)
            gates.append(A)
            H_prev = hiddens[t]
        ctx.walk, ctx.names, ctx.maps = walk, names, (gated, candidate)
        ctx.save_for_backward(inputs, H0, hiddens, *W, *gates)
        ctx.set_materialize_grads(False)
        return walk.hide(hiddens), hiddens[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, d_outputs: Tensor | None, dH: Tensor | None):  # type: ignore[override]
        walk = ctx.walk
        sigma_g, sigma_h = map(get_activation, ctx.names)
        inputs, H0, hiddens, *rest = ctx.saved_tensors
        gates = rest[hiddens.ndim - 2 :]
        gated, candidate = ctx.maps
        gated.zero_grads()
        candidate.zero_grads()
        d_inputs = walk.input_grad(inputs)
        for t in reversed(range(walk.n_steps)):
            dH = walk.receive(dH, d_outputs, hiddens, t)  # eq. 23
            dH, dH_past = walk.split(dH, t)
            A = gates[t]
            H_prev = hiddens[t - 1] if t else H0
            dM = torch.empty_like(A)
            torch.addcmul(dH, A[Z], dH, value=-1, out=dM[H])  # eq. 36
            sigma_h.chain_(dM[H], A[H])
            if H_prev is None:
                torch.mul(A[H], dH, out=dM[Z]).neg_()  # eq. 37 with H_{t-1} = 0
                dM[R].zero_()
                sigma_g.chain_(dM[Z], A[Z])
                dH = None
            else:
                torch.mul(H_prev - A[H], dH, out=dM[Z])  # eq. 37
                dR_hat = candidate.pull_back(dM[CANDIDATE], A[R] * H_prev, t)
                torch.mul(H_prev, dR_hat, out=dM[R])  # eq. 38
                sigma_g.chain_(dM[GATES], A[GATES])
                dH = gated.pull_back(dM[GATES], H_prev, t).addcmul_(A[Z], dH)  # eq. 39
                dH.addcmul_(A[R], dR_hat)  # the path through eq. 11 that the printed eq. 39 leaves out
            walk.at(d_inputs, t).add_(dM)
            dH = plus(dH, dH_past)
        dW = [torch.cat(pair) for pair in zip(gated.grads, candidate.grads, strict=True)]
        return None if walk.sink is not None else d_inputs, dH if H0 is not None else None, None, None, *dW


class TensorGRU(TensorCell):
    r"""Tensorial gated recurrent unit over sequences of tensors of any order D.

    .. math::
        R_t &= \sigma_g(H_{t-1} \times_1 W_{r1} \cdots \times_D W_{rD}
            + X_t \times_1 U_{r1} \cdots \times_D U_{rD} + B_r) \quad (9) \\
        Z_t &= \sigma_g(\ldots) \quad (10) \qquad \hat R_t = R_t \circ H_{t-1} \quad (11) \\
        \hat H_t &= \sigma_h(\hat R_t \times_1 W_{h1} \cdots \times_D W_{hD}
            + X_t \times_1 U_{h1} \cdots \times_D U_{hD} + B_h) \quad (12) \\
        H_t &= Z_t \circ H_{t-1} + (1 - Z_t) \circ \hat H_t \quad (13)

    The reset gate acts on H *before* the Tucker map, as in Cho et al. (2014); `torch.nn.GRU` applies it after.

    Args:
        input_shape: sizes of the modes of X_t.
        hidden_shape: sizes of the modes of H_t; as many modes as the input, each of any size.
        num_layers: cells stacked on top of each other; layer 2 reads the H_t of layer 1.
        bias: whether the tensors B are there.
        activations: names of sigma_g, sigma_h.
        init: how W and U start: ``glorot``, ``orthogonal``, ``identity`` or ``uniform``.

    Inputs: x ``(B, T, *input_shape)``; optional state H ``(num_layers, B, *hidden_shape)``; optional lengths ``(B,)``.

    Outputs: ``(B, T, *hidden_shape)``, zero behind a sequence's end; state H at each sequence's last step.

    Parameters: for layer l and mode d ``W{d}_l`` ``(3, h_d, h_d)``, ``U{d}_l`` ``(3, h_d, x_d)``, and ``B_l``
    ``(3, *hidden_shape)``, gates in the order r, z, h. `factor` and `bias` give them by the paper's names.

    >>> layer = TensorGRU(input_shape=(5, 5, 4), hidden_shape=(3, 3, 2))
    >>> outputs, H = layer(torch.zeros(8, 7, 5, 5, 4))
    >>> outputs.shape, H.shape
    (torch.Size([8, 7, 3, 3, 2]), torch.Size([1, 8, 3, 3, 2]))
    """

    gates = "rzh"
    default_activations = ("sigmoid", "tanh")

    def _sweep(self, inputs: Tensor, state: tuple[Tensor | None, ...], walk: Walk, layer: int):
        outputs, H_end = GRUSweep.apply(inputs, *state, walk, self.activations, *self._factors("W", layer))
        return outputs, (H_end,)

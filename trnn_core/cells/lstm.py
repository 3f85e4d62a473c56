"""The tensorial LSTM: eq. 3-8 forward, eq. 23-35 (Algorithm 1) backward.

Letters: T steps, B sequences, G gates in the order f, i, o, c; everything lies in the layout of `stacked.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trnn_core.cells.activations import get_activation
from trnn_core.cells.bptt import Walk, plus
from trnn_core.cells.stacked import StackedTucker
from trnn_core.cells.tensor_cell import TensorCell

GATES = slice(0, 3)  # F, I, O; the candidate C comes last


class LSTMSweep(torch.autograd.Function):
    """All steps of a tLSTM, given the input products of every step."""

    @staticmethod
    def forward(ctx, inputs: Tensor, H0: Tensor | None, C0: Tensor | None, walk: Walk, names: tuple, *W: Tensor):  # type: ignore[override]
        sigma_g, sigma_c, sigma_h = map(get_activation, names)
        recurrent = StackedTucker(W)
        shape = (*inputs.shape[1:-2], walk.n_sequences, inputs.shape[-1])
        hiddens = inputs.new_empty(walk.n_steps, *shape)
        cells = torch.empty_like(hiddens)
        gates, squashed = [], []
        H_prev, C_prev = H0, C0
        for t, (H_t, C_t) in enumerate(zip(hiddens.unbind(0), cells.unbind(0), strict=True)):
            if H_prev is None:
                M = walk.at(inputs, t).clone(memory_format=torch.contiguous_format)
            else:
                M = recurrent.apply(H_prev, keep_as=t)
                M.add_(walk.at(inputs, t))
            sigma_g.apply_(M[GATES])  # eq. 3-5
            F_t, I_t, O_t, C_hat = M.unbind(0)
            sigma_c.apply_(C_hat)  # eq. 6
            torch.mul(I_t, C_hat, out=C_t)  # eq. 7
            if C_prev is not None:
                C_t.addcmul_(F_t, C_prev)
            squashed.append(sigma_h.apply_(C_t.clone()))
            torch.mul(squashed[t], O_t, out=H_t)  # eq. 8
            walk.freeze(C_t, C_prev, t)
            walk.freeze(H_t, H_prev, t)
            gates.append(M)
            H_prev, C_prev = H_t, C_t
        ctx.walk, ctx.names, ctx.recurrent = walk, names, recurrent
        ctx.save_for_backward(inputs, H0, C0, hiddens, cells, *squashed, *gates, *W)
        ctx.set_materialize_grads(False)
        return walk.hide(hiddens), hiddens[-1].clone(), cells[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, d_outputs: Tensor | None, dH: Tensor | None, dC: Tensor | None):  # type: ignore[override]
        walk = ctx.walk
        sigma_g, sigma_c, sigma_h = map(get_activation, ctx.names)
        inputs, H0, C0, hiddens, cells, *rest = ctx.saved_tensors
        squashed, gates = rest[: walk.n_steps], rest[walk.n_steps : 2 * walk.n_steps]
        recurrent = ctx.recurrent
        recurrent.zero_grads()
        d_inputs = walk.input_grad(inputs)
        for t in reversed(range(walk.n_steps)):
            dH = walk.receive(dH, d_outputs, hiddens, t)  # eq. 23
            dC = torch.zeros_like(dH) if dC is None else dC
            dH, dH_past = walk.split(dH, t)
            dC, dC_past = walk.split(dC, t)
            A = gates[t]
            F_t, I_t, O_t, C_hat = A.unbind(0)
            H_prev, C_prev = (hiddens[t - 1], cells[t - 1]) if t else (H0, C0)
            dM = torch.empty_like(A)
            dF, dI, dO, dC_hat = dM.unbind(0)
            torch.mul(dH, squashed[t], out=dO)  # eq. 28
            dC = sigma_h.chain_(dH * O_t, squashed[t]).add_(dC)  # the bracket of eq. 24-27
            torch.mul(dC, C_hat, out=dI)  # eq. 27
            torch.mul(dC, I_t, out=dC_hat)  # eq. 26
            if C_prev is None:
                dF.zero_()
            else:
                torch.mul(dC, C_prev, out=dF)  # eq. 25
            dC.mul_(F_t)  # eq. 24
            sigma_g.chain_(dM[GATES], A[GATES])
            sigma_c.chain_(dC_hat, C_hat)  # the printed eq. 29-31 have sigma'_g here
            walk.at(d_inputs, t).add_(dM)
            dH = None
            if H_prev is not None:
                dH = recurrent.pull_back(dM, H_prev, t)  # eq. 29, 30
            dH, dC = plus(dH, dH_past), plus(dC, dC_past)
        d_inputs = None if walk.sink is not None else d_inputs
        return d_inputs, dH if H0 is not None else None, dC if C0 is not None else None, None, None, *recurrent.grads


class TensorLSTM(TensorCell):
    r"""Tensorial long short-term memory over sequences of tensors of any order D.

    .. math::
        F_t &= \sigma_g(H_{t-1} \times_1 W_{f1} \cdots \times_D W_{fD}
            + X_t \times_1 U_{f1} \cdots \times_D U_{fD} + B_f) \quad (3) \\
        I_t &= \sigma_g(\ldots) \quad (4) \qquad O_t = \sigma_g(\ldots) \quad (5) \\
        \hat C_t &= \sigma_c(\ldots) \quad (6) \\
        C_t &= F_t \circ C_{t-1} + I_t \circ \hat C_t \quad (7) \\
        H_t &= O_t \circ \sigma_h(C_t) \quad (8)

    with :math:`\circ` the entry-wise product and :math:`\times_d` the mode-d product.

    Args:
        input_shape: sizes of the modes of X_t.
        hidden_shape: sizes of the modes of H_t; as many modes as the input, each of any size.
        num_layers: cells stacked on top of each other; layer 2 reads the H_t of layer 1.
        bias: whether the tensors B are there.
        activations: names of sigma_g, sigma_c, sigma_h.
        init: how W and U start: ``glorot``, ``orthogonal``, ``identity`` or ``uniform``.

    Inputs: x ``(B, T, *input_shape)``; optional state ``(H, C)``, each ``(num_layers, B, *hidden_shape)``; optional
    lengths ``(B,)`` of padded sequences.

    Outputs: ``(B, T, *hidden_shape)``, zero behind a sequence's end; state ``(H, C)`` at each sequence's last step.

    Parameters: for layer l and mode d ``W{d}_l`` ``(4, h_d, h_d)``, ``U{d}_l`` ``(4, h_d, x_d)``, and ``B_l``
    ``(4, *hidden_shape)``, gates in the order f, i, o, c. `factor` and `bias` give them by the paper's names.

    >>> layer = TensorLSTM(input_shape=(5, 5, 4), hidden_shape=(3, 3, 2))
    >>> outputs, (H, C) = layer(torch.zeros(8, 7, 5, 5, 4))
    >>> outputs.shape, H.shape
    (torch.Size([8, 7, 3, 3, 2]), torch.Size([1, 8, 3, 3, 2]))
    >>> layer.factor("W", gate="f", mode=1).shape
    torch.Size([3, 3])
    """

    gates = "fioc"
    n_states = 2
    default_activations = ("sigmoid", "tanh", "tanh")

    def _sweep(self, inputs: Tensor, state: tuple[Tensor | None, ...], walk: Walk, layer: int):
        outputs, H, C = LSTMSweep.apply(inputs, *state, walk, self.activations, *self._factors("W", layer))
        return outputs, (H, C)

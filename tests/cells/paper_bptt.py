"""Algorithms 1 and 2 of the paper for one training case, written down as printed: Vec, iVec and Kronecker products.

Every erratum is a switch: `corrected` names those equations that are put right, all others are taken as printed.
Slow and small on purpose; the engine is compared with it and it is compared with finite differences.

One step of one series: X_t, H_{t-1}, C_{t-1} and parameters W[a][d], U[a][d], B[a] for gate a and mode d (from 0).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import torch
from torch import Tensor

from trnn_core.cells.tucker import ivec, jacobian_input, tucker_map, unfold, vec

ALL = frozenset(
    {
        "missing path",  # erratum 1, eq. 39
        "candidate slope",  # erratum 2, eq. 29-31
        "entry-wise bias",  # erratum 3, eq. 32
        "kronecker order",  # erratum 4, eq. 20 and 21
        "identity size",  # erratum 4, eq. 21
        "output gate",  # erratum 9, eq. 24-27
        "vec of the unfolding",  # erratum 10, eq. 30 and 31
    }
)


def sigmoid_slope(M: Tensor) -> Tensor:
    return torch.sigmoid(M) * (1 - torch.sigmoid(M))


def tanh_slope(M: Tensor) -> Tensor:
    return 1 - torch.tanh(M).square()


@dataclass
class Weights:
    """Factors by gate and mode, biases by gate; also used for their gradients."""

    W: dict[str, list[Tensor]]
    U: dict[str, list[Tensor]]
    B: dict[str, Tensor]

    def M(self, gate: str, H: Tensor, X: Tensor) -> Tensor:
        return tucker_map(H, self.W[gate]) + tucker_map(X, self.U[gate]) + self.B[gate]

    def zeros(self) -> Weights:
        def empty(factors: dict[str, list[Tensor]]) -> dict[str, list[Tensor]]:
            return {gate: [torch.zeros_like(f) for f in of_gate] for gate, of_gate in factors.items()}

        return Weights(empty(self.W), empty(self.U), {gate: torch.zeros_like(b) for gate, b in self.B.items()})


@dataclass
class Backward:
    """What the algorithms share: eq. 20-22 and 30-35, as printed apart from what is in `corrected`."""

    weights: Weights
    corrected: frozenset[str] = ALL
    grads: Weights = field(init=False)

    def __post_init__(self) -> None:
        self.grads = self.weights.zeros()

    def jacobian(self, tensor: Tensor, factors: list[Tensor], d: int, of_input: bool) -> Tensor:
        """dM_(d)/dW_d (eq. 20) or, of_input, dM_(d)/dU_d (eq. 21); d counted from 0.

        The printed Kronecker product puts W_{d-1} ... before W_{d+1} ...; we read it as the two groups exchanged.
        """
        below, above = factors[:d], factors[d + 1 :]
        groups = [*below, *above] if "kronecker order" in self.corrected else [*above, *below]
        one = torch.ones(1, 1, dtype=tensor.dtype)
        rest = reduce(lambda k, w: torch.kron(w, k), groups, one)  # the last of the list stands leftmost
        size = tensor.shape[d] if of_input and "identity size" not in self.corrected else factors[d].shape[0]
        return torch.kron(rest @ unfold(tensor, d + 1).T, torch.eye(size, dtype=tensor.dtype))

    def add(self, gate: str, dA: Tensor, slope: Tensor, slope_g: Tensor, H: Tensor, X: Tensor, C: str) -> Tensor:
        """Eq. 30-32 for one gate; C is the candidate's name. Returns dl/dA o sigma' for eq. 29."""
        G = dA * (slope if gate != C or "candidate slope" in self.corrected else slope_g)
        for kind, tensor in (("W", H), ("U", X)):
            factors, sums = getattr(self.weights, kind)[gate], getattr(self.grads, kind)[gate]
            for d, factor in enumerate(factors):
                row = vec(unfold(G, d + 1)) if "vec of the unfolding" in self.corrected else vec(G)
                sums[d] += ivec(row @ self.jacobian(tensor, factors, d, kind == "U"), factor.shape)
        self.grads.B[gate] += G if "entry-wise bias" in self.corrected else G.sum() * torch.ones_like(G)
        return G

    def through(self, G: Tensor, gate: str, shape: torch.Size) -> Tensor:
        """iVec(Vec(G)^T dM/dH), a term of eq. 29, 38 and 39."""
        return ivec(vec(G) @ jacobian_input(self.weights.W[gate]), shape)


def algorithm_1(weights: Weights, xs: list[Tensor], start: tuple[Tensor, Tensor], dHs: list[Tensor], corrected=ALL):
    """tLSTM: gradients of the weights and of (H_0, C_0), for dl_o/dH_t given at every step."""
    back = Backward(weights, corrected)
    H, C = start
    steps = []
    for X in xs:
        M = {gate: weights.M(gate, H, X) for gate in "fioc"}
        F, I, O = (torch.sigmoid(M[gate]) for gate in "fio")
        C_new = F * C + I * torch.tanh(M["c"])
        steps.append((X, H, C, M, F, I, O, torch.tanh(M["c"]), C_new))
        H, C = O * torch.tanh(C_new), C_new
    dH, dC = torch.zeros_like(H), torch.zeros_like(C)
    for (X, H, C, M, F, I, O, C_hat, C_new), dH_own in zip(steps[::-1], dHs[::-1], strict=True):
        dH = dH + dH_own  # eq. 23
        inner = tanh_slope(C_new) * dH
        bracket = dC + (inner * O if "output gate" in corrected else inner)
        by_gate = {"f": bracket * C, "c": bracket * I, "i": bracket * C_hat, "o": torch.tanh(C_new) * dH}  # 25-28
        dC, dH = bracket * F, torch.zeros_like(H)  # eq. 24
        for gate, dA in by_gate.items():
            slope = tanh_slope(M[gate]) if gate == "c" else sigmoid_slope(M[gate])
            G = back.add(gate, dA, slope, sigmoid_slope(M[gate]), H, X, "c")
            dH = dH + back.through(G, gate, H.shape)  # eq. 29
    return back.grads, (dH, dC)


def algorithm_2(weights: Weights, xs: list[Tensor], start: Tensor, dHs: list[Tensor], corrected=ALL, literal=False):
    """tGRU: gradients of the weights and of H_0. With `literal`, eq. 39 even takes dM^r/dR and dM^z/dZ at their word."""
    back = Backward(weights, corrected)
    H = start
    steps = []
    for X in xs:
        M = {gate: weights.M(gate, H, X) for gate in "rz"}
        R, Z = torch.sigmoid(M["r"]), torch.sigmoid(M["z"])
        M["h"] = weights.M("h", R * H, X)
        steps.append((X, H, M, R, Z, torch.tanh(M["h"])))
        H = Z * H + (1 - Z) * torch.tanh(M["h"])
    dH = torch.zeros_like(H)
    for (X, H, M, R, Z, H_hat), dH_own in zip(steps[::-1], dHs[::-1], strict=True):
        dH = dH + dH_own  # eq. 23
        dH_hat, dZ = (1 - Z) * dH, (H - H_hat) * dH  # eq. 36, 37
        back.add("h", dH_hat, tanh_slope(M["h"]), sigmoid_slope(M["h"]), R * H, X, "h")
        dR_hat = back.through(dH_hat * tanh_slope(M["h"]), "h", H.shape)
        dR = H * dR_hat  # eq. 38
        carried = Z * dH
        for gate, dA in (("r", dR), ("z", dZ)):
            G = back.add(gate, dA, sigmoid_slope(M[gate]), sigmoid_slope(M[gate]), H, X, "h")
            carried = carried + (G / sigmoid_slope(M[gate]) if literal else back.through(G, gate, H.shape))  # eq. 39
        dH = carried + R * dR_hat if "missing path" in corrected else carried
    return back.grads, dH

"""ModelConfig: what network to build. No torch here, so that pages can validate a form."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trnn_core.cells.kinds import CELLS
from trnn_core.models.likelihoods import LIKELIHOODS
from trnn_core.models.settings import OneOf, Settings

Activation = Literal["sigmoid", "tanh", "relu", "identity", "hard_sigmoid", "softsign"]
Init = Literal["glorot", "orthogonal", "identity", "uniform"]


class ModelConfig(Settings):
    """The network: cell, hidden shape, read-out and likelihood."""

    section = "model"

    network: Literal["tensor", "dyad"] = Field(
        "tensor",
        description=(
            "tensor: one hidden tensor for all relations, as in the paper; dyad: one small network shared by all dyads,"
            " correcting a relational autoregression"
        ),
    )

    cell: Annotated[str, OneOf(CELLS)] = Field(
        "lstm", description="tLSTM (eq. 3-8), tGRU (eq. 9-13), or the plain tRNN of Elman or Jordan (eq. 1-2)"
    )
    hidden_shape: tuple[int, ...] = Field((14, 14, 4), description="size of the hidden tensor H_t in each mode")
    num_layers: int = Field(1, ge=1, le=8, description="cells stacked on top of each other")
    gate_activation: Activation = Field("sigmoid", description="sigma_g")
    candidate_activation: Activation = Field("tanh", description="sigma_c (tLSTM), sigma_h (tGRU, tRNN)")
    hidden_activation: Activation = Field("tanh", description="sigma_h of eq. 8 (tLSTM only)")
    init: Init = Field("glorot", description="how the factors W and U start")
    likelihood: Annotated[str, OneOf(LIKELIHOODS)] = Field("squared", description="the loss l of eq. 14-18")
    dropout: float = Field(0.0, ge=0.0, lt=1.0, description="share of hidden entries left out while training")
    channels: int = Field(16, ge=1, le=512, description="hidden channels per dyad and action (dyad networks)")
    members: int = Field(1, ge=1, le=50, description="networks trained side by side and averaged (dyad networks)")

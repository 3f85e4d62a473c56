"""Sizes told before a network is built are those of the network that is built."""

from __future__ import annotations

import pytest
import torch

from trnn_core.models.config import ModelConfig
from trnn_core.models.network import TensorNetwork
from trnn_core.models.size import count_dyad_parameters, count_parameters, count_vector_parameters, operations


@pytest.mark.parametrize("likelihood", ["squared", "negative_binomial"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["lstm", "gru", "elman", "jordan"])
def test_the_count_is_that_of_the_network(cell, layers, likelihood) -> None:
    config = ModelConfig(cell=cell, hidden_shape=(3, 4, 2), num_layers=layers, likelihood=likelihood)
    network = TensorNetwork(config, (5, 5, 6), (5, 5, 3))
    assert count_parameters(config, (5, 5, 6), (5, 5, 3)) == sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize(("cell", "layer"), [("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU), ("elman", torch.nn.RNN)])
def test_the_vector_count_is_torchs_own_with_one_bias(cell, layer) -> None:
    config = ModelConfig(cell=cell, hidden_shape=(2, 3, 2))
    theirs = sum(p.numel() for n, p in layer(5 * 5 * 4, 12).named_parameters() if "bias_hh" not in n)
    assert count_vector_parameters(config, (5, 5, 4), (5, 5, 4)) == theirs + 13 * 100


def test_work_grows_with_the_hidden_shape() -> None:
    small, large = (operations(ModelConfig(hidden_shape=h), (25, 25, 4), (25, 25, 4)) for h in ((8, 8, 4), (50, 50, 4)))
    assert 4 < large / small < 60


def test_the_form_counts_what_a_dyad_network_really_has(small_series) -> None:
    from trnn_core.models.channels import Channels
    from trnn_core.models.dyad_network import DyadNetwork
    from trnn_core.models.panel import Panel

    read = Channels(Panel.of(small_series), small_series.period)
    member = DyadNetwork(len(read.names), len(read.recurrent), len(small_series.actions), hidden=5)
    built = sum(p.numel() for p in member.parameters())
    config = ModelConfig(network="dyad", cell="gru", channels=5, members=3)
    assert count_dyad_parameters(config, small_series) == 3 * built

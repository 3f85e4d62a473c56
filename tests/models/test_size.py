"""Sizes told before a network is built are those of the network that is built."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trnn_core.data.series import RelationalSeries
from trnn_core.models.channels import Channels
from trnn_core.models.dyad_network import DyadNetwork
from trnn_core.models.model_config import ModelConfig
from trnn_core.models.network import TensorNetwork
from trnn_core.models.panel import Panel
from trnn_core.models.size import count_parameters, count_vector_parameters, operations


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


@pytest.mark.parametrize("period", ["week", "year"])
def test_the_count_of_a_dyad_network_is_that_of_its_members(period) -> None:
    dates = np.datetime64("1980-01-01") + 7 * np.arange(40)
    series = RelationalSeries(np.zeros((40, 3, 3, 2)), dates, tuple("ABC"), ("x", "y"))
    channels = Channels(Panel.of(series), period)
    network = DyadNetwork(len(channels.names) + 3, len(channels.recurrent), 2, hidden=5)
    config = ModelConfig(network="dyad", channels=5, members=4)
    assert count_parameters(config, (3, 3, 2), (3, 3, 2), period) == 4 * sum(p.numel() for p in network.parameters())

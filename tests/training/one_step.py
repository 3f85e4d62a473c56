"""Run by torchrun in a test: the gradient of one window, of which only one process has any, as every process knows it.

one_step.py DATA.npz FOLDER
"""

from __future__ import annotations

import sys

import torch
from safetensors.torch import save_file

from tests.training.test_distributed import RECIPE, gradients_of_one_window
from trnn_core.data.readers.npz import read_npz
from trnn_core.training import tensor_learner
from trnn_core.training.distributed import joined
from trnn_core.training.networks import build_network
from trnn_core.training.shared_learner import SharedLearner


def with_idle(*arguments: object) -> torch.nn.Module:
    network = build_network(*arguments)  # type: ignore[arg-type]
    network.idle = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    return network


def main(data: str, folder: str) -> None:
    tensor_learner.build_network = with_idle
    with joined() as group:
        learner = SharedLearner(read_npz(data), RECIPE, group)
        save_file(gradients_of_one_window(learner), f"{folder}/{group.rank}.safetensors")


if __name__ == "__main__":
    main(*sys.argv[1:3])

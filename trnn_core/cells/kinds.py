"""The cells there are, for forms and networks alike. No torch here: a cell's class is imported when one is built."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class CellKind(NamedTuple):
    label: str
    home: str  # module:class
    gates: str
    news: str  # the gate through which the input enters the state
    activations: tuple[str, ...]  # in the cell's order: settings of ModelConfig, or the fixed "identity"
    own_output: bool = False  # whether the cell's outputs are the response already

    def load(self) -> Any:
        """The cell's class."""
        module, name = self.home.split(":")
        return getattr(import_module(module), name)


# A new cell is one file in this folder and one line here.
CELLS: dict[str, CellKind] = {
    "lstm": CellKind(
        "tLSTM",
        "trnn_core.cells.lstm:TensorLSTM",
        "fioc",
        "c",
        ("gate_activation", "candidate_activation", "hidden_activation"),
    ),
    "gru": CellKind("tGRU", "trnn_core.cells.gru:TensorGRU", "rzh", "h", ("gate_activation", "candidate_activation")),
    "elman": CellKind("tRNN, Elman", "trnn_core.cells.rnn:TensorRNN", "h", "h", ("candidate_activation",)),
    "jordan": CellKind(
        "tRNN, Jordan", "trnn_core.cells.rnn:TensorRNN", "h", "h", ("candidate_activation", "identity"), own_output=True
    ),
}

"""Tensorial recurrent networks for relational event data.

Names are imported on first use (PEP 562), so that a page that only reads runs never loads torch.
"""

from importlib import import_module

from trnn_core.errors import TRNNError

__version__ = "0.1.0"

_HOMES = {
    "read_series": "trnn_core.data.readers",
    "simulate": "trnn_core.data.simulation",
    "RelationalSeries": "trnn_core.data.series",
    "TensorRNN": "trnn_core.cells.rnn",
    "TensorLSTM": "trnn_core.cells.lstm",
    "TensorGRU": "trnn_core.cells.gru",
    "ModelConfig": "trnn_core.models.model_config",
    "TrainConfig": "trnn_core.training.config",
    "fit": "trnn_core.training.trainer",
    "load_run": "trnn_core.runs.run",
    "backtest": "trnn_core.evaluation.rolling_origins",
    "Forecast": "trnn_core.models.forecast",
}

__all__ = ["TRNNError", "__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'trnn_core' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

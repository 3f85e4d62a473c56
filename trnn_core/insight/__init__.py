"""Why, and what if: questions to a trained model. Names are loaded when first used, so that pages need not wait for
torch.

>>> from trnn_core.insight import parse_shock, load_view, attribute, run_scenario, impulse_response, explain_influence
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "load_view": "loading",
    "explain_influence": "loading",
    "explain_run": "loading",
    "attribute": "attribution",
    "run_scenario": "counterfactual",
    "Shock": "shocks",
    "parse_shock": "shocks",
    "impulse_response": "responses",
    "find_unusual": "surprise",
    "save_scenario": "library",
    "list_scenarios": "library",
    "delete_scenario": "library",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

"""Requests as they are stored: a job is known by what determines its result, and comes back as it was asked for."""

from __future__ import annotations

import pytest

from trnn_core.data.options import ImportOptions
from trnn_core.errors import TRNNError
from trnn_core.evaluation.protocol import Protocol
from trnn_core.verbs import load

PROTOCOL = {"test": 0.1, "min_origins": 50, "horizon": 4, "refit_every": 0, "diagonal": False}
CELL = {"source": "A", "target": "B", "action": "c"}

# verb, request, what its job holds as request, and as resources
STORED = [
    (
        "backtest",
        {"fingerprint": "f", "models": ("mean",), "protocol": Protocol(horizon=4), "actors": ("A", "B"), "workers": 2},
        {
            "fingerprint": "f",
            "models": ["mean"],
            "protocol": PROTOCOL,
            "actors": ["A", "B"],
            "actions": None,
            "recipe": None,
        },
        {"workers": 2, "cluster": None},
    ),
    (
        "import",
        {"files": ("a.tab",), "format": "icews", "options": ImportOptions(actors=3), "stamps": ((1, 2),)},
        {"files": ["a.tab"], "format": "icews", "options": {"actors": 3}, "stamps": [[1, 2]]},
        {},
    ),
    (
        "export",
        {
            "run": "r",
            "form": "PDF",
            "sections": ("past",),
            "name": "R",
            "written": {"x": 1},
            "made": "d",
            "version": "v",
        },
        {"form": "PDF", "sections": ["past"], "name": "R", "written": {"x": 1}, "made": "d", "version": "v"},
        {},
    ),
    (
        "tune",
        {"config": {"trials": 3}, "fingerprint": "f", "study": "s", "workers": 1, "cluster": ""},
        {"config": {"trials": 3}, "fingerprint": "f", "study": "s"},
        {"workers": 1, "cluster": ""},
    ),
    (
        "explain",
        {"run": "r", "weights": "w", **CELL, "step": 2},
        {"weights": "w", **CELL, "step": 2},
        {},
    ),
    (
        "impulse",
        {"run": "r", "weights": "w", **CELL, "size": 2.0},
        {"weights": "w", **CELL, "size": 2.0, "horizon": 8},
        {},
    ),
    (
        "scenario",
        {"run": "r", "weights": "w", "shocks": ({"source": "A"},)},
        {"weights": "w", "shocks": [{"source": "A"}], "horizon": 8},
        {},
    ),
    ("unusual", {"run": "r", "weights": "w"}, {"weights": "w"}, {}),
    ("warm", {"run": "r", "weights": "w"}, {"weights": "w", "spread": False}, {}),
    ("warm", {"run": "r", "weights": "w", "spread": True}, {"weights": "w", "spread": True}, {}),
    ("influence", {"run": "r", "weights": "w"}, {"weights": "w", "retrain": False}, {}),
    ("influence", {"run": "r", "weights": "w", "retrain": True}, {"weights": "w", "retrain": True}, {}),
]


def again(verb: str, asked: dict, resources: dict, run_id: str | None):
    """As a job's process makes it of what was stored."""
    return load(verb).Request(**asked, **resources, **({"run": run_id} if run_id else {}))


@pytest.mark.parametrize(("verb", "values", "asked", "resources"), STORED)
def test_a_request_is_stored_whole_and_comes_back_as_it_was(verb, values, asked, resources) -> None:
    request = load(verb).Request(**values)
    assert request.stored() == asked and request.stored("resources") == resources
    assert again(verb, asked, resources, values.get("run")) == request


def test_a_stored_request_that_makes_no_sense_is_refused_in_one_sentence() -> None:
    with pytest.raises(TRNNError, match="'question' must be what is asked for"):
        again("explain", {"question": "why", **CELL}, {}, "r")
    with pytest.raises(TRNNError, match="must be one of"):
        again("backtest", {"fingerprint": "f", "models": ["oracle"]}, {}, "r")
    with pytest.raises(TRNNError, match=r"protocol.*must be what is asked for"):
        again("backtest", {"fingerprint": "f", "models": ["mean"], "protocol": 3}, {}, None)
    with pytest.raises(TRNNError, match="must lie between 0 and 1"):
        again("backtest", {"fingerprint": "f", "protocol": {"test": 3}}, {}, None)

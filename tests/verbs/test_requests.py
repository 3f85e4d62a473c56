"""Requests as they are stored: a job is known by what determines its result, in the words that older stores hold."""

from __future__ import annotations

import pytest

from trnn_core.data.options import ImportOptions
from trnn_core.errors import TRNNError
from trnn_core.evaluation.protocol import Protocol
from trnn_core.verbs import VERBS, load
from trnn_core.verbs.as_job import arguments_of, request_of

PROTOCOL = {"test": 0.1, "min_origins": 50, "horizon": 4, "refit_every": 0, "diagonal": False}
CELL = {"source": "A", "target": "B", "action": "c"}

# verb, request, what its task holds as arguments, and as means
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
        {"question": "attribution", "weights": "w", **CELL, "step": 2},
        {},
    ),
    (
        "impulse",
        {"run": "r", "weights": "w", **CELL, "size": 2.0},
        {"question": "impulse", "weights": "w", **CELL, "size": 2.0, "horizon": 8},
        {},
    ),
    (
        "scenario",
        {"run": "r", "weights": "w", "shocks": ({"source": "A"},)},
        {"question": "scenario", "weights": "w", "shocks": [{"source": "A"}], "horizon": 8},
        {},
    ),
    ("unusual", {"run": "r", "weights": "w"}, {"question": "unusual", "weights": "w"}, {}),
    ("warm", {"run": "r", "weights": "w"}, {"question": "warm", "weights": "w"}, {}),
    ("warm", {"run": "r", "weights": "w", "spread": True}, {"question": "ready", "weights": "w"}, {}),
    ("influence", {"run": "r", "weights": "w"}, {"question": "influence", "weights": "w"}, {}),
    ("influence", {"run": "r", "weights": "w", "retrain": True}, {"question": "retrain", "weights": "w"}, {}),
]


@pytest.mark.parametrize(("verb", "values", "arguments", "means"), STORED)
def test_a_request_is_stored_as_before_and_comes_back_as_it_was(verb, values, arguments, means) -> None:
    request = load(verb).Request(**values)
    assert arguments_of(verb, request) == arguments and request.stored("means") == means
    assert request_of(VERBS[verb].lane, arguments, means, values.get("run")) == (verb, request)


def test_a_stored_request_that_makes_no_sense_is_refused_in_one_sentence() -> None:
    for kind, arguments in (("explain", {"question": "why"}), ("backtest", {"fingerprint": "f", "models": ["oracle"]})):
        with pytest.raises(TRNNError, match="must be one of"):
            request_of(kind, arguments, {}, "r")
    with pytest.raises(TRNNError, match=r"protocol.*must be what is asked for"):
        request_of("backtest", {"fingerprint": "f", "models": ["mean"], "protocol": 3}, {}, None)
    with pytest.raises(TRNNError, match="must lie between 0 and 1"):
        request_of("backtest", {"fingerprint": "f", "protocol": {"test": 3}}, {}, None)

"""Test errors of a run on several scales, beside forecasts that learn nothing: a figure without its scale says little."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trnn_core.data.transforms import fit_transform
from trnn_core.runs.restore import load_network
from trnn_core.training.predictor import Predictor


def errors(store: Any, run: Any, printed: float) -> list[str]:
    """A table of mean squared errors one week ahead over the test periods, as lines of Markdown."""
    network, prepared = load_network(store, run)
    predictor = Predictor(network, prepared)
    targets, point = predictor.one_step("test")
    x, until = prepared.series.values.astype(np.float64), prepared.split.validation.stop
    past, observed, top = x[:until], prepared.series.observed[:until], float(x[:until].max())
    forecasts = {
        "network": predictor.to_values(point),
        "last week again": x[targets - 1],
        "training mean": np.broadcast_to(past.mean(0), point.shape),
        "always zero": np.zeros_like(point),
    }
    scales = {
        "each series by its training minimum and maximum": fit_transform("min-max", past, observed).apply,
        f"all counts divided by the largest training count ({top:g})": lambda v: v / top,
        "log(1 + count)": np.log1p,
        "log(1 + count), divided by its largest training value": lambda v: np.log1p(v) / math.log1p(top),
        "each series by its training mean and standard deviation": fit_transform("standardise", past, observed).apply,
        "normal scores per series (Hoff 2015)": fit_transform("normal scores", past, observed).apply,
        "counts": lambda v: v,
    }
    scored = prepared.mask.numpy()[targets]
    out = [
        f"Mean squared error one week ahead over the {len(targets)} test periods, {int(scored[0].sum())} cells each; printed: {printed}, its scale unknown. "
        "Scales are fitted on the periods before the test ones.",
        "",
        "| scale | " + " | ".join(forecasts) + " |",
        "|---|" + "---|" * len(forecasts),
    ]
    for name, scale in scales.items():
        truth = scale(x[targets])
        found = [float(np.mean((scale(np.maximum(f, 0.0)) - truth)[scored] ** 2)) for f in forecasts.values()]
        out.append(f"| {name} | " + " | ".join(f"{e:.5f}" for e in found) + " |")
    test = run.summary()["test_loss"] if run.summary() else None
    if test is not None:
        out += [
            "",
            f"Mean test loss over all predicted steps, as eq. 15 or 16 has it, on the scale learnt on: {test:.5f}.",
        ]
    return out

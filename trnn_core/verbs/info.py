"""`info X.npz`: what is in a series file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from trnn_core.data.readers.npz import read_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.jobs.context import Context
from trnn_core.verbs.request import BaseRequest, Option, Result, Said
from trnn_core.words import percent

HELP = "say what is in a series file"


class Request(BaseRequest):
    in_store: ClassVar[bool] = False

    file: Annotated[str, Option("a series written by `import` or by the dashboard (.npz)", positional=True)]


def run(request: Request, context: Context) -> Result:
    facts = describe(read_npz(request.file))
    return Said("\n".join(lines(facts)), facts)


def describe(series: RelationalSeries) -> dict[str, Any]:
    """The facts about a series, as plain JSON values."""
    values, n = series.values, len(series.actors)
    off = np.broadcast_to(~np.eye(n, dtype=bool)[None, :, :, None], values.shape)
    cells = off & series.observed if not series.source.diagonal else series.observed
    seen = values[cells]
    total = np.nan_to_num(values).sum(axis=(0, 3), dtype=np.float64)  # (N, M)
    activity = total.sum(axis=1) + total.sum(axis=0) - total.diagonal()
    order = np.argsort(-activity, kind="stable")[:5]
    return {
        "title": series.source.title,
        "simulated": series.source.simulated,
        "kind": series.source.kind,
        "diagonal": series.source.diagonal,
        "licence": series.source.licence,
        "period": series.period,
        "periods": len(series),
        "first": str(series.dates[0]),
        "last": str(series.dates[-1]),
        "actors": list(series.actors),
        "actions": list(series.actions),
        "total": float(seen.sum(dtype=np.float64)),
        "share_of_zeros": float((seen == 0).mean()) if seen.size else None,
        "share_missing": float((~series.observed).mean()),
        "totals": {a: float(np.nansum(values[..., k], dtype=np.float64)) for k, a in enumerate(series.actions)},
        "most_active": {series.actors[i]: float(activity[i]) for i in order},
        "fingerprint": series.fingerprint,
        "report": series.source.report,
    }


def lines(facts: dict[str, Any]) -> list[str]:
    zeros = "" if facts["share_of_zeros"] is None else f"; {percent(facts['share_of_zeros'], 1)} zeros"
    return [
        f"{facts['title']}{'  [SIMULATED]' if facts['simulated'] else ''}",
        f"  {facts['periods']} {facts['period']}s, {facts['first']} to {facts['last']}",
        (
            f"  {len(facts['actors'])} actors:"
            f" {', '.join(facts['actors'][:8])}{', ...' if len(facts['actors']) > 8 else ''}"
        ),
        f"  {len(facts['actions'])} actions: " + ", ".join(f"{a} ({_number(n)})" for a, n in facts["totals"].items()),
        (
            f"  {facts['kind']}s, total {_number(facts['total'])}{zeros}; {percent(facts['share_missing'], 1)} missing;"
            f" diagonal {'kept' if facts['diagonal'] else 'left out'}"
        ),
        "  most active: " + ", ".join(f"{a} ({_number(n)})" for a, n in facts["most_active"].items()),
        f"  fingerprint {facts['fingerprint']}",
        *([f"  licence: {facts['licence']}"] if facts["licence"] else []),
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"

"""`forecast RUN`: the coming periods as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from trnn_core.errors import TRNNError
from trnn_core.export.tables import to_csv
from trnn_core.files import write_atomic
from trnn_core.jobs.context import Context
from trnn_core.models.forecast import Forecast
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore
from trnn_core.verbs.common import RunName, store_of
from trnn_core.verbs.request import BaseRequest, Option, Result, Said

HELP = "write a run's forecast: a row per period, source, target and action"


class Request(BaseRequest):
    run: RunName
    horizon: Annotated[int, Option("periods ahead (default: 1)")] = 1
    out: Annotated[
        str | None, Option("the table to write; without it a few rows are shown", metavar="F.csv", role="here")
    ] = None


def run(request: Request, context: Context) -> Result:
    horizon = request.horizon
    if not 1 <= horizon <= 520:
        raise TRNNError(f"The horizon must be from 1 to 520 periods. Got {horizon} instead.")
    store = store_of(context)
    owner = store.get(request.run)
    found = find_forecast(store, owner, horizon)
    meta = dict(found.meta)
    table = found.select(steps=slice(0, horizon)).to_frame(diagonal=owner.recipe.data.diagonal)
    if request.out:
        write_atomic(Path(request.out), to_csv(table))
        words = f"{len(table):,} rows in {request.out}: {meta['intervals']}."
    else:
        words = table.sort_values("mean", ascending=False).head(20).to_string(index=False)
    return Said(words, {"meta": meta, "rows": len(table), "out": request.out}, value=table)


def find_forecast(store: RunStore, found: Run, horizon: int) -> Forecast:
    """The stored forecast when it reaches far enough; else one made now with the stored weights."""
    stored = found.forecast()
    if stored is None:
        raise TRNNError(
            f"Run {found.run_id} has no forecast yet: it is {found.status().state}. Let it finish, or stop it."
        )
    if horizon <= stored.horizon:
        return stored
    from trnn_core.runs.restore import extend_forecast

    return extend_forecast(store, found, horizon)

"""What `stop`, `pause`, `cancel` and `resume` share: a wish about queued or running trainings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from trnn_core.jobs.context import Context
from trnn_core.jobs.job import JobStatus
from trnn_core.verbs.common import store_of
from trnn_core.verbs.request import BaseRequest, Option, Result, Said


class RunsRequest(BaseRequest):
    names: Annotated[tuple[str, ...], Option(positional=True, metavar="RUN")]


class WishRequest(RunsRequest):
    wait: Annotated[
        float, Option("how long to wait for it to be done (default: 60; 0 returns at once)", metavar="SECONDS")
    ] = 60.0


def ask(request: WishRequest, context: Context, action: Literal["stop", "pause", "cancel"]) -> Result:
    store = store_of(context)
    runs = {name: store.get(name) for name in request.names}
    for found in runs.values():
        found.ask(action)
    return told({name: found.wait(request.wait) for name, found in runs.items()})


def told(found: Mapping[str, JobStatus]) -> Result:
    return Said(
        "\n".join(f"{name}: {status.state}. {status.message}" for name, status in found.items()),
        {name: status.__dict__ for name, status in found.items()},
    )

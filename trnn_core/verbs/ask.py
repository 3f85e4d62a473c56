"""What `stop`, `pause`, `cancel` and `resume` share: a wish about queued or running trainings."""

from __future__ import annotations

from typing import Annotated, Literal

from trnn_core.jobs.context import Context
from trnn_core.runs import jobs
from trnn_core.runs.run import Status
from trnn_core.verbs.base import BaseRequest, Option, Result, Said
from trnn_core.verbs.common import store_of


class RunsRequest(BaseRequest):
    names: Annotated[tuple[str, ...], Option(positional=True, metavar="RUN")]


class WishRequest(RunsRequest):
    wait: Annotated[
        float, Option("how long to wait for it to be done (default: 60; 0 returns at once)", metavar="SECONDS")
    ] = 60.0


def ask(request: WishRequest, context: Context, action: Literal["stop", "pause", "cancel"]) -> Result:
    store = store_of(context)
    for name in request.names:
        jobs.ask(store, name, action)
    return told({name: jobs.wait(store, name, request.wait) for name in request.names})


def told(found: dict[str, Status]) -> Result:
    return Said(
        "\n".join(f"{name}: {status.state}. {status.message}" for name, status in found.items()),
        {name: status.__dict__ for name, status in found.items()},
    )

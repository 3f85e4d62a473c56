"""A request as a job: what determines the result is stored as what was asked for, how it is made as its resources."""

from __future__ import annotations

from trnn_core.jobs.job import Job
from trnn_core.jobs.requests import list_jobs, start_job
from trnn_core.runs.store import RunStore
from trnn_core.verbs.request import BaseRequest


def start(store: RunStore, verb: str, request: BaseRequest, fresh: bool = False) -> Job:
    """Ask for a request to be done as a job; an equal one that waits, runs or is done is returned, not done twice."""
    run_id, resources = getattr(request, "run", None), request.stored("resources")
    return start_job(store, verb, request.stored(), run_id=run_id, fresh=fresh, resources=resources)


def find(store: RunStore, verb: str, request: BaseRequest) -> Job | None:
    """The newest job of this very request."""
    asked = request.stored()
    return next((job for job in list_jobs(store, verb, getattr(request, "run", None)) if job.request == asked), None)

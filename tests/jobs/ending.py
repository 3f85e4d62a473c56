"""Workers and the processes of jobs outlive the server and the test by design; here they are told to end."""

from __future__ import annotations

import time
from pathlib import Path

from trnn_core.jobs.processes import ask_to_end, pulse, read_beat
from trnn_core.jobs.queue import STARTED, worker_folder
from trnn_core.runs.store import RunStore


def until(true, words, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, words
        time.sleep(0.05)


def processes(root: Path) -> list[dict]:
    """The worker of a store on this machine, then the processes it has, or had, for jobs; those that live."""
    folder = worker_folder(root)
    found = [(read_beat(folder / "heartbeat.json") or {}).get("process"), read_beat(folder / STARTED)]
    found += [(read_beat(note) or {}).get("process") for note in sorted(folder.glob("slot-*.json"))]
    return [process for process in found if process and pulse(process) == "alive"]


def end_jobs(store: RunStore) -> None:
    """Tell the worker of a store and all its processes to end, and see that they do."""
    living = processes(store.root)
    for process in living:
        ask_to_end(process["pid"])
        until(lambda process=process: pulse(process) == "dead", "a process outlived its store", 90)
    until(lambda: not processes(store.root), "a process outlived its worker", 90)


def slot_process(store: RunStore, lane: str) -> dict:
    """The process that does the jobs of a lane."""
    note = read_beat(worker_folder(store.root) / f"slot-{lane}-0.json")
    assert note is not None, f"no process has been there for {lane}"
    return note["process"]

"""A cluster that wants to run code where its answers are read: loaded by a real scheduler or worker (`--preload`).

HOSTILE says where the pickle is put; opened, it makes the file HOSTILE_MARK.
"""

from __future__ import annotations

import asyncio
import os
import pickle
from typing import Any

from distributed.protocol import to_serialize
from distributed.protocol.serialize import Serialized, ToPickle

SCHEDULER = ("message", "connecting", "answer", "type of an answer", "type", "error", "warning")
WORKER = ("result",)


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return open, (os.environ["HOSTILE_MARK"], "w")


def dask_setup(server: Any) -> None:
    where, is_worker = os.environ["HOSTILE"], "Worker" in type(server).__name__
    if is_worker and where == "result":
        import trnn_core.jobs.cluster

        trnn_core.jobs.cluster.do_task = lambda *_: Evil()
    elif not is_worker and where == "connecting":
        server.handlers["identity"] = lambda *_, **__: {"type": "Scheduler", "workers": ToPickle(Evil())}
    elif not is_worker and where in ("answer", "type of an answer"):
        header = {"serializer": "dask", "type-serialized": pickle.dumps(Evil()), "sub-header": {}, "writeable": ()}
        found = to_serialize(Evil()) if where == "answer" else Serialized(header, [b"x"])

        async def gather(keys: Any, **_: Any) -> dict[str, Any]:
            return {"status": "OK", "data": dict.fromkeys(keys, found)}

        server.handlers["gather"] = gather
    elif not is_worker:
        asyncio.get_running_loop().create_task(pester(server, where))


async def pester(scheduler: Any, where: str) -> None:
    """Ten times a second, to every client about every task."""
    code = pickle.dumps(Evil())
    while True:
        await asyncio.sleep(0.1)
        for client, comm in list(scheduler.client_comms.items()):
            for key in [t.key for t in scheduler.clients[client].wants_what]:
                comm.send(
                    {
                        "message": {"op": "lost-data", "key": ToPickle(Evil())},
                        "type": {"op": "key-in-memory", "key": key, "type": code},
                        "error": {"op": "task-erred", "key": key, "exception": code, "traceback": code},
                        "warning": {"op": "event", "topic": "warn", "event": (0, {"message": code})},
                    }[where]
                )

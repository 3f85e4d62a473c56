"""The trained demo run that ships with the code, put into a store when it is not there."""

from __future__ import annotations

import shutil
from pathlib import Path

from trnn_core.data.readers.npz import read_npz
from trnn_core.errors import TRNNError
from trnn_core.files import explain_os_error, sweep_temporaries, sync, temporary_name, write_atomic
from trnn_core.runs import layout
from trnn_core.runs.recorder import write_manifest
from trnn_core.runs.run import Run, load_run
from trnn_core.runs.store import RunStore
from trnn_core.training.checkpoints import list_epochs

_ROOT = Path(__file__).resolve().parents[2]
DEMO_ID = "demo"
SHIPPED_HINDCAST = (55, 2)  # origins, steps ahead


def ensure_demo(store: str | Path | RunStore, folder: Path | None = None, data: Path | None = None) -> Run | None:
    """The demo run in the store, copied there in one step if need be; None when no demo is shipped.

    Any number of processes may do this at once: the copy appears whole, the first one wins. A demo that a person has
    thrown into the trash stays there.
    """
    store = store if isinstance(store, RunStore) else RunStore(store)
    folder = folder or _ROOT / "data" / "demo_run"
    data = data or _ROOT / "data" / "demo.npz"
    if (store.root / DEMO_ID).exists():
        return store.get(DEMO_ID)
    if not (folder / layout.CONFIG).exists() or any(n.partition("~")[0] == DEMO_ID for n in store.trash()):
        return None
    copy = temporary_name(store.root / DEMO_ID)
    try:
        store.root.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, copy)
        (copy / layout.CHECKPOINTS).mkdir(exist_ok=True)
        (copy / layout.LOCK).touch()
        if data.exists():
            store.keep_series(read_npz(data))
        copy.rename(store.root / DEMO_ID)
        sync(store.root)
    except OSError as e:
        if not (store.root / DEMO_ID).exists():
            raise explain_os_error(e, store.root) from e
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    return store.get(DEMO_ID)


def ship_demo(store: RunStore, run_id: str, folder: Path) -> int:
    """Copy a finished run into the folder that ships with the code, without what a reader does not need; its bytes."""
    run = load_run(run_id, store.root)
    if run.status().state != "finished" or run.verify():
        raise TRNNError(f"Only a finished, whole run can be shipped. Run {run_id} is {run.status().state} instead.")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(run.folder, folder, ignore=shutil.ignore_patterns(*layout.VOLATILE))
    sweep_temporaries(folder)
    for epoch in list_epochs(folder / layout.CHECKPOINTS):
        shutil.rmtree(folder / layout.CHECKPOINTS / f"{epoch:06d}")
    if (folder / layout.CHECKPOINTS).exists():
        (folder / layout.CHECKPOINTS).rmdir()
    slim_hindcast(folder)
    return Run(folder).disk_usage()


def slim_hindcast(folder: Path) -> None:
    """Keep the first steps of the last origins only: a shipped run shows how it would have done, in little room."""
    kept = Run(folder).hindcast()
    if kept is None:
        return
    write_atomic(folder / layout.HINDCAST, kept.shortened(*SHIPPED_HINDCAST).to_npz())
    write_manifest(folder)

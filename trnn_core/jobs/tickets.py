"""Tickets: a queue as a folder of empty files whose names order them. Runs and tasks both wait in one.

A ticket only says where to look: whoever takes the work locks it and reads its own status first, so that a doubled
ticket does no harm.
"""

from __future__ import annotations

import time
from pathlib import Path

from trnn_core.files import explain_os_error, with_no_error


def add_ticket(folder: Path, name: str) -> None:
    """Queue `name` behind all that wait already."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{time.time_ns():020d}~{name}").touch()
    except OSError as e:
        raise explain_os_error(e, folder) from e


def tickets_of(folder: Path, name: str) -> set[str]:
    return {ticket.name for ticket in folder.glob(f"*~{name}")}


def drop_tickets(folder: Path, name: str) -> None:
    for ticket in tickets_of(folder, name):
        with_no_error((folder / ticket).unlink)


def waiting(folder: Path) -> list[str]:
    """Who waits, first come first."""
    names = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
    return list(dict.fromkeys(name.partition("~")[2] for name in names if "~" in name))

"""`runs`: list the runs of a store with their status; show, rename, tag, compare, verify, export or delete them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Context
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore
from trnn_core.training.recipes import plain, write_recipe
from trnn_core.verbs.common import store_of
from trnn_core.verbs.request import BaseRequest, Option, Result, Said
from trnn_core.words import clock

HELP = "list runs with their status, or look after one"
ACTIONS = {
    "list": "all runs, newest first (the default)",
    "show": "everything known of a run",
    "compare": "settings in which runs differ, and their results",
    "rename": "give a run a name: rename RUN NAME",
    "tag": "add tags: tag RUN TAG...",
    "untag": "take tags away: untag RUN TAG...",
    "recipe": "write the recipe that reproduces a run: recipe RUN FILE.toml",
    "verify": "read all files of runs against their checksums",
    "delete": "move runs to the trash",
    "restore": "take runs back out of the trash",
    "empty-trash": "remove the trash for good",
    "usage": "disk space by run",
    "ship": "copy a finished run to a folder to be shipped with the code: ship RUN FOLDER",
}


class Request(BaseRequest):
    action: Annotated[
        str,
        Option(
            "; ".join(f"{name}: {what}" for name, what in ACTIONS.items()),
            positional=True,
            metavar="ACTION",
            choices=list(ACTIONS),
        ),
    ] = "list"
    names: Annotated[
        tuple[str, ...], Option("the run or runs, and what the action asks for", positional=True, metavar="RUN")
    ] = ()
    state: Annotated[str | None, Option("list only runs in this state")] = None
    tag: Annotated[str | None, Option("list only runs with this tag")] = None
    text: Annotated[str | None, Option("list only runs whose name, id or data mention this")] = None


def run(request: Request, context: Context) -> Result:
    store = store_of(context)
    if request.action == "list":
        rows = [row_of(r) for r in store.runs(state=request.state, tag=request.tag, text=request.text)]
        return Said(table(rows, empty=f"No runs in {store.root}."), rows)
    if request.action == "verify":
        return _verify(store, request.names)
    found = _change(store, request.action, list(request.names))
    return Said(found if isinstance(found, str) else json.dumps(found, indent=1), found)


def row_of(found: Run) -> dict[str, Any]:
    """A run in one line; a damaged one says so instead of failing the list."""
    status = found.status()
    row: dict[str, Any] = {
        "run": found.run_id,
        "name": found.name,
        "state": status.state,
        "epoch": f"{status.epoch}/{status.epochs}",
        "best_val_loss": status.best_val_loss,
        "skill": None,
        "time": clock(status.seconds),
        "data": "",
        "tags": ",".join(found.tags),
    }
    try:
        row["data"] = found.config["data"]["title"]
        row["skill"] = ((found.summary() or {}).get("test") or {}).get("skill")
    except TRNNError as e:
        row |= {"state": "damaged", "data": str(e)}
    return row


def table(rows: list[dict[str, Any]], empty: str) -> str:
    if not rows:
        return empty
    cells = [[_cell(v) for v in row.values()] for row in rows]
    widths = [max(len(name), *(len(row[i]) for row in cells)) for i, name in enumerate(rows[0])]
    lines = [list(rows[0]), *cells]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def _cell(value: Any) -> str:
    return "-" if value is None or value == "" else f"{value:.5g}" if isinstance(value, float) else str(value)[:60]


def _verify(store: RunStore, names: tuple[str, ...]) -> Result:
    runs = [store.get(name) for name in names] if names else store.runs()
    damage = {found.run_id: found.verify() for found in runs}
    words = "\n".join(f"{name}: {'; '.join(problems) or 'whole'}" for name, problems in damage.items())
    return Said(words, damage, 1 if any(damage.values()) else 0)


def _change(store: RunStore, action: str, names: list[str]) -> Any:
    if action == "empty-trash":
        return f"{store.empty_trash():,} bytes freed."
    if action == "usage":
        return store.disk_usage()
    if not names:
        raise TRNNError(f"`runs {action}` needs a run: {ACTIONS[action]}.")
    first, rest = names[0], names[1:]
    if action == "show":
        return show(store.get(first))
    if action == "compare":
        return store.compare(names)
    if action == "delete":
        return " ".join(f"{name} is in the trash ({store.delete(name).name})." for name in names)
    if action == "restore":
        return " ".join(f"{store.restore(name).run_id} is back." for name in names)
    if not rest:
        raise TRNNError(f"`runs {action}` needs more: {ACTIONS[action]}.")
    if action == "rename":
        store.rename(first, " ".join(rest))
    elif action == "recipe":
        write_recipe(store.get(first).recipe, Path(rest[0]))
    elif action == "ship":
        from trnn_core.runs.demo import ship_demo

        return f"{ship_demo(store, first, Path(rest[0])):,} bytes in {rest[0]}."
    else:
        store.tag(first, **({"add": rest} if action == "tag" else {"remove": rest}))
    return f"{action}: done."


def show(found: Run) -> dict[str, Any]:
    status = found.status()
    return {
        "run": found.run_id,
        "name": found.name,
        "tags": list(found.tags),
        "created": found.config["created"],
        "data": {k: v for k, v in found.config["data"].items() if k not in ("actors", "actions")},
        "status": status.__dict__,
        "summary": found.summary(),
        "recipe": plain(found.recipe),
    }

"""Run by torchrun in a test: train together to some epoch, from a checkpoint if there is one, and leave a checkpoint.

together.py DATA.npz CHECKPOINTS HISTORY.json UNTIL
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from tests.training.test_distributed import RECIPE
from trnn_core.data.readers.npz import read_npz
from trnn_core.runs.run import parse_history
from trnn_core.training import checkpoints
from trnn_core.training.distributed import joined
from trnn_core.training.trainer import fit, fit_together
from trnn_core.training.trials import Watch


def main(data: str, folder: str, out: str, until: str) -> None:
    with joined() as group:
        if group.rank:
            fit_together(group, None)
            return
        snapshot, rows, _ = checkpoints.newest_good(Path(folder))
        if snapshot is not None:
            snapshot = replace(snapshot, history=parse_history(rows))
        watch = Watch(int(until))
        fitted = fit(read_npz(data), RECIPE, listeners=[watch], control=watch.control, resume=snapshot)
        keep(watch, Path(folder))
        Path(out).write_text(json.dumps({"history": fitted.history, "outcome": fitted.outcome, "size": group.size}))


def keep(watch: Watch, folder: Path) -> None:
    assert watch.snapshot is not None
    rows = b"".join(json.dumps(row).encode() + b"\n" for row in watch.snapshot.history)
    checkpoints.save_checkpoint(folder, watch.snapshot, rows)


if __name__ == "__main__":
    main(*sys.argv[1:5])

"""A pickle in every file of a run, checksums put right: nothing that reads the run ever unpickles it.

The payload would make a file. It is planted as bytes, as an array of objects inside each NPZ, and as a tensor file; the
seals and the manifest are made to fit, as somebody with access to the disk could.
"""

from __future__ import annotations

import io
import json
import pickle
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from tests.campaign import ROOT, Tally
from tests.faults.rot import prepare
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.files import SEAL, sealed_bytes, sha256
from trnn_core.runs.recorder import write_manifest
from trnn_core.runs.store import RunStore


class Payload:
    """Unpickled, it makes a file."""

    def __init__(self, canary: Path):
        self.canary = str(canary)

    def __reduce__(self):
        return (open, (self.canary, "w"))


def forms(path: Path, canary: Path) -> Iterator[tuple[str, bytes]]:
    """Ways to put the payload into a file of that kind."""
    for protocol in (0, 2, 5):
        yield f"pickle, protocol {protocol}", pickle.dumps(Payload(canary), protocol)
    objects = np.array([Payload(canary)], dtype=object)
    array = io.BytesIO()
    np.save(array, objects, allow_pickle=True)
    yield "an array of objects", array.getvalue()
    archive = io.BytesIO()
    np.savez(archive, mean=objects, values=objects, meta=objects, dates=objects)
    yield "an NPZ of objects", archive.getvalue()
    if path.suffix == ".npz":
        yield from npz_forms(path, array.getvalue())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as torch_like:
        torch_like.writestr("archive/data.pkl", pickle.dumps(Payload(canary), 2))
        torch_like.writestr("archive/version", "3")
    yield "a torch file", stream.getvalue()


def npz_forms(path: Path, objects: bytes) -> Iterator[tuple[str, bytes]]:
    """The file as it is, with one member after the other made an array of objects."""
    with zipfile.ZipFile(path) as old:
        for victim in old.namelist():
            stream = io.BytesIO()
            with zipfile.ZipFile(stream, "w") as new:
                for name in old.namelist():
                    new.writestr(name, objects if name == victim else old.read(name))
            yield f"objects as {victim}", stream.getvalue()


def reseal(run_folder: Path, victim: Path) -> None:
    """Checksums that agree with the planted file."""
    if victim.parent.name.isdigit() and victim.name != "state.json":
        state = victim.parent / "state.json"
        told = json.loads(state.read_text())
        told.pop(SEAL)
        told["files"][victim.name] = sha256(victim.read_bytes())
        state.write_bytes(sealed_bytes(told))
    elif (run_folder / "manifest.json").exists() and victim.name != "manifest.json":
        with suppress(TRNNError):
            write_manifest(run_folder)


def readers(store: RunStore, run_id: str) -> list[Callable[[], object]]:
    """Everything that loads something of a run, torch's side included."""
    from trnn_core.export.material import gather, read_backtest, read_explanation
    from trnn_core.runs.execute import train_run
    from trnn_core.runs.restore import extend_forecast, load_network

    run = store.get(run_id)
    found = [
        lambda: run.config,
        lambda: run.recipe,
        run.labels,
        run.status,
        run.history,
        run.summary,
        run.forecast,
        run.weights,
        run.manifest,
        run.verify,
        lambda: store.series(run),
        lambda: load_network(store, run),
        lambda: extend_forecast(store, run, 2),
        lambda: gather(run_id, store),
        lambda: read_backtest(run),
        lambda: read_explanation(run),
        *(
            lambda name=name: run.read_checked(name)
            for name in sorted(p.name for p in run.folder.iterdir() if p.is_file())
        ),
        store.runs,
        lambda: train_run(store, run),
    ]
    if hasattr(run, "hindcast"):
        found.append(run.hindcast)
    return found  # type: ignore[return-value]


def pickle_campaign(folder: Path, series: RelationalSeries, every: int = 1) -> Tally:
    """`every` takes only each n-th file and form."""
    tally, store, canary = Tally(), RunStore(folder / "runs"), folder / "executed"
    prepare(store, series)
    originals = folder / "originals"
    shutil.copytree(store.root, originals)
    number = 0
    for run_id in ("whole", "half"):
        names = [
            p.relative_to(originals)
            for p in sorted((originals / run_id).rglob("*"))
            if p.is_file() and p.stat().st_size
        ]
        names += [p.relative_to(originals) for p in (originals / ".data").glob("*.npz")]
        for name in names:
            for words, content in forms(originals / name, canary):
                number += 1
                if number % every:
                    continue
                shutil.rmtree(store.root)
                shutil.copytree(originals, store.root)
                (store.root / name).write_bytes(content)
                reseal(store.root / run_id, store.root / name)
                with tally.case(f"{words} in {name}"):
                    for read in readers(RunStore(store.root), run_id):
                        try:
                            with suppress(TRNNError):
                                read()
                        finally:
                            assert not canary.exists(), "the payload was executed"
                canary.unlink(missing_ok=True)
    return tally


def static_campaign() -> Tally:
    """No line of the product imports something that unpickles, or allows it to be done."""
    tally = Tally()
    words = re.compile(
        r"\b(?:import|from) (?:cloud)?(?:pickle|joblib|shelve|marshal|dill)\b|torch\.load\(|allow_pickle=True|read_pickle|weights_only=False|(?<![.\w])(?:eval|exec)\("
    )
    for path in [
        ROOT / "app.py",
        *(p for part in ("trnn_core", "ui", "pages", "scripts") for p in (ROOT / part).rglob("*.py")),
    ]:
        found = words.findall(path.read_text())
        tally.check(not found, f"{path.relative_to(ROOT)}: {found}")
    return tally

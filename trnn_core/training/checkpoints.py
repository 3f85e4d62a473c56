"""Checkpoints: the whole state of a training after an epoch, as safetensors and sealed JSON in one folder.

    checkpoints/000012/weights.safetensors      the network
                       optimiser.safetensors    moments of the optimiser, state of the random numbers
                       history.jsonl            the rows of all epochs so far
                       state.json               epoch, schedule, early stopping, sampler, SHA-256 of the other three

The folder appears in one step. Arrays are numpy, so that whoever only reads runs never loads torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from trnn_core.errors import TRNNError
from trnn_core.files import read_bytes, read_sealed, remove_folder, sealed_bytes, sha256, write_folder

Arrays = dict[str, np.ndarray]
WEIGHTS, HISTORY = "weights.safetensors", "history.jsonl"
FILES = (WEIGHTS, "optimiser.safetensors", HISTORY)


@dataclass(frozen=True)
class Snapshot:
    """What a training needs to go on as if nothing had happened."""

    epoch: int
    weights: Arrays
    optimiser: Arrays  # includes the state of the random numbers
    state: dict[str, Any]  # schedule, early stopping, sampler: JSON values
    history: list[dict[str, Any]] = field(default_factory=list)
    best_weights: Arrays | None = None  # of the best epoch, when that is another one

    @property
    def best_epoch(self) -> int:
        return int(self.state.get("best_epoch", self.epoch))


def save_checkpoint(folder: Path, snapshot: Snapshot, history: bytes) -> Path:
    """Write `folder/<epoch>/` in one step: whole or not there when the process is killed; `Flusher` does the rest."""
    contents = {
        WEIGHTS: arrays_to_bytes(snapshot.weights),
        "optimiser.safetensors": arrays_to_bytes(snapshot.optimiser),
        HISTORY: history,
    }
    state = {
        "epoch": snapshot.epoch,
        "best_epoch": snapshot.best_epoch,
        "state": snapshot.state,
        "files": {name: sha256(content) for name, content in contents.items()},
    }
    path = folder / f"{snapshot.epoch:06d}"
    write_folder(path, contents | {"state.json": sealed_bytes(state)}, durable=False)
    return path


def prune(folder: Path, keep: int = 2, spare: int | None = None) -> None:
    """Remove checkpoints that are neither among the last `keep` (or `spare`) nor the best one of any of those."""
    epochs = list_epochs(folder)
    wanted = {e for e in epochs if e in epochs[-keep:] or e == spare}
    for epoch in sorted(wanted):
        try:
            wanted.add(int(read_sealed(folder / f"{epoch:06d}" / "state.json")["best_epoch"]))
        except TRNNError:
            return  # a damaged one: remove nothing that might replace it
    for epoch in set(epochs[:-keep]) - wanted:
        remove_folder(folder / f"{epoch:06d}")


def list_epochs(folder: Path) -> list[int]:
    """Epochs with a checkpoint, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit() and p.is_dir())


def find_damage(path: Path) -> list[str]:
    """What is wrong with a checkpoint folder, in words; empty when it is whole."""
    try:
        state = read_sealed(path / "state.json")
    except TRNNError as e:
        return [str(e)]
    damage = []
    for name, expected in state["files"].items():
        try:
            if sha256(read_bytes(path / name)) != expected:
                damage.append(f"{path / name} does not match its checksum")
        except TRNNError as e:
            damage.append(str(e))
    return damage


def load_checkpoint(path: Path) -> tuple[Snapshot, bytes]:
    """A checkpoint and its history, checked byte by byte against its checksums."""
    state = read_sealed(path / "state.json")
    contents = {}
    for name in FILES:
        contents[name] = read_bytes(path / name)
        if sha256(contents[name]) != state["files"].get(name):
            raise TRNNError(f"{path / name} is damaged: its content does not match its checksum.")
    snapshot = Snapshot(
        epoch=int(state["epoch"]),
        weights=bytes_to_arrays(contents[WEIGHTS], path),
        optimiser=bytes_to_arrays(contents["optimiser.safetensors"], path),
        state=state["state"],
    )
    return snapshot, contents[HISTORY]


def newest_good(folder: Path) -> tuple[Snapshot | None, bytes, list[str]]:
    """The newest checkpoint that is whole, its history, and what was wrong with newer ones."""
    problems: list[str] = []
    for epoch in reversed(list_epochs(folder)):
        try:
            snapshot, history = load_checkpoint(folder / f"{epoch:06d}")
        except TRNNError as e:
            problems.append(str(e))
            continue
        return snapshot, history, problems
    return None, b"", problems


def arrays_to_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Safetensors without metadata: equal arrays give equal bytes."""
    return save({name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())})


def bytes_to_arrays(content: bytes, where: Path) -> Arrays:
    try:
        return load(content)
    except (SafetensorError, ValueError, KeyError) as e:
        raise TRNNError(f"{where} must hold safetensors. It cannot be read: {e}.") from e

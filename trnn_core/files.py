"""Files that are whole or not there: atomic durable writes, sealed JSON, locks that die with their process.

A write goes to a temporary file in the same folder, is flushed to the disk, renamed over its name, and the folder is
flushed too; a kill at any moment leaves either the old file or the new one.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from filelock import lock_descriptor

from trnn_core.errors import TRNNError

TEMPORARY = ".tmp-"
SEAL = "seal"
Made = TypeVar("Made")
WINDOWS = os.name == "nt"


class Busy(TRNNError):
    """Somebody else holds the lock."""


def write_atomic(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put `content` at `path` in one step; `durable=False` skips the flush, for what a crash of the machine may
    lose."""
    path = Path(path)
    temporary = temporary_name(path)
    try:
        _write_new(temporary, content, durable)
        _replace(temporary, path)
        if durable:
            sync(path.parent)
    except OSError as e:
        with_no_error(temporary.unlink)
        raise explain_os_error(e, path) from e


def write_folder(path: Path, files: dict[str, bytes], *, durable: bool = True) -> None:
    """Put a whole folder of files at `path` in one step; an older folder of that name gives way."""
    path = Path(path)
    temporary = temporary_name(path)
    try:
        temporary.mkdir()
        for name, content in files.items():
            _write_new(temporary / name, content, durable=False)
        if durable:
            for name in files:  # all written before the first is flushed: one commit of the journal for all
                sync(temporary / name)
            sync(temporary)
        if path.exists():
            remove_folder(path)  # a folder cannot be renamed over a full one
        temporary.rename(path)
        if durable:
            sync(path.parent)
    except OSError as e:
        shutil.rmtree(temporary, ignore_errors=True)
        raise explain_os_error(e, path) from e


def remove_folder(path: Path) -> None:
    """Take a whole folder away in one step; a kill leaves at most a temporary to be swept."""
    aside = temporary_name(path)
    try:
        path.rename(aside)
    except OSError:
        return
    shutil.rmtree(aside, ignore_errors=True)


def append(path: Path, lines: bytes) -> None:
    """Add whole lines at the end; a reader may see the last torn for an instant and leaves a torn last line out."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            _write_all(descriptor, lines)
        finally:
            os.close(descriptor)
    except OSError as e:
        raise explain_os_error(e, path) from e


def _write_new(path: Path, content: bytes, durable: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
    try:
        _write_all(descriptor, content)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _replace(temporary: Path, path: Path) -> None:
    """Rename over the old file; Windows refuses for as long as a reader has it open, which is an instant."""
    for _ in range(50 if WINDOWS else 0):
        try:
            temporary.replace(path)
            return
        except PermissionError:
            time.sleep(0.01)
    temporary.replace(path)


def sync(path: Path) -> None:
    """Flush a file, or a folder's own entries, so that a rename inside it survives a power cut."""
    if WINDOWS and path.is_dir():
        return  # folders cannot be opened there, and need not be
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary_name(path: Path) -> Path:
    return path.with_name(f"{TEMPORARY}{secrets.token_hex(6)}-{path.name}")


def sweep_temporaries(folder: Path, spare: tuple[str, ...] = ()) -> int:
    """Remove what killed writers left behind; only for the one writer that holds the folder's lock.

    spare    files that others write too: their temporaries may be at work and are left for an hour
    """
    count = 0
    for leftover in folder.glob(f"{TEMPORARY}*"):
        if leftover.name.endswith(spare) and spare and abs(time.time() - leftover.stat().st_mtime) < 3600:
            continue
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)
        count += 1
    return count


def npz_bytes(**arrays: np.ndarray) -> bytes:
    """Arrays as a compressed NPZ without pickled objects."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def load_arrays(content: bytes, make: Callable[[dict[str, np.ndarray]], Made], name: object) -> Made:
    """What `make` makes of the arrays of an NPZ without pickled objects; `name` is told when the file is broken."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return make({key: stored[key] for key in stored.files})
    except TRNNError:
        raise
    except Exception as e:  # a zip can break in many ways; all of them mean the same here
        raise TRNNError(f"{name} cannot be read ({e}); train the run again.") from e


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest(payload: dict[str, Any]) -> str:
    return sha256(json.dumps(payload, sort_keys=True, allow_nan=False).encode())


def write_sealed(path: Path, payload: dict[str, Any], *, durable: bool = True) -> None:
    """Write a JSON object together with the SHA-256 of its content."""
    write_atomic(path, sealed_bytes(payload), durable=durable)


def sealed_bytes(payload: dict[str, Any]) -> bytes:
    payload = json.loads(json.dumps(payload, allow_nan=False))  # what a reader will see: tuples are lists
    return json.dumps({**payload, SEAL: _digest(payload)}, indent=1).encode()


def read_sealed(path: Path) -> dict[str, Any]:
    """Read a JSON object written by `write_sealed`; a changed byte is an error, not a different answer."""
    content = read_bytes(path)
    try:
        payload = json.loads(content)
        seal = payload.pop(SEAL)
        whole = seal == _digest(payload)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise TRNNError(
            f"{path} is damaged: its content does not match its checksum; restore it from a copy, or delete this run."
        )
    return payload


def read_bytes(path: Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as e:
        raise explain_os_error(e, path) from e


def explain_os_error(error: OSError, path: Path) -> TRNNError:
    """The system's error as one sentence a person can act on."""
    reasons = {
        errno.ENOSPC: "the disk is full; free some space, then resume (what was saved before is intact)",
        errno.EDQUOT: "your disk quota is used up; free some space, then resume (what was saved before is intact)",
        errno.EFBIG: "the file would be larger than this account may write; raise the limit, then resume",
        errno.EROFS: "the folder is read-only; choose another folder for runs or make it writable",
        errno.EACCES: "this account may not write there; choose another folder for runs or change its permissions",
        errno.EPERM: "this account may not write there; choose another folder for runs or change its permissions",
        errno.ENOENT: "it is not there; was it moved or deleted?",
        errno.ENOTDIR: "a part of the path is a file, not a folder; choose another folder",
    }
    reason = reasons.get(error.errno or 0, f"the system says: {error.strerror or error}")
    return TRNNError(f"Cannot use {path}: {reason}.")


def is_disk_full(error: BaseException) -> bool:
    """Whether an error, or what caused it, is a disk (or quota, or size limit) that is used up."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return True
        cause = cause.__cause__
    return False


def with_no_error(action: Any) -> None:
    """Do a clean-up whose failure is no news."""
    try:
        action()
    except OSError:
        return


@contextmanager
def lock(path: Path, busy: str, patience: float = 0.5) -> Iterator[None]:
    """Hold an exclusive lock on `path`, released by the system even after kill -9; raise `Busy` when it is taken.

    `patience` outlasts those who only look (`is_locked` holds it for an instant).
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as e:
        raise explain_os_error(e, path) from e
    try:
        if not _lock_within(descriptor, patience):
            raise Busy(busy)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock now; another that only looks is waited out."""
    try:
        descriptor = os.open(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _lock_within(descriptor, 0.002)
    finally:
        os.close(descriptor)


def _lock_within(descriptor: int, seconds: float) -> bool:
    """flock on Unix, LockFileEx on Windows; the file stays where it is, and closing it lets the lock go."""
    deadline = time.monotonic() + seconds
    while not lock_descriptor(descriptor, blocking=False):
        if time.monotonic() > deadline:
            return False
        time.sleep(min(0.01, seconds / 4))
    return True

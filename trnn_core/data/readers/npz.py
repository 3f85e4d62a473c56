"""Our own NPZ: `values`, `dates` (ISO), `actors`, `actions`, optional `actor_names`, `observed`, `source`.

Nothing is allocated before the sizes in zip directory and array headers agree; pickled objects are refused.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from trnn_core.data.options import ImportOptions
from trnn_core.data.readers.inputs import Input, check_expansion, short
from trnn_core.data.series import Provenance, RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Progress, quiet

MAX_RATIO = (
    900  # of 250 actors, 20 actions and weeks, 1 cell in 200 is not zero: packed 214 times; zeros alone 1,000 times
)
EXACT_FLOAT32 = 2**24  # whole numbers up to here are the same in float32
_MEMBERS = ("values", "dates", "actors", "actions", "actor_names", "observed", "source")


def recognise(head: bytes, name: str) -> bool:
    """Whether a file that starts like this is one of ours: a zip whose first member is an array."""
    length = int.from_bytes(head[26:28], "little")
    return head[:4] == b"PK\x03\x04" and head[30 : 30 + length].endswith(b".npy")


def read(inputs: Sequence[Input], options: ImportOptions, progress: Progress = quiet) -> RelationalSeries:
    """The format's door in `read_series`: one file, at least two actors and periods."""
    if len(inputs) != 1:
        raise TRNNError(f"One NPZ file is one series. Got {len(inputs)} files; import them one by one.")
    if inputs[0].wrapping != "plain":
        raise TRNNError(f"{inputs[0].name}: an NPZ file must not be packed again; unpack it first.")
    series = read_npz(inputs[0].path, max_bytes=options.max_bytes)
    if len(series) < 2 or len(series.actors) < 2:
        raise TRNNError(
            f"{inputs[0].name}: a series needs at least two periods and two actors. Got {len(series)} and"
            f" {len(series.actors)}."
        )
    return series


def read_npz(path: str | Path, *, max_bytes: int = 4 * 2**30) -> RelationalSeries:
    """The series in an NPZ file."""
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = _read_members(archive, path, max_bytes)
    except FileNotFoundError as e:
        raise TRNNError(f"There must be a file {path}. Nothing is there; check the name.") from e
    except OSError as e:
        raise TRNNError(f"{path.name}: cannot be read ({e.strerror or e}).") from e
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError) as e:
        if isinstance(e, TRNNError):
            raise
        raise TRNNError(f"{path.name}: must be a whole NPZ file. It is damaged or something else ({short(e)}).") from e
    return _build(arrays, path)


def write_npz(series: RelationalSeries, path: str | Path) -> Path:
    """Write atomically: the file is the old one or the whole new one, equal series give equal bytes."""
    path = Path(path)
    arrays = {
        "values": series.values,
        "dates": series.dates.astype("datetime64[D]").astype("U10"),
        "actors": np.array(series.actors, dtype=np.str_),
        "actions": np.array(series.actions, dtype=np.str_),
        "source": np.array(series.source.to_json(), dtype=np.str_),
    }
    if not series.observed.all():
        arrays["observed"] = series.observed
    with atomic_file(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)  # type: ignore[arg-type]
    return path


class atomic_file:
    """A file that appears under its name only when it is complete and on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> IO[bytes]:
        try:
            descriptor, name = tempfile.mkstemp(prefix=f".{self.path.name[:100]}.", suffix=".tmp", dir=self.path.parent)
        except (OSError, ValueError) as e:
            raise TRNNError(f"{self.path}: cannot be written ({getattr(e, 'strerror', None) or e}).") from e
        self.temporary = Path(name)
        self.file = os.fdopen(descriptor, "wb")
        return self.file

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self.file.flush()
                os.fsync(self.file.fileno())
            self.file.close()
            if kind is None:
                self.temporary.chmod(0o644)
                self.temporary.replace(self.path)
                _sync_folder(self.path.parent)
        except OSError as e:
            raise TRNNError(f"{self.path}: cannot be written ({e.strerror or e}).") from e
        finally:
            self.temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read_members(archive: zipfile.ZipFile, path: Path, max_bytes: int) -> dict[str, np.ndarray]:
    infos = archive.infolist()
    check_expansion(path.name, path.stat().st_size, sum(i.file_size for i in infos), max_bytes, MAX_RATIO)
    names = [i.filename.removesuffix(".npy") for i in infos]
    if len(set(names)) < len(names):
        raise TRNNError(f"{path.name}: each array must appear once. Got {sorted(names)}.")
    lacking = [n for n in _MEMBERS[:4] if n not in names]
    if lacking:
        raise TRNNError(
            f"{path.name}: must hold the arrays values, dates, actors and actions. Missing: {', '.join(lacking)};"
            f" found: {', '.join(names[:8]) or 'none'}."
        )
    return {
        name: _read_array(archive, info, f"{path.name}, array '{name}'")
        for name, info in zip(names, infos, strict=True)
        if name in _MEMBERS
    }


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> np.ndarray:
    with archive.open(info) as member:
        shape, fortran, dtype = _read_header(member, where)
        if dtype.hasobject:
            raise TRNNError(f"{where}: must hold numbers or text. Got pickled Python objects, which are never opened.")
        if dtype.kind not in "biufUSM":
            raise TRNNError(f"{where}: must hold numbers or text. Got {dtype}.")
        n_bytes = int(dtype.itemsize)
        for size in shape:  # Python integers: a forged header cannot overflow
            n_bytes *= int(size)
        left = info.file_size - member.tell()
        if n_bytes != left or min(shape, default=1) < 0:
            raise TRNNError(
                f"{where}: the header promises {n_bytes} bytes (shape {shape}, {dtype}). The file holds {left}; it is"
                " damaged or forged."
            )
        data = bytearray(n_bytes)
        view, filled = memoryview(data), 0
        while filled < n_bytes:
            piece = member.read(min(2**24, n_bytes - filled))
            if not piece:
                raise TRNNError(f"{where}: must hold {n_bytes} bytes. The file ends after {filled}.")
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
        if member.read(1):
            raise TRNNError(f"{where}: holds more than its header says; it is damaged or forged.")
    array = np.frombuffer(data, dtype=dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def _read_header(member: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    try:
        version = np.lib.format.read_magic(member)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(member)
        if version == (2, 0):
            return np.lib.format.read_array_header_2_0(member)
    except TRNNError:
        raise
    except Exception as e:  # the header is parsed as a Python literal: any of its errors means a bad header
        raise TRNNError(f"{where}: must start with an array header. Got something else ({short(e)}).") from e
    raise TRNNError(f"{where}: the array format must be version 1 or 2. Got {version}.")


def _build(arrays: dict[str, np.ndarray], path: Path) -> RelationalSeries:
    name, values = path.name, arrays["values"]
    if values.ndim != 4 or values.dtype.kind not in "biuf":
        raise TRNNError(
            f"{name}: 'values' must be numbers with four modes (time, source, target, action). Got {values.dtype} of"
            f" shape {values.shape}."
        )
    labels = {key: _labels(arrays[key], f"{name}, array '{key}'") for key in ("dates", "actors", "actions")}
    try:
        dates = np.array(labels["dates"], dtype="datetime64[D]")
    except ValueError as e:
        raise TRNNError(f"{name}: 'dates' must be ISO days such as 2004-01-01. Got something else ({short(e)}).") from e
    if not (values.dtype == np.float64 or (values.dtype.kind in "biu" and _largest(values) > EXACT_FLOAT32)):
        values = values.astype(np.float32)
    else:
        values = values.astype(np.float64)
    observed = arrays.get("observed")
    if observed is not None and observed.dtype != np.bool_:
        raise TRNNError(f"{name}: 'observed' must be true or false. Got {observed.dtype}.")
    source = _provenance(arrays, name)
    try:
        series = RelationalSeries(values, dates, labels["actors"], labels["actions"], observed, source)  # type: ignore[arg-type]
        _ = series.period
    except TRNNError as e:
        raise TRNNError(f"{name}: {e}") from e
    if "source" not in arrays:
        object.__setattr__(series, "source", _guess_kind(series, name))
    elif source.kind == "count" and bool((series.values < 0).any()):
        raise TRNNError(f"{name}: counts must not be negative. Got {np.nanmin(series.values)}; correct the file.")
    return series


def _largest(values: np.ndarray) -> int:
    return 0 if values.size == 0 else max(int(values.max()), -int(values.min()))


def _labels(array: np.ndarray, where: str) -> tuple[str, ...]:
    if array.ndim != 1:
        raise TRNNError(f"{where}: must be a list. Got shape {array.shape}.")
    if array.dtype.kind == "S":
        try:
            return tuple(a.decode() for a in array.tolist())
        except UnicodeDecodeError as e:
            raise TRNNError(f"{where}: must be UTF-8 text ({short(e)}).") from e
    if array.dtype.kind == "M":
        return tuple(str(d) for d in array.astype("datetime64[D]"))
    if array.dtype.kind == "U" and _codes(array).max(initial=0) > sys.maxunicode:  # Python would stumble over it later
        raise TRNNError(f"{where}: must be text. It holds characters that do not exist; the file is damaged or forged.")
    try:
        return tuple(str(a) for a in array.tolist())
    except (UnicodeError, ValueError, SystemError) as e:
        raise TRNNError(f"{where}: must be text ({short(e)}).") from e


def _codes(array: np.ndarray) -> np.ndarray:
    """The numbers of the characters in an array of text."""
    return np.frombuffer(array.astype(array.dtype.newbyteorder("=")).tobytes(), dtype=np.uint32)


def _provenance(arrays: dict[str, np.ndarray], name: str) -> Provenance:
    if "source" in arrays:
        if arrays["source"].ndim != 0 or arrays["source"].dtype.kind != "U":
            raise TRNNError(
                f"{name}: 'source' must be one JSON text. Got {arrays['source'].dtype} of shape"
                f" {arrays['source'].shape}."
            )
        return _checked_provenance(_labels(arrays["source"].reshape(1), f"{name}, array 'source'")[0], name)
    title = name.removesuffix(".npz")
    if "actor_names" in arrays:
        names = _labels(arrays["actor_names"], f"{name}, array 'actor_names'")
        codes = _labels(arrays["actors"], f"{name}, array 'actors'")
        if len(names) != len(codes):
            raise TRNNError(
                f"{name}: 'actor_names' must have one name for each of the {len(codes)} actors. Got {len(names)}."
            )
        return Provenance(title, report={"actor_names": dict(zip(codes, names, strict=True))})
    return Provenance(title)


def _checked_provenance(text: str, name: str) -> Provenance:
    try:
        source = Provenance.from_json(text)
    except (TRNNError, RecursionError) as e:
        raise TRNNError(f"{name}: {str(e) or 'the provenance is nested too deeply'}") from e
    right = (
        isinstance(source.title, str)
        and isinstance(source.licence, str)
        and isinstance(source.report, dict)
        and isinstance(source.simulated, bool)
        and isinstance(source.diagonal, bool)
        and source.kind in ("count", "value")
    )
    if not right:
        raise TRNNError(
            f"{name}: the provenance must have a title, a kind and a report of the right types. Got {text[:80]!r}."
        )
    return source


def _guess_kind(series: RelationalSeries, name: str) -> Provenance:
    """A file without provenance: whole non-negative numbers are counts, anything else is values."""
    seen = series.values[series.observed]
    counts = bool((seen >= 0).all() and (seen == np.floor(seen)).all())
    own = np.einsum("tiik->tik", series.values)
    return Provenance(
        series.source.title,
        kind="count" if counts else "value",
        diagonal=bool((np.nan_to_num(own) != 0).any()),
        report={**series.source.report, "format": "npz"},
    )

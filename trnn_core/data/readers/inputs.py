"""From paths to bytes: which files are meant, whether they may be read, and what is inside their wrapping."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from trnn_core.data.options import ImportOptions
from trnn_core.errors import TRNNError

FREE_EXPANSION = 64 * 2**20  # whatever unpacks to this much or less is harmless
MAX_RATIO = 200  # ordinary event text packs 5 to 15 times
HEAD = 64 * 1024
_SKIPPED = ("readme", "license", "licence", "codebook", "md5", "sha256")


@dataclass(frozen=True)
class Input:
    """One stream of content: a file, or a member of a zip file."""

    path: Path
    name: str  # as shown in reports and messages
    wrapping: str  # "plain", "gzip" or "zip"
    member: str = ""
    packed: int = 0  # bytes on disk
    size: int = 0  # bytes of content where known, else of the file


def short(error: object) -> str:
    """Another library's message on one line, for ours."""
    return " ".join(str(error).split())[:120]


def check_expansion(name: str, packed: int, unpacked: int, max_bytes: int, max_ratio: int = MAX_RATIO) -> None:
    """Refuse a zip bomb before it unfolds."""
    if unpacked > max_bytes:
        raise TRNNError(
            f"{name}: may unpack to at most {max_bytes:,} bytes. It would be {unpacked:,}; split it or raise the limit"
            " (max_bytes)."
        )
    if unpacked > FREE_EXPANSION and unpacked > max_ratio * packed:
        raise TRNNError(
            f"{name}: unpacks {packed:,} bytes to {unpacked:,}, more than {max_ratio} times; this looks like a zip bomb"
            " and is not opened."
        )


def find_inputs(path_or_paths: str | Path | Iterable[str | Path], options: ImportOptions) -> list[Input]:
    """The inputs meant by a file, several files or folders, in a stable order."""
    given = [path_or_paths] if isinstance(path_or_paths, str | Path) else list(path_or_paths)
    if not given:
        raise TRNNError("There must be at least one file to read. Got none.")
    inputs: list[Input] = []
    for item in given:
        path = allowed_path(item, options.allowed_root)
        inputs += [i for file in _files(path, options.allowed_root) for i in _unwrap(file, options)]
    doubled = next(
        (i.name for n, i in enumerate(inputs) if (i.path, i.member) in {(o.path, o.member) for o in inputs[:n]}), None
    )
    if doubled:
        raise TRNNError(f"Each file must be given once. Got {doubled} twice.")
    return inputs


def allowed_path(item: str | Path, root: Path | None) -> Path:
    """The real path of an existing file or folder, which must lie inside `root` where one is set."""
    try:
        path = Path(item)
        real = path.resolve()
        if root is not None and not real.is_relative_to(Path(root).resolve()):
            raise TRNNError(
                f"{path.name}: must lie inside the allowed folder. It does not; copy it there or upload it."
            )
        if not real.exists():
            raise TRNNError(f"There must be a file or folder {path}. Nothing is there; check the name.")
    except (OSError, ValueError, RuntimeError) as e:
        if isinstance(e, TRNNError):
            raise
        raise TRNNError(f"{str(item)[:100]!r} must be the name of a file. It is not ({short(e)}).") from e
    return real


def _files(path: Path, root: Path | None) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise TRNNError(f"{path.name}: must be an ordinary file or a folder. It is neither.")
    found = [p for p in sorted(path.rglob("*")) if p.is_file() and not _is_beside(p.relative_to(path).as_posix())]
    if not found:
        raise TRNNError(f"{path.name}: the folder must hold at least one file. It holds none.")
    return [allowed_path(p, root) for p in found]


def _is_beside(name: str) -> bool:
    """Files that travel with data without being data."""
    parts = name.lower().split("/")
    return (
        any(p.startswith((".", "__macosx")) for p in parts)
        or parts[-1].startswith(_SKIPPED)
        or parts[-1] == "thumbs.db"
    )


def _unwrap(path: Path, options: ImportOptions) -> list[Input]:
    try:
        packed = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(4)
            file.seek(max(0, packed - 4))
            end = file.read(4)
    except OSError as e:
        raise TRNNError(f"{path.name}: cannot be read ({e.strerror or e}).") from e
    if packed == 0:
        raise TRNNError(f"{path.name}: the file is empty; check that it was downloaded whole.")
    if start[:2] == b"\x1f\x8b":
        told = int.from_bytes(end, "little")  # the unpacked size, modulo 4 GB; only the progress bar believes it
        return [Input(path, path.name, "gzip", packed=packed, size=max(packed, told))]
    if start != b"PK\x03\x04" or _is_own_container(path):
        return [Input(path, path.name, "plain", packed=packed, size=packed)]
    return _members(path, packed, options)


def _is_own_container(path: Path) -> bool:
    """NPZ and Excel files are zip files too, but are read as a whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as e:
        raise TRNNError(f"{path.name}: must be a whole zip file. It is damaged ({short(e)}).") from e
    return "[Content_Types].xml" in names or any(n.endswith(".npy") for n in names)


def _members(path: Path, packed: int, options: ImportOptions) -> list[Input]:
    with zipfile.ZipFile(path) as archive:
        infos = [i for i in archive.infolist() if i.filename.rpartition("/")[2] and not _is_beside(i.filename)]
    if not infos:
        raise TRNNError(f"{path.name}: the zip file must hold at least one file. It holds none.")
    if len(infos) > 10_000:
        raise TRNNError(f"{path.name}: may hold at most 10,000 files. It holds {len(infos):,}.")
    check_expansion(path.name, packed, sum(i.file_size for i in infos), options.max_bytes)
    inputs = []
    for info in sorted(infos, key=lambda i: i.filename):
        if info.flag_bits & 1:
            raise TRNNError(f"{path.name}: the member {info.filename} is encrypted; unpack it first.")
        shown = f"{path.name}/{Path(info.filename).name[:200]}"
        inputs.append(Input(path, shown, "zip", info.filename, info.compress_size, info.file_size))
    return inputs


@contextmanager
def open_input(source: Input, options: ImportOptions) -> Iterator[IO[bytes]]:
    """The content as a stream; damage and bombs in the wrapping become TRNNErrors."""
    try:
        if source.wrapping == "plain":
            check_expansion(source.name, source.packed, source.packed, options.max_bytes)
            with source.path.open("rb") as file:
                yield file
        elif source.wrapping == "gzip":
            with gzip.open(source.path, "rb") as file:
                yield io.BufferedReader(_Guarded(file, source, options.max_bytes), 1 << 20)  # type: ignore[type-var, arg-type]
        else:
            with zipfile.ZipFile(source.path) as archive, _open_member(archive, source.member) as file:
                yield io.BufferedReader(_Guarded(file, source, options.max_bytes), 1 << 20)  # type: ignore[type-var, arg-type]
    except (zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, NotImplementedError, KeyError) as e:
        raise TRNNError(f"{source.name}: must unpack without errors. It is damaged or cut short ({short(e)}).") from e
    except OSError as e:
        raise TRNNError(f"{source.name}: cannot be read ({e.strerror or e}).") from e


def _open_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """A member has its name twice; that beside its content is decoded only now, and may be spoilt."""
    try:
        return archive.open(name)
    except UnicodeDecodeError as e:
        raise zipfile.BadZipFile(f"the name of a member is not text: {e}") from e


class _Guarded(io.RawIOBase):
    """Counts what comes out of a decompressor and stops a bomb while it unfolds."""

    def __init__(self, inner: IO[bytes], source: Input, max_bytes: int) -> None:
        self._inner, self._source, self._max, self._n = inner, source, max_bytes, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = self._inner.read(min(len(buffer), 1 << 20))
        self._n += len(data)
        if self._n > FREE_EXPANSION:
            check_expansion(self._source.name, self._source.packed, self._n, self._max)
        buffer[: len(data)] = data
        return len(data)


def read_head(source: Input, options: ImportOptions) -> bytes:
    with open_input(source, options) as stream:
        return stream.read(HEAD)

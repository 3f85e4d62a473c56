"""Text in blocks of whole lines: encoding settled, line numbers kept, nothing larger than a block in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO

import pyarrow as pa

from trnn_core.errors import TRNNError

BLOCK = 4 * 2**20
LONGEST_LINE = 16 * 2**20
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
BINARY = (b"PK\x03\x04", b"PAR1")  # containers: zip (NPZ, Excel) and Parquet
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Block:
    """Whole lines of one input."""

    data: bytes
    n_read: int  # bytes of the input up to the end of this block
    first_line: int = 1  # counted from 1, where the reader counts lines
    latin: bool = False  # bytes that are not UTF-8 were read as Latin-1


class LineError(TRNNError):
    """What is wrong with a line of a block, before it is known how many lines came before."""

    def __init__(self, name: str, line: int, problem: str) -> None:
        super().__init__(f"{name}, line {line}: {problem}")
        self._name, self._line, self._problem = name, line, problem

    def after(self, n_lines: int) -> LineError:
        """The same, n lines further down."""
        return LineError(self._name, self._line + n_lines, self._problem)


def check_start(head: bytes, name: str) -> None:
    """Refuse UTF-16 and binary content with a sentence that says so."""
    if head[:2] in _UTF16 or (len(head) >= 8 and (head[1:64:2].count(0) > 20 or head[0:64:2].count(0) > 20)):
        raise TRNNError(f"{name}, line 1: must be UTF-8 text. It is UTF-16; save it again as UTF-8.")
    if b"\x00" in head:
        line = head[: head.index(b"\x00")].count(b"\n") + 1
        raise TRNNError(f"{name}, line {line}: must be text. It holds NUL bytes; the file is binary or damaged.")


def cut_blocks(stream: IO[bytes], name: str, size: int | None = None) -> Iterator[Block]:
    """Cut a stream at line ends; encoding and lines are left to whoever takes the block.

    >>> import io
    >>> [b.data for b in cut_blocks(io.BytesIO(b"a\\nbc\\nd"), "x", size=4)]
    [b'a\\n', b'bc\\n', b'd\\n']
    """
    rest, n_read, first = b"", 0, True
    while True:
        piece = stream.read(size or BLOCK)
        n_read += len(piece)
        if first:
            check_start(piece[:4096], name)
            piece, first = piece.removeprefix(_BOM), False
        cut = piece.rfind(b"\n") + 1 if piece else 0
        if piece and not cut:
            rest += piece
            if len(rest) > LONGEST_LINE:
                raise TRNNError(
                    f"{name}, {n_read:,} bytes in: a line may have at most {LONGEST_LINE:,} bytes. This one is longer;"
                    " is it the right file?"
                )
            continue
        data = b"".join((rest, memoryview(piece)[:cut]))
        rest = piece[cut:]
        if piece:
            yield Block(data, n_read - len(rest))
            continue
        if data.strip():
            yield Block(data + b"\n", n_read)
        return


def line_blocks(stream: IO[bytes], name: str, *, encoding: str | None = None) -> Iterator[Block]:
    """Blocks of text that know their line numbers.

    >>> import io
    >>> [(b.data, b.first_line) for b in line_blocks(io.BytesIO(b"a\\nb"), "x")]
    [(b'a\\n', 1), (b'b\\n', 2)]
    """
    line = 1
    for block in cut_blocks(stream, name):
        try:
            settled = settle_encoding(block, name, encoding)
        except LineError as e:
            raise e.after(line - 1) from e
        yield replace(settled, first_line=line)
        line += block.data.count(b"\n")


def settle_encoding(block: Block, name: str, encoding: str | None, latin_fallback: bool = False) -> Block:
    """The block as UTF-8; lines in errors are counted from the block's own first."""
    data = block.data
    if b"\x00" in data:
        at = data[: data.index(b"\x00")].count(b"\n") + 1
        raise LineError(name, at, "must be text. It holds a NUL byte; the file is binary or damaged.")
    if data.isascii() or (encoding != "latin-1" and is_utf8(data)):
        return block
    if encoding == "latin-1" or (latin_fallback and encoding is None):
        return replace(block, data=data.decode("latin-1").encode(), latin=True)
    try:
        data.decode()
    except UnicodeDecodeError as e:
        at = data[: e.start].count(b"\n") + 1
        raise LineError(
            name,
            at,
            f"must be UTF-8 text. Byte 0x{data[e.start]:02x} is not; save the file as UTF-8, or choose encoding latin-1"
            " if that is what it is.",
        ) from e
    return block


def is_utf8(data: bytes) -> bool:
    """As data.decode() would tell, ten times faster and without holding up other threads."""
    offsets = pa.array([0, len(data)], pa.int64()).buffers()[1]
    whole = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(data)])
    try:
        whole.cast(pa.large_utf8())
    except pa.ArrowInvalid:
        return False
    return True

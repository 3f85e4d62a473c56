"""From paths to bytes: which files are meant, whether they may be read, and what is inside their wrapping."""

from __future__ import annotations

from trnn_core.errors import TRNNError

FREE_EXPANSION = 64 * 2**20  # whatever unpacks to this much or less is harmless
MAX_RATIO = 200  # ordinary event text packs 5 to 15 times, a sparse tensor up to about 100 times


def check_expansion(name: str, packed: int, unpacked: int, max_bytes: int) -> None:
    """Refuse a zip bomb before it unfolds."""
    if unpacked > max_bytes:
        raise TRNNError(
            f"{name}: may unpack to at most {max_bytes:,} bytes. It would be {unpacked:,}; split it or raise the limit (max_bytes)."
        )
    if unpacked > FREE_EXPANSION and unpacked > MAX_RATIO * packed:
        raise TRNNError(
            f"{name}: unpacks {packed:,} bytes to {unpacked:,}, more than {MAX_RATIO} times; this looks like a zip bomb and is not opened."
        )

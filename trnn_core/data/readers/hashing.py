"""Event identities as 64-bit numbers, and a compact set of those already seen.

Text is hashed in whole columns, eight bytes at a time. Two different events get the same number with probability
2^-64, so among n unique events the chance that even one is taken for a repeat is about n^2 / 2^65: 1.5 in a million
for 7.5 million events, 7 in 100,000 for 50 million.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_A, _B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_1, _29, _32, _63 = (np.uint64(n) for n in (1, 29, 32, 63))
_MULTIPLIERS = (np.uint64(0x94D049BB133111EB), np.uint64(0xD6E8FEB86659FD93), np.uint64(0xA0761D6478BD642F))


def mix(h: np.ndarray) -> np.ndarray:
    """Spread every input bit over the word, in place (multiply and fold, twice)."""
    h ^= h >> _32
    h *= _B
    h ^= h >> _29
    h *= _A
    h ^= h >> _32
    return h


def combine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """One number for an ordered pair."""
    return mix((first * _A + _B) ^ second)


def hash_texts(texts: pa.Array) -> np.ndarray:
    """uint64 per entry of a (large_)binary or string array without nulls.

    >>> a, b, c = hash_texts(pa.array(["Iran", "Iraq", "Iran"])).tolist()
    >>> a == c != b
    True
    """
    wide = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
    _, offset_buffer, data = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64 if wide else np.int32)[texts.offset : texts.offset + len(texts) + 1]
    offsets = offsets.astype(np.int64)
    raw = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]] if data is not None else np.empty(0, np.uint8)
    padded = np.zeros(len(raw) // 8 * 8 + 16, np.uint8)  # one word beyond the end can be read
    padded[: len(raw)] = raw
    words = padded.view("<u8")
    position, left = offsets[:-1] - offsets[0], np.diff(offsets)
    h = mix(left.astype(np.uint64) + _A)
    rows = np.flatnonzero(left)
    position, left = position[rows], left[rows]
    while len(rows):
        index, shift = position >> 3, ((position & 7) << 3).astype(np.uint64)
        word = (words[index] >> shift) | (words[index + 1] << (_63 - shift) << _1)
        word <<= (np.maximum(8 - left, 0) << 3).astype(np.uint64)  # drop what lies behind the text's end
        h[rows] = mix((h[rows] ^ word) * _A)
        longer = left > 8
        rows, position, left = rows[longer], position[longer] + 8, left[longer] - 8
    return h


def first_rows(h: np.ndarray) -> np.ndarray:
    """Bool per row: whether its number appears here for the first time.

    Rows race for the slots of a small table, a few times with other multipliers; what is left is sorted.

    >>> first_rows(np.array([7, 9, 7, 7, 8], dtype=np.uint64)).tolist()
    [True, True, False, False, True]
    """
    first = np.zeros(len(h), bool)
    rows = np.arange(len(h))
    bits = max(len(h).bit_length() + 1, 4)
    owner = np.empty(1 << bits, np.int64)
    for multiplier in _MULTIPLIERS:
        keys = h[rows]
        slot = ((keys * multiplier) >> np.uint64(64 - bits)).astype(np.int64)
        owner[slot[::-1]] = rows[::-1]  # the last write stands: the earliest row owns the slot
        winner = owner[slot]
        first[rows[winner == rows]] = True
        rows = rows[h[winner] != keys]  # equal to the winner: a repeat, or the winner itself
        if not len(rows):
            return first
    _, index = np.unique(h[rows], return_index=True)
    first[rows[index]] = True
    return first


class SeenKeys:
    """A growing open-addressing table of 64-bit numbers: 8 bytes a slot, at most 60 % full.

    The slot is the number's leading bits, so the table lies in ascending order and doubles in one sequential pass.
    """

    def __init__(self, bits: int = 16) -> None:
        self._bits = bits
        self._table = np.zeros(1 << bits, np.uint64)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, h: np.ndarray) -> np.ndarray:
        """Bool per row: whether the number is new, here and in the set; all are in the set afterwards."""
        h = np.maximum(h, _1)  # zero marks a free slot
        new = first_rows(h)
        candidates = np.flatnonzero(new)
        while self._n + len(candidates) > 0.6 * len(self._table):
            self._grow()
        added = self._insert(h.take(candidates))
        new[candidates] = added
        self._n += int(np.count_nonzero(added))
        return new

    def _insert(self, h: np.ndarray) -> np.ndarray:
        """Insert numbers that differ from each other; bool per row: whether it was not there."""
        table, mask = self._table, len(self._table) - 1
        slot = (h >> np.uint64(64 - self._bits)).astype(np.intp)
        added = np.zeros(len(h), bool)
        rows = None  # all of them
        while True:
            there = table.take(slot)
            free = np.flatnonzero(there == 0)
            claimed, wanted = slot.take(free), h.take(free)
            table[claimed] = wanted  # several rows may want one slot: the last stands
            got_it = free[table.take(claimed) == wanted]
            added[got_it if rows is None else rows.take(got_it)] = True
            unsettled = there != h
            unsettled[got_it] = False
            again = np.flatnonzero(unsettled)
            if not len(again):
                return added
            rows = again if rows is None else rows.take(again)
            h, slot = h.take(again), (slot.take(again) + 1) & mask

    def _grow(self) -> None:
        old, self._bits = self._table, self._bits + 1
        self._table = np.zeros(2 * len(old), np.uint64)
        for start in range(0, len(old), 1 << 16):  # in pieces that stay in the processor's cache
            piece = old[start : start + (1 << 16)]
            self._insert(piece[piece != 0])

"""Counting in streams: the same as counting at once, whatever the order and the batches."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.event_files import icews_row, icews_text, write
from trnn_core.data import aggregate
from trnn_core.data.readers import ImportOptions, line_blocks, read_series
from trnn_core.data.readers.hashing import SeenKeys, first_rows, hash_texts

words = st.lists(st.text(max_size=40), max_size=60)


@given(words)
def test_texts_have_equal_hashes_exactly_when_they_are_equal(texts: list[str]) -> None:
    hashes = hash_texts(pa.array(texts, pa.string())).tolist()
    assert len(set(hashes)) == len(set(texts))
    assert dict(zip(texts, hashes, strict=True)) == {t: hash_texts(pa.array([t])).item() for t in texts}


@given(st.integers(0, 50), st.integers(0, 50), words)
def test_a_hash_does_not_depend_on_where_the_text_lies(start: int, n: int, texts: list[str]) -> None:
    array = pa.array(texts, pa.binary() if not texts else pa.string())
    assert hash_texts(array.slice(start, n)).tolist() == hash_texts(array).tolist()[start : start + n]


@given(st.lists(st.lists(st.integers(0, 40), max_size=80), max_size=8))
def test_seen_keys_are_a_set(batches: list[list[int]]) -> None:
    spread = np.arange(41, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # zero is among them
    keys, seen = SeenKeys(bits=4), set()
    for batch in batches:
        new = keys.add(spread[batch] if batch else spread[:0])
        for number, is_new in zip(batch, new.tolist(), strict=True):
            assert is_new == (number not in seen)
            seen.add(number)
    assert len(keys) == len(seen)


def test_first_rows_when_all_slots_collide() -> None:
    numbers = np.repeat(np.arange(5000, dtype=np.uint64), 3)
    assert np.flatnonzero(first_rows(numbers)).tolist() == list(range(0, 15000, 3))


EVENTS = st.lists(
    st.tuples(
        st.integers(1, 28),
        st.sampled_from("ABCD"),
        st.sampled_from(["010", "112", "190"]),
        st.sampled_from("ABCD"),
        st.sampled_from("xyz"),
    ),
    min_size=1,
    max_size=120,
)


@settings(max_examples=60, deadline=None)
@given(EVENTS, st.booleans(), st.integers(1, 3))
def test_streams_count_as_plain_python_does(
    tmp_path_factory: pytest.TempPathFactory, events: list, unique: bool, threads: int
) -> None:
    rows = [
        icews_row(f"2014-02-{d:02}", s, c, t, Source_Name=n, Event_ID=str(i))
        for i, (d, s, c, t, n) in enumerate(events)
    ]
    ends = [icews_row(f"2014-02-{d:02}", "A", "010", "B", Source_Name="end", Event_ID=f"e{d}") for d in (1, 28)]
    path = write(tmp_path_factory.mktemp("x") / "a.tab", icews_text([*ends, *rows]))
    counted: Counter = Counter({(1, "A", "010", "B"): 1, (28, "A", "010", "B"): 1})
    distinct = dict.fromkeys(((d, s, c, t), (d, n, c, t)) for d, s, c, t, n in events)
    if unique:  # the first of several rows with one identity counts, as the names alone make the identity
        seen: dict = {}
        for where, identity in distinct:
            seen.setdefault(identity, where)
        counted.update(seen.values())
    else:
        counted.update((d, s, c, t) for d, s, c, t, _ in events)
    options = ImportOptions(
        period="day",
        actors="all",
        actions="own",
        diagonal=True,
        countries=False,
        threads=threads,
        value="events" if unique else "rows",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "BLOCK", 700)  # a few lines each
        patch.setattr(aggregate, "_PENDING", 16)
        series = read_series(path, options=options)
    found = Counter()
    for t, i, j, k in zip(*series.values.nonzero(), strict=True):
        label = (series.dates[t].item().day, series.actors[i], series.actions[k], series.actors[j])
        found[label] = int(series.values[t, i, j, k])
    assert found == counted

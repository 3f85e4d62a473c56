"""Small valid inputs of every format, and ways to damage them."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from tests.event_files import gdelt_row, icews_row, icews_text, polecat_row, polecat_text

DAYS = [f"2014-01-{d:02}" for d in range(1, 11)]
CSV = "date,source,target,action,value\n" + "".join(
    f'{d},USA,"Korea, South",talks,{n}\n{d},IRN,USA,threats,{n}\n' for n, d in enumerate(DAYS)
)


def _npz(**more: np.ndarray) -> bytes:
    stream = io.BytesIO()
    arrays = {
        "values": np.arange(24, dtype=np.int32).reshape(3, 2, 2, 2),
        "dates": np.array(["2004-01-01", "2004-01-08", "2004-01-15"]),
        "actors": np.array(["a", "b"]),
        "actions": np.array(["x", "y"]),
    }
    np.savez_compressed(stream, **(arrays | more))  # type: ignore[arg-type]
    return stream.getvalue()


def _parquet(table: str = CSV) -> bytes:
    stream = io.BytesIO()
    pd.read_csv(io.StringIO(table)).to_parquet(stream)
    return stream.getvalue()


def _workbook() -> bytes:
    stream = io.BytesIO()
    pd.read_csv(io.StringIO(CSV)).to_excel(stream, index=False, engine="openpyxl")
    return stream.getvalue()


def _zipped(name: str, data: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return stream.getvalue()


ICEWS = icews_text(
    [icews_row(d, "France", "040", "Japan") for d in DAYS] + [icews_row(d, "Japan", "112", "Iran") for d in DAYS]
).encode()
SEEDS: dict[str, bytes] = {
    "icews": ICEWS,
    "polecat": polecat_text([polecat_row(d, "USA;CAN", "1", "RUS") for d in DAYS]).encode(),
    "gdelt": (
        "\n".join(gdelt_row(n, d.replace("-", ""), "USA", "010", "1", "IRN") for n, d in enumerate(DAYS)) + "\n"
    ).encode(),
    "csv": CSV.encode(),
    "tsv": CSV.replace('"Korea, South"', "China").replace(",", "\t").encode(),
    "tns": b"sptensor\n4\n3 3 2 4\n3\n1 2 1 1 5\n2 1 2 3 1\n3 3 1 2 7\n",
    "frostt": b"1 2 1 1 5\n2 1 2 3 1\n3 3 1 2 7\n",
    "npz": _npz(),
    "npz with a mask": _npz(
        values=np.ones((3, 2, 2, 2)), observed=np.ones((3, 2, 2, 2), bool), source=np.array('{"title": "t"}')
    ),
    "parquet": _parquet(),
    "xlsx": _workbook(),
    "gzip": gzip.compress(ICEWS),
    "zip": _zipped("a.tab", ICEWS),
}
TOKENS = [
    b"",
    b"\x00",
    b"\n",
    b"\r",
    b"\t",
    b",",
    b'"',
    b";",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xe9",
    b"NA",
    b"None",
    b"nan",
    b"inf",
    b"-1",
    b"1e999",
    b"999999999999999999999",
    b"99999",
    b"0",
    b"2014-13-01",
    b"0001-01-01",
    b"9999-12-31",
    b"2199-01-01",
    b"1500-01-01",
    b"sptensor\n",
    b"PK\x03\x04",
    b"PAR1",
    b"\x1f\x8b",
    b"\x93NUMPY",
    b"(1000000, 1000000)",
    b"|O",
    b"'shape': (",
    b"<U9999999",
    b"../../x",
    "é".encode(),
    "🦆".encode(),
    b"\x7f\xff\xff\xff",
]

place = st.floats(0, 1, allow_nan=False)
edits = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), place, st.integers(0, 7)),
        st.tuples(st.just("insert"), place, st.one_of(st.sampled_from(TOKENS), st.binary(max_size=12))),
        st.tuples(st.just("replace"), place, st.one_of(st.sampled_from(TOKENS), st.binary(max_size=12))),
        st.tuples(st.just("delete"), place, st.integers(1, 60)),
        st.tuples(st.just("cut"), place, st.none()),
        st.tuples(st.just("repeat"), place, st.integers(1, 400)),
        st.tuples(st.just("splice"), place, st.sampled_from(sorted(SEEDS))),
    ),
    max_size=6,
)


def damage(data: bytes, changes: list) -> bytes:
    for kind, where, how in changes:
        at = int(where * max(len(data) - 1, 0))
        if kind == "flip" and data:
            data = data[:at] + bytes([data[at] ^ (1 << how)]) + data[at + 1 :]
        elif kind == "insert":
            data = data[:at] + how + data[at:]
        elif kind == "replace":
            data = data[:at] + how + data[at + len(how) :]
        elif kind == "delete":
            data = data[:at] + data[at + how :]
        elif kind == "cut":
            data = data[:at]
        elif kind == "repeat":
            data = data[:at] + data[at : at + how] * 3 + data[at + how :]
        elif kind == "splice":
            data = data[:at] + SEEDS[how][int(where * len(SEEDS[how])) :]
    return data


mutated = st.tuples(st.sampled_from(sorted(SEEDS)), edits).map(lambda case: damage(SEEDS[case[0]], case[1]))
anything = st.one_of(
    mutated,
    mutated,
    mutated,
    st.binary(max_size=400),
    st.text(max_size=300).map(lambda t: t.encode("utf-8", "replace")),
    st.builds(lambda d: gzip.compress(d), mutated),
    st.builds(lambda d: _zipped("a", d), mutated),
    st.builds(lambda d: b"sptensor\n4\n" + d, st.from_regex(rb"[0-9 \n.e-]{0,80}")),
    st.builds(
        lambda rows: b"date,source,target,value\n" + rows,
        st.from_regex(rb"([0-9/-]{4,10},[A-D],[A-D],[0-9.e-]{1,6}\n){0,6}", fullmatch=True),
    ),
)

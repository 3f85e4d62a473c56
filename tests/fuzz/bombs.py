"""Small files that want to become large: refused before they unfold, in little memory and time."""

from __future__ import annotations

import gzip
import io
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.campaign import Tally
from tests.fuzz.corpus import CSV
from tests.fuzz.test_fuzz_readers import resident
from trnn_core.data.readers import ImportOptions, read_series
from trnn_core.errors import TRNNError

MB = 2**20
MEMORY, SECONDS = 700 * MB, 60.0


ROWS = b"2014-01-01,USA,IRN,talks,1\n" * (MB // 27)
HEADER = b"date,source,target,action,value\n"


def packed(name: str = "a.csv", megabytes: int = 120) -> bytes:
    """The same row again and again: nearly nothing packed, hundreds of megabytes unpacked."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open(name, "w") as member,
    ):
        member.write(HEADER)
        for _ in range(megabytes):
            member.write(ROWS)
    return stream.getvalue()


def gzipped(megabytes: int = 120) -> bytes:
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=9) as file:
        file.write(HEADER)
        for _ in range(megabytes):
            file.write(ROWS)
    return stream.getvalue()


def npz_that_claims(shape: str) -> bytes:
    """A header that promises what the file does not hold."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("values.npy", array)
        for name in ("dates", "actors", "actions"):
            part = io.BytesIO()
            np.save(part, np.array(["2004-01-01", "2004-01-08"]))
            archive.writestr(f"{name}.npy", part.getvalue())
    return stream.getvalue()


def npz_of_zeros() -> bytes:
    stream = io.BytesIO()
    dates = np.datetime64("2004-01-01") + np.arange(400)
    names = np.array([f"a{i}" for i in range(200)])
    np.savez_compressed(
        stream,
        values=np.zeros((400, 200, 200, 8), np.float32),
        dates=dates.astype(str),
        actors=names,
        actions=names[:8],
    )
    return stream.getvalue()


def long_parquet(rows: int = 30_000_000) -> bytes:
    stream, part = io.BytesIO(), 1_000_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(part, np.int8)), pa.array(["2014-01-01"]))
    names = ("date", "source", "target", "action", "value")
    table = pa.table(dict.fromkeys(names, column))
    with pq.ParquetWriter(stream, table.schema) as writer:
        for _ in range(rows // part):
            writer.write_table(table)
    return stream.getvalue()


def many_members() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for n in range(20_000):
            archive.writestr(f"{n}.csv", b"x")
    return stream.getvalue()


def members_that_climb(name: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), CSV)
    return stream.getvalue()


def huge_table() -> bytes:
    """A small table whose tensor would be enormous: a thousand years of days between two hundred actors."""
    actors = [f"X{i}" for i in range(200)]
    rows = [f"{1200 + 4 * i}-01-02,{a},{actors[i - 1]},talks,1" for i, a in enumerate(actors)]
    return ("date,source,target,action,value\n" + "\n".join(rows) + "\n").encode()


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a zip that unpacks 300 times": ("b.zip", packed),
    "a gzip that unpacks 300 times": ("b.csv.gz", gzipped),
    "a workbook that unpacks 300 times": ("b.xlsx", lambda: packed("xl/worksheets/sheet1.xml")),
    "a zip in a zip": ("b.zip", lambda: members_that_climb("inner.zip")),
    "an array of a trillion cells": ("b.npz", lambda: npz_that_claims("(1000, 1000, 1000, 1000)")),
    "an array of negative size": ("b.npz", lambda: npz_that_claims("(-1, 2, 2, 2)")),
    "half a gigabyte of zeros in an NPZ": ("b.npz", npz_of_zeros),
    "30 million rows in a small Parquet file": ("b.parquet", long_parquet),
    "20,000 members": ("b.zip", many_members),
    "a line of 30 MB": ("b.csv", lambda: b"date,source,target,action,value\n" + b"x" * (30 * MB)),
    "100,000 columns": ("b.csv", lambda: b",".join(b"date" for _ in range(100_000)) + b"\n1\n"),
    "a thousand years of days": ("b.csv", huge_table),
    "a member ../../evil.csv": ("b.zip", lambda: members_that_climb("../../evil.csv")),
    "a member /tmp/evil.csv": ("b.zip", lambda: members_that_climb("/tmp/trnn-evil.csv")),
}
HARMLESS = ("a member", "a zip in a zip", "half a gigabyte")  # may be read: nothing is unpacked to the disk


def bomb_campaign(folder: Path, names: tuple[str, ...] | None = None) -> Tally:
    """As the page reads an upload: inside one folder, with the page's limit on cells."""
    tally, most, slowest = Tally(), 0, 0.0
    inside = folder / "inside"
    inside.mkdir()
    for words in names or BOMBS:
        name, make = BOMBS[words]
        (inside / name).write_bytes(make())
        Path("/proc/self/clear_refs").write_text("5")
        before, begun = resident("VmRSS"), time.monotonic()
        with tally.case(words):
            try:
                read_series(
                    inside / name,
                    options=ImportOptions(
                        allowed_root=inside,
                        max_cells=2**26,
                        max_bytes=2**30,
                        value="sum",
                        actors="all",
                        keep_partial=True,
                    ),
                )
                assert words.startswith(HARMLESS), "read without a word"
            except TRNNError as e:
                assert str(e).strip() and "\n" not in str(e)
            grown, seconds = resident("VmHWM") - before, time.monotonic() - begun
            most, slowest = max(most, grown), max(slowest, seconds)
            assert grown < MEMORY, f"{grown // MB} MB"
            assert seconds < SECONDS, f"{seconds:.0f} s"
            assert [p.name for p in inside.iterdir()] == [name] and [p.name for p in folder.iterdir()] == ["inside"], (
                "written elsewhere"
            )
        (inside / name).unlink()
    tally.check(not Path("/tmp/trnn-evil.csv").exists(), "a member was unpacked outside")
    tally.figures = {"most memory": f"{most // MB} MB", "slowest": f"{slowest:.1f} s"}
    return tally

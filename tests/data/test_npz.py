"""The series file: what goes in comes out, and nothing hostile gets in."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.shared_data import shared_file
from trnn_core.data.readers import ImportOptions, read_npz, read_series, write_npz
from trnn_core.data.series import Provenance, RelationalSeries
from trnn_core.errors import TRNNError

DATES = np.array(["2004-01-01", "2004-01-08"])


def arrays() -> dict[str, np.ndarray]:
    return {
        "values": np.ones((2, 2, 2, 1), np.int32),
        "dates": DATES,
        "actors": np.array(["a", "b"]),
        "actions": np.array(["x"]),
    }


def npy(array: np.ndarray, **header: object) -> bytes:
    """An array file whose header may say something else than what follows."""
    if not header:
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array, allow_pickle=True)
        return stream.getvalue()
    stream = io.BytesIO()
    described = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape, **header}
    np.lib.format.write_array_header_1_0(stream, described)
    return stream.getvalue() + array.tobytes()


def pack(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_written_is_read(small_series: RelationalSeries, tmp_path: Path, dtype: type) -> None:
    values = small_series.values.astype(dtype)
    values[3, 0, 1, 2] = np.nan
    report = {"rows_read": 5, "dropped": [{"reason": "é", "rows": 1, "example": None}]}
    source = Provenance("Ünïcode", simulated=True, kind="value", licence="MIT", report=report)
    series = replace(small_series, values=values, observed=None, source=source)
    back = read_npz(write_npz(series, tmp_path / "a.npz"))
    assert back.fingerprint == series.fingerprint and back.source == series.source
    assert back.values.dtype == dtype and not back.observed[3, 0, 1, 2]


def test_equal_series_give_equal_bytes_and_leave_no_temporary(small_series: RelationalSeries, tmp_path: Path) -> None:
    first, second = (write_npz(small_series, tmp_path / n).read_bytes() for n in ("a.npz", "b.npz"))
    assert first == second
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def test_a_failed_write_leaves_the_old_file(
    small_series: RelationalSeries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_npz(small_series, tmp_path / "a.npz")
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TRNNError, match=r"a.npz: cannot be written \(No space left on device\)"):
        write_npz(replace(small_series, source=Provenance("other")), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_the_shared_files_are_read_as_numpy_reads_them() -> None:
    path = shared_file("icews0515_weekly_hoff25_quad.npz")
    series = read_series(path)
    with np.load(path, allow_pickle=False) as archive:
        assert (series.values == archive["values"]).all()
        assert series.actors == tuple(archive["actors"]) and series.actions == tuple(archive["actions"])
    assert series.source.report["actor_names"]["USA"] == "United States"
    assert series.period == "week" and series.source.kind == "count" and not series.source.diagonal


class _Evil:
    def __reduce__(self) -> tuple:
        return (Path("PWNED").touch, ())


def hostile() -> dict[str, tuple[dict[str, bytes], str]]:
    good = {k: npy(v) for k, v in arrays().items()}
    objects = np.array([_Evil()], dtype=object)
    ones = np.ones((2, 2, 2, 1), np.int32)
    return {
        "pickled object": (
            good | {"actors": npy(objects)},
            "array 'actors': must hold numbers or text. Got pickled Python objects, which are never opened",
        ),
        "bare pickle": (good | {"values": pickle.dumps(_Evil())}, "array 'values': must start with an array header"),
        "forged shape": (
            good | {"values": npy(ones, shape=(10**6, 10**3, 10**3, 4))},
            "array 'values': the header promises 16000000000000 bytes",
        ),
        "negative shape": (good | {"values": npy(ones, shape=(-2, -2, 2, 1))}, "the header promises"),
        "overflowing shape": (good | {"values": npy(ones, shape=(2**62, 2**62, 2**62, 4))}, "the header promises"),
        "forged dtype": (good | {"values": npy(ones, descr="<U999999")}, "must be numbers|the header promises"),
        "lying header": (
            good | {"values": b"\x93NUMPY\x01\x00\x10\x00" + b"__import__('os')"},
            "must start with an array header",
        ),
        "missing array": ({k: v for k, v in good.items() if k != "dates"}, "Missing: dates"),
        "complex": (good | {"values": npy(ones.astype(complex))}, "must hold numbers or text. Got complex128"),
        "three modes": (good | {"values": npy(ones[..., 0])}, "numbers with four modes"),
        "bad date": (good | {"dates": npy(np.array(["2004-01-01", "2014-13-01"]))}, "'dates' must be ISO days"),
        "a gap": (good | {"dates": npy(np.array(["2004-01-01", "2004-01-09"]))}, "Dates must step by a day, a week"),
        "labels too few": (good | {"actors": npy(np.array(["a"]))}, "shape of their labels"),
        "infinite": (good | {"values": npy(np.full((2, 2, 2, 1), np.inf))}, "Observed values must be finite"),
        "bad provenance": (
            good | {"source": npy(np.array('{"title": 3, "wrong": 1}'))},
            "provenance must be a JSON object",
        ),
        "negative count": (
            good | {"values": npy(-ones), "source": npy(np.array('{"kind": "count"}'))},
            "counts must not be negative",
        ),
    }


@pytest.mark.parametrize("case", hostile())
def test_hostile_files_are_refused(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    members, message = hostile()[case]
    with pytest.raises(TRNNError, match=f"^evil.npz.*({message})"):
        read_series(pack(tmp_path / "evil.npz", members))
    assert not Path("PWNED").exists()


def test_a_bomb_is_not_unfolded(tmp_path: Path) -> None:
    big = np.zeros((24, 512, 512, 4), np.int32)  # 100 MB of zeros in a tenth of a megabyte
    members = {k: npy(v) for k, v in arrays().items()} | {"values": npy(big)}
    path = pack(tmp_path / "bomb.npz", members)
    assert path.stat().st_size < 2**18
    with pytest.raises(TRNNError, match=r"bomb.npz: unpacks .* looks like a zip bomb"):
        read_series(path)


@pytest.mark.parametrize("keep", [10, 200, 0.5, 0.99])
def test_a_cut_file_is_refused(small_series: RelationalSeries, tmp_path: Path, keep: float) -> None:
    data = write_npz(small_series, tmp_path / "a.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(data[: int(keep if keep > 1 else keep * len(data))])
    with pytest.raises(TRNNError, match=r"cut.npz"):
        read_series(tmp_path / "cut.npz")


def test_one_actor_or_one_period_is_no_series_to_import(small_series: RelationalSeries, tmp_path: Path) -> None:
    write_npz(small_series.select(periods=slice(0, 1)), tmp_path / "one.npz")
    with pytest.raises(TRNNError, match=r"one.npz: a series needs at least two periods and two actors. Got 1 and 6"):
        read_series(tmp_path / "one.npz", options=ImportOptions())

"""Random and damaged bytes give a series or a TRNNError, nothing else, and never much memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.corpus import SEEDS, anything
from trnn_core.data.readers import FORMATS, ImportOptions, read_series
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError

MEMORY = 2**30
STATUS = Path("/proc/self/status")
OPTIONS = [
    ImportOptions(actors="all", keep_partial=True, start="2004-01-01"),
    ImportOptions(period="day", value="mean", threads=1),
    ImportOptions(period="year", keep_partial=True, actions="root", diagonal=True, encoding="latin-1", actors=3),
    ImportOptions(
        period="month", value="rows", actions="own", countries=False, gaps="missing", actors="all", keep_partial=True
    ),
]
choices = st.tuples(st.sampled_from(OPTIONS), st.sampled_from([None, None, None, *FORMATS]))


def resident(field: str) -> int:
    return next(int(line.split()[1]) * 1024 for line in STATUS.read_text().split("\n") if line.startswith(field))


@pytest.fixture
def bounded() -> Iterator[None]:
    """The test may not use more than a gigabyte on top of what the process has."""
    if not STATUS.exists():
        yield
        return
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident("VmRSS")
    yield
    assert resident("VmHWM") - before < MEMORY


def check(path: Path, data: bytes, options: ImportOptions, chosen: str | None) -> str:
    path.write_bytes(data)
    try:
        series = read_series(path, format=chosen, options=options)
    except TRNNError as e:
        assert str(e).strip()
        assert "\n" not in str(e)
        return "refused"
    assert isinstance(series, RelationalSeries)
    assert len(series.fingerprint) == 64
    return "read"


@pytest.mark.parametrize("name", SEEDS)
def test_the_undamaged_seeds_are_read(name: str, tmp_path: Path) -> None:
    assert check(tmp_path / "f", SEEDS[name], OPTIONS[0], None) == "read"


def fuzz(n: int):  # type: ignore[no-untyped-def]
    checks = [
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.large_base_example,
        HealthCheck.data_too_large,
    ]
    return lambda f: settings(max_examples=n, deadline=None, suppress_health_check=checks, database=None)(
        given(anything, choices)(f)
    )


@fuzz(250)
def test_damaged_input_is_read_or_refused(tmp_path: Path, bounded: None, data: bytes, choice: tuple) -> None:
    check(tmp_path / "f", data, *choice)


@pytest.mark.slow
@fuzz(int(os.environ.get("TRNN_FUZZ_CASES", "12000")))
def test_very_much_damaged_input_is_read_or_refused(tmp_path: Path, bounded: None, data: bytes, choice: tuple) -> None:
    check(tmp_path / "f", data, *choice)

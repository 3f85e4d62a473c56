"""An import in the background: the same series as the reader gives, progress that rises, and a stop that keeps nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.test_import import own_csv
from trnn_core.data.options import ImportOptions
from trnn_core.data.readers import read_series
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Context, Stopped
from trnn_core.verbs.import_ import RESULT, Request, request_of, run, series_of


class Told(Context):
    """What a job is given, remembering what it says."""

    def __init__(self, stop_after: int | None = None):
        self.stop_after = stop_after
        self.shares: list[float] = []
        self.files: dict[str, bytes] = {}

    def progress(self, done: float, message: str) -> None:
        self.shares.append(done)

    def stopping(self) -> bool:
        return self.stop_after is not None and len(self.shares) >= self.stop_after

    def write(self, name: str, content: bytes) -> None:
        self.files[name] = content


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_bytes(own_csv(weeks=30))
    return path


def test_the_result_is_the_series_that_the_reader_gives(file: Path) -> None:
    options = ImportOptions(allowed_root=file.parent, actors="all", title="Mine")
    told = Told()
    run(Request(**request_of([file], "table", options).stored()), told)  # as it comes back from its folder
    made = series_of(told.files[RESULT])
    assert made.fingerprint == read_series(file, format="table", options=options).fingerprint
    assert made.source.title == "Mine"
    assert told.shares == sorted(told.shares) and told.shares[-1] == 1.0


def test_a_stop_ends_it_and_keeps_nothing(file: Path) -> None:
    told = Told(stop_after=1)
    with pytest.raises(Stopped):
        run(request_of([file], "table", ImportOptions()), told)
    assert told.files == {} and told.shares[-1] < 1.0


def test_a_changed_file_is_another_import_and_a_missing_one_is_told(file: Path) -> None:
    before = request_of([file], "table", ImportOptions())
    file.write_bytes(own_csv(weeks=31))
    assert request_of([file], "table", ImportOptions()) != before
    file.unlink()
    with pytest.raises(TRNNError, match="not there any more"):
        request_of([file], "table", ImportOptions())

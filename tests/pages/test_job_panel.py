"""The one panel of a job: it revives the worker, tells why a job waits, and outlives a job that cannot be read."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import TRAIN
from tests.pages.test_pages import is_sound, words
from trnn_core.data.readers import write_npz
from trnn_core.data.readers.npz import read_npz
from trnn_core.data.simulation import simulate
from trnn_core.runs.store import RunStore
from trnn_core.training.recipes import preset


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list:
    """Stores for which a worker was asked for; none is started."""
    asked: list = []
    monkeypatch.setattr("trnn_core.jobs.queue.ensure_worker", lambda store: asked.append(store.root))
    return asked


def submit(home) -> RunStore:
    store = RunStore(home / "runs")
    recipe = preset("quick").changed(**{"train.epochs": 2})
    store.submit(recipe, read_npz(next((home / "data").glob("*.npz"))), run_id="waiting", name="Waiting run")
    return store


def test_whoever_looks_at_a_waiting_job_sees_to_a_worker_and_reads_why_it_waits(full, open_page, started) -> None:
    submit(full)
    app = open_page(TRAIN, run="waiting")
    is_sound(app)
    assert started and "Waiting run: waiting for its turn" in words(app).replace("\\", "")
    assert any("Waiting for a worker to take it" in c.value for c in app.caption)


def test_a_full_disk_is_named_while_a_run_waits(full, open_page, started, monkeypatch) -> None:
    submit(full)
    monkeypatch.setattr("trnn_core.jobs.queue.ROOM_BYTES", 2**60)
    app = open_page(TRAIN, run="waiting")
    assert any("the disk is full" in c.value for c in app.caption)


def test_a_run_stopped_before_its_first_epoch_is_not_said_to_have_weights(full, open_page, started) -> None:
    submit(full).get("waiting").ask("stop")
    app = open_page(TRAIN, run="waiting")
    is_sound(app)
    said = words(app).replace("\\", "")
    assert "Waiting run: stopped" in said and "best weights kept" not in said


def test_a_job_that_cannot_be_read_in_the_middle_is_told_and_nothing_breaks() -> None:
    def script() -> None:
        import streamlit as st

        from trnn_core.errors import TRNNError
        from trnn_core.jobs.job import JobStatus
        from ui.job_panel import job_panel

        class Flaky:
            def status(self) -> JobStatus:
                n = st.session_state["looks"] = st.session_state.get("looks", 0) + 1
                if n == 2:
                    raise TRNNError("The disk is away for a moment.")
                return JobStatus("running" if n == 1 else "stopped")

        job_panel(Flaky(), lambda job, status: st.write(status.state), key="x")  # type: ignore[arg-type]

    app = AppTest.from_function(script).run()
    assert not app.exception and [m.value for m in app.markdown] == ["stopped"]


def test_a_short_series_is_refused_on_the_page_before_anything_waits(full, open_page, started, monkeypatch) -> None:
    write_npz(simulate(seed=0, n_actors=6, n_periods=15), next((full / "data").glob("*.npz")))
    app = open_page(TRAIN, preset="recommended")
    next(b for b in app.button if b.label == "Start training").click().run()
    assert any("needs at least 40 periods" in e.value for e in app.error) and not started
    assert [run.run_id for run in RunStore(full / "runs").runs()] == ["first"]

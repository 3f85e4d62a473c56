"""The live panel of a run. It only reads the run's folder, so it is there again after a reload, in another browser,
or when the server was restarted."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from trnn_core.charts.live_loss import LINE_NAMES, can_be_log, loss_rows, loss_spec, norm_rows, norm_spec
from trnn_core.errors import TRNNError
from trnn_core.jobs import queue
from trnn_core.jobs.job import Request
from trnn_core.runs import layout
from trnn_core.runs.run import Run, Status
from trnn_core.words import duration
from ui.data_access import run_store
from ui.guard import guarded
from ui.job_panel import job_panel
from ui.page import is_dark
from ui.phrases import STATE_ICONS, escape

STATE_WORDS = {
    "queued": "waiting for its turn",
    "running": "training",
    "paused": "paused",
    "stopped": "stopped",
    "finished": "finished",
    "cancelled": "cancelled",
    "failed": "failed",
    "diverged": "diverged",
    "interrupted": "interrupted",
    "damaged": "damaged",
}


def live_panel(run_id: str, others: list[str], *, log: bool, smoothing: float) -> None:
    """How the run stands, what can be asked of it, and its curves."""

    def draw(run: Run, status: Status) -> None:
        history, store = run.history_frame(), run_store()
        head(run, status, history)
        buttons(run, status)
        behind = [
            (f"{store.get(i).name} ({i})" if twice(i, others) else store.get(i).name, store.get(i).history_frame())
            for i in others
            if i != run_id
        ]
        curves(run, history, behind, log=log, smoothing=smoothing)

    job_panel(run_store().get(run_id), draw, key="live-panel")  # type: ignore[arg-type]


def twice(run_id: str, others: list[str]) -> bool:
    """Whether a line of this run would bear the name of another line, and be joined to it."""
    name = run_store().get(run_id).name
    return name in LINE_NAMES or [run_store().get(i).name for i in others].count(name) > 1


def curves(
    run: Run, history: pd.DataFrame, behind: list[tuple[str, pd.DataFrame]], *, log: bool, smoothing: float
) -> None:
    """The loss and the length of the gradient; their charts stay, only their rows change."""
    simulated = bool(run.config["data"]["simulated"])
    loss, norm = loss_rows(history, smoothing=smoothing, others=behind), norm_rows(history, smoothing=smoothing)
    if loss.empty:
        st.info("The curve begins with the first finished epoch.", icon=":material/hourglass_top:")
        return
    names = [name for name, _ in behind]
    spec = loss_spec(simulated=simulated, log=log and can_be_log(loss), names=names, dark=is_dark(), height=360)
    st.vega_lite_chart(
        loss, spec, theme=None, key="chart-loss", alt="Training and validation loss by epoch, the best epoch marked"
    )
    if log and not can_be_log(loss):
        st.caption("Some losses are zero or below, where there is no logarithm: the scale is linear.")
    if not norm.empty:
        steep = norm_spec(simulated=simulated, log=log and can_be_log(norm), dark=is_dark(), height=190)
        st.vega_lite_chart(norm, steep, theme=None, key="chart-norm", alt="Length of the gradient by epoch")
    last = history.iloc[-1]
    st.caption(
        f"Gradient norm {last['grad_norm']:.3g} · learning rate {last['lr']:.3g} · penalty λ(ΣW² + ΣU²)"
        f" {last['regulariser']:.3g}"
    )


def head(run: Run, status: Status, history: pd.DataFrame) -> None:
    words = STATE_WORDS.get(status.state, status.state)
    if status.state == "stopped" and status.best_epoch:
        words = "stopped, best weights kept"
    st.markdown(f"#### {STATE_ICONS.get(status.state, '')} {escape(run.name)}: {words}")
    st.progress(status.done, f"Epoch {status.epoch} of {status.epochs}")
    a, b, c, d = st.columns(4)
    a.metric(
        "Lowest loss",
        f"{status.best_val_loss:.4g}" if status.best_val_loss is not None else "–",
        help="The lowest validation loss so far, on periods the network does not learn from.",
    )
    b.metric("Best epoch", status.best_epoch or "–", help="The weights of this epoch are kept.")
    c.metric(
        "Still to go",
        duration(status.eta_seconds) if status.eta_seconds is not None else "–",
        help="Judged by the epochs so far.",
    )
    d.metric(
        "Examples/s",
        speed(run, history, status),
        help="Examples per second: windows of T periods the network learns from.",
    )
    if status.message:
        st.caption(escape(status.message))


def speed(run: Run, history: pd.DataFrame, status: Status) -> str:
    rows = history["seconds"].tail(5)
    if not len(rows) or rows.sum() <= 0:
        return "–"
    data = run.recipe.data
    judged = max(int(run.config["data"]["shape"][0] * (1 - data.validation - data.test)) - data.window, 1)
    return f"{len(rows) * (status.n_windows or judged) / rows.sum():,.0f}"


def buttons(run: Run, status: Status) -> None:
    """Only what makes sense now; a job answers at its next step."""
    with st.container(horizontal=True):
        if status.is_live:
            pause = "Save everything and wait; Resume goes on exactly from there."
            _button("Pause", "pause", run, ":material/pause:", pause)
            stop = "End here and forecast with the best weights so far."
            _button("Stop and keep", "stop", run, ":material/stop:", stop)
            _button("Cancel", "cancel", run, ":material/close:", "End without a forecast.")
        elif status.can_resume:
            st.button(
                "Resume",
                key="resume",
                icon=":material/play_arrow:",
                on_click=guarded(_resume),
                args=(run,),
                help="Go on exactly where it ended.",
            )
        if not status.is_live and (run.folder / layout.FORECAST).exists():
            with st.container(border=True, width="content"):
                st.page_link(
                    "pages/3_Forecast.py",
                    label="**See the forecast**",
                    icon=":material/hub:",
                    query_params={"run": run.run_id},
                )


def _button(label: str, action: Request, run: Run, icon: str, words: str) -> None:
    st.button(label, key=f"ask-{action}", icon=icon, help=words, on_click=guarded(_ask), args=(run, action))


def _ask(run: Run, action: Request) -> None:
    try:
        run.ask(action)
        st.toast(f"Asked to {action}; the run answers at its next step.")
    except TRNNError as e:
        st.toast(str(e), icon=":material/error:")


def _resume(run: Run) -> None:
    try:
        run.resume()
        queue.ensure_worker(run_store())
    except TRNNError as e:
        st.toast(str(e), icon=":material/error:")

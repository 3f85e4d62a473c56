"""Who moves whom, as the network has it and as Hoff's regression has it, with doubtful ties in grey."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from trnn_core.charts.insight import influence_matrix
from trnn_core.charts.network import network, strongest
from trnn_core.data.series import RelationalSeries
from trnn_core.insight.answers import PARTS, Influence, InfluenceSet
from trnn_core.insight.library import stored_influence, weights_of
from trnn_core.insight.words import say_check, say_tie, ties
from trnn_core.runs import layout
from trnn_core.runs.run import ENDED, Run
from trnn_core.runs.tasks import Task, find_task, list_tasks
from trnn_core.words import duration
from ui.explain import ask, begin, download_table
from ui.guard import guard, guarded
from ui.page import is_dark, show
from ui.store import order, positions, run_store
from ui.words import escape

PART_WORDS = {"sender": "Sending", "receiver": "Receiving", "action": "Actions"}
TITLES = {
    "sender": "Whose acts move whose acts",
    "receiver": "What is done to whom moves what is done to whom",
    "action": "Which acts lead to which",
}
WAYS = ("Hoff's regression", "Mode matrices")


def influence_tab(run: Run, series: RelationalSeries) -> None:
    if run.recipe.model.network != "tensor":
        st.info(
            "This run's model shares one set of weights among all pairs of countries, so it knows no ties between"
            " particular ones, and there is no influence to read off. The other questions work. To see who moves whom,"
            " train a tensorial network, for example the preset *quick*.",
            icon=":material/hub:",
        )
        st.page_link("pages/2_Train.py", label="Train a tensorial network", icon=":material/model_training:")
        return
    found = stored_influence(run)
    if found is None:
        found = InfluenceSet.from_npz(ask(run, "influence", kind="influence"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        part = (
            st.segmented_control(
                "Influence in",
                PARTS,
                default="sender",
                required=True,
                format_func=PART_WORDS.__getitem__,
                key="part",
                bind="query-params",
                help=(
                    "Sending: what one country does moves what another does. Receiving: what is done to one moves what"
                    " is done to another. Actions: one kind of act leads to another within a pair."
                ),
            )
            or "sender"
        )
        drawn = st.segmented_control(
            "As",
            ("Heatmap", "Graph"),
            default="Heatmap",
            required=True,
            key="as",
            bind="query-params",
            help=(
                "A matrix with who is moved in rows and who moves in columns, or arrows from who moves to who is moved"
                " (solid ties only)."
            ),
        )
        ways = WAYS if found.modes is not None else WAYS[:1]
        other = st.segmented_control(
            "Beside it",
            ways,
            default=ways[0],
            required=True,
            key="beside",
            bind="query-params",
            help=(
                "Hoff's multilinear regression (B1, B2, B3) fitted on the same weeks, or the network's own mode"
                " matrices."
            ),
        )
    beside = found.modes if other == "Mode matrices" and found.modes is not None else found.regression
    p = PARTS.index(part)
    left, right = st.columns(2, gap="medium")
    largest = max(largest_of(way.parts()[p]) for way in (found.jacobian, beside))  # one scale for both
    with left:
        draw(
            found, found.jacobian, part, series, drawn == "Graph", "The network: its Jacobian", found.solid[p], largest
        )
    with right:
        draw(found, beside, part, series, drawn == "Graph", str(other), None, largest)
    table = ties(found, part)
    solid = table[table["solid"]]
    agreement = found.agreement(beside)[p]
    said = (
        " ".join(say_tie(row, part, series.period) for _, row in solid.head(2).iterrows())
        or "No tie stands out from its errors."
    )
    st.markdown(escape(said))
    alike = f"Off the diagonal the two pictures correlate at {agreement:.2f}. " if np.isfinite(agreement) else ""
    st.caption(
        f"{alike}{len(solid)} of {len(table)} ties are three standard errors or more from zero; the others are grey. "
        f"Errors: {found.stability}. Left: {found.jacobian.method}. 1 is as strong as a country's own continuation."
    )
    check_by_training(run, found, part)
    with st.expander("All ties as a table"):
        st.dataframe(table, hide_index=True, column_config=columns(part))
    download_table(table, f"influence-{part}-{run.run_id}", series, "influence")


def largest_of(matrix: np.ndarray) -> float:
    """What the strongest colour stands for: nearly the largest tie, so that a single one does not pale all others."""
    return max(float(np.quantile(np.abs(matrix[~np.eye(len(matrix), dtype=bool)]), 0.995)), 1e-6)


def draw(
    found: InfluenceSet,
    which: Influence,
    part: str,
    series: RelationalSeries,
    graph: bool,
    way: str,
    solid: np.ndarray | None,
    largest: float,
) -> None:
    matrix = which.parts()[PARTS.index(part)]
    off = np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix)
    actors = found.actors == series.actors and part != "action"
    names = found.actions if part == "action" else found.actors
    title, key = TITLES[part], "other" if solid is None else "net"
    figure: go.Figure
    if graph and actors:
        shown = off if solid is None else np.where(solid, off, 0.0)
        figure = network(
            shown.T,
            names,
            positions(series, "force"),
            title,
            edges=strongest(shown.T, top=40),
            largest=largest,
            kind="change",
            unit="of own continuation",
            simulated=series.source.simulated,
            subtitle=f"{way} · the strongest ties, from who moves to who is moved",
            dark=is_dark(),
            height=560,
        )
    else:
        figure = influence_matrix(
            matrix,
            names,
            title,
            solid=solid,
            order=order(series, "similarity") if actors else None,
            subtitle=way,
            largest=largest,
            simulated=series.source.simulated,
            dark=is_dark(),
        )
    show(figure, f"influence-{key}", f"{title}, {way}", file=f"influence-{part}-{key}")


def check_by_training(run: Run, found: InfluenceSet, part: str) -> None:
    """An honest check costs three trainings: offered, not imposed."""
    if found.retrained:
        st.success(say_check(found, part), icon=":material/verified:")
        return
    if run.status().state not in ENDED:
        return
    asked = {"question": "retrain", "weights": weights_of(run)}
    last = next((t for t in list_tasks(run_store(), "influence", run.run_id) if t.arguments == asked), None)
    if last is not None and last.status().is_live:
        st.fragment(_at_work, run_every=1.0, key=f"live-{last.task_id}")(last.task_id)
        return
    if last is not None and last.status().state in ("failed", "stopped", "interrupted"):
        st.warning(escape(f"The last check did not finish. {last.status().message}"), icon=":material/info:")
    seconds = 3 * run.status().seconds
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(
            "Check by training three more",
            icon=":material/model_training:",
            key="retrain",
            help=(
                "Trains three more networks by the same recipe, each without another third of the weeks, and greys out"
                f" what does not come back. About {duration(max(seconds, 5.0))}."
            ),
        ):
            begin(run, "retrain", kind="influence")
            st.rerun()
        st.caption("So far no network was trained again: a tie that looks solid may still depend on this one training.")


def _stop(task: Task) -> None:
    task.stop()


def _at_work(task_id: str) -> None:
    """How far the check is, looked at once a second; it goes on when the page is closed."""
    with guard():
        task = find_task(run_store(), task_id)
        status = task.status()
        if status.is_live:
            left = f", about {duration(status.eta_seconds)} left" if status.eta_seconds is not None else ""
            st.progress(
                status.done, f"Checking: {escape(status.message.rstrip('.'))}{left}. The page can be left meanwhile."
            )
            asked = (task.folder / layout.REQUEST).exists()
            st.button(
                "Stopping ..." if asked else "Stop",
                key="stop-retrain",
                icon=":material/stop:",
                disabled=asked,
                on_click=guarded(_stop),
                args=(task,),
                help="Ends the check; nothing of it is kept.",
            )
        else:
            st.rerun()


def columns(part: str) -> dict:
    number = st.column_config.NumberColumn
    return {
        "moves": "Who moves" if part != "action" else "Act that moves",
        "moved": "Who is moved" if part != "action" else "Act that is moved",
        "influence": number("Influence", format="%.3f", help="1 is a country's own continuation"),
        "error": number("Standard error", format="%.3f"),
        "solid": st.column_config.CheckboxColumn("Solid", help="Three standard errors or more from zero"),
        "regression": number("Hoff", format="%.3f", help="The same tie in Hoff's regression"),
        "modes": number("Mode matrices", format="%.3f"),
    }

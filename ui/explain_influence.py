"""Who moves whom, as the network has it and as Hoff's regression has it, with doubtful ties in grey."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from trnn_core.charts.edges import strongest
from trnn_core.charts.explanations import influence_matrix
from trnn_core.charts.look import Measure
from trnn_core.charts.node_link import network
from trnn_core.data.series import RelationalSeries
from trnn_core.insight.answers import PARTS, Influence, InfluenceSet
from trnn_core.insight.library import stored_influence
from trnn_core.insight.sentences import say_check, say_tie, ties
from trnn_core.jobs.job import Job, JobStatus
from trnn_core.runs.run import ENDED, Run
from trnn_core.verbs.as_job import find
from trnn_core.words import duration
from ui.data_access import order, positions, run_store
from ui.explain_questions import ask, begin, download_table, question_of
from ui.job_panel import job_panel, progress_bar, stop_button
from ui.page import look, show
from ui.phrases import escape
from ui.table_columns import number

PART_WORDS = {"sender": "Sending", "receiver": "Receiving", "action": "Actions"}
TITLES = {
    "sender": "Whose acts move whose acts",
    "receiver": "What is done to whom moves what is done to whom",
    "action": "Which acts lead to which",
}
BESIDE = ("Hoff's regression", "Mode matrices")


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
        found = InfluenceSet.from_npz(ask(run, "influence"))
    part, graph, other = pick_view(found)
    beside = found.modes if other == "Mode matrices" and found.modes is not None else found.regression
    side_by_side(found, beside, part, series, graph, other)
    table = ties(found, part)
    solid = table[table["solid"]]
    agreement = found.agreement(beside)[PARTS.index(part)]
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


def pick_view(found: InfluenceSet) -> tuple[str, bool, str]:
    """Which influence, whether as a graph, and what stands beside the network's own."""
    beside = BESIDE if found.modes is not None else BESIDE[:1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        part = choice(
            "Influence in",
            PARTS,
            "part",
            "Sending: what one country does moves what another does. Receiving: what is done to one moves what"
            " is done to another. Actions: one kind of act leads to another within a pair.",
            name=PART_WORDS.__getitem__,
        )
        drawn = choice(
            "As",
            ("Heatmap", "Graph"),
            "as",
            "A matrix with who is moved in rows and who moves in columns, or arrows from who moves to who is moved"
            " (solid ties only).",
        )
        other = choice(
            "Beside it",
            beside,
            "beside",
            "Hoff's multilinear regression (B1, B2, B3) fitted on the same weeks, or the network's own mode matrices.",
        )
    return part, drawn == "Graph", other


def choice(label: str, options: Sequence[str], key: str, words: str, name: Callable[[str], str] = str) -> str:
    chosen = st.segmented_control(
        label,
        options,
        default=options[0],
        required=True,
        format_func=name,
        key=key,
        bind="query-params",
        help=words,
    )
    return chosen or options[0]


def side_by_side(
    found: InfluenceSet, beside: Influence, part: str, series: RelationalSeries, graph: bool, other: str
) -> None:
    """The network's own on the left, the other on the right, on one scale."""
    p = PARTS.index(part)
    largest = max(largest_of(which.parts()[p]) for which in (found.jacobian, beside))
    pictures = (
        (found.jacobian, "The network: its Jacobian", found.solid[p]),
        (beside, other, None),
    )
    for column, (which, method, solid) in zip(st.columns(2, gap="medium"), pictures, strict=True):
        with column:
            matrix, title = which.parts()[p], TITLES[part]
            key = "other" if solid is None else "net"
            actors = found.actors == series.actors and part != "action"
            names = found.actions if part == "action" else found.actors
            if graph and actors:
                figure = as_graph(matrix, solid, series, method, title, largest)
            else:
                figure = influence_matrix(
                    matrix,
                    names,
                    look(title, simulated=series.source.simulated, subtitle=method),
                    solid=solid,
                    order=order(series, "similarity") if actors else None,
                    largest=largest,
                )
            show(figure, f"influence-{key}", f"{title}, {method}", file=f"influence-{part}-{key}")


def largest_of(matrix: np.ndarray) -> float:
    """What the strongest colour stands for: nearly the largest tie, so that a single one does not pale all others."""
    return max(float(np.quantile(np.abs(matrix[~np.eye(len(matrix), dtype=bool)]), 0.995)), 1e-6)


def as_graph(
    matrix: np.ndarray, solid: np.ndarray | None, series: RelationalSeries, method: str, title: str, largest: float
) -> go.Figure:
    """Arrows from who moves to who is moved: the matrix has who moves in its columns."""
    kept = ~np.eye(len(matrix), dtype=bool) if solid is None else ~np.eye(len(matrix), dtype=bool) & solid
    moves = np.where(kept, matrix, 0.0).T
    note = f"{method} · the strongest ties, from who moves to who is moved"
    return network(
        moves,
        series.actors,
        positions(series, "force"),
        look(title, simulated=series.source.simulated, subtitle=note, height=560),
        measure=Measure("change", "of own continuation"),
        edges=strongest(moves, top=40),
        largest=largest,
    )


def check_by_training(run: Run, found: InfluenceSet, part: str) -> None:
    """An honest check costs three trainings: offered, not imposed."""
    if found.retrained:
        st.success(say_check(found, part), icon=":material/verified:")
        return
    if run.status().state not in ENDED:
        return
    last = find(run_store(), "influence", question_of(run, "influence", retrain=True))
    if last is not None and last.status().is_live:
        job_panel(last, _at_work, key=f"live-{last.job_id}")
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
            begin(run, "influence", retrain=True)
            st.rerun()
        st.caption("So far no network was trained again: a tie that looks solid may still depend on this one training.")


def _at_work(job: Job, status: JobStatus) -> None:
    """How far the check is; it goes on when the page is closed."""
    if status.is_live:
        progress_bar(status, "Checking, the page can be left meanwhile:")
        stop_button(job, "Ends the check; nothing of it is kept.", key="stop-retrain")


def columns(part: str) -> dict[str, Any]:
    return {
        "moves": "Who moves" if part != "action" else "Act that moves",
        "moved": "Who is moved" if part != "action" else "Act that is moved",
        "influence": number("Influence", "%.3f", "1 is a country's own continuation"),
        "error": number("Standard error", "%.3f"),
        "solid": st.column_config.CheckboxColumn("Solid", help="Three standard errors or more from zero"),
        "regression": number("Hoff", "%.3f", "The same tie in Hoff's regression"),
        "modes": number("Mode matrices", "%.3f"),
    }

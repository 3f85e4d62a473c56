"""What if: change recent weeks, see the forecast with and without, keep scenarios and lay two side by side."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.insight.answers import Outcome, unpack
from trnn_core.insight.library import Scenario, save_scenario
from trnn_core.insight.shocks import ALL, HOW, Shock, changes_of, check_shock, plant
from trnn_core.runs.run import Run
from ui.explain_questions import ask, begin, busiest, same_country
from ui.phrases import escape
from ui.pickers import linked
from ui.scenario_pictures import told
from ui.scenario_shelf import shelf

HORIZON = 8
HOW_WORDS = {"+": "more", "-": "fewer", "=": "set to", "x": "times"}
WEEKS_BACK = 8  # weeks offered for a change
MOST = 60  # changes in one address
WAYS = ("Plant a shock", "Edit recent weeks")


def whatif_tab(run: Run, series: RelationalSeries) -> None:
    begin(run, "warm", spread=True)  # the forecast's spread is learnt while the form is filled in
    shocks = current(series)
    way = st.segmented_control(
        "How",
        WAYS,
        default=WAYS[0],
        required=True,
        key="how",
        bind="query-params",
        label_visibility="collapsed",
        help="Add to one week of a relation, or type other figures over its recent weeks.",
    )
    if way == WAYS[1]:
        editor(series, shocks, weeks_read(run))
    left, right = st.columns([2, 5], gap="medium")
    with left:
        if way != WAYS[1]:
            builder(series, shocks, weeks_read(run))
        listed(shocks)
    with right:
        if not shocks:
            example(series)
        else:
            outcome = unpack(Outcome, ask(run, "scenario", shocks=[s.to_json() for s in shocks], horizon=HORIZON))
            told(outcome, series, shocks)
            keep(run, shocks, outcome)
    shelf(run, series, open_scenario)


def current(series: RelationalSeries) -> list[Shock]:
    """The changes in the address bar; what does not fit the run is told and left out."""
    found = []
    texts = st.query_params.get_all("shock")
    if len(texts) > MOST:
        st.warning(f"The link has {len(texts)} changes; the first {MOST} are used.", icon=":material/link_off:")
    for text in texts[:MOST]:
        parts = text.split("|")
        try:
            source, target, action, how, amount, *date = parts
            found.append(
                check_shock(
                    Shock(source, target, action, how, float(amount), date[0] if date and date[0] else None), series
                )
            )
        except (ValueError, TRNNError) as e:
            said = str(e) if isinstance(e, TRNNError) else "a change in the link cannot be read"
            st.warning(f"A change was left out: {said}", icon=":material/link_off:")
    return found


def put(shocks: list[Shock]) -> None:
    st.query_params["shock"] = [f"{s.source}|{s.target}|{s.action}|{s.how}|{s.amount:g}|{s.date or ''}" for s in shocks]


def weeks_read(run: Run) -> int:
    """How many recent weeks are offered: what lies before them the network may not read at all."""
    return min(WEEKS_BACK, run.recipe.data.window) if run.recipe.model.network == "tensor" else WEEKS_BACK


def editor(series: RelationalSeries, shocks: list[Shock], n_weeks: int) -> None:
    """The recent weeks of one relation as a table; figures that differ from what happened become changes."""
    first, second = busiest(series)
    with st.container(border=True):
        a, b, _ = st.columns([2, 2, 3])
        with a:
            source = linked("Who acts", series.actors, "sender", first, "The sender whose acts are edited.")
        with b:
            target = linked("Towards whom", series.actors, "receiver", second, "The receiver of these acts.")
        if same_country(source, target, series):
            return
        dates = [str(d) for d in series.dates[-min(n_weeks, len(series)) :]][::-1]  # the newest first
        own = [s for s in shocks if (s.source, s.target) == (source, target) and (s.date or dates[0]) in dates]
        i, j = series.actors.index(source), series.actors.index(target)
        now = plant(series.values[-len(dates) :], own, series, len(dates))[:, i, j]
        number = st.column_config.NumberColumn
        edited = st.data_editor(
            pd.DataFrame(now[::-1].T, index=list(series.actions), columns=dates),
            key=f"edit-{source}-{target}-{own}",
            width="stretch",
            column_config={
                "_index": f"{source} → {target}",
                **{
                    d: number(
                        d,
                        help=f"{series.period} of {d}; type another figure over it",
                        min_value=0 if series.source.kind == "count" else None,
                    )
                    for d in dates
                },
            },
        )
        if st.button(
            "Use these figures",
            icon=":material/edit_calendar:",
            type="primary",
            key="use-edit",
            help="Forecasts anew as if these weeks had been so; what is left as it was does not count as a change.",
        ):
            kept = [s for s in shocks if s not in own]
            put([*kept, *changes_of(source, target, edited.to_numpy(dtype=float).T[::-1], series)])
            st.rerun()


def builder(series: RelationalSeries, shocks: list[Shock], n_weeks: int) -> None:
    first, second = busiest(series)
    with st.form("change", border=True):
        st.markdown("**Change a recent week**")
        actors = series.actors
        source = st.selectbox(
            "Who acts", actors, index=actors.index(first), key="shock-source", help="The sender of the change."
        )
        target = st.selectbox(
            "Towards whom", actors, index=actors.index(second), key="shock-target", help="The receiver of the change."
        )
        action = st.selectbox(
            "Action",
            [*series.actions, ALL],
            index=len(series.actions) - 1,
            key="shock-action",
            help="The kind of act, or all of them.",
        )
        a, b = st.columns(2)
        amount = a.number_input(
            "How much",
            min_value=0.0,
            max_value=1e6,
            value=20.0,
            step=1.0,
            key="shock-amount",
            help="Number of events; whole ones, for counts.",
        )
        how = b.selectbox(
            "Which is",
            list(HOW),
            format_func=HOW_WORDS.__getitem__,
            key="shock-how",
            help="More or fewer than there were, set to this figure, or times this figure.",
        )
        dates = [str(d) for d in series.dates[-n_weeks:]][::-1]
        date = st.selectbox(
            f"In the {series.period} of",
            dates,
            format_func=lambda d: f"{d} (the last one known)" if d == dates[0] else d,
            key="shock-date",
            help="Which past week is changed. The last one known counts most.",
        )
        if st.form_submit_button(
            "Add this change",
            icon=":material/add:",
            type="primary",
            width="stretch",
            help="Forecasts anew with this change to the past; several changes add up.",
        ):
            new = check_shock(
                Shock(source, target, action, how, float(amount), None if date == dates[0] else date), series
            )
            put([*shocks, new])
            st.rerun()


def listed(shocks: list[Shock]) -> None:
    for n, shock in enumerate(shocks):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(escape(str(shock)), width="stretch")
            if st.button("", icon=":material/close:", key=f"drop-{n}", help="Take this change away."):
                put(shocks[:n] + shocks[n + 1 :])
                st.rerun()
    if shocks and st.button("Take all away", icon=":material/delete_sweep:", help="Start again without any change."):
        put([])
        st.rerun()


def example(series: RelationalSeries) -> None:
    with st.container(border=True):
        st.markdown("#### What would follow if last week had been different?")
        st.markdown(
            "Change a recent week on the left: the network then forecasts with and without the change, and the"
            " difference is drawn as a network."
        )
        first, second = busiest(series)
        shock = Shock(first, second, series.actions[-1], "+", 20.0)
        if st.button(
            f"Try one: {escape(str(shock))}",
            icon=":material/play_arrow:",
            key="try",
            help="Adds this change and shows what follows.",
        ):
            put([shock])
            st.rerun()


def keep(run: Run, shocks: list[Shock], outcome: Outcome) -> None:
    with st.form("keep", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(
            "Keep it as",
            key="scenario-name",
            placeholder="name of the scenario",
            max_chars=80,
            help="Kept with the run: anybody on this server can open, compare and delete it.",
        )
        if st.form_submit_button(
            "Keep with the run",
            icon=":material/bookmark_add:",
            help="Saves the changes and both forecasts, to open again or lay beside another.",
        ):
            kept = save_scenario(run, name or str(shocks[0]), shocks, outcome)
            st.toast(f"Kept: {kept.name}", icon=":material/bookmark_added:")


def open_scenario(scenario: Scenario) -> None:
    put(list(scenario.shocks))
    st.rerun()

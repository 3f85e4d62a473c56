"""Search for good settings: a fold of the Train page. It starts a job and reads what the job has found so far."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from trnn_core.charts.search_trials import setting_importance, setting_name, trial_history
from trnn_core.data.readers.npz import read_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.jobs import queue
from trnn_core.jobs.job import Job, JobStatus
from trnn_core.jobs.requests import list_jobs
from trnn_core.runs.study import Study, list_studies
from trnn_core.training.config import Recipe
from trnn_core.training.recipes import read_recipe
from trnn_core.training.search import TuneConfig, default_space, parse_space
from trnn_core.verbs.as_job import start as start_job
from trnn_core.verbs.tune import Request
from trnn_core.words import percent
from ui.data_access import run_store
from ui.executor_choice import pick_cluster, pick_workers, resources_again
from ui.guard import guarded
from ui.job_panel import job_panel, progress_bar, stop_button
from ui.page import look, show
from ui.phrases import escape

REFRESH_SECONDS = 2.0
NAMED = "%Y%m%d-%H%M%S"


def search_panel(recipe: Recipe, series: RelationalSeries) -> None:
    """The fold: what to search on the left, what was found on the right."""
    studies = list_studies(run_store())
    jobs = {job.request.get("study"): job for job in reversed(list_jobs(run_store(), "tune"))}
    live = [name for name, job in jobs.items() if job.status().is_live]
    # Once opened by a search, the fold stays open when the search ends: there is something to look at.
    opened = st.session_state["search_opened"] = bool(live) or st.session_state.get(
        "search_opened", "study" in st.query_params
    )
    with st.expander("Search for good settings", icon=":material/tune:", expanded=opened):
        st.caption(
            "Tries many settings around those above with real, short trainings, ends the hopeless ones early, and keeps"
            " the best as a recipe. Trials are judged on the validation periods; the test periods are not touched."
        )
        left, right = st.columns([2, 3], gap="large")
        with left:
            search_form(recipe, series)
        with right:
            names = list(dict.fromkeys([*live, *(s.name for s in studies)]))
            if not names:
                st.info(
                    "No search yet. The settings above are tried first, then others around them.",
                    icon=":material/info:",
                )
                return
            name = st.selectbox(
                "Search", names, format_func=study_words, key="study", bind="query-params", help="Newest first."
            )
            found_panel(str(name or names[0]), jobs.get(name or names[0]))


def study_words(name: str) -> str:
    """A search that was named by its start is called by it."""
    try:
        began = datetime.strptime(name, NAMED)
    except ValueError:
        return name
    return f"{began.day} {began:%B %Y, %H:%M:%S}"


def search_form(recipe: Recipe, series: RelationalSeries) -> None:
    a, b, c = st.columns(3)
    trials = a.number_input("Trials", 2, 2000, 24, key="tune_trials", help="Trainings to try.")
    epochs = b.number_input(
        "Epochs each",
        1,
        10_000,
        min(recipe.train.epochs, 20),
        key="tune_epochs",
        help="Passes over the data of a trial that is not ended early.",
    )
    with c:
        workers = pick_workers("tune")
    begin = recipe.changed(**{"train.epochs": int(epochs)})
    usual = "\n".join(f"{n}={r}" for n, r in default_space(begin, series).items())
    text = st.text_area(
        "What to search",
        usual,
        key=f"tune_space_{recipe.model.network}",
        height=180,
        help=(
            "One setting per line: LOW:HIGH, LOW:HIGH:log for a range, A|B|C for choices. Remove a line to keep that"
            " setting as it is above."
        ),
    )
    with st.popover("More", icon=":material/settings:", help="How trials are ended early, random numbers, cluster"):
        pruner = st.selectbox(
            "End hopeless trials",
            ["median", "hyperband", "none"],
            key="tune_pruner",
            help=(
                "median: worse than half of the whole trials at the same epoch; hyperband: many short trials, few long"
                " ones."
            ),
        )
        seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="tune_seed", help="The same seed tries the same settings.")
        cluster = pick_cluster("tune")
    if st.button("Start search", icon=":material/manage_search:", help="Goes on when you close the page."):
        space = parse_space([line for line in text.splitlines() if line.strip()])
        config = TuneConfig(recipe=begin, space=space, trials=int(trials), pruner=pruner, seed=int(seed))
        start(config, series, {"cluster": cluster, "workers": workers})


def start(config: TuneConfig, series: RelationalSeries, resources: dict[str, Any]) -> None:
    config.ranges()  # a mistake is told here, not by the job
    store = run_store()
    store.keep_series(series)
    name = f"{datetime.now().astimezone():{NAMED}}"
    settings = config.model_dump(mode="json", exclude_none=True)
    start_job(store, "tune", Request(config=settings, fingerprint=series.fingerprint, study=name, **resources))
    st.session_state["study"] = name
    st.rerun()


def found_panel(name: str, job: Job | None) -> None:
    """What the search of that name is at, and what it has found so far."""
    if job is None:
        _found(name, False)
    else:
        job_panel(job, partial(_search, name), key="search-panel", seconds=REFRESH_SECONDS)


def _search(name: str, job: Job, status: JobStatus) -> None:
    if status.is_live:
        progress_bar(status)
        stop_button(job, "What has been found is kept; it can go on later.", key="tune-stop")
    elif status.state == "failed":
        st.error(escape(status.message), icon=":material/error:")
    elif status.state in ("stopped", "interrupted"):
        st.caption(escape(status.message))
    if status.state in ("stopped", "interrupted", "failed"):
        st.button(
            "Go on",
            key="tune-on",
            icon=":material/play_arrow:",
            on_click=guarded(_go_on),
            args=(job,),
            help="Where it ended.",
        )
    _found(name, status.is_live)


def _found(name: str, live: bool) -> None:
    study = next((s for s in list_studies(run_store()) if s.name == name), None)
    if study is not None:
        results(study)
    elif live:
        st.caption("The first trials are on their way.")


def _go_on(job: Job) -> None:
    try:
        start_job(run_store(), "tune", Request(**job.request, **resources_again(job.resources)))
    except TRNNError as e:
        st.toast(str(e), icon=":material/error:")


def _train(recipe: Path, fingerprint: str) -> None:
    store = run_store()
    try:
        run = store.submit(read_recipe(recipe), read_npz(store.series_path(fingerprint)))
        queue.ensure_worker(store)
    except TRNNError as e:
        st.toast(str(e), icon=":material/error:")
    else:
        st.session_state["run"] = run.run_id


def results(study: Study) -> None:
    found = study.read()
    trials, simulated = found["trials"], bool(found["data"]["simulated"])
    counts = {state: sum(t["state"] == state for t in trials) for state in ("complete", "pruned")}
    best = found["best"]
    a, b, c = st.columns(3)
    a.metric("Trials", f"{sum(counts.values())} of {found['wanted']}", help="Done so far.")
    b.metric("Ended early", counts["pruned"], help="Trials that did worse than others at the same epoch.")
    c.metric(
        "Best validation loss",
        f"{best['value']:.4g}" if best else "–",
        gain(trials, best),
        delta_color="inverse",
        help="Beside the settings the search began with. On the test periods the gain is usually smaller.",
    )
    show(
        trial_history(trials, look(simulated=simulated)),
        "trials",
        "Validation loss of every trial",
        file="trials",
    )
    if found["importance"]:
        show(
            setting_importance(found["importance"], look(simulated=simulated)),
            "importance",
            "Which settings mattered",
            file="importance",
        )
    st.caption(escape(found["importance_words"]))
    if best:
        rows = {setting_name(n): f"{v:.4g}" if isinstance(v, float) else str(v) for n, v in best["params"].items()}
        st.dataframe(pd.DataFrame({"setting": rows.keys(), "best": rows.values()}), hide_index=True)
        recipe = study.folder / "recipe.toml"
        if recipe.exists():
            with st.container(horizontal=True):
                keep_best(study, recipe, str(found["data"]["fingerprint"]))


def keep_best(study: Study, recipe: Path, fingerprint: str) -> None:
    """What to do with the best settings: train with them here, or take them away."""
    here = run_store().series_path(fingerprint).exists()
    if st.button(
        "Train with these",
        key="tune-train",
        icon=":material/play_arrow:",
        on_click=guarded(_train),
        args=(recipe, fingerprint),
        disabled=not here,
        help="Queues a run with the best settings, on the data of the search.",
    ):
        st.rerun()  # the run is shown in another part of the page
    st.download_button(
        "Save recipe",
        recipe.read_bytes(),
        f"{study.name}.toml",
        "application/toml",
        key="tune-recipe",
        icon=":material/save:",
        on_click="ignore",
        help="Give it to Recipe file above to train with it, or to `python -m trnn_core train --recipe`.",
    )


def gain(trials: list[dict], best: dict | None) -> str | None:
    first = next((t["value"] for t in trials if t["number"] == 0), None)
    return percent(best["value"] / first - 1, 1, signed=True) if best and first and best["value"] != first else None

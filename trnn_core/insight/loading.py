"""From a run to a view of its model, and whole answers about a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from trnn_core.data.windows import split_periods
from trnn_core.errors import TRNNError
from trnn_core.insight.answers import Influence, InfluenceSet, scale_matrix
from trnn_core.insight.dyad_view import DyadView
from trnn_core.insight.influence_matrices import (
    jacobian_by_period,
    jacobian_words,
    mltr_influence,
    network_modes,
    recent_origins,
)
from trnn_core.insight.library import stored_influence, weights_of
from trnn_core.insight.stability import Stability, between, from_data, over_trainings, retrain
from trnn_core.insight.view import NetworkView, View
from trnn_core.jobs.context import Progress, quiet, within
from trnn_core.models.baselines.mltr import JointMLTR
from trnn_core.models.recommended import Recommended
from trnn_core.runs import layout
from trnn_core.runs.recorder import add_results
from trnn_core.runs.restore import load_forecaster, load_network
from trnn_core.runs.run import ENDED, Run
from trnn_core.runs.store import RunStore


def load_view(store: RunStore | str | Path, run: Run | str) -> View:
    """The run's model, ready to be questioned; asked again for the same weights, it is still there."""
    store = store if isinstance(store, RunStore) else RunStore(store)
    run = store.get(run) if isinstance(run, str) else run
    return _view(str(store.root.resolve()), run.run_id, weights_of(run) or str(run.status().epoch))


@lru_cache(maxsize=2)
def _view(root: str, run_id: str, weights: str) -> View:
    store = RunStore(root)
    run = store.get(run_id)
    if run.recipe.model.network == "tensor":
        return NetworkView(*load_network(store, run))
    model, series = load_forecaster(store, run)
    assert isinstance(model, Recommended)
    data = run.recipe.data
    return DyadView(model, series, split_periods(len(series), data.validation, data.test).train.stop)


def tensor_only(view: View) -> NetworkView:
    """The view of a model that knows ties between particular countries; one sentence for any other."""
    if not isinstance(view, NetworkView):
        raise TRNNError(
            "This model shares one set of weights among all pairs of countries, so it knows no ties between particular"
            " ones. Train a tensorial network (the preset quick) to see who moves whom."
        )
    return view


def explain_influence(view: View, progress: Progress = quiet, members: list[Influence] | None = None) -> InfluenceSet:
    """Influence three ways, with standard errors from the data, or from further trainings where there are any."""
    view = tensor_only(view)
    origins = recent_origins(view)
    by_period = jacobian_by_period(view, origins, progress=within(progress, 0.0, 0.7))
    found = Influence.of((m.mean(axis=0) for m in by_period), jacobian_words(view, len(origins)))
    learnt = view.series.select(periods=slice(0, view.unseen))
    progress(0.75, "Hoff's regression on the same weeks")
    fitted = JointMLTR().fit(learnt)
    regression = mltr_influence(learnt, fitted)
    progress(0.85, "standard errors")
    stability: Stability = over_trainings(members) if members else from_data(learnt, fitted, by_period, found)
    errors = []
    for matrix, error in zip(found.parts(), (stability.sender, stability.receiver, stability.action), strict=True):
        largest = abs(float(matrix.flat[abs(matrix).argmax()])) or 1.0
        errors.append(error * abs(float(scale_matrix(matrix).flat[abs(matrix).argmax()])) / largest)
    modes = network_modes(view)
    progress(1.0, "Influence is known.")
    return InfluenceSet(
        found.scaled(),
        regression.scaled(),
        modes.scaled() if modes else None,
        (errors[0], errors[1], errors[2]),
        stability.solid(found),
        stability.words,
        len(members or ()),
        between(members or []),
        view.series.actors,
        view.series.actions,
    )


def explain_run(
    store: RunStore,
    run: Run,
    progress: Progress = quiet,
    retrained: bool = False,
    stopping: Callable[[], bool] = lambda: False,
) -> InfluenceSet:
    """The influence of a run, kept with it as explanation.npz where the run has ended; a check by retraining is not
    undone."""
    if not retrained and (kept := stored_influence(run)) is not None and kept.retrained:
        return kept
    view, members, share = load_view(store, run), None, 1.0
    if retrained:
        tensor_only(view)
        members = retrain(store.series(run), run.recipe, progress=within(progress, 0.0, 0.9), stopping=stopping)
        share = 0.1
    found = explain_influence(view, within(progress, 1 - share, 1.0), members)
    if run.status().state in ENDED:
        add_results(run, {layout.EXPLANATION: found.to_npz()})
    return found

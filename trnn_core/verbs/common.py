"""What several verbs share: options that are spelt alike, finding a run, naming a relation, telling a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from trnn_core.errors import TRNNError
from trnn_core.files import write_atomic
from trnn_core.jobs.context import Context, Progress
from trnn_core.runs.run import Run
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe
from trnn_core.verbs.request import BaseRequest, Option

if TYPE_CHECKING:
    import pandas as pd

    from trnn_core.insight.view import View

ANSWER = "answer.npz"  # the result of a question asked as a job
Told: TypeAlias = "tuple[list[str], pd.DataFrame, dict[str, Any]]"

RunName = Annotated[str, Option(positional=True, metavar="RUN")]
Workers = Annotated[int | None, Option("processes (as many as processors)", role="resources")]
CLUSTER = "address of a Dask scheduler to work on (default: TRNN_CLUSTER, else here)"
Cluster = Annotated[str | bool | None, Option(CLUSTER, role="resources")]  # a page says only whether


class Question(BaseRequest):
    """A question to a run's network; `weights` is the checksum of those it is asked about, where they matter."""

    run: RunName
    out: Annotated[Path | None, Option("write the whole table there", metavar="FILE.csv", role="here")] = None
    weights: str | None = None


class RelationQuestion(Question):
    """A question about what one country does to another."""

    source: Annotated[str, Option("who acts", metavar="COUNTRY")]
    target: Annotated[str, Option("who is acted upon", metavar="COUNTRY")]
    action: Annotated[str, Option("the kind of act, for example 'material conflict'")]


def store_of(context: Context) -> RunStore:
    return RunStore(context.runs)


def open_run(request: Question, context: Context) -> tuple[Run, View]:
    """The run and a view of its model; torch is loaded only now."""
    import torch

    from trnn_core.insight.loading import load_view

    torch.set_num_threads(1)
    store = store_of(context)
    run = store.get(request.run)
    context.progress(0.05, "Loading the network.")
    view = load_view(store, run)
    context.progress(0.2, "Computing.")
    return run, view


def relation(request: RelationQuestion, view: View) -> tuple[int, int, int]:
    """The positions of sender, receiver and action; capitals do not matter."""
    return (
        position(request.source, view.series.actors, "country"),
        position(request.target, view.series.actors, "country"),
        position(request.action, view.series.actions, "action"),
    )


def position(text: str, names: tuple[str, ...], what: str) -> int:
    if text in names:
        return names.index(text)
    for i, name in enumerate(names):
        if name.casefold() == text.strip().casefold():
            return i
    raise TRNNError(
        f"The {what} must be one of the run's {len(names)} ({', '.join(names[:4])}, ...). Got {text!r} instead."
    )


class Answer:
    """The result of a question: sentences and a table, put into words when they are asked for; the table is written
    where it was wanted.

    make    gives the sentences, the table, and what else there is to know
    n       rows that are shown
    """

    code = 0

    def __init__(self, out: Path | None, make: Callable[[], Told], n: int = 15, value: Any = None):
        self.out, self._make, self.n, self.value = out, make, n, value
        if out:
            from trnn_core.export.tables import to_csv

            write_atomic(out, to_csv(self.told[1]))

    @cached_property
    def told(self) -> Told:
        return self._make()

    def words(self) -> str:
        sentences, table, _ = self.told
        shown = table.head(self.n).to_string(index=False, float_format=lambda x: f"{x:.3g}")
        return "\n".join([*sentences, *([shown] if len(table) else [])])

    def facts(self) -> dict[str, Any]:
        sentences, table, about = self.told
        rows = json.loads(table.head(self.n).to_json(orient="records"))
        out = str(self.out) if self.out else None
        return {**about, "sentences": sentences, "rows": rows, "n_rows": len(table), "out": out}


def counted(progress: Progress, total: int, form: str = "[{}/{}] {}") -> Progress:
    """Progress whose words begin with the number of the step, for a terminal."""
    return lambda done, message: progress(done, form.format(round(done * total), total, message))


def changed(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """A recipe with NAME=VALUE settings from the command line."""
    pairs = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise TRNNError(f"A setting must be NAME=VALUE, for example train.epochs=50. Got {text!r} instead.")
        pairs[name.strip()] = value.strip()
    return recipe.changed(**pairs)

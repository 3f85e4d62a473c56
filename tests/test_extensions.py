"""One new file and one line of registration add a kind of anything: each is added here at run time and then used."""

from __future__ import annotations

import importlib
import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.training.small import TINY
from trnn_core.cells.kinds import CELLS, CellKind
from trnn_core.cli import main
from trnn_core.data.readers import FORMATS, read_series
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation import forecasters
from trnn_core.evaluation.metrics import SCORES, Score, score_words
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.results import BacktestResult
from trnn_core.evaluation.rolling_origins import part_name, parts_of
from trnn_core.evaluation.score_tables import leaderboard_text
from trnn_core.evaluation.scoring import run_block
from trnn_core.models.likelihoods import LIKELIHOODS
from trnn_core.models.model_config import ModelConfig
from trnn_core.models.registry import BASELINES
from trnn_core.models.size import count_parameters
from trnn_core.runs.backtests import pack, unpack
from trnn_core.runs.execute import train_run
from trnn_core.runs.store import RunStore
from trnn_core.training.config import Recipe
from trnn_core.training.trainer import fit
from trnn_core.verbs import VERBS, Verb, load
from trnn_core.verbs.as_job import start

PROTOCOL = Protocol(min_origins=6, horizon=2)
AddFile = Callable[[str, str, str], ModuleType]


@pytest.fixture
def add_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AddFile:
    """Put one more file into a folder of the house, for as long as the test runs."""

    def add(package: str, name: str, source: str) -> ModuleType:
        folder = tmp_path / package
        folder.mkdir()
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
        home = importlib.import_module(package)
        monkeypatch.setattr(home, "__path__", [*home.__path__, str(folder)])
        importlib.invalidate_caches()
        return importlib.import_module(f"{package}.{name}")

    return add


def scored(series: RelationalSeries, model: str, **options: object) -> BacktestResult:
    parts = parts_of(series, {model: dict(options)}, PROTOCOL)
    return BacktestResult.of(series, PROTOCOL, {model: run_block(series, parts[0])})


LAPLACE = """
from trnn_core.models.likelihoods.likelihood import Likelihood

class Laplace(Likelihood):
    name, label = "laplace", "Laplace"
    loss_words = "mean negative Laplace log-likelihood on the scale of '{transform}'"
    parameters = ("log_width",)

    def cost(self, raw, target, **parameters):
        log_width = parameters["log_width"]
        return (target - raw).abs() * (-log_width).exp() + log_width
"""


def test_a_likelihood(small_series, add_file, monkeypatch):
    with pytest.raises(
        TRNNError, match=r"'model.likelihood' must be one of 'squared', .* or 'cross_entropy'. Got 'lap"
    ):
        ModelConfig(likelihood="laplace")
    laplace = add_file("trnn_core.models.likelihoods", "laplace", LAPLACE).Laplace()
    monkeypatch.setitem(LIKELIHOODS, "laplace", laplace)
    recipe = TINY.changed(**{"model.likelihood": "laplace", "train.epochs": 4, "model.dropout": 0.0})
    fitted = fit(small_series, recipe)
    assert "Laplace log-likelihood on the scale of 'log1p'" in fitted.learner.loss_scale
    assert fitted.history[-1]["train_loss"] < fitted.history[0]["train_loss"]
    assert np.abs(fitted.learner.weights()["log_width"]).min() > 0, "its own parameter must be learnt too"
    assert fitted.learner.n_parameters == count_parameters(recipe.model, (6, 6, 4), (6, 6, 4))
    assert np.isfinite(fitted.learner.forecaster().forecast(small_series, 2).mean).all()
    board = scored(small_series, "network", recipe=recipe.model_dump()).leaderboard()
    assert np.isfinite(board["crps"]).all()


CELL = '''
from trnn_core.cells.rnn import TensorRNN

class Leaky(TensorRNN):
    """H_t halved before it is read out."""

    def run(self, inputs, walk, states=None):
        outputs, finals = super().run(inputs, walk, states)
        return outputs / 2, finals
'''


def test_a_cell(small_series, add_file, monkeypatch):
    settings = {"model.cell": "leaky", "data.design": "many-to-many", "train.epochs": 4}
    with pytest.raises(TRNNError, match=r"'model.cell' must be one of 'lstm', 'gru', 'elman' or 'jordan'"):
        TINY.changed(**settings)
    add_file("trnn_core.cells", "leaky", CELL)
    monkeypatch.setitem(
        CELLS, "leaky", CellKind("leaky tRNN", "trnn_core.cells.leaky:Leaky", "h", "h", ("candidate_activation",))
    )
    recipe = TINY.changed(**settings)
    fitted = fit(small_series, recipe)
    other = fit(small_series, TINY.changed(**{**settings, "model.cell": "elman"}))
    assert "leaky tRNN" in fitted.learner.describe()
    assert fitted.history[-1]["train_loss"] < fitted.history[0]["train_loss"] != other.history[0]["train_loss"]
    assert np.isfinite(fitted.learner.forecaster().forecast(small_series, 2).mean).all()
    assert fitted.learner.n_parameters == count_parameters(recipe.model, (6, 6, 4), (6, 6, 4))


BASELINE = """
from trnn_core.models.baselines.level_forecaster import LevelForecaster

class Silence(LevelForecaster):
    name = "silence"

    def _levels(self, panel, origins, step):
        return 0 * panel.level[origins]
"""


def test_a_baseline(small_series, add_file, monkeypatch):
    add_file("trnn_core.models.baselines", "silence", BASELINE)
    monkeypatch.setitem(BASELINES, "silence", ("silence:Silence", "silence", "nothing happens in any {period}"))
    assert "silence" in forecasters.names()
    assert forecasters.describe("silence", "week") == "nothing happens in any week"
    result = scored(small_series, "silence")
    level = np.log1p(small_series.values[-6:])[:, ~np.eye(6, dtype=bool)]
    assert result.leaderboard().loc[0, "mse"] == pytest.approx((level**2).mean())
    assert result.best_baseline("mse") == "silence"


READER = """
import csv, io

import numpy as np

from trnn_core.data.readers.inputs import open_input
from trnn_core.data.series import Provenance, RelationalSeries


def recognise(head, name):
    return head.startswith(b"TREATIES")


def read(inputs, options, progress=None):
    with open_input(inputs[0], options) as file:
        rows = list(csv.reader(io.StringIO(file.read().decode())))[1:]
    actors = sorted({name for row in rows for name in row[1:3]})
    dates = np.array(sorted({row[0] for row in rows}), dtype="datetime64[D]")
    values = np.zeros((len(dates), len(actors), len(actors), 1))
    for date, source, target in rows:
        values[list(dates).index(np.datetime64(date)), actors.index(source), actors.index(target)] += 1
    return RelationalSeries(values, dates, tuple(actors), ("treaty",), source=Provenance("Treaties"))
"""


def test_a_reader(tmp_path, add_file, monkeypatch):
    file = tmp_path / "treaties.csv"
    weeks = "".join(f"2004-01-{day:02d},France,Japan\n2004-01-{day:02d},Japan,Peru\n" for day in (1, 8, 15))
    file.write_text(f"TREATIES,source,target\n{weeks}")
    add_file("trnn_core.data.readers", "treaties", READER)
    monkeypatch.setitem(FORMATS, "treaties", "a list of treaties")
    series = read_series(file)
    assert series.source.title == "Treaties" and series.actors == ("France", "Japan", "Peru")
    assert (
        series.values[:, 0, 1, 0].tolist()
        == [1, 1, 1]
        == read_series(file, format="treaties").values[:, 1, 2, 0].tolist()
    )


def test_a_score(small_series, monkeypatch):
    before = scored(small_series, "persistence")
    part = parts_of(small_series, {"persistence": {}}, PROTOCOL)[0]
    old_name = part_name(small_series, part)
    monkeypatch.setitem(SCORES, "overshoot", Score(lambda o: np.maximum(o.expected - o.actual, 0), "overshoot", "over"))
    assert part_name(small_series, part) != old_name, "a stored part that lacks the score must not be reused"
    result = unpack(pack(scored(small_series, "persistence")))
    level = np.log1p(small_series.values)[:, ~np.eye(6, dtype=bool)]
    expected = np.maximum(level[-7:-1] - level[-6:], 0).mean()
    assert result.leaderboard().loc[0, "overshoot"] == pytest.approx(expected)
    assert " over " in f"{leaderboard_text(result).splitlines()[0]} " and score_words()["overshoot"] == "overshoot"
    assert set(result.table()["metric"]) - set(before.table()["metric"]) == {"overshoot"}
    assert result.by_dyad(("overshoot",))["value"].mean() >= 0
    kept = without_names(pack(before))
    assert kept.table().equals(before.table()), "a backtest stored before scores had names still opens"
    assert "over" not in leaderboard_text(kept).split()


def without_names(content: bytes) -> BacktestResult:
    with np.load(io.BytesIO(content)) as stored:
        arrays = {name: array for name, array in stored.items() if not name.endswith(".names")}
    out = io.BytesIO()
    np.savez(out, **arrays)
    return unpack(out.getvalue())


def test_what_was_added_is_gone_afterwards():
    """Runs last: the tables are as they were, and a recipe that names an unknown kind is refused."""
    for settings in ({"model": {"likelihood": "laplace"}}, {"model": {"cell": "leaky"}}):
        with pytest.raises(TRNNError, match="must be one of"):
            Recipe(**settings)


EXPLANATION = '''
"""`loudest RUN`: the relation of which the network expects most."""
from trnn_core.verbs.request import Said
from trnn_core.verbs.common import Question, open_run

HELP = "name the relation of which the network expects most"


class Request(Question):
    pass


def run(request, context):
    import numpy as np

    found, view = open_run(request, context)
    forecast = view.forecaster.forecast(view.series, 1)
    i, j, k = (int(n) for n in np.unravel_index(np.argmax(forecast.mean[0]), forecast.mean.shape[1:]))
    words = f"{view.series.actors[i]} to {view.series.actors[j]}: {view.series.actions[k]}"
    context.write("answer.txt", words.encode())
    return Said(words, {"run": found.run_id, "loudest": words})
'''


def test_an_explanation(small_series, tmp_path, add_file, monkeypatch, capsys):
    """A question to a trained network: one file among the verbs, one line in their table."""
    add_file("trnn_core.verbs", "loudest", EXPLANATION)
    monkeypatch.setitem(VERBS, "loudest", Verb("trnn_core.verbs.loudest", "explain", 600.0))
    store = RunStore(tmp_path / "runs")
    train_run(store, store.create(TINY, small_series, run_id="r", state="paused"))
    assert main(["loudest", "r", "--json", "--runs", str(store.root)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["run"] == "r" and " to " in told["loudest"]
    monkeypatch.setattr("trnn_core.jobs.queue.ensure_worker", lambda store: False)
    job = start(store, "loudest", load("loudest").Request(run="r"))
    VERBS["loudest"].take()(store, job.job_id, threading.Event())
    assert job.status().state == "done" and job.read("answer.txt").decode() == told["loudest"]

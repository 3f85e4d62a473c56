"""The backtest: same origins for all, same table every time and everywhere, nothing lost when interrupted."""

from __future__ import annotations

import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trnn_core.cli import main
from trnn_core.data.readers.npz import write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.rolling_origins import backtest
from trnn_core.evaluation.score_tables import write_tables
from trnn_core.files import npz_bytes
from trnn_core.runs.backtests import pack, unpack

MODELS = ["persistence", "ewma", "relational_ar"]
SHORT = Protocol(min_origins=12, horizon=2)


@pytest.fixture(scope="module")
def series() -> RelationalSeries:
    rng = np.random.default_rng(5)
    walk = np.cumsum(0.25 * rng.standard_normal((120, 5, 5, 2)), axis=0) * (1 - np.eye(5))[:, :, None]
    rates = np.exp(np.clip(walk, -3, 2)) * (1 - np.eye(5))[:, :, None]
    dates = np.datetime64("2004-01-01") + 7 * np.arange(120)
    return RelationalSeries(rng.poisson(rates).astype(float), dates, tuple("ABCDE"), ("verbal", "material"))


@pytest.fixture(scope="module")
def result(series):
    with ThreadPoolExecutor(1) as here:
        return backtest(series, MODELS, SHORT, executor=here)


class Elsewhere(ThreadPoolExecutor):
    """A place that may change what it was asked to compute."""

    made_on = "cluster lab:8786"

    def __init__(self, change=lambda scores: scores):
        super().__init__(1)
        self.change = change

    def submit(self, call, /, *arguments):
        return super().submit(lambda: self.change(call(*arguments)))


def test_results_say_where_they_were_made_parts_of_earlier_backtests_included(series, result, tmp_path):
    assert result.made_on == ("this machine",)
    with Elsewhere() as there:
        parts = backtest(series, ["ewma"], SHORT, executor=there, store=tmp_path)
    assert parts.made_on == ("cluster lab:8786",)
    both = backtest(series, ["ewma", "mean"], SHORT, store=tmp_path, each=lambda *_: None)
    assert both.made_on == ("cluster lab:8786", "this machine")
    assert unpack(pack(both)).made_on == both.made_on
    with np.load(io.BytesIO(pack(both)), allow_pickle=False) as stored:
        older = npz_bytes(**{name: stored[name] for name in stored.files if "made_on" not in name})
    assert unpack(older).made_on == (), "one that was stored before this was noted still opens"


@pytest.mark.parametrize(
    "change, said",
    [
        ({"table": np.zeros((1, 2))}, "must be numbers of shape"),
        ({"pit_n": np.full((2, 4), "x")}, "must be numbers of shape"),
        ({"origins": np.arange(12)}, "other periods than were asked for"),
    ],
)
def test_scores_that_do_not_answer_the_question_are_refused(change, said, series):
    with Elsewhere(lambda scores: replace(scores, **change)) as there, pytest.raises(TRNNError, match=said):
        backtest(series, ["ewma"], SHORT, executor=there)


def test_the_protocol_is_told_in_words_with_the_origins_really_scored(series):
    words = SHORT.describe(series)
    assert "12 origins from 2006-01-19 to 2006-04-06" in words
    assert "12 at step 1, 11 at step 2" in words and "fitted once, on the 108 weeks" in words


def test_a_share_of_the_periods_but_at_least_so_many_origins():
    assert len(Protocol(test=0.1).origins(1702)) == 170
    assert len(Protocol(test=0.1).origins(448)) == 50
    assert Protocol(min_origins=10).origins(100) == range(89, 99)
    with pytest.raises(TRNNError, match="needs at least 100"):
        Protocol(test=0.1).origins(60)


def test_refits_cut_the_origins_into_blocks_in_order_of_time():
    blocks = Protocol(min_origins=10, refit_every=4).blocks(100)
    assert [len(b) for b in blocks] == [4, 4, 2] and [t for b in blocks for t in b] == list(range(89, 99))


def test_all_models_are_scored_on_the_same_origins_steps_and_actions(result):
    table = result.table()
    assert list(table.columns) == ["model", "origin", "horizon", "action", "metric", "value"]
    kept = [g[["origin", "horizon", "action", "metric"]].to_numpy().tolist() for _, g in table.groupby("model")]
    assert kept[0] == kept[1] == kept[2]
    assert set(table["action"]) == {"verbal", "material", "all"} and set(table["horizon"]) == {1, 2}
    assert table[table.horizon == 1].origin.nunique() == 12 and table[table.horizon == 2].origin.nunique() == 11


def test_persistence_scores_are_what_one_reckons_by_hand(result, series):
    off = ~np.eye(5, dtype=bool)
    level = np.log1p(series.values)
    expected = [((level[t + 1] - level[t])[off] ** 2).mean() for t in SHORT.origins(120)]
    np.testing.assert_allclose(result.losses("persistence", "mse"), expected, rtol=1e-6)


def test_dyads_and_countries_average_to_the_whole(result):
    whole = float(np.mean(result.losses("ewma", "crps")))
    dyads, countries = result.by_dyad(), result.by_country()
    for frame in (dyads, countries[countries.role == "source"], countries[countries.role == "target"]):
        mine = frame[(frame.model == "ewma") & (frame.metric == "crps") & (frame.horizon == 1)]
        assert mine["value"].mean() == pytest.approx(whole)
    assert len(dyads[(dyads.model == "ewma") & (dyads.metric == "mse") & (dyads.horizon == 1)]) == 20 * 2


def test_the_leaderboard_states_skill_and_significance(result):
    board = result.leaderboard().set_index("model")
    assert list(board["mse"]) == sorted(board["mse"])
    best = board["mse"].idxmin()
    assert board.loc[best, "mse_skill_best"] == 0 and np.isnan(board.loc[best, "p_mse"])
    assert board.loc["persistence", "mse_skill_persistence"] == 0
    ratio = board.loc["ewma", "mse"] / board.loc["persistence", "mse"]
    assert board.loc["ewma", "mse_skill_persistence"] == pytest.approx(1 - ratio)
    assert (board["n_origins"] == 12).all() and board["coverage90"].between(0, 1).all()
    assert result.leaderboard(2)["n_origins"].iloc[0] == 11
    with pytest.raises(TRNNError, match=r"must lie in 1\.\.2"):
        result.leaderboard(3)


def test_two_processes_give_the_bits_of_one(series, result):
    again = backtest(series, MODELS, SHORT, workers=2)
    for name in MODELS:
        np.testing.assert_array_equal(again.scores[name].table, result.scores[name].table)
        np.testing.assert_array_equal(again.scores[name].pit, result.scores[name].pit)


def test_an_interrupted_backtest_goes_on_where_it_stopped(series, tmp_path):
    protocol = Protocol(min_origins=12, refit_every=6)

    class Stop(Exception):
        pass

    def stop_after_two(done, what):
        if done == 2 / 6:
            raise Stop

    with ThreadPoolExecutor(1) as here:
        with pytest.raises(Stop):
            backtest(series, MODELS, protocol, executor=here, store=tmp_path, progress=stop_after_two)
        n_stored = len(list(tmp_path.glob("*.npz")))
        assert 2 <= n_stored < 6
        seen: list[str] = []
        resumed = backtest(
            series, MODELS, protocol, executor=here, store=tmp_path, progress=lambda *a: seen.append(a[1])
        )
        fresh = backtest(series, MODELS, protocol, executor=here)
    assert sum("scored before" in what for what in seen) == n_stored and len(seen) == 6
    for name in MODELS:
        np.testing.assert_array_equal(resumed.scores[name].table, fresh.scores[name].table)


def test_a_damaged_part_is_named(series, tmp_path):
    with ThreadPoolExecutor(1) as here:
        backtest(series, ["mean"], SHORT, executor=here, store=tmp_path)
        part = next(tmp_path.glob("*.npz"))
        part.write_bytes(part.read_bytes()[:200])
        with pytest.raises(TRNNError, match=f"{part.name} is not"):
            backtest(series, ["mean"], SHORT, executor=here, store=tmp_path)


OWN_MODEL = """
import os
from pathlib import Path
from trnn_core.models.baselines.persistence import Persistence

class Dying(Persistence):
    def __init__(self, marker):
        super().__init__()
        self.marker = Path(marker)

    def fit(self, series):
        if not self.marker.exists():
            self.marker.touch()
            os._exit(9)
        return super().fit(series)
"""


def test_a_process_that_dies_is_replaced_and_nothing_is_lost(series, tmp_path, monkeypatch, result):
    (tmp_path / "own_model.py").write_text(OWN_MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    models = {"own_model:Dying": {"marker": str(tmp_path / "died")}, "ewma": {}}
    survived = backtest(series, models, SHORT, workers=1)
    assert (tmp_path / "died").exists()
    np.testing.assert_array_equal(survived.scores["own_model:Dying"].table, result.scores["persistence"].table)
    np.testing.assert_array_equal(survived.scores["ewma"].table, result.scores["ewma"].table)


def test_the_environment_is_left_as_it_was(series, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    backtest(series, ["mean"], Protocol(min_origins=8), workers=1)
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_an_unknown_model_is_refused_before_any_work(series):
    with pytest.raises(TRNNError, match=r"must be one of .*relational_ar"):
        backtest(series, ["oracle"], SHORT)


@pytest.fixture(scope="module")
def data_file(series, tmp_path_factory) -> Path:
    return write_npz(series, tmp_path_factory.mktemp("data") / "small.npz")


def test_the_command_gives_the_same_files_every_time(data_file, tmp_path, capsys):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        command = ["backtest", "--data", str(data_file), "--models", "persistence,ewma", "--min-origins", "12"]
        assert main([*command, "--out", str(tmp_path / name / "B.csv")]) == 0
    shown = capsys.readouterr().out
    assert "Rolling origins: 12 origins" in shown and "ewma" in shown and "12 origins scored" in shown
    names = sorted(p.name for p in (tmp_path / "one").iterdir())
    assert "B.csv" in names and "B.leaderboard.csv" in names and not any(n.endswith(".parts") for n in names)
    for n in names:
        assert (tmp_path / "one" / n).read_bytes() == (tmp_path / "two" / n).read_bytes(), n


def test_written_tables_are_read_back(result, tmp_path):
    write_tables(result, tmp_path / "B.csv")
    scores, board, pit = (pd.read_csv(tmp_path / f"B{name}.csv") for name in ("", ".leaderboard", ".pit"))
    about = json.loads((tmp_path / "B.json").read_text(encoding="utf-8"))
    assert list(board["model"][:3]) == list(result.leaderboard()["model"])
    assert len(scores) == len(result.table())
    assert len(pd.read_parquet(tmp_path / "B.dyads.parquet")) == len(result.by_dyad())
    assert about["protocol_in_words"] == result.words and about["n_origins"] == 12
    curve = pit.query("model == 'ewma' and horizon == 1 and group == 'all'")["share"].to_numpy()
    assert curve[0] == 0 and curve[-1] == pytest.approx(1) and (np.diff(curve) >= 0).all()


def test_bad_input_ends_with_one_sentence_and_exit_code_2(data_file, tmp_path, capsys):
    assert main(["backtest", "--data", str(data_file), "--models", "oracle"]) == 2
    assert main(["backtest", "--data", str(data_file), "--models", "mean", "--out", str(tmp_path / "b.txt")]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert "must be one of" in errors[0] and "must name a .csv file" in errors[1]

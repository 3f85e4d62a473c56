"""A backtest from every side: each view is checked against the table it comes from, and the sentences against the figures."""

from __future__ import annotations

import numpy as np
import pytest

from trnn_core.charts import accuracy as charts
from trnn_core.charts.look import Look
from trnn_core.data.series import Provenance, RelationalSeries
from trnn_core.evaluation import views
from trnn_core.evaluation.findings import headline, p_text, p_value, speaker
from trnn_core.evaluation.forecasters import RUN_NETWORK, describe, label, names
from trnn_core.evaluation.intervals import GROUPS
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.results import ALL
from trnn_core.evaluation.rolling_origins import backtest
from trnn_core.export.backtest_report import backtest_workbook, board_csv_table, board_latex, facts, report_blocks
from trnn_core.export.blocks import Chart, Table, Text

HOSTILE = ("=cmd|x", "<b>B</b>", 'C, "D"', "É & F", "G_%")


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(3)
    rates = np.exp(rng.normal(0, 1, (1, 5, 5, 2)) + 0.4 * np.sin(np.arange(120) / 9)[:, None, None, None])
    values = rng.poisson(rates * (1 - np.eye(5))[:, :, None]).astype(float)
    dates = np.datetime64("2004-01-01") + 7 * np.arange(120)
    series = RelationalSeries(
        values, dates, HOSTILE, ("verbal", "material"), source=Provenance(title="Made up", simulated=True)
    )
    return backtest(series, ["persistence", "mean", "ewma"], Protocol(min_origins=20, horizon=3), each=lambda *_: None)


def test_the_board_is_the_leaderboard_by_the_chosen_score(result):
    for metric, step, action in (("mse", 1, ALL), ("crps", 3, "material")):
        board = views.board(result, metric, step, action).set_index("model")
        whole = result.leaderboard(step, action).set_index("model")
        assert list(board["error"]) == sorted(whole[metric]) and (board["origins"] == 21 - step).all()
        best = result.best_baseline(metric, step, action)
        assert board.loc[best, "luck"] == "the best simple method" and board.loc[best, "skill_best"] == 0
        assert board.loc["persistence", "p"] == p_value(result, "persistence", best, metric, step, action)
        if metric in ("mse", "crps"):
            np.testing.assert_array_equal(board["p"], whole[f"p_{metric}"].reindex(board.index))


def test_views_average_to_the_whole(result):
    whole = float(np.nanmean(result.losses("ewma", "mse", 2)))
    time = views.over_time(result, "mse", 2, ALL)
    assert len(time) == 19 and time.index[0] == result.calendar[2] and time["ewma"].mean() == pytest.approx(whole)
    assert views.by_action(result, "mse", 2)["ewma"].mean() == pytest.approx(whole)
    assert views.by_step(result, "mse", ALL).loc[2, "ewma"] == pytest.approx(whole)
    assert np.nanmean(views.by_pair(result, "ewma", "mse", 2, ALL)) == pytest.approx(whole)
    countries = views.by_country(result, "ewma", "mse", 2, ALL)
    assert countries["sent"].mean() == pytest.approx(whole) and countries["received"].mean() == pytest.approx(whole)
    pairs = views.hardest_pairs(result, "ewma", "mse", 2, ALL, n=100)
    assert pairs["share"].sum() == pytest.approx(1) and pairs["error"].is_monotonic_decreasing
    assert set(views.hardest_pairs(result, "ewma", "mse", 2, "material")["action"]) == {"material"}


def test_the_pit_bars_are_shares_and_the_groups_are_told(result):
    for group in GROUPS:
        assert views.pit_bars(result, "mean", 1, group).sum() == pytest.approx(1)
    table = views.coverage_groups(result, 1)
    assert set(table["group"]) == set(GROUPS) and table["coverage90"].between(0, 1).all()


def test_the_sentences_tell_the_figures(result):
    assert speaker(result) == result.leaderboard()["model"].iloc[0]
    said = " ".join(headline(result, "ewma", "mse", 1))
    skill = result.skill("ewma", "persistence", "mse", 1, ALL)
    p = p_value(result, "ewma", "persistence", "mse", 1, ALL)
    assert said.startswith("On 20 past weeks, one week ahead, smoothed past was")
    assert (
        f"{100 * abs(skill):.1f}\u00a0% {'better' if skill > 0 else 'worse'} than repeating the last week (squared error, {p_text(p)}"
        in said
    )
    assert f"held {100 * np.mean(result.losses('ewma', 'coverage90')):.1f}\u00a0% of what came" in said
    assert (
        "2 weeks ahead" in headline(result, "mean", step=2)[0] and "On 19 past" in headline(result, "mean", step=2)[0]
    )
    worse = " ".join(headline(result, "persistence"))
    assert "worse than the best simple method" in worse and worse.startswith("On 20 past weeks")


@pytest.mark.parametrize("dark", [False, True])
def test_every_chart_has_title_units_and_the_simulated_mark(result, dark):
    board, models = views.board(result), list(result.scores)
    look, unit = Look(simulated=True, dark=dark), "squared error"
    figures = [
        charts.errors_by_model(board["model"].tolist(), board["error"].tolist(), "ewma", look, unit=unit),
        charts.errors_over_time(views.over_time(result, "mse", 1, ALL), models, look, unit=unit, period="week"),
        charts.errors_by_group(
            views.by_action(result, "mse", 1), models, look.or_else("Error by action"), unit=unit, axis="action"
        ),
        charts.errors_by_country(views.by_country(result, "ewma", "mse", 1, ALL), look, unit=unit),
        charts.pit_histogram(views.pit_bars(result, "ewma", 1), look),
        charts.coverage_by_group(views.coverage_groups(result, 1), models, GROUPS, look),
    ]
    for figure in figures:
        assert figure.layout.title.text and "SIMULATED" in figure.layout.title.subtitle.text
        assert figure.layout.xaxis.title.text and figure.layout.yaxis.title.text
        assert "<b>B</b>" not in figure.to_json().replace("\\u003c", "<").replace("\\u003e", ">").replace("&lt;", "(")


def test_what_is_taken_away_says_where_it_came_from_and_is_harmless(result):
    import io

    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(backtest_workbook(result, "mse", 1, ALL, "ewma")))
    assert book.sheetnames == [
        "Leaderboard",
        "By origin",
        "By action",
        "By country",
        "Calibration",
        "Largest misses",
        "About",
    ]
    assert len(list(book["Leaderboard"].rows)) == 1 + 3 * 3
    cells = [c for sheet in book for row in sheet.rows for c in row]
    assert any(c.value == HOSTILE[0] for c in cells) and all(c.data_type != "f" for c in cells)
    about = " ".join(str(c.value) for row in book["About"].rows for c in row)
    assert "SIMULATED" in about and result.words in about and result.fingerprint in about
    tex = board_latex(result, "mse", 2, "material", "squared error")
    assert "SIMULATED" in tex and "2 weeks ahead, squared error, material; 19 origins" in tex and r"\bottomrule" in tex
    assert set(board_csv_table(result, "mse", 1)["data"]) == {"simulated"} and facts(result)[0].startswith("SIMULATED")


def test_a_report_tells_the_backtest_with_its_misses(result):
    blocks = report_blocks(result)
    assert isinstance(blocks[0], Text) and blocks[0].text.startswith("On 20 past weeks") and blocks[0].tone == "lead"
    tables = [b for b in blocks if isinstance(b, Table)]
    assert "What came" in tables[1].frame.columns and len(tables[1].frame) == 10
    assert [b.name for b in blocks if isinstance(b, Chart)] == ["leaderboard", "error-over-time", "pit", "calibration"]
    assert set(tables[0].frame["Model"]) == {"last week repeated", "long-run mean", "smoothed past"}
    read = " ".join(b.figure.to_json() if isinstance(b, Chart) else str(b) for b in blocks)
    assert "ewma" not in read and "persistence" not in read


@pytest.mark.parametrize("period", ["day", "week", "month", "year"])
def test_every_model_has_one_label_of_its_own_that_people_can_read(period):
    labels = {name: label(name, period) for name in (RUN_NETWORK, *names())}
    assert len(set(labels.values())) == len(labels)
    for name, words in labels.items():
        assert words and words != name and not set("_{}") & set(words) and not set("{}") & set(describe(name, period))
    assert labels["persistence"] == f"last {period} repeated"

"""The verbs that question a run: sentences for people, JSON for machines, one sentence for a mistake."""

from __future__ import annotations

import json

import pytest

from tests.trained_store import make_home
from trnn_core.cli import main
from trnn_core.insight.library import stored_influence
from trnn_core.runs.run import load_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return str(make_home(tmp_path_factory.mktemp("questions") / "home", n_actors=5, n_periods=80) / "runs")


def asked(capsys, *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_explain_impulse_unusual_and_influence(runs, capsys, tmp_path):
    cell = ("--source", "japan", "--target", "Ukraine", "--action", "verbal cooperation", "--runs", runs)
    found = asked(capsys, "explain", "first", *cell, "--out", str(tmp_path / "why.csv"))
    assert found["complete"] and found["gap"] <= 0.01 and found["simulated"]
    assert (tmp_path / "why.csv").read_text(encoding="utf-8-sig").startswith("source,target,action,contribution")
    assert asked(capsys, "impulse", "first", *cell, "--size", "9", "--horizon", "3")["size"] == 9
    assert asked(capsys, "unusual", "first", "--runs", runs)["n_rows"] > 60
    assert set(asked(capsys, "influence", "first", "--runs", runs)["agreement"]) == {"sender", "receiver", "action"}
    assert main(["explain", "first", *cell]) == 0
    assert "Association is not cause" in capsys.readouterr().out


def test_influence_checked_by_training_three_more_is_kept_and_not_undone(runs, capsys):
    before = asked(capsys, "influence", "first", "--runs", runs)
    checked = asked(capsys, "influence", "first", "--runs", runs, "--retrain")
    assert checked["retrained"] == 3 and before["retrained"] == 0
    assert "over 3 further trainings, each without another third" in checked["stability"]
    ours, theirs = ({(r["moves"], r["moved"]): r for r in x["rows"]} for x in (before, checked))
    both = ours.keys() & theirs.keys()
    assert both and all(
        ours[t]["influence"] == theirs[t]["influence"] and ours[t]["error"] != theirs[t]["error"] for t in both
    )
    assert all(-1 <= checked["between"][part] <= 1 for part in ("sender", "receiver", "action"))
    assert (
        asked(capsys, "influence", "first", "--runs", runs)["retrained"] == 3
    )  # asked again, the check is still there
    kept = stored_influence(load_run("first", runs))
    assert kept is not None and kept.retrained == 3 and load_run("first", runs).verify() == []


def test_scenarios_kept_compared_and_deleted(runs, capsys):
    ids = []
    for text in ("Japan,Ukraine,verbal conflict,+20", "Georgia,Japan,all,x3"):
        ids.append(asked(capsys, "scenario", "first", "--runs", runs, "--shock", text, "--save", text)["saved"])
    listed = json.loads(_out(capsys, "scenario", "first", "--runs", runs, "--list", "--json"))
    assert {row["id"] for row in listed} == set(ids)
    both = asked(capsys, "scenario", "first", "--runs", runs, "--compare", *ids)
    assert both["n_rows"] == 8 * 5 * 4 * 4 and {"first", "second", "apart"} <= set(both["rows"][0])
    assert asked(capsys, "scenario", "first", "--runs", runs, "--delete", ids[0]) == {"deleted": ids[0]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("scenario", "first", "--shock", "Japan,Ukraine,verbal conflict,lots"), "must be a number"),
        (("scenario", "first"), "needs --shock"),
        (
            ("explain", "first", "--source", "Atlantis", "--target", "Japan", "--action", "x"),
            "must be one of the run's 5",
        ),
        (("explain", "nowhere", "--source", "a", "--target", "b", "--action", "x"), "no run"),
    ],
)
def test_mistakes_get_one_sentence(runs, capsys, arguments, words):
    assert main([*arguments, "--runs", runs]) == 2
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1 and "Traceback" not in told


def _out(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out

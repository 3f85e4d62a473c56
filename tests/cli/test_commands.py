"""The command line is made from the requests: every option of every command, every line of the documentation."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from trnn_core.cli import main, make_parser, request_of
from trnn_core.verbs import VERBS, load

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "RUN --out --runs --json"
RELATION = f"{QUESTION} --source --target --action"

# What could be typed before the command line was made from the verbs, and must stay. Places are in capitals.
OPTIONS = {
    "backtest": "--data --run --models --out --test --min-origins --horizon --refit --diagonal --workers --cluster"
    " --parts --runs --json",
    "import": "FILES --out --actors --period --week-start --actions --value --diagonal --keep-partial --gaps"
    " --own-names --corrections --scheme --column --sheet --encoding --start --labels --title --licence --threads"
    " --quiet --json",
    "info": "FILE --json",
    "simulate": "--seed --out --actors --weeks --response --json",
    "train": "--data --preset --recipe --set --resume --queue --seeds --workers --cluster --run-id --name --tag --runs"
    " --json",
    "tune": "--data --study --preset --recipe --set --search --trials --batch --pruner --seed --workers --cluster"
    " --storage --out --runs --json",
    "runs": "ACTION NAMES --state --tag --text --runs --json",
    "stop": "NAMES --wait --runs --json",
    "pause": "NAMES --wait --runs --json",
    "cancel": "NAMES --wait --runs --json",
    "resume": "NAMES --runs --json",
    "worker": "--limit --idle-exit --detach --runs",
    "job": "VERB --only --slot --idle-exit --runs",
    "task": "VERB --only --slot --idle-exit --runs",
    "forecast": "RUN --horizon --out --runs --json",
    "report": "RUN --out --sections --runs --json",
    "export": "RUN --out --what --width-mm --dpi --runs --json",
    "explain": f"{RELATION} --step",
    "influence": f"{QUESTION} --part --retrain",
    "scenario": f"{QUESTION} --shock --horizon --save --list --delete --compare",
    "impulse": f"{RELATION} --size --horizon",
    "unusual": QUESTION,
}


def command(verb: str) -> argparse.ArgumentParser:
    (commands,) = (a for a in make_parser(verb)._actions if isinstance(a, argparse._SubParsersAction))
    return commands.choices[verb]


def test_every_command_is_there_and_no_other() -> None:
    assert {name for name, verb in VERBS.items() if verb.typed} == set(OPTIONS)


@pytest.mark.parametrize("verb", OPTIONS)
def test_a_command_has_the_options_it_had(verb: str) -> None:
    found = {name for a in command(verb)._actions for name in a.option_strings or [a.dest.upper()]}
    assert found == {*OPTIONS[verb].split(), "--debug", "-h", "--help"}
    assert all(a.help is not None for a in command(verb)._actions)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("forecast r --horizon 3", {"run": "r", "horizon": 3, "out": None}),
        ("runs", {"action": "list", "names": ()}),
        ("runs tag a b c", {"action": "tag", "names": ("a", "b", "c")}),
        (
            "backtest --data x.npz",
            {"models": ("persistence", "mean", "seasonal", "ewma", "nb_ewma", "ar", "relational_ar", "mltr")},
        ),
        ("backtest --data x.npz --models a,b", {"models": ("a", "b"), "data": "x.npz", "workers": None}),
        ("scenario r --shock A,B,c,+1 --shock D,E,f,x2", {"shocks": ("A,B,c,+1", "D,E,f,x2"), "horizon": 8}),
        ("scenario r --compare a b", {"compare": ("a", "b")}),
        (
            "train --data x --set train.epochs=3 --set a.b=c --tag t",
            {"settings": ("train.epochs=3", "a.b=c"), "tag": ("t",), "queue": False},
        ),
        ("stop r", {"names": ("r",), "wait": 60.0}),
        ("export r --out d --what tables,images --dpi 72", {"what": ("tables", "images"), "dpi": 72}),
        ("influence r --retrain", {"retrain": True, "part": "sender"}),
        ("worker --idle-exit 2", {"idle_exit": 2.0, "limit": None, "detach": False}),
    ],
)
def test_what_is_typed_is_the_request(line: str, expected: dict) -> None:
    words = line.split()
    found = request_of(load(words[0]).Request, make_parser(words[0]).parse_args(words))
    assert {name: getattr(found, name) for name in expected} == expected


def test_the_parts_of_settings_are_typed_one_by_one() -> None:
    words = [
        "import",
        "icews",
        "a.tab",
        "--out",
        "x.npz",
        "--week-start",
        "Thursday",
        "--own-names",
        "--column",
        "date=When",
        "--threads",
        "1",
    ]
    options = request_of(load("import").Request, make_parser("import").parse_args(words)).options  # type: ignore[attr-defined]
    assert (options.week_start, options.countries, options.columns) == ("thursday", False, {"date": "When"})
    assert options.actors == 25 and options.diagonal is False
    words = ["backtest", "--data", "x.npz", "--test", "0.2", "--refit", "4", "--diagonal"]
    protocol = request_of(load("backtest").Request, make_parser("backtest").parse_args(words)).protocol  # type: ignore[attr-defined]
    assert (protocol.test, protocol.refit_every, protocol.diagonal, protocol.horizon) == (0.2, 4, True, 1)


@pytest.mark.parametrize(
    "line", ["forecast", "forecast r --horizon few", "influence r --part left", "sing", "report r"]
)
def test_what_cannot_be_read_is_bad_input(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2 and "error: " in capsys.readouterr().err


def typed_lines() -> list[tuple[str, str]]:
    """Every command line in the documentation; '...' and '[a|b]' stand for what a reader fills in."""
    design = Path(os.environ.get("TRNN_SHARED", ROOT.parent / "shared")) / "DESIGN.md"
    pages = [ROOT / "README.md", ROOT / "data" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    pages += [*sorted((ROOT / "benchmarks").glob("*/*.md")), *([design] if design.exists() else [])]
    found = []
    for page in pages:
        for line in re.findall(r"-m trnn_core ([a-z][^`\n]*)", page.read_text(encoding="utf-8")):
            found.append((page.name, re.sub(r"\[(\w+)\|[^]]*\]", r"\1", line.split("  #")[0]).replace("...", " ")))
    return found


def test_the_command_lines_of_the_documentation_can_be_typed() -> None:
    lines = typed_lines()
    assert len(lines) > 15
    for page, line in lines:
        words = shlex.split(line)
        if len(words) > 1:  # the name alone is a mention, not a command
            args = make_parser(words[0]).parse_args(words)
            assert args.verb_ == words[0], page


DESIGN = """
import icews FILE FILE --actors 25 --period week --week-start thursday --actions quad --keep-partial --out X.npz
info X.npz
train --data X.npz --preset quick --set model.hidden_shape=14,14,4 --set train.epochs=50 --set train.seed=7 --runs DIR
train --resume RUN --runs DIR
forecast RUN --horizon 1 --out F.csv
backtest --data X.npz --models recommended,tlstm,tgru,persistence,mean,ewma,ar,relational_ar --test 0.1 --out B.csv
report RUN --out R.html
runs
"""


@pytest.mark.parametrize("line", DESIGN.strip().splitlines())
def test_the_command_lines_of_the_design_can_be_typed(line: str) -> None:
    words = line.split()
    request_of(load(words[0]).Request, make_parser(words[0]).parse_args(words))


def test_no_command_loads_torch_before_it_works() -> None:
    code = (
        "import sys, json\nfrom trnn_core.cli import make_parser\nmake_parser()\n"
        "print(json.dumps([m for m in ('torch', 'optuna', 'streamlit') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and json.loads(done.stdout) == [], done.stderr[-2000:]

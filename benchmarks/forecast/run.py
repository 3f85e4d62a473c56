"""Backtest every model on every real series at hand and write the tables of docs/results.md.

    python benchmarks/forecast/run.py [--data ../shared/data] [--series x,y] [--parts models,steps,ablations] [--workers 2]
    python benchmarks/forecast/run.py --again        # scores everything once more and compares, changing no table

Three parts per series: all models one step ahead; some of them 1..8 steps ahead; the recommended model with parts taken
away. Each writes <series>.<part>.leaderboard.csv, .calibration.csv and .json beside this file, and docs/results.md is made
from all of them. A series that is absent is left out, saying so; what was scored already by the same code is kept in
build/forecast and reused, so that an interrupted run goes on where it stopped. `--again` then also says whether the second
run gave the bits of the first, fit by fit.
"""

from __future__ import annotations

import argparse
import filecmp
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.forecast.ablations import ABLATIONS  # noqa: E402
from trnn_core.data.readers.npz import read_npz  # noqa: E402
from trnn_core.evaluation.forecasters import describe, names  # noqa: E402
from trnn_core.evaluation.protocol import Protocol  # noqa: E402
from trnn_core.evaluation.results import BacktestResult  # noqa: E402
from trnn_core.evaluation.rolling_origins import backtest  # noqa: E402
from trnn_core.words import percent  # noqa: E402

SERIES = ("icews0515_weekly_hoff25_quad", "icews2018_19_daily_hoff25_quad", "keds_levant_weekly_16_quad")
PARTS = {  # models and how many steps ahead
    "models": (names(), 1),
    "ablations": (("recommended", "relational_ar", *(f"benchmarks.forecast.ablations:{a}" for a in ABLATIONS)), 1),
    "steps": (("recommended", "relational_ar", "ewma", "persistence"), 8),
}
AGAIN = HERE / "again" / "differences.json"
DURATION = HERE / "duration" / "seconds.json"
SPREAD = HERE / "spread.csv"
LOSSES = ["mse", "mae", "crps", "log_score", "mse_count", "crps_count"]
COLUMNS = {
    "model": "model",
    "mse": "MSE",
    "mae": "MAE",
    "r2": "R2",
    "mse_skill_persistence": "MSE skill over persistence",
    "mse_skill_best": "over best baseline",
    "p_mse": "p",
    "crps": "CRPS",
    "crps_skill_best": "over best baseline ",
    "p_crps": "p ",
    "log_score": "log score",
    "coverage90": "covered",
    "width90": "width",
    "auc": "AUC",
    "precision20": "top 20",
    "mse_count": "MSE of counts",
    "crps_count": "CRPS of counts",
}


def data_parser(words: str | None) -> argparse.ArgumentParser:
    """The options of every command here: where the series are, and what the command says of itself."""
    parser = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("TRNN_SHARED", ROOT.parent / "shared"))
    parser.add_argument("--data", type=Path, default=shared / "data")
    return parser


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--series", default=",".join(SERIES), help="some of the series only")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--page-only", action="store_true", help="write docs/results.md from the tables that are there")
    parser.add_argument(
        "--again", action="store_true", help="score once more from nothing, and compare with the tables"
    )
    args = parser.parse_args()
    for part in [] if args.page_only else args.parts.split(","):
        for name in args.series.split(","):
            if not (args.data / f"{name}.npz").exists():
                print(f"{name}: not here, left out (looked in {args.data})")
                continue
            (compare if args.again else score)(name, part, args)
            write_page()
    write_page()


def run(
    name: str, part: str, args: argparse.Namespace, store: Path
) -> tuple[BacktestResult, pd.DataFrame, pd.DataFrame]:
    """One part of one series: the backtest, its leaderboards and its calibration."""
    series, started = read_npz(args.data / f"{name}.npz"), time.perf_counter()
    models, horizon = PARTS[part]
    result = backtest(
        series,
        models,
        Protocol(horizon=horizon),
        workers=args.workers,
        store=store / name,
        progress=lambda done, what: print(
            f"  {name}, {part}: {percent(done)} {what} ({time.perf_counter() - started:.0f} s)", flush=True
        ),
    )
    boards = pd.concat([result.leaderboard(h).assign(horizon=h) for h in range(1, horizon + 1)], ignore_index=True)
    calibration = result.calibration()
    for frame in (boards, calibration):
        frame["model"] = frame["model"].str.rpartition(":")[2]
    return result, boards, calibration


def compare(name: str, part: str, args: argparse.Namespace) -> None:
    """Score once more; keep the largest difference of any loss from the table that is there."""
    old, about = (HERE / f"{name}.{part}{end}" for end in (".leaderboard.csv", ".json"))
    if not old.exists():
        print(f"{name}, {part}: no table to compare with")
        return
    again = stored("again")
    _, boards, _ = run(name, part, args, again)
    fits = {p.name: stored("forecast") / name / p.name for p in sorted((again / name).glob("*.npz"))}
    kept = {fit: first for fit, first in fits.items() if first.exists()}
    same = sum(filecmp.cmp(first, again / name / fit, shallow=False) for fit, first in kept.items())
    both = pd.read_csv(old).merge(boards, on=["model", "horizon"], suffixes=("", " again"), validate="one_to_one")
    apart = pd.concat([(both[f"{c} again"] / both[c] - 1).abs() for c in LOSSES], axis=1, keys=LOSSES)
    row = {
        "rows": len(both),
        "of": len(boards),
        "largest": float(apart.to_numpy().max()),
        "recommended": float(apart[both.model == "recommended"].to_numpy().max()),
        "model": str(both.model[apart.max(axis=1).idxmax()]),
        "first": json.loads(about.read_text(encoding="utf-8"))["commit"],
        "second": commit(),
        "same_bits": same,
        "kept": len(kept),
        "fits": len(fits),
    }
    print(name, part, row)
    known = json.loads(AGAIN.read_text(encoding="utf-8")) if AGAIN.exists() else {}
    AGAIN.write_text(json.dumps(known | {f"{name}, {part}": row}, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(again / name)  # the next second run starts from nothing too


def score(name: str, part: str, args: argparse.Namespace) -> None:
    """One part of one series: backtest, print, write the two tables and the protocol."""
    result, boards, calibration = run(name, part, args, stored("forecast"))
    stem = f"{name}.{part}"
    boards.to_csv(HERE / f"{stem}.leaderboard.csv", index=False, float_format="%.6g", lineterminator="\n")
    calibration.to_csv(HERE / f"{stem}.calibration.csv", index=False, float_format="%.4f", lineterminator="\n")
    about = {
        "protocol": result.words,
        "fingerprint": result.fingerprint,
        "models": [m.rpartition(":")[2] for m in result.scores],
        "commit": commit(),
        "machine": machine(),
    }
    (HERE / f"{stem}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print(result.words, boards[boards.horizon == 1].to_string(), sep="\n")


def stored(kind: str) -> Path:
    """Where the fits of this very code are kept: other code scores anew."""
    sources = sorted((ROOT / "trnn_core").rglob("*.py"))
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()
    return ROOT / "build" / kind / digest[:12]


def commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()


def machine() -> str:
    return f"Python {platform.python_version()}, {platform.machine()}"


def write_page() -> None:
    """docs/results.md from the tables beside this file."""
    abouts = {p.name: json.loads(p.read_text(encoding="utf-8")) for p in sorted(HERE.glob("*.json"))}
    made = sorted({f"`{a['commit']}` ({a['machine']})" for a in abouts.values()})
    head = (HERE / "results_head.md").read_text(encoding="utf-8")
    parts = [head.format(command="python benchmarks/forecast/run.py", commits=", ".join(made))]
    parts += [section(name) for name in SERIES if (HERE / f"{name}.models.leaderboard.csv").exists()]
    known = {m for a in abouts.values() for m in a["models"]}
    words = [f"- `{m}`: {describe(m)}" for m in names() if m in known]
    words += [f"- `{m}`: the recommended model, but {w}" for m, w in ABLATIONS.items() if m in known]
    parts += [*repeated(), *duration()]
    parts.append("## The models in words\n\n" + "\n".join(words))
    (ROOT / "docs" / "results.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def repeated() -> list[str]:
    """What scoring everything a second time has changed."""
    if not AGAIN.exists():
        return []
    rows = json.loads(AGAIN.read_text(encoding="utf-8"))
    lines = [
        "## Run again",
        "",
        "`python benchmarks/forecast/run.py --again` scores from nothing a second time; largest relative difference of any of: "
        + ", ".join(LOSSES)
        + ". The tables keep six digits, so that 5e-06 is rounding. Where the first run was made by the same code on the same machine, its fits are still there: the last column says how many of them came out with the same bits.",
        "",
    ]
    lines += [
        "| series, part | rows compared | largest difference | in model | of `recommended` | commit of the table | of the second run | same bits, same machine |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {r['rows']} of {r['of']} | {r['largest']:.1e} | {r['model']} | {r['recommended']:.1e} | `{r['first']}` | `{r['second']}` | {same_bits(r)} |"
        for name, r in sorted(rows.items())
    ]
    return ["\n".join(lines)]


def duration() -> list[str]:
    """How long the preset trains."""
    if not DURATION.exists():
        return []
    d = json.loads(DURATION.read_text(encoding="utf-8"))
    took = ", ".join(f"{s:.0f} s with {n} thread{'s' if n != '1' else ''}" for n, s in d["seconds"].items())
    return [
        f"## How long the preset trains\n\nThe whole command `python -m trnn_core train --preset recommended` on {d['series']} (25 x 25 x 4 x 573), {d['processors']} processors: {took}; the limit is 300 s. Made by `python benchmarks/forecast/duration.py` at commit `{d['commit']}` ({d['machine']})."
    ]


def same_bits(row: dict[str, Any]) -> str:
    return (
        f"{row['same_bits']} of {row['fits']} fits"
        if row.get("kept")
        else "not known: first run by other code or elsewhere"
    )


def section(name: str) -> str:
    about = json.loads((HERE / f"{name}.models.json").read_text(encoding="utf-8"))
    boards = pd.read_csv(HERE / f"{name}.models.leaderboard.csv")
    calibration = pd.read_csv(HERE / f"{name}.models.calibration.csv")
    lines = [f"## {name}", "", about["protocol"], "", f"Fingerprint of the series: `{about['fingerprint'][:16]}`.", ""]
    lines += [markdown(boards[boards.horizon == 1][list(COLUMNS)].rename(columns=COLUMNS)), ""]
    lines += [
        "Calibration one step ahead: largest gap of the randomised PIT from uniform / share inside the randomised 90 % interval.",
        "",
    ]
    near = calibration[calibration.horizon == 1]
    cells = near.assign(cell=[f"{p:.4f} / {c:.3f}" for p, c in zip(near.pit_deviation, near.coverage90, strict=True)])
    wide = cells.pivot(index="model", columns="group", values="cell")[["all", "quiet", "middling", "active"]]
    lines += [markdown(wide.loc[boards[boards.horizon == 1].model].reset_index()), "", uncalibrated(near), ""]
    if (HERE / f"{name}.steps.leaderboard.csv").exists():
        lines += further(name)
    if (HERE / f"{name}.ablations.leaderboard.csv").exists():
        lines += taken_away(name)
    return "\n".join(lines)


def uncalibrated(near: pd.DataFrame) -> str:
    """Who misses the aims in some group: a gap of at most 0.02, 88 to 92 % covered."""
    bad = near[(near.pit_deviation > 0.02) | ~near.coverage90.between(0.88, 0.92)]
    missed = ", ".join(f"{r.model} ({r.group}: {r.pit_deviation:.4f} / {r.coverage90:.3f})" for r in bad.itertuples())
    return f"Aimed at: a gap of at most 0.02 and 88 to 92 % covered in every group. Missed by: {missed or 'none'}."


def further(name: str) -> list[str]:
    """The steps 1..h of the models that were scored so far ahead."""
    boards = pd.read_csv(HERE / f"{name}.steps.leaderboard.csv")
    about = json.loads((HERE / f"{name}.steps.json").read_text(encoding="utf-8"))
    calibration = pd.read_csv(HERE / f"{name}.steps.calibration.csv")
    cells = [f"{m:.5f} / {c:.5f} / {w:.3f}" for m, c, w in zip(boards.mse, boards.crps, boards.width90, strict=True)]
    wide = boards.assign(cell=cells).pivot(index="model", columns="horizon", values="cell")
    worst = calibration.loc[calibration.pit_deviation.idxmax()]
    low, high = calibration.coverage90.min(), calibration.coverage90.max()
    words = (
        f"Largest PIT gap over all steps, groups and models: {worst.pit_deviation:.4f} ({worst.model}, step {worst.horizon}, "
        f"{worst.group}); randomised coverage between {low:.3f} and {high:.3f}."
    )
    head = "Further ahead, by step: MSE / CRPS / mean width of the 90 % interval. " + about["protocol"]
    table = markdown(wide.loc[boards[boards.horizon == 1].model].reset_index())
    return [head, "", table, "", words, "", *spread(name)]


def spread(name: str) -> list[str]:
    """How much surer the near steps are than the far ones."""
    if not SPREAD.exists():
        return []
    found = pd.read_csv(SPREAD)
    found = found[found.series == name]
    cells = [f"{m:.4f} / {s:.4f}" for m, s in zip(found["mean"], found.sd, strict=True)]
    wide = found.assign(cell=cells).pivot(index="model", columns="horizon", values="cell")
    head = "Mean expected events / mean standard deviation of the forecasts, by step (`python benchmarks/forecast/spread.py`). The width above is one of whole numbers and follows the expected level; the standard deviation tells how uncertainty grows."
    return [head, "", markdown(wide.loc[list(dict.fromkeys(found.model))].reset_index()), ""]


def taken_away(name: str) -> list[str]:
    """What each part of the recommended model is worth: its losses with the part taken away, and what that costs."""
    board = pd.read_csv(HERE / f"{name}.ablations.leaderboard.csv").set_index("model")
    whole = board.loc["recommended"]
    rows = board.assign(
        more_mse=[f"{x / whole.mse - 1:+.2%}" for x in board.mse],
        more_crps=[f"{x / whole.crps - 1:+.2%}" for x in board.crps],
    )
    columns = {
        "model": "model",
        "mse": "MSE",
        "more_mse": "against whole",
        "crps": "CRPS",
        "more_crps": "against whole ",
        "log_score": "log score",
        "coverage90": "covered",
    }
    return [
        "The recommended model with parts taken away, one step ahead:",
        "",
        markdown(rows.reset_index()[list(columns)].rename(columns=columns)),
        "",
    ]


def markdown(frame: pd.DataFrame) -> str:
    """A table; small losses with five decimals, skill with four, the rest with three."""

    def show(column: str, value: object) -> str:
        if not isinstance(value, float):
            return str(value)
        if pd.isna(value):
            return ""
        digits = 5 if column in ("MSE", "MAE", "CRPS") else 4 if "over" in column or column == "log score" else 3
        return f"{value:.{digits}f}"

    header = "| " + " | ".join(str(c).strip() for c in frame.columns) + " |"
    rows = [
        "| " + " | ".join(show(str(c), v) for c, v in zip(frame.columns, row, strict=True)) + " |"
        for row in frame.itertuples(index=False)
    ]
    return "\n".join([header, "|" + "---|" * len(frame.columns), *rows])


if __name__ == "__main__":
    main()

"""Backtest every model on every real series at hand and write the tables of docs/results.md.

    python benchmarks/forecast/run.py [--data ../shared/data] [--series x,y] [--models a,b] [--horizon 1] [--workers 2]

Writes <series>.leaderboard.csv and <series>.calibration.csv beside this file (<series>.steps.* for a horizon above 1), and
docs/results.md from all of them.
A series that is absent is left out, saying so; parts already scored are kept in build/forecast and reused.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from trnn_core.data.readers.npz import read_npz  # noqa: E402
from trnn_core.evaluation.backtest import backtest  # noqa: E402
from trnn_core.evaluation.forecasters import describe, names  # noqa: E402
from trnn_core.evaluation.protocol import Protocol  # noqa: E402

SERIES = ("icews0515_weekly_hoff25_quad", "icews2018_19_daily_hoff25_quad", "keds_levant_weekly_16_quad")
COLUMNS = {
    "model": "model", "mse": "MSE", "mae": "MAE", "r2": "R2", "mse_skill_persistence": "MSE skill over persistence",
    "mse_skill_best": "over best baseline", "p_mse": "p", "crps": "CRPS", "crps_skill_best": "over best baseline ",
    "p_crps": "p ", "log_score": "log score", "coverage90": "covered", "width90": "width", "auc": "AUC",
    "precision20": "top 20", "mse_count": "MSE of counts", "crps_count": "CRPS of counts",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--models", default=",".join(names()))
    parser.add_argument("--horizon", type=int, default=1)
    parser.add_argument("--series", default=",".join(SERIES), help="some of the series only")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    for name in args.series.split(","):
        if not (args.data / f"{name}.npz").exists():
            print(f"{name}: not here, left out (looked in {args.data})")
            continue
        score(name, args)
    write_page(args)


def score(name: str, args: argparse.Namespace) -> None:
    """One series: backtest, print, write the two tables and the protocol."""
    series, started = read_npz(args.data / f"{name}.npz"), time.perf_counter()
    result = backtest(
        series,
        args.models.split(","),
        Protocol(horizon=args.horizon),
        workers=args.workers,
        store=ROOT / "build" / "forecast" / name,
        progress=lambda done, total, what: print(
            f"  {done}/{total} {what} ({time.perf_counter() - started:.0f} s)", flush=True
        ),
    )
    boards = pd.concat([result.leaderboard(h).assign(horizon=h) for h in range(1, args.horizon + 1)], ignore_index=True)
    stem = name if args.horizon == 1 else f"{name}.steps"
    boards.to_csv(HERE / f"{stem}.leaderboard.csv", index=False, float_format="%.6g", lineterminator="\n")
    result.calibration().to_csv(HERE / f"{stem}.calibration.csv", index=False, float_format="%.4f", lineterminator="\n")
    about = {"protocol": result.words, "fingerprint": result.fingerprint, "models": list(result.scores)}
    (HERE / f"{stem}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print(result.words, boards[boards.horizon == 1].to_string(), sep="\n")


def write_page(args: argparse.Namespace) -> None:
    """docs/results.md from the tables beside this file."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    command = "python benchmarks/forecast/run.py" + (
        "" if args.models == ",".join(names()) else f" --models {args.models}"
    )
    head = (HERE / "results_head.md").read_text(encoding="utf-8")
    parts = [
        head.format(command=command, commit=commit, machine=f"Python {platform.python_version()}, {platform.machine()}")
    ]
    for name in SERIES:
        if (HERE / f"{name}.leaderboard.csv").exists():
            parts.append(section(name))
    known = {
        m
        for n in SERIES
        if (HERE / f"{n}.json").exists()
        for m in json.loads((HERE / f"{n}.json").read_text())["models"]
    }
    parts.append("## The models in words\n\n" + "\n".join(f"- `{m}`: {describe(m)}" for m in names() if m in known))
    (ROOT / "docs" / "results.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def section(name: str) -> str:
    about = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    boards = pd.read_csv(HERE / f"{name}.leaderboard.csv")
    calibration = pd.read_csv(HERE / f"{name}.calibration.csv")
    lines = [f"## {name}", "", about["protocol"], "", f"Fingerprint of the series: `{about['fingerprint'][:16]}`.", ""]
    lines += [markdown(boards[boards.horizon == 1][list(COLUMNS)].rename(columns=COLUMNS)), ""]
    lines += [
        "Calibration one step ahead: largest gap of the randomised PIT from uniform / share inside the randomised 90 % interval.",
        "",
    ]
    near = calibration[calibration.horizon == 1]
    cells = near.assign(cell=[f"{p:.4f} / {c:.3f}" for p, c in zip(near.pit_deviation, near.coverage90, strict=True)])
    wide = cells.pivot(index="model", columns="group", values="cell")[["all", "quiet", "middling", "active"]]
    lines += [markdown(wide.loc[boards[boards.horizon == 1].model].reset_index()), ""]
    if (HERE / f"{name}.steps.leaderboard.csv").exists():
        lines += further(name)
    return "\n".join(lines)


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
    return [head, "", markdown(wide.loc[boards[boards.horizon == 1].model].reset_index()), "", words, ""]


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

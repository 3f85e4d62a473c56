"""The paper's experiment: Cases I and II as printed, on the weekly events at hand and on the simulated demo set.

    python benchmarks/paper/run.py [--runs DIR] [--only case-2-lstm-demo,...] [--report-only]

Trains each run from the command line, unattended; run again it goes on where it stopped. Writes results.md, the loss of every
epoch (<run>.loss.csv) and the convergence curves (<run>.loss.svg) beside this file. The real data are not part of the
repository: where they are absent (shared/data beside the checkout, or TRNN_SHARED) their runs are left out, saying so.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE)]

from curves import draw  # noqa: E402
from scales import errors  # noqa: E402

DEMO = ROOT / "data" / "demo.npz"
WEEKLY = Path(os.environ.get("TRNN_SHARED", ROOT.parent / "shared")) / "data" / "icews0515_weekly_hoff25_quad.npz"
PRINTED = {"I": 0.0081, "II": 0.0082}
AS_PRINTED = ("data.validation=0",)  # 90 % training, 10 % test, the weights of the last epoch


@dataclass(frozen=True)
class Job:
    """One run: the paper's case, the data and what is set beside the preset."""

    name: str
    case: str
    data: Path
    words: str
    settings: tuple[str, ...] = ()

    @property
    def preset(self) -> str:
        return {"I": "paper-case-1", "II": "paper-case-2"}[self.case]


JOBS = (
    Job("case-2-lstm-demo", "II", DEMO, "Case II, tLSTM, simulated demo set, validation part kept"),
    Job("case-2-lstm-weekly", "II", WEEKLY, "Case II, tLSTM, weekly ICEWS sample, as printed", AS_PRINTED),
    Job("case-1-lstm-weekly", "I", WEEKLY, "Case I, tLSTM, weekly ICEWS sample, as printed", AS_PRINTED),
    Job(
        "case-2-lstm-weekly-validated",
        "II",
        WEEKLY,
        "Case II, tLSTM, weekly ICEWS sample, best epoch chosen on a validation part",
    ),
    Job("case-2-gru-weekly", "II", WEEKLY, "Case II with a tGRU, weekly ICEWS sample", (*AS_PRINTED, "model.cell=gru")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "build" / "paper", help="where the runs are kept")
    parser.add_argument("--only", default=",".join(job.name for job in JOBS), help="some of the runs")
    parser.add_argument("--epochs", type=int, default=1000, help="1000 as printed; fewer only to try the script")
    parser.add_argument("--report-only", action="store_true", help="write results.md from the runs as they are")
    args = parser.parse_args()
    for job in JOBS:
        if job.name in args.only.split(",") and not args.report_only:
            train(job, args.runs, args.epochs)
    from trnn_core.runs.store import RunStore

    store, told = RunStore(args.runs), earlier_sections()
    for job in JOBS:
        if (args.runs / job.name / "config.json").exists() and (run := store.get(job.name)).history():
            told[job.words] = section(job, store, run)
    sections = [told[job.words] for job in JOBS if job.words in told]
    conclusions = (HERE / "conclusions.md").read_text(encoding="utf-8").strip()
    (HERE / "results.md").write_text("\n\n".join([HEAD, *sections, conclusions]) + "\n", encoding="utf-8")
    print(f"wrote {HERE / 'results.md'} with {len(sections)} runs")


def train(job: Job, runs: Path, epochs: int) -> None:
    """By the command line: a new run, or the rest of one that was interrupted."""
    if not job.data.exists():
        print(f"{job.name}: left out, {job.data.name} is not here (looked in {job.data.parent}; set TRNN_SHARED)")
        return
    command = [sys.executable, "-m", "trnn_core", "train", "--runs", str(runs), "--json"]
    if (runs / job.name / "config.json").exists():
        from trnn_core.runs.run import load_run

        if load_run(job.name, runs).status().state == "finished":
            print(f"{job.name}: finished before")
            return
        command += ["--resume", job.name]
    else:
        command += ["--preset", job.preset, "--data", str(job.data), "--run-id", job.name, "--name", job.words]
        for setting in (*job.settings, *(() if epochs == 1000 else (f"train.epochs={epochs}",))):
            command += ["--set", setting]
    print(f"{job.name}: {job.words}", flush=True)
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL)


def section(job: Job, store: Any, run: Any) -> str:
    """One run: its curve, its losses, its test errors on several scales."""
    rows, recipe = run.history(), run.recipe
    with (HERE / f"{job.name}.loss.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (HERE / f"{job.name}.loss.svg").write_text(draw(rows, job.words), encoding="utf-8")
    done = len(rows)
    short = (
        ""
        if done >= recipe.train.epochs
        else f" **Not finished: {done} of {recipe.train.epochs} epochs; the figures are those of the weights so far.**"
    )
    train_losses = [row["train_loss"] for row in rows]
    marks = [e for e in (1, 10, 100, 300, done) if e <= done]
    lines = [
        f"## {job.words}",
        "",
        f"{done} epochs (1000 are printed), T = {recipe.data.window}, hidden {' x '.join(map(str, recipe.model.hidden_shape))}, "
        f"lambda {recipe.train.regularisation:g}, {recipe.train.optimiser} {recipe.train.learning_rate:g}, seed {recipe.train.seed}; "
        f"data fingerprint `{run.config['data']['fingerprint'][:16]}`; {run.status().seconds / 60:.0f} minutes on a machine shared with other work.{short}",
        "",
        f"![loss over the epochs]({job.name}.loss.svg)",
        "",
        "| loss on the min-max scale, mean over cells and steps | "
        + " | ".join(f"epoch {e}" for e in marks)
        + " | lowest |",
        "|---|" + "---|" * (len(marks) + 1),
        "| training | " + " | ".join(f"{train_losses[e - 1]:.6f}" for e in marks) + f" | {lowest(train_losses)} |",
    ]
    if rows[0]["val_loss"] is not None:
        held = [row["val_loss"] for row in rows]
        lines.append("| validation | " + " | ".join(f"{held[e - 1]:.6f}" for e in marks) + f" | {lowest(held)} |")
    return "\n".join([*lines, "", *errors(store, run, PRINTED[job.case])])


def earlier_sections() -> dict[str, str]:
    """What results.md tells of runs that were made elsewhere, by their words."""
    path = HERE / "results.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    parts = [part.strip() for part in text.split("\n## ")[1:]]
    return {part.partition("\n")[0]: f"## {part}" for part in parts}


def lowest(losses: list[float]) -> str:
    return f"{min(losses):.6f} (epoch {1 + losses.index(min(losses))})"


HEAD = """# The paper's experiment

Command: `python benchmarks/paper/run.py`, which trains every run below from the command line and goes on where it stopped.
Settings are those printed in Sec. IV (T, hidden shape, lambda, 1000 epochs, 90 % of the periods for training); what the
paper does not say is ours: hidden action mode 4, next week as the target, Adam with a step of 0.001, batches of 61 windows,
weekly counts scaled to 0..1 per series, the last 10 % of the weeks as test. The curves stand for the paper's figure 3."""

if __name__ == "__main__":
    main()

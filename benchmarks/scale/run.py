"""Outgrowing one process: backtests on two, on a cluster, trainings on two, growth, large networks.

    python benchmarks/scale/run.py                    # some ten minutes on two idle cores
    python benchmarks/scale/run.py --only backtests   # one part: backtests, torchrun, growth, large, larger, smooth
    python benchmarks/scale/run.py --view X.npz       # draw a data set of yours too, among the large networks
    python benchmarks/scale/run.py --quick            # small, prints only

Every part is written as soon as it is done (results.json, and from it results.md, growth.csv and the tables of
docs/scaling.md). Targets: a backtest is at least 1.8 times as fast with 2 local processes, 1.7 times with 2 Dask workers,
with identical tables; two torchrun processes have the loss curve of one; 152 actors x 20 actions stay below 8 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import growth  # first: it also makes the repository's own packages importable
import large
import smooth

from tests.jobs.dask_cluster import Cluster, free_port
from trnn_core.data.readers.npz import write_npz
from trnn_core.data.series import RelationalSeries
from trnn_core.data.simulation import simulate
from trnn_core.evaluation.protocol import Protocol
from trnn_core.evaluation.rolling_origins import backtest
from trnn_core.jobs.executors import open_executor

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOCAL_TARGET, DASK_TARGET = 1.8, 1.7


def time_backtest(series: RelationalSeries, executor: Executor, epochs: int) -> tuple[float, str]:
    """Seconds, and the whole table as text, of a backtest of two trained networks refitted thirteen times each."""
    changes = {"train.epochs": epochs, "train.patience": None}
    began = time.perf_counter()
    result = backtest(
        series, {"tgru": changes, "tlstm": changes}, Protocol(min_origins=52, refit_every=4), executor=executor
    )
    return time.perf_counter() - began, result.table().to_csv(index=False)


def backtests(quick: bool) -> list[dict[str, object]]:
    series = simulate(seed=1, n_actors=25, n_periods=180)
    epochs = 2 if quick else 24
    rows: list[dict[str, object]] = []
    tables: list[str] = []

    def add(name: str, executor: Executor) -> None:
        seconds, table = time_backtest(series, executor, epochs)
        tables.append(table)
        speed = float(rows[0]["seconds"]) / seconds if rows else 1.0  # type: ignore[arg-type]
        rows.append({"executor": name, "seconds": seconds, "speed-up": speed, "same table": table == tables[0]})
        print(f"{name}: {seconds:.1f} s, {speed:.2f} times, same table {table == tables[0]}", flush=True)

    for n in (1, 2):
        with open_executor(workers=n) as executor:
            add(f"{n} local process{'es' * (n > 1)}", executor)
    with (
        tempfile.TemporaryDirectory() as folder,
        Cluster(Path(folder), 2) as cluster,
        open_executor(cluster.address) as executor,
    ):
        cluster.wait_for_workers()
        add("2 Dask workers", executor)
    return rows


def torchrun(quick: bool) -> dict[str, object]:
    """The curve of one process and of two, in single and double precision, and the seconds of an epoch."""
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_npz(simulate(seed=2, n_actors=25 if quick else 40, n_periods=200), Path(folder) / "x.npz")
        for precision in ("float32", "float64"):
            rows = {n: _train(Path(folder), n, precision, 2 if quick else 6) for n in (1, 2)}
            worst = max(
                abs(a[k] / b[k] - 1)
                for a, b in zip(rows[1], rows[2], strict=True)
                for k in ("train_loss", "val_loss", "grad_norm")
            )
            found[precision] = {"worst": worst, **{f"seconds {n}": min(r["seconds"] for r in rows[n]) for n in (1, 2)}}
            print(f"torchrun, {precision}: largest relative difference {worst:.1e}", flush=True)
    return found


def _train(folder: Path, n: int, precision: str, epochs: int) -> list[dict[str, float]]:
    settings = [
        f"train.epochs={epochs}",
        f"train.precision={precision}",
        "model.hidden_shape=50,50,4",
        "data.design=many-to-many",
    ]
    verb = [
        "trnn_core",
        "train",
        "--data",
        str(folder / "x.npz"),
        "--preset",
        "quick",
        "--runs",
        str(folder / "runs"),
        "--run-id",
        f"{precision}-{n}",
    ]
    verb += [part for s in settings for part in ("--set", s)]
    start = (
        ["-m"]
        if n == 1
        else ["-m", "torch.distributed.run", "--nproc-per-node", str(n), "--master-port", str(free_port()), "-m"]
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *start, *verb], cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    text = (folder / "runs" / f"{precision}-{n}" / "history.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def grow(quick: bool) -> dict[str, object]:
    rows = growth.grow(quick)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return {"rows": rows, "words": growth.words(rows, machine)}


def draw_large(quick: bool, views: list[Path]) -> list[dict[str, object]]:
    rows = large.run(60, 60, 1, "16,16,4") if quick else large.run(152, 120, 1, "32,32,8")
    return rows + [row for path in views for row in large.view(path)]


def draw_larger(quick: bool) -> list[dict[str, object]]:
    return [] if quick else large.run(250, 60, 1, "32,32,8")


def speed_words(rows: list[dict]) -> list[str]:
    lines = [
        "Two networks, refitted thirteen times each over 52 origins (26 tasks). Local processes are started within the measured time; the cluster is up before, as docs/server.md starts it.",
        "",
    ]
    lines += ["| where | seconds | times as fast | same table to the last bit | target |", "|---|---|---|---|---|"]
    targets = ["", f"{LOCAL_TARGET}", f"{DASK_TARGET}"]
    return lines + [
        f"| {r['executor']} | {r['seconds']:.1f} | {r['speed-up']:.2f} | {'yes' if r['same table'] else 'NO'} | {t} |"
        for r, t in zip(rows, targets, strict=True)
    ]


def curve_words(curves: dict[str, dict]) -> list[str]:
    lines = [
        "| precision | largest relative difference of losses and gradient norms | seconds per epoch, one process | two |",
        "|---|---|---|---|",
    ]
    return lines + [
        f"| {p} | {c['worst']:.1e} | {c['seconds 1']:.2f} | {c['seconds 2']:.2f} |" for p, c in curves.items()
    ]


def large_words(rows: list[dict]) -> list[str]:
    lines = ["Memory is that of the command and all its children together.", ""]
    lines += [
        "| actors | actions | periods | step | seconds | peak memory, GB | below 8 GB |",
        "|---|---|---|---|---|---|---|",
    ]
    return lines + [
        "| " + " | ".join(str(v) for v in (*list(r.values())[:-1], "yes" if r["fits"] else "NO")) + " |" for r in rows
    ]


TITLES = {
    "backtests": "Backtests",
    "torchrun": "One training on two processes (torchrun)",
    "large": "Large networks",
    "larger": "Larger still",
    "smooth": "A 250 x 250 heatmap in a browser",
    "growth": "Growth",
}


def report(parts: dict[str, Any]) -> str:
    lines = ["# Outgrowing one process", "", "Made by `python benchmarks/scale/run.py`.", ""]
    words: dict[str, Callable[[Any], list[str]]] = {
        "backtests": speed_words,
        "torchrun": curve_words,
        "large": large_words,
        "larger": large_words,
        "smooth": smooth.words,
        "growth": lambda g: [g["words"]],
    }
    for name, title in TITLES.items():
        lines += [f"## {title}", "", *(words[name](parts[name]) if name in parts else ["Not measured yet."]), ""]
    return "\n".join(lines)


def write(parts: dict[str, Any]) -> None:
    (HERE / "results.json").write_text(json.dumps(parts, indent=1) + "\n")
    (HERE / "results.md").write_text(report(parts))
    if "growth" not in parts:
        return
    growth.write_rows(parts["growth"]["rows"], HERE / "growth.csv")
    page = ROOT / "docs" / "scaling.md"
    before, _, rest = page.read_text().partition("<!-- growth -->\n")
    after = rest.partition("<!-- end of growth -->\n")[2]
    page.write_text(f"{before}<!-- growth -->\n{parts['growth']['words']}\n<!-- end of growth -->\n{after}")


def reached(parts: dict[str, Any], quick: bool) -> bool:
    """Whether what was measured keeps the targets; a quick run is too short for the speed."""
    speed, curves, big = (
        parts.get("backtests", []),
        parts.get("torchrun", {}),
        [*parts.get("large", []), *parts.get("larger", [])],
    )
    same = all(r["same table"] for r in speed) and all(c["worst"] < 1e-3 for c in curves.values())
    fast = all(r["speed-up"] >= t for r, t in zip(speed[1:], (LOCAL_TARGET, DASK_TARGET), strict=False))
    small = all(r["fits"] for r in big)
    fluent = smooth.is_smooth(parts.get("smooth", []))
    print(f"identical: {same}, fast enough: {fast}, below {large.LIMIT_GB:g} GB: {small}, smooth: {fluent}")
    return same and small and ((fast and fluent) or quick)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=list(TITLES), action="append")
    parser.add_argument("--view", type=Path, action="append", default=[])
    args = parser.parse_args()
    measure = {
        "backtests": backtests,
        "torchrun": torchrun,
        "growth": grow,
        "large": lambda quick: draw_large(quick, args.view),
        "larger": draw_larger,
        "smooth": lambda quick: smooth.smooth(60 if quick else 250, 4 if quick else 20),
    }
    known = HERE / "results.json"
    parts: dict[str, Any] = json.loads(known.read_text()) if known.exists() and not args.quick else {}
    for name, work in measure.items():
        if not args.only or name in args.only:
            parts[name] = work(args.quick)
            if not args.quick:
                write(parts)
    if args.quick:
        print(report(parts))
    return 0 if reached(parts, args.quick) else 1


if __name__ == "__main__":
    sys.exit(main())

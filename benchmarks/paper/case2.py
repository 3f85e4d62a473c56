"""Case II of the paper on the simulated demo set, unattended from the command line; its loss curve as CSV and SVG.

python benchmarks/paper/case2.py            1000 epochs as printed, several minutes on one core
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=1000)
    epochs = parser.parse_args().epochs
    with tempfile.TemporaryDirectory() as runs:
        command = ["-m", "trnn_core", "train", "--preset", "paper-case-2", "--data", "data/demo.npz", "--runs", runs, "--json"]  # fmt: skip
        command += ["--set", f"train.epochs={epochs}"] if epochs != 1000 else []
        begun = time.perf_counter()
        done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - begun
        config = next(Path(runs).glob("*/config.json"))
        fingerprint = json.loads(config.read_text())["data"]["fingerprint"]
    result = json.loads(done.stdout)
    rows = result["history"]
    with (HERE / "case2_loss.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    result["fingerprint"] = fingerprint
    scale = result["summary"]["loss_scale"]
    (HERE / "case2_loss.svg").write_text(draw(rows, f"Case II on the simulated demo set: {scale}"))
    (HERE / "case2.md").write_text(report(result, seconds, epochs))
    print(report(result, seconds, epochs))


def report(result: dict, seconds: float, epochs: int) -> str:
    rows, summary, status = result["history"], result["summary"], result["status"]
    test = summary["test"]
    return f"""# Case II, {epochs} epochs, simulated demo set

Command: `python benchmarks/paper/case2.py{"" if epochs == 1000 else f" --epochs {epochs}"}`, which runs
`python -m trnn_core train --preset paper-case-2 --data data/demo.npz` unattended.
Python {platform.python_version()}, {platform.machine()}, one thread.

| | |
|---|---|
| state | {status["state"]}: {status["message"]} |
| wall time, process start and forecast included | {seconds:.0f} s |
| seconds per epoch (median) | {sorted(r["seconds"] for r in rows)[len(rows) // 2]:.3f} |
| data | `data/demo.npz`, fingerprint {result["fingerprint"][:16]} |
| scale of the losses | {summary["loss_scale"]} |
| training loss, first / last epoch | {rows[0]["train_loss"]:.5f} / {rows[-1]["train_loss"]:.5f} |
| validation loss, first / best (epoch {summary["best_epoch"]}) / last | {rows[0]["val_loss"]:.5f} / {summary["val_loss"]:.5f} / {rows[-1]["val_loss"]:.5f} |
| test loss at the best epoch, all steps | {summary["test_loss"]:.5f} |
| one-step test error, {test["scale"]} scale, {test["n_origins"]} periods | {test["mse"]:.5f} (persistence {test["mse_persistence"]:.5f}, skill {test["skill"]:+.1%}) |

The paper reports a test error of 0.0082 for Case II on its own data, without its scale; the figures here are on
simulated data and on the scale named above, so the two are not to be compared. Curve: `case2_loss.svg`, `case2_loss.csv`.
"""


def draw(rows: list[dict], title: str, width: int = 860, height: int = 420) -> str:
    """Training and validation loss over the epochs, logarithmic, as a plain SVG."""
    left, right, top, bottom = 70, 20, 40, 50
    series = {"training": ("train_loss", "#0072B2"), "validation": ("val_loss", "#D55E00")}
    values = [math.log10(row[key]) for row in rows for key, _ in series.values()]
    low, high = min(values), max(values)

    def x(epoch: float) -> float:
        return left + (width - left - right) * (epoch - 1) / max(len(rows) - 1, 1)

    def y(log: float) -> float:
        return top + (height - top - bottom) * (high - log) / max(high - low, 1e-9)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">', f'<rect width="{width}" height="{height}" fill="white"/>', f'<text x="{left}" y="22" font-size="14">{title}</text>']  # fmt: skip
    for i in range(6):
        log = low + (high - low) * i / 5
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(log):.1f}" y2="{y(log):.1f}" stroke="#ddd"/><text x="{left - 8}" y="{y(log) + 4:.1f}" text-anchor="end">{10**log:.4f}</text>')  # fmt: skip
        epoch = 1 + (len(rows) - 1) * i / 5
        parts.append(f'<text x="{x(epoch):.1f}" y="{height - bottom + 20}" text-anchor="middle">{epoch:.0f}</text>')
    parts.append(f'<text x="{(left + width - right) / 2}" y="{height - 10}" text-anchor="middle">epoch</text>')
    for i, (name, (key, colour)) in enumerate(series.items()):
        points = " ".join(f"{x(row['epoch']):.1f},{y(math.log10(row[key])):.1f}" for row in rows)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{width - right - 90}" y="{top + 16 + 18 * i}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    main()

"""Speed, memory and growth of the cells beside what a user would pick instead, all in one run.

    python benchmarks/cells/run.py            # about ten minutes, writes results.md and results.csv beside this file
    python benchmarks/cells/run.py --quick    # fewer repeats, prints only

An epoch is 488 windows of 7 weeks of 25 x 25 x 4, in batches of 61: forward, squared loss, backward, Adam. Contenders
take turns, epoch by epoch, and each one's best and median are kept, so that a noisy machine disturbs all alike.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from math import log, prod
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from pair import Pair, serve  # noqa: E402

INPUT = (25, 25, 4)
N_WINDOWS, LENGTH, BATCH = 488, 7, 61
CASES = {"I": ((50, 50, 4), False), "II": ((14, 14, 4), True)}  # hidden shape, loss at every step
NAMES = {
    "ours": "TensorLSTM (ours)",
    "pair": "TensorLSTM (ours), two processes of one thread",
    "einsum": "(a) einsum per gate, autograd",
    "tensorly": "(b) TensorLy, autograd",
    "vector": "(c) torch.nn.LSTM",
}


def make_epoch(name: str, case: str, learn: Callable | None = None) -> Callable[[], None]:
    """One training epoch of a contender, ready to be called again and again; `learn` stands for `accumulate`."""
    import torch
    from rivals import EinsumLSTM, TensorlyLSTM, VectorLSTM

    from trnn_core.models.model_config import ModelConfig
    from trnn_core.models.network import TensorNetwork

    learn = learn or TensorNetwork.accumulate
    hidden, every = CASES[case]
    weeks = torch.randn(N_WINDOWS + LENGTH, *INPUT, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    if name == "ours":
        network = TensorNetwork(ModelConfig(hidden_shape=hidden), INPUT, INPUT)
    else:
        network = {"einsum": EinsumLSTM, "tensorly": TensorlyLSTM, "vector": VectorLSTM}[name](INPUT, hidden, every)
    optimiser = torch.optim.Adam(network.parameters(), fused=True)  # as the trainer does; for every contender

    def epoch() -> None:
        for start in range(0, N_WINDOWS, BATCH):
            seen, wanted = weeks[start : start + BATCH + LENGTH - 1], weeks[start + 1 : start + BATCH + LENGTH]
            optimiser.zero_grad()
            if name == "ours":
                learn(network, seen, wanted, LENGTH, every)
            else:
                x = seen.unfold(0, LENGTH, 1).movedim(-1, 1).contiguous()
                y = wanted.unfold(0, LENGTH, 1).movedim(-1, 1).contiguous() if every else wanted[LENGTH - 1 :]
                torch.nn.functional.mse_loss(network(x), y).backward()
            optimiser.step()

    return epoch


def mandatory_work(case: str) -> tuple[float, float]:
    """(floating-point operations of the matrix products, bytes of the states) of one epoch, whatever the program.

    Input products once for each distinct week of a batch, recurrent products for all steps but the first (H_0 = 0),
    the read-out for each response; a backward pass costs one product for each factor's gradient and one for the
    input's, where that is needed. States: the four gates, C and H of each step, written once and read once.
    """
    hidden, every = CASES[case]
    n_batches = N_WINDOWS // BATCH

    def tucker(into: tuple[int, ...], out: tuple[int, ...]) -> float:
        costs, sizes = [], list(into)
        for d in sorted(range(3), key=lambda d: out[d] / into[d]):  # shrink first: the cheapest order
            sizes[d] = out[d]
            costs.append(2 * prod(sizes) * into[d])
        return float(sum(costs))

    weeks = n_batches * (BATCH + LENGTH - 1)
    inputs = 4 * tucker(INPUT, hidden) * weeks * 2  # forward, factors
    recurrent = 4 * tucker(hidden, hidden) * N_WINDOWS * (LENGTH - 1) * 3  # forward, factors, H
    readout = tucker(hidden, INPUT) * N_WINDOWS * (LENGTH if every else 1) * 3
    states = 6 * prod(hidden) * N_WINDOWS * LENGTH * 4 * 2
    return inputs + recurrent + readout, float(states)


def machine_rates() -> tuple[float, float]:
    """This machine's GEMM rate (operations a second, torch's or NumPy's) and copying rate (bytes a second), best of many."""
    import numpy as np
    import torch
    from threadpoolctl import threadpool_limits

    a = torch.randn(2048, 2048)
    b = torch.randn(32 * 1024 * 1024 // 4)
    c = torch.empty_like(b)
    gemm, copy = 0.0, 0.0
    with threadpool_limits(torch.get_num_threads(), user_api="blas"):
        for _ in range(12):
            for product in (lambda: torch.mm(a, a), lambda: np.matmul(a.numpy(), a.numpy())):
                t = time.perf_counter()
                product()
                gemm = max(gemm, 2 * 2048**3 / (time.perf_counter() - t))
            t = time.perf_counter()
            c.copy_(b)
            copy = max(copy, 2 * b.numel() * 4 / (time.perf_counter() - t))
    return gemm, copy


def task_speed(case: str, threads: int, repeats: int) -> dict:
    import torch

    torch.set_num_threads(threads)
    names = ["ours", "einsum", "tensorly"] + (["vector"] if case == "II" else [])
    epochs = {name: make_epoch(name, case) for name in names}
    if threads == 2:
        epochs["pair"] = pair = Pair(case)
        names.append("pair")
    times: dict[str, list[float]] = {name: [] for name in names}
    rates = machine_rates()
    for round_ in range(repeats + 1):
        for name, epoch in epochs.items():
            for _ in range(4 if name in ("ours", "pair") else 1):
                t = time.perf_counter()
                epoch()
                if round_:
                    times[name].append(time.perf_counter() - t)
        rates = tuple(map(max, rates, machine_rates()))
    if threads == 2:
        pair.close()
    flops, moved = mandatory_work(case)
    limit = flops / rates[0] + moved / rates[1]
    return {
        "best": {n: min(t) for n, t in times.items()},
        "median": {n: statistics.median(t) for n, t in times.items()},
        "limit": limit,
        "gemm": rates[0],
        "copy": rates[1],
    }


def task_memory(case: str, name: str) -> dict:
    import torch

    torch.set_num_threads(1)
    epoch = make_epoch(name, case)
    torch.randn(64, 64) @ torch.randn(64, 64)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    epoch()
    return {"mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}


def task_growth(repeats: int) -> dict:
    """Seconds of one training step of 8 windows of 7 weeks, N x N x 4 -> N x N x 4, for growing N."""
    import torch
    from rivals import VectorLSTM

    from trnn_core.models.model_config import ModelConfig
    from trnn_core.models.network import TensorNetwork

    torch.set_num_threads(1)
    result: dict[str, dict[int, float]] = {"ours": {}, "vector": {}}
    for name, sizes in (("ours", (25, 50, 100, 200)), ("vector", (8, 12, 18, 25))):
        for n in sizes:
            shape = (n, n, 4)
            weeks = torch.randn(LENGTH + 8, *shape)
            if name == "ours":
                network = TensorNetwork(ModelConfig(hidden_shape=shape), shape, shape)
                step = lambda net=network, w=weeks: net.accumulate(w[:-1], w[1:], LENGTH)  # noqa: E731
            else:
                network = VectorLSTM(shape, shape, every_step=False)
                x = weeks[:-1].unfold(0, LENGTH, 1).movedim(-1, 1).contiguous()
                step = lambda net=network, x=x, y=weeks[LENGTH:]: torch.nn.functional.mse_loss(net(x), y).backward()  # noqa: E731
            times = []
            for _ in range(repeats + 1):
                t = time.perf_counter()
                step()
                times.append(time.perf_counter() - t)
            result[name][n] = min(times[1:])
    return result


def exponent(points: dict[int, float]) -> float:
    """Slope of log time over log N by least squares."""
    xs, ys = [log(int(n)) for n in points], [log(t) for t in points.values()]
    mx, my = statistics.mean(xs), statistics.mean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / sum((x - mx) ** 2 for x in xs)


def child(task: str, *args: str) -> dict:
    """Run one task in a process of its own, so that threads and memory are its own."""
    env = {**os.environ, "OMP_NUM_THREADS": args[1] if task == "speed" else "1"}
    out = subprocess.run(
        [sys.executable, __file__, "--task", task, *args], env=env, check=True, capture_output=True, text=True
    )
    return json.loads(out.stdout.splitlines()[-1])


def report(repeats: int) -> tuple[str, list[list[object]]]:
    lines, rows = [], []
    speeds = {(case, n): child("speed", case, str(n), str(repeats)) for case in CASES for n in (1, 2)}
    memory = {(case, name): child("memory", case, name)["mb"] for case in CASES for name in ("ours", "einsum")}
    growth = child("growth", str(max(2, repeats)))
    lines += ["## Seconds for one epoch (best / median), and how many times slower than ours", ""]
    lines += [
        "| case | threads | contender | best | median | x ours (best) | x ours (median) |",
        "|---|---|---|---|---|---|---|",
    ]
    for (case, n), s in speeds.items():
        for name, best in s["best"].items():
            median = s["median"][name]
            ratio, ratio_median = best / s["best"]["ours"], median / s["median"]["ours"]
            lines.append(
                f"| {case} | {n} | {NAMES[name]} | {best:.4f} | {median:.4f} | {ratio:.2f} | {ratio_median:.2f} |"
            )
            rows.append(["speed", case, n, name, best, median, ratio, ratio_median])
        away = {name: s["best"][name] / s["limit"] for name in ("ours", "pair") if name in s["best"]}
        told = f"ours is {away['ours']:.2f} x the limit" + (f", two processes {away['pair']:.2f} x" if n == 2 else "")
        lines.append(
            f"| {case} | {n} | (d) limit: GEMM at {s['gemm'] / 1e9:.0f} GFLOP/s, copy at {s['copy'] / 1e9:.0f} GB/s | {s['limit']:.4f} | | {told} | |"
        )
        rows += [["limit", case, n, name, s["limit"], "", ratio, ""] for name, ratio in away.items()]
    hidden = prod(CASES["I"][0])
    weights = 4 * hidden * (prod(INPUT) + hidden)
    lines += [
        "",
        f"(c) is not run in Case I: {hidden} hidden units need {weights / 1e6:.0f} million weights, {weights * 16 / 1e9:.0f} GB with gradients and Adam's two moments, "
        f"and {6 * weights * N_WINDOWS * LENGTH / 1e12:.0f} TFLOP an epoch, at least {6 * weights * N_WINDOWS * LENGTH / speeds['I', 1]['gemm']:.0f} s at this machine's rate.",
        "",
        "## Peak memory of an epoch above the loaded program, MB",
        "",
        "| case | ours | (a) | ours / (a) |",
        "|---|---|---|---|",
    ]
    for case in CASES:
        ours, plain = memory[case, "ours"], memory[case, "einsum"]
        lines.append(f"| {case} | {ours:.0f} | {plain:.0f} | {ours / plain:.2f} |")
        rows.append(["memory", case, 1, "ours / einsum", ours, plain, ours / plain, ""])
    lines += [
        "",
        "## Growth: seconds of a training step of 8 windows, N x N x 4 -> N x N x 4, one thread",
        "",
        "| contender | " + "N: seconds | " * 4 + "exponent |",
        "|---" * 6 + "|",
    ]
    for name, points in growth.items():
        cells = " | ".join(f"{n}: {t:.4f}" for n, t in points.items())
        lines.append(f"| {NAMES[name]} | {cells} | {exponent(points):.2f} |")
        rows += [["growth", "", 1, name, n, t, "", ""] for n, t in points.items()]
    lines.append("")
    lines.append(
        "The mode products cost N^3 and everything else N^2; a vector LSTM costs N^4 (at N = 50 it would need 13 GB with Adam, so it is measured at smaller N)."
    )
    return "\n".join(lines), rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two repeats, print only")
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        kind, *rest = args.task
        tasks = {
            "speed": lambda: task_speed(rest[0], int(rest[1]), int(rest[2])),
            "memory": lambda: task_memory(*rest),
            "growth": lambda: task_growth(int(rest[0])),
        }
        if kind == "pair":
            serve(partial(make_epoch, "ours", rest[0]))
        else:
            print(json.dumps(tasks[kind]()))
        return
    import torch

    text, rows = report(repeats=2 if args.quick else 5)
    load = f"load average at the end {os.getloadavg()[0]:.1f}"
    head = f"# Cells: speed, memory, growth\n\nCommand: `python benchmarks/cells/run.py`. torch {torch.__version__}, {platform.machine()}, {os.cpu_count()} cores, {load}.\n"
    print(head, text, sep="\n")
    if not args.quick:
        (HERE / "results.md").write_text(f"{head}\n{text}\n")
        with (HERE / "results.csv").open("w", newline="") as file:
            csv.writer(file).writerows(
                [
                    [
                        "table",
                        "case",
                        "threads",
                        "contender",
                        "best_or_n",
                        "median_or_seconds",
                        "ratio_best",
                        "ratio_median",
                    ],
                    *rows,
                ]
            )


if __name__ == "__main__":
    main()

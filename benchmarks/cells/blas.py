"""The matrix products of a training step of the paper's Case I and II, by NumPy's BLAS and by torch's, side by side.

    python benchmarks/cells/blas.py     # half a minute, one thread; writes blas.md beside this file

The products are those that `TensorNetwork.accumulate` asks for, caught on their way: shapes, strides and how often.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from run import BATCH, CASES, INPUT, LENGTH  # noqa: E402

from trnn_core.cells import stacked  # noqa: E402
from trnn_core.models.model_config import ModelConfig  # noqa: E402
from trnn_core.models.network import TensorNetwork  # noqa: E402

REPEATS = 200


def caught(case: str) -> dict[tuple, list]:
    """Every kind of product in one training step: how often, and one example."""
    hidden, every = CASES[case]
    torch.manual_seed(0)
    network = TensorNetwork(ModelConfig(hidden_shape=hidden), INPUT, INPUT)
    weeks = torch.randn(BATCH + LENGTH, *INPUT)
    found: dict[tuple, list] = {}
    real = stacked.matmul

    def spy(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        result = real(a, b, out)
        kind = tuple((x.shape, x.strides) for x in (a, b, result))
        found.setdefault(kind, [0, (a, b, result)])[0] += 1
        return result

    stacked.matmul = spy
    try:
        network.accumulate(weeks[:-1], weeks[1:], LENGTH, every)
    finally:
        stacked.matmul = real
    return found


def best(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        t = time.perf_counter()
        work()
        times.append(time.perf_counter() - t)
    return min(times)


def measure(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> tuple[float, float]:
    """Seconds of one product: NumPy's, torch's (by its batched product on equally many matrices)."""
    x, y, z = (torch.from_numpy(array) for array in (a, b, out))
    if z.ndim == 4:  # torch is given what it is best at: one stack of matrices
        x, y = (v.expand(*z.shape[:2], *v.shape[2:]).reshape(-1, *v.shape[2:]) for v in (x, y))
        z = z.reshape(-1, *z.shape[2:])
    by_torch = torch.bmm if z.ndim == 3 else torch.mm
    return best(lambda: np.matmul(a, b, out=out)), best(lambda: by_torch(x, y, out=z))


def main() -> None:
    torch.set_num_threads(1)
    lines = [
        "# The matrix products of a training step, by two libraries",
        "",
        f"Command: `python benchmarks/cells/blas.py`. NumPy {np.__version__} ({blas_name()}), torch {torch.__version__}, one thread. "
        f"Each product alone, best of {REPEATS}; milliseconds of one step of {BATCH} windows.",
    ]
    for case in CASES:
        rows, totals = [], [0.0, 0.0]
        for n_times, (a, b, out) in caught(case).values():
            by_numpy, by_torch = measure(a, b, out)
            totals = [totals[0] + n_times * by_numpy, totals[1] + n_times * by_torch]
            rate = 2 * out.size * a.shape[-1] / 1e9
            rows.append(
                (
                    n_times * by_torch,
                    f"| {shape(a)} {shape(b)} | {n_times} | {by_numpy * 1e6:.0f} | {by_torch * 1e6:.0f} | {rate / by_numpy:.0f} | {rate / by_torch:.0f} |",
                )
            )
        lines += [
            "",
            f"## Case {case}: NumPy {totals[0] * 1e3:.2f} ms, torch {totals[1] * 1e3:.2f} ms ({totals[1] / totals[0]:.2f} x)",
            "",
        ]
        lines += [
            "| product | times | NumPy, us | torch, us | NumPy, GFLOP/s | torch, GFLOP/s |",
            "|---|---|---|---|---|---|",
        ]
        lines += [line for _, line in sorted(rows, reverse=True)[:12]]
    text = "\n".join(lines) + "\n"
    (HERE / "blas.md").write_text(text)
    sys.stdout.write(text)


def shape(x: np.ndarray) -> str:
    return f"({' x '.join(map(str, x.shape))}{' transposed' * (x.strides[-1] != x.itemsize)})"


def blas_name() -> str:
    from threadpoolctl import threadpool_info

    return ", ".join(
        f"{i['internal_api']} {i['version']} {i.get('architecture', '')}".strip()
        for i in threadpool_info()
        if i["user_api"] == "blas"
    )


if __name__ == "__main__":
    main()

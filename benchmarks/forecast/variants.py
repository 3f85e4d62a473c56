"""Does the recommended model hold its place on series it was not made for? Variants of the real series at hand.

    python benchmarks/forecast/variants.py [--block validation|test] [--only x,y] [--workers 1]

Each variant is cut, summed or masked from one of the series of `run.py`: few or many actors, one or twenty actions, months
instead of weeks, short series, missing cells, values instead of counts. On the validation block (the default) the periods
that `run.py` scores are cut off first, so that choices made by this table never see them; `--block test` scores the end of
each variant. Writes variants.<block>.csv and the table variants.<block>.md beside this file; finished parts are kept in
build/variants for the code that made them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE)]

from run import data_parser, stored  # noqa: E402

from trnn_core.data.readers.npz import read_npz  # noqa: E402
from trnn_core.data.series import Provenance, RelationalSeries  # noqa: E402
from trnn_core.evaluation.protocol import Protocol, usual_protocol  # noqa: E402
from trnn_core.evaluation.rolling_origins import backtest  # noqa: E402

WEEKLY, DAILY, KEDS = "icews0515_weekly_hoff25_quad", "icews2018_19_daily_hoff25_quad", "keds_levant_weekly_16_quad"
RIVALS = ("persistence", "mean", "ewma", "nb_ewma", "ar", "relational_ar")
GOLDSTEIN = np.array([2.0, -3.0, 6.0, -8.0])  # about the usual weight of each kind of action

Change = Callable[[RelationalSeries], RelationalSeries]


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--block", choices=("validation", "test"), default="validation")
    parser.add_argument("--only", default=",".join(VARIANTS))
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    table = HERE / f"variants.{args.block}.csv"
    rows = pd.read_csv(table).set_index("variant") if table.exists() else pd.DataFrame()
    for name in args.only.split(","):
        row = score(name, args)
        rows = pd.concat([rows.drop(index=name, errors="ignore"), pd.DataFrame([row]).set_index("variant")])
        print(row, flush=True)
        rows = rows.loc[[v for v in VARIANTS if v in rows.index]]
        rows.to_csv(table, float_format="%.6g", lineterminator="\n")
        table.with_suffix(".md").write_text(words(rows, args.block), encoding="utf-8")


def score(name: str, args: argparse.Namespace) -> dict[str, object]:
    """One row of the table: the recommended model against the best of its rivals by each score."""
    base, change = VARIANTS[name]
    series = read_npz(args.data / f"{base}.npz")
    if args.block == "validation":
        series = series.select(periods=slice(0, Protocol().origins(len(series))[0] + 1))
    series, seconds = change(series), {}
    begun = time.perf_counter()

    def note(done: float, what: str) -> None:
        nonlocal begun
        seconds[what.split(",")[0]] = time.perf_counter() - begun
        begun = time.perf_counter()

    store = stored("variants") / args.block / name
    result = backtest(
        series, (*RIVALS, "recommended"), usual_protocol(len(series)), workers=args.workers, store=store, progress=note
    )
    board = result.leaderboard().set_index("model")
    mine, calibration = board.loc["recommended"], result.calibration().set_index(["model", "group"]).loc["recommended"]
    return {
        "variant": name,
        "shape": "x".join(map(str, series.shape)),
        "zeros": float((series.values[series.observed] == 0).mean()),
        "origins": int(mine["n_origins"]),
        "best by MSE": result.best_baseline("mse"),
        "MSE gain": mine["mse_skill_best"],
        "p": mine["p_mse"],
        "best by CRPS": result.best_baseline("crps"),
        "CRPS gain": mine["crps_skill_best"],
        "CRPS p": mine["p_crps"],
        "PIT gap": calibration["pit_deviation"].max(),
        "least covered": calibration["coverage90"].min(),
        "most covered": calibration["coverage90"].max(),
        "seconds": seconds.get("recommended", float("nan")),
    }


def words(rows: pd.DataFrame, block: str) -> str:
    """The table, with the command that makes it."""
    forms = {"zeros": "{:.0%}", "MSE gain": "{:+.2%}", "CRPS gain": "{:+.2%}", "seconds": "{:.0f}"}
    lines = [
        f"Made by `python benchmarks/forecast/variants.py --block {block}`. Gains of `recommended` over the best of {', '.join(RIVALS)}; PIT gap and "
        "randomised 90 % coverage are the worst of all, quiet, middling and active dyads; seconds are those of its fit and forecasts on one thread.",
        "",
        "| variant | " + " | ".join(rows.columns) + " |",
        "|" + "---|" * (len(rows.columns) + 1),
    ]
    for name, row in rows.iterrows():
        cells = [forms.get(c, "{:.3f}").format(v) if isinstance(v, float) else str(v) for c, v in row.items()]
        lines.append(f"| {name} | " + " | ".join("" if c == "nan" else c for c in cells) + " |")
    return "\n".join(lines) + "\n"


def busiest(n: int, quietest: bool = False) -> Change:
    """The n actors with the most (or fewest) events."""

    def change(series: RelationalSeries) -> RelationalSeries:
        total = np.nansum(series.values, axis=(0, 3))
        order = np.argsort(total.sum(0) + total.sum(1), kind="stable")
        return series.select(actors=[series.actors[i] for i in sorted(order[:n] if quietest else order[-n:])])

    return change


def last(n: int) -> Change:
    return lambda series: series.select(periods=slice(len(series) - n, None))


def first_half(series: RelationalSeries) -> RelationalSeries:
    return series.select(periods=slice(0, len(series) // 2))


def summed(unit: str) -> Change:
    """Whole weeks of days, or the months in which weeks begin."""

    def change(series: RelationalSeries) -> RelationalSeries:
        at = (
            series.dates.astype("datetime64[M]")
            if unit == "month"
            else series.dates - (series.dates - series.dates[0]) % np.timedelta64(7, "D")
        )
        starts, where = np.unique(at.astype("datetime64[D]"), return_inverse=True)
        values = np.zeros((len(starts), *series.shape[1:]))
        np.add.at(values, where, series.values)
        return _made(series, values[:-1], starts[:-1])

    return change


def together(series: RelationalSeries) -> RelationalSeries:
    """One action: any of them."""
    return _made(series, series.values.sum(-1, keepdims=True), actions=("any",))


def split(series: RelationalSeries) -> RelationalSeries:
    """Twenty actions: every event given one of five roots of its kind, some common and some rare."""
    rng, left, parts = np.random.default_rng(0), series.values.astype(np.int64), []
    for share in (0.45, 0.25, 0.15, 0.1):
        taken = rng.binomial(left, share / (1 - sum((0.45, 0.25, 0.15, 0.1)[: len(parts)])))
        parts.append(taken)
        left = left - taken
    values = np.stack([*parts, left], axis=-1).reshape(*series.shape[:3], -1)
    return _made(series, values, actions=tuple(f"{a} {i}" for a in series.actions for i in range(1, 6)))


def holes(series: RelationalSeries) -> RelationalSeries:
    """A tenth of the cells missing, and five whole periods."""
    rng, values = np.random.default_rng(0), np.array(series.values, dtype=float)
    values[rng.random(values.shape) < 0.1] = np.nan
    values[rng.choice(len(values), 5, replace=False)] = np.nan
    return _made(series, values)


def net_score(unit: float) -> Change:
    """Values instead of counts: the sum of the weights of what happened, in some unit."""
    return lambda series: _made(
        series, (series.values * GOLDSTEIN).sum(-1, keepdims=True) * unit, actions=("net",), kind="value"
    )


def many(series: RelationalSeries) -> RelationalSeries:
    """More actors: the same ones at two further times stand beside them, apart from each other; the 60 busiest are kept."""
    n, t, lag = len(series.actors), len(series) - 200, 100
    values = np.zeros((t, 3 * n, 3 * n, series.shape[-1]))
    for i in range(3):
        values[:, i * n : (i + 1) * n, i * n : (i + 1) * n] = series.values[i * lag : i * lag + t]
    actors = tuple(f"{a} {i}" for i in range(3) for a in series.actors)
    return busiest(60)(RelationalSeries(values, series.dates[200:], actors, series.actions, source=series.source))


def _made(
    series: RelationalSeries,
    values: np.ndarray,
    dates: np.ndarray | None = None,
    actions: tuple[str, ...] | None = None,
    kind: str = "count",
) -> RelationalSeries:
    source = Provenance(title=series.source.title, kind=kind)  # type: ignore[arg-type]
    return RelationalSeries(
        values, series.dates if dates is None else dates, series.actors, actions or series.actions, source=source
    )


def _then(*changes: Change) -> Change:
    def change(series: RelationalSeries) -> RelationalSeries:
        for each in changes:
            series = each(series)
        return series

    return change


VARIANTS: dict[str, tuple[str, Change]] = {
    "weekly 2 actors": (WEEKLY, busiest(2)),
    "weekly 4 actors": (WEEKLY, busiest(4)),
    "weekly 10 actors": (WEEKLY, busiest(10)),
    "weekly 12 quietest": (WEEKLY, busiest(12, quietest=True)),
    "weekly last 100": (WEEKLY, last(100)),
    "weekly last 200": (WEEKLY, last(200)),
    "weekly months": (WEEKLY, summed("month")),
    "weekly one action": (WEEKLY, together),
    "weekly holes": (WEEKLY, _then(busiest(12), holes)),
    "weekly net score": (WEEKLY, net_score(1.0)),
    "weekly net score in thousands": (WEEKLY, _then(busiest(12), net_score(1000.0))),
    "weekly net score in thousandths": (WEEKLY, _then(busiest(12), net_score(0.001))),
    "daily 10 actors": (DAILY, busiest(10)),
    "daily last 120": (DAILY, last(120)),
    "daily 20 actions": (DAILY, _then(busiest(12), split)),
    "daily one action": (DAILY, together),
    "keds first half": (KEDS, first_half),
    "keds months": (KEDS, summed("month")),
    "keds 6 actors": (KEDS, busiest(6)),
    "keds 20 actions last 400": (KEDS, _then(last(400), split)),
    "weekly 60 actors": (WEEKLY, many),
}


if __name__ == "__main__":
    main()

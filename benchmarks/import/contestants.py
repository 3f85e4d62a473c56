"""The same aggregation by each contestant: unique events per Monday week, source, target and quad class.

    python benchmarks/import/contestants.py NAME FILE OUT

prints the seconds and processor seconds it took (imports not counted) and its peak memory and writes the cells as CSV to OUT. Two threads each.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "2"
KEY = ["Event Date", "Source Name", "Event Text", "Target Name"]
NEEDED = [*KEY, "Source Country", "Target Country", "CAMEO Code"]
QUAD = {
    f"{n:02}": "verbal cooperation"
    if n <= 5
    else "material cooperation"
    if n <= 8
    else "verbal conflict"
    if n <= 13
    else "material conflict"
    for n in range(1, 21)
}


def trnn(file: str):  # type: ignore[no-untyped-def]
    from trnn_core.data.readers import ImportOptions, icews, read_series, table  # noqa: F401  # imports are not counted

    yield
    yield read_series(file, options=ImportOptions(keep_partial=True, diagonal=True))


def pandas(file: str):  # type: ignore[no-untyped-def]
    import pandas as pd

    yield
    data = pd.read_csv(file, sep="\t", dtype=str, quoting=3, usecols=NEEDED, keep_default_na=False)
    data = data[(data["Source Country"] != "") & (data["Target Country"] != "")].drop_duplicates(KEY)
    day = pd.to_datetime(data["Event Date"], format="%Y-%m-%d")
    data["week"] = day - pd.to_timedelta(day.dt.day_of_week, unit="D")
    data["quad"] = data["CAMEO Code"].str[:2].map(QUAD)
    cells = data.groupby(["week", "Source Country", "Target Country", "quad"], sort=False).size()
    yield [(str(w.date()), s, t, q, int(n)) for (w, s, t, q), n in cells.items()]


def polars(file: str, engine: str = "in-memory"):  # type: ignore[no-untyped-def]
    import polars as pl

    yield
    quad = pl.col("CAMEO Code").str.slice(0, 2).replace_strict(QUAD, default=None)
    cells = (
        pl.scan_csv(file, separator="\t", quote_char=None, infer_schema=False)
        .filter(pl.col("Source Country").fill_null("").ne("") & pl.col("Target Country").fill_null("").ne(""))
        .unique(subset=KEY, keep="any")
        .group_by(
            pl.col("Event Date").str.to_date("%Y-%m-%d").dt.truncate("1w").alias("week"),
            "Source Country",
            "Target Country",
            quad.alias("quad"),
        )
        .len()
        .collect(engine=engine)  # type: ignore[call-overload]
    )
    yield [(str(w), s, t, q, n) for w, s, t, q, n in cells.rows()]


def polars_streaming(file: str):  # type: ignore[no-untyped-def]
    yield from polars(file, "streaming")


def duckdb(file: str):  # type: ignore[no-untyped-def]
    import duckdb

    yield
    base = duckdb.connect()
    base.execute("set threads = 2")
    cases = " ".join(f"when '{root}' then '{quad}'" for root, quad in QUAD.items())
    cells = base.execute(
        f"""select date_trunc('week', "Event Date"::date)::date, s, t, quad, count(*) from (
            select "Event Date", "Source Name", "Event Text", "Target Name", any_value("Source Country") s,
                any_value("Target Country") t, any_value(case substr("CAMEO Code", 1, 2) {cases} end) quad
            from read_csv(?, delim = '\t', quote = '', header = true, all_varchar = true, nullstr = '')
            where "Source Country" is not null and "Target Country" is not null
            group by 1, 2, 3, 4) group by 1, 2, 3, 4""",
        [file],
    ).fetchall()
    yield [(str(w), s, t, q, n) for w, s, t, q, n in cells]


CONTESTANTS = {f.__name__: f for f in (trnn, pandas, polars, polars_streaming, duckdb)}


def peak_mb() -> float:
    """Largest resident size of this program (what the parent used before it started does not count)."""
    lines = Path("/proc/self/status").read_text().split("\n")
    return next(int(x.split()[1]) / 1024 for x in lines if x.startswith("VmHWM"))


def main(name: str, file: str, out: str) -> None:
    steps = CONTESTANTS[name](file)
    next(steps)
    start, cpu_start = time.perf_counter(), time.process_time()
    cells = next(steps)
    told = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu_start, "peak_mb": peak_mb()}
    if name == "trnn":
        series = cells
        cells = [
            (
                str(series.dates[t]),
                series.actors[i],
                series.actors[j],
                series.actions[k],
                int(series.values[t, i, j, k]),
            )
            for t, i, j, k in zip(*series.values.nonzero(), strict=True)
        ]
        Path(f"{out}.actors").write_text(json.dumps(series.actors))
    Path(out).write_text("\n".join("\t".join(map(str, c)) for c in cells), encoding="utf-8")
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])

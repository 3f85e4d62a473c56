"""Write a made-up ICEWS file of any length: the layout, field lengths and share of repeats of the real one.

    python benchmarks/import/make_icews.py ROWS FILE

Real files: 254 bytes a row, three quarters of the rows are unique events, most names are rare. Nothing real is used.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.event_files import ICEWS
from trnn_core.data.countries import actors

UNIQUE = 0.756  # unique events per row in the real files
ROWS_A_DAY = 2740  # a million a year
CHUNK = 250_000
N_NAMES, N_TEXTS = 300_000, 270
SYLLABLES = np.array(
    ["ka", "ro", "min", "tal", "esh", "vor", "ina", "del", "bra", "qui", "zón", "lef", "mar", "ost", "hun", "pay"]
)


def words(rng: np.random.Generator, n: int, low: int, high: int) -> np.ndarray:
    """n made-up names of low to high syllables."""
    picks = SYLLABLES[rng.integers(0, len(SYLLABLES), (n, high))]
    lengths = rng.integers(low, high + 1, n)
    return np.array(["".join(p[:k]).title() for p, k in zip(picks, lengths, strict=True)])


def pools(rng: np.random.Generator) -> dict[str, np.ndarray]:
    countries = np.array([a.name for a in actors("state") if a.icews == a.name])  # the names stay as they are
    rng.shuffle(countries)
    names = np.char.add(np.char.add(words(rng, N_NAMES, 2, 5), " "), words(rng, N_NAMES, 2, 5))
    sectors = np.array([", ".join(words(rng, k, 3, 5)) for k in rng.integers(0, 4, 2000)])
    roots = rng.integers(1, 21, N_TEXTS)
    codes = np.array([f"{r:02}{d}" for r, d in zip(roots, rng.integers(0, 10, N_TEXTS), strict=True)])
    texts = np.char.add(
        np.char.add(words(rng, N_TEXTS, 2, 4), " "),
        [f"{w} {c}" for w, c in zip(words(rng, N_TEXTS, 1, 4), codes, strict=True)],
    )
    home = np.minimum(rng.zipf(1.4, N_NAMES) - 1, len(countries) - 1)
    places = np.where(rng.random(2000) < 0.4, "", words(rng, 2000, 1, 4))
    return {
        "places": places,
        "countries": np.append(countries, ""),
        "names": names,
        "sectors": sectors,
        "codes": codes,
        "texts": texts,
        "home": home,
    }


def chunk(rng: np.random.Generator, pool: dict[str, np.ndarray], first: int, n: int) -> pa.Table:
    """Rows first .. first + n - 1, about in the order of their dates, repeats beside the original."""
    n_unique = int(n * UNIQUE)
    event = np.sort(np.concatenate((np.arange(n_unique), rng.integers(0, n_unique, n - n_unique))))
    day = (first + event / UNIQUE) // ROWS_A_DAY - np.where(
        rng.random(n_unique) < 0.05, rng.integers(0, 21, n_unique), 0
    )[event]
    date = np.datetime64("1995-01-01") + np.maximum(day, 0).astype(int)
    source, target = (
        np.minimum(rng.zipf(1.25, n_unique), N_NAMES).astype(int)[event] * 7919 % N_NAMES for _ in range(2)
    )
    home = [np.where(rng.random(N_NAMES) < 0.03, -1, pool["home"]) % len(pool["countries"])] * 2
    text = np.minimum(rng.zipf(1.5, n_unique), N_TEXTS)[event] - 1
    number = rng.integers(0, 2000, (4, n))
    columns = [
        pa.array(30_000_000 + first + np.arange(n)),
        pa.array(date.astype("datetime64[D]")),
        *(
            _take(pool["names"], source),
            _take(pool["sectors"], source % 2000),
            _take(pool["countries"], home[0][source]),
        ),
        *(
            _take(pool["texts"], text),
            _take(pool["codes"], text),
            _take(np.array([f"{v / 2:g}" for v in range(-20, 21)]), text % 41),
        ),
        *(
            _take(pool["names"], target),
            _take(pool["sectors"], target % 2000),
            _take(pool["countries"], home[1][target]),
        ),
        pa.array(40_000_000 + rng.integers(0, 10_000_000, n)),
        pa.array(rng.integers(1, 7, n)),
        _take(pool["names"], number[0] % 400),
        *(_take(pool["places"], p) for p in number[1:]),
        _take(pool["countries"], home[0][source]),
        _take(np.array([f"{v / 100:.4f}" for v in range(-9000, 9000, 9)]), number[0]),
        _take(np.array([f"{v / 100:.3f}" for v in range(-18000, 18000, 18)]), number[1]),
    ]
    return pa.table([c.cast(pa.string()) for c in columns], list(ICEWS))


def _take(values: np.ndarray, index: np.ndarray) -> pa.Array:
    return pa.array(values.tolist(), pa.string()).take(pa.array(index))


def write(n_rows: int, path: Path, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    pool = pools(rng)
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with path.open("wb") as file:
        file.write("\t".join(ICEWS).encode() + b"\n")
        for first in range(0, n_rows, CHUNK):
            csv.write_csv(chunk(rng, pool, first, min(CHUNK, n_rows - first)), file, options)


if __name__ == "__main__":
    write(int(sys.argv[1]), Path(sys.argv[2]))

"""A hundred thousand spoilt files through the reader: each is read or refused in one sentence, quickly and in little memory.

    python -m tests.fuzz.mutate CASES SEED FIRST REPORT [keep]      one batch, in a process of its own

Half of the zip-like files are spoilt inside and packed again, so that their checksums hold and the damage gets further.
"""

from __future__ import annotations

import base64
import io
import json
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from tests.campaign import ROOT, Tally
from tests.fuzz.corpus import SEEDS, TOKENS, _parquet, _zipped, damage
from trnn_core.data.readers import ImportOptions, read_series
from trnn_core.errors import TRNNError

INTERESTING = Path(__file__).with_name("interesting.jsonl")
MEMORY = 2**30
SLOW = 20.0  # seconds for one small file, on a busy machine
MONTHS = [f"{y}-{m:02}-{(7 * y + 5 * m) % 28 + 1:02}" for y in (2013, 2014, 2015) for m in range(1, 13)]
# Long enough for every period: unspoilt, each kind is read with each of the options, so that damage decides.
TABLE = "date,source,target,action,value\n" + "".join(
    f'{d},USA,"Korea, South",talks,{n}\n{d},IRN,USA,threats,{n}\n' for n, d in enumerate(MONTHS)
)
TABBED = TABLE.replace('"Korea, South"', "China").replace(",", "\t")
KINDS: dict[str, bytes] = {
    "csv": TABLE.encode(),
    "tsv": TABBED.encode(),
    "npz": SEEDS["npz"],
    "npz with a mask": SEEDS["npz with a mask"],
    "parquet": _parquet(TABLE),
    "zip": _zipped("a.csv", TABLE.encode()),
    "zip of tsv": _zipped("a.tsv", TABBED.encode()),
}
ENDINGS = {"npz with a mask": "npz", "zip of tsv": "zip"}  # of a file's name; else as the kind
OPTIONS = (
    {"actors": "all", "keep_partial": True},
    {"period": "day", "value": "mean", "threads": 1},
    {"period": "month", "value": "rows", "actions": "own", "countries": False, "gaps": "missing", "actors": "all"},
    {"period": "year", "keep_partial": True, "encoding": "latin-1", "actors": 3, "diagonal": True},
)


def spoil(data: bytes, rng: np.random.Generator) -> bytes:
    """One to six random changes."""
    edits = []
    for _ in range(min(int(rng.geometric(0.6)), 6)):  # mostly one: the reader then gets further
        kind = rng.choice(
            ["flip", "insert", "replace", "delete", "cut", "repeat", "splice"], p=[0.3, 0.2, 0.2, 0.1, 0.05, 0.1, 0.05]
        )
        how: object = None
        if kind == "flip":
            how = int(rng.integers(8))
        elif kind in ("insert", "replace"):
            how = TOKENS[rng.integers(len(TOKENS))] if rng.random() < 0.7 else rng.bytes(int(rng.integers(1, 12)))
        elif kind in ("delete", "repeat"):
            how = int(rng.integers(1, 60 if kind == "delete" else 400))
        elif kind == "splice":
            how = str(rng.choice(sorted(SEEDS)))
        edits.append((str(kind), float(rng.random()), how))
    return damage(data, edits)


def spoil_inside(data: bytes, rng: np.random.Generator) -> bytes:
    """A member of a zip file is spoilt and packed again with a right checksum."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        victim = names[rng.integers(len(names))]
        for name in names:
            content = old.read(name)
            new.writestr(name, spoil(content, rng) if name == victim else content)
    return stream.getvalue()


def make_case(number: int, seed: int) -> tuple[str, bytes, dict]:
    rng = np.random.default_rng([seed, number])
    kind = list(KINDS)[number % len(KINDS)]
    packed = kind.startswith(("npz", "zip")) and rng.random() < 0.5
    data = spoil_inside(KINDS[kind], rng) if packed else spoil(KINDS[kind], rng)
    return kind, data, OPTIONS[int(rng.integers(len(OPTIONS)))]


def read_case(path: Path, data: bytes, options: dict) -> str:
    """'read', or the refusal in words; anything else is an error of ours."""
    path.write_bytes(data)
    begun = time.monotonic()
    try:
        series = read_series(path, options=ImportOptions(**options))
        words = "read"
        assert len(series.fingerprint) == 64
    except TRNNError as e:
        words = str(e)
        assert words.strip() and "\n" not in words, "not one sentence"
    assert time.monotonic() - begun < SLOW, "too slow"
    return words


def signature(words: str) -> str:
    """Two refusals for the same reason look the same."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d[\d,.]*|\b[\w.]*\.(csv|npz|tsv|zip|parquet)\b|\(.*\)", "#", words)[:70]


def batch(n: int, seed: int, first: int, report: Path, keep: bool) -> None:
    """Run cases in this process; the report tells the last case begun, should the process die in it."""
    from tests.fuzz.test_fuzz_readers import resident

    Path("/proc/self/clear_refs").write_text("5")
    kept: dict[str, tuple[bytes, dict, bool]] = {}
    failures: list[str] = []
    before, read = resident("VmRSS"), 0
    with tempfile.TemporaryDirectory() as place:
        (folder := Path(place) / "inside").mkdir()
        for number in range(first, first + n):
            kind, data, options = make_case(number, seed)
            if number % 50 == 0:
                report.write_text(json.dumps({"at": number}))
            try:
                name = "f" if number % 2 else f"f.{ENDINGS.get(kind, kind)}"  # half of them without an ending
                words = read_case(folder / name, data, options)
                read += words == "read"
                mark = f"{kind}: {signature(words)}"
                if keep and len(data) < 6000 and (mark not in kept or len(data) < len(kept[mark][0])):
                    kept[mark] = (data, options, words == "read")
            except Exception as e:
                failures.append(f"case {number} of seed {seed} ({kind}): {type(e).__name__}: {str(e)[:200]}")
        stray = {p.name for p in (*Path(place).iterdir(), *folder.iterdir())} - {
            "inside",
            "f",
            *(f"f.{ENDINGS.get(k, k)}" for k in KINDS),
        }
        if stray:
            failures.append(f"cases {first} to {first + n}: written beside the file: {sorted(stray)[:5]}")
    grown = resident("VmHWM") - before
    if grown > MEMORY:
        failures.append(f"cases {first} to {first + n}: {grown / 2**20:.0f} MB of memory")
    found = [
        {"mark": m, "data": base64.b64encode(d).decode(), "options": o, "read": r} for m, (d, o, r) in kept.items()
    ]
    report.write_text(json.dumps({"failures": failures, "read": read, "kept": found, "megabytes": grown // 2**20}))


def fuzz_campaign(
    folder: Path, n_cases: int, seed: int, at_once: int = 2, size: int = 2500, keep: bool = False
) -> Tally:
    """Batches in processes of their own: a crash of a library is a failure, not the end of the campaign."""
    tally, read, most, kept = Tally(), 0, 0, []

    def run(first: int) -> dict:
        report = folder / f"report-{first}.json"
        n = min(size, n_cases - first)
        command = [
            sys.executable,
            "-m",
            "tests.fuzz.mutate",
            str(n),
            str(seed),
            str(first),
            str(report),
            *(["keep"] if keep else []),
        ]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
            ended = f"ended with {done.returncode}: {done.stderr[-200:]}"
        except subprocess.TimeoutExpired:
            ended = "did not end"
        told = json.loads(report.read_text()) if report.exists() else {}
        return (
            told
            if "failures" in told
            else {
                "failures": [f"the batch from {first} {ended}, at {told.get('at')}"],
                "read": 0,
                "kept": [],
                "megabytes": 0,
            }
        )

    with ThreadPoolExecutor(at_once) as pool:
        for told in pool.map(run, range(0, n_cases, size)):
            tally.failures += told["failures"]
            read, most, kept = read + told["read"], max(most, told["megabytes"]), kept + told["kept"]
    tally.tried = n_cases
    tally.figures = {"read": str(read), "refused in words": str(n_cases - read), "most memory": f"{most} MB"}
    if keep:
        keep_interesting(kept)
    return tally


def keep_interesting(kept: list[dict]) -> None:
    """The smallest case of each kind and outcome, for the ordinary tests."""
    best: dict[str, dict] = {}
    before = [json.loads(line) for line in INTERESTING.read_text().splitlines()] if INTERESTING.exists() else []
    for case in [*before, *kept]:
        if case["mark"] not in best or len(case["data"]) < len(best[case["mark"]]["data"]):
            best[case["mark"]] = case
    INTERESTING.write_text("".join(json.dumps(best[m], sort_keys=True) + "\n" for m in sorted(best)))


if __name__ == "__main__":
    n, seed, first, report, *more = sys.argv[1:]
    batch(int(n), int(seed), int(first), Path(report), bool(more))

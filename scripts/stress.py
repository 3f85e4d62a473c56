"""The long tests: faults, load, hostile input. Prints one table: what was tried, how often, and what failed.

python scripts/stress.py                     everything, unattended, in under an hour on two cores
python scripts/stress.py --short             the short forms, in a few minutes
python scripts/stress.py --only load,churn   only these rows
python scripts/stress.py --plant rot         with that row's planted defect: must end red
python scripts/stress.py --plants            every row in its short form with its defect planted: all must end red
python scripts/stress.py --write             also writes the table into docs/reliability.md
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.campaign import Tally  # noqa: E402
from tests.plants.defects import DEFECTS, complains  # noqa: E402
from tests.rows import ROWS, Row, run_row  # noqa: E402

PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
SHORT_LIMIT = 900.0  # seconds; a busy machine must not turn a row red
AT_ONCE = 3  # on two cores: some rows mostly wait


@dataclass
class Result:
    part: str
    words: str
    key: str
    tally: Tally
    seconds: float

    @property
    def red(self) -> bool:
        return bool(self.tally.failures)


def tell(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def run_one(row: Row, folder: Path, long: bool, plant: bool) -> Result:
    begun = time.monotonic()
    limit = row.minutes * 60 if long else SHORT_LIMIT
    tally = run_row(row.key, long, folder / f"{row.key}{'-plant' * plant}.json", plant, limit)
    result = Result(row.part, row.words, row.key, tally, time.monotonic() - begun)
    tell(line_of(result))
    return result


def line_of(r: Result) -> str:
    told = f"{len(r.tally.failures)}" if not r.tally.skipped else "not tried"
    figures = "; ".join(f"{k} {v}" for k, v in r.tally.figures.items())
    note = r.tally.skipped or figures
    return f"| {r.part} | {r.words} | {r.tally.tried:,} | {told} | {note} | {r.seconds:.0f} s |"


HEAD = "| | fault or attack | cases tried | failures | figures | time |\n|---|---|---|---|---|---|"


def run_rows(
    rows: list[Row],
    long: bool,
    plant: bool,
    done: Callable[[Result], None] = lambda result: None,
    more: Sequence[Callable[[], None]] = (),
) -> list[Result]:
    """Rows that measure time run alone, then `more` and the others a few at a time, the longest first."""
    results: list[Result] = []

    def one(row: Row) -> None:
        results.append(run_one(row, folder, long, plant))
        done(results[-1])

    with tempfile.TemporaryDirectory(prefix="trnn-stress-") as name:
        folder = Path(name)
        for row in rows:
            if row.alone:
                one(row)
        others = sorted((row for row in rows if not row.alone), key=lambda row: -row.minutes)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda task: task(), [*more, *(partial(one, row) for row in others)]))
    return results


def other_long_tests(key: str, which: str, words: str) -> Result:
    """What the other parts have marked as slow; their own words in the output."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-rfEs", "-m", f"slow and not stress and {which}", "--timeout", "1200"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    tail = done.stdout.strip().splitlines()[-1:] or ["no output"]
    passed = sum(int(n) for n in re.findall(r"(\d+) passed", tail[0]))
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    tally = Tally(passed + len(failed), failed or ([] if done.returncode == 0 else tail))
    tally.figures = skips(done.stdout)
    result = Result("The rest", words, key, tally, time.monotonic() - begun)
    tell(line_of(result))
    return result


def skips(output: str) -> dict[str, str]:
    """What pytest left out and why, from its own summary.

    >>> skips("SKIPPED [2] tests/a.py:75: pdftoppm is not here\\nSKIPPED [1] tests/b.py:3: no network\\n1 passed")
    {'not tried': '2 (pdftoppm is not here), 1 (no network)'}
    """
    found = re.findall(r"^SKIPPED \[(\d+)\] \S+: (.+)$", output, re.M)
    return {"not tried": ", ".join(f"{n} ({why})" for n, why in found)} if found else {}


def planted(rows: list[Row]) -> Result:
    """Every row in its short form with its own defect: those that stay green, or are red for another reason, have
    failed."""
    begun = time.monotonic()
    tell(f"\nWith a planted defect each:\n{HEAD}")
    results = run_rows(rows, long=False, plant=True)
    tried = [r for r in results if not r.tally.skipped]
    green = [
        f"{r.key} says nothing of it although {DEFECTS[r.key].words}: {r.tally.failures[:2]}"
        for r in tried
        if not complains(r.key, r.tally.failures)
    ]
    words = "planted defects, one per row (each must turn its row red)"
    return Result("The table itself", words, "plants", Tally(len(tried), green), time.monotonic() - begun)


def write_page(results: list[Result], form: str, seconds: float, page: str, only: bool) -> None:
    """The whole table; where only some rows were run, these take the place of the older ones, and the page says so."""
    cores, memory = os.cpu_count(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    made = (
        f"Made by `python scripts/stress.py {form}--write` on {date.today()}, {seconds / 60:.0f} minutes, {cores}"
        f" cores, {memory:.0f} GB, Python {platform.python_version()}."
    )
    head, _, rest = page.partition(BEGIN)
    before, _, tail = rest.partition(END)
    lines = [line_of(r) for r in results]
    failures = [f"- {r.key}: {f.splitlines()[-1][:300]}" for r in results for f in r.tally.failures[:5]]
    if only:
        new, keys = {r.words: line_of(r) for r in results}, [r.key for r in results]
        old = [line for line in before.splitlines() if line.startswith("| ") and line != HEAD.splitlines()[0]]
        lines = [new.pop(line.split(" | ")[1], line) for line in old] + list(new.values())
        kept = [
            line for line in before.splitlines() if line.startswith("- ") and line[2:].partition(":")[0] not in keys
        ]
        failures, made = kept + failures, f"{before.strip().splitlines()[0]} {made}"
    told = "\n\nFailures, the first five of each row:\n\n" + "\n".join(failures) if failures else ""
    PAGE.write_text(f"{head}{BEGIN}\n{made}\n\n" + "\n".join([HEAD, *lines]) + f"{told}\n{END}{tail}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--short", action="store_true", help="the short form of every row")
    parser.add_argument("--only", help="rows, separated by commas: " + ", ".join(ROWS))
    parser.add_argument(
        "--plant", choices=list(ROWS), help="put this row's planted defect in place; runs that row only"
    )
    parser.add_argument("--plants", action="store_true", help="only the planted defects, all of them")
    parser.add_argument(
        "--write", action="store_true", help="write the table, or the rows of --only, into docs/reliability.md"
    )
    args = parser.parse_args()
    chosen = [ROWS[key] for key in (args.plant or args.only or ",".join(ROWS)).split(",")]
    begun = time.monotonic()
    if args.plants:
        result = planted(chosen)
        tell("\n" + line_of(result))
        sys.stderr.write("".join(f"{f}\n" for f in result.tally.failures))
        return int(result.red)
    tell(HEAD)
    long = not (args.short or args.plant)
    results: list[Result] = []
    turn = threading.Lock()  # rows end in two threads

    def done(result: Result) -> None:
        """The page is written after every row: an interrupted run leaves what it has found."""
        with turn:
            results.append(result)
            results.sort(key=lambda r: [*ROWS, "timed", "rest", "plants"].index(r.key))
            if args.write:
                write_page(results, form, time.monotonic() - begun, page, only)

    only, page = bool(args.only), PAGE.read_text()
    form = f"{'--short ' * args.short}{f'--only {args.only} ' if args.only else ''}"
    whole = long and not args.only
    if whole:
        done(other_long_tests("timed", "timed", "long tests of the other parts that measure time"))
    rest = partial(other_long_tests, "rest", "not timed", "long tests of the other parts")
    run_rows(chosen, long, bool(args.plant), done, [lambda: done(rest())] if whole else [])
    if whole:
        done(planted(chosen))
        tell(line_of(results[-1]))
    for result in results:
        sys.stderr.write("".join(f"{result.key}: {f}\n" for f in result.tally.failures[:10]))
    tell(
        f"\n{sum(r.tally.tried for r in results):,} cases, {sum(len(r.tally.failures) for r in results)} failures,"
        f" {(time.monotonic() - begun) / 60:.1f} minutes."
    )
    return int(any(r.red for r in results))


if __name__ == "__main__":
    sys.exit(main())

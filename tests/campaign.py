"""A campaign tries something many times and tells how many cases it tried and which of them failed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Tally:
    """Cases tried, failures in words, and figures worth telling."""

    tried: int = 0
    failures: list[str] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)
    skipped: str = ""  # why nothing could be tried here

    @contextmanager
    def case(self, words: str) -> Iterator[None]:
        """One case; whatever goes wrong in it is one failure, and the next case goes on."""
        self.tried += 1
        try:
            yield
        except Exception as e:
            self.failures.append(f"{words}: {type(e).__name__}: {str(e).strip()[:400] or 'a check did not hold'}")

    def check(self, holds: bool, words: str) -> None:
        """One case that holds or does not."""
        self.tried += 1
        if not holds:
            self.failures.append(words)

    def add(self, other: Tally) -> Tally:
        self.tried += other.tried
        self.failures += other.failures
        self.figures |= other.figures
        return self

    def to_json(self) -> str:
        return json.dumps(self.__dict__)


def until(true: Callable[[], bool], words: str, seconds: float = 60.0) -> float:
    """Wait for something to become true; the seconds it took."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < seconds, f"not within {seconds:g} s: {words}"
        time.sleep(0.02)
    return time.monotonic() - begun

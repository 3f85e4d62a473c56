"""The trainer's events on a terminal: a bar where there is one, plain lines where the output is piped."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

from trnn_core.training.events import EpochDone, Event, Started, StepDone
from trnn_core.words import clock

WIDTH = 24


class ProgressBar:
    """A listener that keeps one line up to date, or prints a line per epoch."""

    def __init__(self, out: TextIO | None = None):
        self.out = out or sys.stderr
        self.live = self.out.isatty()
        self.epoch_words = ""
        self.drawn_at = 0.0
        self.rate = ""
        self.begun = time.monotonic()
        self.n_windows = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            print(
                f"{event.n_parameters:,} parameters, {event.n_windows:,} windows; loss: {event.loss_scale}",
                file=self.out,
                flush=True,
            )
            self.epochs = event.epochs
        elif isinstance(event, StepDone):
            self.n_windows += event.n_windows
            if self.live and time.monotonic() - self.drawn_at > 0.1:
                self._draw((event.epoch - 1 + event.step / event.n_steps) / self.epochs, event.epoch)
        elif isinstance(event, EpochDone):
            self._epoch(event)

    def _epoch(self, event: EpochDone) -> None:
        val = event.row["val_loss"]
        loss = f"loss {event.row['train_loss']:.5f}" + ("" if val is None else f"  validation {val:.5f}")
        self.epoch_words = f"{loss}  ETA {clock(event.eta_seconds)}"
        if self.live:
            self._draw(event.epoch / event.epochs, event.epoch)
            if event.epoch == event.epochs:
                print(file=self.out, flush=True)
        else:
            print(f"epoch {event.epoch}/{event.epochs}  {self.epoch_words}", file=self.out, flush=True)

    def _draw(self, share: float, epoch: int) -> None:
        self.drawn_at = time.monotonic()
        full = round(WIDTH * share)
        speed = self.n_windows / max(self.drawn_at - self.begun, 1e-9)
        line = (
            f"[{'#' * full}{'.' * (WIDTH - full)}] epoch {epoch}/{self.epochs}  {self.epoch_words}  {speed:,.0f}"
            " windows/s"
        )
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line[:width].ljust(width)}", end="", file=self.out, flush=True)

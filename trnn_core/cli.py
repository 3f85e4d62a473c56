"""The command line, made from the verbs: a command's options and help are the fields of its request.

Exit codes: 0 done, 1 failed, 2 bad input. Errors go to stderr in one sentence.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import signal
import sys
import threading
import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from pydantic.fields import FieldInfo

from trnn_core import verbs
from trnn_core.errors import TRNNError
from trnn_core.jobs.context import Context, Stopped
from trnn_core.verbs.request import BaseRequest, Option, Result
from trnn_core.words import percent

DONE, FAILED, BAD_INPUT = 0, 1, 2
WIDTH = 24


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the return value is the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = make_parser(only=arguments[0] if arguments else None).parse_args(arguments)
    try:
        result = _run(args)
        if text := json.dumps(result.facts(), indent=1) if getattr(args, "json", False) else result.words():
            print(text)
        return result.code
    except TRNNError as e:
        print(f"trnn_core {args.verb_}: {e}", file=sys.stderr)
        return BAD_INPUT
    except (KeyboardInterrupt, Stopped):
        print(f"trnn_core {args.verb_}: stopped.", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        return DONE
    except Exception as e:
        logging.getLogger(__name__).debug("unexpected failure", exc_info=True)
        reason = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        print(f"trnn_core {args.verb_}: failed: {reason} (add --debug for details).", file=sys.stderr)
        if args.debug:
            raise
        return FAILED


def _run(args: argparse.Namespace) -> Result:
    module = verbs.load(args.verb_)
    request = request_of(module.Request, args)
    silent = getattr(request, "quiet", False) or (getattr(args, "json", False) and not sys.stderr.isatty())
    with Terminal(getattr(args, "runs", None), silent, getattr(module, "LINE", "{words}")) as context:
        return module.run(request, context)


def make_parser(only: str | None = None) -> argparse.ArgumentParser:
    """All verbs are listed, but only the one asked for is imported: `runs` need not wait for torch."""
    parser = argparse.ArgumentParser(
        prog="python -m trnn_core", description="Relational network forecasting without a browser."
    )
    commands = parser.add_subparsers(metavar="VERB", required=True)
    typed = [name for name, verb in verbs.VERBS.items() if verb.typed]
    for name in [only] if only in typed else typed:
        module = verbs.load(str(name))
        sub = commands.add_parser(str(name), help=module.HELP, description=module.HELP)
        for dest, option in options_of(module.Request):
            _add(sub, dest, option)
        if module.Request.in_store:
            default = os.environ.get("TRNN_RUNS", "runs")
            sub.add_argument("--runs", metavar="DIR", default=default, help=f"the folder of runs (default: {default})")
        if module.Request.machines:
            sub.add_argument("--json", action="store_true", help="for machines")
        sub.add_argument("--debug", action="store_true", help="show the traceback when something fails unexpectedly")
        sub.set_defaults(verb_=name)  # no field ends so
    return parser


class Argument(typing.NamedTuple):
    """An option with what its field's type adds to it."""

    option: Option
    required: bool
    nargs: int | str | None = None
    default: Any = argparse.SUPPRESS


def options_of(request: type[BaseRequest]) -> Iterator[tuple[str, Argument]]:
    """What can be typed: every field with an option, or the parts of one; a part is named `field.part`."""
    for name, field in request.model_fields.items():
        option = request.option(name)
        if option is None:
            continue
        for part, found in option.parts.items():
            yield f"{name}.{part}", Argument(replace(found, flag=found.flag or _flag(part)), False)
        if not option.parts:
            yield name, _typed(replace(option, flag=option.flag or _flag(name)), field)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _typed(option: Option, field: FieldInfo) -> Argument:
    """The option as the field's type has it: a number, a choice, a flag alone, several values."""
    kind: Any = field.annotation
    nargs: int | str | None = None
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(k for k in typing.get_args(kind) if k is not type(None))
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple and option.parse is None:
        if option.positional:
            nargs = "+" if field.is_required() else "*"
        elif Ellipsis not in inner:
            nargs = len(inner)
        else:
            option = replace(option, repeat=True)
    elif option.positional and not field.is_required():
        nargs = "?"
    if origin is Literal and option.choices is None:
        option = replace(option, choices=inner)
    if kind is bool:
        option = replace(option, present=True)
    if kind in (int, float):
        option = replace(option, kind=kind)
    default = field.default if nargs in ("?", "*") else argparse.SUPPRESS
    return Argument(option, field.is_required() or option.required, nargs, default)


def _add(parser: argparse.ArgumentParser, dest: str, argument: Argument) -> None:
    option, more = argument.option, {}
    if option.present is not None:
        more = {"action": "store_const", "const": option.present}
    else:
        more = {"type": option.kind, "choices": option.choices, "nargs": argument.nargs}
        more["metavar"] = option.metavar
        if option.metavar is None and not option.choices and not option.positional:
            more["metavar"] = option.flag.lstrip("-").replace("-", "_").upper()
        if option.repeat:
            more["action"] = "append"
        more = {name: value for name, value in more.items() if value is not None}
    if option.positional:
        parser.add_argument(dest, default=argument.default, help=option.words, **more)
    else:
        parser.add_argument(
            option.flag, dest=dest, default=argparse.SUPPRESS, required=argument.required, help=option.words, **more
        )


def request_of(request: type[BaseRequest], args: argparse.Namespace) -> BaseRequest:
    """The request that was typed; what was left out has the request's own default."""
    values: dict[str, Any] = {}
    for dest, (option, *_) in options_of(request):
        if hasattr(args, dest):
            value = getattr(args, dest)
            field, _, part = dest.partition(".")
            home = values.setdefault(field, {}) if part else values
            home[part or field] = option.parse(value) if option.parse else value
    return request(**values)


class Terminal(Context):
    """A bar where there is a terminal, plain lines where the output is piped; Ctrl-C asks the work to stop.

    Until the work has asked for the first time whether it is to stop, Ctrl-C ends it at once, as it does the second
    time. Words that open the work, when nothing is done yet, stay on the screen.
    line    of a step where the output is piped; empty: none
    """

    def __init__(self, runs: str | Path | None = None, silent: bool = False, line: str = "{words}"):
        super().__init__(runs)
        self.live = sys.stderr.isatty()
        self.line, self.silent = line, silent or not (self.live or line)
        self.unfinished = False
        self.wish: Literal["stop", "pause"] | None = None
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.unfinished:
            print(file=sys.stderr, flush=True)
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def progress(self, done: float, message: str) -> None:
        if self.silent:
            return
        if not self.live or done == 0:
            words = message if self.live else self.line.format(words=message, percent=percent(done))
            print(words, file=sys.stderr, flush=True)
            return
        full, width = round(WIDTH * done), shutil.get_terminal_size().columns - 1
        line = f"[{'#' * full}{'.' * (WIDTH - full)}] {message}"
        print(f"\r{line[:width].ljust(width)}", end="", file=sys.stderr, flush=True)
        self.unfinished = True

    def asked(self) -> Literal["stop", "pause", "cancel"] | None:
        if not self.before and threading.current_thread() is threading.main_thread():
            self.before = {number: signal.signal(number, self._press) for number in (signal.SIGINT, signal.SIGTERM)}
        return self.wish

    def stopping(self) -> bool:
        return self.asked() is not None

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.wish is not None:
            raise KeyboardInterrupt
        self.wish = "stop" if number == signal.SIGINT else "pause"
        print("\nStopping; press Ctrl-C again to leave at once.", file=sys.stderr)

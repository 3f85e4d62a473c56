"""The command line: one file per verb, each with `HELP`, `add_arguments(parser)` and `run(args) -> int`.

Exit codes: 0 done, 1 failed, 2 bad input. Errors go to stderr in one sentence.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib import import_module

from trnn_core.errors import TRNNError

# A new verb is one file in this folder and one line here: the word typed -> its module.
VERBS: dict[str, str] = {
    "backtest": "backtest",
    "import": "import_",
    "info": "info",
    "simulate": "simulate",
    "train": "train",
    "tune": "tune",
    "runs": "runs",
    "stop": "stop",
    "pause": "pause",
    "cancel": "cancel",
    "resume": "resume",
    "worker": "worker",
    "job": "job",
    "task": "job",  # its name before
    "forecast": "forecast",
    "report": "report",
    "export": "export",
    "explain": "explain",
    "influence": "influence",
    "scenario": "scenario",
    "impulse": "impulse",
    "unusual": "unusual",
}

DONE, FAILED, BAD_INPUT = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the return value is the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(only=arguments[0] if arguments else None)
    args = parser.parse_args(arguments)
    try:
        return args.run(args)
    except TRNNError as e:
        print(f"trnn_core {arguments[0]}: {e}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print(f"trnn_core {arguments[0]}: stopped.", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        return DONE
    except Exception as e:
        logging.getLogger(__name__).debug("unexpected failure", exc_info=True)
        reason = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        print(f"trnn_core {arguments[0]}: failed: {reason} (add --debug for details).", file=sys.stderr)
        if args.debug:
            raise
        return FAILED


def _parser(only: str | None) -> argparse.ArgumentParser:
    """All verbs are listed, but only the one asked for is imported: `runs` need not wait for torch."""
    parser = argparse.ArgumentParser(
        prog="python -m trnn_core", description="Relational network forecasting without a browser."
    )
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for verb, module in VERBS.items():
        if only in VERBS and verb != only:
            continue
        room = import_module(f"trnn_core.cli.{module}")
        sub = verbs.add_parser(verb, help=room.HELP, description=room.HELP)
        room.add_arguments(sub)
        sub.add_argument("--debug", action="store_true", help="show the traceback when something fails unexpectedly")
        sub.set_defaults(run=room.run)
    return parser

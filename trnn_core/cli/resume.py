"""The verb `resume`."""

from trnn_core.cli.ask import make

HELP, add_arguments, run = make("resume")

"""The verb `pause`."""

from trnn_core.cli.ask import make

HELP, add_arguments, run = make("pause")

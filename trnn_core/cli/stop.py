"""The verb `stop`."""

from trnn_core.cli.ask import make

HELP, add_arguments, run = make("stop")

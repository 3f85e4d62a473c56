"""The verb `cancel`."""

from trnn_core.cli.ask import make

HELP, add_arguments, run = make("cancel")

"""Every name on disk: what a run folder and a store are made of. Nothing else in the house spells them.

store/<run_id>/          a run
store/.data/<sha>.npz    the series that runs were trained on, once each
store/.queue/            tickets of queued jobs
store/.trash/            deleted runs, until the trash is emptied
store/.worker/           lock, heartbeat and log of each machine's worker
store/.tasks/            what pages asked for: backtests, explanations, exports
store/.studies/          searches for good settings
"""

from trnn_core.jobs.folder import HEARTBEAT, LOCK, LOG, QUEUE, REQUEST, STATUS, TASKS, WORKER
from trnn_core.training.checkpoints import HISTORY, WEIGHTS

CONFIG = "config.json"  # recipe, data in words, versions: written once, in two copies
CONFIG_COPY = "config.copy.json"  # without its settings a run is lost; the weights have older checkpoints
LABELS = "labels.json"  # the name and tags a person gave it
CHECKPOINTS = "checkpoints"
FORECAST = "forecast.npz"
HINDCAST = "hindcast.npz"  # what it would have forecast before each validation and test period
SUMMARY = "summary.json"  # losses, skill
EXPLANATION = "explanation.npz"
BACKTEST_SCORES, BACKTEST_DYADS = "backtest.parquet", "backtest.dyads.parquet"
BACKTEST_ARRAYS, BACKTEST_ABOUT = "backtest.npz", "backtest.json"
SCENARIOS, SCENARIO = "scenarios", "scenario.json"
STUDY = "study.json"  # what a search has found so far
MANIFEST = "manifest.json"  # SHA-256 of all that must not rot
RESERVE = ".reserve"  # room given up when the disk is full, so that the run can still say so
LABELS_LOCK = ".labels.lock"

SHARED = (LABELS, REQUEST)  # written by pages and commands, without the run's lock
VOLATILE = (HEARTBEAT, LOG, REQUEST, LOCK, LABELS_LOCK, RESERVE)  # no part of what a run is
SEALED = (CONFIG, CONFIG_COPY, STATUS, LABELS, SUMMARY, MANIFEST)  # JSON with its own checksum
UNLISTED = {STATUS, MANIFEST, CONFIG_COPY, HEARTBEAT, LOG, *SHARED}  # by the manifest

DATA, TRASH, STUDIES = ".data", ".trash", ".studies"
TRAIN = "train"  # the verb whose jobs are runs

__all__ = ["HISTORY", "LOCK", "LOG", "QUEUE", "TASKS", "WEIGHTS", "WORKER"]  # named here too, for the house to spell

"""Scenarios kept with a run: each a folder of its own that appears, and goes, in one step. No torch here.

<run>/scenarios/<scenario_id>/scenario.json    name, changes, the weights it was made with, checksum of the answer
                              outcome.npz      both forecasts and their difference
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from trnn_core.errors import TRNNError
from trnn_core.files import (
    explain_os_error,
    read_bytes,
    read_sealed,
    remove_folder,
    sealed_bytes,
    sha256,
    write_folder,
)
from trnn_core.insight.answers import InfluenceSet, Outcome, pack, unpack
from trnn_core.insight.shocks import Shock
from trnn_core.runs import layout
from trnn_core.runs.run import Run
from trnn_core.runs.store import clean_label

_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")
MOST = 200  # scenarios per run; each takes about a megabyte


@dataclass(frozen=True)
class Scenario:
    """A kept scenario; `outcome` reads its forecasts."""

    scenario_id: str
    name: str
    shocks: tuple[Shock, ...]
    created: str
    weights: str
    folder: Path
    checksum: str

    @property
    def words(self) -> str:
        return "; ".join(str(s) for s in self.shocks)

    def outcome(self) -> Outcome:
        content = read_bytes(self.folder / "outcome.npz")
        if sha256(content) != self.checksum:
            raise TRNNError(
                f"{self.folder / 'outcome.npz'} is damaged: its content does not match its checksum; delete the"
                " scenario and run it again."
            )
        return unpack(Outcome, content)

    def fits(self, run: Run) -> bool:
        """Whether it was made with the weights that the run has now."""
        return self.weights == weights_of(run)


def weights_of(run: Run) -> str:
    """A short name for the run's weights: it changes when they do."""
    return run.manifest().get(layout.WEIGHTS, "")[:16]


def save_scenario(run: Run, name: str, shocks: Sequence[Shock], outcome: Outcome) -> Scenario:
    """Keep a scenario with its run."""
    if len(list_scenarios(run)) >= MOST:
        raise TRNNError(f"Run {run.run_id} keeps {MOST} scenarios already; delete one before saving another.")
    scenario_id = f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    content = pack(outcome)
    about: dict[str, Any] = {
        "name": clean_label(name),
        "shocks": [s.to_json() for s in shocks],
        "created": datetime.now().astimezone().isoformat(timespec="seconds"),
        "weights": weights_of(run),
        "checksum": sha256(content),
    }
    folder = run.folder / layout.SCENARIOS / scenario_id
    try:
        folder.parent.mkdir(exist_ok=True)
    except OSError as e:
        raise explain_os_error(e, folder) from e
    write_folder(folder, {layout.SCENARIO: sealed_bytes(about), "outcome.npz": content})
    return get_scenario(run, scenario_id)


def list_scenarios(run: Run) -> list[Scenario]:
    """All scenarios of a run, newest first; a damaged one is left out."""
    folder, found = run.folder / layout.SCENARIOS, []
    for place in folder.iterdir() if folder.is_dir() else ():
        if _ID.fullmatch(place.name):
            try:
                found.append(get_scenario(run, place.name))
            except TRNNError:
                continue
    return sorted(found, key=lambda s: s.scenario_id, reverse=True)


def get_scenario(run: Run, scenario_id: str) -> Scenario:
    if not isinstance(scenario_id, str) or not _ID.fullmatch(scenario_id):
        raise TRNNError(f"A scenario's id must look like 20140626-101500-0a1b2c. Got {scenario_id!r:.60} instead.")
    folder = run.folder / layout.SCENARIOS / scenario_id
    if not folder.is_dir():
        raise TRNNError(f"Run {run.run_id} keeps no scenario {scenario_id}; it may have been deleted.")
    about = read_sealed(folder / layout.SCENARIO)
    shocks = tuple(Shock(**s) for s in about["shocks"])
    return Scenario(scenario_id, about["name"], shocks, about["created"], about["weights"], folder, about["checksum"])


def delete_scenario(run: Run, scenario_id: str) -> None:
    remove_folder(get_scenario(run, scenario_id).folder)


def stored_influence(run: Run) -> InfluenceSet | None:
    """What explanation.npz holds; None when there is none, or only what an older version left."""
    content = run.read_checked(layout.EXPLANATION)
    if content is None:
        return None
    try:
        return InfluenceSet.from_npz(content)
    except TRNNError:
        return None

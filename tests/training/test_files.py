"""Files are whole or not there; locks and heartbeats tell the living from the dead."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from trnn_core.errors import TRNNError
from trnn_core.files import (
    TEMPORARY,
    append,
    is_locked,
    lock,
    read_sealed,
    sweep_temporaries,
    write_atomic,
    write_folder,
    write_sealed,
)
from trnn_core.jobs.processes import Heartbeat, Identity, Watcher, identify, pulse


def test_a_write_replaces_and_leaves_no_temporary(tmp_path):
    path = tmp_path / "a.bin"
    write_atomic(path, b"old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new" and [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_a_folder_appears_whole_and_replaces_an_older_one(tmp_path):
    write_folder(tmp_path / "c", {"x": b"1", "y": b"2"})
    write_folder(tmp_path / "c", {"x": b"3"})
    assert [p.name for p in (tmp_path / "c").iterdir()] == ["x"] and [p.name for p in tmp_path.iterdir()] == ["c"]


def test_temporaries_of_killed_writers_are_swept(tmp_path):
    (tmp_path / f"{TEMPORARY}abc-status.json").write_bytes(b"half")
    (tmp_path / f"{TEMPORARY}abc-000001").mkdir()
    (tmp_path / f"{TEMPORARY}abc-000001" / "weights.safetensors").write_bytes(b"half")
    (tmp_path / f"{TEMPORARY}def-labels.json").write_bytes(b"somebody is renaming the run")
    assert sweep_temporaries(tmp_path, spare=("labels.json",)) == 2 and len(list(tmp_path.iterdir())) == 1
    assert sweep_temporaries(tmp_path) == 1


def test_every_flipped_bit_of_sealed_json_is_detected_or_harmless(tmp_path):
    path = tmp_path / "s.json"
    payload = {"state": "running", "epoch": 12, "loss": 0.1, "tags": ["a", "b"]}
    write_sealed(path, payload)
    whole = path.read_bytes()
    detected = 0
    for bit in range(8 * len(whole)):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        try:
            assert read_sealed(path) == payload  # white space: nothing changed
        except TRNNError:
            detected += 1
    assert detected > 0.8 * 8 * len(whole)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(TRNNError, match="damaged"):
            read_sealed(path)


def test_missing_and_foreign_paths_are_told_in_words(tmp_path):
    with pytest.raises(TRNNError, match="not there"):
        read_sealed(tmp_path / "none.json")
    with pytest.raises(TRNNError, match="not there"):
        write_atomic(tmp_path / "gone" / "x", b"")
    with pytest.raises(TRNNError, match="not there"):
        append(tmp_path / "none.jsonl", b"{}\n")


def test_a_lock_is_exclusive_and_dies_with_its_process(tmp_path):
    path = tmp_path / "lock"
    code = f"from trnn_core.files import lock\nimport time\nfrom pathlib import Path\nwith lock(Path({str(path)!r}), 'busy'):\n print('held', flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        assert is_locked(path)
        with pytest.raises(TRNNError, match="taken"), lock(path, "taken", patience=0.05):
            pass
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert not is_locked(path)
    with lock(path, "taken"):
        assert is_locked(path)


def test_a_process_is_known_by_pid_start_and_boot():
    me = identify()
    assert pulse(me.to_json()) == "alive"
    assert pulse(replace(me, started="1").to_json()) == "dead"  # the pid was given to another process
    assert pulse(replace(me, boot="another").to_json()) == "dead"
    assert pulse(replace(me, place="another/machine").to_json()) == "unknown"
    assert pulse(None) == "dead" and pulse({"pid": 1}) == "dead"


def test_a_zombie_is_dead():
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    record = identify(child.pid).to_json()
    deadline = time.monotonic() + 10
    while pulse(record) == "alive" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert pulse(record) == "dead"  # ended, not yet waited for
    child.wait()


def test_a_heartbeat_counts_and_a_watcher_judges_by_its_own_clock(tmp_path):
    path = tmp_path / "heartbeat.json"
    watcher = Watcher(silence=0.05)
    with Heartbeat(path, seconds=0.02):
        deadline = time.monotonic() + 5
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        for _ in range(5):
            assert watcher.judge(path) == "alive"
            time.sleep(0.1)
    # The counter stands still though this process lives: hung, as far as anybody can tell.
    time.sleep(0.1)
    watcher.judge(path)
    time.sleep(0.1)
    assert watcher.judge(path) == "alive"  # seen to live, perhaps only starved
    time.sleep(0.3)
    assert watcher.judge(path) == "dead"


def test_a_heartbeat_from_another_machine_is_judged_by_its_counter(tmp_path):
    path = tmp_path / "heartbeat.json"
    elsewhere = Identity(os.getpid(), "1", "boot", "elsewhere").to_json()
    watcher = Watcher(silence=0.1)
    write_sealed(path, {"counter": 1, "process": elsewhere, "progress": {}})
    assert watcher.judge(path) == "unknown"
    write_sealed(path, {"counter": 2, "process": elsewhere, "progress": {}})
    assert watcher.judge(path) == "alive"
    time.sleep(0.2)
    assert watcher.judge(path) == "dead"

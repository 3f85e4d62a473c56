"""Starting on machines that lack something: one sentence each, and nothing broken by two starts at once."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.setup_venv import pip_reason, venv_reason
from scripts.start_app import choose_port, is_free

ROOT = Path(__file__).resolve().parents[2]

posix = pytest.mark.skipif(os.name == "nt", reason="make and sh are not on Windows")


def find_python(path: Path | str, *arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PATH": str(path)}
    return subprocess.run(
        ["/bin/sh", str(ROOT / "scripts/find_python.sh"), *arguments], env=environment, capture_output=True, text=True
    )


def one_sentence(text: str) -> bool:
    return text.strip().count("\n") == 0 and text.strip().endswith(".") and "Traceback" not in text


@posix
def test_a_machine_without_python_is_told_what_to_do(tmp_path: Path) -> None:
    done = find_python(tmp_path)
    assert done.returncode == 1 and one_sentence(done.stderr)
    assert "Python 3.11 or newer is needed and none was found" in done.stderr


@posix
def test_an_old_python_is_named(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\ncase "$2" in *platform*) echo 3.8.1;; *) exit 1;; esac\n')
    old.chmod(0o755)
    done = find_python(f"{tmp_path}")
    assert done.returncode == 1 and one_sentence(done.stderr)
    assert "only 3.8.1 was found" in done.stderr


@posix
def test_a_python_named_by_hand_is_used_or_refused(tmp_path: Path) -> None:
    assert find_python(os.environ["PATH"], sys.executable).stdout.strip() == sys.executable
    done = find_python(os.environ["PATH"], str(tmp_path / "nothing"))
    assert done.returncode == 1 and one_sentence(done.stderr)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The start scripts alone, with next to nothing to install."""
    shutil.copytree(ROOT / "scripts", tmp_path / "p" / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "p" / "requirements.txt").write_text("# nothing\n")
    return tmp_path / "p"


def setup(project: Path, **environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(project / "scripts" / "setup_venv.py"), "requirements.txt"],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_setups_at_once_make_one_sound_environment_and_a_third_does_nothing(project: Path) -> None:
    both = [setup(project), setup(project)]
    outputs = [p.communicate(timeout=200) for p in both]
    assert [p.returncode for p in both] == [0, 0], outputs
    assert sum("Making .venv" in out for out, _ in outputs) == 1
    python = project / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    assert subprocess.run([str(python), "-m", "pip", "check"], capture_output=True).returncode == 0
    third = setup(project)
    assert third.communicate(timeout=60) == ("", "") and third.returncode == 0


def test_no_network_is_one_sentence(project: Path) -> None:
    (project / "requirements.txt").write_text("a-package-that-nobody-has==1.0\n")
    flags = "--isolated --index-url http://127.0.0.1:9/simple --retries 0"
    failed = setup(project, PIP_FLAGS=flags)
    _, told = failed.communicate(timeout=200)
    assert failed.returncode == 1 and one_sentence(told)
    assert "could not be reached: check the network" in told
    assert not (project / ".venv" / ".installed-requirements").exists()


def test_what_pip_says_becomes_advice() -> None:
    assert "disk is full" in pip_reason("OSError: [Errno 28] No space left on device")
    assert "has no build for this computer" in pip_reason("ERROR: No matching distribution found for torch==2.13.0")
    assert "pip said: odd" in pip_reason("ERROR: odd")
    assert "python3-venv" in venv_reason("Error: ensurepip is not available")


def test_a_taken_port_offers_the_next_or_says_so() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        assert not is_free(taken)
        with pytest.raises(ValueError, match=f"Port {taken} is taken by another program"):
            choose_port(str(taken))
    with pytest.raises(ValueError, match="PORT must be a number"):
        choose_port("http")


def test_the_first_free_port_is_chosen(capsys, monkeypatch) -> None:
    monkeypatch.setattr("scripts.start_app.is_free", lambda port: port >= 8503)
    assert choose_port("") == 8503
    assert "http://localhost:8503" in capsys.readouterr().out
    monkeypatch.setattr("scripts.start_app.is_free", lambda port: False)
    with pytest.raises(ValueError, match="are all taken"):
        choose_port("")

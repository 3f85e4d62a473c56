"""Files to import: uploaded ones, kept for a day so that a reload loses nothing, or files and folders on the server."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from pathlib import Path

import streamlit as st

from trnn_core.errors import TRNNError
from ui.data_access import data_folder, runs_folder

TYPES = ["csv", "tsv", "txt", "tab", "parquet", "xlsx", "npz", "tns", "zip", "gz"]
KEPT_SECONDS = 24 * 3600.0


def pick_files() -> list[Path]:
    """What the user brings, each file or folder once."""
    files = st.file_uploader(
        "Your files",
        TYPES,
        accept_multiple_files=True,
        key="upload",
        help=(
            "Event files as delivered, a table with date, sender, receiver, action and value, or a saved set. Several"
            " files of one kind are joined."
        ),
    )
    there = on_server()
    named = (
        st.multiselect(
            "Or files and folders in the data folder of the server",
            there,
            key="server_files",
            placeholder="none chosen",
            help=(
                f"For files too large to upload: put them into {data_folder().name}/ first. All files of a folder are"
                " joined."
            ),
        )
        if there
        else []
    )
    if named:
        return [data_folder() / name.rstrip("/") for name in named]
    return [keep(file) for file in files or []]


def on_server() -> list[str]:
    """What may be imported from the data folder; folders end in a slash. Saved sets are there already."""
    if not data_folder().is_dir():
        return []
    entries = sorted(p for p in data_folder().iterdir() if not p.name.startswith("."))
    folders = [f"{p.name}/" for p in entries if p.is_dir() and p.name != "demo_run" and any(p.iterdir())]
    return folders + [
        p.name for p in entries if p.is_file() and p.suffix.lstrip(".").lower() in TYPES and p.suffix != ".npz"
    ]


def keep(file) -> Path:
    """An uploaded file on disk, in a folder of this session, written once."""
    folder = upload_folder()
    path = folder / safe_name(file.name)
    if not path.exists() or st.session_state.get(f"upload-{path.name}") != file.file_id:
        try:
            path.write_bytes(file.getbuffer())
        except OSError as e:
            raise TRNNError(
                f"{path.name}: cannot be kept on the server ({e.strerror}); free some space and try again."
            ) from e
        st.session_state[f"upload-{path.name}"] = file.file_id
    return path


def upload_folder() -> Path:
    if "upload_folder" not in st.session_state:
        root = runs_folder() / ".uploads"
        sweep(root)
        st.session_state["upload_folder"] = str(root / secrets.token_hex(8))
    folder = Path(st.session_state["upload_folder"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def sweep(root: Path) -> None:
    """Uploads of yesterday go; what was imported and saved is a set of its own."""
    for folder in root.iterdir() if root.is_dir() else ():
        if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def safe_name(name: str) -> str:
    """The last part of a file's name, without anything that could lead elsewhere.

    >>> safe_name("../../etc/passwd"), safe_name("week 1.csv"), safe_name("\\x00")
    ('passwd', 'week 1.csv', 'file')
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^\w .()-]", "", last).strip(" .")[-100:] or "file"

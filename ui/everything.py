"""All that the pages need, imported by the first visitor while others wait: every page imports this before anything
else.

Each visit is a thread. Two that import parts of one package for the first time in different order would each hold what
the other waits for; Python then hands out a half-made module, and the pages fail with an ImportError.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

for _path in sorted(Path(__file__).parent.glob("*.py")):
    if _path.stem not in ("__init__", "everything"):
        import_module(f"ui.{_path.stem}")

"""Streamlit orders a full garbage collection after every rerun, and all sessions wait for it: it must find little."""

from __future__ import annotations

import subprocess
import sys

from tests.pages.conftest import ROOT

LOOK = """
import gc, sys
from streamlit.testing.v1 import AppTest

for path in 2 * sys.argv[1:]:  # what a page imports while it is first drawn is spared when one is drawn again
    app = AppTest.from_file("app.py", default_timeout=60)
    app.switch_page(path) if path != "app.py" else None
    assert not app.run().exception, path
del app
gc.collect()
print(len(gc.get_objects()))
"""


def test_what_the_pages_import_is_no_work_for_the_collector(asked) -> None:
    pages = ["app.py", *(f"pages/{p.name}" for p in sorted((ROOT / "pages").glob("[0-9]_*.py")))]
    done = subprocess.run([sys.executable, "-c", LOOK, *pages], cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) < 20_000  # some 60,000 where the modules of the pages are among them

"""What runs before or beside a page may fail too: a sentence, a way on, and a reference that is also in the log."""

from __future__ import annotations

import ast
import logging
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
REPORT = "pages/6_Report.py"


def break_down(*args, **kwargs):
    raise RuntimeError("the cupboard is bare")


def told(app: AppTest, caplog) -> str:
    """The one sentence that is shown; the fold beside it has a reference that is in the log with the full report."""
    assert not app.exception and len(app.error) == 1
    (fold,) = [e for e in app.expander if e.label == "Details"]
    found = re.search(r"Reference \*\*(\w{8})\*\*", fold.markdown[0].value)
    assert found
    (record,) = [r for r in caplog.records if r.getMessage() == f"reference {found[1]}"]
    assert record.exc_info and "the cupboard is bare" in str(record.exc_info[1])
    return app.error[0].value


def test_a_button_whose_work_breaks_says_so_and_the_page_is_still_there(full, open_page, monkeypatch, caplog) -> None:
    app = open_page(REPORT)
    monkeypatch.setattr("ui.report_files.start", break_down)
    with caplog.at_level(logging.ERROR, "trnn.dashboard"):
        next(b for b in app.button if b.label == "Make PDF").click()
        app.run()
    assert told(app, caplog).startswith("That did not work. Try it again")
    assert "cupboard" not in str([e.value for e in [*app.error, *app.markdown]])
    assert any(b.label == "Make PDF" for b in app.button) and app.get("iframe")
    app.run()
    assert not app.error  # said once


def test_a_file_whose_maker_breaks_is_told_on_the_page(full, open_page, monkeypatch, caplog) -> None:
    """The makers run in a thread of the server that knows no session; what they note is shown when it looks again."""
    made = {}
    monkeypatch.setattr("ui.downloads.st.download_button", lambda label, make, *a, **k: made.update({label: make}))
    app = open_page("pages/3_Forecast.py", run="first")
    monkeypatch.setattr("ui.forecast_tables.to_csv", break_down)
    with caplog.at_level(logging.ERROR, "trnn.dashboard"):
        with pytest.raises(RuntimeError):  # the button says by itself that there is no file
            made["Whole forecast (CSV)"]()
        app.run()
    assert re.match(r"The file forecast-\d{4}-\d\d-\d\d\.csv could not be made\. Try it again", told(app, caplog))


def unguarded(path: Path) -> list[str]:
    """Callbacks handed to a control as they are."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for word in node.keywords if isinstance(node, ast.Call) else ():
            known = isinstance(word.value, ast.Constant) or ast.unparse(word.value).startswith("guarded(")
            if word.arg in ("on_click", "on_change", "on_select") and not known:
                found.append(f"{path.name}:{node.lineno} {ast.unparse(word.value)}")
    return found


def test_every_callback_is_guarded_and_every_maker_is_noted() -> None:
    files = [*(ROOT / "ui").glob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]
    assert [w for path in files for w in unguarded(path)] == []
    for path in files:  # a maker is a function; content that is there already needs none
        for call in re.findall(r"st\.download_button\(\s*[^,]+, ([^,]+),", path.read_text(encoding="utf-8")):
            assert path.name == "downloads.py" or call in ("text", "recipe_text(recipe)", "recipe.read_bytes()"), (
                path.name,
                call,
            )

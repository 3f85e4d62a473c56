"""Every control of every page says what it is for, in every view (those of Explain: test_explain_page.py)."""

from __future__ import annotations

import pytest

from tests.pages.conftest import DATA, FORECAST, HOME, TRAIN, silent_controls

EVALUATE, REPORT = "pages/4_Evaluate.py", "pages/6_Report.py"
VIEWS = [
    (HOME, {}), (DATA, {}), (DATA, {"data_view": "Network"}), (DATA, {"do": "Add data"}), (TRAIN, {}),
    (TRAIN, {"preset": "recommended"}), (FORECAST, {"view": "Heatmap"}), (FORECAST, {"view": "Chord"}), (EVALUATE, {}),
    (REPORT, {}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "link"), VIEWS, ids=lambda x: str(x))
def test_every_control_of_every_view_explains_itself(path, link, full, open_page) -> None:
    app = open_page(path, **link)
    assert silent_controls(app) == []

"""The live curve: what it draws, and that its chart stays the same while its rows change."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from trnn_core.charts.live_loss import MOST_POINTS, can_be_log, loss_rows, loss_spec, norm_rows, norm_spec
from trnn_core.errors import TRNNError


def history(n: int) -> pd.DataFrame:
    epochs = np.arange(1, n + 1)
    return pd.DataFrame(
        {
            "epoch": epochs,
            "train_loss": 1 / epochs,
            "val_loss": 1 / epochs + 0.5 * (epochs > 3),
            "grad_norm": 2.0 / epochs,
        }
    )


def test_rows_hold_both_lines_the_best_epoch_and_earlier_runs() -> None:
    rows = loss_rows(history(5), others=[("before", history(2))])
    assert set(rows["series"]) == {"training", "validation", "best epoch", "before"}
    best = rows[rows["kind"] == "best"].iloc[0]
    assert (best["epoch"], best["value"]) == (3, pytest.approx(1 / 3))
    assert rows[rows["series"] == "before"]["epoch"].tolist() == [1, 2]
    assert norm_rows(history(5))["value"].tolist() == pytest.approx([2 / e for e in range(1, 6)])


def test_a_long_history_is_thinned_and_keeps_its_ends_and_its_best_epoch() -> None:
    long = history(5000)
    long.loc[1234, "val_loss"] = -0.5
    rows = loss_rows(long)
    line = rows[rows["series"] == "validation"]
    assert len(line) <= MOST_POINTS and line["epoch"].min() == 1 and line["epoch"].max() == 5000
    assert rows[rows["kind"] == "best"]["epoch"].item() == 1235
    assert not can_be_log(rows) and can_be_log(loss_rows(history(9)))


def test_smoothing_averages_and_leaves_gaps_alone() -> None:
    bumpy = history(4)
    bumpy["train_loss"] = [1.0, 3.0, np.nan, 1.0]
    line = loss_rows(bumpy, smoothing=0.5).query("series == 'training'")
    assert line["epoch"].tolist() == [1, 2, 4] and line["value"].iloc[1] == pytest.approx((3 + 0.5 * 1) / 1.5)
    with pytest.raises(TRNNError, match="Smoothing"):
        loss_rows(bumpy, smoothing=1.0)


def test_no_epoch_gives_no_rows() -> None:
    assert loss_rows(history(0)).empty and norm_rows(pd.DataFrame()).empty


def test_overlaid_runs_can_be_told_apart() -> None:
    colours = loss_spec(simulated=True, log=True, names=["a", "b", "c"])["encoding"]["color"]["scale"]["range"]
    assert len(set(colours)) == 6


def test_the_chart_does_not_depend_on_the_rows_so_that_the_browser_keeps_it() -> None:
    spec = json.dumps(loss_spec(simulated=True, log=True, names=["before"]))
    assert "SIMULATED data" in spec and '"type": "log"' in spec and "log scale" in spec and "before" in spec
    assert '"type": "linear"' in json.dumps(norm_spec(simulated=False, log=False))
    assert "values" not in spec  # rows never stand inside the chart itself

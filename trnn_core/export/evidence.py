"""How good the forecast was in the past, and why it says what it says: the sections that depend on what is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from trnn_core.charts.bars import ranking
from trnn_core.charts.look import finish
from trnn_core.charts.theme import LIGHT, plain
from trnn_core.evaluation.forecasters import label
from trnn_core.export.backtest_report import report_blocks
from trnn_core.export.blocks import Block, Bullets, Chart, Table, Text
from trnn_core.export.material import Backtest, Material
from trnn_core.export.pictures import influence_chart
from trnn_core.words import SIGN, percent

SCORES = {"mse": "MSE", "mae": "MAE", "crps": "CRPS", "coverage90": "90\u00a0% interval held"}
FORMATS = {"MSE": ".5f", "MAE": ".5f", "CRPS": ".5f", "90\u00a0% interval held": ".1%", "Skill vs repeating": "+.1%"}
WORST = 10


def past(m: Material) -> list[Block]:
    """The short test of the training, then, where one is stored, the backtest against the baselines."""
    blocks: list[Block] = []
    for part in ("test", "validation"):
        found = m.summary.get(part)
        if found:
            blocks.append(Text(_scored(found, part, m)))
    if not blocks:
        blocks.append(Text("This run was not scored against past data, so nothing is known about how far to trust it."))
    if m.backtest is None:
        words = (
            "No backtest is stored with this run: there is no leaderboard against other models, no calibration by"
            " origin and no list of misses here."
        )
        return [*blocks, Text(f"{words} Run one on the Evaluate page or with `python -m trnn_core backtest`.", "note")]
    return blocks + _backtest(m, m.backtest)


def _scored(found: dict[str, Any], part: str, m: Material) -> str:
    origins = f"{found['n_origins']} {part} {m.period}s"
    chosen = " (they chose the best epoch, so the figure flatters)" if part == "validation" else ""
    said = (
        f"On the {origins} it had not learnt from{chosen}, the mean squared error one {m.period} ahead was"
        f" {found['mse']:.5f} on the {found['scale']} scale, that of repeating the last {m.period}"
        f" {found['mse_persistence']:.5f}"
    )
    if found.get("skill") is not None:
        better = (
            f"{percent(found['skill'])} lower"
            if found["skill"] > 0
            else f"no better ({percent(found['skill'], signed=True)}): do not rely on it"
        )
        said += f": {better}"
    if found.get("coverage90") is not None:
        said += (
            f". The {percent(m.forecast.interval_level)} interval held the true figure in"
            f" {percent(found['coverage90'], 1)} of cases"
        )
    return f"{said}."


def _backtest(m: Material, found: Backtest) -> list[Block]:
    if found.result is not None:
        return report_blocks(found.result)
    blocks: list[Block] = [Text(found.protocol or "Rolling origins; the protocol was not kept in words.", "note")]
    board = leaderboard(found, m.period)
    blocks.append(
        Table(
            board,
            f"Leaderboard one {m.period} ahead, best first: means over {found.table['origin'].nunique()} origins.",
            formats=FORMATS,
        )
    )
    if "MSE" in board:
        figure = ranking(
            board["Model"].tolist(),
            board["MSE"].tolist(),
            m.look("Mean squared error by model"),
            unit="MSE, less is better",
            axis="model",
        )
        blocks.append(Chart(figure, "leaderboard", "Mean squared error of each model"))
    blocks += [chart for chart in (_calibration(m, found), _over_time(m, found)) if chart is not None]
    return blocks + _misses(m, found)


def leaderboard(found: Backtest, period: str) -> pd.DataFrame:
    """Mean scores by model, with the share of the best baseline's error saved where persistence was scored."""
    columns = {words: found.mean(metric) for metric, words in SCORES.items() if len(found.mean(metric))}
    board = pd.DataFrame(columns)
    if "MSE" in board and "persistence" in board.index:
        board["Skill vs repeating"] = 1 - board["MSE"] / float(found.mean("mse")["persistence"])
    board = board.sort_values("MSE", kind="stable") if "MSE" in board else board
    board.index = pd.Index([label(name, period) for name in board.index], name="Model")
    return board.reset_index()


def _calibration(m: Material, found: Backtest) -> Chart | None:
    """How often the 90 % interval held, by model, beside the 90 % it should."""
    held = 100 * found.mean("coverage90")
    if not len(held):
        return None
    figure = go.Figure(
        go.Scatter(
            x=held.to_numpy(),
            y=[plain(label(name, m.period)) for name in held.index],
            mode="markers",
            marker={"size": 11, "color": LIGHT.node},
            hovertemplate="%{y}: %{x:.1f}" + SIGN + "<extra></extra>",
        )
    )
    figure.add_vline(x=90, line={"dash": "dot", "color": LIGHT.lines[1]})
    figure.update_xaxes(
        title="share of outcomes inside the 90\u00a0% interval",
        ticksuffix=SIGN,
        range=[min(50.0, float(held.min()) - 2), 100.5],
    )
    figure.update_yaxes(title="model")
    title = "Calibration: how often the 90\u00a0% interval held"
    look = m.look(title, subtitle="dotted: as it should be", height=120 + 26 * len(held))
    finish(figure, look, margin=(120, 20, 74, 50))
    return Chart(figure, "calibration", title)


def _over_time(m: Material, found: Backtest) -> Chart | None:
    """Squared error by origin of the three best models: where it went wrong, and whether the others did too."""
    best = list(found.mean("mse").sort_values().index[:3])
    if not best:
        return None
    figure = go.Figure()
    for name, colour in zip(best, LIGHT.lines, strict=False):
        rows = _one_step(found, "mse", name)
        figure.add_scatter(
            x=rows["origin"].astype(str),
            y=rows["value"],
            mode="lines",
            name=plain(label(name, m.period)),
            line={"width": 1.5, "color": colour},
        )
    figure.update_yaxes(title="MSE", rangemode="tozero")
    figure.update_xaxes(title="origin (last period seen)")
    finish(figure, m.look("Error over time", subtitle="the three best models", height=340), margin=(60, 12, 66, 84))
    return Chart(figure, "error-over-time", "Mean squared error by origin of the three best models")


def _one_step(found: Backtest, metric: str, model: str) -> pd.DataFrame:
    table = found.table
    rows = table[(table["metric"] == metric) & (table["horizon"] == 1) & (table["model"] == model)]
    whole = rows[rows["action"] == "all"]
    return whole if len(whole) else rows.groupby("origin", sort=False)["value"].mean().reset_index()


def _misses(m: Material, found: Backtest) -> list[Block]:
    """The worst periods, and where scores per dyad are kept, the pairs with the largest errors."""
    best = str(found.mean("mse").idxmin()) if len(found.mean("mse")) else ""
    rows = _one_step(found, "mse", best)[["origin", "value"]].nlargest(WORST, "value")
    worst = rows.assign(origin=rows["origin"].astype(str)).rename(
        columns={"origin": "Last period seen", "value": "MSE"}
    )
    blocks: list[Block] = [
        Table(
            worst,
            f"Largest misses: the {len(worst)} origins at which {label(best, m.period)}, the best model, erred most.",
            formats=FORMATS,
        )
    ]
    if found.dyads is not None:
        pairs = found.dyads
        pairs = pairs[(pairs["metric"] == "mse") & (pairs["horizon"] == 1) & (pairs["model"] == best)].nlargest(
            WORST, "value"
        )
        shown = pairs[["source", "target", "action", "value"]].rename(
            columns={"source": "Sender", "target": "Receiver", "action": "Action", "value": "MSE"}
        )
        blocks.append(
            Table(
                shown,
                f"The {len(shown)} pairs and actions on which {label(best, m.period)} erred most, mean over all"
                " origins.",
                formats=FORMATS,
            )
        )
    return blocks


def explanation(m: Material) -> list[Block]:
    found = m.explanation
    if found is None:
        return [Text("No explanation is stored with this run. The Explain page makes one.", "note")]
    blocks: list[Block] = [Text(f"Read off the trained network: {found.method.rstrip('.')}. Association is not cause.")]
    for place, (matrix, name) in enumerate(((found.sender, "sender"), (found.receiver, "receiver"))):
        word = {"sender": "sending", "receiver": "receiving"}[name]
        solid = None if found.solid is None else found.solid[place]
        grey = "" if solid is None else "; grey: not to be told from noise"
        blocks.append(
            influence_chart(
                m,
                matrix,
                f"Influence in {word}",
                f"1 is a country's own continuation{grey}",
                f"influence-{name}",
                solid,
            )
        )
        shown = matrix if solid is None else np.where(solid, matrix, 0.0)
        blocks.append(Bullets(tuple(_strongest(shown, found.actors, word))))
    if found.stability:
        blocks.append(
            Text(f"Ties in colour are three standard errors or more from zero. Errors: {found.stability}.", "note")
        )
    return blocks


def _strongest(matrix: np.ndarray, actors: tuple[str, ...], word: str, n: int = 5) -> list[str]:
    off = np.where(np.eye(len(actors), dtype=bool), 0.0, matrix)
    places = np.argsort(-np.abs(off), axis=None, kind="stable")[:n]
    said = []
    for place in places:
        i, j = np.unravel_index(place, off.shape)
        if off[i, j] != 0:
            way = "more" if off[i, j] > 0 else "less"
            done = "done by" if word == "sending" else "done to"
            said.append(
                f"More {done} {actors[j]} goes with {way} {done} {actors[i]} a period later ({off[i, j]:+.2f})."
            )
    return said

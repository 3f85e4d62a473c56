"""A matrix of many countries stays light: the largest cells answer to the pointer, and carry the right pair."""

from __future__ import annotations

import numpy as np

from tests.shared_data import shared_file
from trnn_core.charts.heatmap import SQUARES, heatmap
from trnn_core.charts.look import Look
from trnn_core.data.readers.npz import read_npz

LOOK = Look("Many countries", simulated=False)


def test_of_250_actors_the_largest_cells_can_be_clicked_and_all_are_drawn() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.exponential(size=(250, 250)) ** 4
    order = rng.permutation(250)
    figure = heatmap(matrix, [f"Country number {i}" for i in range(250)], LOOK, order=order.tolist())
    cells, squares = figure.data
    assert np.shape(cells.z) == (250, 250) and len(squares.x) == SQUARES
    pairs = np.array(list(squares.customdata))
    assert matrix[pairs[:, 0], pairs[:, 1]].min() >= np.sort(matrix, axis=None)[-SQUARES]
    assert order[squares.y[7]] == pairs[7, 0] and order[squares.x[7]] == pairs[7, 1]
    assert len(figure.to_json()) < 1_500_000
    assert "the 6,000 largest cells can be clicked" in figure.layout.title.subtitle.text


def test_a_small_matrix_answers_everywhere() -> None:
    figure = heatmap(np.ones((40, 40)), [f"C{i}" for i in range(40)], LOOK)
    assert len(figure.data[1].x) == 1600 and figure.data[0].xgap == 1


def test_152_countries_of_a_real_year_are_drawn() -> None:
    series = read_npz(shared_file("icews_yearly_152_quad.npz"))
    figure = heatmap(series.values[-1][..., 0], series.actors, LOOK)
    assert np.shape(figure.data[0].z) == (152, 152) and len(figure.to_json()) < 1_500_000

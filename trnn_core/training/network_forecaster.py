"""A trained tensorial network as a forecaster: its point predictions, and a distribution around them.

The distribution is that of every baseline (`models.noise`): mean and spread of a count given the predicted level and
the cell's recent activity, one model per step ahead, learnt from the network's own errors in the validation periods.

Dimension letters: O origins, H steps ahead, N sources, M targets, K actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from trnn_core.data.series import RelationalSeries
from trnn_core.models.baselines.base import LevelForecaster
from trnn_core.models.distributions import Distribution
from trnn_core.models.forecast import Forecast
from trnn_core.models.network import TensorNetwork
from trnn_core.models.panel import Panel
from trnn_core.training.predictor import Predictor
from trnn_core.training.prepare import Prepared

_BLOCK, _BLOCK_CELLS = 32, 2_000_000  # origins rolled at once, and cells of theirs where there are many actors


class NetworkForecaster(LevelForecaster):
    """Levels 1..h ahead by reading each prediction as if it had happened. Made by `network_forecaster`."""

    name = "network"

    def __init__(self, predictor: Predictor, learnt: RelationalSeries) -> None:
        super().__init__()
        split = predictor.prepared.split
        self.predictor, self._train = predictor, Panel.of(learnt)
        self._labels, self._learnt_until = (learnt.actors, learnt.actions), split.train.stop
        self.holdout = len(split.validation) / len(learnt)
        self._reach = 1  # steps rolled whenever one is asked for
        self._seen: RelationalSeries = predictor.prepared.series
        self._rolled: dict[bool, dict[int, np.ndarray]] = {
            True: {},
            False: {},
        }  # own series or another's -> origin -> (H, N, M, K)

    def forecast_many(self, series: RelationalSeries, origins: Sequence[int], horizon: int) -> Iterator[Forecast]:
        if series is not self._seen or int(np.prod(series.shape[1:])) * _BLOCK > _BLOCK_CELLS:
            self._seen, self._rolled[False] = series, {}
        self._reach = max(self._reach, horizon)
        yield from super().forecast_many(series, origins, horizon)

    def _predict(self, panel: Panel, origins: np.ndarray, step: int) -> tuple[np.ndarray, Distribution]:
        return self.predictor.prepared.likelihood.link.predict(
            lambda: self._levels(panel, origins, step),
            lambda: super(NetworkForecaster, self)._predict(panel, origins, step),
        )

    def _levels(self, panel: Panel, origins: np.ndarray, step: int) -> np.ndarray:
        own = panel is self._train or self._seen is self.predictor.prepared.series
        known = self._rolled[own]
        missing = [int(t) for t in origins if int(t) not in known or len(known[int(t)]) < step]
        predictor = self.predictor
        if not own:
            predictor = replace(predictor, prepared=replace(predictor.prepared, series=self._seen))
        size = min(_BLOCK, max(1, _BLOCK_CELLS // int(np.prod(panel.level.shape[1:]))))
        for at in range(0, len(missing), size):
            block = np.array(missing[at : at + size])
            values = predictor.to_values(predictor.roll(block, max(step, self._reach)))
            levels = np.log1p(values) if panel.counts and not self._says_chances else values
            if size < _BLOCK:
                levels = levels.astype(np.float32)  # many actors: half the room for what is kept
            known.update(zip(block.tolist(), levels, strict=True))
        return np.stack([known[int(t)][step - 1] for t in origins])

    @property
    def _says_chances(self) -> bool:
        return self.predictor.prepared.likelihood.link.chance

    def uncertainty(self, n_steps: int) -> str:
        """Where the distributions come from, in words."""
        split = self.predictor.prepared.split
        if self._says_chances:
            return "the network states the chance of any event; the interval is that of a yes or no with this chance"
        shape = "negative binomial" if self._train and self._train.counts else "normal"
        n = len(split.validation)
        if not n:
            return (
                f"90\u00a0% intervals of a {shape} distribution learnt from the network's errors in its training"
                " periods, so they are too narrow"
            )
        words = (
            f"90\u00a0% intervals of a {shape} distribution, its mean and spread learnt for each step ahead from the"
            f" network's errors in the {f'{n} validation periods' if n > 1 else 'validation period'}"
        )
        if n < 40 + n_steps:
            words += (
                "; there are few of them, so that some training periods are used too and the intervals may be too"
                " narrow"
            )
        return words


def network_forecaster(network: TensorNetwork, prepared: Prepared) -> NetworkForecaster:
    """The network with its present weights; nothing of the test periods is looked at before they are forecast."""
    known = prepared.series.select(periods=slice(0, prepared.split.validation.stop))
    return NetworkForecaster(Predictor(network, prepared), known)

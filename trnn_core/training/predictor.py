"""Point predictions of a trained network on a scale where errors are comparable, for one step or many.

Dimension letters: T periods, N sources, M targets, K actions, O origins (the last period known), H horizons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from trnn_core.data.designs import build_inputs, parse_slice, warm_up
from trnn_core.data.windows import Part, make_windows
from trnn_core.models.likelihoods.link_functions import Identity
from trnn_core.models.network import TensorNetwork
from trnn_core.training.prepare import Prepared

MEMORY = 52  # periods beyond the window kept when inputs are built anew: enough for slow moving averages


@dataclass(frozen=True)
class Predictor:
    """A network with its data.

    Predictions are on the *working scale* of the likelihood's link (`models/likelihoods/link_functions.py`).
    """

    network: TensorNetwork
    prepared: Prepared

    @property
    def scale(self) -> str:
        return self._link.scale(self.prepared.data.transform)

    @property
    def _link(self) -> Identity:
        return self.prepared.likelihood.link

    def to_values(self, point: np.ndarray) -> np.ndarray:
        """From the working scale to counts or values; counts are never negative."""
        prepared = self.prepared
        return self._link.values(point, prepared.transform, prepared.series.source.kind == "count")

    def _from_raw(self, raw: torch.Tensor) -> np.ndarray:
        return self._link.point(raw.cpu().numpy().astype(np.float64))

    @torch.no_grad()
    def one_step(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """Predictions of every period of a part from the periods before it: target periods (O,), points (O, N, M,
        K)."""
        prepared = self.prepared
        self.network.eval()
        if prepared.data.design == "single-series":
            raw, _ = self.network(self._placed(prepared.inputs[:-1][None]), every_step=True)
            targets = np.array([t for t in prepared.split[part] if t >= 1])
            return targets, self._from_raw(raw[0])[targets - 1]
        windows = make_windows(prepared.split, part, prepared.data.window)
        first, last = int(windows.first[0]), int(windows.first[-1])
        weeks = prepared.inputs[first : last + prepared.data.window]
        return windows.last_touched, self._from_raw(self.network.windows(self._placed(weeks), prepared.data.window))

    @torch.no_grad()
    def roll(self, origins: np.ndarray, horizon: int) -> np.ndarray:
        """Predictions 1 .. horizon after each origin (O, H, N, M, K), each step read as if it had happened."""
        prepared = self.prepared
        self.network.eval()
        length = prepared.data.window + MEMORY * (prepared.data.design == "single-series")
        slices, complete = prepared.data.slices, bool(prepared.series.observed.all())
        by_period = complete and all(parse_slice(s).time == "now" for s in slices)  # then no input looks further back
        keep = length if by_period else length + warm_up(slices) + MEMORY
        past = [prepared.series.values[max(0, t + 1 - keep) : t + 1].astype(np.float64) for t in origins]
        points = []
        for _ in range(horizon):
            inputs = np.stack([self._inputs(values)[-length:].astype(prepared.inputs.numpy().dtype) for values in past])
            raw, _ = self.network(self._placed(torch.from_numpy(inputs)))
            point = self._from_raw(raw)
            points.append(point)
            seen = self._as_history(point, np.stack([values[-1] for values in past]))
            past = [np.concatenate([values, new[None]]) for values, new in zip(past, seen, strict=True)]
        return np.stack(points, axis=1)

    def _placed(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs.to(self.network.device)

    def _inputs(self, values: np.ndarray) -> np.ndarray:
        p = self.prepared
        z = p.transform.apply(values)
        return build_inputs(z, p.data.slices, counts=values, diagonal=p.series.source.diagonal)[0]

    def _as_history(self, point: np.ndarray, before: np.ndarray) -> np.ndarray:
        """What a prediction counts as once it is read as the past; the unlearnt diagonal repeats the period before."""
        values = self.to_values(point)
        if self._link.chance:
            values = values * self.mean_when_active()
        if not self.prepared.diagonal:
            n = np.arange(values.shape[1])
            values[:, n, n] = np.nan_to_num(before[:, n, n])
        return values

    def mean_when_active(self) -> np.ndarray:
        train = self.prepared.series.values[: self.prepared.split.train.stop]
        active = np.nan_to_num(train) > 0
        return np.where(active, train, 0.0).sum(0) / np.maximum(active.sum(0), 1)

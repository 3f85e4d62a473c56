"""Point predictions of a trained network on a scale where errors are comparable, for one step or many.

Dimension letters: T periods, N sources, M targets, K actions, O origins (the last period known), H horizons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from trnn_core.data.designs import build_inputs, parse_slice, warm_up
from trnn_core.data.windows import Part, make_windows
from trnn_core.models.network import TensorNetwork
from trnn_core.training.prepare import COUNT_LIKELIHOODS, Prepared

MEMORY = 52  # periods beyond the window kept when inputs are built anew: enough for slow moving averages


@dataclass(frozen=True)
class Predictor:
    """A network with its data.

    Predictions are on the *working scale*: that of the transform for the squared loss, log(1 + count) for count
    likelihoods, and the probability of any event for cross-entropy.
    """

    network: TensorNetwork
    prepared: Prepared

    @property
    def scale(self) -> str:
        if self.prepared.likelihood == "squared":
            return self.prepared.data.transform
        return "probability" if self.prepared.likelihood == "cross_entropy" else "log1p"

    def to_values(self, point: np.ndarray) -> np.ndarray:
        """From the working scale to counts or values; counts are never negative."""
        if self.prepared.likelihood == "squared":
            values = self.prepared.transform.invert(point)
            return np.maximum(values, 0.0) if self.prepared.series.source.kind == "count" else values
        if self.prepared.likelihood in COUNT_LIKELIHOODS:
            return np.expm1(np.minimum(point, 60.0)).clip(0.0)
        return np.clip(point, 0.0, 1.0)

    def to_scale(self, values: np.ndarray) -> np.ndarray:
        if self.prepared.likelihood == "squared":
            return self.prepared.transform.apply(values)
        if self.prepared.likelihood in COUNT_LIKELIHOODS:
            return np.log1p(values)
        return np.where(np.isnan(values), np.nan, values > 0)

    def _from_raw(self, raw: torch.Tensor) -> np.ndarray:
        found = raw.cpu().numpy().astype(np.float64)
        if self.prepared.likelihood in COUNT_LIKELIHOODS:
            return np.log1p(np.exp(np.minimum(found, 60.0)))
        return 1 / (1 + np.exp(-found)) if self.prepared.likelihood == "cross_entropy" else found

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
        if self.prepared.likelihood == "cross_entropy":
            values = values * self._mean_when_active()
        if not self.prepared.diagonal:
            n = np.arange(values.shape[1])
            values[:, n, n] = np.nan_to_num(before[:, n, n])
        return values

    def _mean_when_active(self) -> np.ndarray:
        train = self.prepared.series.values[: self.prepared.split.train.stop]
        active = np.nan_to_num(train) > 0
        return np.where(active, train, 0.0).sum(0) / np.maximum(active.sum(0), 1)

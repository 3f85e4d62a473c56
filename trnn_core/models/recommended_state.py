"""A fitted `Recommended` as plain arrays and back, so that a run can keep it without its training data.

Names: `member0.cell.W1_0` ... the networks; `centre`, `spread` (F, K) the scaling; per step ahead `shares` (H,), the
linear model's weights `highway` (H, K, P) (their name in all saved runs) and its noise models `noise` (H, ...); for
value series also `own_noise` (H, 3) and `unit` (K,).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError
from trnn_core.models.dyad_network import DyadNetwork
from trnn_core.models.dyad_training import TrainingPlan
from trnn_core.models.noise import CountNoise, Noise, ValueNoise
from trnn_core.models.recommended import Recommended


def to_arrays(model: Recommended, horizon: int = 8) -> dict[str, np.ndarray]:
    """Everything needed to forecast 1..horizon steps ahead."""
    panel = model._train
    if panel is None:
        raise TRNNError("The recommended model must be fitted before it is saved; call fit(series) first.")
    last = np.array([panel.n_periods - 1])
    steps = range(1, horizon + 1)
    for step in steps:
        model._predict(panel, last, step)
    arrays = {
        "centre": model._centre,
        "spread": model._spread,
        "shares": np.array([model._shares[h] for h in steps]),
        "highway": np.stack([model.linear.weights[h] for h in steps]),
        "noise": np.stack([_flat(model.linear._noise[h]) for h in steps]),
        "shape": np.array([model.plan.window, model.plan.hidden, len(model.members)]),
    }
    if not panel.counts:
        arrays |= {"own_noise": np.stack([_flat(model._noise[h]) for h in steps]), "unit": model._unit}
    for i, member in enumerate(model.members):
        arrays |= {f"member{i}.{name}": value.detach().numpy().copy() for name, value in member.state_dict().items()}
    return arrays


def from_arrays(arrays: Mapping[str, np.ndarray], like: RelationalSeries) -> Recommended:
    """A forecaster for series with the labels, period and kind of `like`; it forecasts but has no training data."""
    try:
        window, hidden, n_members = (int(n) for n in arrays["shape"])
        model = Recommended(n_members, TrainingPlan(window=window, hidden=hidden))
        n_steps, n_actions = len(arrays["shares"]), arrays["centre"].shape[-1]
        linear = model.parts.linear()
        linear.weights = {h: arrays["highway"][h - 1] for h in range(1, n_steps + 1)}
        linear._noise = {h: _noise(arrays["noise"][h - 1]) for h in range(1, n_steps + 1)}
        model.linear, model._period = linear, like.period
        model._shares = {h: float(arrays["shares"][h - 1]) for h in range(1, n_steps + 1)}
        model._centre, model._spread = arrays["centre"], arrays["spread"]
        model._unit = arrays.get("unit", np.ones(n_actions))
        if "own_noise" in arrays:
            model._noise = {h: _noise(arrays["own_noise"][h - 1]) for h in range(1, n_steps + 1)}
        recurrent = arrays["member0.cell.U1_0"].shape[-1]
        for i in range(n_members):
            network = DyadNetwork(len(model._centre), recurrent, n_actions, hidden)
            stored = {k.partition(".")[2]: v for k, v in arrays.items() if k.startswith(f"member{i}.")}
            network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in stored.items()})
            network.unit.copy_(torch.from_numpy(np.asarray(model._unit)))
            model.members.append(network.eval())
    except (KeyError, RuntimeError, ValueError) as e:
        raise TRNNError(
            f"The saved arrays must be those of a recommended model. They are not ({str(e).splitlines()[0]}); train it"
            " again."
        ) from e
    model._labels = linear._labels = (like.actors, like.actions)
    return model


def _flat(noise: Noise) -> np.ndarray:
    if isinstance(noise, CountNoise):
        ends = [*noise.level_range, *noise.activity_range, noise.max_count]
        return np.concatenate([noise.mean_coefs, noise.size_coefs, ends])
    return np.array([*noise.coefs, noise.floor])


def _noise(flat: np.ndarray) -> Noise:
    if len(flat) == 3:
        return ValueNoise(np.array(flat[:2]), float(flat[2]))
    half = (len(flat) - 5) // 2
    low, high, quiet, busy, most = (float(x) for x in flat[-5:])
    return CountNoise(np.array(flat[:half]), np.array(flat[half : 2 * half]), (low, high), (quiet, busy), most)

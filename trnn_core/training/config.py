"""What to train, as small frozen objects: DataConfig, TrainConfig, and the Recipe that joins them to a ModelConfig.

No torch here, so that pages can validate a form. Every mistake is told in one sentence naming the setting.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from trnn_core.data import designs, transforms
from trnn_core.data.windows import split_periods
from trnn_core.errors import TRNNError
from trnn_core.models.model_config import DYAD_PERIODS, ModelConfig
from trnn_core.models.settings import Settings, check_periods, unknown

Design = Literal["many-to-one", "many-to-many", "single-series"]
Optimiser = Literal["adam", "adamw", "sgd", "rmsprop"]
Precision = Literal["auto", "float32", "float64", "mixed"]
Schedule = Literal["constant", "cosine", "step", "plateau", "one-cycle"]


class DataConfig(Settings):
    """Which part of a series the network reads, and how."""

    section = "data"

    path: str | None = Field(default=None, description="the file the series came from, for the record")
    fingerprint: str | None = Field(
        default=None, description="SHA-256 of the series; a recipe run on other data says so"
    )
    actors: tuple[str, ...] | None = Field(default=None, description="the countries to keep; none given keeps all")
    actions: tuple[str, ...] | None = Field(default=None, description="the actions to keep; none given keeps all")
    transform: str = Field(default="log1p", description="scale the network works on: " + ", ".join(transforms.NAMES))
    slices: tuple[str, ...] = Field(default=("direct",), description="explanatory slices: " + ", ".join(designs.BASES))
    window: int = Field(default=7, ge=1, le=520, description="periods per window, T of Sec. IV")
    design: Design = Field(
        default="many-to-one",
        description="a prediction after the last step (Case I), at every step (Case II), or one long series (eq. 14)",
    )
    validation: float = Field(
        default=0.1,
        ge=0.0,
        lt=1.0,
        description="share of the periods, before the test ones, that choose the best epoch",
    )
    test: float = Field(default=0.1, ge=0.0, lt=1.0, description="share of the last periods, never used in training")
    diagonal: bool = Field(
        default=False,
        description="whether acts of a country towards itself are learnt and scored, where the data hold them",
    )

    @field_validator("transform")
    @classmethod
    def _known_transform(cls, name: str) -> str:
        unknown = [step for step in name.split("+") if step.strip() not in transforms.NAMES]
        if unknown:
            raise ValueError(f"must be one of {', '.join(transforms.NAMES)}, or several joined by '+'")
        return name

    @field_validator("slices")
    @classmethod
    def _known_slices(cls, slices: tuple[str, ...]) -> tuple[str, ...]:
        for text in slices:
            designs.parse_slice(text)
        if not slices or len(set(slices)) < len(slices):
            raise ValueError("must hold at least one slice and none twice")
        return slices


class TrainConfig(Settings):
    """How the network is trained."""

    section = "train"

    epochs: int = Field(default=100, ge=1, le=1_000_000, description="passes over the training windows")
    epoch_share: float = Field(
        default=1.0,
        gt=0.0,
        le=1.0,
        description=(
            "share of the training examples an epoch reads; 0.1 makes ten short epochs of one pass (dyad networks)"
        ),
    )
    batch_size: int = Field(default=61, ge=1, le=100_000, description="consecutive windows per step; they share work")
    optimiser: Optimiser = Field(default="adam", description="how a gradient becomes a step")
    learning_rate: float = Field(default=0.01, gt=0.0, le=10.0, description="size of a step")
    momentum: float = Field(default=0.0, ge=0.0, lt=1.0, description="share of the last step kept (SGD, RMSprop)")
    weight_decay: float = Field(
        default=0.0, ge=0.0, le=1.0, description="shrinks all weights at each step (AdamW, SGD, Adam, RMSprop)"
    )
    schedule: Schedule = Field(default="constant", description="how the learning rate changes over the epochs")
    schedule_step: int = Field(
        default=100, ge=1, description="epochs between drops (step), epochs without progress before one (plateau)"
    )
    schedule_factor: float = Field(
        default=0.5,
        gt=0.0,
        le=1.0,
        description="what is left of the rate after a drop (step, plateau); share left at the end (cosine)",
    )
    warmup: int = Field(default=0, ge=0, description="first epochs in which the learning rate grows from near zero")
    regularisation: float = Field(
        default=0.01, ge=0.0, description="lambda of Sec. IV, times the sum of squares of all W and U"
    )
    regularisation_per: Literal["window", "cell"] = Field(
        default="window",
        description=(
            "whether lambda stands beside the loss of a whole window (sum over cells, as eq. 15-16) or of a single cell"
        ),
    )
    clip_norm: float | None = Field(
        default=None, gt=0.0, description="longest gradient allowed; none given clips nothing"
    )
    patience: int | None = Field(
        default=None,
        ge=1,
        description="epochs without a better validation loss before stopping; none given never stops early",
    )
    min_delta: float = Field(
        default=0.0, ge=0.0, description="improvement of the validation loss that counts as better"
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="start of all random numbers")
    threads: int = Field(default=1, ge=1, le=256, description="processor threads of the job; more is not always faster")
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto",
        description=(
            "where the network is trained: on the processor (cpu) or an NVIDIA graphics card (cuda); auto takes the"
            " card where there is one"
        ),
    )
    precision: Precision = Field(
        default="float32",
        description=(
            "number format of training; mixed rounds its matrix products to bfloat16, auto does so on a graphics card"
            " only"
        ),
    )
    checkpoint_every: int = Field(
        default=1, ge=1, description="epochs between checkpoints; the best epoch is always saved"
    )

    @model_validator(mode="after")
    def _warmup_ends(self) -> Self:
        if self.warmup >= self.epochs > 1:
            raise ValueError(f"'warmup' must be shorter than 'epochs' ({self.epochs}), got {self.warmup}")
        return self


# A dyad network reads counts as log1p, values as they are, and makes its own inputs of them.
DYAD_FIXED: dict[str, Any] = {
    "data.transform": "log1p",
    "data.slices": ("direct",),
    "data.design": "many-to-one",
    "data.diagonal": False,
    **{
        f"model.{name}": ModelConfig.model_fields[name].default
        for name in ("hidden_shape", "num_layers", "gate_activation", "candidate_activation", "hidden_activation")
    },
    "model.cell": "gru",
    "model.init": "orthogonal",
    "model.likelihood": "negative_binomial",
    "train.optimiser": "adamw",
    "train.schedule": "one-cycle",
    **{
        f"train.{name}": TrainConfig.model_fields[name].default
        for name in ("momentum", "schedule_step", "schedule_factor", "warmup", "regularisation_per")
    },
    "train.regularisation": 0.0,
    "train.precision": "float32",
}
TENSOR_FIXED: dict[str, Any] = {"model.channels": 16, "model.members": 1, "train.epoch_share": 1.0}


class Recipe(Settings):
    """Everything that determines a run: the same recipe on the same data gives the same weights.

    >>> Recipe(train={"epochs": 5}).train.epochs
    5
    >>> Recipe(train={"epoch": 5})
    Traceback (most recent call last):
    trnn_core.errors.TRNNError: Unknown setting 'train.epoch'; did you mean 'train.epochs'?
    """

    preset: str | None = Field(default=None, description="the preset this recipe began with")
    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name, value in self.fixed().items():
            section, _, key = name.partition(".")
            if (given := getattr(getattr(self, section), key)) != value:
                raise ValueError(
                    f"'{name}' must be {_said(value)} when 'model.network' is {self.model.network!r}, got"
                    f" {_said(given)}"
                )
        if self.model.network == "dyad" and self.train.device == "cuda":
            raise ValueError("'train.device' must be auto or cpu when 'model.network' is 'dyad', got cuda")
        if len(self.model.hidden_shape) != 3 or min(self.model.hidden_shape) < 1:
            raise ValueError(
                "'model.hidden_shape' must be three sizes of at least 1 (senders, receivers, actions), "
                f"got {','.join(map(str, self.model.hidden_shape))}"
            )
        return self

    def check_length(self, n_periods: int) -> None:
        """Refuse a series that is too short to be learnt from."""
        split = split_periods(n_periods, self.data.validation, self.data.test)
        if self.model.network == "dyad":
            check_periods("recommended", DYAD_PERIODS, len(split.train))

    def fixed(self) -> dict[str, Any]:
        """Settings that the chosen kind of network leaves no choice about, with the value they must have."""
        return DYAD_FIXED if self.model.network == "dyad" else TENSOR_FIXED

    def changed(self, **settings: Any) -> Recipe:
        """A recipe with some settings replaced, each named with its section.

        >>> Recipe().changed(**{"train.epochs": "3", "model.hidden_shape": "14,14,4"}).model.hidden_shape
        (14, 14, 4)
        """
        plain = self.model_dump()
        for name, value in settings.items():
            section, _, key = name.partition(".")
            if not key or section not in ("data", "model", "train"):
                raise TRNNError(
                    f"A setting must be named data.NAME, model.NAME or train.NAME. Got {name!r} instead; "
                    "for example train.epochs=50."
                )
            group = GROUPS[section]
            if key not in group.model_fields:
                raise unknown(f"{section}.{key}", [f"{section}.{f}" for f in group.model_fields])
            plain[section][key] = _parse(value, plain[section][key], group, key)
        return type(self)(**plain)


GROUPS: dict[str, type[BaseModel]] = {"data": DataConfig, "model": ModelConfig, "train": TrainConfig}


def _said(value: Any) -> str:
    """A value as it is typed."""
    return (
        ",".join(map(str, value))
        if isinstance(value, tuple)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _parse(value: Any, current: Any, group: type[BaseModel], key: str) -> Any:
    """A setting typed on the command line: commas (or semicolons) make lists, 'none' takes an optional setting away."""
    if not isinstance(value, str):
        return value
    annotation = str(group.model_fields[key].annotation)
    if value.strip().lower() == "none" and "None" in annotation:
        return None
    if isinstance(current, (tuple, list)) or "tuple" in annotation:
        separator = ";" if ";" in value else ","  # "Korea, South;Japan"
        return tuple(part.strip() for part in value.split(separator) if part.strip())
    return value

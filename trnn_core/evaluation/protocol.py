"""Protocol: which origins are scored, what each model may see, and how often it is refitted; told in words."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from trnn_core.data.series import RelationalSeries
from trnn_core.errors import TRNNError

MIN_ORIGINS = 50
_LEARN = 62  # periods that the networks need before the first origin


@dataclass(frozen=True)
class Protocol:
    """Rolling origins over the end of a series.

    test         share of the periods that are forecast, from the end
    min_origins  but at least this many
    horizon      steps 1..horizon are forecast from each origin
    refit_every  refit after this many origins on all periods seen by then; 0 fits once, before the first origin
    diagonal     whether a country's acts towards itself are scored
    """

    test: float = 0.1
    min_origins: int = MIN_ORIGINS
    horizon: int = 1
    refit_every: int = 0
    diagonal: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.test < 1:
            raise TRNNError(f"The test share must lie between 0 and 1. Got {self.test} instead; 0.1 is usual.")
        for name, least in (("horizon", 1), ("refit_every", 0), ("min_origins", 1)):
            if getattr(self, name) < least:
                raise TRNNError(f"The protocol's {name} must be at least {least}. Got {getattr(self, name)} instead.")

    def origins(self, n_periods: int) -> range:
        """Indices of the last period seen: the first test period is one step after the first origin."""
        n_test = max(round(self.test * n_periods), self.min_origins)
        if n_test > n_periods // 2 or n_test < self.horizon:
            raise TRNNError(
                f"A backtest of {n_test} origins and horizon {self.horizon} needs at least"
                f" {max(2 * n_test, self.horizon)} periods. Got {n_periods} instead; ask for fewer origins or a shorter"
                " horizon."
            )
        return range(n_periods - n_test - 1, n_periods - 1)

    def blocks(self, n_periods: int) -> list[list[int]]:
        """Origins that share one fit, in order of time."""
        origins = list(self.origins(n_periods))
        size = self.refit_every or len(origins)
        return [origins[i : i + size] for i in range(0, len(origins), size)]

    def describe(self, series: RelationalSeries) -> str:
        """The protocol in words, as printed beside every score."""
        origins = self.origins(len(series))
        scored = ", ".join(f"{len(origins) - h} at step {h + 1}" for h in range(self.horizon))
        refit = (
            f"refitted every {self.refit_every} {series.period}s on all periods seen by then"
            if self.refit_every
            else f"fitted once, on the {origins[0] + 1} {series.period}s up to {series.dates[origins[0]]}"
        )
        cells = "all cells" if self.diagonal else "all cells off the diagonal"
        return (
            f"Rolling origins: {len(origins)} origins from {series.dates[origins[0]]} to {series.dates[origins[-1]]} "
            f"(scored: {scored}); every model is {refit}, sees the same periods and is scored on the same cells "
            f"({cells} that were observed). Plain scores are on the log1p scale, those named 'count' on counts."
        )

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def usual_protocol(n_periods: int) -> Protocol:
    """The last tenth, at least 50 periods; fewer where the series is short, so that enough is left to learn from.

    >>> [len(usual_protocol(n).origins(n)) for n in (548, 120, 80)]
    [55, 40, 18]
    """
    return Protocol(min_origins=max(2, min(MIN_ORIGINS, n_periods // 3, n_periods - _LEARN)))

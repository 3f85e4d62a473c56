"""How uncertainty grows with the steps ahead: mean expected value and mean standard deviation of the forecasts, by step.

    python benchmarks/forecast/spread.py [--data ../shared/data]

Widths of intervals of sparse counts jump between whole numbers and follow the expected level; the standard deviation does
not jump. Fitted once on the first 90 % of the periods, like the tables; forecasts from every origin with eight periods
after it. Writes spread.csv beside this file; `run.py --page-only` puts it into docs/results.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from run import PARTS, SERIES, SPREAD, data_parser  # noqa: E402

from trnn_core.data.readers.npz import read_npz  # noqa: E402
from trnn_core.evaluation.forecasters import create  # noqa: E402
from trnn_core.evaluation.protocol import Protocol  # noqa: E402


def main() -> None:
    parser = data_parser(__doc__)
    args = parser.parse_args()
    models, horizon = PARTS["steps"]
    rows: list[dict[str, object]] = []
    for name in SERIES:
        series = read_npz(args.data / f"{name}.npz")
        first = int(Protocol(horizon=horizon).origins(len(series))[0])
        for model in models:
            forecaster = create(model).fit(series.select(periods=slice(0, first + 1)))
            sums, n = np.zeros((2, horizon)), 0
            for forecast in forecaster.forecast_many(series, range(first, len(series) - horizon), horizon):
                d = forecast.distribution
                sums += [[np.mean(x[h]) for h in range(horizon)] for x in (d.mean, np.sqrt(d.variance))]
                n += 1
            for h, (mean, sd) in enumerate((sums / n).T, start=1):
                rows.append({"series": name, "model": model, "horizon": h, "mean": mean, "sd": sd})
            print(name, model, (sums / n).round(4).tolist(), flush=True)
    pd.DataFrame(rows).to_csv(SPREAD, index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    main()

"""Metrics as text: a number, or the mean and the spread of repetitions (seeds, folds)."""

from __future__ import annotations

import statistics


def show(value: float | list[float], digits: int = 4) -> str:
    """`value` with so many digits; of a list the mean, the standard deviation (n - 1) and the number of values."""
    if not isinstance(value, list):
        return f"{value:.{digits}g}"
    mean = f"{statistics.fmean(value):.{digits}g}"
    return f"{mean} ± {statistics.stdev(value):.2g} (n = {len(value)})" if len(value) > 1 else mean


def mean_of_repeats(rows: list[dict]) -> list[dict]:
    """The rows of the epochs; those of one epoch in several repetitions become their mean."""
    by_epoch: dict[int, list[dict]] = {}
    for row in rows:
        by_epoch.setdefault(row["epoch"], []).append(row)
    return [
        {name: statistics.fmean(row[name] for row in group) for name in group[0] if name not in ("epoch", "repeat")}
        | {"epoch": epoch}
        for epoch, group in by_epoch.items()
    ]

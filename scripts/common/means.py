"""Means over the batches of an epoch."""

from __future__ import annotations

from core.ndarray import NDArray
from scripts.common.run import Run
from scripts.common.spread import show


class Means:
    """Means of named numbers, one of each per batch; with `every`, they are said after so many batches as well."""

    def __init__(self, run: Run, every: int = 0):
        self._run, self._every = run, every
        self._sums: dict[str, float] = {}
        self._count = 0

    def add(self, **values: float | NDArray | list[NDArray]) -> None:
        """The numbers of a batch; of arrays (one per device) the mean of all their elements."""
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + _mean(value)
        self._count += 1
        if self._every and self._count % self._every == 0:
            shown = "  ".join(f"{name} {show(mean, digits=6)}" for name, mean in self.row().items())
            self._run.record.say(f"  batch {self._count}: {shown}")

    def row(self) -> dict[str, float]:
        """The means so far."""
        return {name: total / self._count for name, total in self._sums.items()}


def _mean(value) -> float:
    parts = value if isinstance(value, list) else [value]
    parts = [float(x.astype("float32").mean().asscalar()) if isinstance(x, NDArray) else float(x) for x in parts]
    return sum(parts) / len(parts)

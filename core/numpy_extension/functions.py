"""Functions of the `npx` namespace that are more than an operator."""

from __future__ import annotations

from core import random as _random
from core import storage as _storage


def waitall() -> None:
    """Waits until every device has finished its work."""
    _storage.synchronize()


def seed(seed: int, ctx="all") -> None:
    """Starts the random state anew."""
    _random.seed(seed, ctx)

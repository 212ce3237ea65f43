"""`mx.random`: the seeds of the random state, and the samplers under the names that programs know."""

from __future__ import annotations

from core.ndarray import random as _samplers
from core.random_keys import get_state, seed, set_state

__all__ = ["get_state", "seed", "set_state"]


def __getattr__(name: str):
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(_samplers, name)


def __dir__():
    return sorted({*dir(_samplers), *__all__})

"""The kernels, in two wings with the same rooms; this module alone chooses the wing.

A tensor on a CUDA device is served by `core.kernels.triton`, every other one (CPU, and `meta` for
shape inference) by `core.kernels.cpu`. `using("triton")` forces a wing, so that the Triton
kernels run in interpreter mode on a machine without a GPU.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator

WINGS = ("cpu", "triton")
_forced: str | None = None
_deterministic = False


def room(name: str, tensor) -> object:
    """The module `name` (such as "conv") of the wing that serves `tensor`."""
    wing = _forced or ("triton" if tensor.is_cuda else "cpu")
    if wing == "triton" and tensor.is_meta:
        wing = "cpu"
    return importlib.import_module(f"core.kernels.{wing}.{name}")


@contextlib.contextmanager
def using(wing: str) -> Iterator[None]:
    """Forces every kernel to come from `wing` ("cpu" or "triton") inside the block."""
    global _forced
    if wing not in WINGS:
        raise ValueError(f"unknown kernel wing {wing!r}; accepted are {', '.join(WINGS)}")
    before, _forced = _forced, wing
    try:
        yield
    finally:
        _forced = before


def deterministic() -> bool:
    """Whether kernels must give bit-for-bit repeatable results (no floating-point atomics)."""
    return _deterministic


def set_deterministic(active: bool) -> bool:
    """Switches the deterministic mode; returns what it was before."""
    global _deterministic
    before, _deterministic = _deterministic, bool(active)
    return before

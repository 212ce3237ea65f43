"""Kernels on tensors without memory: what shape, dtype and layout their results have.

The wing that shape inference and tracing use, with a module for each room. ATen can run on such tensors itself, but
does so in Python for most operators, and imports its compiler for it; kernels that are not here go that way. Arguments
are those of the CPU wing. RuntimeError where shapes do not fit.
"""

from importlib import import_module

from core.kernels.meta.base import KERNELS, broadcast, joined, need_elements

__all__ = ["KERNELS", "broadcast", "joined", "need_elements"]

for _room in (
    "pointwise", "conv", "pool", "norm", "matmul", "softmax", "reduce", "index", "sort",
    "random", "linalg", "optimizer", "vision", "boxes", "deformable", "correlation",
):  # fmt: skip
    import_module(f"core.kernels.meta.{_room}")

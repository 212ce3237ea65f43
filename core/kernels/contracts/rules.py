"""What the bodies of contracts have in common: results without memory, checks of shapes, shapes that broadcast."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from core import symbolic
from core.base import MXNetError
from core.kernels.contracts.types import Ints
from core.kernels.layout import from_front, memory_format


def empty(shape: Iterable[int], dtype: torch.dtype, like: Tensor | None = None) -> Tensor:
    """A result without memory; channels-last where `like` is so and the ranks agree."""
    shape = tuple(shape)
    layout = torch.contiguous_format if like is None or like.dim() != len(shape) else memory_format(like)
    return symbolic.empty(shape, dtype, layout)


def fits(holds: bool, what: str, *tensors: Tensor) -> None:
    """RuntimeError with the shapes of `tensors` unless it `holds`."""
    if not holds:
        raise RuntimeError(f"{what}: shapes {', '.join(str(tuple(t.shape)) for t in tensors)}")


def depends_on_values(kernel: str) -> NotImplementedError:
    """The error of kernels whose results have shapes that cannot be known without the values."""
    return NotImplementedError(f"{kernel}: the shape of the result depends on values")


def need_elements(name: str, x: Tensor, axes: Ints) -> None:
    """MXNetError where there is nothing to choose an extreme from."""
    for axis in axes:
        if x.shape[axis] == 0:
            raise MXNetError(f"{name}: axis {axis} of shape {tuple(x.shape)} has no elements to choose from")


def broadcast(shapes: Iterable[Sequence[int]]) -> Ints:
    """The shape that arrays of these shapes have together (torch's own function imports a computer algebra system)."""
    shapes = list(shapes)
    rank = max(map(len, shapes), default=0)
    found = [1] * rank
    for shape in shapes:
        for k, n in enumerate(shape, rank - len(shape)):
            if n != 1 and found[k] not in (1, n):
                raise RuntimeError(f"shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast")
            found[k] = n if n != 1 else found[k]
    return tuple(found)


def joined(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """What joining tensors along an axis gives."""
    rest = [t for t in tensors if t.dim() != 1 or t.numel()]  # ATen leaves out empty vectors
    first = rest[0] if rest else tensors[0]
    axis = from_front(axis, first.dim())
    for t in rest:
        same = t.dim() == first.dim() and all(a == b or k == axis for k, (a, b) in enumerate(zip(t.shape, first.shape)))
        fits(same, f"joining along axis {axis}", *rest)
    shape = list(first.shape)
    shape[axis] = sum(t.shape[axis] for t in rest)
    kinds = {t.dtype for t in rest}
    dtype = first.dtype if len(kinds) < 2 else torch.cat([torch.empty(1, dtype=t.dtype) for t in rest]).dtype
    return empty(shape, dtype, first)


def windows(sizes: Sequence[int], kernel: Ints, stride: Ints, dilate: Ints, pads: Iterable[tuple[int, int]]) -> Ints:
    """How many windows of a convolution or pooling there are along each axis."""
    return tuple(
        (n + lo + hi - d * (k - 1) - 1) // s + 1
        for n, k, s, d, (lo, hi) in zip(sizes, kernel, stride, dilate, pads, strict=True)
    )


def without(shape: Sequence[int], axis: int) -> Ints:
    """The shape with one axis left out."""
    axis %= len(shape)
    return (*shape[:axis], *shape[axis + 1 :])

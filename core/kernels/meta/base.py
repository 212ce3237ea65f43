"""What the rules have in common: where they are entered, shapes that broadcast or join, results without memory."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from core.base import MXNetError
from core.kernels.layout import memory_format

KERNELS: dict[str, Callable] = {}  # by "room.name"


def enter(room: str, *names: str) -> Callable[[Callable], Callable]:
    """Enters a rule for kernels of a room; without names for the one that it is called like."""

    def take(rule):
        KERNELS.update({f"{room}.{name}": rule for name in names or (rule.__name__,)})
        return rule

    return take


def broadcast(shapes) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together (torch's own function imports a computer algebra system)."""
    rank = max(map(len, shapes), default=0)
    found = [1] * rank
    for shape in shapes:
        for k, n in enumerate(shape, rank - len(shape)):
            if n != 1 and found[k] not in (1, n):
                raise RuntimeError(f"shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast")
            found[k] = n if n != 1 else found[k]
    return tuple(found)


def need_elements(name: str, x: Tensor, axes: tuple[int, ...]) -> None:
    """MXNetError where there is nothing to choose an extreme from."""
    for axis in axes:
        if x.shape[axis] == 0:
            raise MXNetError(f"{name}: axis {axis} of shape {tuple(x.shape)} has no elements to choose from")


def joined(tensors, axis: int) -> Tensor:
    """What joining tensors along an axis gives."""
    first = next((t for t in tensors if t.dim() != 1 or t.numel()), tensors[0])  # ATen leaves out empty vectors
    rest = [t for t in tensors if t.dim() != 1 or t.numel()]
    axis %= first.dim()
    for t in rest:
        same = t.dim() == first.dim() and all(a == b or k == axis for k, (a, b) in enumerate(zip(t.shape, first.shape)))
        fits(same, f"joining along axis {axis}", *rest)
    shape = list(first.shape)
    shape[axis] = sum(t.shape[axis] for t in rest)
    kinds = {t.dtype for t in rest}
    dtype = first.dtype if len(kinds) < 2 else torch.cat([torch.empty(1, dtype=t.dtype) for t in rest]).dtype
    return empty(shape, dtype, first)


def empty(shape, dtype, like: Tensor | None = None) -> Tensor:
    """A result; channels-last where `like` is so and the ranks agree."""
    layout = torch.contiguous_format if like is None or like.dim() != len(shape) else memory_format(like)
    return torch.empty(tuple(shape), dtype=dtype, device="meta", memory_format=layout)


def fits(holds: bool, what: str, *tensors: Tensor) -> None:
    if not holds:
        raise RuntimeError(f"{what}: shapes {', '.join(str(tuple(t.shape)) for t in tensors)}")


def like_first(x, *rest):
    """The rule of kernels whose result is like their first argument."""
    return empty(x.shape, x.dtype)


def of_given_shape(place, dy, *rest):
    """The rule of gradients whose shape is among the arguments, at `place`."""
    return empty(rest[place - 1], dy.dtype)


def windows(sizes, kernel, stride, dilate, pads):
    return tuple(
        (n + lo + hi - d * (k - 1) - 1) // s + 1
        for n, k, s, d, (lo, hi) in zip(sizes, kernel, stride, dilate, pads, strict=True)
    )


def without(shape, axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])

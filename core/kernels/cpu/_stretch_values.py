"""What stretches are made of: values, parameters, and calls of primitives over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.kernels.cpu import onednn
from core.kernels.cpu.onednn import Layout, Primitive, Unimplemented
from core.kernels.layout import CHANNELS_LAST

Ints = tuple[int, ...]


class Data:
    """A value that primitives read or make. tensor: one that lies as it does, without memory; key: whose it is, of what
    comes from outside, and taken: what becomes of that before an execution; memory: the value in whose memory it lies,
    itself where that is its own; blocked: an image's channels lie in blocks, so that some of them are a piece of memory.
    """

    def __init__(
        self, tensor: Tensor, key: Hashable = None, memory: Data | None = None,
        taken: Callable[[Tensor], Tensor] | None = None, blocked: bool = False,
    ):  # fmt: skip
        self.tensor, self.key, self.taken, self.blocked = tensor, key, taken or channels_last, blocked
        self._derived: dict[Hashable, Data] = {}
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype
        self.nbytes = in_blocks(self.shape, self.dtype).nbytes if blocked else tensor.nbytes
        self._within, self._shift = memory, 0

    @property
    def memory(self) -> Data:
        """The value in whose memory this one lies."""
        return self if self._within is None else self._within.memory

    @property
    def offset(self) -> int:
        """Bytes of that memory before the first element."""
        return self.tensor.storage_offset() * self.tensor.itemsize + self._shifted

    @property
    def _shifted(self) -> int:
        return self._shift + (0 if self._within is None else self._within._shifted)

    def place(self, memory: Data, offset: int) -> None:
        """Lets it lie in the memory of another value, which becomes as large as that takes."""
        self._within, self._shift = memory, offset
        memory.nbytes = max(memory.nbytes, offset + self.nbytes)

    def derived(self, function: Callable[..., Tensor], *how: int) -> Data:
        """`function(tensor, *how)` of a value from outside."""
        if (function, how) not in self._derived:
            meta = function(self.tensor, *how)
            self._derived[function, how] = Data(meta, self.key, taken=lambda x: function(x, *how))
        return self._derived[function, how]

    def layout(self, *shape: int, dtype: torch.dtype | None = None) -> Layout:
        """How it lies; `shape` and `dtype` instead of its own, for the same elements in the same order."""
        if self.blocked:
            need(shape in ((), self.shape))
            return in_blocks(self.shape, dtype or self.dtype)
        if not shape:
            return Layout(self.shape, self.tensor.stride(), dtype or self.dtype)
        try:
            found = self.tensor.view(shape)
        except RuntimeError as error:
            raise Unimplemented("these elements do not lie in one order") from error
        dense = found.is_contiguous(memory_format=CHANNELS_LAST.get(len(shape), torch.contiguous_format))
        return Layout(shape, strides(shape) if dense else found.stride(), dtype or self.dtype)


@dataclass(eq=False)
class Parameter:
    """A tensor that stays the same from call to call. key: whose; tensor: one like it, without memory; packed: what
    brings it into a primitive's order, None where it is taken as it lies; number: that of a tensor of one element,
    where it is known and will not change.
    """

    key: Hashable
    tensor: Tensor
    packed: Callable[[Tensor], Tensor] | None = None
    number: float | None = None


class Packed:
    """Brings a weight into the layout of a primitive: an opaque vector of bytes."""

    def __init__(self, layout: Layout, shape: Ints):
        self.layout, self.shape = layout, shape

    def __call__(self, w: Tensor) -> Tensor:
        if w.is_meta:
            return torch.empty(self.layout.nbytes, dtype=torch.uint8, device="meta")
        return onednn.reorder(w.reshape(self.shape), self.layout)


def in_float32(parameter: Parameter) -> Parameter:
    """As normalisations take their parameters."""
    return parameter if parameter.tensor.dtype is torch.float32 else Parameter(parameter.key, parameter.tensor, wide)


def wide(parameter: Tensor) -> Tensor:
    """In float32."""
    return parameter.float()


Given = tuple[int, Layout, Data | Parameter]


@dataclass(eq=False)
class Call:
    """A primitive, and its arguments: which, in what layout, whose. title: for people; ended: the same call with an
    activation behind it, where it takes one.
    """

    title: str
    primitive: Primitive
    arguments: list[Given]
    ended: Callable[[str], Call] | None = None


def need(condition: bool) -> None:
    """Unimplemented where oneDNN does not take a call."""
    if not condition:
        raise Unimplemented("oneDNN does not take this call")


def in_blocks(shape: Ints, dtype: torch.dtype) -> Layout:
    """How an image lies whose channels are in blocks, the last of which is filled up with zeros."""
    return Layout(shape, None, dtype, blocked=True)


def lies_both_ways(shape: Ints) -> bool:
    """Whether an image lies in blocks as it lies channels-last: one place, and whole blocks."""
    return shape[2:] == (1, 1) and shape[1] % onednn.BLOCK == 0


def strides(shape: Ints) -> Ints:
    """Of channels-last order; of rows for shapes without places."""
    order = [0, *range(2, len(shape)), 1] if len(shape) in CHANNELS_LAST else list(range(len(shape)))
    found, step = [0] * len(shape), 1
    for axis in reversed(order):
        found[axis], step = step, step * shape[axis]
    return tuple(found)


def channels_last(x: Tensor) -> Tensor:
    """The tensor in channels-last order, in rows without places."""
    return x.contiguous(memory_format=CHANNELS_LAST.get(x.dim(), torch.contiguous_format))


def empty(shape: Ints, dtype: torch.dtype, device: str) -> Tensor:
    """Memory in channels-last order."""
    return torch.empty_strided(shape, strides(shape), dtype=dtype, device=device)


def fresh(shape: Ints, dtype: torch.dtype, key: Hashable = None, blocked: bool = False) -> Data:
    """A value in memory of its own."""
    return Data(empty(shape, dtype, "meta"), key, blocked=blocked)

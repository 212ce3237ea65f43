"""Tensors without memory whose extents are expressions (`core.extents`): what a block is traced with for a class of
shapes.

Such a tensor is a meta tensor of the shape that the traced call had, so that dtypes, strides and shared memory are
there, and beside that a shape in which the unknown lengths are expressions. Kernels' contracts and forward rules read
`x.shape` and get those; the few tensor methods that they use beside that are below, each with its rule for extents. Any
other function of torch takes numbers: it pins what it is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from core.extents import Extent, hint, hints, is_symbolic, length_of
from core.placement import state as placement

_plain = torch._C.DisableTorchFunctionSubclass
# What does not depend on lengths, or is asked for the memory's sake only.
_INDEPENDENT = frozenset(
    getattr(Tensor, name).__get__ if hasattr(getattr(Tensor, name), "__get__") and not callable(getattr(Tensor, name))
    else getattr(Tensor, name)
    for name in """dtype device layout ndim is_cpu is_cuda is_meta is_sparse is_mkldnn is_quantized requires_grad _base
        _version dim is_floating_point is_complex is_signed element_size get_device is_contiguous stride untyped_storage
        ndimension""".split()
)  # fmt: skip


_LIKE = frozenset((torch.empty_like, torch.zeros_like, torch.ones_like))


class SymbolicTensor(Tensor):
    """A meta tensor with a shape of extents."""

    _extents: tuple[Any, ...]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with _plain():
            if func in _LIKE:
                return empty(args[0].shape, (kwargs or {}).get("dtype") or args[0].dtype)
            if func is Tensor._lazy_clone:
                return args[0].clone()
            if func not in _INDEPENDENT:
                args, kwargs = _pinned(args), {key: _pinned(value) for key, value in (kwargs or {}).items()}
            return func(*args, **(kwargs or {}))

    # ------------------------------------------------------------------ shape

    @property
    def shape(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self._extents

    def size(self, dim: int | None = None) -> Any:
        return self._extents if dim is None else self._extents[dim]

    def numel(self) -> Any:
        total: Any = 1
        for n in self._extents:
            total = total * n
        return total

    def __len__(self) -> Any:
        return int(self._extents[0])

    # ------------------------------------------------------------------ the same memory

    def view(self, *shape: Any) -> Tensor:
        if len(shape) == 1 and isinstance(shape[0], torch.dtype):
            return _like(self, self._extents, lambda x: x.view(shape[0]))
        return _reshaped(self, shape, Tensor.view)

    def reshape(self, *shape: Any) -> Tensor:
        return _reshaped(self, shape, Tensor.reshape)

    def view_as(self, other: Tensor) -> Tensor:
        return self.view(other.shape)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        shape, end = self._extents, end_dim % max(self.dim(), 1)
        return self.reshape((*shape[:start_dim], _product(shape[start_dim : end + 1]), *shape[end + 1 :]))

    def unsqueeze(self, dim: int) -> Tensor:
        at = dim % (self.dim() + 1)
        return _like(self, (*self._extents[:at], 1, *self._extents[at:]), lambda x: x.unsqueeze(dim))

    def unsqueeze_(self, dim: int) -> Tensor:
        extents = tuple(self.unsqueeze(dim).shape)
        self._extents = hints(self._extents)  # torch's rule reads them, as numbers
        with _plain():
            super().unsqueeze_(dim)
        self._extents = extents
        return self

    def squeeze(self, dim: int) -> Tensor:
        at = dim % self.dim()
        kept = self._extents if self._extents[at] != 1 else (*self._extents[:at], *self._extents[at + 1 :])
        return _like(self, kept, lambda x: x.squeeze(dim))

    def permute(self, *dims: Any) -> Tensor:
        dims = tuple(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else dims
        return _like(self, tuple(self._extents[d] for d in dims), lambda x: x.permute(dims))

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        axes = list(range(self.dim()))
        axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
        return self.permute(axes)

    @property
    def mT(self) -> Tensor:  # type: ignore[override]
        return self.transpose(-1, -2)

    def expand(self, *shape: Any) -> Tensor:
        shape = _one_shape(shape)
        own = (*(1,) * (len(shape) - self.dim()), *self._extents)
        wide = tuple(n if w == -1 else w for n, w in zip(own, shape, strict=True))
        if any(n != w and n != 1 for n, w in zip(own, wide, strict=True)):
            raise RuntimeError(f"an array of shape {self._extents} cannot be repeated to {shape}")
        return _like(self, wide, lambda x: x.expand(hints(wide)))

    def narrow(self, dim: int, start: Any, length: Any) -> Tensor:
        if not (start >= 0 and start + length <= self._extents[dim]):
            raise RuntimeError(f"{length} places from {start} on are no part of axis {dim} of shape {self._extents}")
        shape = list(self._extents)
        shape[dim] = length
        return _like(self, shape, lambda x: x.narrow(dim, hint(start), hint(length)))

    def __getitem__(self, key: Any) -> Tensor:
        parts, shape = _expanded(key if isinstance(key, tuple) else (key,), self.dim()), []
        if parts is None:  # by arrays
            return super().__getitem__(key)
        lengths = iter(self._extents)
        for part in parts:
            if part is None:
                shape.append(1)
            elif isinstance(part, slice):
                shape.append(length_of(part, next(lengths)))
            else:
                next(lengths)
        numbers = tuple(_slice_of_hints(p) if isinstance(p, slice) else p if p is None else hint(p) for p in parts)
        return _like(self, shape, lambda x: x[numbers])

    # ------------------------------------------------------------------ new memory, none here

    def clone(self, *, memory_format: Any = torch.preserve_format) -> Tensor:
        return _like(self, self._extents, lambda x: x.clone(memory_format=memory_format))

    def contiguous(self, *, memory_format: Any = torch.contiguous_format) -> Tensor:
        return _like(self, self._extents, lambda x: x.contiguous(memory_format=memory_format))

    def detach(self) -> Tensor:
        return _like(self, self._extents, lambda x: x.detach())

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        return _like(self, self._extents, lambda x: x.to(*args, **kwargs))

    def type(self, dtype: Any = None) -> Any:
        return self.to(dtype)

    def new_empty(self, *shape: Any, dtype: Any = None) -> Tensor:
        return empty(_one_shape(shape), dtype or self.dtype)

    new_zeros = new_ones = new_empty

    def __setitem__(self, *_: Any) -> None:
        """There is nothing to write to."""

    def without_memory(self) -> Tensor:
        """Another one of the same extents, strides and dtype."""
        with _plain():
            sizes = hints(self._extents)
            return _wrapped(torch.empty_strided(sizes, self.stride(), dtype=self.dtype, device="meta"), self._extents)


def empty(shape: Iterable[Any], dtype: torch.dtype, memory_format: Any = torch.contiguous_format) -> Tensor:
    """A tensor without memory, whether there are expressions in its shape or not."""
    shape = tuple(shape)
    placement.note_elsewhere()
    made = torch.empty(hints(shape), dtype=dtype, device="meta", memory_format=memory_format)
    return _wrapped(made, shape) if is_symbolic(shape) else made


def opened(tensor: Tensor) -> Tensor:
    """A meta tensor, whose methods take extents among their arguments."""
    if isinstance(tensor, SymbolicTensor):
        return tensor
    made = tensor.as_subclass(SymbolicTensor)
    made._extents = tuple(tensor.shape)
    return made


def with_extents(tensor: Tensor, shape: Iterable[Any]) -> Tensor:
    """The meta tensor with these extents, whose hints are its own."""
    placement.note_elsewhere()
    return _wrapped(tensor, tuple(shape))


def _slice_of_hints(part: slice) -> slice:
    return slice(*(None if v is None else hint(v) for v in (part.start, part.stop, part.step)))


def _wrapped(tensor: Tensor, shape: Iterable[Any]) -> Tensor:
    shape = tuple(shape)
    with _plain():
        if tuple(Tensor.size(tensor)) != hints(shape):
            raise AssertionError(f"a shape of {shape} was inferred for {tuple(Tensor.size(tensor))}")
        if not is_symbolic(shape):
            return tensor.as_subclass(Tensor)
        made = tensor.as_subclass(SymbolicTensor)
    made._extents = shape
    return made


def _like(tensor: Tensor, shape: Iterable[Any], function: Any) -> Tensor:
    with _plain():
        return _wrapped(function(tensor.as_subclass(Tensor)), shape)


def _reshaped(tensor: Tensor, shape: tuple[Any, ...], method: Any) -> Tensor:
    wanted = list(_one_shape(shape))
    unknown = [k for k, n in enumerate(wanted) if n == -1]
    if unknown:
        known = _product(n for k, n in enumerate(wanted) if k != unknown[0])
        wanted[unknown[0]] = tensor.numel() // known
    if _product(wanted) != tensor.numel():
        raise RuntimeError(f"shape {tuple(wanted)} is invalid for an array of shape {tensor.shape}")
    return _like(tensor, wanted, lambda x: method(x, hints(wanted)))


def _one_shape(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """A shape that was given as one sequence, or as numbers."""
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape


def _expanded(key: tuple[Any, ...], axes: int) -> list[Any] | None:
    """A basic index with a slice for each axis that it does not name; None for an index by arrays."""
    if any(not (k is None or k is Ellipsis or isinstance(k, (slice, int, Extent))) or isinstance(k, bool) for k in key):
        return None
    missing = [slice(None)] * (axes - sum(k is not None and k is not Ellipsis for k in key))
    at = next((i for i, k in enumerate(key) if k is Ellipsis), len(key))
    return [*key[:at], *missing, *key[at + 1 :]]


def _product(shape: Iterable[Any]) -> Any:
    total: Any = 1
    for n in shape:
        total = total * n
    return total


def _pinned(value: Any) -> Any:
    """A value with numbers for all extents, those of tensors too."""
    if isinstance(value, SymbolicTensor):
        for n in value._extents:
            int(n)
        return value.as_subclass(Tensor)
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(_pinned(v) for v in value)
    return int(value) if type(value) is Extent else value

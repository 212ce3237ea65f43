"""Shorter ways to the kernel of one formula than `pointwise.pointwise`: what can be decided before the call is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from core import storage
from core.kernels.contracts.pointwise import pointwise
from core.kernels.dispatch import Function, runs_triton, state
from core.kernels.formula import Formula


def formula_kernel(formula: Formula, dtype: torch.dtype, first: torch.dtype) -> Function:
    """The CPU's function of (operands..., attributes...) that computes `formula`, for a first operand of dtype `first`."""
    function = _cpu()._compiled(formula, first)

    def run(*operands: Any) -> Tensor:
        y: Tensor = function(*operands)
        return y if y.dtype is dtype else y.to(dtype)

    return run


def inline(
    formula: Formula, operands: Sequence[Any], attrs: Sequence[Any], dtype: torch.dtype, target: str,
    device: torch.device,
) -> tuple[Any, ...] | None:  # fmt: skip
    """`formula` as lines of source for a plan (see `core.kernels.cpu.inline`), None where kernels are not so simple."""
    if runs_triton(device):
        return None
    found: tuple[Any, ...] | None = importlib.import_module("core.kernels.cpu.inline").inline(
        formula, operands, attrs, dtype, target
    )
    return found


def pointwise_of_one_type(
    formula: Formula,
    refuse: Callable[[Sequence[Tensor]], None],
    refused: str | None = None,
    variant: Callable[[torch.dtype], Function | None] = lambda dtype: None,
) -> tuple[Function, Function, dict[torch.dtype, Function]]:
    """The shortest way to the kernel of a formula for operands of one type; `refuse(tensors)` raises otherwise.

    A function of (tensors..., attributes by name), one that gives such a function of tensors for attributes (a
    namespace), and the CPU's functions of (tensors..., attributes...) by the dtype of all tensors. refused: a type that a formula of two operands does not take. variant: for a dtype, the function that
    takes the place of the formula's kernel on any device, if one does.
    """
    no = None if refused is None else storage.TORCH[refused]
    names, count = formula.attrs, len(formula.inputs)

    class Kernels(dict[torch.dtype, Callable[..., Tensor]]):
        """The CPU's kernels by dtype, made when they are first asked for."""

        def __missing__(self, dtype: torch.dtype) -> Function:
            if dtype is no:
                return lambda *given: refuse(given)
            self[dtype] = function = variant(dtype) or _of_type(formula, dtype)
            return function

    on_cpu = Kernels()

    def general(tensors: Sequence[Tensor], values: Sequence[Any], dtype: torch.dtype) -> Tensor:
        special = variant(dtype)
        return pointwise(formula, tensors, values, dtype) if special is None else special(*tensors, *values)

    def one(x: Tensor) -> Tensor:
        if state.plain or (x.is_cpu and state.forced is None):
            return on_cpu[x.dtype](x)
        return general((x,), (), x.dtype)

    def two(a: Tensor, b: Tensor) -> Tensor:
        kind = a.dtype
        if kind is not b.dtype or kind is no:
            refuse((a, b))
        if state.plain or (a.is_cpu and state.forced is None):
            return on_cpu[kind](a, b)
        return general((a, b), (), kind)

    def many(tensors: Sequence[Tensor], values: Sequence[Any]) -> Tensor:
        kind = tensors[0].dtype
        for t in tensors:
            if t.dtype is not kind or (no is not None and kind is no):
                refuse(tensors)
        if state.plain or (tensors[0].is_cpu and state.forced is None):
            return on_cpu[kind](*tensors, *values)
        return general(tensors, values, kind)

    def bind(attrs: Any) -> Function:
        values = tuple(getattr(attrs, n) for n in names)
        if count > 1:
            return lambda *tensors: many(tensors, values)

        def bound(x: Tensor) -> Tensor:
            if state.plain or (x.is_cpu and state.forced is None):
                return on_cpu[x.dtype](x, *values)
            return general((x,), values, x.dtype)

        return bound

    def with_attributes(*tensors: Tensor, **attrs: Any) -> Tensor:
        return many(tensors, [attrs[n] for n in names])

    def one_with_attributes(x: Tensor, **attrs: Any) -> Tensor:
        if state.plain or (x.is_cpu and state.forced is None):
            return on_cpu[x.dtype](x, *map(attrs.__getitem__, names))
        return general((x,), [attrs[n] for n in names], x.dtype)

    if names or count > 2:
        return (one_with_attributes if count == 1 else with_attributes), bind, on_cpu
    return (one if count == 1 else two), bind, on_cpu


def pointwise_of_first_type(formula: Formula) -> Function:
    """The shortest way to the kernel of a formula whose result has the type of the first operand, as a gradient's has.

    A function of (tensors..., attributes by name).
    """
    names = formula.attrs

    class Kernels(dict[torch.dtype, Callable[..., Tensor]]):
        """The CPU's kernels by dtype, made when they are first asked for."""

        def __missing__(self, dtype: torch.dtype) -> Function:
            function: Function = _cpu()._compiled(formula, dtype)
            self[dtype] = function
            return function

    on_cpu = Kernels()

    def forward(*tensors: Tensor, **attrs: Any) -> Tensor:
        first = tensors[0]
        kind = first.dtype
        if state.plain or (first.is_cpu and state.forced is None):
            y = on_cpu[kind](*tensors, *map(attrs.__getitem__, names)) if names else on_cpu[kind](*tensors)
            return y if y.dtype is kind else y.to(kind)
        return pointwise(formula, tensors, [attrs[n] for n in names], kind)

    return forward


def _of_type(formula: Formula, dtype: torch.dtype) -> Function:
    """The CPU's kernel for operands, and a result, of `dtype`, whether attributes are whole numbers or not."""
    operands = [torch.ones(2, dtype=dtype)] * len(formula.inputs)
    try:
        function: Function = _cpu()._typed(formula, dtype, operands + [1.0] * len(formula.attrs))
    except (RuntimeError, TypeError):  # of bits
        function = _cpu()._typed(formula, dtype, operands + [1] * len(formula.attrs))
    return function


def _cpu() -> Any:
    return importlib.import_module("core.kernels.cpu.pointwise")

"""What went wrong in an operator, in the words of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.base import IndexOutOfBounds, MXNetError
from core.dtypes import dtype_name
from core.kernels.contracts.rules import broadcast
from core.ops.registry import Operator
from core.ops.values import Attrs

# What a kernel raises that cannot do it, or finds None in place of an array.
KERNEL_ERRORS = (RuntimeError, IndexError, ValueError, TypeError, ArithmeticError, AttributeError)


class NeedsShape(Exception):
    """Raised by a placeholder for a parameter whose shape is not known yet (see `ndarray.Deferred`)."""


# What sends a call from the fast path of its launcher to the general one.
FALLBACK_ERRORS = NeedsShape, *KERNEL_ERRORS


class OperandError(MXNetError):
    """The operands do not fit the operator, or one another; the cause is what the kernel raised."""


class OperandIndexError(OperandError, IndexOutOfBounds):
    """An operand error where an index was out of bounds."""


class OperandValueError(OperandError, ValueError):
    """An operand error where numbers do not fit, such as those of axes."""


class MissingOperand(OperandError, TypeError):
    """An input was not given that the operator needs."""


_KINDS = ((IndexError, OperandIndexError), (ValueError, OperandValueError), (Exception, OperandError))


def failure(what: str, inputs: Sequence[Any], reason: BaseException, contradiction: str | None = None) -> OperandError:
    """The error for a kernel that raised `reason`; `contradiction` tells it better, where there is one."""
    given = ", ".join("None" if x is None else f"{dtype_name(x.dtype)}{x.shape}" for x in inputs) or "()"
    kind = next(mine for cause, mine in _KINDS if isinstance(reason, cause))
    told = contradiction or (str(reason).splitlines() or [repr(reason)])[0]
    if told == "tuple index out of range":  # of a shape
        told = "an array has too few axes"
    return kind(f"{what} does not fit the arrays {given}: {told}")


def operand_error(op: Operator, inputs: Sequence[Any], attrs: Attrs, reason: Exception) -> OperandError:
    name = op.name.removeprefix("_npi_")  # np's functions
    for slot, x in zip(op.inputs + op.inputs[-1:] * len(inputs), inputs, strict=False):
        if x is None and slot not in op.optional:
            return MissingOperand(f"{name}: input {slot!r} is missing. {op.signature()}")
    return failure(name, inputs, reason, _contradiction(op, inputs, attrs, reason))


def _contradiction(op: Operator, inputs: Sequence[Any], attrs: Attrs, reason: Exception) -> str | None:
    """What is wrong with the inputs, as far as their contexts and the operator's inference of shapes tell."""
    if not inputs:
        return "at least one is needed"
    present = [x for x in inputs if x is not None]
    if len({x._ctx.device_type for x in present}) > 1:
        return f"they are on different devices, {', '.join(str(x._ctx) for x in present)}"
    if op.formula is not None:
        try:
            broadcast([x.shape for x in present])
        except RuntimeError:
            return "their shapes do not broadcast"
    unlike = _unlike(op, inputs, reason)
    if op.infer is None:
        return unlike
    given = {name: None if x is None else tuple(x.shape) for name, x in zip(op.inputs, inputs, strict=False)}
    inferred = dict(given)
    try:
        op.infer(inferred, attrs)
    except KERNEL_ERRORS:
        return unlike
    first = next(iter(given))
    for name, shape in given.items():
        if shape is not None and inferred[name] != shape:
            source = f"{first} of shape {given[first]} needs" if name != first else "the others need"
            return f"{source} {name} of shape {inferred[name]}, and {name} has the shape {shape}"
    return unlike


def _unlike(op: Operator, inputs: Sequence[Any], reason: Exception) -> str | None:
    """That the inputs differ in type, where the kernel says that types are what does not fit."""
    types = {name: dtype_name(x.dtype) for name, x in zip(op.inputs, inputs, strict=False) if x is not None}
    if len(set(types.values())) < 2 or not any(word in str(reason) for word in ("scalar type", "dtype")):
        return None
    first, *rest = types.items()
    other = next((name, kind) for name, kind in rest if kind != first[1])
    return f"{first[0]} is {first[1]} and {other[0]} {other[1]}; convert with {first[0]}.astype('{other[1]}')"

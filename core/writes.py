"""Writing results to arrays that are there already: `out=`, `+=`, `x[:] =`."""

from __future__ import annotations

from typing import Any

from core import kernels
from core.base import MXNetError
from core.dtypes import dtype_name
from core.ops.registry import Operator
from core.ops.values import Array
from core.tape import is_tracked, state, written


def assign(op: Operator, out: Any, result: Any) -> Any:
    """Writes results to the arrays that the caller gave as `out`."""
    if isinstance(out, (list, tuple)):
        results = result if isinstance(result, (list, tuple)) else [result]
        if not all(hasattr(target, "_data") for target in out):
            raise _no_array(out, op.name)
        if len(out) != len(results):
            raise MXNetError(f"{op.name} gives {len(results)} arrays, out has {len(out)}")
        for target, source in zip(out, results, strict=True):
            write(target, source)
        return out
    result = result[0] if isinstance(result, (list, tuple)) else result
    if not hasattr(out, "_data"):
        raise _no_array(out, op.name)
    if out._data is not None and out.dtype != result.dtype:
        raise OutputType(
            f"{op.name} gives {dtype_name(result.dtype)}, out is of {dtype_name(out.dtype)}; convert with astype"
        )
    write(out, result)
    return out


class OutputType(MXNetError, TypeError):
    """The array given as `out` is of another type than the result."""


def write(target: Array, source: Array) -> None:
    """Copies `source` into the memory of `target`, which takes over its place on the tape."""
    if target is source:
        return
    if not hasattr(target, "_data"):
        raise _no_array(target, "an operator")
    if state.recording and is_tracked(target):
        raise recorded_write()
    if state.tracer is not None:
        state.tracer.write(target, source)
    elif target.stype != "default":
        target._assign(source)
    elif target._data is None:
        target._data = source._data
    elif tuple(target._data.shape) != tuple(source._data.shape):
        raise MXNetError(f"cannot write a result of shape {source.shape} to an array of shape {target.shape}")
    else:
        kernels.shape.copy_(target._data, source._data)
        written(target._data)
    if state.recording:
        target._entry = source._entry


def _no_array(out: object, name: str) -> TypeError:
    return TypeError(f"{name}: out is an array, or a list of arrays, given {type(out).__name__} ({out!r})")


def recorded_write() -> MXNetError:
    """The error of a write to an array that the tape holds, in the words that MXNet's programs look for."""
    return MXNetError(
        "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd, on arrays that it "
        "tracks: gradients would be wrong. Write to a new array, before record(), or inside autograd.pause()"
    )

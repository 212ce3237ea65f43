"""`np._internal`: operators of the `np` namespace by the names that MXNet's own code calls them."""

from __future__ import annotations

from core.base import UnknownName
from core.dispatch import operator_function
from core.numpy.multiarray import ndarray
from core.ops.registry import TABLE


def __getattr__(name: str):
    op = TABLE.get(f"_npi_{name}")
    if op is None:
        raise UnknownName("np._internal", name, __dir__)
    return operator_function(op, ndarray)


def __dir__():
    return sorted({n.removeprefix("_npi_") for n in TABLE if n.startswith("_npi_")} | {"boolean_mask_assign_tensor"})


def boolean_mask_assign_tensor(data, mask, value, start_axis: int = 0, out=None):
    """Writes `value` to the data where the mask, which lies over the axes from `start_axis` on, holds.

    value: a number, or an array that broadcasts to (as many as hold, ...) from that axis on. `out`: the data itself.
    """
    out = data if out is None else out
    if out is not data:
        out[...] = data
    out[(slice(None),) * start_axis + (mask,)] = value
    return out


boolean_mask_assign_scalar = boolean_mask_assign_tensor

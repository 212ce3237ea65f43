"""Operators of the `np` and `npx` namespaces that write to positions named by indices, and that check values."""

from core import kernels
from core.base import MXNetError
from core.ops.attributes import Str
from core.ops.registry import F, composite, operator
from core.ops.values import Tensor, Value


def _spread(name: str, a: Value, ind: Value, val: Value) -> tuple[Value, Value]:
    """Indices as (M, N), and the values repeated to what they stand for: (N, ...)."""
    ind = F._reshape_to(ind, shape=(1, ind.size)) if ind.ndim < 2 else ind
    if ind.ndim > 2 or ind.shape[0] > a.ndim:
        raise MXNetError(f"{name}: indices of shape {ind.shape} do not fit an array of {a.ndim} axes")
    shape = (ind.shape[1], *a.shape[ind.shape[0] :])
    return ind, F._broadcast_from(F.Cast(val, dtype=a.dtype), shape=shape)


@composite("_npx_index_add")
def index_add(a: Value, ind: Value, val: Value) -> Value:
    """`a` with `val` added at the positions `ind` (M, N): N of the first M axes; `val` broadcasts to (N, ...).

    Positions that meet are added to several times.
    """
    ind, val = _spread("index_add", a, ind, val)
    return F._npi_add(a, F._scatter_nd_add(val, ind, shape=a.shape))


@composite("_npx_index_update")
def index_update(a: Value, ind: Value, val: Value) -> Value:
    """`a` with `val` written at the positions `ind` (M, N): N of the first M axes; `val` broadcasts to (N, ...)."""
    ind, val = _spread("index_update", a, ind, val)
    hit = F.scatter_nd(F.ones_like(val), ind, shape=a.shape)
    return F._npi_where(F._npi_not_equal_scalar(hit, scalar=0), F.scatter_nd(val, ind, shape=a.shape), a)


class Violated(MXNetError, ValueError):
    """What was to hold does not."""


@operator("_npx_constraint_check", memory="new")
def constraint_check(x: Tensor, *, msg: Str = "Constraint violated.") -> Tensor:
    """True (without axes) where all elements hold; ValueError with `msg` otherwise."""
    held = kernels.reduce.all(x, tuple(range(x.dim())), False)
    if not held.is_meta and not held.item():
        raise Violated(msg)
    return held.clone()  # not what the kernel gave, which plans would call in place of this check

"""Shape operators of the `np` and `npx` namespaces whose codes differ from `nd`."""

import math

from core import kernels
from core.base import MXNetError
from core.ops.attributes import Bool, Int, Shape, Str
from core.ops.facts import Target
from core.ops.registry import F, gradient, operator
from core.ops.shape import decoded
from core.ops.values import Gradients, Namespace, Tensor, Value

K = kernels.shape


@operator("_npi_reshape", aliases=("_np_reshape",), target=Target("newshape", keeps=None), reshapes=True)
def reshape(a: Tensor, *, newshape: Shape, order: Str = "C") -> Tensor:
    """The same elements in another shape; one length may be -1."""
    if order != "C":
        raise MXNetError(f"reshape: only order='C' is supported, given {order!r}")
    known = math.prod(n for n in newshape if n != -1)
    missing = newshape.count(-1)
    if missing > 1 or any(n < -1 for n in newshape):
        raise MXNetError(f"reshape: {newshape} is no shape; one length may be -1")
    size = a.numel()
    if (missing and (known == 0 or size % known)) or (not missing and known != size):
        raise MXNetError(f"reshape: cannot bring the shape {tuple(a.shape)} of {size} elements into {newshape}")
    return K.reshape(a, tuple(size // known if n == -1 else n for n in newshape))


CODES = {-2: "copy", -3: "drop", -4: "rest", -5: "merge", -6: "split"}


def npx_shape(shape: tuple[int, ...], wanted: tuple[int, ...], reverse: bool = False) -> tuple[int, ...]:
    """The shape that the codes of npx.reshape stand for: -1 takes what is left, -2 copies an axis, -3 drops one of
    length 1, -4 copies all that remain, -5 merges two, -6 splits one into the two that follow."""
    out = decoded(shape, wanted, CODES, reverse)
    size, known = math.prod(shape), math.prod(n for n in out if n != -1)
    if out.count(-1) > 1 or (-1 in out and (known == 0 or size % known)) or (-1 not in out and known != size):
        raise MXNetError(f"reshape: cannot bring the shape {shape} into {wanted}")
    return tuple(size // known if n == -1 else n for n in out)


@operator("_npx_reshape", target=Target("newshape", keeps=-2))
def npx_reshape(a: Tensor, *, newshape: Shape, reverse: Bool = False, order: Str = "C") -> Tensor:
    """The same elements in another shape, with the codes of `npx_shape`."""
    if order != "C":
        raise MXNetError(f"npx.reshape: only order='C' is supported, given {order!r}")
    return K.reshape(a, npx_shape(tuple(a.shape), newshape, reverse))


for _op in (reshape, npx_reshape):

    @gradient(_op)
    def _op_gradient(dy: Value, a_shape: tuple[int, ...]) -> Gradients:
        return [F._reshape_to(dy, shape=a_shape)]


@operator("_npi_rot90")
def rot90(m: Tensor, *, k: Int = 1, axes: Shape = (0, 1)) -> Tensor:
    """The plane of two axes turned k times by 90 degrees, from the first towards the second.

    The gradient is MXNet's, which turns k times in the same direction.
    """
    first, second = axes
    order = list(range(m.dim()))
    order[first], order[second] = second, first
    k %= 4
    if k == 0:
        return K.clone(m)
    if k == 2:
        return K.flip(m, (first, second))
    return K.permute(K.flip(m, (second,)), order) if k == 1 else K.flip(K.permute(m, order), (second,))


@gradient(rot90)
def _rot90_gradient(dy: Value, attrs: Namespace) -> Gradients:
    return [F._npi_rot90(dy, k=attrs.k, axes=attrs.axes)]

"""Products of eight-bit numbers in the manner of MXNet's intgemm: x stands for 127 / maxabs x; inference only.

MXNet stores prepared weights in an order that depends on the processor; here the order is that of the array.
"""

from collections.abc import Callable
from typing import Annotated, Any

from core.base import MXNetError
from core.ops.attributes import Bool, Choice, Int
from core.ops.registry import F, composite, takes
from core.ops.values import Attrs, Value

TOP = 127.0


def _enter(name: str, **facts: Any) -> Callable[..., Any]:
    return composite(f"_contrib_intgemm_{name}", aliases=(f"_npx_intgemm_{name}",), **facts)


@_enter("maxabsolute")
def maxabsolute(data: Value) -> Value:
    """The largest absolute value, as an array of one."""
    return F.max(F.abs(F._reshape_to(data, shape=(-1,))), axis=0)


@_enter("prepare_data")
def prepare_data(data: Value, maxabs: Value) -> Value:
    """int8 values of float32 data, of which `maxabs` (an array of one) becomes 127; what is beyond is cut off."""
    scale = TOP / F._reshape_to(maxabs, shape=(1,) * len(data.shape))
    integers = F._npi_around(F.broadcast_mul(data, scale), scale=1.0)  # halves to the even neighbour
    return F.Cast(F.clip(integers, a_min=-TOP, a_max=TOP), dtype="int8")


@_enter("prepare_weight")
def prepare_weight(weight: Value, maxabs: Value | None = None, *, already_quantized: Bool = False) -> Value:
    """int8 values of a weight (outputs, inputs).

    Those that `prepare_data` gave stay as they are with already_quantized.
    """
    if already_quantized:
        return F._copy(weight)
    if maxabs is None:
        raise MXNetError(
            "intgemm_prepare_weight: the input maxabs is missing; a quantized weight alone does without, already_quantized=True"
        )
    return F._contrib_intgemm_prepare_data(weight, maxabs)


@_enter("take_weight")
def take_weight(weight: Value, indices: Value) -> Value:
    """The quantized values of some outputs of a prepared weight."""
    return F.take(weight, indices)


@_enter("fully_connected", when={"bias": ("no_bias", False)})
def fully_connected(
    data: Value, weight: Value, scaling: Value | None = None, bias: Value | None = None, *, num_hidden: Int,
    no_bias: Bool = False, flatten: Bool = True, out_type: Annotated[str, Choice("float32", "int32")] = "float32",
) -> Value:  # fmt: skip
    """data weight^T of quantized values: times `scaling` plus bias as float32, or as int32 plus an int32 bias,
    which then comes third.

    float32 data becomes quantized values of its own largest absolute value, by which the result is multiplied again.
    """
    kind = "float64"  # holds every sum of products of quantized values
    back = None
    if "float" in str(data.dtype):
        largest = F._contrib_intgemm_maxabsolute(data)
        data, back = F._contrib_intgemm_prepare_data(data, largest), largest * (1.0 / TOP)
    product = F.FullyConnected(
        F.Cast(data, dtype=kind), F.Cast(weight, dtype=kind), num_hidden=num_hidden, no_bias=True, flatten=flatten
    )
    product = F.Cast(product, dtype=out_type)
    rank = len(product.shape)
    if out_type != "int32":
        if scaling is None:
            raise MXNetError("intgemm_fully_connected: scaling is missing; only out_type='int32' does without")
        scale = scaling if back is None else F.broadcast_mul(scaling, back)
        product = F.broadcast_mul(product, F._reshape_to(scale, shape=(1,) * rank))
    if no_bias or bias is None:
        return product
    return F.broadcast_add(product, F._reshape_to(bias, shape=(1,) * (rank - 1) + (-1,)))


@takes(fully_connected)
def _fully_connected_takes(attrs: Attrs) -> list[str]:
    names = {"scaling": attrs["out_type"] != "int32", "bias": not attrs["no_bias"]}
    return [name for name in fully_connected.inputs if names.get(name, True)]

"""Operators that the passes of the graph compiler put into graphs; no namespace shows them."""

from collections.abc import Callable
from math import prod
from typing import Annotated, Any

from core import kernels
from core.extents import hints
from core.kernels.epilogue import ACTIVATIONS
from core.kernels.rnn_parameters import GATES
from core.ops.attributes import Any_, Bool, Choice, Float, Int, Optional, Shape
from core.ops.registry import F, Operator, operator, tell
from core.ops.values import Attrs, Node, Tensor, Value

Ending = Annotated[str | None, Optional(Choice(*filter(None, ACTIVATIONS)))]


@operator("_plan_ones_", mutates=("gamma",))
def _ones_(gamma: Tensor) -> Tensor:
    """Sets gamma to 1, as batch normalisation with fix_gamma does to its parameter."""
    kernels.shape.fill_(gamma.data, 1)  # as in core.ops.norm
    return gamma


@operator("_plan_conv", memory="new", slides=True)
def _conv(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, residual: Tensor | None = None, *, stride: Shape,
    dilate: Shape, pad: Shape, groups: Int, activation: Ending = None,
) -> Tensor:  # fmt: skip
    """activation(`_conv` + residual); the weight may be packed."""
    return kernels.conv.conv(data, weight, bias, stride, dilate, pad, groups, activation, residual)


@operator("_plan_conv_batch_norm", outputs=4, memory="new")
def _conv_batch_norm(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, gamma: Tensor | None = None, beta: Tensor | None = None,
    *, stride: Shape, dilate: Shape, pad: Shape, groups: Int, eps: Float,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The result of `_conv`, and batch normalisation of it by channels: (y, normalised, mean, rstd)."""
    return kernels.conv.conv_batch_norm(data, weight, bias, gamma, beta, stride, dilate, pad, groups, eps)


@operator("_plan_conv_weight")
def _conv_weight(
    weight: Tensor, *, shape: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: Int, exact: Bool
) -> Tensor:
    """The weight of a convolution, packed for data of `shape`."""
    return kernels.conv.pack(weight, shape, stride, dilate, pad, groups, exact)


@operator("_plan_integer_conv_weight")
def _integer_conv_weight(
    weight: Tensor, *, shape: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: Int, signed: Bool
) -> Tensor:
    """The weight of `_integer_conv`, packed for quantized values of `shape`."""
    return kernels.conv.pack_quantized(weight, shape, stride, dilate, pad, groups, signed)


@operator("_plan_integer_conv", memory="new", slides=True)
def _requantized_conv(
    data: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, residual: Tensor | None = None,
    meaning: Tensor | None = None, *, stride: Shape, dilate: Shape, pad: Shape, groups: Int, signed: Bool,
) -> Tensor:  # fmt: skip
    """Quantized values nearest to `_integer_conv` * scale + bias + residual * meaning; the weight may be packed."""
    return kernels.conv.requantized_conv(
        data, weight, bias, scale, stride, dilate, pad, groups, signed, residual, meaning
    )


@operator("_plan_integer_linear_weight")
def _integer_linear_weight(weight: Tensor, *, rows: Int) -> Tensor:
    """The weight of `_integer_linear`, packed for data of so many rows."""
    return kernels.matmul.pack_quantized(weight, rows)


@operator("_plan_max_pool", memory="new")
def _max_pool(data: Tensor, *, kernel: Shape, stride: Shape, pad: Any_) -> Tensor:
    """The maximum of each window, without its place."""
    return kernels.pool.max_pool(data, kernel, stride, pad, False)[0]


@operator("_plan_batch_norm", memory="new")
def _batch_norm(data: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    """(data - mean) / sqrt(var) gamma + beta, along axis 1."""
    return kernels.norm.batch_norm_inference(data, gamma, beta, mean, var, 1, 0.0)


@operator("_plan_linear", memory="new")
def _linear(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, residual: Tensor | None = None, *,
    activation: Ending = None,
) -> Tensor:  # fmt: skip
    """activation(data weight^T + bias + residual) along the last axis; the weight may be packed."""
    return kernels.matmul.linear(data, weight, bias, activation, residual)


@operator("_plan_linear_weight")
def _linear_weight(weight: Tensor, *, rows: Int) -> Tensor:
    """The weight of a linear layer, packed for data of so many rows."""
    return kernels.matmul.pack(weight, rows)


@operator("_plan_growing_concat", memory="new")
def _growing_concat(*data: Tensor, dim: Int, spare: Int) -> Tensor:
    """`Concat` at the beginning of memory where the axis may grow by `spare` positions."""
    return kernels.shape.concat(data, dim, spare)


@operator("_plan_grown_concat")
def _grown_concat(*data: Tensor, dim: Int) -> Tensor:
    """`Concat` in the memory of the first array, which has spare positions behind it."""
    return kernels.shape.grown(data[0], data[1:], dim)


@operator("_plan_rnn", train=True, rng=True, reserves=True, memory="new", draws=lambda attrs: bool(attrs["p"]))
def _recurrent(
    data: Tensor, state: Tensor, state_cell: Tensor, *parameters: Tensor, state_size: Int, num_layers: Int,
    mode: Annotated[str, Choice(*GATES)], bidirectional: Bool, p: Float, training: bool, key: int,
) -> Tensor | tuple[tuple[Tensor, ...], ...]:  # fmt: skip
    """`_rnn` with the parts of its parameters, each a vector."""
    y, hn, cn, reserve = kernels.rnn.rnn(
        data, parameters, state, state_cell, mode, state_size, num_layers, bidirectional, p, key, training
    )
    return ((y, hn) if cn is None else (y, hn, cn)), reserve


@operator("_plan_rnn_grad", memory="new", draws=lambda attrs: bool(attrs["p"]))
def _recurrent_grad(
    dy: Tensor, dy_state: Tensor, dy_cell: Tensor, data: Tensor, state: Tensor, state_cell: Tensor, out: Tensor,
    *parameters: Tensor, reserve: tuple[Tensor, ...], state_size: Int, num_layers: Int,
    mode: Annotated[str, Choice(*GATES)], bidirectional: Bool, p: Float, key: int,
) -> Tensor | tuple[Tensor, ...]:  # fmt: skip
    """Gradients of `_plan_rnn` in data, states and the parts of the parameters."""
    dx, dparameters, dh0, dc0 = kernels.rnn.rnn_grad(
        dy, dy_state, dy_cell, data, parameters, state, state_cell, out, reserve, mode, state_size, num_layers,
        bidirectional, p, key, True,
    )  # fmt: skip
    return (dx, dh0, *(() if dc0 is None else (dc0,)), *dparameters)


@operator("_plan_rows", outputs=lambda attrs: len(attrs["program"].results), memory="new")
def _rows(*data: Tensor, program: Any_) -> tuple[Tensor, ...]:
    """The results of a row program of the data."""
    return kernels.pointwise.pointwise_rows(program, data)


@operator("_plan_stretch", outputs=lambda attrs: len(attrs["program"].results), memory="new")
def _stretch(*tensors: Tensor, program: Any_) -> Tensor | tuple[Tensor, ...]:
    """The results of primitives of a library, executed at one go."""
    found: Tensor | tuple[Tensor, ...] = program(*tensors)
    return found


@operator("_plan_stretch_weight", memory="new")
def _stretch_weight(weight: Tensor, *, packed: Any_) -> Tensor:
    """A weight in the order that a primitive of a stretch likes best."""
    found: Tensor = packed(weight)
    return found


# ---------------------------------------------------------------------------------------------- products


@tell(F._conv, "product")
def _conv_product(node: Node, apply: Callable[..., Any]) -> list[Node]:
    return [apply(F._plan_conv, node.inputs, {**node.attrs, "activation": None}, node.inputs[0])]


@tell(F.FullyConnected, "product")
def _linear_product(node: Node, apply: Callable[..., Any]) -> list[Node]:
    data, weight, *rest = node.inputs
    bias = None if node.attrs["no_bias"] or not rest else rest[0]
    before = []
    if node.attrs["flatten"] and len(data.shape) != 2:
        shape = F._reshape_to.parse({"shape": (data.shape[0], weight.shape[1])})
        before.append(apply(F._reshape_to, [data], shape, data))
        data = before[0].outputs[0]
    return [*before, apply(F._plan_linear, [data, weight, bias], {"activation": None}, data)]


@tell(F._plan_conv, "packing")
def _conv_packing(node: Node, exact: bool) -> tuple[Operator | Attrs, Operator | Attrs]:
    how = {name: node.attrs[name] for name in ("stride", "dilate", "pad", "groups")}
    return F._plan_conv_weight, {"shape": hints(node.inputs[0].shape), **how, "exact": exact}


@tell(F._integer_conv, "packing")
def _integer_conv_packing(node: Node, exact: bool) -> tuple[Operator | Attrs, Operator | Attrs]:
    data, how = node.inputs[0], {name: node.attrs[name] for name in ("stride", "dilate", "pad", "groups")}
    return F._plan_integer_conv_weight, {"shape": hints(data.shape), **how, "signed": data.dtype == "int8"}


@tell(F._plan_integer_conv, "packing")
def _requantized_conv_packing(node: Node, exact: bool) -> tuple[Operator | Attrs, ...]:
    return _integer_conv_packing(node, exact)


@tell(F._integer_linear, "packing")
def _integer_linear_packing(node: Node, exact: bool) -> tuple[Operator | Attrs, Operator | Attrs]:
    return F._plan_integer_linear_weight, {"rows": prod(hints(node.inputs[0].shape[:-1]))}


@tell(F._quantized, "absorption")
def _quantized_absorption(node: Node, do: Callable[..., Any], counts: dict[Any, Any]) -> Value | None:
    """Quantization ends a convolution of integers; of maxima of integers it makes maxima."""
    data, *rest = node.inputs
    made, signed = data.source, node.attrs["out_type"] == "int8"
    if made is None or counts[data] > 1:
        return None
    scale, residual, meaning = (*rest, None, None, None)[:3]
    if made.op is F._integer_conv and scale is not None:
        ends = (
            (-128.0, 127.0) if signed else (0.0, 127.0 if residual is not None and residual.dtype == "int8" else 255.0)
        )
        if (node.attrs["low"], node.attrs["high"]) != ends or (
            residual is not None and signed and residual.dtype != "int8"
        ):
            return None
        integers, weight, *bias = made.inputs
        if prod(scale.shape) != weight.shape[0]:
            return None
        scale = do(F._reshape_to, scale, shape=(-1,))
        shift = None if not bias or bias[0] is None else do(F.broadcast_mul, bias[0], scale)
        meaning = None if meaning is None else do(F._reshape_to, meaning, shape=(1,))
        given = (integers, weight, shift, scale, *(() if residual is None else (residual, meaning)))
        return do(F._plan_integer_conv, *given, **made.attrs, signed=signed)
    if scale is None and made.op is F._max_pool and made.inputs[0].source is not None:
        cast, how = made.inputs[0].source, made.attrs
        even = len(how["kernel"]) == 2 and all(a == b and 2 * a <= k for (a, b), k in zip(how["pad"], how["kernel"]))
        if cast.op is F.Cast and cast.inputs[0].dtype == node.outputs[0].dtype == "uint8" and even:
            return do(F._plan_max_pool, cast.inputs[0], **how)
    return None


@tell(F._max_pool, "absorption")
def _max_pool_absorption(node: Node, do: Callable[..., Any], counts: dict[Any, Any]) -> Value | None:
    """Places that nobody reads are not looked for."""
    return None if counts.get(node.outputs[1]) else do(F._plan_max_pool, node.inputs[0], **node.attrs)


@tell(F._avg_pool, "absorption")
def _avg_pool_absorption(node: Node, do: Callable[..., Any], counts: dict[Any, Any]) -> Value | None:
    """A mean of whole windows, fewer than places, is taken before a convolution of one place each: with one such each
    of a DenseNet's stages ends, and a quarter of its products is left.
    """
    data, conv = node.inputs[0], node.inputs[0].source
    if conv is None or conv.op is not F._plan_conv or len(conv.given) > 3 or counts[data] > 1:
        return None
    how, kernel = conv.attrs, conv.inputs[1].shape[2:]
    single = set(kernel) == set(how["stride"]) == {1} and set(how["pad"]) == {0} and how["activation"] is None
    padded = any(lo or hi for lo, hi in node.attrs["pad"])
    if not single or padded or prod(node.outputs[0].shape[2:]) >= prod(data.shape[2:]):
        return None
    return do(F._plan_conv, do(F._avg_pool, conv.inputs[0], **node.attrs), *conv.inputs[1:], **how)


@tell(F._plan_linear, "packing")
def _linear_packing(node: Node, exact: bool) -> tuple[Operator, Attrs]:
    return F._plan_linear_weight, {"rows": prod(hints(node.inputs[0].shape[:-1]))}


@tell(F.BatchNorm, "follows")
def _batch_norm_follows(node: Node, before: Node, apply: Callable[..., Any]) -> list[Node] | None:
    """A convolution gives the statistics that are taken of it, by channels."""
    data, gamma, beta, *_ = node.inputs
    attrs = node.attrs
    takes = attrs["training"] and not attrs["use_global_stats"] and attrs["axis"] % len(data.shape) == 1
    if not takes or before.op is not F._conv or data.source is not before:
        return None
    fixed = [apply(F._plan_ones_, [gamma], {}, gamma)] if attrs["fix_gamma"] else []
    inputs = [*before.inputs, *[None] * (3 - len(before.inputs)), gamma, beta]
    return [*fixed, apply(F._plan_conv_batch_norm, inputs, {**before.attrs, "eps": attrs["eps"]}, before.outputs[0])]


@tell(F.BatchNorm, "affine")
def _batch_norm_affine(node: Node, do: Callable[..., Any]) -> tuple[Value, Value] | None:
    """In prediction: gamma rstd, and what it does to the mean, which a bias is to be taken from first."""
    attrs = node.attrs
    data, gamma, beta, mean, var = node.inputs
    if (attrs["training"] and not attrs["use_global_stats"]) or attrs["axis"] % len(data.shape) != 1:
        return None
    if attrs["fix_gamma"]:
        do(F._plan_ones_, gamma).source.early = True
    scale = do(F.rsqrt, do(F._plus_scalar, var, scalar=attrs["eps"]))
    if not attrs["fix_gamma"]:
        scale = do(F.broadcast_mul, scale, gamma)
    return scale, do(F.broadcast_sub, beta, do(F.broadcast_mul, mean, scale))

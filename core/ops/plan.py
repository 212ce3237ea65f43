"""Operators that the passes of the graph compiler put into graphs; no face shows them."""

from math import prod
from typing import Annotated

from core import kernels
from core.extents import hints
from core.kernels.epilogue import ACTIVATIONS
from core.kernels.rnn_parameters import GATES
from core.ops.attributes import Any_, Bool, Choice, Float, Int, Optional, Shape
from core.ops.registry import F, operator, tell

Ending = Annotated[str | None, Optional(Choice(*filter(None, ACTIVATIONS)))]


@operator("_plan_ones_", mutates=("gamma",))
def _ones_(gamma):
    """Sets gamma to 1, as batch normalisation with fix_gamma does to its parameter."""
    kernels.shape.fill_(gamma.data, 1)  # as in core.ops.norm
    return gamma


@operator("_plan_conv", memory="new")
def _conv(
    data,
    weight,
    bias=None,
    residual=None,
    *,
    stride: Shape,
    dilate: Shape,
    pad: Shape,
    groups: Int,
    activation: Ending = None,
):
    """activation(`_conv` + residual); the weight may be packed."""
    return kernels.conv.conv(data, weight, bias, stride, dilate, pad, groups, activation, residual)


@operator("_plan_conv_weight")
def _conv_weight(weight, *, shape: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: Int, exact: Bool):
    """The weight of a convolution, packed for data of `shape`."""
    return kernels.conv.pack(weight, shape, stride, dilate, pad, groups, exact)


@operator("_plan_code_conv_weight")
def _code_conv_weight(weight, *, shape: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: Int, signed: Bool):
    """The weight of `_code_conv`, packed for codes of `shape`."""
    return kernels.conv.pack_quantized(weight, shape, stride, dilate, pad, groups, signed)


@operator("_plan_linear", memory="new")
def _linear(data, weight, bias=None, residual=None, *, activation: Ending = None):
    """activation(data weight^T + bias + residual) along the last axis; the weight may be packed."""
    return kernels.matmul.linear(data, weight, bias, activation, residual)


@operator("_plan_linear_weight")
def _linear_weight(weight, *, rows: Int):
    """The weight of a linear layer, packed for data of so many rows."""
    return kernels.matmul.pack(weight, rows)


@operator("_plan_rnn", train=True, rng=True, reserves=True, memory="new", draws=lambda attrs: bool(attrs["p"]))
def _recurrent(
    data, state, state_cell, *parameters, state_size: Int, num_layers: Int, mode: Annotated[str, Choice(*GATES)], bidirectional: Bool,
    p: Float, training, key,
):  # fmt: skip
    """`_rnn` with the parts of its parameters, each a vector."""
    y, hn, cn, reserve = kernels.rnn.rnn(
        data, parameters, state, state_cell, mode, state_size, num_layers, bidirectional, p, key, training
    )
    return ((y, hn) if cn is None else (y, hn, cn)), reserve


@operator("_plan_rnn_grad", memory="new", draws=lambda attrs: bool(attrs["p"]))
def _recurrent_grad(
    head, head_state, head_cell, data, state, state_cell, out, *parameters, reserve, state_size: Int, num_layers: Int,
    mode: Annotated[str, Choice(*GATES)], bidirectional: Bool, p: Float, key,
):  # fmt: skip
    """Gradients of `_plan_rnn` in data, states and the parts of the parameters."""
    dx, dparameters, dh0, dc0 = kernels.rnn.rnn_grad(
        head, head_state, head_cell, data, parameters, state, state_cell, out, reserve, mode, state_size, num_layers,
        bidirectional, p, key, True,
    )  # fmt: skip
    return (dx, dh0, *(() if dc0 is None else (dc0,)), *dparameters)


@operator("_plan_rows", outputs=lambda attrs: len(attrs["program"].results), memory="new")
def _rows(*data, program: Any_):
    """The results of a row program of the data."""
    return kernels.pointwise.pointwise_rows(program, data)


# ---------------------------------------------------------------------------------------------- products


@tell(F._conv, "product")
def _conv_product(node, apply):
    return [apply(F._plan_conv, node.inputs, {**node.attrs, "activation": None}, node.inputs[0])]


@tell(F.FullyConnected, "product")
def _linear_product(node, apply):
    data, weight, *bias = node.inputs
    bias = None if node.attrs["no_bias"] or not bias else bias[0]
    before = []
    if node.attrs["flatten"] and len(data.shape) != 2:
        shape = F._reshape_to.parse({"shape": (data.shape[0], weight.shape[1])})
        before.append(apply(F._reshape_to, [data], shape, data))
        data = before[0].outputs[0]
    return [*before, apply(F._plan_linear, [data, weight, bias], {"activation": None}, data)]


@tell(F._plan_conv, "packing")
def _conv_packing(node, exact):
    how = {name: node.attrs[name] for name in ("stride", "dilate", "pad", "groups")}
    return F._plan_conv_weight, {"shape": hints(node.inputs[0].shape), **how, "exact": exact}


@tell(F._code_conv, "packing")
def _code_conv_packing(node, exact):
    data, how = node.inputs[0], {name: node.attrs[name] for name in ("stride", "dilate", "pad", "groups")}
    return F._plan_code_conv_weight, {"shape": hints(data.shape), **how, "signed": data.dtype == "int8"}


@tell(F._plan_linear, "packing")
def _linear_packing(node, exact):
    return F._plan_linear_weight, {"rows": prod(hints(node.inputs[0].shape[:-1]))}


@tell(F.BatchNorm, "affine")
def _batch_norm_affine(node, do):
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

"""Operators that the passes of the graph compiler put into graphs; no face shows them."""

from typing import Annotated

from core import kernels
from core.kernels.epilogue import ACTIVATIONS
from core.kernels.rnn_parameters import GATES
from core.ops.attributes import Any_, Bool, Choice, Float, Int, Optional, Shape
from core.ops.registry import operator

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


@operator("_plan_rnn", train=True, rng=True, reserves=True, memory="new")
def _recurrent(
    data, state, state_cell, *parameters, state_size: Int, num_layers: Int, mode: Annotated[str, Choice(*GATES)], bidirectional: Bool,
    p: Float, training, key,
):  # fmt: skip
    """`_rnn` with the parts of its parameters, each a vector."""
    y, hn, cn, reserve = kernels.rnn.rnn(
        data, parameters, state, state_cell, mode, state_size, num_layers, bidirectional, p, key, training
    )
    return ((y, hn) if cn is None else (y, hn, cn)), reserve


@operator("_plan_rnn_grad", memory="new")
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

"""Loops and branches in graphs: the entries that hold subgraphs. `core.symbol.control_flow` makes and runs them."""

from __future__ import annotations

from typing import NoReturn

from core.base import MXNetError
from core.ops.attributes import Int, Shape
from core.ops.registry import operator
from core.ops.values import Attrs, Tensor


def _outputs(attrs: Attrs) -> int:
    return attrs["num_outputs"]


def _refuse(name: str) -> NoReturn:
    raise MXNetError(f"{name} is part of a graph: call contrib.{name.lstrip('_')} with functions instead")


@operator("_foreach", outputs=_outputs, subgraphs=1)
def foreach(
    *data: Tensor, num_outputs: Int, num_out_data: Int, in_state_locs: Shape = (), in_data_locs: Shape = (),
    remain_locs: Shape = (),
) -> Tensor:  # fmt: skip
    """Runs a subgraph over axis 0 of some inputs, with states; the `locs` are positions in the subgraph's inputs."""
    _refuse("_foreach")


@operator("_while_loop", outputs=_outputs, subgraphs=2)
def while_loop(
    *data: Tensor, num_outputs: Int, num_out_data: Int, max_iterations: Int, cond_input_locs: Shape = (),
    func_input_locs: Shape = (), func_var_locs: Shape = (),
) -> Tensor:  # fmt: skip
    """Runs a subgraph while another one gives true; the `locs` are positions among the inputs of the node."""
    _refuse("_while_loop")


@operator("_cond", outputs=_outputs, subgraphs=3)
def cond(
    *data: Tensor, num_outputs: Int, cond_input_locs: Shape = (), then_input_locs: Shape = (),
    else_input_locs: Shape = (),
) -> Tensor:  # fmt: skip
    """Runs one of two subgraphs as a third one tells; the `locs` are positions among the inputs of the node."""
    _refuse("_cond")


@operator("_gradient", outputs=_outputs, subgraphs=1)
def gradient(*data: Tensor, num_outputs: Int, wrt: Shape) -> Tensor:
    """Gradients of the sum of a subgraph's outputs by some of its inputs (`core.symbol.gradient`)."""
    _refuse("_gradient")

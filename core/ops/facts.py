"""Facts about an operator, besides how it computes: what the graph compiler, symbols and arrays ask of its record.

Each is given where the operator is written, as an option of its decorator (`operator("relu", memory="new")`); what is
left out has the default that is always right, if not always fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.dtypes import HALF
from core.ops.relations import NONE, Relation
from core.ops.storage_types import DENSE, Storage
from core.ops.values import Attrs

MOVING = {"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'}  # how running statistics start


@dataclass(frozen=True)
class Target:
    """The attribute that tells the shape of the result.

    keeps: the number in it that stands for the input's extent.
    """

    attribute: str
    keeps: int | None = 0


@dataclass(frozen=True)
class Quantized:
    """What a network on 8-bit integers has in an operator's place (`core.contrib.quantizer`).

    operator: the one that does the same on them; of a layer with weights also what it takes behind it, in order, by the
    parts that others are ("normalization", "sum", "rectifier", "limit"). gives: "quantized", "numbers", or, for numbers from
    numbers, "rounded". when: the attributes that it does so under.
    """

    operator: str = ""
    takes: tuple[str, ...] = ()
    part: str = ""
    gives: str = "quantized"
    when: Callable[[Attrs], bool] = lambda attrs: True


@dataclass(eq=False, repr=False, kw_only=True)
class Facts:
    """Inputs:

    real: the first input is of floating point alone; of whole numbers the results would be cut off. when: optional
    inputs that the operator has under one value of an attribute, as input -> (attribute, value). initial: how a variable
    starts that is made for an input, as MXNet's files write it. input_dtypes: of variables for inputs whose dtype is not
    that of the first one; a name, or a function of the attributes and of that dtype. appends: inputs that an operator of
    any number of them has behind one array, under some attributes. unnamed: MXNet's monitors number the inputs. words:
    what functions of npx call inputs, too.

    Results:

    memory: "new" where no result ever lies in the memory of an input; "unknown" (a view, a copy, or the input itself, as
    attributes and strides have it) is safe for any operator. shape: how the shapes of inputs and results hang together,
    as far as that is told (`core.ops.relations`). index: the attribute that is a basic index, of which the result is the
    part, also where the user writes to it. target: the attribute that tells the shape of the result. dtype: of the
    result, where neither an attribute nor the first input has it. storage: what becomes of sparse arrays
    (`core.ops.storage_types`). row_gradient: whether the gradient of the second input is stored by rows, from the storage
    types of the inputs and the attributes. on_stored: rule(inputs, attrs) -> the result of sparse arrays from what they
    store, or None where their dense values are to be taken (`core.ndarray.stored`). fills: the number that all elements are, or the attribute that tells it.
    names: of the outputs, by default "output", with numbers where there are several; numbered: also where a single one is
    shown, as in MXNet, which hides others (or a function of the attributes).

    For the graph compiler, whose nodes (`core.graph.ir.Node`) the rules get:

    identity: the result has the first input's values, if it has its dtype. reshapes: the result has the first input's
    elements in another shape. permutes: rule(attributes, number of axes) -> the order of the first input's axes in the
    result, or None. joins: the attribute that names the axis along which the inputs lie one behind the other in
    the result. constant: what the operator makes from the shapes of its inputs alone, as the name and the
    attributes of an operator without inputs, from the attributes. draws: whether a random operator reads its key under
    these attributes. rows: how it goes by rows (`core.ops.rows`). expansion: rule(node, apply) -> nodes that do the same
    and fuse. product: rule(node, apply) -> nodes, of which the last is a product that takes an epilogue. packing:
    rule(node, exact) -> (operator that packs the second input, a weight; its attributes). absorption: rule(node, do,
    counts) -> the value of one node that does what this one and nodes before it do, of which nobody else reads anything,
    or None (`core.graph.passes.absorption`). follows: rule(node, before, apply) -> nodes that do what this one and the
    one right before it do, of which the last gives the results of both in order, or None
    (`core.graph.passes.statistics`). channelwise: the rows of its
    weight, the second input, make the positions of axis 1 of the result, to which the third is added. affine: of a
    normalisation, rule(node, do) -> (scale, shift) along axis 1, or None. slides: its attributes stride, dilate and pad
    lay the second input, a weight (O, C, *kernel), over the first one; its `residual` has the places of the result.
    in_parts: the operator that takes the second input, which is flat, in the parts that it is made of.

    For graphs of symbols: subgraphs: how many a node holds, of loops and branches, and control: what it does with them
    (`core.symbol.control_flow`, which puts it there). precision: a conversion of mixed precision, which changes no more
    than dtypes. layer: the kind of layer that pictures show, and label: what they say of it, from the attributes.
    quantized: what quantized networks have in its place; calibrated: whether it is told the range of the "values" that it
    turns into quantized values, or of its "results".
    """

    real: bool = False
    when: Mapping[str, tuple[str, object]] = field(default_factory=dict)
    initial: Mapping[str, str] = field(default_factory=dict)
    input_dtypes: Mapping[str, str | Callable[[Attrs, str], str]] = field(default_factory=dict)
    appends: Callable[[Attrs], Sequence[str]] = lambda attrs: ()
    unnamed: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    indexes: Mapping[str, Callable[[Attrs, Attrs], int]] = field(default_factory=dict)
    memory: Literal["new", "unknown"] = "unknown"
    shape: Relation = NONE
    index: str | None = None
    target: Target | None = None
    dtype: str | None = None
    storage: Storage = DENSE
    row_gradient: Callable[[Sequence[str | None], Attrs], bool] = lambda stypes, attrs: False
    on_stored: Callable[[Sequence[Any], Attrs], Any] | None = None
    fills: float | str | None = None
    names: Sequence[str] = ()
    numbered: bool | Callable[[Attrs], bool] = False
    identity: bool = False
    reshapes: bool = False
    permutes: Callable[[Attrs, int], Sequence[int] | None] | None = None
    joins: str | None = None
    constant: Callable[[Attrs], tuple[str, Attrs]] | None = None
    draws: Callable[[Attrs], bool] = lambda attrs: True
    rows: Any = None
    expansion: Callable[..., list[Any]] | None = None
    product: Callable[..., list[Any]] | None = None
    packing: Callable[..., tuple[Any, ...]] | None = None
    absorption: Callable[..., Any] | None = None
    follows: Callable[..., list[Any] | None] | None = None
    channelwise: bool = False
    affine: Callable[..., tuple[Any, ...] | None] | None = None
    slides: bool = False
    in_parts: str | None = None
    subgraphs: int = 0
    control: Any = None
    precision: bool = False
    layer: str = ""
    label: Callable[[Attrs], str] | None = None
    quantized: Quantized = Quantized()
    calibrated: str = ""

    def output_name(self, k: int, count: int, attrs: dict[str, Any]) -> str:
        """What is put behind the name of a node for output `k` of the `count` that it shows."""
        if self.names:
            return self.names[k]
        numbered = self.numbered(attrs) if callable(self.numbered) else self.numbered
        return f"output{k}" if numbered or count > 1 else "output"

    def input_dtype(self, name: str, attrs: dict[str, Any], first: str) -> str:
        """The dtype of a variable for the input `name` where the first input that has one is of dtype `first`."""
        found = self.input_dtypes.get(name, first)
        return found(attrs, first) if callable(found) else found


def not_half(attrs: dict[str, Any], first: str) -> str:
    """The dtype of parameters that stay in float32 beside data in half precision."""
    return "float32" if first in HALF else first

"""The table of conversions: what each operator is in ONNX, and the builder that conversions write to."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import numpy as np

from core.base import MXNetError
from core.extents import Extent, Rounded, same

OPSET = 17  # what is written unless an operator needs a later one
LATEST = 19
CONVERSIONS: dict[str, Callable] = {}
NEEDED: dict[str, int] = {}  # opsets of the operators that need a later one
# Expressions over other operators, which are converted in their place.
EXPRESSIONS = frozenset(
    "Activation amp_cast clip L2Normalization log_softmax SequenceLast SequenceMask SoftmaxActivation softmax softmin where "
    "_contrib_BatchNormWithReLU _contrib_SyncBatchNorm _contrib_div_sqrt_dim _linalg_gemm2 _npi_matmul "
    "_contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt "
    "_contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt".split()
)

Name = str  # of a tensor in the ONNX graph
Extents = tuple[int | None, ...]  # None: differs from call to call
Lengths = tuple[int | Extent, ...]  # the same, with what it follows from


def converts(*operators: str, opset: int = OPSET) -> Callable[[Callable], Callable]:
    """Decorates the conversion of operators: `function(g, a, *inputs)` gets the builder, the attributes and the names
    of the inputs (None where an optional one is missing), adds nodes, and gives the name of its output or a list.

    opset: the first one that holds what the conversion adds.
    """

    def enter(function):
        for name in operators:
            if name in CONVERSIONS:
                raise ValueError(f"{name} has a conversion already")
            CONVERSIONS[name] = function
            if opset > OPSET:
                NEEDED[name] = opset
        return function

    return enter


def enter(rows: dict[str, Callable]) -> None:
    """Enters conversions that are one expression each, as `converts` does; operators that share one by their names."""
    for operators, function in rows.items():
        converts(*operators.split())(function)


class Builder:
    """Nodes and constants of an ONNX graph in the making."""

    def __init__(self, onnx, opset: int = OPSET):
        self.onnx, self.opset = onnx, opset
        self.nodes: list = []
        self.values: dict[Name, np.ndarray] = {}  # constants, whether used or not
        self.known: dict[Name, tuple[Extents, str]] = {}
        self.used: set[Name] = set()
        self._taken: set[Name] = set()
        self.operator, self.hint = "", ""  # of the node that is converted, and what tensors are called after it
        self.outputs: list[tuple[Extents, str]] = []  # what it gives
        self.lengths: dict[Name, Lengths] = {}  # shapes of tensors of the original graph
        self.output_lengths: Lengths | None = None  # of the node's first output
        self.sources: dict[Extent, tuple[Name, int]] = {}  # (input, axis) of the lengths that are dynamic
        # Constants of first states whose batch is not known, which have one row, which broadcasts: the
        # shapes that they stand for.
        self.rows: dict[Name, Lengths] = {}

    # ------------------------------------------------------------------ what conversions ask

    @property
    def where(self) -> str:
        """The node that is converted, for messages."""
        return f"{self.operator} {self.hint!r}"

    def shape(self, name: Name) -> Extents:
        """The extents of a tensor of the original graph."""
        if name in self.values:
            return self.values[name].shape
        if name not in self.known:
            raise self.refuse("its shape is not known")
        return self.known[name][0]

    def rank(self, name: Name) -> int:
        """The number of axes of a tensor of the original graph."""
        return len(self.shape(name))

    def extent(self, name: Name, axis: int) -> int:
        """An extent that must not change from call to call."""
        value = self.shape(name)[axis]
        if value is None:
            raise self.refuse(f"axis {axis} of its input is dynamic, but its conversion needs a fixed extent")
        return value

    def dtype(self, name: Name) -> str:
        """The dtype of a tensor of the original graph."""
        return self.values[name].dtype.name if name in self.values else self.known[name][1]

    def lengths_of(self, name: Name) -> Lengths:
        """The shape of a tensor of the original graph, with what its dynamic extents follow from."""
        if name in self.rows:
            return self.rows[name]
        return self.values[name].shape if name in self.values else self.lengths[name]

    def described(self, name: Name) -> tuple[Lengths, str]:
        """(shape, dtype) of a tensor of the original graph."""
        return self.lengths_of(name), self.dtype(name)

    def value(self, name: Name, what: str) -> np.ndarray:
        """The value of a tensor that must be constant."""
        if name not in self.values:
            raise self.refuse(f"{what} must be constant, that is, follow from parameters alone")
        return self.values[name]

    def refuse(self, why: str) -> MXNetError:
        """The error for a node that has no form in ONNX."""
        return MXNetError(f"cannot convert {self.where} to ONNX: {why}")

    # ------------------------------------------------------------------ what conversions do

    def add(self, kind: str, *inputs, outputs: int | None = None, **attrs):
        """A node; inputs are names, None (left out) or arrays and numbers (constants).

        The name of its output, or a list of so many.
        """
        names = ["" if x is None else x if isinstance(x, str) else self.constant(x) for x in inputs]
        while names and not names[-1]:
            names.pop()
        self.used.update(names)
        made = [self.fresh(self.hint or kind) for _ in range(outputs or 1)]
        attrs = {key: value for key, value in attrs.items() if value is not None}
        self.nodes.append(self.onnx.helper.make_node(kind, names, made, name=made[0], **attrs))
        return made[0] if outputs is None else made

    def reduce(self, kind: str, data: Name, axes, keepdims: bool = False) -> Name:
        """A reduction over axes, which are an input of ReduceSum since opset 13 and of the others since 18."""
        if kind == "ReduceSum" or self.opset >= 18:
            return self.add(kind, data, ints(*axes), keepdims=int(keepdims))
        return self.add(kind, data, axes=list(axes), keepdims=int(keepdims))

    def split(self, data: Name, parts: int, axis: int) -> list[Name]:
        """Equal parts of an axis, whose number is an attribute since opset 18."""
        attrs = {"num_outputs": parts} if self.opset >= 18 else {}
        return self.add("Split", data, outputs=parts, axis=axis, **attrs)

    def constant(self, value, dtype: str | None = None, name: str = "constant") -> Name:
        """The name of a constant."""
        array = np.asarray(value, dtype)
        if dtype is None and array.dtype == np.float64 and not isinstance(value, np.ndarray):
            array = array.astype(np.float32)
        for other, held in self.values.items():  # small constants are shared
            if array.size <= 8 and held.dtype == array.dtype and held.shape == array.shape and (held == array).all():
                if other.startswith("constant"):
                    return other
        name = self.fresh(name)
        self.values[name] = array
        return name

    def like(self, number, dtype: str) -> Name:
        """A number as a constant of a dtype."""
        return self.constant(np.asarray(number, dtype))

    def cast(self, name: Name, dtype: str, before: str | None = None) -> Name:
        """The tensor in another dtype; itself where it has it."""
        if (before or self.dtype(name)) == dtype:
            return name
        return self.add("Cast", name, to=self.code(dtype))

    def truth(self, name: Name, before: str | None = None) -> Name:
        """Whether elements of the tensor are not zero; itself where it holds truth values."""
        dtype = before or self.dtype(name)
        return name if dtype == "bool" else self.add("Not", self.add("Equal", name, self.like(0, dtype)))

    def code(self, dtype: str) -> int:
        """ONNX's number of a dtype."""
        if dtype == "bfloat16":
            return self.onnx.TensorProto.BFLOAT16
        return self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def whole(self, name: Name) -> Name:
        """The tensor with all rows, where it is a first state that has one for all."""
        if name not in self.rows:
            return name
        shape, dtype = self.described(name)
        made = self.add("Expand", name, self.extents(shape))
        self.know(made, shape, dtype)
        return made

    def extents(self, shape: Sequence[int | Extent]):
        """A shape as an array, or as the name of a tensor where some of it follows from the inputs."""
        if all(type(n) is int for n in shape):
            return ints(*shape)
        return self.add("Concat", *(self._extent(n) for n in shape), axis=0)

    def _extent(self, n: int | Extent):
        """A length as an array of one number, computed from the inputs' lengths where it is dynamic."""
        if type(n) is int:
            return ints(n)
        if n in self.sources:
            name, axis = self.sources[n]
            return self.add("Shape", name, start=axis, end=axis + 1)
        total = None
        for monomial, count in n.terms.items():
            product = ints(count)
            for k, atom in enumerate(monomial):
                factor = self._rounded(atom) if type(atom) is Rounded else self._extent(atom.extent)
                product = factor if k == 0 and count == 1 else self.add("Mul", product, factor)
            total = product if total is None else self.add("Add", total, product)
        return total

    def _rounded(self, atom: Rounded) -> Name:
        if len(atom.of) != 2:
            raise self.refuse(f"a dynamic extent of its result, {atom.text}, is no whole number of others")
        return self.add("Div", *map(self._extent, atom.of))

    @contextlib.contextmanager
    def inner(self):
        """While it is entered, nodes are added to an inner graph, a `Body`.

        Constants are those of the whole network.
        """
        outside, self.nodes = self.nodes, []
        try:
            yield Body(self)
        finally:
            self.nodes = outside

    def know(self, name: Name, shape: Lengths, dtype: str) -> None:
        """Notes shape and dtype of a tensor."""
        self.known[name], self.lengths[name] = (shown(shape), dtype), shape

    def as_result(self, name: Name, before: Lengths = ()) -> Name:
        """The tensor, whose shape is `before` where that is told, in the shape of what the node gives."""
        return self.reshaped(name, before, self.output_lengths)

    def reshaped(self, name: Name, before: Lengths, after: Lengths) -> Name:
        """The tensor in another shape; `before`: its shape, as far as that is known."""
        if len(before) == len(after) and all(map(same, before, after)):
            return name
        kept = [type(n) is not int and k < len(before) and same(n, before[k]) for k, n in enumerate(after)]
        target: list = [0 if known else n for n, known in zip(after, kept)]  # 0: as it is there
        dynamic = [k for k, n in enumerate(target) if type(n) is not int]
        if dynamic:  # -1: what is left, rather an extent that no input has, which had to be computed
            target[min(dynamic, key=lambda k: target[k] in self.sources)] = -1
        return self.add("Reshape", name, self.extents(target))

    def fresh(self, hint: str) -> Name:
        """A name that no tensor has."""
        name, count = hint, 0
        while name in self._taken:
            count += 1
            name = f"{hint}_{count}"
        self._taken.add(name)
        return name


class Body:
    """An inner graph in the making: what it takes and gives."""

    def __init__(self, builder: Builder):
        self.builder, self.inputs = builder, []

    def take(self, like: Name, shape: Lengths, dtype: str) -> Name:
        """A new input, named like another tensor, of these shapes."""
        name = self.builder.fresh(like)
        self.builder.know(name, shape, dtype)
        self.inputs.append(self._info(name))
        return name

    def graph(self, outputs: list[Name]):
        """The graph that gives these tensors."""
        g, made = self.builder, []
        for name in outputs:
            described = g.described(name)
            made.append(g.add("Identity", name))
            g.know(made[-1], *described)
        return g.onnx.helper.make_graph(g.nodes, g.fresh(f"{g.hint}_body"), self.inputs, [self._info(n) for n in made])

    def _info(self, name: Name):
        shape, dtype = self.builder.known[name]
        return self.builder.onnx.helper.make_tensor_value_info(name, self.builder.code(dtype), shape)


def shown(shape: Lengths) -> Extents:
    """A shape with None for what differs from call to call."""
    return tuple(n if type(n) is int else None for n in shape)


def axes_of(axis, rank: int) -> list[int]:
    """Axes as non-negative ints; None is all of them."""
    if axis is None or axis == ():
        return list(range(rank))
    return [a % rank for a in ((axis,) if isinstance(axis, int) else axis)]


def ints(*values: int) -> np.ndarray:
    """A constant of shapes, axes or positions: int64, as ONNX takes them."""
    return np.array(values, np.int64)

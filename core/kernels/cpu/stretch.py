"""Stretches of plans as lists of oneDNN's primitives, executed one after the other with nothing in between.

A recorder is shown calls of kernels, one by one, and says which it takes. Those that it took become one program: made
primitives over planned memory, activations channels-last, weights in the order that each primitive likes best. What an
execution writes to lies in an arena, so that threads may run a program at the same time; programs share arenas.
"""

from __future__ import annotations

import ctypes
import inspect
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from core.kernels.arena import placed
from core.kernels.cpu import _winograd, onednn
from core.kernels.cpu._lengths import additive_mask, seen
from core.kernels.cpu._onednn import multiplies_half, multiplies_quantized
from core.kernels.cpu.onednn import Layout, Memory, Primitive, Unimplemented
from core.kernels.formula import Expr, Formula
from core.kernels.layout import CHANNELS_LAST

SCORES = 2**23  # bytes of the scores up to which an attention is taken; beyond, ATen's flash kernel is as fast
Ints = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]
_ALIGNED = 64  # bytes: where values begin in an arena


class Data:
    """A value that primitives read or make. tensor: one that lies as it does, without memory; key: whose it is, of what
    comes from outside, and taken: what becomes of that before an execution; memory: the value in whose memory it lies,
    itself where that is its own; blocked: an image's channels lie in blocks, so that some of them are a piece of memory.
    """

    def __init__(
        self, tensor: Tensor, key: Hashable = None, memory: Data | None = None,
        taken: Callable[[Tensor], Tensor] | None = None, blocked: bool = False,
    ):  # fmt: skip
        self.tensor, self.key, self.taken, self.blocked = tensor, key, taken or _channels_last, blocked
        self._derived: dict[Hashable, Data] = {}
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype
        self.nbytes = tensor.nbytes
        self._within, self._shift = memory, 0

    @property
    def memory(self) -> Data:
        """The value in whose memory this one lies."""
        return self if self._within is None else self._within.memory

    @property
    def offset(self) -> int:
        """Bytes of that memory before the first element."""
        return self.tensor.storage_offset() * self.tensor.itemsize + self._shifted

    @property
    def _shifted(self) -> int:
        return self._shift + (0 if self._within is None else self._within._shifted)

    def place(self, memory: Data, offset: int) -> None:
        """Lets it lie in the memory of another value, which becomes as large as that takes."""
        self._within, self._shift = memory, offset
        memory.nbytes = max(memory.nbytes, offset + self.nbytes)

    def derived(self, function: Callable[..., Tensor], *how: int) -> Data:
        """`function(tensor, *how)` of a value from outside."""
        if (function, how) not in self._derived:
            meta = function(self.tensor, *how)
            self._derived[function, how] = Data(meta, self.key, taken=lambda x: function(x, *how))
        return self._derived[function, how]

    def layout(self, *shape: int, dtype: torch.dtype | None = None) -> Layout:
        """How it lies; `shape` and `dtype` instead of its own, for the same elements in the same order."""
        if self.blocked:
            _need(shape in ((), self.shape))
            return Layout(self.shape, None, dtype or self.dtype, blocked=True)
        if not shape:
            return Layout(self.shape, self.tensor.stride(), dtype or self.dtype)
        try:
            found = self.tensor.view(shape)
        except RuntimeError as error:
            raise Unimplemented("these elements do not lie in one order") from error
        dense = found.is_contiguous(memory_format=CHANNELS_LAST.get(len(shape), torch.contiguous_format))
        return Layout(shape, strides(shape) if dense else found.stride(), dtype or self.dtype)


@dataclass(eq=False)
class Parameter:
    """A tensor that stays the same from call to call. key: whose; tensor: one like it, without memory; packed: what
    brings it into a primitive's order, None where it is taken as it lies; number: that of a tensor of one element,
    where it is known and will not change.
    """

    key: Hashable
    tensor: Tensor
    packed: Callable[[Tensor], Tensor] | None = None
    number: float | None = None


class Packed:
    """Brings a weight into the layout of a primitive: an opaque vector of bytes."""

    def __init__(self, layout: Layout, shape: Ints):
        self.layout, self.shape = layout, shape

    def __call__(self, w: Tensor) -> Tensor:
        if w.is_meta:
            return torch.empty(self.layout.nbytes, dtype=torch.uint8, device="meta")
        return onednn.reorder(w.reshape(self.shape), self.layout)


def wide(parameter: Tensor) -> Tensor:
    """In float32, as normalisations take their parameters."""
    return parameter.float()


Given = tuple[int, Layout, Data | Parameter]


@dataclass(eq=False)
class Call:
    """A primitive, and its arguments: which, in what layout, whose. title: for people; ended: the same call with an
    activation behind it, where it takes one.
    """

    title: str
    primitive: Primitive
    arguments: list[Given]
    ended: Callable[[str], Call] | None = None


class Recorder:
    """Takes calls of kernels for which oneDNN has fast primitives. work: multiplications of the products among them."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.work = 0

    def take(
        self, kernel: str, args: Sequence[Any], kwargs: dict[str, Any], shape: Ints, overwrite: bool, alone: bool
    ) -> Data | None:
        """What the call of a kernel gives, which has this shape; None where the call is not taken. overwrite: whether
        that may lie in the memory of what a kernel can `overwrite`; alone: whether nobody else reads its first operand.
        """
        if kernel not in TAKEN:
            return None
        if alone and (ended := self._ended(kernel, args)) is not None:
            return ended
        given = inspect.signature(TAKEN[kernel]).bind(shape, *args, **kwargs).arguments
        if overwrite:
            given["overwrite"] = True
        try:
            calls, made, work = TAKEN[kernel](**given)
        except Unimplemented:
            return None
        self.calls += calls
        self.work += work
        return made

    def data(self, key: Hashable, tensor: Tensor) -> Data:
        """What comes from outside. tensor: one like it, without memory."""
        return _data(tuple(tensor.shape), tensor.dtype, key)

    def parameter(self, key: Hashable, tensor: Tensor, number: float | None = None) -> Parameter:
        """What stays the same from call to call, the number of a single element if it is known."""
        return Parameter(key, tensor, number=number)

    def view(self, x: Data, function: Callable[[Tensor], Tensor]) -> Data | None:
        """The elements of what a call made as `function` shows them; None where they do not lie so that it can."""
        if x.memory.key is not None or x.blocked:
            return None
        try:
            return Data(function(x.tensor), memory=x)
        except RuntimeError:
            return None

    def cast(self, x: Data, dtype: torch.dtype) -> Data | None:
        """Integers of eight bits as numbers; None for other types."""
        if x.dtype not in (torch.int8, torch.uint8) or dtype is not torch.float32:
            return None
        made = _data(x.shape, dtype)
        self.calls.append(_copied("cast", x, made, dtype))
        return made

    def _ended(self, kernel: str, args: Sequence[Any]) -> Data | None:
        """The result of the last call, of which an activation is taken, with that behind it."""
        if kernel != "pointwise.pointwise" or not self.calls or (again := self.calls[-1].ended) is None:
            return None
        formula, operands, *_ = args
        made = self.calls[-1].arguments[-1][2]
        if formula.name not in onednn.ACTIVATIONS or len(operands) != 1 or operands[0] is not made:
            return None
        self.calls[-1] = again(formula.name)
        return operands[0]

    def concat(self, parts: Sequence[Data], axis: int, shape: Ints, chain: bool) -> Data | None:
        """The channels of one image one behind the other: where calls made them they are made there, in blocks. chain:
        whether other concatenations go on from this one; None unless they do, or it goes on from another.
        """
        blocks = axis == 1 and len(shape) == 4 and shape[0] == 1
        if not blocks or any(p.dtype is not torch.float32 or p.shape[1] % onednn.BLOCK for p in parts):
            return None
        first, *rest = parts
        if first.blocked and not first.offset and first.nbytes == first.memory.nbytes:
            whole = first.memory
        elif chain:
            whole, rest = _data((1, 0, *shape[2:]), first.dtype, blocked=True), list(parts)
        else:
            return None
        for part in rest:
            if not part.blocked or part.memory is not part:
                source, part = part, _data(part.shape, part.dtype, blocked=True)
                self.calls.append(_copied("copy", source, part, part.dtype))
            part.place(whole, whole.nbytes)
        return Data(_empty(shape, first.dtype, "meta"), memory=whole, blocked=True)

    def program(self, results: Sequence[Data]) -> Program:
        """The program that gives these results."""
        found = []
        for result in results:
            found.append(_data(result.shape, result.dtype) if result.blocked else result)
            if result.blocked:
                self.calls.append(_copied("copy", result, found[-1], result.dtype))
        return Program(self.calls, found)


def recorder() -> Recorder | None:
    """A new recorder, None where there is no library."""
    return Recorder() if onednn.loaded() else None


class Program:
    """Primitives to be executed in order. Called with tensors for `inputs` and `parameters`, it gives the results, a
    single one as it is.
    """

    def __init__(self, calls: list[Call], results: Sequence[Data]):
        self.results = results
        values = [value for call in calls for _, _, value in call.arguments]
        inputs = {v.memory: None for v in values if isinstance(v, Data) and v.memory.key is not None}
        self.inputs, self.parameters = list(inputs), list(dict.fromkeys(v for v in values if isinstance(v, Parameter)))
        self._outputs = list(dict.fromkeys(r.memory for r in results))
        self._calls = calls
        self._scratch = max(call.primitive.scratchpad.nbytes for call in calls)
        self._places, self._nbytes = _placed(calls, {*self.inputs, *self._outputs}, _rounded(self._scratch))
        self._executions: list[_Execution] = []

    def __str__(self) -> str:
        counts = Counter(call.title for call in self._calls)
        return "oneDNN: " + ", ".join(f"{n} {title}" if n > 1 else title for title, n in counts.items())

    def __call__(self, *tensors: Tensor) -> Any:
        if tensors[0].is_meta:
            found = [
                torch.empty_strided(r.shape, r.tensor.stride(), dtype=r.dtype, device="meta") for r in self.results
            ]
            return found[0] if len(found) == 1 else tuple(found)
        count = len(self.inputs)
        data = [d.taken(x) for d, x in zip(self.inputs, tensors)]
        outputs = [_empty(y.shape, y.dtype, "cpu") for y in self._outputs]
        try:
            execution = self._executions.pop()
        except IndexError:
            execution = _Execution(self._calls, self._places, [*self.inputs, *self._outputs], self.parameters)
        arena = _arena(self._nbytes)
        execution.run(arena, [*data, *outputs], tensors[count:])
        _ARENAS.append(arena)
        self._executions.append(execution)
        by_memory = dict(zip(self._outputs, outputs, strict=True))
        found = [
            by_memory[r.memory].as_strided(r.shape, r.tensor.stride(), r.tensor.storage_offset()) for r in self.results
        ]
        if len(found) == 1:
            return found[0]
        again = [k for k, r in enumerate(self.results) if r.memory in [s.memory for s in self.results[:k]]]
        return tuple(y.clone() if k in again else y for k, y in enumerate(found))


class _Execution:
    """oneDNN's memory objects for one execution at a time."""

    def __init__(
        self, calls: list[Call], places: dict[Data, int], outside: list[Data], parameters: list[Parameter]
    ):  # fmt: skip
        self._inside: list[tuple[Memory, int]] = []  # and where it begins in the arena
        self._outside: list[list[tuple[Memory, int]]] = [[] for _ in outside]
        self._parameters: list[list[tuple[Memory, int]]] = [[] for _ in parameters]
        self._arena = self._tensors = None
        numbers: dict[Any, list[tuple[Memory, int]]] = dict(zip(outside, self._outside, strict=True))
        numbers.update(zip(parameters, self._parameters, strict=True))
        where = onednn.stream().address
        self._arguments, self._calls = [], []
        for call in calls:
            given = []
            for which, layout, value in call.arguments:
                memory = Memory(layout)
                owner, offset = (value.memory, value.offset) if isinstance(value, Data) else (value, 0)
                if owner in numbers:
                    numbers[owner].append((memory, offset))
                else:
                    self._inside.append((memory, places[owner] + offset))
                given.append(onednn.Argument(which, memory.address))
            if call.primitive.scratchpad.nbytes:
                memory = Memory(call.primitive.scratchpad)
                self._inside.append((memory, 0))
                given.append(onednn.Argument(onednn.SCRATCHPAD, memory.address))
            arguments = (onednn.Argument * len(given))(*given)
            self._arguments.append(arguments)
            self._calls.append((call.primitive.address, where, len(given), ctypes.addressof(arguments)))

    def run(self, arena: Tensor, outside: list[Tensor], parameters: Sequence[Tensor]) -> None:
        """Executes all, over these tensors."""
        if self._arena is not arena:
            first, self._arena = arena.data_ptr(), arena
            for memory, place in self._inside:
                memory.point(first + place)
        for memories, x in zip(self._outside, outside, strict=True):
            address = x.data_ptr()
            for memory, offset in memories:
                memory.point(address + offset)
        if self._tensors is None or any(a is not b for a, b in zip(self._tensors, parameters)):
            self._tensors = parameters
            self._kept = [p.contiguous() for p in parameters]
            for memories, p in zip(self._parameters, self._kept, strict=True):
                for memory, offset in memories:
                    memory.point(p.data_ptr() + offset)
        execute, check = onednn.executor(), onednn.check
        for primitive, where, count, arguments in self._calls:
            if status := execute(primitive, where, count, arguments):
                check("execution", status)


# ------------------------------------------------------------------------------------ the kernels that are taken


Taken = tuple[list[Call], Data, int]  # with the multiplications


def conv(
    shape: Ints, x: Data, w: Parameter, b: Parameter | None, stride: Ints, dilate: Ints, pad: Ints, groups: int,
    activation: str | None = None, residual: Data | None = None, overwrite: bool = False,
) -> Taken:  # fmt: skip
    _need(isinstance(x, Data) and isinstance(w, Parameter))
    size = tuple(w.tensor.shape)
    _need(len(size) == len(x.shape) in CHANNELS_LAST)
    _need(not _winograd.suits(w.tensor, x.shape, stride, dilate, pad, groups))
    made, ending, added = _ended(shape, x, activation, residual, overwrite, shape)
    how = stride, dilate, pad, ending
    primitive = onednn.convolution(x.layout(), _any(w, groups), _vector(b), made.layout(), *how)
    return _product("conv", primitive, x.layout(), x, w, b, groups, made.layout(), made, added)


def linear(
    shape: Ints, x: Data, w: Parameter, b: Parameter | None = None, activation: str | None = None,
    residual: Data | None = None, overwrite: bool = False,
) -> Taken:  # fmt: skip
    _need(isinstance(x, Data) and isinstance(w, Parameter) and len(x.shape) < 4)
    outputs, inputs = w.tensor.shape
    rows = math.prod(x.shape[:-1])
    made, ending, added = _ended(shape, x, activation, residual, overwrite, (rows, outputs))
    source, target = x.layout(rows, inputs), made.layout(rows, outputs)
    primitive = onednn.product(source, _any(w, 1), _vector(b), target, ending)
    return _product("linear", primitive, source, x, w, b, 1, target, made, added)


def max_pool(shape: Ints, x: Data, kernel: Ints, stride: Ints, pad: Pads, positions: bool = True) -> Taken:
    _need(not positions)
    return _pooled("max_pool", shape, x, kernel, stride, pad)


def avg_pool(shape: Ints, x: Data, kernel: Ints, stride: Ints, pad: Pads, count_include_pad: bool) -> Taken:
    _need(x.dtype in onednn.FLOATS)
    _need(all(hi <= lo < k for (lo, hi), k in zip(pad, kernel, strict=True)))
    return _pooled("avg_pool", shape, x, kernel, stride, pad, mean=True, padded=count_include_pad)


def mean(shape: Ints, x: Data, axes: Ints, keepdims: bool, dtype: torch.dtype | None = None) -> Taken:
    _need(isinstance(x, Data) and x.dtype in onednn.FLOATS and dtype in (None, x.dtype))
    _need(tuple(axes) == tuple(range(2, len(x.shape))))
    n = len(axes)
    return _pooled("mean", shape, x, x.shape[2:], (1,) * n, ((0, 0),) * n, mean=True)


def pointwise(
    shape: Ints, formula: Formula, operands: Sequence[Any], attrs: Sequence[float], dtype: torch.dtype
) -> Taken:  # fmt: skip
    """Sums and products of two values that calls made, as by squeeze-and-excitation (Hu et al., 2018)."""
    if formula.name in ("codes", "scaled_codes"):
        return codes(shape, attrs, dtype, *operands)
    if formula.name == "scaled":
        return scaled(shape, *operands)
    root = formula.root
    _need(root.op in onednn.BINARY and {a.op for a in root.args if isinstance(a, Expr)} == {"input"} and not attrs)
    _need(len(operands) == 2 and all(isinstance(a, Data) and a.memory.key is None for a in operands))
    x, other = sorted(operands, key=lambda a: a.shape != shape)
    _need(x.shape == shape and len(other.shape) == len(shape) and x.dtype is other.dtype is dtype)
    _need(not x.blocked and not other.blocked)
    made = _data(shape, dtype)
    primitive = onednn.binary(root.op, x.layout(), other.layout(), made.layout())
    arguments = [
        (onednn.SOURCE, x.layout(), x),
        (onednn.SECOND, other.layout(), other),
        (onednn.DESTINATION, made.layout(), made),
    ]
    return [Call(root.op, primitive, arguments)], made, 0


def scaled(shape: Ints, x: Data, scale: Parameter, shift: Parameter) -> Taken:
    """x * scale + shift of channels in blocks, as a convolution of each by itself."""
    _need(isinstance(x, Data) and x.blocked and isinstance(scale, Parameter) and isinstance(shift, Parameter))
    channels = shape[1]
    _need(scale.tensor.dtype is shift.tensor.dtype is x.dtype and x.shape == shape)
    _need(scale.tensor.numel() == shift.tensor.numel() == channels and scale.tensor.dim() == 3)
    made, by_itself = _data(shape, x.dtype, blocked=True), (channels, 1, 1, 1, 1)
    vector, weight = Layout((channels,), (1,), x.dtype), Layout(by_itself, None, x.dtype)

    def call(activation: str | None) -> Call:
        how = (1, 1), (1, 1), (0, 0), onednn.attributes(activation)
        primitive = onednn.convolution(x.layout(), weight, vector, made.layout(), *how)
        chosen = primitive.chosen(onednn.WEIGHTS)
        packed = Parameter(scale.key, scale.tensor, Packed(chosen, by_itself))
        arguments = [
            (onednn.SOURCE, x.layout(), x), (onednn.WEIGHTS, chosen, packed), (onednn.BIAS, vector, shift),
            (onednn.DESTINATION, made.layout(), made),
        ]  # fmt: skip
        return Call("scaled", primitive, arguments, None if activation else call)

    return [call(None)], made, 0


def requantized_conv(
    shape: Ints, x: Data, w: Parameter, b: Parameter | None, scale: Parameter, stride: Ints, dilate: Ints, pad: Ints,
    groups: int, signed: bool, residual: Data | None = None, meaning: Parameter | None = None, overwrite: bool = False,
) -> Taken:  # fmt: skip
    _need(_of_codes(x, w, scale) and len(w.tensor.shape) == len(x.shape) in CHANNELS_LAST)
    kind = torch.int8 if signed else torch.uint8
    made, own, factor, before = _data(shape, kind), kind, 1.0, []
    if residual is not None:
        _need(isinstance(residual, Data) and isinstance(meaning, Parameter) and meaning.number is not None)
        own, factor = residual.dtype, meaning.number
        if overwrite and residual.memory.key is None and residual.memory is not x.memory:
            made = Data(residual.tensor.view(kind), memory=residual)
        else:
            before = [_copied("copy", residual, made, own)]
    target = made.layout(dtype=own)  # from 0 to 127 an int8 is a uint8
    ending = onednn.attributes(
        None if own is kind else "relu", in_place=residual is not None, factor=factor,
        scaled={onednn.WEIGHTS: 1 if groups == 1 else 3},
    )  # fmt: skip
    how = stride, dilate, pad, ending
    primitive = onednn.convolution(x.layout(), _any(w, groups), _vector(b), target, *how)
    calls, made, work = _product("conv of codes", primitive, x.layout(), x, w, b, groups, target, made, scale=scale)
    return [*before, *calls], made, work


def quantized_linear(
    shape: Ints, x: Data, w: Parameter, scale: Parameter, b: Parameter | None = None, rectify: bool = False
) -> Taken:
    _need(_of_codes(x, w, scale) and len(x.shape) < 4)
    outputs, inputs = w.tensor.shape
    rows, made = math.prod(x.shape[:-1]), _data(shape, torch.float32)
    source, target = x.layout(rows, inputs), made.layout(rows, outputs)
    ending = onednn.attributes("relu" if rectify else None, scaled={onednn.WEIGHTS: int(scale.tensor.numel() > 1)})
    primitive = onednn.product(source, _any(w, 1), _vector(b), target, ending)
    return _product("linear of codes", primitive, source, x, w, b, 1, target, made, scale=scale)


def codes(shape: Ints, attrs: Sequence[float], dtype: torch.dtype, x: Data, scale: Parameter | None = None) -> Taken:
    """The integers of eight bits nearest to x * scale, all that the type has."""
    limits = torch.iinfo(dtype)
    _need(isinstance(x, Data) and x.dtype is torch.float32 and tuple(attrs[:2]) == (limits.max, limits.min))
    _need(scale is None or (isinstance(scale, Parameter) and scale.tensor.numel() == 1))
    made = _data(shape, dtype)
    return [_copied("codes", x, made, dtype, scale)], made, 0


def layer_norm(shape: Ints, x: Data, gamma: Parameter, beta: Parameter, axis: int, eps: float) -> Taken:
    _need(isinstance(x, Data) and isinstance(gamma, Parameter) and isinstance(beta, Parameter))
    _need(axis == len(shape) - 1 and x.dtype in onednn.FLOATS and math.prod(shape) > 0)
    gamma, beta = (p if p.tensor.dtype is torch.float32 else Parameter(p.key, p.tensor, wide) for p in (gamma, beta))
    made = _data(shape, x.dtype)
    rows = math.prod(shape[:-1]), shape[-1]
    source, target, vector = x.layout(*rows), made.layout(*rows), Layout(shape[-1:], (1,), torch.float32)
    arguments = [
        (onednn.SOURCE, source, x),
        (onednn.SCALE, vector, gamma),
        (onednn.SHIFT, vector, beta),
        (onednn.DESTINATION, target, made),
    ]
    return [Call("layer_norm", onednn.layer_norm(source, target, eps), arguments)], made, 0


def attention(
    shape: Ints, q: Data, k: Data, v: Data, scale: float, causal: bool, length: Data | None, dropout: float,
    key: int | None,
) -> Taken:  # fmt: skip
    """A softmax between two products. Of more scores than caches hold, ATen's flash kernel keeps none."""
    _need(all(isinstance(x, Data) and x.dtype is q.dtype for x in (q, k, v)) and q.shape[3] == v.shape[3])
    _need(q.dtype is torch.float32 or (q.dtype in onednn.FLOATS and multiplies_half(q.dtype)))
    keys, width = k.shape[2:]
    scores = Data(torch.empty((*q.shape[:3], keys), device="meta"))
    weights = scores if q.dtype is torch.float32 else Data(scores.tensor.to(q.dtype))
    _need(not causal and not dropout and scale > 0 and scores.nbytes * width > 0 and scores.nbytes <= SCORES)
    made = Data(torch.empty_like(q.tensor))
    mask = None if length is None else length.derived(additive_mask, keys)
    ending = onednn.attributes(None, mask and mask.layout(), scale=scale)
    lie, weigh, queries, values, read = (_matrices(x) for x in (scores, weights, q, v, made))
    turned = _matrices(Data(k.tensor.mT, memory=k))
    product = [(onednn.SOURCE, queries, q), (onednn.WEIGHTS, turned, k), (onednn.DESTINATION, lie, scores)]
    if mask is not None:
        product.append((onednn.ADDEND, mask.layout(), mask))
    calls = [Call("batch_dot", onednn.batch_product(queries, turned, lie, ending), product)]
    shares = [(onednn.SOURCE, lie, scores), (onednn.DESTINATION, weigh, weights)]
    calls.append(Call("softmax", onednn.softmax(lie, weigh, 3), shares))
    product = [(onednn.SOURCE, weigh, weights), (onednn.WEIGHTS, values, v), (onednn.DESTINATION, read, made)]
    calls.append(Call("batch_dot", onednn.batch_product(weigh, values, read, onednn.attributes(None)), product))
    if length is not None:
        calls.append(_where_seen(made, length))
    return calls, made, 2 * math.prod(scores.shape) * width


def _matrices(x: Data) -> Layout:
    """Of the last two axes, behind others; axes of length 1 are the outermost, where oneDNN expects them."""
    steps = [step if n > 1 else math.prod(x.shape) for n, step in zip(x.shape, x.tensor.stride(), strict=True)]
    return Layout(x.shape, steps, x.dtype)


def _where_seen(made: Data, length: Data) -> Call:
    """What samples without keys read is 0."""
    axes = sorted(range(4), key=made.tensor.stride, reverse=True)
    inner = math.prod(made.shape[a] for a in axes[axes.index(0) + 1 : 3])
    count, width = math.prod(made.shape[:3]), made.shape[3]
    rows, lies = length.derived(seen, inner, count), Layout((count, width), (width, 1), made.dtype)
    arguments = [(onednn.SOURCE, lies, made), (onednn.SECOND, rows.layout(), rows), (onednn.DESTINATION, lies, made)]
    return Call("mul", onednn.binary("mul", lies, rows.layout(), lies), arguments)


TAKEN: dict[str, Callable[..., Taken]] = {
    "attention.attention": attention,
    "conv.conv": conv,
    "conv.requantized_conv": requantized_conv,
    "matmul.linear": linear,
    "matmul.quantized_linear": quantized_linear,
    "norm.layer_norm": layer_norm,
    "pointwise.pointwise": pointwise,
    "pool.max_pool": max_pool,
    "pool.avg_pool": avg_pool,
    "reduce.mean": mean,
}


def _ended(
    shape: Ints, x: Data, activation: str | None, residual: Data | None, overwrite: bool, as_shape: Ints
) -> tuple[Data, onednn.Handle, list[Given]]:
    """The result of a product, how it ends, and the argument for what is added to it from other memory."""
    _need(x.dtype in onednn.FLOATS and math.prod(x.shape) * math.prod(shape) > 0)
    blocked = x.blocked and not shape[1] % onednn.BLOCK
    if residual is None:
        return _data(shape, x.dtype, blocked=blocked), onednn.attributes(activation), []
    _need(isinstance(residual, Data) and residual.dtype is x.dtype and residual.shape == shape)
    _need(not blocked and not residual.blocked)
    if overwrite and residual.memory.key is None and residual.memory is not x.memory:
        return Data(residual.tensor, memory=residual), onednn.attributes(activation, in_place=True), []
    lies = residual.layout(*as_shape)
    return _data(shape, x.dtype), onednn.attributes(activation, lies), [(onednn.ADDEND, lies, residual)]


def _product(
    kernel: str, primitive: Primitive, source: Layout, x: Data, w: Parameter, b: Parameter | None, groups: int,
    target: Layout, made: Data, added: Sequence[Given] = (), scale: Parameter | None = None,
) -> Taken:  # fmt: skip
    chosen = primitive.chosen(onednn.WEIGHTS)
    packed = Parameter(w.key, w.tensor, Packed(chosen, _by_groups(tuple(w.tensor.shape), groups)))
    arguments = [(onednn.SOURCE, source, x), (onednn.WEIGHTS, chosen, packed), (onednn.DESTINATION, target, made)]
    if b is not None:
        arguments.append((onednn.BIAS, _vector(b), b))
    if scale is not None:
        arguments.append(_scaled(onednn.WEIGHTS, scale))
    return [Call(kernel, primitive, [*arguments, *added])], made, math.prod(made.shape) * math.prod(w.tensor.shape[1:])


def _pooled(kernel: str, shape: Ints, x: Data, window: Ints, stride: Ints, pad: Pads, **how: bool) -> Taken:
    _need(isinstance(x, Data) and len(x.shape) in CHANNELS_LAST and x.dtype in onednn.TYPES)
    whole = *shape, *(1,) * (len(x.shape) - len(shape))
    made = _data(shape, x.dtype, blocked=x.blocked and math.prod(whole[2:]) > 1)
    target = Layout(whole, None, x.dtype, blocked=True) if x.blocked else made.layout(*whole)
    primitive = onednn.pooling(x.layout(), target, window, stride, pad, **how)
    arguments = [(onednn.SOURCE, x.layout(), x), (onednn.DESTINATION, target, made)]
    return [Call(kernel, primitive, arguments)], made, 0


def _copied(title: str, x: Data, made: Data, dtype: torch.dtype, scale: Parameter | None = None) -> Call:
    """Writes the numbers of x, times a scale, as such a type."""
    source, target = x.layout(), made.layout(dtype=dtype)
    arguments = [(onednn.SOURCE, source, x), (onednn.DESTINATION, target, made)]
    if scale is not None:
        arguments.append(_scaled(onednn.SOURCE, scale))
    return Call(title, onednn.copy(source, target, scale is not None), arguments)


def _scaled(argument: int, scale: Parameter) -> Given:
    """What the numbers of an argument stand for."""
    return onednn.SCALES | argument, Layout((scale.tensor.numel(),), (1,), torch.float32), scale


def _of_codes(x: Data, w: Parameter, scale: Parameter) -> bool:
    """Whether these are integers and what their products stand for, and the processor sums such products in 32 bits."""
    known = isinstance(x, Data) and isinstance(w, Parameter) and isinstance(scale, Parameter)
    return known and math.prod(x.shape) * w.tensor.numel() > 0 and multiplies_quantized()


def _any(w: Parameter, groups: int) -> Layout:
    return Layout(_by_groups(tuple(w.tensor.shape), groups), None, w.tensor.dtype)


def _vector(b: Parameter | None) -> Layout | None:
    if b is None:
        return None
    _need(isinstance(b, Parameter) and b.tensor.dtype in onednn.FLOATS)
    return Layout(tuple(b.tensor.shape), (1,), b.tensor.dtype)


def _by_groups(shape: Ints, groups: int) -> Ints:
    return shape if groups == 1 else (groups, shape[0] // groups, *shape[1:])


def _need(condition: bool) -> None:
    if not condition:
        raise Unimplemented("oneDNN does not take this call")


# ------------------------------------------------------------------------------------ memory


def strides(shape: Ints) -> Ints:
    """Of channels-last order; of rows for shapes without places."""
    order = [0, *range(2, len(shape)), 1] if len(shape) in CHANNELS_LAST else list(range(len(shape)))
    found, step = [0] * len(shape), 1
    for axis in reversed(order):
        found[axis], step = step, step * shape[axis]
    return tuple(found)


def _channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=CHANNELS_LAST.get(x.dim(), torch.contiguous_format))


def _empty(shape: Ints, dtype: torch.dtype, device: str) -> Tensor:
    return torch.empty_strided(shape, strides(shape), dtype=dtype, device=device)


def _data(shape: Ints, dtype: torch.dtype, key: Hashable = None, blocked: bool = False) -> Data:
    """A value in memory of its own."""
    return Data(_empty(shape, dtype, "meta"), key, blocked=blocked)


def _rounded(nbytes: int) -> int:
    return -(-nbytes // _ALIGNED) * _ALIGNED


def _placed(calls: list[Call], outside: set[Data], first: int) -> tuple[dict[Data, int], int]:
    """Where each value that calls make for one another begins in the arena, and the arena's bytes; what nobody reads
    any more is written over.
    """
    lives: dict[Data, tuple[int, int, int]] = {}
    for k, call in enumerate(calls):
        for memory in dict.fromkeys(v.memory for _, _, v in call.arguments if isinstance(v, Data)):
            if memory not in outside:
                lives[memory] = lives.get(memory, (k,))[0], k, memory.nbytes
    places, nbytes = placed(lives.values(), _ALIGNED, first)
    return dict(zip(lives, places, strict=True)), nbytes


_ARENAS: list[Tensor] = []  # that no execution is using


def _arena(nbytes: int) -> Tensor:
    """Memory for an execution; what is too small is let go."""
    while True:
        try:
            found = _ARENAS.pop()
        except IndexError:
            return onednn.aligned(nbytes)
        if found.numel() >= nbytes:
            return found

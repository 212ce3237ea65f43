"""Stretches of plans as lists of oneDNN's primitives, executed one after the other with nothing in between.

A recorder is shown calls of kernels, one by one, and says which it takes. Those that it took become one program: made
primitives over planned memory, activations channels-last, weights in the order that each primitive likes best. What an
execution writes to lies in an arena, so that threads may run a program at the same time; programs share arenas.
"""

from __future__ import annotations

import inspect
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from core.kernels.arena import placed
from core.kernels.cpu import onednn
from core.kernels.cpu._stretch_kernels import TAKEN, Taken, copied
from core.kernels.cpu._stretch_values import Call, Data, Ints, Parameter, empty, fresh
from core.kernels.cpu.onednn import Memory, Unimplemented

_ALIGNED = 64  # bytes: where values begin in an arena


class Recorder:
    """Takes calls of kernels for which oneDNN has fast primitives. work: multiplications of the products among them.

    blocks: whether images are kept in blocks of channels from the first convolution on, which is faster where all that
    read them are taken too, and convolutions by channel or joined channels are among these.
    """

    def __init__(self, blocks: bool) -> None:
        self._blocks, self._begun, self._paid = blocks, False, False
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
        found = None
        if self._blocks and kernel == "conv.conv":
            found = self._called(kernel, given | {"begins": True})
            self._begun = self._begun or found is not None
        if found is None and (found := self._called(kernel, given)) is None:
            return None
        calls, made, work = found
        self._paid = self._paid or (made.blocked and given.get("groups", 1) > 1)
        self.calls += calls
        self.work += work
        return made

    def _called(self, kernel: str, given: dict[str, Any]) -> Taken | None:
        try:
            return TAKEN[kernel](**given)
        except Unimplemented:
            return None

    def data(self, key: Hashable, tensor: Tensor) -> Data:
        """What comes from outside. tensor: one like it, without memory."""
        return fresh(tuple(tensor.shape), tensor.dtype, key)

    def parameter(self, key: Hashable, tensor: Tensor, number: float | None = None) -> Parameter:
        """What stays the same from call to call, the number of a single element if it is known."""
        return Parameter(key, tensor, number=number)

    def view(self, x: Data, function: Callable[[Tensor], Tensor]) -> Data | None:
        """The elements of what a call made as `function` shows them; None where they do not lie so that it can."""
        if x.memory.key is not None or self.lies_in_blocks(x):
            return None
        if x.blocked:
            source, x = x, fresh(x.shape, x.dtype)
            self.calls.append(copied("copy", source, x, x.dtype))
        try:
            return Data(function(x.tensor), memory=x)
        except RuntimeError:
            return None

    def cast(self, x: Data, dtype: torch.dtype) -> Data | None:
        """Integers of eight bits as numbers; None for other types."""
        if x.dtype not in (torch.int8, torch.uint8) or dtype is not torch.float32:
            return None
        made = fresh(x.shape, dtype)
        self.calls.append(copied("cast", x, made, dtype))
        return made

    def _ended(self, kernel: str, args: Sequence[Any]) -> Data | None:
        """The result of the last call, of which an activation is taken, with that behind it."""
        if kernel != "pointwise.pointwise" or not self.calls or (again := self.calls[-1].ended) is None:
            return None
        formula, operands, *_ = args
        made = self.calls[-1].arguments[-1][2]
        if formula.name not in onednn.ACTIVATIONS or len(operands) != 1 or operands[0] is not made:
            return None
        try:
            self.calls[-1] = again(formula.name)
        except Unimplemented:
            return None
        return operands[0]

    def concat(self, parts: Sequence[Data], axis: int, shape: Ints, chain: bool) -> Data | None:
        """The channels of one image one behind the other: where calls made them they are made there, in blocks. chain:
        whether other concatenations go on from this one; None unless they do, or it goes on from another.
        """
        blocks = axis == 1 and len(shape) == 4 and shape[0] == 1
        if not blocks or any(p.dtype not in onednn.FLOATS or p.shape[1] % onednn.BLOCK for p in parts):
            return None
        first, *rest = parts
        if first.blocked and not first.offset and first.nbytes == first.memory.nbytes:
            whole = first.memory
        elif chain and any(p.memory.key is None for p in parts):
            whole, rest = fresh((1, 0, *shape[2:]), first.dtype, blocked=True), list(parts)
        else:
            return None
        for part in rest:
            if not part.blocked or part.memory is not part:
                source, part = part, fresh(part.shape, part.dtype, blocked=True)
                self.calls.append(copied("copy", source, part, part.dtype))
            part.place(whole, whole.nbytes)
        self._paid = True
        return Data(empty(shape, first.dtype, "meta"), memory=whole, blocked=True)

    def lies_in_blocks(self, x: Data) -> bool:
        """Whether an image, of more than one place, would have to be copied for those who read it channels-last."""
        return x.blocked and x.shape[2:] != (1, 1)

    @property
    def blocks_in_vain(self) -> bool:
        """Whether images lie in blocks and none of those that gain by it was taken."""
        return self._begun and not self._paid

    def program(self, results: Sequence[Data]) -> Program:
        """The program that gives these results."""
        found = []
        for result in results:
            found.append(fresh(result.shape, result.dtype) if result.blocked else result)
            if result.blocked:
                self.calls.append(copied("copy", result, found[-1], result.dtype))
        return Program(self.calls, found)


def recorder(blocks: bool = True) -> Recorder | None:
    """A new recorder, None where there is no library."""
    return Recorder(blocks) if onednn.loaded() else None


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
        self._lie = [(y.shape, y.tensor.stride(), y.dtype) for y in self._outputs]
        self._calls = calls
        self._scratch = max(call.primitive.scratchpad.nbytes for call in calls)
        self._places, self._nbytes = _placed(calls, {*self.inputs, *self._outputs}, _rounded(self._scratch))
        self._executions: list[_Execution] = []

    def __str__(self) -> str:
        counts = Counter(call.title for call in self._calls)
        values = (value for call in self._calls for _, _, value in call.arguments)
        blocks = "; channels in blocks" if any(isinstance(v, Data) and v.blocked for v in values) else ""
        return "oneDNN: " + ", ".join(f"{n} {title}" if n > 1 else title for title, n in counts.items()) + blocks

    def __call__(self, *tensors: Tensor) -> Any:
        if tensors[0].is_meta:
            found = [
                torch.empty_strided(r.shape, r.tensor.stride(), dtype=r.dtype, device="meta") for r in self.results
            ]
            return found[0] if len(found) == 1 else tuple(found)
        count = len(self.inputs)
        data = [d.taken(x) for d, x in zip(self.inputs, tensors)]
        outputs = [torch.empty_strided(shape, steps, dtype=dtype) for shape, steps, dtype in self._lie]
        try:
            execution = self._executions.pop()
        except IndexError:
            execution = _Execution(self._calls, self._places, [*self.inputs, *self._outputs], self.parameters)
        arena = _arena(self._nbytes)
        execution.run(arena, [*data, *outputs], tensors[count:])
        _ARENAS.append(arena)
        self._executions.append(execution)
        if self._outputs == self.results:
            found = outputs
        else:
            by_memory = dict(zip(self._outputs, outputs, strict=True))
            found = [
                by_memory[r.memory].as_strided(r.shape, r.tensor.stride(), r.tensor.storage_offset())
                for r in self.results
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
        self._arena: Tensor | None = None
        self._tensors: Sequence[Tensor] | None = None
        numbers: dict[Any, list[tuple[Memory, int]]] = dict(zip(outside, self._outside, strict=True))
        numbers.update(zip(parameters, self._parameters, strict=True))
        where = onednn.stream().pointer
        self._calls = []
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
            self._calls.append((call.primitive.pointer, where, len(given), (onednn.Argument * len(given))(*given)))

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
        if self._tensors is None or not all(map(operator.is_, self._tensors, parameters)):
            self._tensors = parameters
            self._kept = [p.contiguous() for p in parameters]
            for memories, p in zip(self._parameters, self._kept, strict=True):
                for memory, offset in memories:
                    memory.point(p.data_ptr() + offset)
        execute, check = onednn.executor(), onednn.check
        for primitive, where, count, arguments in self._calls:
            if status := execute(primitive, where, count, arguments):
                check("execution", status)


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

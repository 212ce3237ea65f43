"""What one call of a launcher does, as a function that does it again: see `core.kernels.triton.replay`."""

from __future__ import annotations

import functools
import math
import operator
import re
import weakref
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from triton.tools.tensor_descriptor import TensorDescriptor

from core.kernels.arena import placed
from core.kernels.dispatch import unremembered
from core.kernels.triton._entry import entry, stream_of
from core.kernels.triton._kernel import recorded_by

# Operators of torch that take memory for their result: as it is, filled with a number, or with another tensor.
_BLANK = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
_FILLED = {"zeros": 0, "zeros_like": 0, "new_zeros": 0, "ones": 1, "ones_like": 1, "new_ones": 1}
_FULL = {"full": 1, "full_like": 1, "new_full": 2}  # and the position of the number among the arguments
_COPIED = {"clone", "_to_copy"}
_JOINED = {"cat": torch.cat, "stack": torch.stack}
_WRITTEN = {"copy_", "fill_", "zero_"}
_WORD = re.compile(r"\w+")
_ALIGNED = 256  # bytes, at which memory begins: descriptors ask for 128


class Recording(TorchDispatchMode):
    """Watches one call of a launcher.

    keep: whether the call can be repeated. by_value: whether it follows from the values of numbers, too. changed:
    whether memory was written, so that the call cannot be made anew. muted: what happens is no part of the call.
    provisional: another call of the same key may do something else, and better.
    """

    def __init__(self, names: Sequence[str], values: Sequence, is_number: Callable[[str, object], bool]):
        super().__init__()
        self.names = names
        self.keep, self.by_value, self.changed, self.muted, self.provisional = True, False, False, False, False
        self.unpacked: list[str] = []  # lines that come before the conditions
        self.lines: list[str | _Memory] = []
        self.conditions: list[str] = []
        self.scope: dict[str, object] = {}  # what names of the source stand for
        # Where tensors lie, by their ids. They may go meanwhile, so that a plan takes no more memory than otherwise.
        self.memories: dict[int, tuple[weakref.ref, _Memory]] = {}
        self.every: list[_Memory] = []
        self.values = [self._argument(n, v, is_number) for n, v in zip(names, values, strict=True)]

    def replay(self, result, launcher: Callable) -> Callable | None:
        """A function that repeats the call and its `result`, None where that cannot be.

        launcher: the function for calls that do not meet the conditions of this one.
        """
        try:
            returned = self._returned(result)
        except _Unknown:
            return None
        if not self.keep or self.by_value:
            return None
        lines = list(self.unpacked)
        if self.conditions:
            self.scope["_launcher"] = launcher
            failed = " or ".join(f"not ({c})" for c in dict.fromkeys(self.conditions))
            lines += [f"if {failed}:", f"    return _launcher({', '.join(self.names)})"]
        lines += self._arranged(returned)
        source = "".join(f"    {line}\n" for line in [*lines, f"return {returned}"])
        exec(_compiled(f"def replay({', '.join(self.names)}):\n{source}"), self.scope)
        return self.scope["replay"]

    def _arranged(self, returned: str) -> list[str]:
        """The lines as source. Memory that kernels alone get to see lies in one piece, which is taken at the beginning;
        other memory is let go after the line that is the last to name it.
        """
        uses: dict[str, list[int]] = {}
        for k, line in enumerate([*self.lines, returned]):
            for word in set(_WORD.findall(line)) if isinstance(line, str) else ():
                uses.setdefault(word, []).append(k)
        inner = {
            m: (k, uses[m.address][-1], m.nbytes)
            for k, m in enumerate(self.lines)
            if isinstance(m, _Memory) and m.addressed and uses[m.name] == uses[m.address][:1]
        }
        beginning, texts = [], [line if isinstance(line, str) else line.taken(self) for line in self.lines]
        if len(inner) > 1:
            places, nbytes = placed(inner.values(), _ALIGNED)
            device = next(iter(inner)).device
            beginning = [self._blank("arena", (nbytes,), (1,), torch.uint8, device), "arena_at = arena.data_ptr()"]
            for (memory, (k, _, _)), place in zip(inner.items(), places, strict=True):
                texts[k], texts[uses[memory.name][0]] = "", f"{memory.address} = arena_at + {self._constant(place)}"
        gone: dict[int, list[str]] = {}
        for memory in self.every:
            if memory not in inner and memory.name not in self.scope:
                last = max(uses.get(name, [-1])[-1] for name in (memory.name, memory.address))
                gone.setdefault(last, []).append(memory.name)
        lines = ([text, f"del {', '.join(gone[k])}"] if k in gone else [text] for k, text in enumerate(texts))
        return beginning + [line for some in lines for line in some if line]

    def _blank(self, name: str, shape: tuple, strides: tuple, dtype: torch.dtype, device: torch.device) -> str:
        """The line that takes new memory under a name."""
        layout = f"{self._name('shape', shape)}, {self._name('strides', strides)}"
        dtype_ = self._name("dtype", dtype)
        if (
            device.type in _EMPTY and not torch.are_deterministic_algorithms_enabled()
        ):  # which fills new memory with NaN
            return f"{name} = {self._name('empty', _EMPTY[device.type])}({layout}, {dtype_})"
        empty = self._name("empty", torch.empty_strided)
        return f"{name} = {empty}({layout}, dtype={dtype_}, device={self._name('device', device)})"

    def run(self, function: Callable, plain: Callable):
        """`function(arguments)`, watched. Where it fails before memory was written, what `plain()` gives or raises, in
        the words of an ordinary call; then nothing is to be remembered.
        """
        try:
            with self, recorded_by(self), unremembered():
                return function(self.values)
        except Exception:
            if self.changed:
                raise
            self.by_value, self.provisional = False, True
            return plain()

    # ------------------------------------------------------------ what is seen

    def note_item(self, target: str, value) -> None:
        """Writes `value`, as the call gives it, to a position of a list, which `target` names."""
        try:
            self.lines.append(f"{target} = {self._returned(value)}")
        except _Unknown:
            self.keep = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch would import its compiler, which takes seconds, to keep it off this method

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if not self.muted:
            try:
                self._moved_memory(function, args, kwargs or {}, result)
            except _Unknown:
                self.keep = False
        return result

    def launch(self, kernel, run: Callable, grid, args: tuple, kwargs: dict):
        """Launches `kernel` by `run`, Triton's own way, and notes how to do so without it."""
        plain = {name: _value(v) for name, v in kwargs.items()}
        compiled = run(*map(_value, args), grid=grid, warmup=False, **plain)
        if not self.muted:
            self.changed = True
            try:
                self._note_launch(kernel, compiled, grid, args, kwargs)
            except _Unknown:
                self.keep = False
        return compiled

    def _moved_memory(self, function, args, kwargs, result) -> None:
        name = function.overloadpacket.__name__
        first = next((a for a in args if isinstance(a, Tensor)), None)
        if function._schema.is_mutable:
            self.changed = True
            if name not in _WRITTEN:
                raise _Unknown
            rest = [self._tensor(a) if isinstance(a, Tensor) else self._constant(a) for a in args[1:]]
            self.lines.append(f"{self._tensor(first)}.{name}({', '.join(rest)})")
            return
        results = [result] if isinstance(result, Tensor) else list(result) if isinstance(result, (tuple, list)) else []
        if not results:
            raise _Unknown
        for made in results:
            if first is not None and _storage(made) == _storage(first):
                self.memories[id(made)] = weakref.ref(made), self._memory(first)
            elif name in _BLANK:
                self._own(made)
            elif name in _FILLED or name in _FULL:
                value = _FILLED[name] if name in _FILLED else args[_FULL[name]]
                self.lines.append(f"{self._own(made).fixed()}.fill_({self._constant(value)})")
            elif name in _COPIED:
                source = self._tensor(first)
                self.lines.append(f"{self._own(made).fixed()}.copy_({source})")
            elif name in _JOINED:
                parts = "".join(f"{self._tensor(t)}, " for t in args[0])
                axis = self._constant(args[1] if len(args) > 1 else 0)
                memory = self._own(made, False)
                self.lines.append(f"{memory.fixed()} = {self._name('join', _JOINED[name])}(({parts}), {axis})")
            else:
                raise _Unknown

    def _note_launch(self, kernel, compiled, grid, args, kwargs) -> None:
        parameters = kernel.signature.parameters
        bound = kernel.signature.bind(*args, **{name: v for name, v in kwargs.items() if name in parameters})
        bound.apply_defaults()
        way, described, arguments = entry(compiled), 0, []
        for parameter, value in zip(kernel.params, bound.arguments.values(), strict=True):
            if parameter.is_constexpr:
                self.by_value |= isinstance(value, Number)
                arguments.append(self._name("constexpr", value))
            elif isinstance(value, Number):
                self.by_value |= not (isinstance(value.value, float) or (parameter.do_not_specialize and value.given))
                arguments.append(value.source)
            elif isinstance(value, Tensor):
                arguments.append(self._address(value))
            elif isinstance(value, TensorDescriptor):
                name = self._name("descriptor", way.descriptor(value, described))
                arguments.append(f"*{name}({self._address(value.base)})")
                described += 1
            else:
                arguments.append(self._constant(value))
        if not isinstance(grid, (tuple, list)):
            raise _Unknown
        sizes = ", ".join(self._constant(n) for n in (*grid, 1, 1)[:3])
        names = {name: self._name(name, value) for name, value in way.names.items()}
        self.lines.append(way.form.format(grid=sizes, stream=self._stream(), arguments=", ".join(arguments), **names))

    # ------------------------------------------------------------ source

    def _argument(self, name: str, value, is_number: Callable[[str, object], bool], root: str | None = None):
        """The argument as the launcher gets to see it, with numbers in place of those that may change."""
        root = root or name
        if isinstance(value, Tensor):
            if id(value) in self.memories:  # given twice, which in another call may be two tensors
                value = value.detach()
            self._enter(value, name, False)
        elif type(value) is tuple or type(value) is list:
            named = [isinstance(item, (Tensor, tuple, list)) or is_number(root, item) for item in value]
            if any(named):
                names = (f"{name}_{i}" if n else "_" for i, n in enumerate(named))
                self.unpacked.append(f"{', '.join(names)}, = {name}")
            return type(value)(self._argument(f"{name}_{i}", x, is_number, root) for i, x in enumerate(value))
        elif is_number(root, value):
            return Number(self, value, name, True)
        return value

    def _name(self, kind: str, value) -> str:
        """A name for `value` in the source."""
        name = f"_{kind}{len(self.scope)}"
        self.scope[name] = value
        return name

    def _constant(self, value) -> str:
        if value is None or isinstance(value, bool):
            return repr(value)
        if not isinstance(value, (int, float)):
            raise _Unknown
        return self._name("number", value)

    def _stream(self) -> str:
        if "_stream" not in self.scope:
            device = self.every[0].device if self.every else None
            if device is None or (device.type == "cuda" and device.index is None):
                raise _Unknown
            current, index = stream_of(device.index)
            self.scope["_stream"], self.scope["_device"] = current, index
            self.unpacked.append("_now = _stream(_device)")
        return "_now"

    def _memory(self, t: Tensor) -> _Memory:
        known = self.memories.get(id(t))
        if known is not None and known[0]() is t:
            return known[1]
        if not getattr(t, "is_constant", False):
            raise _Unknown  # memory that is neither an argument's nor the call's own
        return self._enter(t, self._name("constant", t), False)

    def _enter(self, t: Tensor, name: str, own: bool) -> _Memory:
        memory = _Memory(name, t, own)
        self.memories[id(t)] = weakref.ref(t), memory
        self.every.append(memory)
        return memory

    def _own(self, t: Tensor, taken: bool = True) -> _Memory:
        """Memory of the call's own, which is `taken` blank at this line."""
        memory = self._enter(t, f"own{len(self.every)}", True)
        self.lines += [memory] * taken
        return memory

    def _address(self, t: Tensor) -> str:
        memory = self._memory(t)
        name = memory.address
        if not memory.addressed:
            memory.addressed = True
            self.lines.append(f"{name} = {memory.name}.data_ptr()")
        bytes_ = t.storage_offset() * t.itemsize - memory.offset * memory.dtype.itemsize
        return f"{name} + {self._constant(bytes_)}" if bytes_ else name

    def _tensor(self, t: Tensor) -> str:
        """Source of a tensor as torch knows it."""
        memory = self._memory(t)
        if memory.tensor() is t:
            return memory.fixed()
        if t.dtype is not memory.dtype:
            raise _Unknown
        offset = self._constant(t.storage_offset() - memory.offset)
        start = offset if memory.own else f"{memory.name}.storage_offset() + {offset}"
        layout = f"{self._name('shape', tuple(t.shape))}, {self._name('strides', t.stride())}"
        return f"{memory.name}.as_strided({layout}, {start})"

    def _returned(self, result) -> str:
        if isinstance(result, (tuple, list)):
            parts = "".join(f"{self._returned(r)}, " for r in result)
            return f"({parts})" if isinstance(result, tuple) else f"[{parts}]"
        if not isinstance(result, Tensor):
            return self._constant(result)
        memory = self._memory(result)
        if memory.own and memory.takes_layout_of(result):
            return memory.name
        return self._tensor(result)


class _Memory:
    """Memory that a replay has a tensor for: that of an argument, or what the call takes itself (`own`)."""

    def __init__(self, name: str, tensor: Tensor, own: bool):
        self.name, self.tensor, self.own = name, weakref.ref(tensor), own
        self.address, self.addressed = f"{name}_at", False  # what its address is called, and whether a kernel takes it
        self.dtype, self.device, self.offset = tensor.dtype, tensor.device, tensor.storage_offset()
        self.nbytes = _extent(tensor) * tensor.itemsize
        self.layout = tuple(tensor.shape), tensor.stride(), tensor.dtype
        self.taken_as: weakref.ref | None = None  # as which tensor, once that matters

    def fixed(self) -> str:
        """Its name, for its tensor as it was, which is there."""
        if self.own:
            self.taken_as = self.tensor
        return self.name

    def takes_layout_of(self, t: Tensor) -> bool:
        """Whether the memory can be taken as `t`, a view of all of it, in the first position."""
        whole = t.itemsize == self.dtype.itemsize and _extent(t) * t.itemsize == self.nbytes
        if self.taken_as is None and whole and t.storage_offset() == 0:
            self.taken_as, self.layout = weakref.ref(t), (tuple(t.shape), t.stride(), t.dtype)
        return self.taken_as is not None and self.taken_as() is t

    def taken(self, recording: Recording) -> str:
        """The line that takes it."""
        return recording._blank(self.name, *self.layout, self.device)


class Number:
    """A Python number that may be another one in the next call: source that says how it follows from the arguments.

    Arithmetic gives further ones, a comparison a condition of the replay. Where nothing but the value will do, the
    recording holds for that value alone. given: whether it is an argument itself.
    """

    def __init__(self, recording: Recording, value, source: str, given: bool = False):
        self.recording, self.value, self.source, self.given = recording, value, source, given

    def __hash__(self):
        return hash(self._pinned())

    def __float__(self):
        return float(self._pinned())

    def __int__(self):
        return int(self._pinned())

    def __index__(self):
        return operator.index(self._pinned())

    def __repr__(self):
        return repr(self._pinned())

    def __bool__(self):
        return self._compared("!=", operator.ne, 0)

    def __neg__(self):
        return Number(self.recording, -self.value, f"(-{self.source})")

    def _pinned(self):
        self.recording.by_value = True
        return self.value

    def _compared(self, sign: str, compare: Callable, other) -> bool:
        found = compare(self.value, _value(other))
        condition = f"{self.source} {sign} {_source(other)}"
        self.recording.conditions.append(condition if found else f"not {condition}")
        return found


def _value(number):
    return number.value if isinstance(number, Number) else number


def _source(number) -> str:
    if isinstance(number, Number):
        return number.source
    return repr(number) if math.isfinite(number) else f"float('{number}')"


def _arithmetic(sign: str, combine: Callable) -> tuple[Callable, Callable]:
    def combined(recording, left, right):
        return Number(recording, combine(_value(left), _value(right)), f"({_source(left)} {sign} {_source(right)})")

    return (
        lambda self, other: combined(self.recording, self, other),
        lambda self, other: combined(self.recording, other, self),
    )


def _by_value(combine: Callable) -> tuple[Callable, Callable]:
    """Of integers, where arithmetic is not followed."""
    return (
        lambda self, other: combine(self._pinned(), _value(other)),
        lambda self, other: combine(_value(other), self._pinned()),
    )


def _comparison(sign: str, compare: Callable) -> Callable:
    return lambda self, other: self._compared(sign, compare, other)


_FOLLOWED = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}
_PAIRS = {name: _arithmetic(sign, getattr(operator, name)) for name, sign in _FOLLOWED.items()}
for _name in ("and", "or", "xor", "lshift", "rshift", "floordiv", "mod"):
    _PAIRS[_name] = _by_value(getattr(operator, f"__{_name}__"))
for _name, _pair in _PAIRS.items():
    setattr(Number, f"__{_name}__", _pair[0])
    setattr(Number, f"__r{_name}__", _pair[1])
for _name, _sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Number, f"__{_name}__", _comparison(_sign, getattr(operator, _name)))


def constant(t: Tensor) -> Tensor:
    """The tensor, which nobody writes to, and which other calls of the same key find as well."""
    t.is_constant = True
    return t


def as_float(number):
    """The number as a float; a recording still knows where it came from."""
    if isinstance(number, Number):
        return Number(number.recording, float(number.value), f"float({number.source})")
    return float(number)


class _Unknown(Exception):
    """Something that a replay cannot repeat."""


def _storage(t: Tensor) -> int:
    return t.untyped_storage()._cdata


def _extent(t: Tensor) -> int:
    """Elements from the first to the last."""
    return 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True)) if t.numel() else 0


@functools.lru_cache(maxsize=4096)
def _compiled(source: str):
    return compile(source, "<replay>", "exec")


# The way to new memory that compiled programs of torch take; `torch.empty_strided` takes twice as long.
_guards = getattr(torch._C, "_dynamo", None)
_EMPTY = {
    device: getattr(_guards.guards, f"_empty_strided_{device}")
    for device in ("cpu", "cuda")
    if _guards is not None and hasattr(_guards.guards, f"_empty_strided_{device}")
}

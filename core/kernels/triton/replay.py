"""Calls of kernels, remembered: what a call allocates and launches follows from the layout of its arguments.

A launcher of this backend (`matmul.linear`, `norm.layer_norm`, ...) chooses kernels, grids and arguments in Python,
which takes ten times as long as a launch. All of that depends only on the key of a call: dtypes, shapes, strides and
alignment of the tensors, and the other arguments. `memoized` watches the second call of a key and makes a function of
it that allocates, launches and returns the same, without that Python; for `relu` of a matrix

    def replay(formula, tensors, attrs, dtype):
        tensors_0, = tensors
        _now = _stream(_device)
        own1 = _empty(_shape, _strides, _dtype)
        tensors_0_at = tensors_0.data_ptr()
        own1_at = own1.data_ptr()
        _run(_number2, _number3, _number4, _now, _function, ..., tensors_0_at, own1_at, _number5, ...)
        del tensors_0
        return own1

- Pointers are distances from an argument, or from memory that the call takes: `Recording` sees every view, for it is a
  dispatch mode of torch, and every launch, for kernels report them (`_kernel.jit`). What several kernels alone get to
  see lies in one memory, where what is read for the last time makes room for the next.
- Numbers of the parameters in VARYING differ from call to call and are no part of the key: they are followed through
  arithmetic into the arguments of launches (`Number`). A comparison becomes a condition of the replay; where the value
  itself is needed, for a constexpr, it becomes part of the key after all.
- A call that does something else (reads a value back, runs an operator of torch that is no matter of memory) is not
  replayed: its launcher runs each time, as it would without this module.

Under the interpreter nothing is remembered. `forget` drops all, after a change of what launchers read besides their
arguments: the deterministic mode, environment variables.
"""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Callable, Sequence

from torch import Tensor

from core.kernels.triton._kernel import INTERPRETED, recording
from core.kernels.triton._recording import Recording

# Parameters whose numbers change from call to call: seeds, scalars of formulas, what optimizers schedule.
VARYING = frozenset("key attrs number t lr wd eta momentum rescale g_share mean_share var_share".split())
MOST = 4096  # keys of one launcher; beyond, all are dropped


def memoized(function: Callable, signature: inspect.Signature) -> Callable:
    """`function` of tensors and other arguments that hash, replayed from the third call of a key on.

    signature: that of its contract.
    """
    return function if INTERPRETED else Memo(function, signature).call


def memo_of(function: Callable) -> Memo | None:
    """The memory behind a function of `memoized`, None for other functions."""
    return getattr(function, "memo", None)


def forget() -> None:
    """Drops all calls that are remembered."""
    for memory in tuple(memories):
        memory.forget()


# Whatever remembers calls, and can `forget` them.
memories: weakref.WeakSet = weakref.WeakSet()


class Memo:
    """The calls of one launcher, by key. exact: numbers belong to the key with their values."""

    def __init__(self, function: Callable, signature: inspect.Signature, exact: bool = False):
        self.function, self.signature, self.exact = function, signature, exact
        self.parameters = list(signature.parameters.values())
        self.names = [p.name for p in self.parameters]
        self.known: dict[tuple, Callable] = {}
        self.seen: set[tuple] = set()
        self.call, self._key = self._wrapper()
        self.call.memo = self
        memories.add(self)

    def replay_of(self, *args, **kwargs) -> Callable | None:
        """What a call with these arguments ends in: its replay, `call` where it has none, None where that is open."""
        found = self.known.get(self._key(*args, **kwargs))
        return found if found is None or isinstance(found, types.FunctionType) else self.call

    def forget(self) -> None:
        self.known.clear()
        self.seen.clear()

    def _wrapper(self) -> tuple[Callable, Callable]:
        """A function of the launcher's signature: the key, one look-up, the replay; and one that makes the key alone.

        Its source spells the parameters out, for passing on *args takes as long as a part of the key.
        """
        keys = []
        for p in self.parameters:
            varying = p.name in VARYING and not self.exact
            source = None if p.name in VARYING else _PARTS.get(p.annotation)
            keys.append((source or f"_part({{0}}, {varying})").format(p.name))
        heading, key = _heading(self.parameters), f"({', '.join(keys)},)"
        source = f"""def _call{heading}:
    _key = {key}
    _replay = _known(_key)
    if _replay is not None:
        return _replay({", ".join(self.names)})
    return _unknown(_key, ({", ".join(self.names)},))
def _key_of{heading}:
    return {key}
"""
        scope = {f"_default_{p.name}": p.default for p in self.parameters}
        scope |= {"_part": part, "_known": self.known.get, "_unknown": self._unknown}
        exec(compile(source, f"<{self.function.__name__}, remembered>", "exec"), scope)
        return functools.update_wrapper(scope["_call"], self.function), scope["_key_of"]

    def _unknown(self, key: tuple, values: tuple):
        if recording() is not None:
            return self._launch(*values)  # part of a call that is being recorded
        if key not in self.seen:
            if len(self.seen) >= MOST:
                self.forget()
            self.seen.add(key)
            return self._launch(*values)
        watch = Recording(self.names, values, lambda name, v: not self.exact and name in VARYING and _is_number(v))
        result = watch.run(lambda given: self._launch(*given), lambda: self._launch(*values))
        if watch.by_value and not self.exact:
            exact = Memo(self.function, self.signature, exact=True)
            self.known[key] = functools.partial(_spread, exact.call, self.parameters)
        elif not watch.provisional:
            replay = watch.replay(result, self._launch)
            if replay is not None:
                replay.__defaults__ = tuple(None if p.default is p.empty else p.default for p in self.parameters)
            self.known[key] = replay or self._launch
        return result

    def _launch(self, *values):
        return _spread(self.function, self.parameters, *values)


def _heading(parameters: Sequence[inspect.Parameter]) -> str:
    """Parameters as source, with defaults by name."""
    parts = []
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(p.name if p.default is p.empty else f"{p.name}=_default_{p.name}")
    return f"({', '.join(parts)})"


def _spread(function: Callable, parameters: Sequence[inspect.Parameter], *values):
    """`function` called with the values of all its parameters, in order."""
    named = dict(zip(parameters, values, strict=True))
    keywords = {p.name: value for p, value in named.items() if p.kind is p.KEYWORD_ONLY}
    return function(*(value for p, value in named.items() if p.kind is not p.KEYWORD_ONLY), **keywords)


# ---------------------------------------------------------------- keys


_TENSOR = "{0}.dtype, {0}.shape, {0}.stride(), {0}.data_ptr() & 15, {0}.device"
# Source of an argument's part of the key, by the parameter's annotation, where that says enough.
_PARTS = {
    "Tensor": _TENSOR,
    "Tensor | None": f"None if {{0}} is None else ({_TENSOR})",
    "Sequence[Tensor]": f"tuple([({_TENSOR.format('t')}) for t in {{0}}])",
    "float": "{0} or repr({0})",  # zeros differ by their sign
    **dict.fromkeys(("int", "bool", "str", "str | None", "torch.dtype", "Formula", "tuple[int, ...]", "Ints"), "{0}"),
}


def part(value, varying: bool):
    """What of an argument belongs to the key: the layout of a tensor, the type of a varying number, another's value."""
    if isinstance(value, Tensor):
        return value.dtype, value.shape, value.stride(), value.data_ptr() & 15, value.device
    if type(value) is tuple or type(value) is list:
        return tuple([part(v, varying) for v in value])
    if varying and _is_number(value):
        return float if isinstance(value, float) else _width(value)
    if isinstance(value, float):
        return value if value and value == value else repr(value)
    return value


def _is_number(value) -> bool:
    return isinstance(value, float) or type(value) is int


def _width(value: int) -> str:
    """The type in which an integer is passed to a kernel."""
    return "i32" if -(2**31) <= value < 2**31 else "i64" if -(2**63) <= value < 2**63 else "u64"

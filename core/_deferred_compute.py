"""What programs compute on arrays as a symbol, while the arrays have their values
(MXNet 2 knows this module by this name).

a = np.arange(10)
set_variable(a, sym.var("a"))
with context():
    b = a + 1
get_symbol(b)  # a symbol of the variable a
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator

from core import random_keys
from core.base import MXNetError, as_list
from core.graph.ir import HELD, INPUT, NODE, Node, Value
from core.ndarray import NDArray
from core.symbol.symbol import Symbol
from core.symbol.traced import symbol_of
from core.tape import engage, state, untraced

__all__ = ["clear", "context", "get_symbol", "is_deferred_compute", "set_deferred_compute", "set_variable"]


def is_deferred_compute() -> bool:
    """Whether operators are taken down."""
    return state.tracer is _recorder


def set_deferred_compute(state_: bool) -> bool:
    """Switches the taking down of operators on or off, and gives what it was before."""
    before = is_deferred_compute()
    if state.tracer is not None and not before:
        raise MXNetError("operators cannot be taken down inside of a block that is being traced")
    engage(state.recording, _recorder if state_ else None)
    return before


@contextlib.contextmanager
def context(state: bool = True) -> Iterator[None]:
    """Scope in which operators are taken down, or (False) are not."""
    before = set_deferred_compute(state)
    try:
        yield
    finally:
        set_deferred_compute(before)


def set_variable(arrays, variables) -> None:
    """From now on an array (or each of a list) is this variable; MXNetError where it is something already."""
    for array, variable in zip(as_list(arrays), as_list(variables), strict=True):
        if id(array) in _known:
            raise MXNetError("the array is a variable, or was computed in a context of deferred computation, already")
        _remember(array, _Variable(array, variable))


def get_symbol(output_arrays, *, sym_cls: type = Symbol):
    """The symbol of arrays that were computed in `context`, of class `sym_cls`.

    MXNetError where an array is unknown.
    """
    made: dict[Node, list[Symbol]] = {}
    found = [_symbol(_value(array), made) for array in as_list(output_arrays)]
    return sym_cls([entry for symbol in found for entry in symbol._entries])


def clear(arrays) -> None:
    """Forgets what was taken down for arrays."""
    for array in as_list(arrays):
        _known.pop(id(array), None)


class _Recorder:
    """Takes down operators as they are applied; `core.dispatch` calls it while it is `autograd.state.tracer`."""

    def proxies(self, inputs: list) -> list:
        return inputs

    def draw(self, ctx) -> int:
        return random_keys.next_key(ctx)

    def record(self, op, inputs, attrs: dict, outputs: list, reserve, single: bool):
        self._note(op, inputs, attrs, outputs, single)
        return reserve

    def composite(self, op, inputs: list, attrs: dict, context_attrs: dict):
        with untraced():
            result = op.function(*inputs, **context_attrs)
        outputs = result if isinstance(result, (list, tuple)) else [result]
        self._note(op, inputs, attrs, outputs, outputs is not result)
        return result

    def write(self, target: NDArray, source: NDArray) -> None:
        if target._data is not None:
            raise _written()
        target._data = source._data
        _remember(target, _value(source))

    def write_part(self, target: NDArray, key: tuple, value: NDArray) -> None:
        raise _written()

    def unshare(self, array: NDArray) -> None:
        """No array is written to here."""

    def failed(self, op, error: Exception) -> None:
        """The caller raises the error."""

    def hides(self, array: NDArray) -> bool:
        return False

    def refuse(self, array: NDArray) -> None:
        """Arrays have values, which may be read."""

    def zeros(self, kind: type, description: tuple):
        raise MXNetError("gradients are not computed while operators are taken down")

    def _note(self, op, inputs, attrs: dict, outputs: list, single: bool) -> None:
        values = [None if x is None else _value(x) for x in inputs]
        ctx = outputs[0]._ctx if outputs else None
        node = Node(op, attrs, values, ctx, single)
        node.outputs = [Value(x._data, x._ctx, type(x), NODE, k, node) for k, x in enumerate(outputs)]
        for array, value in zip(outputs, node.outputs, strict=True):
            _remember(array, value)


def _written() -> MXNetError:
    return MXNetError("arrays are not written to while operators are taken down; use the result of an operator")


_recorder = _Recorder()


class _Variable(Value):
    __slots__ = ("symbol",)

    def __init__(self, array: NDArray, symbol: Symbol):
        super().__init__(array._data, array._ctx, type(array), INPUT)
        self.symbol = symbol


# By the id of an array: (weak reference to it, its value in the graph).
_known: dict[int, tuple[weakref.ref, Value]] = {}


def _remember(array: NDArray, value: Value) -> None:
    key = id(array)
    _known[key] = weakref.ref(array, lambda _: _known.pop(key, None)), value


def _value(array: NDArray) -> Value:
    """What an array is in the graph."""
    known = _known.get(id(array))
    return Value(array._data, array._ctx, type(array), HELD) if known is None else known[1]


def _symbol(value: Value, made: dict[Node, list[Symbol]]) -> Symbol:
    """The symbol of a value; `made` holds those of the applications that were met before."""
    if isinstance(value, _Variable):
        return value.symbol
    node = value.source
    if node is None:
        raise MXNetError(
            f"an array of shape {value.shape} is neither a variable (set_variable) nor computed in the context"
        )
    if node not in made:
        found = symbol_of(node, [None if v is None else _symbol(v, made) for v in node.inputs])
        made[node] = list(found) if len(found) > 1 else [found]
    return made[node][value.index]

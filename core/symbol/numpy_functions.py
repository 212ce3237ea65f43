"""NumPy's functions over symbols that need to know shapes:
nodes that run the function of `np` when the graph is traced.
"""

import ast
import operator
from typing import Annotated

from core.base import MXNetError
from core.ops.attributes import Attribute, Str
from core.ops.registry import composite
from core.symbol.compose import compose
from core.symbol.symbol import Symbol

# functions that give several arrays: how many, or the place of the argument that says so
_OUTPUTS = {"linalg.svd": 3, "linalg.qr": 2, "linalg.eig": 2, "linalg.eigh": 2, "linalg.slogdet": 2, "linalg.lstsq": 4}
_SPLITS = frozenset({"array_split", "hsplit", "vsplit", "dsplit"})


def function(name: str, kind: type):
    """The function `np.NAME` over symbols of a kind; other arguments are plain values.

    NAME may be `linalg.NAME`, `npx.NAME`.
    """

    def call(*args, **kwargs):
        symbols: list[Symbol] = []
        given = repr((_marked(args, symbols), _marked(kwargs, symbols)))
        return compose(np_function, name.rpartition(".")[2], symbols, {"function": name, "given": given}, kind)

    call.__name__ = name
    call.__doc__ = f"NumPy's `{name}`, of symbols."
    return call


class _Literal(Attribute):
    """A literal of Python's, from its text."""

    hint = "str"

    def parse(self, value):
        try:
            return ast.literal_eval(value) if isinstance(value, str) else value
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:  # the last two: deep nesting
            raise MXNetError(f"{value[:40]!r} is no literal of Python ({type(error).__name__})") from None


def _count(attrs: dict) -> int:
    name = attrs["function"]
    if name in _SPLITS:
        args, kwargs = attrs["given"]
        parts = kwargs.get("indices_or_sections", args[1] if len(args) > 1 else 1)
        return parts if isinstance(parts, int) else len(parts) + 1
    return _OUTPUTS.get(name, 1)


@composite("_np_function", outputs=_count)
def np_function(*data, function: Str, given: Annotated[tuple, _Literal()]):
    """A function of `np`; `given` is the literal of (args, kwargs), in which {"$": i} stands for the input i."""
    from core import numpy, numpy_extension

    args, kwargs = given
    arrays = [x.as_np_ndarray() for x in data]
    module = numpy_extension if function.startswith("npx.") else numpy
    result = operator.attrgetter(function.removeprefix("npx."))(module)(
        *_filled(args, arrays), **_filled(kwargs, arrays)
    )
    return list(result) if isinstance(result, (list, tuple)) else result


def _marked(value, symbols: list):
    """The value with symbols, which are collected, replaced by their marks; MXNetError for what is no plain value."""
    if isinstance(value, Symbol):
        symbols.append(value)
        return {"$": len(symbols) - 1}
    if isinstance(value, dict):
        return {key: _marked(v, symbols) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_marked(v, symbols) for v in value)
    if isinstance(value, type):
        return value.__name__
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "item"):  # numbers of NumPy
        return value.item()
    raise MXNetError(f"functions of sym.np take symbols and plain values, given {type(value).__name__}")


def _filled(value, arrays: list):
    if isinstance(value, dict):
        return arrays[value["$"]] if "$" in value else {key: _filled(v, arrays) for key, v in value.items()}
    return type(value)(_filled(v, arrays) for v in value) if isinstance(value, (list, tuple)) else value

"""How symbols are composed: one function for each operator of the table, with automatic names and variables."""

from __future__ import annotations

import re
import types

import numpy as np

from core import documentation
from core.attribute import AttrScope
from core.base import MXNetError, nearest
from core.dtypes import bfloat16, dtype_name
from core.graph.ir import Value, Variable
from core.name import NameManager
from core.ops.registry import NULL, REQUIRED, TABLE, Operator
from core.symbol.graph import HIDDEN, hidden, input_names, made


def wrapper(op: Operator, called: str, kind: type):
    """The function `sym.NAME`: inputs (symbols) and attributes by position or keyword, `name`, `attr`.

    attr: extra attributes; so are keywords of the form `__key__`. Inputs that are not given become variables called
    `<name>_<input>`.
    """

    def function(*args, name=None, attr=None, out=None, **kwargs):
        besides = [k for k in kwargs if k[:2] == k[-2:] == "__" or (k in HIDDEN and k not in op.attrs)]
        extra = {key: text_of(kwargs.pop(key)) for key in besides}
        attr = {**extra, **(attr or {})} if extra else attr
        symbols, attrs = _arguments(op, args, kwargs, kind)
        return compose(op, called, symbols, attrs, kind, name, attr)

    function.__name__ = called
    function.__doc__ = op.doc
    function.operator = op
    return function


def documented_wrapper(op: Operator, called: str, kind: type):
    """`wrapper` for a namespace, with the docstring that `nd` shows."""
    function = wrapper(op, called, kind)
    function.__doc__ = documentation.of_operator(op)
    return function


def compose(op: Operator, called: str, symbols, attrs: dict, kind: type, name=None, attr=None):
    """A symbol for `op` on `symbols` (a dict by input name, or a list for an operator of any number of inputs)."""
    parsed = op.parse(attrs)
    name = NameManager.current.get(name, re.sub("^_np[ix]?_", "", called.lower()))
    texts = {key: text_of(value) for key, value in attrs.items()}
    texts.update(hidden(AttrScope.current.get(attr)))
    if op.variadic:
        if "num_args" in op.attrs or not any(key.startswith("num_") for key in op.attrs):
            texts["num_args"] = str(len(symbols))
        inputs = [_single(op, "data", symbol) for symbol in symbols]
        for k, slot in enumerate(op.appends(parsed), 1):
            inputs = [*inputs, _variable(op, name, slot, texts)][: k + 1]
            _start(op, slot, inputs[k])
    else:
        if op.takes is not None:
            found = op.placed([symbols.get(slot) for slot in op.inputs], parsed)
            symbols = {slot: symbol for slot, symbol in zip(op.inputs, found, strict=True) if symbol is not None}
        op.check_inputs([symbols.get(slot) for slot in op.inputs], parsed, complete=False)
        by_slot = {
            slot: _single(op, slot, symbols[slot]) if slot in symbols else _variable(op, name, slot, texts)
            for slot in input_names(op, parsed, symbols)
        }
        for slot, value in by_slot.items():
            _start(op, slot, value)
        inputs = [by_slot.get(slot) for slot in op.inputs]
    return kind(made(op, name, texts, parsed, inputs).visible)


def given_of(op: Operator, parsed: dict) -> dict:
    """Those of the typed attributes that differ from their defaults."""
    defaults = {key: default for key, (_, default) in op.attrs.items() if key in parsed}
    return {key: parsed[key] for key, default in defaults.items() if default is REQUIRED or parsed[key] != default}


def variable_texts(op: Operator, slot: str, texts: dict[str, str]) -> dict[str, str]:
    """Attributes of a variable that an operator makes for its input `slot`: its own, and how the variable starts."""
    texts = {key: value for key, value in texts.items() if key != "num_args"}
    return {"__init__": op.initial[slot], **texts} if slot in op.initial else texts


def text_of(value) -> str:
    """An attribute as the file format writes it."""
    if isinstance(value, str):
        return value
    if value is bfloat16 or isinstance(value, np.dtype) or (isinstance(value, type) and value is not bool):
        return dtype_name(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return str(tuple(value) if isinstance(value, list) else value)


class Namespace(types.ModuleType):
    """`sym.contrib` and its like, a module: the operators whose names begin with one of `prefixes`."""

    def __init__(self, name: str, prefixes: tuple[str, ...], kind: type):
        super().__init__(f"core.symbol.{name}", self.__doc__)
        self._name, self._prefixes, self._kind = name, prefixes, kind

    def __getattr__(self, name: str):
        for prefix in self._prefixes:
            op = TABLE.get(prefix + name)
            if op is not None:
                function = documented_wrapper(op, op.name if self._name == "random" else name, self._kind)
                setattr(self, name, function)
                return function
        from core import ndarray

        if not name.startswith("_") and hasattr(getattr(ndarray, self._name, None), name):  # such as samplers of graphs
            raise AttributeError(
                f"sym.{self._name} has no function {name!r}: nd.{self._name}.{name} is one of arrays, which no graph of symbols runs"
            )
        words = [n.removeprefix(p) for p in self._prefixes for n in TABLE if n.startswith(p)]
        raise AttributeError(f"sym.{self._name} has no function {name!r}.{nearest(name, words)}")

    def __dir__(self):
        operators = (n.removeprefix(p) for p in self._prefixes for n in TABLE if n.startswith(p))
        return sorted({*operators, *(n for n in vars(self) if n[:1] != "_")})


# ----------------------------------------------------------------------------------------------


def _arguments(op: Operator, args: tuple, kwargs: dict, kind: type):
    """Sorts what a caller gave into symbols and attributes."""
    attrs = {key: value for key, value in kwargs.items() if value is not NULL}
    if op.variadic:
        attrs.pop("num_args", None)
        symbols = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
        named = [attrs.pop(key) for key in list(attrs) if isinstance(attrs[key], kind)]
        if symbols and named:
            raise TypeError(f"{op.name} takes its symbols by position or by keyword, not both")
        symbols = symbols or named
        if not symbols:
            raise TypeError(f"{op.name} needs at least one symbol. {op.signature()}")
        return [_checked(op, "data", s, kind) for s in symbols], attrs
    names = [*op.inputs, *op.attrs]
    if len(args) > len(names):
        raise TypeError(f"{op.name} takes {len(names)} arguments, given {len(args)}. {op.signature()}")
    for key, value in zip(names, args, strict=False):
        if key in attrs:
            raise TypeError(f"{op.name}: {key!r} is given twice, by position and by keyword")
        if value is not NULL:
            attrs[key] = value
    symbols = {}
    for slot in op.inputs:
        value = attrs.pop(slot, None)
        if value is not None:
            symbols[slot] = _checked(op, slot, value, kind)
    for key in ("num_args", "ctx", "cudnn_off", "cudnn_tune", "workspace"):
        if key not in op.attrs:
            attrs.pop(key, None)
    op.check_words(key for key in attrs if key not in op.attrs)
    return symbols, attrs


def _checked(op: Operator, slot: str, value, kind: type):
    if not isinstance(value, kind):
        raise TypeError(f"{op.name}: input {slot!r} is to be a Symbol, given {type(value).__name__} ({value!r})")
    return value


def _single(op: Operator, slot: str, symbol) -> Value:
    """The one output of a symbol that goes into an operator."""
    entries = symbol._entries
    if len(entries) != 1:
        raise MXNetError(
            f"{op.name}: input {slot!r} is a symbol of {len(entries)} outputs ({', '.join(symbol.list_outputs())}); "
            "pick one with [i]"
        )
    return entries[0]


def _start(op: Operator, slot: str, value: Value) -> None:
    """Tells a variable how it starts as the input `slot` of an operator, unless it knows."""
    if slot in op.initial and isinstance(value, Variable):
        value.texts.setdefault("__init__", op.initial[slot])


def _variable(op: Operator, name: str, slot: str, texts: dict[str, str]) -> Variable:
    return Variable(f"{name}_{slot}", variable_texts(op, slot, texts))

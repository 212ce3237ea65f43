"""How symbols are composed: one function for each operator of the table, with automatic names and variables."""

from __future__ import annotations

import types

import numpy as np

from core.attribute import AttrScope
from core.base import nearest
from core.dtypes import bfloat16, dtype_name
from core.name import NameManager
from core.ops.registry import NULL, REQUIRED, TABLE, Operator
from core.symbol.graph import HIDDEN, Node, hidden, input_names

# Initial values of states and parameters that an operator makes itself.
_INITIAL = {"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'}


def front(op: Operator, called: str, kind: type):
    """The function `sym.NAME`: inputs (symbols) and attributes by position or keyword, `name`, `attr` (extra attributes;
    so are keywords of the form `__key__`).

    Inputs that are not given become variables called `<name>_<input>`.
    """

    def function(*args, name=None, attr=None, out=None, **kwargs):
        extra = {
            key: text_of(kwargs.pop(key))
            for key in list(kwargs)
            if (key.startswith("__") and key.endswith("__")) or (key in HIDDEN and key not in op.attrs)
        }
        attr = {**extra, **(attr or {})} if extra else attr
        symbols, attrs = _arguments(op, args, kwargs, kind)
        return compose(op, called, symbols, attrs, kind, name, attr)

    function.__name__ = called
    function.__doc__ = f"{op.doc}\n\n{op.signature()}"
    function.operator = op
    return function


def compose(op: Operator, called: str, symbols, attrs: dict, kind: type, name=None, attr=None):
    """A symbol for `op` on `symbols` (a dict by input name, or a list for an operator of any number of inputs)."""
    parsed = op.parse(attrs)
    name = NameManager.current.get(name, called.lower())
    texts = {key: text_of(value) for key, value in attrs.items()}
    texts.update(hidden(AttrScope.current.get(attr)))
    if op.variadic:
        texts["num_args"] = str(len(symbols))
        entries = [_single(op, "data", symbol) for symbol in symbols]
        if op.name == "UpSampling" and parsed["sample_type"] == "bilinear" and len(entries) == 1:
            entries.append((_variable(op, name, "weight", texts), 0))
        slots = [f"arg{i}" for i in range(len(entries))]
    else:
        if op.takes is not None:
            found = op.placed([symbols.get(slot) for slot in op.inputs], parsed)
            symbols = {slot: symbol for slot, symbol in zip(op.inputs, found, strict=True) if symbol is not None}
        slots = input_names(op, parsed, symbols)
        entries = [
            _single(op, slot, symbols[slot]) if slot in symbols else (_variable(op, name, slot, texts), 0)
            for slot in slots
        ]
    node = Node.__new__(Node)
    node.op, node.name, node.attrs, node.parsed = op, name, texts, parsed
    node.inputs, node.slots, node.subgraphs = entries, tuple(slots), []
    return kind([(node, k) for k in range(node.outputs)])


def given_of(op: Operator, parsed: dict) -> dict:
    """Those of the typed attributes that differ from their defaults."""
    return {
        key: parsed[key]
        for key, (_, default) in op.attrs.items()
        if key in parsed and (default is REQUIRED or parsed[key] != default)
    }


def variable_texts(op: Operator, slot: str, texts: dict[str, str]) -> dict[str, str]:
    """Attributes of a variable that an operator makes for its input `slot`: its own, and how the variable starts."""
    texts = {key: value for key, value in texts.items() if key != "num_args"}
    if slot in _INITIAL and slot in op.mutates:
        texts.setdefault("__init__", _INITIAL[slot])
    elif op.name == "LeakyReLU" and slot == "gamma":
        texts.setdefault("__init__", '["Constant", {"value": 0.25}]')
    return texts


def text_of(value) -> str:
    """An attribute as the file format writes it."""
    if isinstance(value, str):
        return value
    if value is bfloat16 or isinstance(value, np.dtype) or (isinstance(value, type) and value is not bool):
        return dtype_name(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (list, np.ndarray)):
        value = tuple(value)
    return str(value)


class Namespace(types.ModuleType):
    """`sym.contrib` and its like, a module: the operators whose names begin with one of `prefixes`."""

    def __init__(self, name: str, prefixes: tuple[str, ...], kind: type):
        super().__init__(f"core.symbol.{name}", self.__doc__)
        self._name, self._prefixes, self._kind = name, prefixes, kind

    def __getattr__(self, name: str):
        for prefix in self._prefixes:
            op = TABLE.get(prefix + name)
            if op is not None:
                function = front(op, op.name if self._name == "random" else name, self._kind)
                setattr(self, name, function)
                return function
        words = [n.removeprefix(p) for p in self._prefixes for n in TABLE if n.startswith(p)]
        raise AttributeError(f"sym.{self._name} has no function {name!r}.{nearest(name, words)}")

    def __dir__(self):
        return sorted(n.removeprefix(p) for p in self._prefixes for n in TABLE if n.startswith(p))


# ----------------------------------------------------------------------------------------------


def _arguments(op: Operator, args: tuple, kwargs: dict, kind: type):
    """Sorts what a caller gave into symbols and attributes."""
    attrs = {key: value for key, value in kwargs.items() if value is not NULL}
    if op.variadic:
        attrs.pop("num_args", None)
        symbols = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
        symbols += [attrs.pop(key) for key in list(attrs) if isinstance(attrs[key], kind)]
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
    return symbols, attrs


def _checked(op: Operator, slot: str, value, kind: type):
    if not isinstance(value, kind):
        raise TypeError(f"{op.name}: input {slot!r} is to be a Symbol, given {type(value).__name__} ({value!r})")
    return value


def _single(op: Operator, slot: str, symbol):
    """The one output of a symbol that goes into an operator."""
    entries = symbol._entries
    if len(entries) != 1:
        raise ValueError(
            f"{op.name}: input {slot!r} is a symbol of {len(entries)} outputs ({', '.join(symbol.list_outputs())}); pick one with [i]"
        )
    return entries[0]


def _variable(op: Operator, name: str, slot: str, texts: dict[str, str]) -> Node:
    return Node(None, f"{name}_{slot}", variable_texts(op, slot, texts))

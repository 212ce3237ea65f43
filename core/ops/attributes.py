"""Types of operator attributes: each turns what a user or a `-symbol.json` gives into one typed value.

An attribute may come as a Python value or as the text that MXNet writes ("(2, 2)", "True", "None").
`parse` raises ValueError with a sentence that says what is accepted.
"""

from __future__ import annotations

import ast
import math
import numbers
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from core.base import WrongKind, nearest
from core.context import Context
from core.dtypes import dtype_name
from core.extents import Extent, Ratio


class Attribute:
    """Base: accepts anything as it is. `hint` is the type shown in signatures and stubs, `word` MXNet's for it."""

    hint = word = "object"

    def parse(self, value: Any) -> Any:
        return value

    def __repr__(self) -> str:
        return type(self).__name__


class IntType(Attribute):
    """A whole number, from `low` on; a float without a fraction is one, a bool (meant for another attribute) is none."""

    hint = word = "int"

    def __init__(self, low: float = -math.inf) -> None:
        self.low = low

    def parse(self, value: Any) -> Any:
        value = _literal(value)
        if (is_int(value) or (isinstance(value, float) and value.is_integer())) and value >= self.low:
            return _whole(value)
        raise ValueError("an int is accepted" + f", from {self.low} on" * (self.low > -math.inf))


class FloatType(Attribute):
    """A number, as a float; a `share` is one from 0 to 1."""

    hint = word = "float"

    def __init__(self, share: bool = False) -> None:
        self.share = share

    def parse(self, value: Any) -> Any:
        value = _literal(value)
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if is_number and (not self.share or 0 <= value <= 1):
            return value if isinstance(value, (Extent, Ratio)) else float(value)
        raise ValueError("a number is accepted" + ", from 0 to 1" * self.share)


class ScalarType(Attribute):
    """A number that keeps its kind: int, float or bool."""

    hint, word = "float | int | bool", "double"

    def parse(self, value: Any) -> Any:
        value = _literal(value)
        if isinstance(value, numbers.Real):
            return value
        raise ValueError("a number is accepted")


class BoolType(Attribute):
    """True or False, also as 1, 0, "true" or "False"."""

    hint, word = "bool", "boolean"

    def parse(self, value: Any) -> Any:
        if isinstance(value, str):
            value = {"true": True, "false": False, "1": True, "0": False}.get(value.lower(), value)
        if isinstance(value, (bool, np.bool_, numbers.Integral)) and value in (0, 1):
            return bool(value)
        raise ValueError("True or False is accepted")


class StrType(Attribute):
    """A text, or a context as its name."""

    hint, word = "str", "string"

    def parse(self, value: Any) -> Any:
        if isinstance(value, (str, Context)):
            return str(value)
        raise ValueError("a string is accepted")


class ShapeType(Attribute):
    """A tuple of ints; a single int stands for a tuple of one."""

    hint, word = "int | tuple[int, ...]", "Shape(tuple)"

    def parse(self, value: Any) -> Any:
        value = _literal(value)
        if is_int(value):
            return (_whole(value),)
        if isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim == 1):
            if all(is_int(v) or (isinstance(v, float) and v.is_integer()) for v in value):
                return tuple(_whole(v) for v in value)
        raise ValueError("an int or a tuple of ints is accepted")


class OpenShapeType(ShapeType):
    """A tuple whose items are ints or None, as the bounds of a slice are."""

    hint = "int | None | tuple[int | None, ...]"

    def parse(self, value: Any) -> Any:
        value = _literal(value)
        if value is None:
            return (None,)
        if isinstance(value, (tuple, list)):
            return tuple(None if v is None else _INT.parse(v) for v in value)
        return super().parse(value)


class FloatsType(Attribute):
    """A tuple of numbers; a single number stands for a tuple of one."""

    hint, word = "float | tuple[float, ...]", "tuple of <float>"

    def parse(self, value: Any) -> Any:
        value = _literal(value)
        if isinstance(value, numbers.Real):
            return (float(value),)
        if isinstance(value, (tuple, list, np.ndarray)):
            try:
                return tuple(float(v) for v in value)
            except (TypeError, ValueError):
                pass
        raise ValueError("a number or a tuple of numbers is accepted")


class AxisType(Attribute):
    """Axes of a reduction: None for all, an int, or a tuple of ints."""

    hint, word = "int | tuple[int, ...] | None", "Shape or None"

    def parse(self, value: Any) -> Any:
        value = _literal(value)
        return value if value is None else _SHAPE.parse(value)


class DTypeType(Attribute):
    """The name of an element type."""

    hint, word = "str | type", "string"

    def parse(self, value: Any) -> Any:
        try:
            return dtype_name(value)
        except TypeError as error:
            raise ValueError(str(error)) from None


class FewDTypes(Attribute):
    """The name of one of a few element types; "None" leaves it to the operator."""

    hint = "str | type | None"

    def __init__(self, *options: str) -> None:
        self.options = options
        self.word = _braces(options)

    def parse(self, value: Any) -> Any:
        if value is None or (isinstance(value, str) and value in ("None", "")):
            return None
        name = _DTYPE.parse(value)
        if name not in self.options:
            raise ValueError(f"one of {', '.join(self.options)} is accepted")
        return name


class Choice(Attribute):
    """One of a fixed set of strings."""

    def __init__(self, *options: str) -> None:
        self.options = options
        self.hint = "Literal[" + ", ".join(map(repr, options)) + "]"
        self.word = _braces(options)

    def parse(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.options:
            return value
        hint = nearest(value, self.options) if isinstance(value, str) else ""
        raise ValueError(f"one of {', '.join(map(repr, self.options))} is accepted.{hint}")


class Optional(Attribute):
    """None, or what `inner` accepts."""

    def __init__(self, inner: Attribute) -> None:
        self.inner = inner
        self.hint = inner.hint if "None" in inner.hint else inner.hint + " | None"
        self.word = inner.word.replace("{", "{None, ") if "{" in inner.word else inner.word + " or None"

    def parse(self, value: Any) -> Any:
        if value is None or (isinstance(value, str) and value in ("None", "")):
            return None
        return self.inner.parse(value)


# How the parameters of operators are annotated: what the forward rule gets, and how that is made of what is given.
Any_ = Annotated[Any, Attribute()]
Int = Annotated[int, IntType()]
Positive = Annotated[int, IntType(1)]
Float = Annotated[float, FloatType()]
Share = Annotated[float, FloatType(share=True)]
Scalar = Annotated[float, ScalarType()]
Bool = Annotated[bool, BoolType()]
Str = Annotated[str, StrType()]
Shape = Annotated[tuple[int, ...], ShapeType()]
OpenShape = Annotated[tuple[int | None, ...], OpenShapeType()]
Floats = Annotated[tuple[float, ...], FloatsType()]
Axis = Annotated[tuple[int, ...] | None, AxisType()]
DType = Annotated[str, DTypeType()]
OptInt = Annotated[int | None, Optional(IntType())]
OptFloat = Annotated[float | None, Optional(FloatType())]
OptShape = Annotated[tuple[int, ...] | None, Optional(ShapeType())]
OptDType = Annotated[str | None, Optional(DTypeType())]
OptBool = Annotated[bool | None, Optional(BoolType())]
OptStr = Annotated[str | None, Optional(StrType())]
BOOLS = frozenset((bool, np.bool_))  # equal to 0 and 1, but no whole numbers
_SHAPE, _INT, _DTYPE = ShapeType(), IntType(), DTypeType()


def of(annotation: object) -> Attribute:
    """The attribute type in an annotation such as `Float`; one that takes anything where there is none."""
    found = [m for m in getattr(annotation, "__metadata__", ()) if isinstance(m, Attribute)]
    return found[0] if found else Attribute()


def is_tuple(kind: Attribute) -> bool:
    """Whether the values of a type are tuples of whole numbers."""
    return isinstance(kind.inner if isinstance(kind, Optional) else kind, (ShapeType, AxisType))


def is_text(kind: Attribute) -> bool:
    """Whether the values of a type are texts, or stand for one, so that equal ones mean the same."""
    return isinstance(kind.inner if isinstance(kind, Optional) else kind, (StrType, DTypeType, FewDTypes, Choice))


def is_open(kind: Attribute) -> bool:
    """Whether a type takes any value, tensors and random keys among them."""
    return type(kind) is Attribute


def is_int(value: object) -> bool:
    """Whether a value is an int, and no bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def shape_of(value: Any, what: str = "shape") -> tuple[int, ...]:
    """The shape that a caller gave to a function that is more than an operator: any sequence of ints, too.

    MXNetError where it is none.
    """
    try:
        return _SHAPE.parse(
            tuple(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else value
        )
    except ValueError as error:
        raise WrongKind(f"{what}={value!r} does not fit: {error}") from None


def _whole(value: Any) -> Any:
    """A number as an int; an extent that is no number yet (`core.extents`) as it is."""
    return value if type(value) is Extent else int(value)


def _braces(options: tuple[str, ...]) -> str:
    return "{" + ", ".join(map(repr, sorted(options))) + "}"


def _literal(value: Any) -> Any:
    """The Python value that a text ("(1, 2)", "2L", "None") or an array without axes stands for; others as they are."""
    if not isinstance(value, str):
        return value.item() if getattr(value, "ndim", None) == 0 else value
    text = value.strip()
    if text.lower() in ("nan", "inf", "-inf", "+inf"):
        return float(text)
    try:
        return ast.literal_eval(text.replace("L", ""))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # the last two: very deep nesting
        return value

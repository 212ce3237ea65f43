"""Placeholders for the arrays of parameters whose shapes are not known yet."""

from __future__ import annotations

from typing import Any, Protocol

from core import operand_errors
from core.ndarray.ndarray import NDArray
from core.ops.registry import Operator
from core.ops.values import Attrs


class Parameter(Protocol):
    """What a placeholder asks of the parameter (`gluon.Parameter`) that it stands for."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...] | None: ...
    def _initialised_array(self) -> Any: ...
    def _finish_deferred_init_with(self, shape: tuple[int, ...] | None) -> None: ...


class Deferred(NDArray):
    """Stands for a parameter whose shape is not known yet.

    The first operator that meets it infers the shape from its other inputs and initialises the parameter;
    from then on the placeholder is the parameter's array.
    """

    __slots__ = ("_parameter",)
    _is_placeholder = True
    _dense_kind = NDArray  # results are arrays, not placeholders

    def __init__(self, parameter: Parameter):
        self._parameter = parameter

    def _array(self) -> Any:
        array = self._parameter._initialised_array()
        if array is None:
            raise operand_errors.NeedsShape(self._parameter.name)
        return array

    @classmethod
    def _apply_operator(cls, op: Operator, inputs: list[Any], attrs: Attrs, out: Any = None) -> Any:
        inputs = [x._array() if type(x) is Deferred else x for x in inputs]
        return type(inputs[0])._apply_operator(op, inputs, attrs, out)

    _data = property(lambda self: self._array()._data)
    _entry = property(lambda self: self._array()._entry)
    _ctx = property(lambda self: self._array()._ctx)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._parameter.shape or ())

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def materialise(self, shape: tuple[int, ...] | None) -> None:
        """Initialises the parameter now that its shape is known."""
        if self._parameter._initialised_array() is None:
            self._parameter._finish_deferred_init_with(shape)

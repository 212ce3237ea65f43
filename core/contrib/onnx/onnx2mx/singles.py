"""Single numbers: ONNX gives them no axis, a classic array has one; where that tells,
it is noted which symbols they are.
"""

from __future__ import annotations

import numpy as np

from core.contrib.onnx.onnx2mx.extents import Varying
from core.graph.ir import Value
from core.symbol import Symbol

_POINTWISE = frozenset(
    "Abs Add And Cast CastLike Ceil Clip Div Equal Exp Floor Greater GreaterOrEqual Identity Less LessOrEqual Log Max "
    "Min Mod Mul "
    "Neg Not Or Pow Reciprocal Relu Round Sigmoid Sqrt Sub Sum Tanh Where Xor".split()
)


class Singles:
    """The symbols of a network that stand for single numbers."""

    def __init__(self):
        self._values: set[Value] = set()

    def __contains__(self, value) -> bool:
        if isinstance(value, Symbol):
            return value._entries[0] in self._values
        return isinstance(value, (np.ndarray, Varying)) and value.shape == ()

    def add(self, value: Symbol) -> None:
        """Notes one."""
        self._values.add(value._entries[0])

    def note(self, net, kind: str, attrs: dict, given: list, results: list) -> None:
        """Notes the results of a node that are single numbers."""
        if _gives_single(self, net, kind, attrs, given):
            for x in results:
                if isinstance(x, Symbol):
                    self.add(x)


def _gives_single(singles: Singles, net, kind: str, attrs: dict, given: list) -> bool:
    inputs = [x for x in given if x is not None]
    if kind in _POINTWISE:
        return bool(inputs) and all(x in singles for x in inputs)
    if kind == "Gather":
        return given[1] in singles and _rank(net, given[0]) == 1
    if kind == "Squeeze" or (kind.startswith("Reduce") and not attrs.get("keepdims", 1)):
        axes = attrs.get("axes", given[1] if len(given) > 1 else None)
        if axes is None and kind == "Squeeze":
            return set(net.shape(given[0]) or (0,)) == {1}
        count = None if isinstance(axes, Symbol) else len(axes) if axes is not None else 0
        if not count and attrs.get("noop_with_empty_axes"):
            return False
        return count is not None and (not count or count == _rank(net, given[0]))
    return False


def _rank(net, value) -> int | None:
    shape = net.shape(value)
    return None if shape is None else len(shape)

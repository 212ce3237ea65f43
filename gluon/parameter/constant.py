"""Values that are kept with the parameters of a block and are not trained."""

from __future__ import annotations

import warnings

from core import initializer
from core import ndarray as nd
from gluon.parameter.parameter import Parameter

__all__ = ["Constant"]


class Constant(Parameter):
    """A parameter that holds a fixed value and has no gradient; it is saved and loaded with the others.

    Made of a name and a value, or, as in MXNet 2, of the value alone.

    `value` may be an array or what `nd.array` takes. `initialize` puts it in place whatever initializer is given, and gradients are
    refused: grad_req is "null".

    >>> scale = gluon.Constant("scale", nd.array([2, 3]))
    >>> scale.initialize()
    >>> scale.data(), scale.grad_req
    (
    [2. 3.]
    <NDArray 2 @cpu(0)>, 'null')
    """

    _called = "Constant"

    def __init__(self, name, value=None):
        if value is None:
            name, value = "const", name
        if not isinstance(value, nd.NDArray):
            value = nd.array(value)
        self.value = value
        super().__init__(
            name,
            grad_req="null",
            shape=value.shape,
            dtype=value.dtype,
            init=_ConstantValue(value),
            differentiable=False,
        )

    @property
    def grad_req(self):
        return "null"

    @grad_req.setter
    def grad_req(self, req):
        if req != "null":
            warnings.warn(f"constant {self.name!r} has no gradient: grad_req {req!r} is ignored", stacklevel=2)
        self._grad_req = "null"


class _ConstantValue(initializer.Initializer):
    def __init__(self, value):
        super().__init__()
        self._value = value

    def _init_weight(self, _, arr):
        arr[:] = self._value.as_in_context(arr.context)

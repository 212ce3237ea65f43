"""Fully connected layers, embeddings, dropout, and functions as layers."""

from __future__ import annotations

import inspect

import numpy as np

from core import ndarray as nd
from gluon.block import Block, HybridBlock
from gluon.block.operators import operators_for
from gluon.nn.activations import Activation


class Dense(HybridBlock):
    """act(x weight^T + bias): (batch, ...) -> (batch, units).

    flatten: whether all dimensions but the first are merged before; otherwise the layer acts on the last one alone.
    in_units: size of the input, found out in the first call where it is 0. Parameters: weight (units, in_units),
    bias (units,).
    """

    def __init__(
        self,
        units,
        activation=None,
        use_bias=True,
        flatten=True,
        dtype="float32",
        weight_initializer=None,
        bias_initializer="zeros",
        in_units=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._units = units
        self._in_units = in_units
        self._flatten = flatten
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=(units, in_units), init=weight_initializer, dtype=dtype, allow_deferred_init=True
            )
            self.bias = (
                self.params.get("bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = Activation(activation, prefix=activation + "_") if activation is not None else None

    def hybrid_forward(self, F, x, weight, bias=None):
        out = F.FullyConnected(
            x, weight, bias, num_hidden=self._units, no_bias=bias is None, flatten=self._flatten, name="fwd"
        )
        return out if self.act is None else self.act(out)

    def __repr__(self):
        units, in_units = self.weight.shape
        return f"{type(self).__name__}({in_units or None} -> {units}, {self.act or 'linear'})"


class Dropout(HybridBlock):
    """Sets a share `rate` of the elements to 0 in training and scales the others by 1 / (1 - rate).

    axes: dimensions along which all elements share their fate.
    """

    def __init__(self, rate, axes=(), **kwargs):
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F, x):
        return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd") if self._rate > 0 else F.identity(x)

    def __repr__(self):
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Rows of `weight` (input_dim, output_dim) by index: shape -> shape + (output_dim,).

    sparse_grad: whether the gradient is row-sparse, so that lazy optimizers update the rows that occur alone.
    """

    def __init__(self, input_dim, output_dim, dtype="float32", weight_initializer=None, sparse_grad=False, **kwargs):
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": np.dtype(dtype).name if not isinstance(dtype, str) else dtype,
            "sparse_grad": sparse_grad,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F, x, weight):
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self):
        return "{}({input_dim} -> {output_dim}, {dtype})".format(type(self).__name__, **self._kwargs)


class Flatten(HybridBlock):
    """(batch, ...) -> (batch, elements)."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def hybrid_forward(self, F, x):
        return F.Flatten(x)

    def __repr__(self):
        return type(self).__name__


class Identity(HybridBlock):
    """Gives its input."""

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F, x):
        return x


class Lambda(Block):
    """A function of arrays, or the operator of a name, as a block."""

    def __init__(self, function, prefix=None):
        super().__init__(prefix=prefix)
        self._function = function
        self._func_name = _name_of(function, nd)

    def forward(self, *args):
        function = self._function
        if isinstance(function, str):
            takes_np = any(getattr(x, "_zero_dim", False) for x in args)
            function = getattr(operators_for(args[0], args[1:])[0] if takes_np else nd, function)
        return function(*args)

    def __repr__(self):
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function of (F, arrays...), or the operator of a name, as a hybrid block.

    On `np` arrays a function that takes as many arguments as there are arrays gets them alone, as in MXNet 2.
    """

    def __init__(self, function, prefix=None):
        super().__init__(prefix=prefix)
        self._func_name = _name_of(function, nd)
        self._function = function
        self._arguments = None if isinstance(function, str) else _positional(function)

    def hybrid_forward(self, F, x, *args):
        if isinstance(self._function, str):
            return getattr(F, self._function)(x, *args)
        if self._arguments == 1 + len(args) and getattr(x, "_zero_dim", False):
            return self._function(x, *args)
        return self._function(F, x, *args)

    def __repr__(self):
        return f"{type(self).__name__}({self._func_name})"


def _positional(function):
    """The number of arguments that a function takes by place, without `*args`; None where it is not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters)


def _name_of(function, operators):
    if isinstance(function, str):
        if not hasattr(operators, function):
            raise AttributeError(f"there is no operator {function!r}")
        return function
    if callable(function):
        return function.__name__
    raise ValueError(f"a function or the name of an operator is needed, got {function!r}")

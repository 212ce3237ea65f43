"""Fully connected layers, embeddings, dropout, and functions as layers."""

from __future__ import annotations

import inspect

import numpy as np

from core import ndarray as nd
from gluon.block import Block, HybridBlock
from gluon.block.operators import operators_for
from gluon.nn.activations import Activation


class Dense(HybridBlock):
    """A fully connected layer: ``activation(x weight^T + bias)``.

    units: number of outputs. activation: a name that `nn.Activation` takes, None: none. use_bias: whether there is a bias.
    flatten: whether all dimensions but the first are merged before, (batch, ...) -> (batch, units); otherwise the layer acts on
    the last one alone, (..., in_units) -> (..., units). in_units: size of the input, found out in the first call where it is 0.
    Parameters: weight (units, in_units), bias (units,). MXNetError for an input of another size.

    >>> layer = nn.Dense(3, activation="relu")
    >>> layer.initialize(init.One())
    >>> layer(nd.array([[1, 2], [3, -4]]))
    [[3. 3. 3.]
     [0. 0. 0.]]
    <NDArray 2x3 @cpu(0)>
    >>> layer.weight.shape
    (3, 2)
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

    In prediction the input comes back as it is. The expected value of each element stays the same (Srivastava et al., 2014).
    rate: from 0 to 1; 0 does nothing. With axes (2, 3) whole channels of (batch, channels, height, width) are dropped. The draws
    follow from `mx.random.seed`.

    >>> layer = nn.Dropout(0.5)
    >>> layer(nd.ones((1, 3)))
    [[1. 1. 1.]]
    <NDArray 1x3 @cpu(0)>
    >>> with autograd.train_mode():
    ...     y = layer(nd.ones((100, 100)))
    >>> sorted(set(y.asnumpy().ravel().tolist())), 0.9 < float(y.mean().asscalar()) < 1.1
    ([0.0, 2.0], True)
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

    input_dim: number of rows, the size of a vocabulary. output_dim: length of a vector. Indices may be of any shape and type;
    those out of range are clipped, or are an error under `mx.util.set_check_values(True)`. Parameter: weight.

    >>> layer = nn.Embedding(input_dim=4, output_dim=2)
    >>> layer.initialize()
    >>> layer(nd.array([[0, 3, 3]])).shape
    (1, 3, 2)
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
    """(batch, ...) -> (batch, elements).

    Elements keep their order and nothing is computed. It stands between convolutions and the first `Dense`, which flattens by
    itself unless said otherwise.

    >>> nn.Flatten()(nd.zeros((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def hybrid_forward(self, F, x):
        return F.Flatten(x)

    def __repr__(self):
        return type(self).__name__


class Identity(HybridBlock):
    """Gives its input.

    It takes the place of a layer that a configuration leaves out, and the short cut in `HybridConcatenate`. It has no parameters,
    takes arrays of any shape and type, and passes gradients as they are.

    >>> nn.Identity()(nd.array([1, 2]))
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F, x):
        return x


class Lambda(Block):
    """A function of arrays, or the operator of a name, as a block.

    function: called with the block's inputs, or the name of an operator of `nd`. It may do whatever Python can, and is not compiled;
    `HybridLambda` is. It has no parameters. AssertionError for a name that no operator has.

    >>> nn.Lambda("tanh")(nd.array([0, 1]))
    [0.     0.7616]
    <NDArray 2 @cpu(0)>
    >>> nn.Lambda(lambda x: x * 2)(nd.array([0, 1]))
    [0. 2.]
    <NDArray 2 @cpu(0)>
    """

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

    `F` is the module of operators that fits the inputs: `nd` for arrays, `sym` for symbols. The function may not look at values,
    for it is traced once and compiled by `hybridize`. It has no parameters.

    >>> nn.HybridLambda(lambda F, x: F.square(x))(nd.array([1, 2]))
    [1. 4.]
    <NDArray 2 @cpu(0)>
    >>> nn.HybridLambda("relu")(nd.array([-1, 2]))
    [0. 2.]
    <NDArray 2 @cpu(0)>
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

"""Dropout of weights in place of activations (Wan et al., 2013; Merity, Keskar and Socher, 2017)."""

from __future__ import annotations

import re
import warnings

from core import nd
from core.ndarray.deferred import Deferred
from gluon import Parameter

__all__ = ["WeightDropParameter", "apply_weight_drop"]


def apply_weight_drop(block, local_param_regex, rate, axes=(), weight_dropout_mode="training"):
    """From now on the matching parameters of `block` and its children are WeightDropParameters.

    local_param_regex: for the names that parameters have in their own block, such as "h2h_weight".  axes: along which
    elements are dropped together.  weight_dropout_mode: "training", or "always".

    >>> net = nn.Dense(2, in_units=2)
    >>> gluonnlp.model.apply_weight_drop(net, "weight", rate=0.5)
    >>> type(net.weight).__name__
    'WeightDropParameter'
    """
    if rate:
        _apply(block, re.compile(local_param_regex), (rate, weight_dropout_mode, axes), {})


class WeightDropParameter(Parameter):
    """A parameter whose `data()` is dropped out anew in every call: array and gradient are those of `parameter`.

    rate: the share of elements that are 0.  mode: "training", or "always".  axes: along which elements are
    dropped together.  What is saved, and what a Trainer updates, is the array without dropout.

    >>> weight = gluon.Parameter("weight", shape=(2, 2), init="ones")
    >>> weight.initialize()
    >>> gluonnlp.model.WeightDropParameter(weight, rate=0.5).data()
    [[1. 1.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, parameter, rate=0.0, mode="training", axes=()):
        super().__init__(parameter.name)
        self.__dict__.update(parameter.__dict__)
        self._array = None  # layers are to ask `data`
        self._rate = rate
        self._mode = mode
        self._axes = axes

    def __repr__(self):
        return f"WeightDrop{super().__repr__()[:-1]}, rate={self._rate}, mode={self._mode})"

    def data(self, ctx=None, device=None):
        array = super().data(ctx, device)
        if not self._rate or isinstance(array, Deferred):
            return array
        return nd.Dropout(array, p=self._rate, mode=self._mode, axes=self._axes)


def _apply(block, regex, options, made):
    for name, parameter in list(block._reg_params.items()):
        if regex.match(name) and not isinstance(parameter, WeightDropParameter):
            if parameter not in made:
                made[parameter] = WeightDropParameter(parameter, *options)
            block._replace_parameter(name, made[parameter])
            _replace_in_shared(block.params._shared, name, made[parameter])
    for child in block._children.values():
        _apply(child, regex, options, made)


def _replace_in_shared(shared, name, parameter):
    while shared is not None:
        warnings.warn(
            f"{parameter.name!r} is dropped out in this block, and in blocks that take it from the shared parameters "
            f"from now on; the block that gave it keeps it as it is (probably as its attribute {name!r})",
            stacklevel=4,
        )
        if parameter.name in shared._params:
            shared._params[parameter.name] = parameter
        shared = shared._shared

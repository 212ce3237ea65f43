"""Changes of a network as a whole."""

import re

import numpy as np

from gluon.nn import BatchNorm

__all__ = ["freeze_bn", "purge_model_nan", "recursive_visit", "set_lr_mult"]


def recursive_visit(net, callback, **kwargs):
    """Calls `callback(block, **kwargs)` for a block and all below it.

    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(2))
    >>> gluoncv.utils.recursive_visit(net, lambda block: print(type(block).__name__))
    HybridSequential
    Dense
    """
    callback(net, **kwargs)
    for child in net._children.values():
        recursive_visit(child, callback, **kwargs)


def set_lr_mult(net, pattern, mult=1.0, verbose=False):
    """Sets the learning rate's factor of parameters whose names begin with the regular expression `pattern`.

    >>> net = nn.Dense(2)
    >>> gluoncv.utils.set_lr_mult(net, ".*bias", 0)
    >>> net.bias.lr_mult, net.weight.lr_mult
    (0, 1.0)
    """
    for name, parameter in net.collect_params().items():
        if re.match(pattern, name):
            parameter.lr_mult = mult
            if verbose:
                print(f"Set lr_mult of {parameter.name} to {mult}")


def freeze_bn(net, use_global_stats=True):
    """Makes batch normalisations use (or, with False, not use) their running statistics in training too.

    Networks that were compiled are compiled again.

    >>> net = nn.HybridSequential()
    >>> net.add(nn.BatchNorm())
    >>> _ = gluoncv.utils.freeze_bn(net)
    >>> net[0]._kwargs["use_global_stats"]
    True
    """

    def freeze(block):
        if isinstance(block, BatchNorm):
            block._kwargs["use_global_stats"] = use_global_stats
        if hasattr(block, "_clear_cached_op"):
            block._clear_cached_op()

    recursive_visit(net, freeze)


def purge_model_nan(net, nan=0.0, posinf=0.0, neginf=0.0, verbose=False):
    """Replaces what is not finite in parameters."""
    for name, parameter in net.collect_params().items():
        values = parameter.data().asnumpy()
        wrong = ~np.isfinite(values)
        if wrong.any():
            if verbose:
                print(f"{name}: overwritten {wrong.sum()} values")
            parameter.set_data(np.nan_to_num(values, nan=nan, posinf=posinf, neginf=neginf))

"""Norms of gradients, and parameters and states in files."""

from __future__ import annotations

import collections
import warnings

from core import nd

from ..base import InvalidArgument
from .files import local_copy

__all__ = [
    "grad_global_norm",
    "clip_grad_global_norm",
    "save_parameters",
    "save_states",
    "load_parameters",
    "load_states",
]


def grad_global_norm(parameters, max_norm=None):
    """The 2-norm of all gradients together, an NDArray of one element.

    Of parameters on several devices one gradient counts, each time of the next device: after an
    `allreduce_grads` they are equal, and the devices share the work.  With `max_norm` also gives what
    to divide gradients by (at least 1; not finite when the norm is not) and whether the norm is finite (1 or 0).
    """
    by_device = collections.defaultdict(list)
    with_gradient = [p for p in parameters if p.grad_req != "null"]
    for i, p in enumerate(with_gradient):
        gradients = p.list_grad()
        by_device[i % len(gradients)].append(gradients[i % len(gradients)])
    if not by_device:
        raise InvalidArgument("There is no parameter with a gradient.")
    context = by_device[0][0].context
    squares = [nd.add_n(*[nd.sum(nd.square(g.astype("float32"))) for g in gs]) for gs in by_device.values()]
    norm = nd.add_n(*[s.as_in_context(context) for s in squares]).sqrt()
    if max_norm is None:
        return norm
    scale = norm / max_norm
    finite = scale * 0 == 0  # nan for infinity and nan, which equals nothing
    return norm, nd.where(finite, nd.maximum(scale, nd.ones_like(scale)), scale), finite


def clip_grad_global_norm(parameters, max_norm, check_isfinite=True):
    """Scales all gradients, in place, so that their norm is at most `max_norm`; gives the norm before.

    check_isfinite: warns (and waits for the norm) when it is infinite or not a number.
    """
    parameters = list(parameters)
    norm, ratio, finite = grad_global_norm(parameters, max_norm)
    if check_isfinite and finite.asscalar() != 1:
        warnings.warn("Gradients are infinite or not a number; clipping them means nothing.", UserWarning, stacklevel=2)
    scale = 1 / ratio
    for p in parameters:
        if p.grad_req != "null":
            for gradient in p.list_grad():
                gradient *= scale.as_in_context(gradient.context).astype(gradient.dtype)
    return norm


def load_parameters(model, filename, ctx=None, allow_missing=False, ignore_extra=False, cast_dtype=None):
    """Loads the parameters of a Block from a file or from S3."""
    extra = {} if cast_dtype is None else {"cast_dtype": cast_dtype}
    with local_copy(filename, upload=False) as path:
        model.load_parameters(path, ctx=ctx, allow_missing=allow_missing, ignore_extra=ignore_extra, **extra)


def save_parameters(model, filename):
    """Saves the parameters of a Block to a file or to S3."""
    with local_copy(filename, upload=True) as path:
        model.save_parameters(path)


def load_states(trainer, fname):
    """Loads the states of a Trainer from a file or from S3."""
    with local_copy(fname, upload=False) as path:
        trainer.load_states(path)


def save_states(trainer, fname):
    """Saves the states of a Trainer to a file or to S3."""
    with local_copy(fname, upload=True) as path:
        trainer.save_states(path)

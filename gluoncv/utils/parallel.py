"""Work on several devices at once, each in a thread of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from core import autograd
from core.ndarray import NDArray
from gluon.parallel import Parallel, Parallelizable
from gluon.utils import split_and_load

__all__ = [
    "DataParallelCriterion", "DataParallelModel", "Parallel", "Parallelizable", "parallel_backward",
]  # fmt: skip


class DataParallelModel:
    """A network on all of `ctx_list`: called with arrays, it gives a tuple of outputs a device, each a tuple.

    sync: devices work in threads of their own. Without `ctx_list` the network is called as it is.
    """

    def __init__(self, module, ctx_list=None, sync=False):
        module.collect_params().reset_ctx(ctx=ctx_list)
        self.module, self.ctx_list, self.sync = module, ctx_list, sync

    def __call__(self, *inputs, **kwargs):
        if not self.ctx_list:
            return self.module(*inputs, **kwargs)
        inputs, kwargs = split_load_kwargs(inputs, kwargs, self.ctx_list)
        return parallel_apply(self.module, inputs, kwargs, self.sync)

    def __repr__(self):
        return f"DataParallel:\n module = {{{self.module!r}}}"


class DataParallelCriterion:
    """A loss on all of `ctx_list`: called with what `DataParallelModel` gives and targets, it gives losses,
    one per device.
    """

    def __init__(self, module, ctx_list=None, sync=False):
        self.module, self.ctx_list, self.sync = module, ctx_list, sync

    def __call__(self, inputs, *targets, **kwargs):
        if not self.ctx_list:
            return self.module(inputs, *targets, **kwargs)
        targets, kwargs = split_load_kwargs(targets, kwargs, self.ctx_list)
        if len(self.ctx_list) == 1:
            return tuple_map(self.module(*inputs[0], *targets[0], **kwargs[0]))
        return criterion_parallel_apply(self.module, inputs, targets, kwargs, self.sync)


def split_load_kwargs(inputs, kwargs, ctx_list, batch_axis=0):
    """(positional, keyword) arguments of each device: arrays, also in tuples, lists and dictionaries, are cut."""

    def split(value):
        if isinstance(value, NDArray):
            return split_and_load(value, ctx_list, batch_axis, even_split=False)
        if isinstance(value, tuple | list) and value:
            return [type(value)(part) for part in zip(*map(split, value))]
        if isinstance(value, dict) and value:
            return [dict(zip(value, part)) for part in zip(*map(split, value.values()))]
        return [value for _ in ctx_list]

    inputs, kwargs = split(inputs) if inputs else [], split(kwargs) if kwargs else []
    inputs += [()] * (len(kwargs) - len(inputs))
    kwargs += [{}] * (len(inputs) - len(kwargs))
    return tuple(inputs), tuple(kwargs)


def tuple_map(obj):
    """An array or a list as a tuple; anything else as it is."""
    return (obj,) if isinstance(obj, NDArray) else tuple(obj) if isinstance(obj, list) and obj else obj


def parallel_apply(module, inputs, kwargs_tup=None, sync=False):
    """The outputs of `module`, tuples, for each element of `inputs`, a tuple of arguments."""
    kwargs_tup = kwargs_tup or ({},) * len(inputs)
    return _each(lambda args, kwargs: tuple_map(module(*args, **kwargs)), sync, inputs, kwargs_tup)


def criterion_parallel_apply(module, inputs, targets, kwargs_tup=None, sync=False):
    """The losses of `module`, for inputs and targets that are tuples, one per device."""
    kwargs_tup = kwargs_tup or ({},) * len(inputs)
    return _each(lambda args, labels, kwargs: module(*args, *labels, **kwargs), sync, inputs, targets, kwargs_tup)


def parallel_backward(losses, sync=True):
    """Goes back from each loss, in a thread of its own if `sync`."""
    _each(autograd.backward, sync, losses)


def _each(call, sync, *arguments):
    """`call` of the first, the second, ... of all arguments; threads record as this one does."""
    if not sync:
        return tuple(call(*given) for given in zip(*arguments, strict=True))
    recording, training = autograd.is_recording(), autograd.is_training()

    def work(*given):
        if not recording:
            return call(*given)
        with autograd.record(training):
            return call(*given)

    with ThreadPoolExecutor(max(1, len(arguments[0]))) as threads:
        return tuple(threads.map(work, *arguments))

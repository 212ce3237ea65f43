"""Checkpoints of symbolic networks, and `FeedForward`, the oldest way to train one."""

from __future__ import annotations

import logging
from collections import namedtuple

import numpy as np

from core import io, metric
from core import kvstore as kvs
from core import optimizer as opt
from core import symbol as sym
from core.base import MXNetError
from core.context import Context, cpu, current_context
from core.initializer import Uniform
from core.ndarray import NDArray
from core.serialization import load as _load_arrays
from core.serialization import save as _save_arrays

BatchEndParam = namedtuple("BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"])

# Beyond this many elements in one array, one update of a copy on each device beats sending weights around.
LARGE = 1024 * 1024 * 16


def save_checkpoint(prefix, epoch, symbol, arg_params, aux_params, remove_amp_cast=True):
    """Writes `prefix-symbol.json` (where `symbol` is not None) and `prefix-EPOCH.params`, atomically.

    arg_params, aux_params: arrays by name.
    """
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    path = f"{prefix}-{epoch:04d}.params"
    _save_arrays(path, _named(arg_params, aux_params))
    logging.info('Saved checkpoint to "%s"', path)


def _named(arg_params, aux_params):
    """Parameters as files have them: on the CPU, by arg:NAME and aux:NAME."""
    kinds = ("arg", arg_params), ("aux", aux_params)
    return {f"{kind}:{name}": array.as_in_context(cpu()) for kind, given in kinds for name, array in given.items()}


def load_params(prefix, epoch):
    """(arg_params, aux_params) of `prefix-EPOCH.params`."""
    path = f"{prefix}-{epoch:04d}.params"
    arrays = _load_arrays(path)
    if not arrays:
        logging.warning("Params file '%s' is empty", path)
        return {}, {}
    if not isinstance(arrays, dict):
        raise MXNetError(f"{path!r} holds arrays without names; a checkpoint names them arg:NAME and aux:NAME")
    found = {"arg": {}, "aux": {}}
    for key, array in arrays.items():
        kind, _, name = key.partition(":")
        if kind in found and name:
            found[kind][name] = array
    return found["arg"], found["aux"]


def load_checkpoint(prefix, epoch):
    """(symbol, arg_params, aux_params) that `save_checkpoint` wrote."""
    return sym.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch)


class FeedForward:
    """A network with `fit`, `predict`, `score`, `save` and `load`; new programs use `Module`.

    symbol: the network, or a function from a bucket key to one. ctx: a context or several. num_epoch, epoch_size:
    how long `fit` trains, in epochs and in batches an epoch. Further keywords go to the optimizer. X and y: arrays, or
    X an iterator.
    """

    def __init__(self, symbol, ctx=None, num_epoch=None, epoch_size=None, optimizer="sgd", initializer=None,
                 numpy_batch_size=128, arg_params=None, aux_params=None, allow_extra_params=False, begin_epoch=0,
                 **kwargs):  # fmt: skip
        self.symbol, self.sym_gen = (None, symbol) if not isinstance(symbol, sym.Symbol) else (symbol, None)
        self.ctx = [ctx or current_context()] if ctx is None or isinstance(ctx, Context) else list(ctx)
        self.num_epoch, self.epoch_size, self.begin_epoch = num_epoch, epoch_size, begin_epoch
        self.optimizer, self.kwargs = optimizer, kwargs
        self.initializer = Uniform(0.01) if initializer is None else initializer
        self.numpy_batch_size = numpy_batch_size
        self.arg_params, self.aux_params = arg_params, aux_params
        self.allow_extra_params = allow_extra_params

    def fit(self, X, y=None, eval_data=None, eval_metric="acc", epoch_end_callback=None, batch_end_callback=None,
            kvstore="local", logger=None, work_load_list=None, monitor=None, eval_end_callback=None,
            eval_batch_end_callback=None):  # fmt: skip
        """Trains on an iterator, or on arrays X and y. eval_data: an iterator, or a pair of arrays."""
        data = self._iterator(X, y, shuffle=True)
        if isinstance(eval_data, (tuple, list)) and len(eval_data) == 2:
            eval_data = self._iterator(*eval_data)
        if self.epoch_size is not None:
            data = io.ResizeIter(data, self.epoch_size, reset_internal=False)
        module = self._make_module(data, self.ctx, logger or logging, work_load_list)
        settings = dict(self.kwargs)
        if not isinstance(self.optimizer, opt.Optimizer) and "learning_rate" not in settings:
            settings["learning_rate"] = 0.01
        module.fit(
            data, eval_data, metric.create(eval_metric), epoch_end_callback, batch_end_callback, kvstore,
            self.optimizer, settings, eval_end_callback, eval_batch_end_callback, self.initializer,
            self.arg_params, self.aux_params, allow_missing=True, begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch, monitor=monitor,
        )  # fmt: skip
        self.arg_params, self.aux_params = module.get_params()

    def predict(self, X, num_batch=None, return_data=False, reset=True):
        """Outputs as NumPy arrays (one, or a list), and with `return_data` the inputs and labels too."""
        data = self._iterator(X, None)
        module = self._predictor(data)
        if reset:
            data.reset()
        rows = {"outputs": [], "data": [], "label": []}
        for outputs, _, batch in module.iter_predict(data, num_batch, reset=False):
            keep = data.batch_size - (batch.pad or 0)
            rows["outputs"].append([o.asnumpy() for o in outputs])
            if return_data:
                rows["data"].append([d[:keep].asnumpy() for d in batch.data])
                rows["label"].append([d[:keep].asnumpy() for d in batch.label or ()])
        joined = {kind: [np.concatenate(parts) for parts in zip(*lists)] for kind, lists in rows.items()}
        joined = {kind: arrays[0] if len(arrays) == 1 else arrays for kind, arrays in joined.items()}
        return (joined["outputs"], joined["data"], joined["label"]) if return_data else joined["outputs"]

    def score(self, X, eval_metric="acc", num_batch=None, batch_end_callback=None, reset=True):
        """The value of a metric over an iterator with labels."""
        data = self._iterator(X, None)
        found = metric.create(eval_metric)
        self._predictor(data, labels=True).score(data, found, num_batch, batch_end_callback, reset=reset)
        return found.get()[1]

    def save(self, prefix, epoch=None, remove_amp_cast=True):
        """Writes a checkpoint; epoch: by default the number of epochs trained."""
        epoch = self.num_epoch if epoch is None else epoch
        save_checkpoint(prefix, epoch, self.symbol, self.arg_params, self.aux_params, remove_amp_cast)

    @staticmethod
    def load(prefix, epoch, ctx=None, **kwargs):
        """A network from a checkpoint; `fit` goes on from its epoch."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(symbol, X, y=None, ctx=None, num_epoch=None, epoch_size=None, optimizer="sgd", initializer=None,
               eval_data=None, eval_metric="acc", epoch_end_callback=None, batch_end_callback=None, kvstore="local",
               logger=None, work_load_list=None, eval_end_callback=None, eval_batch_end_callback=None,
               **kwargs):  # fmt: skip
        """A network that is made and trained in one go."""
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            X, y, eval_data, eval_metric, epoch_end_callback, batch_end_callback, kvstore, logger, work_load_list,
            eval_end_callback=eval_end_callback, eval_batch_end_callback=eval_batch_end_callback,
        )  # fmt: skip
        return model

    # ------------------------------------------------------------------

    def _iterator(self, X, y, shuffle=False):
        if not isinstance(X, (np.ndarray, NDArray, list)):
            return X
        count = len(X)
        if y is None and shuffle:
            raise ValueError("arrays to train on need their labels: y")
        y = np.zeros(count) if y is None else y.asnumpy() if isinstance(y, NDArray) else np.asarray(y)
        y = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
        if len(y) != count:
            raise ValueError(f"there are {count} samples and {len(y)} labels")
        last = "roll_over" if shuffle else "pad"
        return io.NDArrayIter(X, y, min(count, self.numpy_batch_size), shuffle=shuffle, last_batch_handle=last)

    def _make_module(self, data, ctx, logger=logging, work_load_list=None, labels=()):
        from core.module import BucketingModule, Module

        names = [d[0] for d in data.provide_data], [d[0] for d in data.provide_label]
        if self.sym_gen is not None:
            generate = self.sym_gen
            return BucketingModule(
                lambda key: (generate(key), *names), data.default_bucket_key, logger, ctx, work_load_list
            )
        labels = [n for n in self.symbol.list_arguments() if n in {*names[1], *labels} and n not in names[0]]
        return Module(self.symbol, names[0], labels, logger, ctx, work_load_list)

    def _predictor(self, data, labels=False):
        if self.arg_params is None:
            raise MXNetError("there are no parameters yet: fit the network, or load a checkpoint")
        # To predict, what is no parameter is a label. One context, as in MXNet: fewer samples than contexts are no matter.
        unknown = () if labels or self.sym_gen is not None else {*self.symbol.list_arguments()} - {*self.arg_params}
        module = self._make_module(data, self.ctx[:1], labels=unknown)
        module.bind(data.provide_data, data.provide_label if labels else None, for_training=False)
        module.set_params(self.arg_params, self.aux_params or {}, allow_extra=True)
        return module


# ----------------------------------------------------------------------------------------------
# What modules and trainers share


def _create_kvstore(kvstore, num_device, arg_params):
    """(store or None, whether the optimizer runs in it), from a store, its name, or None."""
    if isinstance(kvstore, str):
        kvstore, name = None if num_device == 1 and "dist" not in kvstore else kvs.create(kvstore), kvstore
        if kvstore is not None and name == "local":
            largest = max((np.prod(array.shape) for array in arg_params.values()), default=0)
            return kvstore, bool(largest <= LARGE)
    elif kvstore is not None and not isinstance(kvstore, kvs.KVStoreBase):
        raise TypeError(f"kvstore is None, a name or a KVStore, got {kvstore!r}")
    if kvstore is None:
        return None, False
    return kvstore, kvstore.is_capable(kvs.KVStoreBase.OPTIMIZER)


def _create_sparse_kvstore(kvstore):
    """(store, True) for parameters of which single rows are pulled."""
    if isinstance(kvstore, str):
        kvstore = kvs.create(kvstore)
    if not isinstance(kvstore, kvs.KVStoreBase):
        raise TypeError(f"row_sparse parameters need a kvstore, or the name of one, got {kvstore!r}")
    return kvstore, kvstore.is_capable(kvs.KVStoreBase.OPTIMIZER)


def _initialize_kvstore(kvstore, param_arrays, arg_params, param_names, update_on_kvstore):
    """Files the parameters in a store; where the optimizer runs there, the devices take its values."""
    for name, arrays in zip(param_names, param_arrays):
        kvstore.init(name, arg_params[name])
        if update_on_kvstore:
            kvstore.pull(name, arrays)


def _update_params_on_kvstore(param_arrays, grad_arrays, kvstore, param_names):
    """Sends gradients to a store that updates, and takes the new weights."""
    for index, (name, arrays, grads) in enumerate(zip(param_names, param_arrays, grad_arrays)):
        if grads[0] is not None:
            kvstore._push_and_pull(name, grads, arrays, priority=-index)


def _update_params(param_arrays, grad_arrays, updater, num_device, kvstore=None, param_names=None):
    """Updates the copy on each device with its own states, after a store has summed the gradients."""
    updates = [[] for _ in range(num_device)]
    for index, (arrays, grads) in enumerate(zip(param_arrays, grad_arrays)):
        if grads[0] is None:
            continue
        if kvstore is not None:
            name = param_names[index]
            kvstore.push(name, grads, priority=-index)
            kvstore.pull(name, grads, priority=-index)
        for device, (weight, grad) in enumerate(zip(arrays, grads)):
            updates[device].append((index * num_device + device, grad, weight))
    for rows in updates:
        if rows:
            updater(*map(list, zip(*rows)))


def _multiple_callbacks(callbacks, *args):
    """Calls one callback, or each of several."""
    if callbacks is not None:
        for callback in callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]:
            callback(*args)

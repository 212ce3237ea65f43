"""`BaseModule`: what every module offers, and the loops for training, scoring and predicting made from it."""

from __future__ import annotations

import logging
import time
import warnings

import numpy as np

from core import metric
from core import ndarray as nd
from core.base import nearest
from core.initializer import Uniform
from core.io import DataDesc
from core.model import BatchEndParam, _multiple_callbacks, _named
from core.serialization import load, save

UNIFORM = Uniform(0.01)  # how parameters begin when nothing else is said


class BaseModule:
    """Base of modules. The life of one: `bind` to shapes, `init_params`, `init_optimizer`, then batches.

    Flags tell how far it is: binded, params_initialized, optimizer_initialized, for_training, inputs_need_grad.
    """

    def __init__(self, logger=logging):
        self.logger = logger
        self.binded = self.params_initialized = self.optimizer_initialized = False
        self.for_training = self.inputs_need_grad = False
        self._symbol = None
        self._total_exec_bytes = 0

    # ------------------------------------------------------------------ loops

    def forward_backward(self, data_batch):
        """A training `forward`, and `backward`."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def fit(self, train_data, eval_data=None, eval_metric="acc", epoch_end_callback=None, batch_end_callback=None,
            kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),), eval_end_callback=None,
            eval_batch_end_callback=None, initializer=UNIFORM, arg_params=None, aux_params=None,
            allow_missing=False, force_rebind=False, force_init=False, begin_epoch=0, num_epoch=None,
            validation_metric=None, monitor=None, sparse_row_id_fn=None):  # fmt: skip
        """Trains for the epochs `begin_epoch` to `num_epoch` - 1 on an iterator.

        epoch_end_callback(epoch, symbol, arg_params, aux_params); the others take a `BatchEndParam`. Several callbacks
        may be given as a list. monitor: a `Monitor`. Other arguments as for `bind`, `init_params`, `init_optimizer`.
        """
        if num_epoch is None:
            raise AssertionError("fit needs num_epoch, the number of epochs")
        self.bind(train_data.provide_data, train_data.provide_label, for_training=True, force_rebind=force_rebind)
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer, arg_params, aux_params, allow_missing, force_init)
        self.init_optimizer(kvstore, optimizer, optimizer_params)
        eval_metric = metric.create(eval_metric)
        validation_metric = eval_metric if validation_metric is None else validation_metric

        for epoch in range(begin_epoch, num_epoch):
            begin = time.time()
            self._before_epoch(epoch, train_data)
            eval_metric.reset()
            values = []
            for nbatch, (data_batch, last) in enumerate(_and_last(train_data)):
                if monitor is not None:
                    monitor.tic()
                self.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
                self.forward_backward(data_batch)
                self.update()
                self._update_metric(eval_metric, data_batch)
                if monitor is not None:
                    monitor.toc_print()
                if last:  # before a callback may begin the metric anew
                    values = eval_metric.get_global_name_value()
                _multiple_callbacks(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            for name, value in values:
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - begin)

            # The copies of several devices become one, and that one goes to all of them.
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            _multiple_callbacks(epoch_end_callback, epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                found = self.score(
                    eval_data, validation_metric, batch_end_callback=eval_batch_end_callback,
                    score_end_callback=eval_end_callback, epoch=epoch,
                )  # fmt: skip
                for name, value in found:
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def score(self, eval_data, eval_metric, num_batch=None, batch_end_callback=None, score_end_callback=None,
              reset=True, epoch=0, sparse_row_id_fn=None):  # fmt: skip
        """[(name, value)] of a metric over an iterator, or over its first `num_batch` batches."""
        self._need_params()
        if reset:
            eval_data.reset()
        eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        count = 0
        for nbatch, eval_batch in _first(eval_data, num_batch):
            self.prepare(eval_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            self._update_metric(eval_metric, eval_batch)
            _multiple_callbacks(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            count += 1
        _multiple_callbacks(score_end_callback, BatchEndParam(epoch, count, eval_metric, locals()))
        return eval_metric.get_name_value()

    def iter_predict(self, eval_data, num_batch=None, reset=True, sparse_row_id_fn=None):
        """Yields (outputs without padding, number of the batch, batch)."""
        self._need_params()
        if reset:
            eval_data.reset()
        for nbatch, batch in _first(eval_data, num_batch):
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            yield [out[0 : out.shape[0] - (batch.pad or 0)] for out in self.get_outputs()], nbatch, batch

    def predict(self, eval_data, num_batch=None, merge_batches=True, reset=True, always_output_list=False,
                sparse_row_id_fn=None):  # fmt: skip
        """Outputs over an iterator (or for one array), joined over batches: an array, or a list of several.

        Without `merge_batches` a list with the outputs of each batch.
        """
        self._need_params()
        if isinstance(eval_data, (nd.NDArray, np.ndarray)):
            from core.io import DataBatch

            data = nd.array(eval_data) if isinstance(eval_data, np.ndarray) else eval_data
            self.forward(DataBatch([data]), is_train=False)
            return self.get_outputs()[0]
        if not hasattr(eval_data, "reset"):
            raise ValueError(f"predict takes an iterator of batches or an array, got {type(eval_data).__name__}")
        found = self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)
        batches = [[out.copy() for out in outputs] for outputs, _, _ in found]
        if not batches or not merge_batches:
            return batches
        if len({len(outputs) for outputs in batches}) > 1:
            raise AssertionError("batches give different numbers of outputs, as in bucketing; use merge_batches=False")
        merged = [nd.concatenate(list(parts)) for parts in zip(*batches)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    def _before_epoch(self, epoch, train_data):
        """What a subclass does with the data before an epoch of `fit`."""

    def _update_metric(self, eval_metric, batch):
        if isinstance(batch, list):
            self.update_metric(eval_metric, [part.label for part in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    # ------------------------------------------------------------------ names and shapes

    @property
    def symbol(self):
        """The network."""
        return self._symbol

    @property
    def data_names(self):
        """Names of the inputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define data_names")

    @property
    def output_names(self):
        """Names of the outputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define output_names")

    @property
    def data_shapes(self):
        """(name, shape) of the inputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define data_shapes")

    @property
    def label_shapes(self):
        """(name, shape) of the labels."""
        raise NotImplementedError(f"{type(self).__name__} does not define label_shapes")

    @property
    def output_shapes(self):
        """(name, shape) of the outputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define output_shapes")

    # ------------------------------------------------------------------ parameters

    def get_params(self):
        """(arg_params, aux_params): arrays by name, on the CPU."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_params()")

    def init_params(self, initializer=UNIFORM, arg_params=None, aux_params=None, allow_missing=False,
                    force_init=False, allow_extra=False):  # fmt: skip
        """Sets the parameters to given arrays, and those not given to what the initializer makes."""
        raise NotImplementedError(f"{type(self).__name__} does not define init_params()")

    def set_params(self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False):
        """Sets the parameters to given arrays."""
        self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)

    def _keeps_params(self, force_init: bool) -> bool:
        """Whether the parameters that are there stay, which a warning says."""
        stay = self.params_initialized and not force_init
        if stay:
            warnings.warn(
                "the parameters are initialized already and stay; force_init=True sets them anew", stacklevel=3
            )
        return stay

    def _keeps_binding(self) -> bool:
        """Whether the executors that are there stay, which a warning says."""
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
        return self.binded

    def _keeps_optimizer(self, force_init: bool) -> bool:
        """Whether the optimizer that is there stays, which a warning says."""
        stays = self.optimizer_initialized and not force_init
        if stays:
            self.logger.warning("optimizer already initialized, ignoring...")
        return stays

    def save_params(self, fname):
        """Writes the parameters to a file, atomically."""
        save(fname, _named(*self.get_params()))

    def load_params(self, fname):
        """Takes the parameters of a file of `save_params`."""
        found = {"arg": {}, "aux": {}}
        for key, array in load(fname).items():
            kind, _, name = key.partition(":")
            if kind not in found or not name:
                raise ValueError(f"{fname!r} is not a parameter file of a module: {key!r} is not arg:NAME or aux:NAME")
            found[kind][name] = array
        self.set_params(found["arg"], found["aux"])

    def get_states(self, merge_multi_context=True):
        """The states that the network carries from batch to batch; none here."""
        self._need_params()
        return []

    def set_states(self, states=None, value=None):
        """Sets the states to arrays or to one value."""
        self._need_params()
        if states or value:
            raise AssertionError(f"{type(self).__name__} has no states to set")

    # ------------------------------------------------------------------ computation

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False, force_rebind=False,
             shared_module=None, grad_req="write"):  # fmt: skip
        """Prepares for inputs of these shapes: lists of (name, shape) or `DataDesc`."""
        raise NotImplementedError(f"{type(self).__name__} does not define bind()")

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        """Takes an optimizer, by name with its parameters or as an instance."""
        raise NotImplementedError(f"{type(self).__name__} does not define init_optimizer()")

    def prepare(self, data_batch, sparse_row_id_fn=None):
        """Called before each batch. sparse_row_id_fn: from a batch to the rows of row_sparse parameters it needs."""
        if sparse_row_id_fn is not None:
            warnings.warn("sparse_row_id_fn is not used by this module")

    def forward(self, data_batch, is_train=None):
        """Computes the outputs of a batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward()")

    def backward(self, out_grads=None):
        """Computes the gradients; out_grads: those of the outputs, where no loss makes them."""
        raise NotImplementedError(f"{type(self).__name__} does not define backward()")

    def update(self):
        """Updates the parameters by their gradients."""
        raise NotImplementedError(f"{type(self).__name__} does not define update()")

    def get_outputs(self, merge_multi_context=True):
        """The outputs of the last `forward`; with False each a list with the part of each device."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_outputs()")

    def get_input_grads(self, merge_multi_context=True):
        """The gradients of the inputs, where `bind` asked for them."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_input_grads()")

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Feeds a metric with labels and the outputs of the last `forward`."""
        raise NotImplementedError(f"{type(self).__name__} does not define update_metric()")

    def install_monitor(self, mon):
        """Lets a `Monitor` watch."""
        raise NotImplementedError(f"{type(self).__name__} does not define install_monitor()")

    def _need_bound(self):
        if not self.binded:
            raise AssertionError("the module is not bound to shapes yet: call bind()")

    def _need_params(self):
        self._need_bound()
        if not self.params_initialized:
            raise AssertionError("the module has no parameters yet: call init_params() or set_params()")

    def _need_optimizer(self):
        self._need_params()
        if not self.optimizer_initialized:
            raise AssertionError("the module has no optimizer yet: call init_optimizer()")


class DelegatingModule(BaseModule):
    """Base of modules whose outputs, gradients and states are those of another object, `_inner`."""

    def backward(self, out_grads=None):
        self._need_params()
        self._inner.backward(out_grads)

    def get_outputs(self, merge_multi_context=True):
        self._need_params()
        return self._inner.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context=True):
        self._need_params()
        return self._inner.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context=True):
        self._need_params()
        return self._inner.get_states(merge_multi_context)

    def set_states(self, states=None, value=None):
        self._need_params()
        self._inner.set_states(states, value)


def _and_last(data):
    """Each item with whether it is the last one."""
    iterator = iter(data)
    try:
        item = next(iterator)
    except StopIteration:
        return
    for following in iterator:
        yield item, False
        item = following
    yield item, True


def _first(data, count):
    for number, item in enumerate(data):
        if number == count:
            return
        yield number, item


def _check_input_names(symbol, names, typename, throw):
    """Warns, or raises ValueError, where a name is none of the symbol's arguments."""
    arguments = symbol.list_arguments()
    for name in names:
        if name in arguments:
            continue
        likely = [a for a in arguments if not a.endswith(("_weight", "_bias", "_gamma", "_beta"))]
        message = (
            f"{typename}_names has {name!r}, but the symbol has no argument of that name.{nearest(name, arguments)} "
            f"Its arguments that look like inputs: {', '.join(likely)}"
        )
        if throw:
            raise ValueError(message)
        warnings.warn(message)


def _check_names_match(data_names, data_shapes, name, throw):
    """Warns, or raises ValueError, where described inputs have other names than expected."""
    given = sorted(d[0] for d in data_shapes)
    if sorted(data_names) != given:
        message = f"{name}_shapes describes {given}, but {name}_names is {sorted(data_names)}"
        if throw:
            raise ValueError(message)
        warnings.warn(message)


def _parse_data_desc(data_names, label_names, data_shapes, label_shapes):
    """The shapes as lists of `DataDesc`; ValueError where inputs have other names than expected."""
    data_shapes = [d if isinstance(d, DataDesc) else DataDesc(*d) for d in data_shapes]
    _check_names_match(data_names, data_shapes, "data", True)
    if label_shapes is None:
        _check_names_match(label_names, [], "label", False)
        return data_shapes, None
    label_shapes = [d if isinstance(d, DataDesc) else DataDesc(*d) for d in label_shapes]
    _check_names_match(label_names, label_shapes, "label", False)
    return data_shapes, label_shapes

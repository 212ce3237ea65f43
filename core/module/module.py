"""`Module`: a symbol with its parameters, on one or several contexts."""

from __future__ import annotations

import copy
import logging
import warnings

from core import ndarray as nd
from core import optimizer as opt
from core.base import MXNetError
from core.context import Context, cpu, current_context
from core.files.atomic import write_bytes
from core.initializer import InitDesc
from core.io import DataDesc
from core.model import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
    load_checkpoint,
    save_checkpoint,
)
from core.module.base_module import UNIFORM, DelegatingModule, _check_input_names, _parse_data_desc
from core.module.executor_group import DataParallelExecutorGroup


class Module(DelegatingModule):
    """A network given by a symbol.

    data_names, label_names: its inputs. context: one or several; work_load_list: the share of each. fixed_param_names:
    parameters that are not trained. state_names: inputs that carry states from batch to batch. compression_params:
    gradient compression of a distributed kvstore.
    """

    def __init__(self, symbol, data_names=("data",), label_names=("softmax_label",), logger=logging, context=None,
                 work_load_list=None, fixed_param_names=None, state_names=None, group2ctxs=None,
                 compression_params=None):  # fmt: skip
        super().__init__(logger=logger)
        context = context or current_context()
        self._context = [context] if isinstance(context, Context) else list(context)
        self._work_load_list = work_load_list or [1] * len(self._context)
        if len(self._work_load_list) != len(self._context):
            raise AssertionError(f"{len(self._work_load_list)} work loads for {len(self._context)} contexts")
        self._symbol, self._group2ctxs, self._compression_params = symbol, group2ctxs, compression_params
        self._data_names, self._label_names = list(data_names or []), list(label_names or [])
        self._state_names, self._fixed_param_names = list(state_names or []), list(fixed_param_names or [])
        for names, kind, throw in (
            (self._data_names, "data", True),
            (self._label_names, "label", False),
            (self._state_names, "state", True),
            (self._fixed_param_names, "fixed_param", True),
        ):
            _check_input_names(symbol, names, kind, throw)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in symbol.list_arguments() if name not in inputs]
        self._aux_names, self._output_names = symbol.list_auxiliary_states(), symbol.list_outputs()
        self._arg_params = self._aux_params = None
        self._params_dirty = False  # whether the contexts have newer parameters than _arg_params
        self._optimizer = self._kvstore = self._update_on_kvstore = self._updater = None
        self._preload_opt_states = None
        self._reset_bind()

    # ------------------------------------------------------------------ files

    @staticmethod
    def load(prefix, epoch, load_optimizer_states=False, **kwargs):
        """A module from a checkpoint, still to be bound."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        module = Module(symbol, **kwargs)
        module._arg_params, module._aux_params, module.params_initialized = arg_params, aux_params, True
        if load_optimizer_states:
            module._preload_opt_states = f"{prefix}-{epoch:04d}.states"
        return module

    def save_checkpoint(self, prefix, epoch, save_optimizer_states=False, remove_amp_cast=True):
        """Writes `prefix-symbol.json`, `prefix-EPOCH.params` and, on demand, `prefix-EPOCH.states`."""
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast)
        if save_optimizer_states:
            path = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(path)
            logging.info('Saved optimizer state to "%s"', path)

    def save_optimizer_states(self, fname):
        """Writes the optimizer's states, atomically."""
        self._need_optimizer()
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
        else:
            write_bytes(fname, self._updater.get_states())

    def load_optimizer_states(self, fname):
        """Reads a file of `save_optimizer_states`, or one that MXNet wrote."""
        self._need_optimizer()
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
        else:
            self._updater.load(fname)

    # ------------------------------------------------------------------ names and shapes

    @property
    def data_names(self):
        return self._data_names

    @property
    def label_names(self):
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self):
        return self._output_names

    @property
    def data_shapes(self):
        self._need_bound()
        return self._data_shapes

    @property
    def label_shapes(self):
        self._need_bound()
        return self._label_shapes

    @property
    def output_shapes(self):
        self._need_bound()
        return self._exec_group.get_output_shapes()

    # ------------------------------------------------------------------ parameters

    def get_params(self):
        if not self.params_initialized:
            raise AssertionError("the module has no parameters yet: call init_params() or set_params()")
        if self._params_dirty:
            self._sync_params_from_devices()
        return self._arg_params, self._aux_params

    def init_params(self, initializer=UNIFORM, arg_params=None, aux_params=None, allow_missing=False,
                    force_init=False, allow_extra=False):  # fmt: skip
        """Sets the parameters to given arrays, and those not given to what the initializer makes.

        RuntimeError where some are given, others are missing, and not `allow_missing`. Names that the network has not
        are passed over. Without `force_init` parameters that are there stay.
        """
        if self._keeps_params(force_init):
            return
        if not self.binded:
            raise AssertionError("the module is not bound to shapes yet: call bind()")
        attributes = self._symbol.attr_dict()
        for own, given in ((self._arg_params, arg_params), (self._aux_params, aux_params)):
            for name, array in sorted(own.items()):
                if given is not None and name in given:
                    if given[name] is not array:
                        given[name].copyto(array)
                    continue
                if given is not None and not allow_missing:
                    raise RuntimeError(f"parameter {name!r} is not given; allow_missing=True initializes it")
                if initializer is not None:
                    initializer(InitDesc(name, attributes.get(name)), array)
        self.params_initialized, self._params_dirty = True, False
        self._exec_group.set_params(self._arg_params, self._aux_params)

    def set_params(self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False):
        """Sets the parameters to given arrays.

        RuntimeError where one is missing; with `allow_missing` none is, and unknown names are a ValueError unless
        `allow_extra`.
        """
        if not allow_missing:
            self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
        elif not self._keeps_params(force_init):
            self._exec_group.set_params(arg_params, aux_params, allow_extra)
            self._params_dirty = self.params_initialized = True

    def _sync_params_from_devices(self):
        self._exec_group.get_params(self._arg_params, self._aux_params)
        if self._kvstore is not None and self._update_on_kvstore:
            for name, array in sorted(self._arg_params.items()):
                if array.stype == "row_sparse":
                    rows = nd.arange(0, array.shape[0], dtype="int64")
                    self._kvstore.row_sparse_pull(name, array, row_ids=rows)
        self._params_dirty = False

    # ------------------------------------------------------------------ binding

    def _reset_bind(self):
        self.binded = False
        self._exec_group = self._data_shapes = self._label_shapes = None

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False, force_rebind=False,
             shared_module=None, grad_req="write"):  # fmt: skip
        """Makes the executors for inputs of these shapes.

        shared_module: a bound module whose parameters are used. grad_req: write, add or null, for all or by argument.
        """
        if force_rebind:
            if self.binded and self.params_initialized and self._params_dirty:
                self._sync_params_from_devices()
            self._reset_bind()
        if self._keeps_binding():
            return
        if inputs_need_grad and not for_training:
            raise AssertionError("gradients of inputs need for_training=True")
        self.for_training, self.inputs_need_grad, self._grad_req = for_training, inputs_need_grad, grad_req
        self._data_shapes, self._label_shapes = _parse_data_desc(
            self.data_names, self.label_names, data_shapes, label_shapes
        )
        shared_group = None
        if shared_module is not None:
            if not (isinstance(shared_module, Module) and shared_module.binded and shared_module.params_initialized):
                raise AssertionError("shared_module is to be a bound Module with parameters")
            shared_group = shared_module._exec_group
        self._exec_group = DataParallelExecutorGroup(
            self._symbol, self._context, self._work_load_list, self._data_shapes, self._label_shapes,
            self._param_names, for_training, inputs_need_grad, shared_group, logger=self.logger,
            fixed_param_names=self._fixed_param_names, grad_req=grad_req, group2ctxs=self._group2ctxs,
            state_names=self._state_names,
        )  # fmt: skip
        self.binded = True
        if shared_module is not None:
            self._arg_params, self._aux_params = shared_module._arg_params, shared_module._aux_params
            self.params_initialized = True
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
        elif self.params_initialized:
            self._exec_group.set_params(self._arg_params, self._aux_params)
        else:
            self._arg_params = self._like(self._param_names, self._exec_group.param_arrays)
            self._aux_params = self._like(self._aux_names, self._exec_group.aux_arrays)

    @staticmethod
    def _like(names, rows):
        return {
            name: nd.zeros(copies[0].shape, cpu(), copies[0].dtype, stype=copies[0].stype)
            for name, copies in zip(names, rows)
        }

    def reshape(self, data_shapes, label_shapes=None):
        """Goes on with other input shapes and the same parameters."""
        self._need_bound()
        self._data_shapes, self._label_shapes = _parse_data_desc(
            self.data_names, self.label_names, data_shapes, label_shapes
        )
        self._exec_group.reshape(self._data_shapes, self._label_shapes)

    # ------------------------------------------------------------------ optimizer

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        """Takes an optimizer, by name with its parameters or as an instance.

        One made by name divides gradients by the batch size (of all processes, with a synchronous distributed
        kvstore) unless its parameters say otherwise by rescale_grad.
        """
        self._need_params()
        if self._keeps_optimizer(force_init):
            return
        if self._params_dirty:
            self._sync_params_from_devices()
        kvstore, self._update_on_kvstore = _create_kvstore(kvstore, len(self._context), self._arg_params)
        batch_size = self._exec_group.batch_size
        if kvstore is not None and "dist" in kvstore.type and "_async" not in kvstore.type:
            batch_size *= kvstore.num_workers
        optimizer = self._made(optimizer, dict(optimizer_params), batch_size)
        self._optimizer, self._kvstore, self._updater = optimizer, kvstore, None
        if kvstore is not None:
            if self._compression_params:
                kvstore.set_gradient_compression(self._compression_params)
            if self._update_on_kvstore:
                kvstore.set_optimizer(optimizer)
            _initialize_kvstore(
                kvstore, self._exec_group.param_arrays, self._arg_params, self._param_names, self._update_on_kvstore
            )
        if not self._update_on_kvstore:
            self._updater = opt.get_updater(optimizer)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def _made(self, optimizer, settings: dict, batch_size: int) -> opt.Optimizer:
        """The optimizer, made where only its name is given, with the names of the parameters that it updates."""
        copies = 1 if self._update_on_kvstore else len(self._context)
        names = {i * copies + k: n for i, n in enumerate(self._param_names) for k in range(copies)}
        if isinstance(optimizer, str):
            settings = {"rescale_grad": 1.0 / batch_size, **settings}
            return opt.create(optimizer, sym=self.symbol, param_idx2name=names, **settings)
        if not isinstance(optimizer, opt.Optimizer):
            raise AssertionError(f"optimizer is a name or an Optimizer, got {optimizer!r}")
        if optimizer.rescale_grad != 1.0 / batch_size:
            warnings.warn(
                f"the optimizer's rescale_grad is {optimizer.rescale_grad}, not 1/{batch_size}, one over the batch "
                "size. Is this intended?",
                stacklevel=3,
            )
        if not optimizer.idx2name:
            optimizer.idx2name = names
        return optimizer

    def borrow_optimizer(self, shared_module):
        """Uses the optimizer, the kvstore and the states of another module."""
        if not shared_module.optimizer_initialized:
            raise AssertionError("the other module has no optimizer to borrow")
        for name in ("_optimizer", "_kvstore", "_update_on_kvstore", "_updater"):
            setattr(self, name, getattr(shared_module, name))
        self.optimizer_initialized = True

    def update(self):
        self._need_optimizer()
        self._params_dirty = True
        group = self._exec_group
        if self._update_on_kvstore:
            _update_params_on_kvstore(group.param_arrays, group.grad_arrays, self._kvstore, self._param_names)
        else:
            _update_params(
                group.param_arrays, group.grad_arrays, self._updater, len(self._context), self._kvstore,
                self._param_names,
            )  # fmt: skip

    # ------------------------------------------------------------------ computation

    def prepare(self, data_batch, sparse_row_id_fn=None):
        """Pulls the rows of row_sparse parameters that the batch needs: sparse_row_id_fn gives them by name."""
        self._need_bound()
        if sparse_row_id_fn is None:
            return
        if not self._kvstore or not self._update_on_kvstore:
            warnings.warn("the parameters are not updated in a kvstore: sparse_row_id_fn is not needed")
            return
        for name, rows in sparse_row_id_fn(data_batch).items():
            copies = self._exec_group.param_arrays[self._param_names.index(name)]
            if copies[0].stype != "row_sparse":
                warnings.warn(f"{name} is not row_sparse: no rows of it need to be pulled")
            else:
                self._kvstore.row_sparse_pull(name, copies, row_ids=rows, priority=0)

    def forward(self, data_batch, is_train=None):
        """Computes the outputs of a batch, of any shape; a list of batches has one for each context."""
        self._need_params()
        if isinstance(data_batch, list):
            data_batch = _joined(data_batch)
        given = tuple(_shape(d) for d in data_batch.data)
        if given != tuple(d.shape for d in self._data_shapes):
            self._follow(data_batch)
        self._exec_group.forward(data_batch, is_train)

    def _follow(self, batch):
        """Reshapes to a batch that has another shape than the one before."""
        data = getattr(batch, "provide_data", None)
        if not data:
            data = [DataDesc(d.name, _shape(a), d.dtype, d.layout) for d, a in zip(self._data_shapes, batch.data)]
        labels = getattr(batch, "provide_label", None) or None
        if labels is None and getattr(batch, "label", None) and self._label_shapes:
            labels = [DataDesc(d.name, _shape(a), d.dtype, d.layout) for d, a in zip(self._label_shapes, batch.label)]
        self.reshape(data, labels)

    @property
    def _inner(self):
        return self._exec_group

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon):
        self._need_bound()
        self._exec_group.install_monitor(mon)


def _shape(array):
    """The shape of an input; of a list of parts, one for each context, that of the whole."""
    if isinstance(array, (list, tuple)):
        return (sum(part.shape[0] for part in array), *array[0].shape[1:])
    return tuple(array.shape)


def _joined(batches):
    """One batch whose arrays are lists of those of several, one for each context."""
    if not batches:
        raise MXNetError("there is no batch in the list")
    whole = copy.copy(batches[0])
    whole.data = [list(parts) for parts in zip(*(b.data for b in batches))]
    whole.label = [list(parts) for parts in zip(*(b.label for b in batches))] if batches[0].label else None
    whole.provide_data = whole.provide_label = None
    return whole

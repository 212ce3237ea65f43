"""`SequentialModule`: modules one after the other."""

from __future__ import annotations

import logging
from types import SimpleNamespace

from core.module.base_module import UNIFORM, BaseModule


class SequentialModule(BaseModule):
    """A chain of modules, each fed with the outputs of the one before.

    `add(module, take_labels=True)`: the module gets the labels. `add(module, auto_wiring=True)`: outputs of the module
    before take the names of its inputs, in order.
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger=logging):
        super().__init__(logger=logger)
        self._modules, self._metas = [], []
        self._data_shapes = self._label_shapes = None

    def add(self, module, **kwargs):
        """Adds a module to the end; returns the chain."""
        known = (self.META_TAKE_LABELS, self.META_AUTO_WIRING)
        for key in kwargs:
            if key not in known:
                raise AssertionError(f"add() knows {' and '.join(known)}, given {key!r}")
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    @property
    def data_names(self):
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self):
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self):
        self._need_bound()
        return self._modules[0].data_shapes

    @property
    def label_shapes(self):
        self._need_bound()
        return self._label_shapes

    @property
    def output_shapes(self):
        self._need_bound()
        return self._modules[-1].output_shapes

    def get_params(self):
        self._need_params()
        arg_params, aux_params = {}, {}
        for module in self._modules:
            args, auxs = module.get_params()
            arg_params |= args
            aux_params |= auxs
        return arg_params, aux_params

    def init_params(self, initializer=UNIFORM, arg_params=None, aux_params=None, allow_missing=False,
                    force_init=False, allow_extra=False):  # fmt: skip
        """Sets the parameters of all modules; AssertionError where two modules have one of the same name."""
        if self.params_initialized and not force_init:
            return
        self._need_bound()
        owners = {}
        for number, module in enumerate(self._modules):
            # Given values may be those of the whole chain, of which each module takes its own.
            module.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra=True)
            for name in (name for params in module.get_params() for name in params):
                if name in owners:
                    raise AssertionError(f"modules {owners[name]} and {number} both have a parameter {name!r}")
                owners[name] = number
        extra = sorted({*(arg_params or ()), *(aux_params or ())} - set(owners))
        if extra and not allow_extra:
            raise ValueError(f"no module has a parameter {', '.join(extra)}; allow_extra=True skips such names")
        self.params_initialized = True

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False, force_rebind=False,
             shared_module=None, grad_req="write"):  # fmt: skip
        if not force_rebind and self._keeps_binding():
            return
        if inputs_need_grad and not for_training:
            raise AssertionError("gradients of inputs need for_training=True")
        if shared_module is not None:
            raise AssertionError("a SequentialModule cannot share the parameters of another module")
        if not self._modules:
            raise AssertionError("there is no module in the chain: add() some")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        shapes, labelled = data_shapes, False
        for number, (module, meta) in enumerate(zip(self._modules, self._metas)):
            takes = meta.get(self.META_TAKE_LABELS, False)
            labelled = labelled or takes
            if meta.get(self.META_AUTO_WIRING, False):
                if len(module.data_names) != len(shapes):
                    raise AssertionError(
                        f"module {number} has {len(module.data_names)} inputs for {len(shapes)} outputs"
                    )
                shapes = [(name, shape[1]) for name, shape in zip(module.data_names, shapes)]
            wanted = inputs_need_grad if number == 0 else for_training
            module.bind(shapes, label_shapes if takes else None, for_training, wanted, force_rebind, None, grad_req)
            shapes = module.output_shapes
        self._label_shapes = label_shapes if labelled else None
        self.binded = True

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        self._need_params()
        if self._keeps_optimizer(force_init):
            return
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self.optimizer_initialized = True

    def forward(self, data_batch, is_train=None):
        self._need_params()
        batch = SimpleNamespace(**vars(data_batch))
        for number, module in enumerate(self._modules):
            module.forward(batch, is_train=is_train)
            if number + 1 < len(self._modules):
                batch.data = module.get_outputs()
                names = [name for name, *_ in module.output_shapes]
                batch.provide_data = None
                if len(names) != len(batch.data):
                    raise AssertionError(f"module {number} names {len(names)} outputs and gives {len(batch.data)}")

    def backward(self, out_grads=None):
        self._need_params()
        for number, module in reversed(list(enumerate(self._modules))):
            module.backward(out_grads=out_grads)
            out_grads = module.get_input_grads() if number else None

    def update(self):
        self._need_optimizer()
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context=True):
        self._need_params()
        return self._modules[-1].get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context=True):
        self._need_params()
        return self._modules[0].get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        self._need_params()
        for module, meta in zip(self._modules, self._metas):
            if meta.get(self.META_TAKE_LABELS, False):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon):
        self._need_bound()
        for module in self._modules:
            module.install_monitor(mon)

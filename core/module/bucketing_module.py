"""`BucketingModule`: one network for each length of the input, with the same parameters."""

from __future__ import annotations

import logging

from core import symbol as sym
from core.base import MXNetError
from core.context import current_context
from core.files.atomic import write_bytes
from core.model import load_params
from core.module.base_module import UNIFORM, DelegatingModule, _check_input_names
from core.module.module import Module
from core.name import NameManager


class BucketingModule(DelegatingModule):
    """Modules by bucket key, which share parameters and optimizer.

    sym_gen: from a bucket key (such as the length of a sentence) to (symbol, data_names, label_names).
    default_bucket_key: the largest one, whose network has all parameters. Other arguments as for `Module`.
    """

    def __init__(self, sym_gen, default_bucket_key=None, logger=logging, context=None, work_load_list=None,
                 fixed_param_names=None, state_names=None, group2ctxs=None, compression_params=None):  # fmt: skip
        super().__init__(logger=logger)
        if default_bucket_key is None:
            raise AssertionError("a BucketingModule needs default_bucket_key, the key of its largest bucket")
        self._default_bucket_key, self._sym_gen = default_bucket_key, sym_gen
        symbol, data_names, label_names = self._call_sym_gen(default_bucket_key)
        for names, kind, throw in (
            (data_names, "data", True),
            (label_names, "label", False),
            (state_names, "state", True),
            (fixed_param_names, "fixed_param", True),
        ):
            _check_input_names(symbol, list(names or []), kind, throw)
        self._settings = {
            "logger": logger, "context": context or current_context(), "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names, "state_names": state_names, "group2ctxs": group2ctxs,
            "compression_params": compression_params,
        }  # fmt: skip
        self._fixed_param_names, self._state_names = list(fixed_param_names or []), list(state_names or [])
        self._monitor = self._grad_req = None
        self._reset_bind()

    def _reset_bind(self):
        self.binded = False
        self._buckets, self._curr_module, self._curr_bucket_key = {}, None, None

    def _call_sym_gen(self, key):
        """The network of a bucket; automatic names begin anew in each, so that its parameters are those of the others."""
        with NameManager():
            return self._sym_gen(key)

    def _make(self, key):
        return Module(*self._call_sym_gen(key), **self._settings)

    # ------------------------------------------------------------------ names and shapes

    @property
    def symbol(self):
        self._need_bound()
        return self._curr_module.symbol

    @property
    def data_names(self):
        return self._curr_module.data_names if self.binded else self._call_sym_gen(self._default_bucket_key)[1]

    @property
    def output_names(self):
        if self.binded:
            return self._curr_module.output_names
        return self._call_sym_gen(self._default_bucket_key)[0].list_outputs()

    @property
    def data_shapes(self):
        self._need_bound()
        return self._curr_module.data_shapes

    @property
    def label_shapes(self):
        self._need_bound()
        return self._curr_module.label_shapes

    @property
    def output_shapes(self):
        self._need_bound()
        return self._curr_module.output_shapes

    # ------------------------------------------------------------------ parameters

    def get_params(self):
        self._need_params()
        self._curr_module._params_dirty = self._params_dirty
        found = self._curr_module.get_params()
        self._params_dirty = False
        return found

    _params_dirty = False

    def init_params(self, initializer=UNIFORM, arg_params=None, aux_params=None, allow_missing=False,
                    force_init=False, allow_extra=False):  # fmt: skip
        if self.params_initialized and not force_init:
            return
        self._need_bound()
        self._curr_module.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
        self._params_dirty, self.params_initialized = False, True

    def set_params(self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False):
        if not allow_missing:
            self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
        elif not self._keeps_params(force_init):
            self._curr_module.set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
            self._params_dirty = self.params_initialized = True

    # ------------------------------------------------------------------ binding

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False, force_rebind=False,
             shared_module=None, grad_req="write"):  # fmt: skip
        """Binds the default bucket; the others follow when a batch has their key."""
        if shared_module is not None:
            raise AssertionError("a BucketingModule cannot share the parameters of another module")
        params = self.get_params() if self.binded and self.params_initialized else None
        if force_rebind:
            self._reset_bind()
        if self._keeps_binding():
            return
        self.for_training, self.inputs_need_grad, self._grad_req = for_training, inputs_need_grad, grad_req
        key = self._default_bucket_key
        module = self._buckets[key] = self._make(key) if self._curr_module is None else self._curr_module
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self._curr_module, self._curr_bucket_key, self.binded = module, key, True
        if params is not None:
            self.set_params(*params)
        elif module.params_initialized:
            self.params_initialized = True

    def switch_bucket(self, bucket_key, data_shapes, label_shapes=None):
        """Goes on with the network of another bucket, made when it is first needed."""
        self._need_bound()
        module = self._buckets.get(bucket_key)
        default = self._buckets[self._default_bucket_key]
        if module is None:
            module = self._make(bucket_key)
            settings = (self._curr_module.for_training, self._curr_module.inputs_need_grad)
            module.bind(data_shapes, label_shapes, *settings, shared_module=default, grad_req=self._grad_req)
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        elif not module.binded:
            module.bind(data_shapes, label_shapes, self.for_training, self.inputs_need_grad, shared_module=default,
                        grad_req=self._grad_req)  # fmt: skip
        self._curr_module, self._curr_bucket_key = module, bucket_key

    # ------------------------------------------------------------------ computation

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        self._need_params()
        if self._keeps_optimizer(force_init):
            return
        self._curr_module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not self._curr_module:
                module.borrow_optimizer(self._curr_module)
        self.optimizer_initialized = True

    def prepare(self, data_batch, sparse_row_id_fn=None):
        """Makes the network of the batch's bucket ready."""
        self._need_params()
        current = self._curr_bucket_key, self._curr_module
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.prepare(data_batch, sparse_row_id_fn)
        self._curr_bucket_key, self._curr_module = current

    def forward(self, data_batch, is_train=None):
        """Computes the outputs of a batch with the network of its `bucket_key`."""
        self._need_params()
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.forward(data_batch, is_train)

    def update(self):
        self._need_optimizer()
        self._params_dirty = True
        self._curr_module.update()

    @property
    def _inner(self):
        return self._curr_module

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        self._need_params()
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon):
        self._need_bound()
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    # ------------------------------------------------------------------ files

    def save_checkpoint(self, prefix, epoch, remove_amp_cast=False):
        """Writes the symbol of each bucket, their keys, and the parameters they share."""
        self._need_params()
        for key, module in self._buckets.items():
            module.symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        write_bytes(f"{prefix}.buckets", "".join(f"{key}\n" for key in self._buckets).encode())
        path = f"{prefix}-{epoch:04d}.params"
        self.save_params(path)
        logging.info('Saved checkpoint to "%s"', path)

    @staticmethod
    def load(prefix, epoch, sym_gen=None, default_bucket_key=None, **kwargs):
        """A module from `save_checkpoint`; `sym_gen` as when it was saved."""
        if sym_gen is None or default_bucket_key is None:
            raise AssertionError(
                "BucketingModule.load needs the sym_gen and the default_bucket_key of the saved module"
            )
        with open(f"{prefix}.buckets", encoding="utf-8") as file:
            keys = [_key(line.strip(), default_bucket_key) for line in file if line.strip()]
        if default_bucket_key not in keys:
            raise MXNetError(
                f"{prefix}.buckets does not hold the default bucket key {default_bucket_key!r}, but {keys}"
            )
        symbols = {key: sym.load(f"{prefix}-{key}-symbol.json") for key in keys}
        return BucketingModule.load_dict(symbols, sym_gen, default_bucket_key, *load_params(prefix, epoch), **kwargs)

    @staticmethod
    def load_dict(sym_dict=None, sym_gen=None, default_bucket_key=None, arg_params=None, aux_params=None, **kwargs):
        """A module from symbols by bucket key and the parameters that they share."""
        for name, given in (("sym_dict", sym_dict), ("arg_params", arg_params), ("aux_params", aux_params),
                            ("default_bucket_key", default_bucket_key)):  # fmt: skip
            if given is None:
                raise AssertionError(f"BucketingModule.load_dict needs {name}")
        made = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        for key, symbol in sym_dict.items():
            _, data_names, label_names = sym_gen(key)
            made._buckets[key] = Module(symbol, data_names, label_names, **made._settings)
        made._curr_module = made._buckets[default_bucket_key]
        made._curr_module._arg_params, made._curr_module._aux_params = arg_params, aux_params
        made._curr_module.params_initialized = made.params_initialized = True
        return made


def _key(text: str, like):
    """A bucket key from a file: a number where the default key is one."""
    return type(like)(text) if isinstance(like, (int, float)) else text

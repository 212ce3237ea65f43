"""`PythonModule`: a module whose computation is written in Python, such as a loss at the end of a chain."""

from __future__ import annotations

import logging

from core import ndarray as nd
from core.module.base_module import UNIFORM, BaseModule


class PythonModule(BaseModule):
    """Base of modules without parameters: subclasses define `forward`, `backward` and `_compute_output_shapes`."""

    def __init__(self, data_names, label_names, output_names, logger=logging):
        super().__init__(logger=logger)
        self._data_names = list(data_names)
        self._label_names = None if label_names is None else list(label_names)
        self._output_names = list(output_names)
        self._data_shapes = self._label_shapes = self._output_shapes = None

    @property
    def data_names(self):
        return self._data_names

    @property
    def output_names(self):
        return self._output_names

    @property
    def data_shapes(self):
        return self._data_shapes

    @property
    def label_shapes(self):
        return self._label_shapes

    @property
    def output_shapes(self):
        return self._output_shapes

    def get_params(self):
        """There are none."""
        return {}, {}

    def init_params(self, initializer=UNIFORM, arg_params=None, aux_params=None, allow_missing=False,
                    force_init=False, allow_extra=False):  # fmt: skip
        """Nothing to initialize."""
        self.params_initialized = True

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        """Nothing to optimize."""
        self.optimizer_initialized = True

    def update(self):
        """Nothing to update."""

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Feeds a metric with labels and outputs, where the module has labels."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise NotImplementedError(f"{type(self).__name__} takes labels of the whole batch, not sliced ones")
        eval_metric.update(labels, self.get_outputs())

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False, force_rebind=False,
             shared_module=None, grad_req="write"):  # fmt: skip
        if not force_rebind and self._keeps_binding():
            return
        if grad_req != "write":
            raise AssertionError(f"a PythonModule writes its gradients; grad_req {grad_req!r} is not supported")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        for what, names, shapes in (
            ("data", self._data_names, data_shapes),
            ("label", self._label_names, label_shapes),
        ):
            if shapes is not None and [d[0] for d in shapes] != (names or []):
                raise AssertionError(f"{what}_shapes is to describe {names}, given {[d[0] for d in shapes]}")
        self._data_shapes, self._label_shapes = data_shapes, label_shapes
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _compute_output_shapes(self):
        """[(name, shape)] of the outputs, from the shapes of the inputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define _compute_output_shapes()")


class PythonLossModule(PythonModule):
    """A loss at the end of a chain: passes its input on, and makes the gradient with `grad_func(scores, labels)`."""

    def __init__(self, name="pyloss", data_names=("data",), label_names=("softmax_label",), logger=logging,
                 grad_func=None):  # fmt: skip
        if len(data_names) != 1 or len(label_names) != 1:
            raise AssertionError("a PythonLossModule has one input and one label")
        if grad_func is not None and not callable(grad_func):
            raise AssertionError(f"grad_func is a function of scores and labels, got {grad_func!r}")
        super().__init__(data_names, label_names, [name + "_output"], logger=logger)
        self._name, self._grad_func = name, grad_func
        self._scores = self._labels = self._scores_grad = None

    def _compute_output_shapes(self):
        return [(self._name + "_output", self._data_shapes[0][1])]

    def forward(self, data_batch, is_train=None):
        """Keeps the scores and, in training, the labels."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context=True):
        """The scores."""
        return [self._scores]

    def backward(self, out_grads=None):
        """Computes the gradient of the scores."""
        if out_grads is not None:
            raise AssertionError("a loss makes its own gradient: out_grads is to be None")
        if not self.for_training:
            raise AssertionError("bind with for_training=True before running backward")
        self._backward_impl()

    def _backward_impl(self):
        if self._grad_func is None:
            raise NotImplementedError("give a grad_func, or override _backward_impl")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, nd.NDArray) else nd.array(grad)

    def get_input_grads(self, merge_multi_context=True):
        """The gradient of the scores."""
        return [self._scores_grad]

    def install_monitor(self, mon):
        """There is nothing to watch."""
        raise NotImplementedError("a PythonLossModule has no executor to watch")

"""The optimizers that MXNet's `SVRGModule` puts into a kvstore, which ours does without."""

from __future__ import annotations

from core import optimizer

_OF_ALL = {
    "rescale_grad", "param_idx2name", "wd", "clip_gradient", "learning_rate", "lr_scheduler", "sym", "begin_num_update",
    "multi_precision", "param_dict",
}  # fmt: skip


@optimizer.register
class _AssignmentOptimizer(optimizer.Optimizer):
    """Weights become the gradients, so that a kvstore sums these."""

    def create_state(self, index, weight):
        return None

    def update(self, index, weight, grad, state):
        weight[:] = grad


@optimizer.register
class _SVRGOptimizer(optimizer.Optimizer):
    """Assigns parameters whose name contains "full", and updates the others by `default_optimizer`."""

    def __init__(self, default_optimizer, **kwargs):
        super().__init__(**{name: value for name, value in kwargs.items() if name in _OF_ALL})
        by_name = isinstance(default_optimizer, str)
        self.default_opt = optimizer.create(default_optimizer, **kwargs) if by_name else default_optimizer
        self.aux_opt = _AssignmentOptimizer()

    def create_state(self, index, weight):
        return self._optimizer(index).create_state(index, weight)

    def update(self, index, weight, grad, state):
        self._optimizer(index).update(index, weight, grad, state)

    def _optimizer(self, index):
        name = index if index in self.idx2name.values() else self.idx2name[index]
        return self.aux_opt if "full" in name else self.default_opt

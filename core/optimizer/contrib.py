"""Optimizers that MXNet kept in its contrib part."""

from __future__ import annotations

from core import ndarray as nd
from core.kernels import optimizer as kernels
from core.optimizer.optimizer import Optimizer, register


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one history for each row of a matrix; for embeddings. Weight decay is not supported.

    >>> weight = nd.array([[1, 2]])
    >>> step = optimizer.get_updater(optimizer.GroupAdaGrad(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [[0.9 1.9]]
    <NDArray 1x2 @cpu(0)>
    """

    elementwise = False
    master_in_kernel = False

    def __init__(self, eps=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index, weight):
        if len(weight.shape) != 2:
            raise AssertionError(f"GroupAdaGrad is for matrices, parameter {index!r} has shape {weight.shape}")
        return nd.zeros((weight.shape[0], 1), ctx=weight.context, dtype=weight.dtype)

    def _rule(self, weight, grad, state, lr, wd, t):
        if wd != 0:
            raise AssertionError(f"GroupAdaGrad does not support weight decay, got {wd}")
        self._run(kernels.group_adagrad_, weight, grad, state, lr, self.float_stable_eps)

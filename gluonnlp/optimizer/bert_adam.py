"""The optimizer that BERT was trained with."""

from __future__ import annotations

import warnings

import numpy as np

from core import nd
from core.optimizer import Optimizer, register

__all__ = ["BERTAdam"]


@register
class BERTAdam(Optimizer):
    """Adam without bias correction (Devlin et al., 2019), weight decay apart (Loshchilov and Hutter, 2019).

    mean = beta1 mean + (1 - beta1) grad;  var = beta2 var + (1 - beta2) grad^2
    weight -= learning_rate (mean / (sqrt(var) + epsilon) + wd weight)

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(gluonnlp.optimizer.BERTAdam(learning_rate=0.1))
    >>> step(0, nd.ones(2), weight)
    >>> weight
    [0.6838 1.6838]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        # How many parameters the updater hands over at a time.
        self.aggregate_num = 4

    def create_state(self, index, weight):
        """Mean and variance, of the weight's shape and type."""
        return tuple(nd.zeros(weight.shape, weight.context, dtype=weight.dtype) for _ in range(2))

    def create_state_multi_precision(self, index, weight):
        """With multi_precision, a float16 weight gets a float32 copy: (mean and variance of it, the copy)."""
        if weight.dtype == np.float16:
            if self.multi_precision:
                master = weight.astype("float32")
                return self.create_state(index, master), master
            warnings.warn("BERTAdam sums up in float16, which is inexact; multi_precision=True keeps float32 copies.")
        return self.create_state(index, weight)

    def update(self, index, weight, grad, state):
        """Updates one weight, or each of a list."""
        self._update_all(index, weight, grad, state)

    def update_multi_precision(self, index, weight, grad, state):
        """As `update`, with the states of `create_state_multi_precision`."""
        self._update_all(index, weight, grad, state)

    def _update_all(self, index, weight, grad, state):
        if not isinstance(index, (tuple, list)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        rates = zip(self._get_lrs(index), self._get_wds(index))
        for w, g, s, (lr, wd) in zip(weight, grad, state, rates, strict=True):
            settings = {
                "lr": 1,
                "eta": lr,
                "wd": wd,
                "beta1": self.beta1,
                "beta2": self.beta2,
                "epsilon": self.epsilon,
                "clip_gradient": self.clip_gradient or -1,
            }
            # An array, so that a loss scaler can change it within a compiled step.
            rescale = self.rescale_grad
            if not isinstance(rescale, nd.NDArray):
                rescale = nd.full((1,), rescale, ctx=w.context)
            if self.multi_precision and w.dtype == np.float16:
                (mean, var), master = s
                nd.contrib.mp_adamw_update(w, g, mean, var, master, rescale, out=w, **settings)
            else:
                mean, var = s
                nd.contrib.adamw_update(w, g, mean, var, rescale, out=w, **settings)

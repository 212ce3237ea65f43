"""Stochastic gradient descent and its relatives."""

from __future__ import annotations

import logging
import math
import os

from core import ndarray as nd
from core.kernels import optimizer as kernels
from core.optimizer.optimizer import Optimizer, register, zeros_like


class _Momentum(Optimizer):
    """Optimizers whose state is one momentum array, or None where `momentum` is 0."""

    master_last = True
    momentum = 0.0
    _kernel = staticmethod(kernels.sgd_momentum_)

    def create_state(self, index, weight):
        return zeros_like(weight) if self.momentum != 0.0 else None

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        if state is None:
            self._run(kernels.sgd_, weight, grad, None, lr, wd, **where)
        else:
            self._run(self._kernel, weight, grad, state, lr, wd, self._current_momentum(), **where)

    def _current_momentum(self):
        return self.momentum


@register
class SGD(_Momentum):
    """weight -= lr (grad + wd weight), with `momentum` by a running sum of these steps.

    lazy_update: rows of a row-sparse gradient alone are updated.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.SGD(learning_rate=0.1, momentum=0.9))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9 1.9]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, momentum=0.0, lazy_update=True, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update


@register
class ccSGD(SGD):
    """`SGD` under an old name.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.ccSGD(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9 1.9]
    <NDArray 2 @cpu(0)>
    """


@register
class NAG(_Momentum):
    """SGD with Nesterov's momentum (Nesterov, 1983).

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.NAG(learning_rate=0.1, momentum=0.9))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.81 1.81]
    <NDArray 2 @cpu(0)>
    """

    _kernel = staticmethod(kernels.nag_)

    def __init__(self, momentum=0.0, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum

    def _is_lazy(self, weight, wd):
        return self.momentum == 0.0  # then it is SGD, which leaves rows without a gradient alone


@register
class Signum(_Momentum):
    """Steps of the sign of the momentum, or of the gradient where `momentum` is 0 (Bernstein et al., 2018).

    wd_lh: weight decay that does not pass through the sign (Loshchilov and Hutter, 2019).

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.Signum(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9 1.9]
    <NDArray 2 @cpu(0)>
    """

    master_last = False

    def __init__(self, learning_rate=0.01, momentum=0.9, wd_lh=0.0, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        if state is None:
            self._run(kernels.signsgd_, weight, grad, None, lr, wd, **where)
        else:
            self._run(kernels.signum_, weight, grad, state, lr, wd, self.momentum, self.wd_lh, **where)


@register
class SGLD(Optimizer):
    """Stochastic gradient Langevin dynamics: half a gradient step plus noise of variance lr (Welling and Teh, 2011).

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.SGLD(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight.shape
    (2,)
    """

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        noise = nd.random.normal(0, 1, shape=weight.shape, dtype=weight.dtype, ctx=weight.context)
        self._run(kernels.sgld_, weight, grad, noise, lr, wd, **where)


@register
class DCASGD(Optimizer):
    """Delay-compensated asynchronous SGD (Zheng et al., 2017).

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.DCASGD(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9 1.9]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, momentum=0.0, lamda=0.04, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lamda = lamda

    def create_state(self, index, weight):
        return None if self.momentum == 0.0 else zeros_like(weight), weight.copy()

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        momentum, previous = state
        state = zeros_like(previous) if momentum is None else momentum, previous
        self._run(kernels.dcasgd_, weight, grad, state, lr, wd, self.momentum, self.lamda, **where)


@register
class LARS(_Momentum):
    """SGD with a rate of each layer, lr * eta |w| / (|g| + wd |w| + eps) (You et al., 2017).

    Parameters whose names end in gamma, beta or bias keep the plain rate. momentum_correction: after a change of the
    learning rate the momentum is scaled by new / old. epsilon: MXNet 2's word for `eps`.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.LARS(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9998 1.9998]
    <NDArray 2 @cpu(0)>
    """

    elementwise = False
    by_norms = True

    def __init__(
        self, momentum=0.0, lazy_update=True, eta=0.001, eps=0, momentum_correction=True, *, epsilon=None, **kwargs
    ):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.momentum_correction = momentum_correction
        self.lazy_update = lazy_update
        # Parameters are updated in groups: the whole group sees a change of the rate.
        self.aggregate_num = int(os.getenv("MXNET_OPTIMIZER_AGGREGATION_SIZE", "4"))
        self.eta = eta
        self.eps = eps if epsilon is None else epsilon
        self.last_lr = None
        self.cur_lr = None
        self._momenta = {}

    def _decays(self, name):
        return name.endswith("_weight")

    def _get_lrs(self, indices):
        rate = self.learning_rate
        self.last_lr = rate if self.cur_lr is None else self.cur_lr
        self.cur_lr = rate
        return [rate * self._multiplier(i, "lr_mult") for i in indices]

    def _adapt(self, index, weight, grad, lrs, wds):
        rows = zip(index, weight, grad, lrs, wds)
        return [lr if self._is_plain(i) else lr * self._trust(_norm(w), _norm(g), wd) for i, w, g, lr, wd in rows]

    def _begin_parts(self, groups):
        for group in groups:
            self._get_lrs(group)
            self._momenta.update(dict.fromkeys(group, self._current_momentum()))

    def _parts(self, indices, weight, grad, state, lr, wd, t, segments, **where):
        squares = yield kernels.sum_squares(weight._data, segments), kernels.sum_squares(grad._data, segments)
        runs: dict[float, list] = {}  # by momentum
        for i, segment, w, g in zip(indices, segments, *(square.sqrt_().tolist() for square in squares)):
            begin, end, lr_mult, wd_mult = segment
            trust = 1.0 if self._is_plain(i) else self._trust(w, g, wd * wd_mult)
            runs.setdefault(self._momenta[i], []).append((begin, end, lr_mult * trust, wd_mult))
        kernel = kernels.sgd_ if state is None else kernels.sgd_momentum_
        for momentum, parts in runs.items():
            numbers = (lr, wd) if state is None else (lr, wd, momentum)
            self._run(kernel, weight, grad, state, *numbers, segments=parts, **where)

    def _current_momentum(self):
        corrects = self.momentum_correction and self.last_lr
        return self.momentum * (self.cur_lr / self.last_lr) if corrects else self.momentum

    def _is_plain(self, index):
        return str(self.idx2name.get(index, index)).endswith(("gamma", "beta", "bias"))

    def _trust(self, weight_norm, grad_norm, wd):
        grad_norm *= self.rescale_grad
        if weight_norm > 0 and grad_norm > 0:
            return self.eta * weight_norm / (grad_norm + wd * weight_norm + self.eps)
        return 1.0


@register
class LBSGD(_Momentum):
    """SGD for large batches: averages `batch_scale` gradients into one step and warms the rate up over epochs.

    warmup_strategy: "linear", "power2", "sqrt" (rates up to batch_scale times lr), "lars" (by layer), else none.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.LBSGD(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9 1.9]
    <NDArray 2 @cpu(0)>
    """

    elementwise = False
    master_last = False

    def __init__(self, momentum=0.0, multi_precision=False, warmup_strategy="linear", warmup_epochs=5, batch_scale=1,
                 updates_per_epoch=32, begin_epoch=0, num_epochs=60, **kwargs):  # fmt: skip
        super().__init__(multi_precision=multi_precision, **kwargs)
        self.momentum = momentum
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.cumgrads = {}
        logging.info("LBSGD: batch_scale %s, warm-up %s over %d epochs", batch_scale, warmup_strategy, warmup_epochs)

    def _get_lrs(self, indices):
        """The rates of the count before this update, which is the one that this method goes by."""
        before = self._before
        rate = self.lr if self.lr_scheduler is None else self.lr_scheduler(before)
        return [rate * self._multiplier(i, "lr_mult") for i in indices]

    def _update(self, index, weight, grad, state, master=False):
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        for i, w, g, s in zip(index, weight, grad, state):
            self._before = self.num_update
            total, count = self._accumulate(i, g)
            self._mult = None
            if count % self.batch_scale == 0:
                g = total / self.batch_scale
                self._mult = self._trust(w, g, self._get_wd(i)) if self._by_layer else self._warmup(count)
                self.cumgrads[i] = (None, count)
            super()._update([i], [w], [g], [s], master)

    @property
    def _by_layer(self):
        return self.warmup_strategy == "lars"

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        if self._mult is not None:
            super()._rule(weight, grad, state, lr * self._mult, wd, t, **where)

    def _accumulate(self, index, grad):
        total, count = self.cumgrads.get(index, (None, 0))
        count = count + 1 if count > 0 else self.init_updates + 1
        total = grad.copy() if total is None else total + grad
        self.cumgrads[index] = (total, count)
        return total, count

    def _warmup(self, updates):
        end = self.warmup_epochs * self.updates_per_epoch
        if updates >= end:
            return float(self.batch_scale)
        if end <= 1:
            return 1.0
        progress = updates / end
        curves = {"linear": progress, "power2": progress * progress, "sqrt": math.sqrt(progress)}
        return 1.0 + (self.batch_scale - 1.0) * curves.get(self.warmup_strategy, 0.0)

    def _trust(self, weight, grad, wd):
        weight2, grad2 = _norm(weight) ** 2, _norm(grad) ** 2
        return min(max(math.sqrt(weight2 / (grad2 + wd * weight2 + 1e-18)), 0.01), 100)


def _norm(array):
    """The 2-norm as a float, accumulated in float32 or better."""
    return math.sqrt(float(kernels.sum_squares(array._data)))

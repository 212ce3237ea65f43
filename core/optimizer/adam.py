"""Adam and the methods that grew out of it."""

from __future__ import annotations

import contextlib
import math

from core.kernels import optimizer as kernels
from core.ndarray.steps import adabelief, lans
from core.optimizer.optimizer import Optimizer, register, zeros_like


class _Moments(Optimizer):
    """Optimizers whose state is (mean, var): averages of the gradient and of its square,
    which decay by beta1 and beta2.
    """

    def __init__(self, learning_rate, beta1, beta2, epsilon=0.0, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index, weight):
        return zeros_like(weight), zeros_like(weight)

    def _correction(self, t):
        """The factor for the rate that takes the bias of both averages after `t` steps away."""
        return math.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)


@register
class Adam(_Moments):
    """Adam (Kingma and Ba, 2015); the weight decay is part of the gradient.

    lazy_update: rows of a row-sparse gradient alone are updated.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.Adam(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9 1.9]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, lazy_update=True, **kwargs):
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.lazy_update = lazy_update

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        lr *= self._correction(t)
        self._run(kernels.adam_, weight, grad, state, lr, wd, self.beta1, self.beta2, self.epsilon, **where)


@register
class AdamW(_Moments):
    """Adam with decoupled weight decay: the weight shrinks by lr wd beside the step (Loshchilov and Hutter, 2019).

    correct_bias: divides by the bias of the averages in the first steps, in which the decay follows the rate, as in MXNet 2.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.AdamW(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9 1.9]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, correct_bias=True, **kwargs):
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.correct_bias = correct_bias

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        rate = lr * self._correction(t) if self.correct_bias else lr
        # `eta` scales the step and the decay, so it has to be the rate that segments multiply.
        if "segments" in where:
            where["segments"] = [(a, b, m, m * d) for a, b, m, d in where["segments"]]
        numbers = rate, 1.0, wd * rate, self.beta1, self.beta2, self.epsilon
        self._run(kernels.adamw_, weight, grad, state, *numbers, **where)


@register
class Adamax(_Moments):
    """Adam with the infinity norm in place of the second moment (Kingma and Ba, 2015, section 7.1).

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.Adamax(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9 1.9]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, learning_rate=0.002, beta1=0.9, beta2=0.999, **kwargs):
        super().__init__(learning_rate, beta1, beta2, 0.0, **kwargs)  # it has no epsilon

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        lr /= 1.0 - self.beta1**t
        self._run(kernels.adamax_, weight, grad, state, lr, wd, self.beta1, self.beta2, **where)


@register
class Nadam(_Moments):
    """Adam with Nesterov's momentum (Dozat, 2016).

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.Nadam(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.8944 1.8944]
    <NDArray 2 @cpu(0)>
    """

    # The schedule of the momentum is one product over the updates of all parameters, in their order.
    elementwise = False

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, schedule_decay=0.004, **kwargs):
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        now, following = (self.beta1 * (1.0 - 0.5 * 0.96 ** (k * self.schedule_decay)) for k in (t, t + 1))
        self.m_schedule *= now
        grad_share = (1.0 - now) / (1.0 - self.m_schedule)
        mean_share = following / (1.0 - self.m_schedule * following)
        shares = grad_share, mean_share, 1.0 / (1.0 - self.beta2**t)
        numbers = lr, *shares, wd, self.beta1, self.beta2, self.epsilon
        self._run(kernels.nadam_, weight, grad, state, *numbers, **where)


@register
class LAMB(_Moments):
    """Adam's direction scaled for each layer by |w| / |direction| within bounds (You et al., 2020).

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.LAMB(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.8419 1.8419]
    <NDArray 2 @cpu(0)>
    """

    elementwise = False
    by_norms = True

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, lower_bound=None, upper_bound=None,
                 bias_correction=True, **kwargs):  # fmt: skip
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction

    def _rule(self, weight, grad, state, lr, wd, t, w32=None):
        steps = self._parts((), weight, grad, state, lr, wd, t, None, w32)
        own = next(steps)  # the parts are whole
        with contextlib.suppress(StopIteration):
            steps.send(own)

    def _parts(self, indices, weight, grad, state, lr, wd, t, segments, w32=None):
        mean, var = state
        master = weight._data if w32 is None else w32
        numbers = t, wd, self.beta1, self.beta2, self.epsilon, self.bias_correction
        moments = mean._data, var._data
        update = kernels.lamb_phase1(master, grad._data, *moments, *numbers, **self._scaling(), segments=segments)
        squares = yield kernels.sum_squares(master, segments), kernels.sum_squares(update, segments)
        norms = [square.sqrt_() for square in squares]
        bounds = self.lower_bound or None, self.upper_bound or None
        kernels.lamb_phase2_(weight._data, update, *norms, lr, *bounds, w32=w32, segments=segments)


@register
class FTML(Optimizer):
    """Follow the moving leader (Zheng and Kwok, 2017).

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.FTML(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9 1.9]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, beta1=0.6, beta2=0.999, epsilon=1e-8, **kwargs):
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index, weight):
        return zeros_like(weight), zeros_like(weight), zeros_like(weight)

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        self._run(kernels.ftml_, weight, grad, state, lr, t, wd, self.beta1, self.beta2, self.epsilon, **where)


@register
class AdaBelief(_Moments):
    """Adam with the variance around the mean in place of the second moment (Zhuang et al., 2020).

    epsilon is added to the variance in every step, and to its root.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.AdaBelief(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.889 1.889]
    <NDArray 2 @cpu(0)>
    """

    elementwise = master_in_kernel = False

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, correct_bias=True, **kwargs):
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.correct_bias = correct_bias

    def _rule(self, weight, grad, state, lr, wd, t):
        if self.correct_bias:
            lr *= self._correction(t)
        how = self.beta1, self.beta2, self.epsilon, wd, self.clip_gradient, self.rescale_grad
        _write(adabelief, weight, grad, state, lr, 1.0, *how)


@register
class LANS(_Moments):
    """LAMB with normalised gradients and Nesterov's momentum (Zheng et al., 2020).

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.LANS(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.8419 1.8419]
    <NDArray 2 @cpu(0)>
    """

    elementwise = master_in_kernel = False

    def __init__(
        self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, lower_bound=None, upper_bound=None, **kwargs
    ):
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def _rule(self, weight, grad, state, lr, wd, t):
        how = self.beta1, self.beta2, self.epsilon, self.lower_bound, self.upper_bound, self.clip_gradient
        _write(lans, weight, grad, state, t, lr, wd, *how, self.rescale_grad)


def _write(step, weight, grad, state, *given):
    """Writes a step of `core.ndarray.steps` to the weight; states are of nd, weights and gradients may be of np."""
    weight, grad, mean, var = (array.as_nd_ndarray() for array in (weight, grad, *state))
    weight[:] = step(weight, grad, mean, var, *given)

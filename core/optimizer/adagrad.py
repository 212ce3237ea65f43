"""Methods that divide by the size of past gradients."""

from __future__ import annotations

from core.kernels import optimizer as kernels
from core.optimizer.optimizer import Optimizer, register, zeros_like


@register
class AdaGrad(Optimizer):
    """Divides by the root of the sum of squared gradients (Duchi, Hazan and Singer, 2011).

    epsilon: MXNet 2's word for `eps`.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.AdaGrad(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.9 1.9]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, eps=1e-7, *, epsilon=None, **kwargs):
        super().__init__(**kwargs)
        self.float_stable_eps = eps if epsilon is None else epsilon

    def create_state(self, index, weight):
        return zeros_like(weight)

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        self._run(kernels.adagrad_, weight, grad, state, lr, wd, self.float_stable_eps, **where)

    def _is_lazy(self, weight, wd):
        return not wd  # rows without a gradient stay as they are by themselves


@register
class RMSProp(Optimizer):
    """Divides by the root of a decaying mean of squared gradients (Tieleman and Hinton, 2012).

    centered: subtracts the square of the mean gradient and adds momentum `gamma2` (Graves, 2013).
    clip_weights: bound for the absolute values of the weights. rho, momentum: MXNet 2's words for gamma1 and gamma2.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.RMSProp(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.6838 1.6838]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, learning_rate=0.001, gamma1=0.9, gamma2=0.9, epsilon=1e-8, centered=False, clip_weights=None, *,
                 rho=None, momentum=None, **kwargs):  # fmt: skip
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1 if rho is None else rho
        self.gamma2 = gamma2 if momentum is None else momentum
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index, weight):
        return tuple(zeros_like(weight) for _ in range(3 if self.centered else 1))

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        kernel, decays = kernels.rmsprop_, (self.gamma1,)
        if self.centered:
            kernel, decays = kernels.rmspropalex_, (self.gamma1, self.gamma2)
        where["clip_weights"] = self.clip_weights or None
        self._run(kernel, weight, grad, state, lr, wd, *decays, self.epsilon, **where)


@register
class AdaDelta(Optimizer):
    """Steps of the size of past steps (Zeiler, 2012); the learning rate does not enter.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.AdaDelta())
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.99 1.99]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, rho=0.9, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index, weight):
        return zeros_like(weight), zeros_like(weight)

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        self._run(kernels.adadelta_, weight, grad, state, 1.0, wd, self.rho, self.epsilon, **where)


@register
class Ftrl(Optimizer):
    """Follow the regularised leader, with L1 penalty `lamda1` (McMahan et al., 2013).

    Of a row_sparse weight the rows of a row_sparse gradient alone are updated.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.Ftrl(learning_rate=0.1))
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [0.4495 0.9495]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, lamda1=0.01, learning_rate=0.1, beta=1, **kwargs):
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = learning_rate

    def create_state(self, index, weight):
        return zeros_like(weight), zeros_like(weight)

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        self._run(kernels.ftrl_, weight, grad, state, lr, wd, self.lamda1, self.beta, **where)

    def _is_lazy(self, weight, wd):
        return weight.stype == "row_sparse"

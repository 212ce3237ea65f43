"""Penalties on the activations of recurrent networks (Merity, McCann and Socher, 2017)."""

from __future__ import annotations

from gluon.loss import Loss

__all__ = ["ActivationRegularizationLoss", "TemporalActivationRegularizationLoss"]


class _LastStateLoss(Loss):
    """`_scale` times the mean square of something of the last of the given states; an array of one element."""

    _argument: str

    def __init__(self, scale, weight, batch_axis, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._scale = scale

    def __repr__(self):
        return f"{type(self).__name__} ({self._argument}={self._scale})"

    def hybrid_forward(self, F, *states):
        if self._scale == 0 or not states:
            return F.zeros(1)
        return self._scale * F.mean(F.square(self._measure(F, states[-1])))

    def _measure(self, F, state):
        raise NotImplementedError


class ActivationRegularizationLoss(_LastStateLoss):
    """AR: `alpha` times the mean square of the last state, of shape (length, batch, units).

    >>> gluonnlp.loss.ActivationRegularizationLoss(alpha=2)(nd.array([[[1, 2]]]))
    [5.]
    <NDArray 1 @cpu(0)>
    """

    _argument = "alpha"

    def __init__(self, alpha=0, weight=None, batch_axis=None, **kwargs):
        super().__init__(alpha, weight, batch_axis, **kwargs)

    def _measure(self, F, state):
        return state


class TemporalActivationRegularizationLoss(_LastStateLoss):
    """TAR: `beta` times the mean square of the change of the last state from step to step.

    >>> gluonnlp.loss.TemporalActivationRegularizationLoss(beta=1)(nd.array([[[1]], [[3]]]))
    [4.]
    <NDArray 1 @cpu(0)>
    """

    _argument = "beta"

    def __init__(self, beta=0, weight=None, batch_axis=None, **kwargs):
        super().__init__(beta, weight, batch_axis, **kwargs)

    def _measure(self, F, state):
        return F.slice_axis(state, axis=0, begin=1, end=None) - F.slice_axis(state, axis=0, begin=0, end=-1)

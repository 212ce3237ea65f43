"""Initializers of highway layers and of BERT."""

from __future__ import annotations

from core.extras import load
from core.initializer import Initializer, register

__all__ = ["HighwayBias", "TruncNorm"]


@register
class HighwayBias(Initializer):
    """The bias of a highway layer (Srivastava, Greff and Schmidhuber, 2015): its transform's, then its gate's.

    nonlinear_transform_bias: for the first half, rounded down; transform_gate_bias: for the rest,
    negative so that the layer passes its input on at first.
    """

    def __init__(self, nonlinear_transform_bias=0.0, transform_gate_bias=-2.0, **kwargs):
        super().__init__(**kwargs)
        self.nonlinear_transform_bias = nonlinear_transform_bias
        self.transform_gate_bias = transform_gate_bias

    def _init_weight(self, name, arr):
        half = arr.shape[0] // 2
        if half:
            arr[:half] = self.nonlinear_transform_bias
        arr[half:] = self.transform_gate_bias


@register
class TruncNorm(Initializer):
    """Normal numbers within two standard deviations of the mean, by NumPy's global generator; needs SciPy."""

    def __init__(self, mean=0, stdev=0.01, **kwargs):
        super().__init__(**kwargs)
        self._distribution = load("scipy.stats", "TruncNorm").truncnorm(-2, 2, mean, stdev)

    def _init_weight(self, name, arr):
        arr[:] = self._distribution.rvs(arr.size).reshape(arr.shape)

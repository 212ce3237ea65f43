"""Small layers that several networks for text share."""

from __future__ import annotations

from gluon import HybridBlock

__all__ = ["GELU", "L2Normalization"]


class GELU(HybridBlock):
    """x times the normal distribution function of x (Hendrycks and Gimpel, 2016).

    approximate: with the tanh formula of the paper in place of the error function.
    """

    def __init__(self, approximate=False, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._approximate = approximate

    def hybrid_forward(self, F, x):
        if not self._approximate:
            return F.LeakyReLU(x, act_type="gelu")
        return 0.5 * x * (1 + F.tanh((2 / 3.141592653589793) ** 0.5 * (x + 0.044715 * x * x * x)))


class L2Normalization(HybridBlock):
    """x over its Euclidean norm along `axis`, to which `eps` is added."""

    def __init__(self, axis=-1, eps=1e-6, **kwargs):
        super().__init__(**kwargs)
        self._axis = axis
        self._eps = eps

    def hybrid_forward(self, F, x):
        return F.broadcast_div(x, F.norm(x, axis=self._axis, keepdims=True) + self._eps)

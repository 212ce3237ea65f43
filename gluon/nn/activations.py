"""Activation layers."""

from __future__ import annotations

from core import initializer
from gluon.block import HybridBlock


class Activation(HybridBlock):
    """The function called `activation`: relu, sigmoid, tanh, softrelu, softsign."""

    def __init__(self, activation, **kwargs):
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self):
        return self._act_type

    def hybrid_forward(self, F, x):
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self):
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(HybridBlock):
    """x for x > 0, else alpha x."""

    def __init__(self, alpha, **kwargs):
        if alpha < 0:
            raise AssertionError(f"the slope of LeakyReLU is at least 0, got {alpha}")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self):
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """Leaky ReLU whose slope is a parameter, `alpha` (in_channels,), for all or for each channel (He et al., 2015)."""

    def __init__(self, alpha_initializer=None, in_channels=1, **kwargs):
        super().__init__(**kwargs)
        init = initializer.Constant(0.25) if alpha_initializer is None else alpha_initializer
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=init)

    def hybrid_forward(self, F, x, alpha):
        return F.LeakyReLU(x, alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x for x > 0, else alpha (exp(x) - 1) (Clevert et al., 2016)."""

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """Scaled exponential linear unit with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017)."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def hybrid_forward(self, F, x):
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """x times the normal distribution function of x, nearly with approximation="tanh" (Hendrycks and Gimpel, 2016)."""

    def __init__(self, approximation="erf", **kwargs):
        super().__init__(**kwargs)
        if approximation not in ("erf", "tanh"):
            raise ValueError(f"approximation is 'erf' or 'tanh', got {approximation!r}")
        self._approximation = approximation

    def hybrid_forward(self, F, x):
        if self._approximation == "tanh":
            return F.gelu_tanh(x)
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """x sigmoid(beta x) (Ramachandran et al., 2017)."""

    def __init__(self, beta=1.0, **kwargs):
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F, x):
        return x * F.sigmoid(self._beta * x, name="fwd")


class SiLU(Swish):
    """x sigmoid(x)."""

    def __init__(self, **kwargs):
        super().__init__(beta=1.0, **kwargs)

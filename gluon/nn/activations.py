"""Activation layers."""

from __future__ import annotations

from core import initializer
from gluon.block import HybridBlock


class Activation(HybridBlock):
    """The function called `activation`: relu, sigmoid, tanh, softrelu, softsign.

    relu: max(x, 0); sigmoid: 1 / (1 + e^-x); softrelu: log(1 + e^x); softsign: x / (1 + |x|). Works element by element on arrays
    of any shape and has no parameters. MXNetError for an unknown name, with the nearest one. Functions with parameters are layers
    of their own: `LeakyReLU`, `PReLU`, `ELU`, `SELU`, `GELU`, `Swish`, `SiLU`.

    >>> nn.Activation("relu")(nd.array([-1, 0, 2]))
    [0. 0. 2.]
    <NDArray 3 @cpu(0)>
    """

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
    """x for x > 0, else alpha x.

    alpha: the slope below zero, at least 0. Works element by element on arrays of any shape and has no parameters; gradients of
    negative elements do not vanish as those of relu do (Maas et al., 2013).

    >>> nn.LeakyReLU(0.1)(nd.array([-2, 0, 2]))
    [-0.2  0.   2. ]
    <NDArray 3 @cpu(0)>
    """

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
    """Leaky ReLU whose slope is a parameter, `alpha` (in_channels,), for all or for each channel (He et al., 2015).

    alpha_initializer: by default 0.25 everywhere. in_channels: 1, or the number of channels, along axis 1. Weight decay on alpha
    draws it to 0, that is to relu.

    >>> layer = nn.PReLU()
    >>> layer.initialize()
    >>> layer(nd.array([[-2, 0, 2]]))
    [[-0.5  0.   2. ]]
    <NDArray 1x3 @cpu(0)>
    """

    def __init__(self, alpha_initializer=None, in_channels=1, **kwargs):
        super().__init__(**kwargs)
        init = initializer.Constant(0.25) if alpha_initializer is None else alpha_initializer
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=init)

    def hybrid_forward(self, F, x, alpha):
        return F.LeakyReLU(x, alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x for x > 0, else alpha (exp(x) - 1) (Clevert et al., 2016).

    alpha: the value that large negative elements come near to, with the other sign. Works element by element on arrays of any
    shape and has no parameters; the derivative has no jump at 0 where alpha is 1.

    >>> nn.ELU()(nd.array([-2, 0, 2]))
    [-0.8647  0.      2.    ]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """Scaled exponential linear unit with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017).

    ``1.0507 x`` for positive x, else ``1.0507 * 1.6733 (e^x - 1)``. Works element by element on arrays of any shape and has no
    parameters. Weights are to be drawn with variance 1 / (number of inputs) for the constants to do what they promise.

    >>> nn.SELU()(nd.array([-2, 0, 2]))
    [-1.5202  0.      2.1014]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def hybrid_forward(self, F, x):
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """x times the normal distribution function of x, nearly with approximation="tanh" (Hendrycks and Gimpel, 2016).

    ``0.5 x (1 + erf(x / sqrt(2)))``, or with "tanh" ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))``, which published GPT-2
    weights were trained with; the two differ by less than 0.0005. Works element by element and has no parameters.

    >>> nn.GELU()(nd.array([-1, 0, 2]))
    [-0.1587  0.      1.9545]
    <NDArray 3 @cpu(0)>
    """

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
    """x sigmoid(beta x) (Ramachandran et al., 2017).

    beta: how steep the sigmoid is; 0 gives x / 2, and large ones come near to relu. Works element by element on arrays of any
    shape and has no parameters.

    >>> nn.Swish()(nd.array([-1, 0, 2]))
    [-0.2689  0.      1.7616]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, beta=1.0, **kwargs):
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F, x):
        return x * F.sigmoid(self._beta * x, name="fwd")


class SiLU(Swish):
    """x sigmoid(x).

    The same as `Swish` with beta 1. It is at least -0.28 and has no bound above. Works element by element on arrays of any shape
    and has no parameters (Elfwing et al., 2017).

    >>> nn.SiLU()(nd.array([-1, 0, 2]))
    [-0.2689  0.      1.7616]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(beta=1.0, **kwargs)

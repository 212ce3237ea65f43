"""Initial values of parameters.

An initializer is called with the parameter's name and its array, and chooses by the ending of the name: weights get the
initializer's own rule, biases and betas 0, gammas 1. A rule that was asked for by the parameter itself
(`InitDesc.attrs["__init__"]`) applies whatever the name is. Random numbers come from `core.nd.random`, so
`mx.random.seed` repeats them.
"""

from __future__ import annotations

import json
import logging
import math
import re
import warnings

import numpy as np

from core import ndarray as nd
from core import registry
from core.base import MXNetError
from core.documentation.classes import complete as _complete
from core.kernels.rnn_parameters import gates, inputs_of


class InitDesc(str):
    """A parameter's name together with its attributes and the initializer of the whole model.

    >>> init.InitDesc("w_weight", attrs={"__init__": ""})
    'w_weight'
    """

    def __new__(cls, name, attrs=None, global_init=None):
        self = super().__new__(cls, name)
        self.attrs = attrs or {}
        self.global_init = global_init
        return self


class Initializer:
    """Base class: `initializer(InitDesc(name), array)` fills the array in place.

    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize(init.Normal(0.1))
    >>> isinstance(init.Normal(0.1), init.Initializer), net.bias.data()
    (True,
    [0. 0.]
    <NDArray 2 @cpu(0)>)
    """

    def __init__(self, **kwargs):
        self._kwargs = kwargs
        self._verbose = False
        self._print_func = None

    def set_verbosity(self, verbose=False, print_func=None):
        """Logs a figure for every array that gets filled; the default figure is the root mean square."""
        self._verbose = verbose
        self._print_func = print_func or (lambda x: str(float((nd.norm(x) / math.sqrt(x.size)).asscalar())))
        return self

    def dumps(self):
        """The initializer as JSON, `["name", {keywords}]`, from which `create` makes it again."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc, arr):
        if not isinstance(desc, InitDesc):
            if not isinstance(desc, str):
                raise TypeError(f"the name of a parameter is a string, got {type(desc).__name__}")
            if not isinstance(arr, nd.NDArray):
                raise TypeError(f"an initializer fills an array, given {type(arr).__name__}")
            warnings.warn("pass InitDesc(name) instead of a plain string", DeprecationWarning, stacklevel=2)
            desc = InitDesc(desc)
            rules = _RULES_OF_PLAIN_NAMES
        else:
            rules = _RULES
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            create(own)._init_weight(desc, arr)
            self._report(desc, own, arr)
            return
        for pattern, rule in rules:
            if pattern.search(desc):
                getattr(self, rule)(desc, arr)
                self._report(desc, pattern.pattern.rstrip("$"), arr)
                return
        self._init_default(desc, arr)

    def _report(self, desc, rule, arr):
        if self._verbose and self._print_func:
            logging.info("initialized %s as %s: %s", desc, rule, self._print_func(arr))

    def _init_weight(self, name, arr):
        raise NotImplementedError(f"{type(self).__name__} does not define _init_weight(name, arr)")

    def _init_zero(self, _, arr):
        arr[:] = 0

    def _init_one(self, _, arr):
        arr[:] = 1

    _init_bias = _init_beta = _init_quantized_bias = _init_zero
    _init_gamma = _init_one

    def _init_bilinear(self, _, arr):
        arr[:] = _bilinear_kernel(arr.shape)

    def _init_loc_bias(self, _, arr):
        if arr.shape[0] != 6:
            raise ValueError(f"the bias of a localisation network has 6 elements, got shape {arr.shape}")
        arr[:] = nd.array([1, 0, 0, 0, 1, 0], dtype=arr.dtype)

    def _init_quantized_weight(self, _, arr):
        arr[:] = nd.random.randint(-127, 127, shape=arr.shape, dtype="int32").astype(arr.dtype)

    def _init_default(self, name, _):
        raise ValueError(
            f"no initialization rule for {str(name)!r}: names end in weight, bias, gamma or beta. "
            "Give the parameter its own initializer with init=..."
        )

    def __eq__(self, other):
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs

    __hash__ = object.__hash__


register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
create = registry.get_create_func(Initializer, "initializer")


@register
@alias("zeros")
class Zero(Initializer):
    """All zeros.

    `net.initialize("zeros")` is the same. Weights of layers on top of each other that begin so do not learn.

    >>> x = nd.ones((2, 2))
    >>> init.Zero()(init.InitDesc("w_weight"), x)
    >>> x
    [[0. 0.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self):
        super().__init__()

    def _init_weight(self, _, arr):
        arr[:] = 0


@register
@alias("ones")
class One(Initializer):
    """All ones.

    `net.initialize("ones")` is the same. Scales of normalisations begin so.

    >>> x = nd.zeros((2, 2))
    >>> init.One()(init.InitDesc("w_weight"), x)
    >>> x
    [[1. 1.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self):
        super().__init__()

    def _init_weight(self, _, arr):
        arr[:] = 1


@register
class Constant(Initializer):
    """One value everywhere, or the values of an array of the parameter's shape.

    >>> x = nd.zeros((2, 2))
    >>> init.Constant(0.5)(init.InitDesc("w_weight"), x)
    >>> x
    [[0.5 0.5]
     [0.5 0.5]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, value):
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, _, arr):
        arr[:] = self.value

    def dumps(self):
        value = self.value
        if not np.isscalar(value):
            value = (value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)).tolist()
        return json.dumps(["constant", {"value": value}])


@register
class Uniform(Initializer):
    """Uniform on [-scale, scale].

    >>> x = nd.zeros((100, 100))
    >>> init.Uniform(0.5)(init.InitDesc("w_weight"), x)
    >>> 0.4 < float(x.max().asscalar()) <= 0.5
    True
    """

    def __init__(self, scale=0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _, arr):
        _uniform(arr, self.scale)


@register
class Normal(Initializer):
    """Normal with mean 0 and standard deviation `sigma`.

    >>> x = nd.zeros((100, 100))
    >>> init.Normal(0.5)(init.InitDesc("w_weight"), x)
    >>> 0.4 < float((x * x).mean().sqrt().asscalar()) < 0.6
    True
    """

    def __init__(self, sigma=0.01):
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _, arr):
        _normal(arr, self.sigma)


@register
class Orthogonal(Initializer):
    """`scale` times a matrix with orthonormal rows or columns (Saxe et al., 2014).

    Dimensions from the second are merged.

    >>> x = nd.zeros((2, 3))
    >>> init.Orthogonal(scale=1)(init.InitDesc("w_weight"), x)
    >>> abs(nd.dot(x, x.T).asnumpy()).round(3)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def __init__(self, scale=1.414, rand_type="uniform"):
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, _, arr):
        shape = (arr.shape[0], math.prod(arr.shape[1:]))
        if self.rand_type == "uniform":
            sample = nd.random.uniform(-1.0, 1.0, shape=shape)
        elif self.rand_type == "normal":
            sample = nd.random.normal(0.0, 1.0, shape=shape)
        else:
            raise ValueError(f"rand_type is 'uniform' or 'normal', got {self.rand_type!r}")
        u, _, v = np.linalg.svd(sample.asnumpy(), full_matrices=False)
        matrix = u if u.shape == shape else v
        arr[:] = nd.array(self.scale * matrix.reshape(arr.shape), dtype=arr.dtype)


@register
class Xavier(Initializer):
    """Variance `magnitude / fan`, fan being the inputs, the outputs or their average (Glorot and Bengio, 2010).

    `rnd_type` "uniform" draws from [-c, c] with c = sqrt(magnitude / fan), "gaussian" with c as standard deviation.

    >>> x = nd.zeros((100, 200))
    >>> init.Xavier()(init.InitDesc("w_weight"), x)
    >>> 0.13 < float(x.max().asscalar()) <= (6 / 300) ** 0.5
    True
    """

    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude=3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name, arr):
        shape = arr.shape
        if len(shape) < 2:
            raise ValueError(f"Xavier needs at least two dimensions, parameter {str(name)!r} has shape {tuple(shape)}")
        receptive = math.prod(shape[2:])
        fan_in, fan_out = shape[1] * receptive, shape[0] * receptive
        fans = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        if self.factor_type not in fans:
            raise ValueError(f"factor_type is 'avg', 'in' or 'out', got {self.factor_type!r}")
        scale = math.sqrt(self.magnitude / fans[self.factor_type])
        if self.rnd_type == "uniform":
            _uniform(arr, scale)
        elif self.rnd_type == "gaussian":
            _normal(arr, scale)
        else:
            raise ValueError(f"rnd_type is 'uniform' or 'gaussian', got {self.rnd_type!r}")


@register
class MSRAPrelu(Xavier):
    """Normal with variance 2 / ((1 + slope^2) fan), for layers before a PReLU (He et al., 2015).

    >>> x = nd.zeros((100, 200))
    >>> init.MSRAPrelu(slope=0)(init.InitDesc("w_weight"), x)
    >>> abs(float((x * x).mean().asscalar()) - 2 / 150) < 0.001
    True
    """

    def __init__(self, factor_type="avg", slope=0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """The kernel of bilinear interpolation, for deconvolutions that enlarge images.

    >>> x = nd.zeros((1, 1, 4, 4))
    >>> init.Bilinear()(init.InitDesc("up_weight"), x)
    >>> x[0, 0, 1]
    [0.1875 0.5625 0.5625 0.1875]
    <NDArray 4 @cpu(0)>
    """

    def __init__(self):
        super().__init__()

    def _init_weight(self, _, arr):
        arr[:] = _bilinear_kernel(arr.shape)


@register
class LSTMBias(Initializer):
    """0, and `forget_bias` for the forget gate: the second quarter of an LSTM's bias.

    >>> layer = rnn.LSTMCell(2, i2h_bias_initializer=init.LSTMBias(forget_bias=1.0), input_size=3)
    >>> layer.initialize()
    >>> layer.i2h_bias.data()
    [0. 0. 1. 1. 0. 0. 0. 0.]
    <NDArray 8 @cpu(0)>
    """

    def __init__(self, forget_bias=1.0):
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, _, arr):
        arr[:] = 0
        hidden = arr.shape[0] // 4
        arr[hidden : 2 * hidden] = self.forget_bias


@register
class FusedRNN(Initializer):
    """Fills the flat parameter vector of the `RNN` operator gate by gate with another initializer.

    >>> init.FusedRNN(init.Uniform(0.1), num_hidden=4, num_layers=1, mode="lstm").dumps()[:10]
    '["fusedrnn'
    """

    def __init__(self, init, num_hidden, num_layers, mode, bidirectional=False, forget_bias=1.0):
        if isinstance(init, str):
            init = create(init)
        network = {"num_hidden": num_hidden, "num_layers": num_layers, "mode": mode, "bidirectional": bidirectional}
        super().__init__(init=init.dumps() if init is not None else None, **network, forget_bias=forget_bias)
        self._init, self._mode, self._forget_bias = init, mode, forget_bias
        self._network = mode, num_hidden, num_layers, bidirectional

    def _init_weight(self, desc, arr):
        init = self._init or desc.global_init
        values = []
        mode, *network = self._network
        for name, shape in gates(mode, inputs_of(arr.size, mode, *network), *network):
            part = nd.zeros(shape, ctx=arr.context, dtype=arr.dtype)
            if self._mode == "lstm" and name.endswith("_f_bias"):
                part[:] = self._forget_bias
            else:
                init(InitDesc(name, global_init=desc.global_init), part)
            values.append(part.reshape((-1,)))
        arr[:] = nd.concat(*values, dim=0).reshape(arr.shape)


class Load:
    """Takes values from a dictionary or a file of arrays by name; other parameters go to `default_init`.

    >>> x = nd.zeros((2,))
    >>> init.Load({"w_weight": nd.array([1, 2])})(init.InitDesc("w_weight"), x)
    >>> x
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, param, default_init=None, verbose=False):
        if isinstance(param, str):
            param = nd.load(param)
        if not isinstance(param, dict):
            raise TypeError(f"Load needs a dictionary of arrays by name, got {type(param).__name__}")
        self.param = {name[4:] if name.startswith(("arg:", "aux:")) else name: a for name, a in param.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name, arr):
        if name in self.param:
            value = self.param[name]
            if arr.shape != value.shape:
                raise MXNetError(f"parameter {str(name)!r} has shape {arr.shape}, the loaded one {value.shape}")
            arr[:] = value
        elif self.default_init is not None:
            self.default_init(name, arr)
        else:
            raise MXNetError(f"parameter {str(name)!r} is not among the loaded ones and there is no default_init")
        if self.verbose:
            logging.info("initialized %s %s", name, "by loading" if name in self.param else "by default")


class Mixed:
    """Uses the initializer whose regular expression is the first to match the beginning of the name.

    >>> x = nd.ones((2,))
    >>> init.Mixed(["bias", ".*"], [init.Zero(), init.One()])(init.InitDesc("w_bias"), x)
    >>> x
    [0. 0.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, patterns, initializers):
        if len(patterns) != len(initializers):
            raise MXNetError(f"{len(patterns)} patterns but {len(initializers)} initializers")
        self.map = [(re.compile(p), init) for p, init in zip(patterns, initializers)]

    def __call__(self, name, arr):
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise ValueError(
            f"parameter {str(name)!r} matches no pattern; end the list with '.*' and a default initializer"
        )


_RULES = [
    (re.compile(pattern), rule)
    for pattern, rule in (
        ("weight$", "_init_weight"),
        ("bias$", "_init_bias"),
        ("gamma$", "_init_gamma"),
        ("beta$", "_init_beta"),
        ("min$", "_init_zero"),
        ("max$", "_init_one"),
        ("weight_quantize$", "_init_quantized_weight"),
        ("bias_quantize$", "_init_quantized_bias"),
    )
]
_RULES_OF_PLAIN_NAMES = [
    (re.compile(pattern), rule)
    for pattern, rule in (
        ("^upsampling", "_init_bilinear"),
        ("^stn_loc.*weight$", "_init_zero"),
        ("^stn_loc.*bias$", "_init_loc_bias"),
        ("bias$", "_init_bias"),
        ("gamma$", "_init_gamma"),
        ("beta$", "_init_beta"),
        ("weight$", "_init_weight"),
        ("moving_mean$", "_init_zero"),
        ("moving_var$", "_init_one"),
        ("moving_inv_var$", "_init_zero"),
        ("moving_avg$", "_init_zero"),
        ("min$", "_init_zero"),
        ("max$", "_init_one"),
    )
]


def _uniform(arr, scale):
    arr[:] = nd.random.uniform(-scale, scale, shape=arr.shape, dtype=arr.dtype, ctx=arr.context)


def _normal(arr, sigma):
    arr[:] = nd.random.normal(0, sigma, shape=arr.shape, dtype=arr.dtype, ctx=arr.context)


def _bilinear_kernel(shape):
    """(1 - |x/f - c|)(1 - |y/f - c|) over the last two of four dimensions, repeated over the first two."""
    height, width = shape[2:]
    f = math.ceil(width / 2.0)
    c = (2 * f - 1 - f % 2) / (2.0 * f)
    rows = 1 - np.abs(np.arange(height) / f - c)
    columns = 1 - np.abs(np.arange(width) / f - c)
    return nd.array(np.broadcast_to(rows[:, None] * columns[None, :], shape))


_complete(globals())

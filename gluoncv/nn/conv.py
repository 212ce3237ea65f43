"""Convolution, normalisation, activation: the row of layers that most networks are made of."""

from gluon import nn


def conv_norm_act(norm, channels, kernel=1, stride=1, padding=None, act="relu", **kwargs):
    """A list of layers: a convolution without bias, `norm()`, and the activation named `act`, none when it is None.

    kernel: a number, or a tuple of two (images) or three (videos). padding: what keeps the size, for odd kernels, by
    default. Further keywords go to the convolution.

    >>> from gluoncv.nn.conv import conv_norm_act
    >>> [type(layer).__name__ for layer in conv_norm_act(nn.BatchNorm, 8, 3)]
    ['Conv2D', 'BatchNorm', 'Activation']
    """
    videos = isinstance(kernel, (tuple, list)) and len(kernel) == 3
    if padding is None:
        padding = tuple(k // 2 for k in kernel) if isinstance(kernel, (tuple, list)) else kernel // 2
    conv = (nn.Conv3D if videos else nn.Conv2D)(channels, kernel, stride, padding, **{"use_bias": False, **kwargs})
    return [conv, norm(), *([nn.Activation(act)] if act else [])]


def sequence(*layers, prefix=""):
    """The layers one after the other.

    >>> from gluoncv.nn.conv import sequence
    >>> len(sequence(nn.Dense(3), nn.Dense(2)))
    2
    """
    stack = nn.HybridSequential(prefix=prefix)
    stack.add(*layers)
    return stack


def scoped(prefix, make, *args, **kwargs):
    """The layers of the list `make(*args, **kwargs)` one after the other; `prefix` begins their names.

    >>> from gluoncv.nn.conv import conv_norm_act, scoped
    >>> scoped("stem_", conv_norm_act, nn.BatchNorm, 8).prefix
    'stem_'
    """
    stack = nn.HybridSequential(prefix=prefix)
    with stack.name_scope():
        stack.add(*make(*args, **kwargs))
    return stack

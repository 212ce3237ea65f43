"""`npx.random`: samplers beyond NumPy's."""

from __future__ import annotations

from core.numpy.random import _shape_of, _size, bernoulli, normal, uniform
from core.numpy_extension.functions import seed
from core.ops.registry import F


def uniform_n(low=0.0, high=1.0, batch_shape=None, dtype=None, ctx=None, device=None):
    """`batch_shape` numbers between low and high for each element of the parameters.

    >>> x = npx.random.uniform_n(np.array([0, 10]), np.array([1, 11]), batch_shape=(3,))
    >>> x.shape, bool((x[:, 1] >= 10).all())
    ((3, 2), True)
    """
    return uniform(low, high, _size(batch_shape) + _shape_of(None, low, high), dtype, ctx or device)


def normal_n(loc=0.0, scale=1.0, batch_shape=None, dtype=None, ctx=None, device=None):
    """`batch_shape` numbers of a normal distribution for each element of the parameters.

    >>> npx.random.normal_n(np.zeros((2,)), np.ones((2,)), batch_shape=(3,)).shape
    (3, 2)
    """
    return normal(loc, scale, _size(batch_shape) + _shape_of(None, loc, scale), dtype, ctx or device)


def categorical(data, shape=None, get_prob=False, dtype="int32"):
    """Draws from the distributions in the last axis of `data` (batch, classes): batch + shape numbers of classes.

    With get_prob also the logarithms of their probabilities.

    >>> npx.random.categorical(np.array([[0, 1, 0], [0, 0, 1]]))
    array([1, 2], dtype=int32)
    """
    return F._sample_multinomial(data, shape=_size(shape), get_prob=get_prob, dtype=dtype or "int32")


__all__ = ["bernoulli", "categorical", "normal_n", "seed", "uniform_n"]

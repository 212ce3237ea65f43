"""Rules for the kernels of `norm` on tensors without memory."""

from core.kernels.meta.base import empty, enter, fits
from core.kernels.precision import wide_type


def _channels(x, axis, *parameters):
    for p in parameters:
        fits(
            p is None or tuple(p.shape) == (x.shape[axis],),
            "a normalisation",
            x,
            *(q for q in parameters if q is not None),
        )


@enter("norm")
def batch_norm(x, gamma, beta, axis, eps):
    _channels(x, axis, gamma, beta)
    kind = wide_type(x.dtype)
    return empty(x.shape, x.dtype, x), empty((x.shape[axis],), kind), empty((x.shape[axis],), kind)


@enter("norm")
def batch_norm_inference(x, gamma, beta, mean, var, axis, eps):
    _channels(x, axis, gamma, beta, mean, var)
    return empty(x.shape, x.dtype, x)


def _grads(x, gamma, size):
    kind = wide_type(x.dtype) if gamma is None else gamma.dtype
    return empty(x.shape, x.dtype, x), empty((size,), kind), empty((size,), kind)


@enter("norm")
def batch_norm_grad(dy, x, gamma, mean, rstd, axis):
    return _grads(x, gamma, x.shape[axis])


@enter("norm")
def batch_norm_inference_grad(dy, x, gamma, mean, var, axis, eps):
    return _grads(x, gamma, x.shape[axis])


@enter("norm")
def move_statistics(moving_mean, moving_var, mean, rstd, momentum, eps):
    """Gives nothing; ATen's description of the steps would import its compiler, which takes 130 MB."""


@enter("norm")
def layer_norm(x, gamma, beta, axis, eps):
    _channels(x, axis, gamma, beta)
    shape = tuple(1 if a == axis else n for a, n in enumerate(x.shape))
    return empty(x.shape, x.dtype), empty(shape, wide_type(x.dtype)), empty(shape, wide_type(x.dtype))


@enter("norm")
def layer_norm_grad(dy, x, gamma, mean, rstd, axis):
    dx, dgamma, dbeta = _grads(x, gamma, x.shape[axis])
    return empty(x.shape, x.dtype), dgamma, dbeta


@enter("norm")
def group_norm(x, gamma, beta, num_groups, eps):
    _channels(x, 1, gamma, beta)
    fits(x.shape[1] % num_groups == 0, f"{num_groups} groups", x)
    shape = (x.shape[0], num_groups)
    return empty(x.shape, x.dtype, x), empty(shape, wide_type(x.dtype)), empty(shape, wide_type(x.dtype))


@enter("norm")
def group_norm_grad(dy, x, gamma, mean, rstd, num_groups):
    return _grads(x, gamma, x.shape[1])

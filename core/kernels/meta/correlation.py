"""Rules for the kernels of `correlation` on tensors without memory."""

from core.kernels.meta.base import empty, enter, fits


@enter("correlation")
def correlate(first, second, size, reach, stride, step, pad, multiply):
    out = [-(-(n + 2 * pad - 2 * (reach + size // 2)) // stride) for n in first.shape[2:]]
    fits(all(n > 0 for n in out), "the patches of a correlation are larger than the maps", first, second)
    return empty((first.shape[0], (2 * (reach // step) + 1) ** 2, *out), first.dtype)


@enter("correlation")
def correlate_grad(dy, first, second, *how):
    return empty(first.shape, dy.dtype), empty(second.shape, dy.dtype)

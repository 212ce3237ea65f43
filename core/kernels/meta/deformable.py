"""Rules for the kernels of `deformable` on tensors without memory."""

from core.kernels.meta.base import empty, enter


@enter("deformable")
def columns(x, offset, mask, kernel, stride, dilate, pad, groups):
    return empty((*x.shape[:2], kernel[0] * kernel[1], offset.shape[2] * offset.shape[3]), x.dtype)


@enter("deformable")
def columns_grad(dy, x, offset, mask, kernel, stride, dilate, pad, groups):
    fading = empty((0,) if mask is None else mask.shape, x.dtype)
    return empty(x.shape, x.dtype), empty(offset.shape, offset.dtype), fading

"""Rules for the kernels of `matmul` on tensors without memory."""

from core.kernels.meta.base import broadcast, empty, enter, fits


@enter("matmul")
def matmul(a, b, transpose_a=False, transpose_b=False):
    fits(a.dim() > 1 and b.dim() > 1 and a.dtype is b.dtype, "a product of matrices", a, b)
    m, k = a.shape[-2:] if not transpose_a else (a.shape[-1], a.shape[-2])
    k2, n = b.shape[-2:] if not transpose_b else (b.shape[-1], b.shape[-2])
    fits(k == k2, "a product of matrices", a, b)
    return empty((*broadcast([a.shape[:-2], b.shape[:-2]]), m, n), a.dtype)


@enter("matmul")
def linear(x, w, b=None, activation=None, residual=None):
    fits(w.dim() == 2 and x.dim() > 0 and x.shape[-1] == w.shape[1] and x.dtype is w.dtype, "a linear layer", x, w)
    fits(b is None or tuple(b.shape) == (w.shape[0],), "the bias of a linear layer", w, w if b is None else b)
    y = empty((*x.shape[:-1], w.shape[0]), x.dtype)
    fits(residual is None or residual.shape == y.shape, "what is added to a linear layer", y, residual)
    return y


@enter("matmul")
def pack(w, rows):
    return empty(w.shape, w.dtype)

"""Transforms of contrib that MXNet has for GPUs only: Fourier transforms and count sketches, as matrix products."""

import math

from core.base import MXNetError
from core.dtypes import dtype_name
from core.ops.attributes import Int
from core.ops.registry import F, composite
from core.ops.values import Value


@composite("_contrib_fft")
def fft(data: Value, *, compute_size: Int = 128) -> Value:
    """The Fourier transform along the last axis: (..., d) to (..., 2 d), real and imaginary parts by turns."""
    d = data.shape[-1]
    cosine, sine = _waves(data, d)
    real, imaginary = F._matmul(_rows(data, d), cosine), F.negative(F._matmul(_rows(data, d), sine))
    return F._reshape_to(F.stack(real, imaginary, axis=2), shape=(*data.shape[:-1], 2 * d))


@composite("_contrib_ifft")
def ifft(data: Value, *, compute_size: Int = 128) -> Value:
    """d times the real part of the inverse Fourier transform: (..., 2 d), parts by turns, to (..., d)."""
    if data.shape[-1] % 2:
        raise MXNetError(f"ifft: the last axis has an even length, given shape {data.shape}")
    d = data.shape[-1] // 2
    cosine, sine = _waves(data, d)
    pairs = F._reshape_to(data, shape=(-1, d, 2))
    real, imaginary = (F._reshape_to(F.slice_axis(pairs, axis=2, begin=k, end=k + 1), shape=(-1, d)) for k in (0, 1))
    return F._reshape_to(F._matmul(real, cosine) - F._matmul(imaginary, sine), shape=(*data.shape[:-1], d))


@composite("_contrib_count_sketch")
def count_sketch(data: Value, h: Value, s: Value, *, out_dim: Int, processing_batch_size: Int = 32) -> Value:
    """(N, d) to (N, out_dim): column i, times its sign s[i], is added to column h[i]; h, s:
    (1, d) (Charikar et al., 2002).
    """
    places = F.Cast(F.one_hot(F.Reshape(h, shape=(-1,)), depth=out_dim), dtype=dtype_name(data.dtype))
    signed = F.broadcast_mul(data, F.Reshape(s, shape=(1, -1)))
    return F._reshape_to(F._matmul(_rows(signed, data.shape[-1]), places), shape=(*data.shape[:-1], out_dim))


def _rows(data: Value, d: int) -> Value:
    return F._reshape_to(data, shape=(-1, d))


def _waves(data: Value, d: int) -> tuple[Value, Value]:
    """Cosines and sines (d, d) of 2 pi j k / d; products are taken modulo d first, which keeps the angles exact."""
    steps = F._arange_like(data, length=d)
    turns = F._mod_scalar(F.broadcast_mul(F.Reshape(steps, shape=(d, 1)), F.Reshape(steps, shape=(1, d))), scalar=d)
    angles = turns * (2.0 * math.pi / d)
    kind = dtype_name(data.dtype)
    return F.Cast(F.cos(angles), dtype=kind), F.Cast(F.sin(angles), dtype=kind)

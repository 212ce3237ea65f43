"""Matrix products on the CPU: ATen calls MKL, or oneDNN for 16-bit types, packed weights and large float32 matrices."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from core.kernels.cpu._onednn import ENDINGS, finish, multiplies_quantized, onednn, packs, quantized, reorders
from core.kernels.epilogue import check_activation

_bindings = torch._C._nn  # of ATen; see `pointwise`


def matmul(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    if transpose_a:
        a = a.mT
    if transpose_b:
        b = b.mT
    if (axes := b.dim()) == 2 and a.numel() >= 4096 and reorders(a, b):
        return _packed_product(a, b.mT)
    try:
        if axes == 2:
            return torch.mm(a, b)
        if axes == 3:
            return torch.bmm(a, b)
    except RuntimeError:  # of other axes before the last two, or not to be multiplied
        pass
    return torch.matmul(a, b)


def _packed_product(x: Tensor, w: Tensor) -> Tensor:
    """x w^T in row-major order.

    Of a column-major x with many rows, as in the gradient of a weight of many outputs, w and the product are turned
    around instead, if that is less than half as much (measured: 0.8 of the time for 10,000 outputs of 200 inputs).
    """
    turned = x.shape[0] * w.shape[0] + (0 if w.is_contiguous() else w.numel())
    if not x.is_contiguous() and x.numel() > 2 * turned:
        return _row_major(onednn._linear_pointwise.default(_row_major(w), x, None, "none", [], "none").mT)
    return onednn._linear_pointwise.default(_row_major(x), w, None, "none", [], "none")


def linear(x: Tensor, w: Tensor, b: Tensor | None = None, activation: str | None = None, residual=None) -> Tensor:
    if activation is not None:
        check_activation("linear", activation)
    if not w.is_mkldnn and (x.numel() < 4096 or not reorders(x, w)):
        y = _bindings.linear(x, w, b)
        return y if activation is None and residual is None else finish(y, residual, activation)
    x = _row_major(x)
    if residual is not None:
        return finish(onednn._linear_pointwise.binary(x, residual, w, b, "add"), None, activation)
    return onednn._linear_pointwise.default(x, w, b, *ENDINGS[activation])


def quantized_linear(x: Tensor, w: Tensor, scale: Tensor, b: Tensor | None = None, rectify: bool = False) -> Tensor:
    if not w.is_mkldnn:
        w = pack_quantized(w, x.numel() // max(x.shape[-1], 1))
    if not w.is_mkldnn or not x.numel():
        y = (_bindings.linear(x.double(), w.double()) * scale).float()
        y = y if b is None else y.add_(b)
        return y.relu_() if rectify else y
    if scale.numel() == 1:
        scale = scale.expand(w.shape[1]).contiguous()
    x, zero = x.contiguous(), 0
    if x.dtype is torch.int8:  # which oneDNN multiplies by a loop of its reference, a thousand times as slow
        x, zero = x.view(torch.uint8) ^ 128, 128
    return quantized.qlinear_pointwise.default(
        x,
        1.0,
        zero,
        w,
        scale,
        _zeros(w.shape[1]),
        b,
        1.0,
        0,
        torch.float32,
        "relu" if rectify else "none",
        [],
        "none",
    )


@functools.cache
def _zeros(outputs: int) -> Tensor:
    """Zero points of weights."""
    return torch.zeros(outputs, dtype=torch.int32)


def pack_quantized(w: Tensor, rows: int) -> Tensor:
    return quantized.qlinear_prepack(w, None) if w.numel() and multiplies_quantized() else w


def _row_major(x: Tensor) -> Tensor:
    """The same elements in row-major order, in which oneDNN takes the first operand.

    ATen turns a matrix around in one thread; of an array of more axes all threads copy parts, which counts beside a
    product that they share: gradients of weights turn the gradient of a whole layer's output.
    """
    if x.dim() != 2 or x.is_contiguous():
        return x
    return x.new_empty((1, *x.shape)).copy_(x.unsqueeze(0)).squeeze(0)


def pack(w: Tensor, rows: int) -> Tensor:
    return onednn._reorder_linear_weight(w, rows) if packs(w) and rows else w.contiguous()

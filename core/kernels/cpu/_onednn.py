"""oneDNN's products and convolutions with packed weights, as ATen offers them, and what ends a product elsewhere."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

onednn, quantized = torch.ops.mkldnn, torch.ops.onednn
aten = torch.ops.aten
_IN_PLACE = {
    "relu": torch.relu_,
    "gelu": aten.gelu_,
    "sigmoid": torch.sigmoid_,
    "tanh": torch.tanh_,
    "silu": aten.silu_,
    "hard_swish": aten.hardswish_,
    "hard_gate": aten.hardsigmoid_,
    "relu6": lambda y: aten.clamp_(y, 0.0, 6.0),
}
# activation -> its name, scalars and algorithm as ATen's products take them
ENDINGS = {name: (name or "none", [], "none") for name in (None, "relu", "gelu", "sigmoid", "tanh")} | {
    "silu": ("swish", [], "none"),
    "hard_swish": ("hardswish", [], "none"),
    "hard_gate": ("hardsigmoid", [], "none"),
    "relu6": ("hardtanh", [0.0, 6.0], "none"),
}


def packs(w: Tensor) -> bool:
    """Whether oneDNN is here and computes in the weight's type."""
    return w.numel() > 0 and w.dtype in _types()


@functools.cache
def multiplies_half(kind: torch.dtype) -> bool:
    """Whether oneDNN is here and the processor has products of this type of half precision, which others emulate."""
    native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return kind in _types() and (kind is torch.float16 or (kind is torch.bfloat16 and native))


def reorders(x: Tensor, w: Tensor) -> bool:
    """Whether oneDNN multiplies x by a matrix faster than MKL although it reorders the matrix first.

    In float32, given enough rows: MKL leaves some processors' vector units idle (measured on an EPYC 9004: 1.1 times as
    fast for the layers of BERT, 1.4 times for the gradients of 10,000 outputs).
    """
    if x.dtype is not torch.float32 or x.numel() < 4096 or w.dtype is not torch.float32:
        return False
    rows = x.numel() // x.shape[-1]
    return rows >= 64 and min(w.shape) >= 16 and rows * w.numel() >= 2**22 and torch.float32 in _types()


@functools.cache
def multiplies_quantized() -> bool:
    """Whether oneDNN is here and the processor sums products of 8 bits in 32.

    Elsewhere sums of 16 bits may overflow.
    """
    return bool(_types()) and hasattr(quantized, "qconv2d_pointwise") and torch.cpu._is_vnni_supported()


def finish(y: Tensor, residual: Tensor | None, activation: str | None) -> Tensor:
    """activation(y + residual), in the memory of y."""
    if residual is not None:
        y.add_(residual)
    return y if activation is None else _IN_PLACE[activation](y)


@functools.cache
def _types() -> frozenset[torch.dtype]:
    if not (torch.backends.mkldnn.is_available() and hasattr(onednn, "_linear_pointwise")):
        return frozenset()
    half = {torch.bfloat16: onednn._is_mkldnn_bf16_supported, torch.float16: onednn._is_mkldnn_fp16_supported}
    return frozenset([torch.float32, *(kind for kind, supported in half.items() if supported())])

"""oneDNN's products and convolutions with packed weights, as ATen offers them, and what ends a product elsewhere."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

onednn = torch.ops.mkldnn
_IN_PLACE = {"relu": torch.relu_, "gelu": torch.ops.aten.gelu_, "sigmoid": torch.sigmoid_, "tanh": torch.tanh_}


def packs(w: Tensor) -> bool:
    """Whether oneDNN is here and computes in the weight's type."""
    return w.device.type == "cpu" and w.numel() > 0 and w.dtype in _types()


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

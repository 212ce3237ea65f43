"""Places of images and where the taps of a window lead, for convolution and pooling.

Inside these rooms images are (N, *spatial, C) with channels next to each other, and have three spatial axes: with
fewer, the leading ones have extent 1. What a layer fixes (KERNEL, STRIDE, DILATE, PAD, three numbers each) is
compiled in, so that kernels divide by constants.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

Ints = tuple[int, ...]


def channels_last(t: Tensor) -> Tensor:
    """(N, C, *spatial) as a contiguous (N, *spatial, C): a view if t is channels-last already, else a copy."""
    return t.movedim(1, -1).contiguous()


def empty(shape: Ints, like: Tensor) -> Tensor:
    """Memory for a tensor of `shape`, of the dtype and on the device of `like`."""
    return torch.empty(shape, dtype=like.dtype, device=like.device)


def three(values, fill: int) -> Ints:
    """One number for each of three spatial axes."""
    return (fill,) * (3 - len(values)) + tuple(values)


@triton.jit
def reach(
    image, d, h, v, tap_d, tap_h, tap_w, reached_d, reached_h, reached_w,
    STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr, BACKWARD: tl.constexpr,
):  # fmt: skip
    """The flat place to which a tap leads from (image, d, h, v), and whether it exists."""
    d, inside_d = _reach1(d, tap_d, reached_d, STRIDE[0], DILATE[0], PAD[0], BACKWARD)
    h, inside_h = _reach1(h, tap_h, reached_h, STRIDE[1], DILATE[1], PAD[1], BACKWARD)
    v, inside_w = _reach1(v, tap_w, reached_w, STRIDE[2], DILATE[2], PAD[2], BACKWARD)
    return ((image * reached_d + d) * reached_h + h) * reached_w + v, inside_d & inside_h & inside_w


@triton.jit
def _reach1(place, tap, reached, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr, BACKWARD: tl.constexpr):
    if BACKWARD:
        span = place + PAD - tap * DILATE
        return span // STRIDE, (span >= 0) & (span % STRIDE == 0) & (span // STRIDE < reached)
    else:
        there = place * STRIDE - PAD + tap * DILATE
        return there, (there >= 0) & (there < reached)


@triton.jit
def unravel3(flat, height, width):
    """Three coordinates of a flat place."""
    return flat // (height * width), flat // width % height, flat % width

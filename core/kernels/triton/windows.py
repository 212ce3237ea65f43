"""Windows of convolution and pooling: positions of images, and where the taps of a window lead.

Inside of these kernels images are (N, *spatial, C) with channels next to each other, and have three spatial axes: with
fewer, the leading ones have extent 1. What a layer fixes (KERNEL, STRIDE, DILATE, PAD, three numbers each) is
compiled in, so that kernels divide by constants.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._counting import WIDE, blocks_of, program
from core.kernels.triton._kernel import jit
from core.kernels.triton.autotune import Config
from core.kernels.triton.copies import contiguous

Ints = tuple[int, ...]


class Geometry(NamedTuple):
    """What a layer fixes, for three spatial axes: compiled into the kernels, which then divide by constants."""

    kernel: Ints
    stride: Ints
    dilate: Ints
    pad: Ints
    groups: int
    channels: Ints  # of w: (O / groups, C / groups)
    ndim: int

    @classmethod
    def of(cls, w_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int) -> Geometry:
        kernel = tuple(w_shape[2:])
        channels = (w_shape[0] // groups, w_shape[1])
        return cls(three(kernel, 1), three(stride, 1), three(dilate, 1), three(pad, 0), groups, channels, len(kernel))

    def out(self, extent: Ints) -> Ints:
        """Positions of y along each axis for `extent` positions of x."""
        sizes = zip(three(extent, 1), self.kernel, self.stride, self.dilate, self.pad, strict=True)
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in sizes)[3 - self.ndim :]

    @property
    def pointwise(self) -> bool:
        return self.groups == 1 and not any(self.pad) and max(*self.kernel, *self.stride) == 1

    @property
    def depthwise(self) -> bool:
        return self.groups > 1 and self.channels[1] == 1

    def phases(self, backward: bool) -> Ints:
        """Along each axis, into how many classes positions are sorted so that the taps of a class are every n-th."""
        if not backward:
            return (1, 1, 1)
        return tuple(s if d == 1 else 1 for s, d in zip(self.stride, self.dilate, strict=True))

    def constexprs(self) -> dict[str, Ints]:
        return {"KERNEL": self.kernel, "STRIDE": self.stride, "DILATE": self.dilate, "PAD": self.pad}


def channels_last(t: Tensor) -> Tensor:
    """(N, C, *spatial) as a contiguous (N, *spatial, C): a view if t is channels-last already, else a copy."""
    return contiguous(t.movedim(1, -1))


def empty(shape: Ints, like: Tensor) -> Tensor:
    """Memory for a tensor of `shape`, of the dtype and on the device of `like`."""
    return torch.empty(shape, dtype=like.dtype, device=like.device)


def three(values, fill: int) -> Ints:
    """One number for each of three spatial axes."""
    return (fill,) * (3 - len(values)) + tuple(values)


def wide(target: Tensor, source: Tensor, w: Tensor) -> bool:
    """Whether 32 bits are too few for the positions of a pass (channels are counted in 64 always) or for the weights."""
    return max(t.numel() // max(t.shape[-1], 1) for t in (target, source)) >= WIDE or w.numel() >= WIDE


def blocks(rows: int, channels: int, config: Config) -> tuple[int]:
    """The grid of a launch over blocks of positions and channels, see `block_of`.

    All programs are in its first dimension: the others end at 65,535.
    """
    return (triton.cdiv(rows, config["BLOCK_R"]) * triton.cdiv(channels, config["BLOCK_C"]),)


@jit
def block_of(rows, WIDE: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    """Positions and channels of this program's block."""
    item, down = program(0, WIDE), blocks_of(rows, BLOCK_R)
    return item % down * BLOCK_R + tl.arange(0, BLOCK_R), item // down * BLOCK_C + tl.arange(0, BLOCK_C)


@jit
def reach(
    image, d, h, v, tap_d, tap_h, tap_w, reached_d, reached_h, reached_w,
    STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr, BACKWARD: tl.constexpr,
):  # fmt: skip
    """The flat position to which a tap leads from (image, d, h, v), and whether it exists."""
    d, inside_d = _reach1(d, tap_d, reached_d, STRIDE[0], DILATE[0], PAD[0], BACKWARD)
    h, inside_h = _reach1(h, tap_h, reached_h, STRIDE[1], DILATE[1], PAD[1], BACKWARD)
    v, inside_w = _reach1(v, tap_w, reached_w, STRIDE[2], DILATE[2], PAD[2], BACKWARD)
    return ((image * reached_d + d) * reached_h + h) * reached_w + v, inside_d & inside_h & inside_w


@jit
def _reach1(
    position, tap, reached, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr, BACKWARD: tl.constexpr
):
    if BACKWARD:
        span = position + PAD - tap * DILATE
        return span // STRIDE, (span >= 0) & (span % STRIDE == 0) & (span // STRIDE < reached)
    else:
        there = position * STRIDE - PAD + tap * DILATE
        return there, (there >= 0) & (there < reached)


@jit
def unravel3(flat, height, width):
    """Three coordinates of a flat position."""
    return flat // (height * width), flat // width % height, flat % width


# ---------------------------------------------------------------- ahead of time

# What convolutions are compiled for: the numbers that they all take, the usual layer, one beyond 32 bits, and all that
# can follow the sums.
EXTENTS = {f"{name}_{axis}": "i32" for name in ("positions", "reached") for axis in "dhw"}
LAYER = {"KERNEL": (1, 3, 3), "STRIDE": (1, 1, 1), "DILATE": (1, 1, 1), "PAD": (0, 1, 1), "WIDE": False}
FAR = {**LAYER, "WIDE": True}
FUSED = {"HAS_BIAS": True, "HAS_RESIDUAL": True, "ACTIVATION": "relu"}

"""Winograd's convolution of 3 by 3 windows: a quarter of the multiplications, for constant weights in float32.

Six by six data give four by four results: both are brought into the 36 values of a polynomial product by matrices,
between which every value is a matrix product over channels [Lavin and Gray, "Fast Algorithms for Convolutional Neural
Networks", 2016]. The points 0, 3/4, -3/4, 3/2, -3/2 and infinity keep the root-mean-square error at 1e-6 to 3e-6 of the
results, half of what the usual ones (0, 1, -1, 2, -2) give; the direct sum has 2e-7 to 1e-6 [Barabasz et al., "Error
Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks", 2020]. An infinite or undefined
datum reaches all the results of its tile, not only those whose windows hold it.
"""

from __future__ import annotations

import functools
from math import ceil

import torch
from torch import Tensor

from core.kernels.cpu._onednn import onednn

TILE = 4  # results along an axis
SPAN = TILE + 2  # data along an axis
VALUES = SPAN * SPAN
POINTS = (0.0, 0.75, -0.75, 1.5, -1.5)
CHUNK = 2**20  # values of transformed data at a time: they and their products stay in the caches,
FEWEST = 128  # but so many tiles, if there are, share the reading of the weights
# Costs in multiplications of the product over channels, measured on an EPYC 9004: the transforms and their copies run
# at a fifth of its speed, and to read a weight, which a network has to from memory, takes as long as 40 with it.
TRANSFORM, READ, GAIN = 5, 40, 0.9


def suits(w: Tensor, x_shape: tuple, stride: tuple, dilate: tuple, pad: tuple, groups: int) -> bool:
    """Whether this convolution has an implementation here that pays."""
    if w.dtype is not torch.float32 or tuple(w.shape[2:]) != (3, 3) or groups != 1:
        return False
    if {*stride, *dilate} != {1}:
        return False
    rows, columns = _out(x_shape, pad)
    if rows < 1 or columns < 1:
        return False
    (outputs, channels), tiles = w.shape[:2], x_shape[0] * ceil(rows / TILE) * ceil(columns / TILE)
    direct = (x_shape[0] * rows * columns + READ) * 9 * channels * outputs
    products = (tiles + READ) * VALUES * channels * outputs
    transforms = tiles * VALUES * (VALUES * channels + TILE * TILE * outputs)
    return products + TRANSFORM * transforms < GAIN * direct


def pack(w: Tensor, x_shape: tuple, pad: tuple) -> Tensor:
    """The transformed weight (O, C, 3, 3) for `conv`: oneDNN's packed (36 O, C, 1, 1, 1),
    with which tiles lie along a line.
    """
    outputs, channels = w.shape[:2]
    _, weights, _, _ = _matrices()
    values = weights @ w.reshape(-1, 9).double().T
    values = values.float().view(VALUES * outputs, channels, 1, 1, 1)
    images, rows = _chunk(x_shape, pad)
    tiles = images * rows * ceil(_out(x_shape, pad)[1] / TILE)
    return onednn._reorder_convolution_weight(values, *_LINE, VALUES, (1, VALUES * channels, 1, 1, tiles))


def conv(x: Tensor, w: Tensor, b: Tensor | None, pad: tuple, relu: bool) -> Tensor:
    """The sums x (N, C, H, W) * w + b, or their positive parts, channels-last.

    w as `pack` made it, b (O,) where given.
    """
    count, (rows, columns), outputs = x.shape[0], _out(x.shape, pad), w.shape[0] // VALUES
    down, across = ceil(rows / TILE), ceil(columns / TILE)
    padded = _padded(x, pad, down * TILE + 2, across * TILE + 2)
    y = x.new_empty((count, down, TILE, across, TILE, outputs))
    images, some = _chunk(x.shape, pad)
    for first in range(0, count, images):
        for top in range(0, down, some):
            data = padded[first : first + images, TILE * top : TILE * min(top + some, down) + 2]
            target = y[first : first + images, top : top + some].transpose(2, 3)
            result = _tiles(data.unfold(1, SPAN, TILE).unfold(2, SPAN, TILE), w, b).view(target.shape)
            torch.clamp_min(result, 0, out=target) if relu else target.copy_(result)
    y = y.view(count, down * TILE, across * TILE, outputs)[:, :rows, :columns]
    return y.contiguous().permute(0, 3, 1, 2)


def _tiles(data: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    """The results (tiles, 16, O) of data (N, down, across, C, 6, 6)."""
    tiles, channels, outputs = data.shape[:3].numel(), data.shape[3], w.shape[0] // VALUES
    to_values, _, to_results, bias = _matrices()
    data = data.permute(0, 1, 2, 4, 5, 3).reshape(tiles, VALUES, channels)
    data = torch.bmm(to_values.expand(tiles, -1, -1), data)
    data = data.view(1, 1, 1, tiles, -1).permute(0, 4, 1, 2, 3)
    b = None if b is None else torch.outer(bias, b).view(-1)
    data = onednn._convolution_pointwise.default(data, w, b, *_LINE, VALUES, "none", [], "none")
    data = data.permute(0, 2, 3, 4, 1).reshape(tiles, VALUES, outputs)
    return torch.bmm(to_results.expand(tiles, -1, -1), data)


_LINE = [0] * 3, [1] * 3, [1] * 3  # pad, stride, dilate of a product over channels


def _out(x_shape: tuple, pad: tuple) -> tuple[int, int]:
    return x_shape[2] + 2 * pad[0] - 2, x_shape[3] + 2 * pad[1] - 2


def _chunk(x_shape: tuple, pad: tuple) -> tuple[int, int]:
    """How many images, and how many rows of tiles of each, are transformed at a time."""
    rows, columns = (ceil(n / TILE) for n in _out(x_shape, pad))
    some = max(1, max(FEWEST, CHUNK // (VALUES * x_shape[1])) // columns)
    if some < rows:
        return 1, ceil(rows / ceil(rows / some))
    return ceil(x_shape[0] / ceil(x_shape[0] / (some // rows))), rows


def _padded(x: Tensor, pad: tuple, height: int, width: int) -> Tensor:
    """x between zeros, (N, height, width, C)."""
    top, left = pad
    below, right = top + x.shape[2], left + x.shape[3]
    padded = x.new_empty((x.shape[0], height, width, x.shape[1]))
    for border in (padded[:, :top], padded[:, below:], padded[:, top:below, :left], padded[:, top:below, right:]):
        border.zero_()
    padded[:, top:below, left:right].copy_(x.permute(0, 2, 3, 1))
    return padded


@functools.cache
def _matrices() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What brings data (36, 36), weights (36, 9; float64) and products (16, 36) over, and the bias (36,) in between.

    Toom's and Cook's: the polynomials that are 0 at all points but one, the powers of the points, and both over their
    common factor; a weight of ones in every result is the value of the polynomial 1 at every point.
    """
    exact = functools.partial(torch.tensor, dtype=torch.float64)
    data, weights, results = (
        torch.zeros(size, dtype=torch.float64) for size in ((SPAN, SPAN), (SPAN, 3), (TILE, SPAN))
    )
    for i, point in enumerate(POINTS):
        others = [p for p in POINTS if p != point]
        data[i, :-1] = exact(_coefficients(others))
        weights[i] = exact([point**k for k in range(3)]) / torch.prod(point - exact(others))
        results[:, i] = exact([point**k for k in range(TILE)])
    data[-1], weights[-1, -1], results[-1, -1] = exact(_coefficients(POINTS)), 1, 1
    bias = torch.linalg.pinv(results).sum(1)
    both = [torch.kron(m, m) for m in (data, weights, results, bias)]
    return both[0].float(), both[1], both[2].float(), both[3].float()


def _coefficients(roots) -> list[float]:
    """Of the product of x - root, the lowest power first."""
    product = [1.0]
    for root in roots:
        product = [low - root * high for low, high in zip([0.0, *product], [*product, 0.0], strict=True)]
    return product

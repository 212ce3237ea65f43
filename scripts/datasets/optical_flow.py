"""Optical flow between the frames of a video by TV-L1 (Zach, Pock and Bischof, 2007), with or without the camera's motion."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

# Weight of the data term, coupling of the two parts, time step of the dual part (Sanchez, Meinhardt-Llopis and Facciolo,
# 2013); a finer level has twice the sides of a coarser one, which has at least SMALLEST pixels a side.
LAMBDA, THETA, TAU = 0.15, 0.3, 0.25
SMALLEST, WARPS, ITERATIONS = 16, 5, 20
BOUND = 20  # pixels; in pictures of a flow black is this far to the left or up, and white as far to the right or down
ROUNDS = 10  # of the fit of a camera's motion


def flow(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Where the pixels of `first` went, (2, height, width) in pixels to the right and down; grey pictures 0 to 255."""
    levels = [(np.asarray(first, "float64"), np.asarray(second, "float64"))]
    while min(levels[-1][0].shape) >= 2 * SMALLEST:
        levels.append(tuple(_halved(picture) for picture in levels[-1]))
    found = np.zeros((2, *levels[-1][0].shape))
    for a, b in reversed(levels):
        if found.shape[1:] != a.shape:
            found = 2 * np.stack([_resized(part, a.shape) for part in found])
        found = _refined(a, b, found)
    return found


def without_camera(found: np.ndarray) -> np.ndarray:
    """The flow less that of the plane whose motion explains most of it, a homography."""
    height, width = found.shape[1:]
    size = max(height, width)
    y, x = (grid.ravel() / size for grid in np.mgrid[:height, :width])
    u, v = x + found[0].ravel() / size, y + found[1].ravel() / size
    one, none = np.ones_like(x), np.zeros_like(x)
    rows = np.stack([[x, y, one, none, none, none, -u * x, -u * y], [none, none, none, x, y, one, -v * x, -v * y]])
    rows, wanted = rows.transpose(0, 2, 1), np.stack([u, v])
    weights = np.ones_like(x)
    for _ in range(ROUNDS):  # what moves by itself weighs the less the less it fits
        weighted = rows * weights[None, :, None]
        matrix = np.linalg.lstsq(weighted.reshape(-1, 8), (wanted * weights).ravel(), rcond=None)[0]
        across, down, deep = (
            (matrix[k] * x + matrix[k + 1] * y + end) for k, end in ((0, matrix[2]), (3, matrix[5]), (6, 1))
        )
        left = np.stack([u - across / deep, v - down / deep])
        weights = 1 / np.sqrt(np.hypot(*left) + 0.1 / size)
    return left.reshape(found.shape) * size


def pictures(frames, kind: str):
    """For each pair of neighbours among `frames`, RGB, the flow as two grey pictures, of x and of y.

    kind: "tvl1", or "warp_tvl1" without the camera's motion.
    """
    grey = (frame @ [0.299, 0.587, 0.114] for frame in frames)
    for first, second in pairwise(grey):
        found = flow(first, second)
        if kind == "warp_tvl1":
            found = without_camera(found)
        yield np.rint(np.clip((found + BOUND) / (2 * BOUND), 0, 1) * 255).astype("uint8")


def _refined(a: np.ndarray, b: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The flow after some steps at one size: the data term in closed form, then the total variation by its dual."""
    duals = np.zeros((2, *found.shape))
    slopes = np.stack(np.gradient(b)[::-1])
    for _ in range(WARPS):
        moved, along = _sampled(b, found), np.stack([_sampled(part, found) for part in slopes])
        steep, start = (along**2).sum(0) + 1e-9, found.copy()
        for _ in range(ITERATIONS):
            rest = moved - a + (along * (found - start)).sum(0)
            step = np.clip(-rest / steep, -LAMBDA * THETA, LAMBDA * THETA)
            data = found + step * along
            found = data + THETA * np.stack([_divergence(pair) for pair in duals])
            for pair, part in zip(duals, found, strict=True):
                rise = np.stack(_forward(part))
                pair += TAU / THETA * rise
                pair /= 1 + TAU / THETA * np.hypot(*rise)
    return found


def _forward(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.diff(picture, axis=1, append=picture[:, -1:]),
        np.diff(picture, axis=0, append=picture[-1:]),
    )


def _divergence(pair: np.ndarray) -> np.ndarray:
    x, y = pair[0].copy(), pair[1].copy()
    x[:, -1], y[-1] = 0, 0
    return np.diff(x, axis=1, prepend=0) + np.diff(y, axis=0, prepend=0)


def _sampled(picture: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The picture where the flow leads, between pixels by interpolation and at the edge beyond it."""
    y, x = np.mgrid[: picture.shape[0], : picture.shape[1]] + found[::-1]
    return _at(picture, y, x)


def _at(picture: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    y, x = (np.clip(place, 0, extent - 1) for place, extent in zip((y, x), picture.shape, strict=True))
    top, left = (np.minimum(place.astype(int), extent - 2) for place, extent in zip((y, x), picture.shape, strict=True))
    y, x = y - top, x - left
    upper = picture[top, left] * (1 - x) + picture[top, left + 1] * x
    lower = picture[top + 1, left] * (1 - x) + picture[top + 1, left + 1] * x
    return upper * (1 - y) + lower * y


def _halved(picture: np.ndarray) -> np.ndarray:
    height, width = (side // 2 * 2 for side in picture.shape)
    return picture[:height, :width].reshape(height // 2, 2, width // 2, 2).mean((1, 3))


def _resized(picture: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    y, x = ((np.arange(side) + 0.5) / 2 - 0.5 for side in shape)
    return _at(picture, *np.meshgrid(y, x, indexing="ij"))

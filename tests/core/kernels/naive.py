"""Convolution and pooling in float64 NumPy, written from their definitions: what both backends are held against."""

import itertools

import numpy as np


def output_extent(size, kernel, stride, pad, dilate=None):
    """Windows along each spatial axis; `pad` holds pairs (lo, hi)."""
    dilate = dilate or (1,) * len(kernel)
    return tuple(
        (n + lo + hi - d * (k - 1) - 1) // s + 1 for n, k, s, (lo, hi), d in zip(size, kernel, stride, pad, dilate)
    )


def conv(x, w, b, stride, dilate, pad, groups):
    """Cross-correlation, the sum over kernel places of shifted images times a matrix."""
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    out = output_extent(x.shape[2:], w.shape[2:], stride, [(p, p) for p in pad], dilate)
    y = np.zeros((x.shape[0], w.shape[0], *out))
    xp = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    for group, place in itertools.product(range(groups), itertools.product(*map(range, w.shape[2:]))):
        xs, ws = _group(group, groups, x.shape[1]), _group(group, groups, w.shape[0])
        image = xp[(slice(None), xs, *_shifted(place, out, stride, dilate))]
        y[:, ws] += np.einsum("nc...,oc->no...", image, w[(ws, slice(None), *place)])
    return y if b is None else y + np.asarray(b, np.float64).reshape(-1, *(1,) * len(out))


def conv_grads(dy, x, w, stride, dilate, pad, groups):
    """Gradients of `conv` by x and w."""
    dy, x, w = (np.asarray(t, np.float64) for t in (dy, x, w))
    xp = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    everywhere = (0, *range(2, x.ndim))
    dxp, dw = np.zeros_like(xp), np.zeros_like(w)
    for group, place in itertools.product(range(groups), itertools.product(*map(range, w.shape[2:]))):
        xs, ws = _group(group, groups, x.shape[1]), _group(group, groups, w.shape[0])
        at = (slice(None), xs, *_shifted(place, dy.shape[2:], stride, dilate))
        dxp[at] += np.einsum("no...,oc->nc...", dy[:, ws], w[(ws, slice(None), *place)])
        dw[(ws, slice(None), *place)] = np.tensordot(dy[:, ws], xp[at], (everywhere, everywhere))
    inside = tuple(slice(p, p + n) for p, n in zip(pad, x.shape[2:]))
    return dxp[(slice(None), slice(None), *inside)], dw


def windows(extent, kernel, stride, pad):
    """For every output place: its index, and for each axis (start, start + kernel)."""
    out = output_extent(extent, kernel, stride, pad)
    for at in itertools.product(*map(range, out)):
        yield at, [(o * s - lo, o * s - lo + k) for o, s, k, (lo, _) in zip(at, stride, kernel, pad)]


def max_pool(x, kernel, stride, pad):
    """Maxima (-inf for an empty window) and flat positions of the first ones (-1 for an empty window)."""
    x = np.asarray(x, np.float64)
    extent = x.shape[2:]
    out = output_extent(extent, kernel, stride, pad)
    y = np.full((*x.shape[:2], *out), -np.inf)
    argmax = np.full(y.shape, -1, np.int64)
    for at, spans in windows(extent, kernel, stride, pad):
        grid = [range(max(a, 0), min(b, n)) for (a, b), n in zip(spans, extent)]
        for place in itertools.product(*grid):
            value, best = x[(..., *place)], y[(..., *at)]
            better = value > best
            y[(..., *at)] = np.where(better, value, best)
            argmax[(..., *at)] = np.where(better, np.ravel_multi_index(place, extent), argmax[(..., *at)])
    return y, argmax


def avg_pool(x, kernel, stride, pad, count_include_pad):
    """Means as MXNet's pool.h counts them."""
    x = np.asarray(x, np.float64)
    extent = x.shape[2:]
    y = np.zeros((*x.shape[:2], *output_extent(extent, kernel, stride, pad)))
    for at, inside, count in _counted(extent, kernel, stride, pad, count_include_pad):
        y[(..., *at)] = x[(..., *inside)].sum(tuple(range(2, x.ndim))) / count
    return y


def avg_pool_grad(dy, x_shape, kernel, stride, pad, count_include_pad):
    """Gradient of `avg_pool`."""
    dy = np.asarray(dy, np.float64)
    dx = np.zeros(x_shape)
    for at, inside, count in _counted(x_shape[2:], kernel, stride, pad, count_include_pad):
        dx[(..., *inside)] += (dy[(..., *at)] / count)[(..., *(None,) * len(kernel))]
    return dx


def relative_error(got, want):
    """||got - want|| / ||want||, where infinities must agree."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, (got.shape, want.shape)
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    return np.linalg.norm(got[finite] - want[finite]) / max(np.linalg.norm(want[finite]), 1e-30)


def _counted(extent, kernel, stride, pad, count_include_pad):
    for at, spans in windows(extent, kernel, stride, pad):
        clipped = [(max(a, 0), min(b, n)) for (a, b), n in zip(spans, extent)]
        if count_include_pad:
            counted = [(a, min(b, n + lo)) for (a, b), n, (lo, _) in zip(spans, extent, pad)]
        else:
            counted = clipped
        count = np.prod([max(b - a, 0) for a, b in counted])
        yield at, tuple(slice(a, max(a, b)) for a, b in clipped), max(count, 1)


def _group(group, groups, channels):
    each = channels // groups
    return slice(group * each, (group + 1) * each)


def _shifted(place, out, stride, dilate):
    return tuple(slice(k * d, k * d + (o - 1) * s + 1, s) for k, o, s, d in zip(place, out, stride, dilate))

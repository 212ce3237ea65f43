"""Correlation of patches on the CPU: a product and a sum for each displacement."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def correlate(first, second, size, reach, stride, step, pad, multiply):
    first, second = _padded(first, pad), _padded(second, pad)
    here, spans = _windows(first, size, reach, stride)
    channels = []
    for down, right in _displacements(reach, step):
        there = _part(second, reach + down, reach + right, spans)
        both = here * there if multiply else (here - there).abs_()
        channels.append(both.sum(1))
    y = torch.stack(channels, 1)
    if size > 1 or stride > 1:
        y = aten.avg_pool2d(y, [size, size], [stride, stride]) * size**2
    return y.div_(size**2 * first.shape[1])


def correlate_grad(dy, first, second, size, reach, stride, step, pad, multiply):
    shape, first, second = first.shape, _padded(first, pad), _padded(second, pad)
    here, spans = _windows(first, size, reach, stride)
    dy = dy / (size**2 * shape[1])
    if size > 1 or stride > 1:
        like = dy.new_empty((*dy.shape[:2], *spans))
        dy = aten.avg_pool2d_backward(dy * size**2, like, [size] * 2, [stride] * 2, [0, 0], False, True, None)
    gradients = torch.zeros_like(first), torch.zeros_like(second)
    own = _part(gradients[0], reach, reach, spans)
    for number, (down, right) in enumerate(_displacements(reach, step)):
        there, other = (_part(t, reach + down, reach + right, spans) for t in (second, gradients[1]))
        gradient = dy[:, number : number + 1]
        if multiply:
            own.addcmul_(gradient, there)
            other.addcmul_(gradient, here)
        else:
            signed = torch.where(here >= there, gradient, -gradient)
            own.add_(signed)
            other.sub_(signed)
    return tuple(_part(g, pad, pad, shape[2:]).contiguous() for g in gradients)


def _padded(x, pad):
    return aten.constant_pad_nd(x, [pad] * 4, 0) if pad else x


def _windows(first, size, reach, stride):
    """(What all patches cover of the first map, its extents)."""
    out = [-(-(n - 2 * (reach + size // 2)) // stride) for n in first.shape[2:]]
    spans = [(n - 1) * stride + size for n in out]
    return _part(first, reach, reach, spans), spans


def _part(x, top, left, spans):
    return x[:, :, top : top + spans[0], left : left + spans[1]]


def _displacements(reach, step):
    steps = [s * step for s in range(-(reach // step), reach // step + 1)]
    return [(down, right) for down in steps for right in steps]

"""Bounding boxes: (left, top, right, bottom), called "corner", or (x, y, width, height) around the centre, "center"."""

import numpy as np

from gluon.block import HybridBlock


class NumPyBBoxCornerToCenter:
    """`BBoxCornerToCenter` for arrays of NumPy."""

    def __init__(self, axis=-1, split=False):
        self._split, self._axis = split, axis

    def __call__(self, x):
        parts = _center(*np.split(x, 4, axis=self._axis))
        return parts if self._split else np.concatenate(parts, axis=self._axis)


class BBoxCornerToCenter(HybridBlock):
    """Centres and sizes of boxes given by corners; with `split` as four arrays, of extent 1 along `axis`."""

    def __init__(self, axis=-1, split=False):
        super().__init__()
        self._split, self._axis = split, axis

    def hybrid_forward(self, F, x):
        parts = _center(*F.split(x, axis=self._axis, num_outputs=4))
        return parts if self._split else F.concat(*parts, dim=self._axis)


class BBoxCenterToCorner(HybridBlock):
    """Corners of boxes given by centres and sizes; with `split` as four arrays, of extent 1 along `axis`."""

    def __init__(self, axis=-1, split=False):
        super().__init__()
        self._split, self._axis = split, axis

    def hybrid_forward(self, F, x):
        x, y, width, height = F.split(x, axis=self._axis, num_outputs=4)
        parts = x - width * 0.5, y - height * 0.5, x + width * 0.5, y + height * 0.5
        return parts if self._split else F.concat(*parts, dim=self._axis)


class BBoxSplit(HybridBlock):
    """The four numbers of boxes as four arrays; `squeeze_axis` removes the axis, which else has extent 1."""

    def __init__(self, axis, squeeze_axis=False, **kwargs):
        super().__init__(**kwargs)
        self._axis, self._squeeze_axis = axis, squeeze_axis

    def hybrid_forward(self, F, x):
        return F.split(x, axis=self._axis, num_outputs=4, squeeze_axis=self._squeeze_axis)


class BBoxArea(HybridBlock):
    """Areas (..., 1) of boxes (..., 4), 0 where a side is negative; ValueError for an unknown format."""

    def __init__(self, axis=-1, fmt="corner", **kwargs):
        super().__init__(**kwargs)
        self._pre = _by_format(fmt, corner=BBoxCornerToCenter(axis, split=True), center=BBoxSplit(axis))

    def hybrid_forward(self, F, x):
        _, _, width, height = self._pre(x)
        return F.relu(width) * F.relu(height)


class BBoxBatchIOU(HybridBlock):
    """Intersection over union (B, N, M) of boxes (B, N, 4) and (B, M, 4) of the same pictures.

    offset: 1 where right and bottom belong to the box. eps: added to the union. ValueError for an unknown format.
    """

    def __init__(self, axis=-1, fmt="corner", offset=0, eps=1e-15, **kwargs):
        super().__init__(**kwargs)
        self._offset, self._eps, self._axis = offset, eps, axis
        self._pre = _by_format(fmt, corner=BBoxSplit(axis), center=BBoxCenterToCorner(axis, split=True))

    def hybrid_forward(self, F, a, b):
        # (B, N, 1) and (B, 1, M)
        a = [F.expand_dims(F.squeeze(part, axis=self._axis), axis=-1) for part in self._pre(a)]
        b = [F.expand_dims(F.squeeze(part, axis=self._axis), axis=-2) for part in self._pre(b)]
        shared = 1
        for low, high in ((0, 2), (1, 3)):
            extent = F.broadcast_minimum(a[high], b[high]) - F.broadcast_maximum(a[low], b[low]) + self._offset
            # At most the largest number of float16.
            shared = F.clip(extent, a_min=0, a_max=6.55040e04) * shared
        return shared / (F.broadcast_add(self._area(*a), self._area(*b)) - shared + self._eps)

    def _area(self, left, top, right, bottom):
        return (right - left + self._offset) * (bottom - top + self._offset)


class BBoxClipToImage(HybridBlock):
    """Boxes (B, N, 4) moved into the picture (B, C, H, W), whose numbers do not matter."""

    def hybrid_forward(self, F, x, img):
        height_width = F.expand_dims(F.slice_axis(F.shape_array(img), axis=0, begin=2, end=None), axis=0)
        size = F.reshape(F.tile(F.reverse(height_width, axis=1), reps=(2,)), shape=(0, -4, 1, -1))
        return F.broadcast_minimum(F.maximum(x, 0.0), F.cast(size, dtype="float32"))


def _center(left, top, right, bottom):
    width, height = right - left, bottom - top
    return left + width * 0.5, top + height * 0.5, width, height


def _by_format(fmt, **blocks):
    if fmt.lower() not in blocks:
        raise ValueError(f"boxes are 'corner' or 'center', got fmt={fmt!r}")
    return blocks[fmt.lower()]

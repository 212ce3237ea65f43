"""Anchors of single shot detectors."""

import numpy as np

from gluon.block import HybridBlock


class SSDAnchorGenerator(HybridBlock):
    """Anchors (1, N, 4) of centres and sizes, in pixels of the picture, for a feature map (B, C, H, W).

    index: number of the map. im_size: height and width of the picture, which `clip` keeps anchors in. sizes: those of
    this map and of the next. ratios: of width to height. step: pixels of the picture a place. alloc_size: height and
    width of the largest map. offsets: where the centres are in a place, (y, x).
    """

    def __init__(
        self, index, im_size, sizes, ratios, step, alloc_size=(128, 128), offsets=(0.5, 0.5), clip=False, **kwargs
    ):
        super().__init__(**kwargs)
        self._index, self._im_size, self._clip = index, im_size, clip
        self._sizes, self._ratios = (sizes[0], np.sqrt(sizes[0] * sizes[1])), ratios
        shapes = np.array(self._shapes())
        height, width = alloc_size
        anchors = np.empty((height, width, len(shapes), 4))
        anchors[..., 0] = ((np.arange(width) + offsets[1]) * step)[None, :, None]
        anchors[..., 1] = ((np.arange(height) + offsets[0]) * step)[:, None, None]
        anchors[..., 2:] = shapes
        self.anchors = self.params.get_constant(f"anchor_{index}", anchors.reshape(1, 1, height, width, -1))

    @property
    def num_depth(self):
        """The number of anchors at each position."""
        return len(self._shapes())

    def _shapes(self):
        """Width and height of the anchors at each place."""
        small, large = self._sizes
        return [(small, small), (large, large), *self._stretched()]

    def _stretched(self):
        return [(self._sizes[0] * np.sqrt(ratio), self._sizes[0] / np.sqrt(ratio)) for ratio in self._ratios[1:]]

    def hybrid_forward(self, F, x, anchors):
        boxes = F.reshape(F.slice_like(anchors, x * 0, axes=(2, 3)), shape=(1, -1, 4))
        if self._clip:
            height, width = self._im_size
            parts = zip(F.split(boxes, axis=-1, num_outputs=4), (width, height, width, height), strict=True)
            boxes = F.concat(*[F.clip(part, 0, most) for part, most in parts], dim=-1)
        return boxes


class LiteAnchorGenerator(SSDAnchorGenerator):
    """Anchors of SSDLite: square ones are half as large, and larger ones are left out of the first map."""

    def _shapes(self):
        small, large = self._sizes
        return [(small / 2, small / 2), *self._stretched(), *([(large, large)] if self._index > 0 else [])]

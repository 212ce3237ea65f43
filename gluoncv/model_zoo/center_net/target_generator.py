"""What CenterNet is taught."""

import numpy as np

from core import ndarray as nd
from gluon.block import Block


class CenterNetTargetGenerator(Block):
    """Heat maps (num_class, H, W), and sizes, their mask, offsets, their mask, all (2, H, W), of x before y.

    Called with corners (M, 4), in positions of the maps, and classes (M,) or (M, 1), both arrays of NumPy, of one picture.
    """

    def __init__(self, num_class, output_width, output_height):
        super().__init__()
        self._num_class, self._output_width, self._output_height = num_class, int(output_width), int(output_height)

    def forward(self, gt_boxes, gt_ids):
        size = (self._output_height, self._output_width)
        heatmap = np.zeros((self._num_class, *size), "float32")
        sizes, offsets, mask = (np.zeros((2, *size), "float32") for _ in range(3))
        for box, label in zip(gt_boxes, np.ravel(gt_ids), strict=True):
            extent = np.asarray(box[2:4]) - np.asarray(box[:2])
            if (extent <= 0).any():
                continue
            center = ((np.asarray(box[:2]) + np.asarray(box[2:4])) / 2).astype("float32")
            x, y = center.astype(int)
            if not (x < size[1] and y < size[0]):
                raise AssertionError(f"the centre ({x}, {y}) of a box is outside of the map of {size[1]} x {size[0]}")
            width, height = np.ceil(extent)
            _draw(heatmap[int(label)], x, y, max(0, int(_radius(height, width))))
            sizes[:, y, x], offsets[:, y, x], mask[:, y, x] = extent, center - (x, y), 1.0
        return tuple(nd.array(a) for a in (heatmap, sizes, mask, offsets, mask))


def _radius(height, width, overlap=0.7):
    """How far a corner may move so that the box still overlaps by `overlap` (Law and Deng, 2018).

    The smallest of three cases, one a quadratic equation each: both corners move the same way, in, or out. As
    published, the greater root is divided by 2 whatever the factor of the square is.
    """
    area, around = height * width, height + width
    cases = (
        (1, around, area * (1 - overlap) / (1 + overlap)),
        (4, 2 * around, (1 - overlap) * area),
        (4 * overlap, -2 * overlap * around, (overlap - 1) * area),
    )
    return min((b + np.sqrt(b**2 - 4 * a * c)) / 2 for a, b, c in cases)


def _draw(heatmap, x, y, radius):
    """Raises the map to a Gaussian around (x, y), whose deviation is a sixth of its extent."""
    height, width = heatmap.shape
    line = np.arange(-radius, radius + 1)
    sigma = (2 * radius + 1) / 6
    gaussian = np.exp(-(line[:, None] ** 2 + line**2) / (2 * sigma**2))
    gaussian[gaussian < np.finfo(gaussian.dtype).eps * gaussian.max()] = 0
    top, left = min(y, radius), min(x, radius)
    bottom, right = min(height - y, radius + 1), min(width - x, radius + 1)
    region = heatmap[y - top : y + bottom, x - left : x + right]
    part = gaussian[radius - top : radius + bottom, radius - left : radius + right]
    if region.size and part.size:
        np.maximum(region, part, out=region)

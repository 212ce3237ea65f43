"""Maps of classes as pictures of a palette."""

from __future__ import annotations

import numpy as np

from core import nd
from gluoncv.utils.viz.image import as_numpy


class DeNormalize:
    """Takes mean and deviation back from a normalised picture (3, H, W)."""

    def __init__(self, mean, std):
        self.mean, self.std = (nd.array(v).reshape((-1, 1, 1)) for v in (mean, std))

    def __call__(self, tensor):
        return nd.broadcast_add(nd.broadcast_mul(tensor, self.std), self.mean)


def get_color_pallete(npimg, dataset="pascal_voc"):
    """A Pillow picture of a map of classes (H, W) in the colours of PASCAL VOC; -1 is shown as class 255."""
    from PIL import Image

    classes = as_numpy(npimg).astype(int)
    shown = Image.fromarray(np.where(classes == -1, 255, classes).astype("uint8"))
    shown.putpalette(voc_palette().reshape(-1).tolist())
    return shown


def voc_palette() -> np.ndarray:
    """The 256 colours of PASCAL VOC: bit 3k + c of a class is bit 7 - k of channel c."""
    classes = np.arange(256)
    palette = np.zeros((256, 3), dtype=int)
    for k in range(8):
        for channel in range(3):
            palette[:, channel] |= ((classes >> (3 * k + channel)) & 1) << (7 - k)
    return palette.astype("uint8")

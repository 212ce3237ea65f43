"""AutoAugment's policies for ImageNet (Cubuk et al., 2019): pictures are changed by two of sixteen operations."""

from __future__ import annotations

import numpy as np

from core import nd
from gluon.block import Block

# Pairs of (operation, probability, magnitude between 0 and 9), Table 9 of the paper's appendix
POLICIES = (
    (("Posterize", 0.4, 8), ("Rotate", 0.6, 9)),
    (("Solarize", 0.6, 5), ("AutoContrast", 0.6, 5)),
    (("Equalize", 0.8, 8), ("Equalize", 0.6, 3)),
    (("Posterize", 0.6, 7), ("Posterize", 0.6, 6)),
    (("Equalize", 0.4, 7), ("Solarize", 0.2, 4)),
    (("Equalize", 0.4, 4), ("Rotate", 0.8, 8)),
    (("Solarize", 0.6, 3), ("Equalize", 0.6, 7)),
    (("Posterize", 0.8, 5), ("Equalize", 1.0, 2)),
    (("Rotate", 0.2, 3), ("Solarize", 0.6, 8)),
    (("Equalize", 0.6, 8), ("Posterize", 0.4, 6)),
    (("Rotate", 0.8, 8), ("Color", 0.4, 0)),
    (("Rotate", 0.4, 9), ("Equalize", 0.6, 2)),
    (("Equalize", 0.0, 7), ("Equalize", 0.8, 8)),
    (("Invert", 0.6, 4), ("Equalize", 1.0, 8)),
    (("Color", 0.6, 4), ("Contrast", 1.0, 8)),
    (("Rotate", 0.8, 8), ("Color", 1.0, 2)),
    (("Color", 0.8, 8), ("Solarize", 0.8, 7)),
    (("Sharpness", 0.4, 7), ("Invert", 0.6, 8)),
    (("ShearX", 0.6, 5), ("Equalize", 1.0, 9)),
    (("Color", 0.4, 0), ("Equalize", 0.6, 3)),
    (("Equalize", 0.4, 7), ("Solarize", 0.2, 4)),
    (("Solarize", 0.6, 5), ("AutoContrast", 0.6, 5)),
    (("Invert", 0.6, 4), ("Equalize", 1.0, 8)),
    (("Color", 0.6, 4), ("Contrast", 1.0, 8)),
    (("Equalize", 0.8, 8), ("Equalize", 0.6, 3)),
)
GREY = (128, 128, 128)  # what comes in from outside of a picture


class AutoAugment(Block):
    """From a picture (H, W, 3) uint8 to one of the same size and type, changed by one policy that is drawn."""

    def forward(self, picture: nd.NDArray) -> nd.NDArray:
        from PIL import Image

        changed = Image.fromarray(picture.asnumpy())
        for operation, probability, magnitude in POLICIES[np.random.randint(len(POLICIES))]:
            if np.random.random() < probability:
                changed = apply(changed, operation, magnitude)
        return nd.array(np.asarray(changed), dtype="uint8", ctx=picture.context)


def apply(picture, operation: str, magnitude: int):
    """A Pillow picture after an operation; directions are drawn where an operation has two.

    magnitude: 0 to 9, in the operation's own range, Table 6 of the paper.
    """
    from PIL import Image, ImageEnhance, ImageOps

    share = magnitude / 9
    sign = -1 if np.random.random() < 0.5 else 1
    if operation == "ShearX":
        move = (1, sign * 0.3 * share, 0, 0, 1, 0)
        return picture.transform(picture.size, Image.Transform.AFFINE, move, Image.Resampling.BICUBIC, fillcolor=GREY)
    if operation == "Rotate":
        return picture.rotate(sign * 30 * share, Image.Resampling.NEAREST, fillcolor=GREY)
    if operation in ("Color", "Contrast", "Sharpness"):
        return getattr(ImageEnhance, operation)(picture).enhance(1 + sign * 0.9 * share)
    if operation == "Posterize":
        return ImageOps.posterize(picture, round(8 - 4 * share))
    if operation == "Solarize":
        return ImageOps.solarize(picture, 256 - 256 * share)
    return {"AutoContrast": ImageOps.autocontrast, "Equalize": ImageOps.equalize, "Invert": ImageOps.invert}[operation](
        picture
    )

"""`nd.imdecode`, MXNet's older function for the bytes of a picture."""

from __future__ import annotations

from core.image.functions import imdecode as decoded


def imdecode(str_img, clip_rect=(0, 0, 0, 0), out=None, index=0, channels=3, mean=None):
    """The picture (H, W, channels) in bytes of a file, uint8; channels: 3, or 1 for gray.

    NotImplementedError for clip_rect, out, index and mean, with which MXNet 1.9.1 decodes nothing.
    """
    if any(clip_rect) or out is not None or index or mean is not None:
        raise NotImplementedError(
            "nd.imdecode takes the bytes and channels alone; image.imdecode, image.fixed_crop and "
            "image.color_normalize decode, cut out and subtract a mean"
        )
    return decoded(str_img, flag=1 if channels == 3 else 0)

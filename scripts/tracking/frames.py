"""The frames of a video: a file, or a folder of pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from core import image
from gluoncv.data.video_custom.reader import VideoReader

PICTURES = {".jpg", ".jpeg", ".png", ".bmp"}


def frames(path: Path) -> Iterator[np.ndarray]:
    """Each frame (H, W, 3) of bytes, red first; pictures in the order of their names.

    SystemExit where there are none.
    """
    if path.is_dir():
        pictures = sorted(p for p in path.iterdir() if p.suffix.lower() in PICTURES)
        if not pictures:
            raise SystemExit(f"{path} has no pictures: {', '.join(sorted(PICTURES))}")
        for picture in pictures:
            yield image.imread(str(picture), 1).asnumpy()
    else:
        with VideoReader(str(path)) as video:
            yield from video

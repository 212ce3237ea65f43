"""Frames of videos, decoded by PyAV."""

from __future__ import annotations

import numpy as np

from core.extras import load
from core.image.codec import check_pixels


class VideoReader:
    """The video in a file, as a context: `len` of it is the number of frames, `get_batch` gives some of them."""

    def __init__(self, path):
        av = load("av", "reading a video (a folder of frames does not)")
        self._path, self._container = path, av.open(path)
        self._stream = self._container.streams.video[0]
        self._stream.thread_type = "AUTO"
        check_pixels(f"{path!r}, a frame", self._stream.width, self._stream.height)
        self._count = self._stream.frames or sum(1 for _ in self._decoded())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._container.close()

    def __len__(self):
        return self._count

    def __iter__(self):
        """The frames (H, W, 3) of bytes, one after the other."""
        return (frame.to_ndarray(format="rgb24") for frame in self._decoded())

    def get_batch(self, numbers) -> list[np.ndarray]:
        """The frames (H, W, 3) of bytes with these numbers, from 0 on, in their order.

        RuntimeError for those it has not.
        """
        wanted, found = set(numbers), {}
        for number, frame in enumerate(self._decoded()):
            if number in wanted:
                found[number] = frame.to_ndarray(format="rgb24")
                if len(found) == len(wanted):
                    break
        if missing := wanted - set(found):
            raise RuntimeError(f"{self._path} has no frames {sorted(missing)}")
        return [found[number] for number in numbers]

    def _decoded(self):
        self._container.seek(0)
        return self._container.decode(self._stream)

"""Compressed images to pixels and back, by Pillow. Pixels are (height, width, channels), uint8, RGB."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import threading
import zlib
from collections.abc import Iterator
from typing import IO

import numpy as np

from core.base import MXNetError
from core.files.limits import IMAGE_PIXELS

# Pillow reads more formats, some by running other programs (EPS); these are read here.
FORMATS = ("JPEG", "PNG", "BMP", "PPM", "WEBP", "TIFF", "JPEG2000", "GIF")
GRAY, COLOUR, UNCHANGED = 0, 1, -1
STRIP = 1 << 20  # pixels that are converted at a time: what is made on the way stays small beside the result
# What Pillow's readers of formats raise when a picture is damaged.
DAMAGE = (
    OSError, ValueError, SyntaxError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, EOFError,
    RuntimeError, AssertionError, struct.error, zlib.error,
)  # fmt: skip


def decode(data: bytes, flag: int = COLOUR, max_pixels: float | None = None) -> np.ndarray:
    """Pixels of a compressed image.

    `flag` 1 gives three channels, 0 one (gray), -1 the stored ones (one to four). An orientation in the EXIF part is
    ignored, as MXNet does. max_pixels: how many it may have, by default 64,000,000 (`MXNET_MAX_IMAGE_PIXELS`), 0 for no
    limit. Raises MXNetError for anything that is no image, cut short or beyond the limit.
    """
    what = f"an image of {len(data)} bytes"
    with _damage_in(what), _opened(io.BytesIO(data), what, max_pixels) as image:
        return _pixels(image, flag)


def load_picture(path: str | os.PathLike | IO[bytes], max_pixels: float | None = None):
    """The Pillow picture in a file, its pixels loaded; limit and errors, which name the file, as of `decode`."""
    name = repr(os.fspath(path)) if isinstance(path, (str, os.PathLike)) else "an open file"
    with _damage_in(name), _opened(path, name, max_pixels) as image:
        image.load()
        return image


def check_pixels(what: str, width: int, height: int, max_pixels: float | None = None) -> None:
    """Raises MXNetError for a picture beyond the limit, before memory is taken for it."""
    if width * height > IMAGE_PIXELS.value(max_pixels):
        raise MXNetError(
            f"{what} has {width} x {height} pixels, beyond the limit of {IMAGE_PIXELS.value(max_pixels):.0f}; "
            + IMAGE_PIXELS.lifted_by("max_pixels")
        )


@contextlib.contextmanager
def _opened(source, what: str, max_pixels: float | None) -> Iterator:
    """A Pillow picture within the limit, of which nothing but the header was read."""
    from PIL import Image

    with _Lifted(), Image.open(source, formats=FORMATS) as image:
        check_pixels(what, *image.size, max_pixels)
        yield image


class _Lifted:
    """Lifts Pillow's own limit, which all the process has, while pictures are read under ours."""

    lock, readers, before = threading.Lock(), 0, None

    def __enter__(self):
        from PIL import Image

        with self.lock:
            if not _Lifted.readers:
                _Lifted.before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
            _Lifted.readers += 1

    def __exit__(self, *_):
        from PIL import Image

        with self.lock:
            _Lifted.readers -= 1
            if not _Lifted.readers:
                Image.MAX_IMAGE_PIXELS = _Lifted.before


@contextlib.contextmanager
def _damage_in(what: str) -> Iterator[None]:
    from PIL import UnidentifiedImageError

    try:
        yield
    except FileNotFoundError as error:
        raise MXNetError(f"cannot open {what}: {error.strerror}") from error
    except UnidentifiedImageError as error:
        raise MXNetError(f"{what} is no image; accepted are {', '.join(FORMATS)}") from error
    except DAMAGE as error:
        if isinstance(error, MXNetError):
            raise
        raise MXNetError(f"{what} cannot be decoded: {type(error).__name__}: {error}") from error


def encode(pixels: np.ndarray, img_fmt: str = ".jpg", quality: int = 95) -> bytes:
    """The bytes of an image file; `quality` is 1..100 for ".jpg", the compression level 0..9 for ".png"."""
    from PIL import Image

    suffix = img_fmt.lower()
    if suffix in (".jpg", ".jpeg"):
        name, options = "JPEG", {"quality": quality}
    elif suffix == ".png":
        name, options = "PNG", {"compress_level": min(quality, 9)}
    else:
        raise MXNetError(f"image format {img_fmt!r} is not written; accepted are '.jpg', '.jpeg' and '.png'")
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3):
        raise MXNetError(
            f"pixels of dtype {pixels.dtype} and shape {pixels.shape}; uint8 (height, width[, channels]) is needed"
        )
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(stream, name, **options)
    return stream.getvalue()


def _pixels(image, flag: int) -> np.ndarray:
    """The pixels of a Pillow picture, strip by strip into one array."""
    if flag == GRAY and image.format == "JPEG":
        image.draft("L", image.size)  # the decoder then gives the luma plane itself
    image.load()
    rows = max(1, STRIP // image.width)
    if rows >= image.height:
        return _strip(image, flag, image.format)
    result = None
    for top in range(0, image.height, rows):
        part = _strip(image.crop((0, top, image.width, min(top + rows, image.height))), flag, image.format)
        if result is None:
            result = np.empty((image.height, image.width, part.shape[2]), np.uint8)
        result[top : top + rows] = part
    return result


def _strip(image, flag: int, name: str | None) -> np.ndarray:
    if image.mode.startswith("I;16"):
        image = _from_array((np.asarray(image) >> 8).astype(np.uint8))
    if flag == GRAY and image.mode not in ("L", "1", "I", "F"):
        return _luma(np.asarray(image if image.mode == "RGB" else image.convert("RGB")), name)
    wanted = {GRAY: "L", COLOUR: "RGB"}.get(flag) or _stored_mode(image)
    image = image if image.mode == wanted else image.convert(wanted)
    # np.asarray(image) could only be read, and would be copied once more by whoever wants to write.
    return np.frombuffer(bytearray(image.tobytes()), np.uint8).reshape(image.height, image.width, -1)


def _luma(rgb: np.ndarray, name: str | None) -> np.ndarray:
    """Gray as libpng rounds it in PNG files (weights in 1/32768, rounded down), OpenCV in others (1/16384)."""
    weights, half, shift = ([9797, 19234, 3737], 0, 15) if name == "PNG" else ([4899, 9617, 1868], 1 << 13, 14)
    return ((rgb @ np.array(weights, np.int32) + half) >> shift).astype(np.uint8)[:, :, None]


def _stored_mode(image) -> str:
    if image.mode in ("L", "RGB", "RGBA"):
        return image.mode
    if image.mode in ("1", "I", "F"):
        return "L"
    return "RGBA" if image.mode in ("LA", "PA") or "transparency" in image.info else "RGB"


def _from_array(array: np.ndarray):
    from PIL import Image

    return Image.fromarray(array)

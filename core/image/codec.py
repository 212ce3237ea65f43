"""Compressed images to pixels and back, by Pillow. Pixels are (height, width, channels), uint8, RGB."""

from __future__ import annotations

import io

import numpy as np

from core.base import MXNetError

# Pillow reads more formats, some by running other programs (EPS); these are read here.
FORMATS = ("JPEG", "PNG", "BMP", "PPM", "WEBP", "TIFF", "JPEG2000", "GIF")
GRAY, COLOUR, UNCHANGED = 0, 1, -1


def decode(data: bytes, flag: int = COLOUR) -> np.ndarray:
    """Pixels of a compressed image.

    `flag` 1 gives three channels, 0 one (gray), -1 the stored ones (one to four). An orientation in the EXIF part is
    ignored, as MXNet does. Raises MXNetError for anything that is no image, cut short or oversized.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            return _pixels(image, flag)
    except UnidentifiedImageError as error:
        formats = ", ".join(FORMATS)
        raise MXNetError(
            f"{len(data)} bytes beginning {bytes(data[:8])!r} are no image; accepted are {formats}"
        ) from error
    except (OSError, ValueError, SyntaxError, IndexError, Image.DecompressionBombError) as error:
        raise MXNetError(f"an image of {len(data)} bytes cannot be decoded: {error}") from error


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
    if flag == GRAY and image.format == "JPEG":
        image.draft("L", image.size)  # the decoder then gives the luma plane itself
    if image.mode.startswith("I;16"):
        image = _from_array((np.asarray(image) >> 8).astype(np.uint8))
    if flag == GRAY and image.mode not in ("L", "1", "I", "F"):
        return _luma(np.asarray(image if image.mode == "RGB" else image.convert("RGB")), image.format)
    wanted = {GRAY: "L", COLOUR: "RGB"}.get(flag) or _stored_mode(image)
    image = image if image.mode == wanted else image.convert(wanted)
    # np.asarray(image) could only be read, and would be copied once more by whoever wants to write.
    return np.frombuffer(bytearray(image.tobytes()), np.uint8).reshape(image.height, image.width, -1)


def _luma(rgb: np.ndarray, name: str) -> np.ndarray:
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

"""Augmenters: callables from an image (height, width, channels) to an image, and the usual chain of them.

Random ones draw from Python's `random`, `LightingAug` from `numpy.random`; seed both for repeatable runs.
"""

from __future__ import annotations

import json
import random

import numpy as np

from core.image.arrays import like, pixels_of
from core.image.functions import (
    center_crop,
    color_normalize,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
)

LUMA = np.array([0.299, 0.587, 0.114], np.float32)
RGB_TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
YIQ_TO_RGB = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])
GRAY = np.array([[0.21] * 3, [0.72] * 3, [0.07] * 3], np.float32)
# Statistics of ImageNet in 0..255: mean and deviation by channel, principal components of the colours
# (Krizhevsky et al., 2012).
MEAN = np.array([123.68, 116.28, 103.53], np.float32)
STD = np.array([58.395, 57.12, 57.375], np.float32)
EIGENVALUES = np.array([55.46, 4.794, 1.148])
EIGENVECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])


class Augmenter:
    """Base of the augmenters; keywords given to it are what `dumps` returns.

    >>> isinstance(image.ResizeAug(4), image.Augmenter)
    True
    """

    def __init__(self, **kwargs):
        self._kwargs = {key: _plain(value) for key, value in kwargs.items()}

    def dumps(self) -> str:
        """JSON: the lower-case class name and the arguments."""
        return json.dumps([self.__class__.__name__.lower(), self._kwargs])

    def __call__(self, src):
        raise NotImplementedError(f"{type(self).__name__} must define __call__(src)")


class SequentialAug(Augmenter):
    """Applies augmenters one after another.

    >>> image.SequentialAug([image.ResizeAug(8), image.CenterCropAug((4, 4))])(nd.zeros((10, 20, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(self, ts: list[Augmenter]):
        super().__init__()
        self.ts = ts

    def dumps(self) -> list:
        return [self.__class__.__name__.lower(), [t.dumps() for t in self.ts]]

    def __call__(self, src):
        for t in self.ts:
            src = t(src)
        return src


class RandomOrderAug(SequentialAug):
    """Applies augmenters in random order.

    >>> image.RandomOrderAug([image.CastAug()])(nd.zeros((2, 2, 3), dtype="uint8")).dtype
    <class 'numpy.float32'>
    """

    def __call__(self, src):
        order = list(self.ts)
        random.shuffle(order)
        for t in order:
            src = t(src)
        return src


class _SizedAug(Augmenter):
    """Base of those with a size and an interpolation (see `imresize`)."""

    def __init__(self, size: int | tuple[int, int], interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp


class ResizeAug(_SizedAug):
    """Shorter edge to `size`.

    >>> image.ResizeAug(4)(nd.zeros((8, 16, 3), dtype="uint8")).shape
    (4, 8, 3)
    """

    def __call__(self, src):
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(_SizedAug):
    """To `size` = (width, height), whatever the aspect.

    >>> image.ForceResizeAug((4, 2))(nd.zeros((8, 16, 3), dtype="uint8")).shape
    (2, 4, 3)
    """

    def __call__(self, src):
        return imresize(src, *self.size, interp=self.interp)


class RandomCropAug(_SizedAug):
    """A window of `size` = (width, height) anywhere.

    >>> image.RandomCropAug((4, 2))(nd.zeros((8, 8, 3))).shape
    (2, 4, 3)
    """

    def __call__(self, src):
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """A window of random area and aspect, resized; see `random_size_crop`.

    >>> image.RandomSizedCropAug((4, 4), 0.5, (0.9, 1.1))(nd.zeros((8, 8, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, size: tuple[int, int], area, ratio: tuple[float, float], interp: int = 2, **kwargs):
        area = kwargs.pop("min_area", area)
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.area, self.ratio, self.interp = size, area, ratio, interp
        if kwargs:
            raise TypeError(f"RandomSizedCropAug got the unknown arguments {', '.join(kwargs)}")

    def __call__(self, src):
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(_SizedAug):
    """The middle window of `size` = (width, height).

    >>> image.CenterCropAug((4, 2))(nd.zeros((8, 8, 3))).shape
    (2, 4, 3)
    """

    def __call__(self, src):
        return center_crop(src, self.size, self.interp)[0]


class BrightnessJitterAug(Augmenter):
    """Multiplies by 1 + u, u evenly in [-brightness, brightness].

    >>> image.BrightnessJitterAug(0)(nd.ones((1, 1, 3)))
    [[[1. 1. 1.]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, brightness: float):
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src):
        alpha = _around_one(self.brightness)
        return _changed(src, lambda x: brighter(x, alpha))


class ContrastJitterAug(Augmenter):
    """Mixes with the mean luma: alpha * image + (1 - alpha) * luma, alpha = 1 + u.

    >>> image.ContrastJitterAug(0)(nd.ones((1, 1, 3))).shape
    (1, 1, 3)
    """

    def __init__(self, contrast: float):
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src):
        alpha = _around_one(self.contrast)
        return _changed(src, lambda x: contrasted(x, alpha))


class SaturationJitterAug(Augmenter):
    """Mixes with the gray image: alpha * image + (1 - alpha) * gray, alpha = 1 + u.

    >>> image.SaturationJitterAug(0)(nd.ones((1, 1, 3))).shape
    (1, 1, 3)
    """

    def __init__(self, saturation: float):
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src):
        alpha = _around_one(self.saturation)
        return _changed(src, lambda x: saturated(x, alpha))


class HueJitterAug(Augmenter):
    """Turns the colours in the YIQ space by pi * u, u evenly in [-hue, hue].

    >>> image.HueJitterAug(0)(nd.ones((1, 1, 3))).shape
    (1, 1, 3)
    """

    def __init__(self, hue: float):
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src):
        angle = random.uniform(-self.hue, self.hue) * np.pi
        u, w = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, u, -w], [0.0, w, u]])
        matrix = (YIQ_TO_RGB @ turn @ RGB_TO_YIQ).T.astype(np.float32)
        return _changed(src, lambda x: x @ matrix)


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation in random order.

    >>> image.ColorJitterAug(0.1, 0.1, 0.1)(nd.ones((1, 1, 3))).shape
    (1, 1, 3)
    """

    def __init__(self, brightness: float, contrast: float, saturation: float):
        jitters = ((BrightnessJitterAug, brightness), (ContrastJitterAug, contrast), (SaturationJitterAug, saturation))
        super().__init__([jitter(amount) for jitter, amount in jitters if amount > 0])


class LightingAug(Augmenter):
    """Adds a random combination of the principal components of the colours (Krizhevsky et al., 2012).

    >>> image.LightingAug(0, nd.zeros(3).asnumpy(), nd.zeros((3, 3)).asnumpy())(nd.ones((1, 1, 3)))
    [[[1. 1. 1.]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, alphastd: float, eigval, eigvec):
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, np.asarray(eigval), np.asarray(eigvec)

    def __call__(self, src):
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        shift = np.dot(self.eigvec * alpha, self.eigval).astype(np.float32)
        return _changed(src, lambda x: x + shift)


class ColorNormalizeAug(Augmenter):
    """(image - mean) / std by channel; either may be None.

    >>> image.ColorNormalizeAug(nd.array([0.5, 0.5, 0.5]), nd.array([0.5, 0.25, 1]))(nd.ones((1, 1, 3)))
    [[[1.  2.  0.5]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, mean, std):
        super().__init__(mean=mean, std=std)
        self.mean, self.std = mean, std

    def __call__(self, src):
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Gray with probability `p`.

    >>> image.RandomGrayAug(1)(nd.array([[[100, 0, 0]]]))
    [[[21. 21. 21.]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src):
        return _changed(src, lambda x: x @ GRAY) if random.random() < self.p else src


class HorizontalFlipAug(Augmenter):
    """Left and right exchanged with probability `p`.

    >>> image.HorizontalFlipAug(1)(nd.array([[[1], [2]]]))
    [[[2.]
      [1.]]]
    <NDArray 1x2x1 @cpu(0)>
    """

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src):
        if random.random() < self.p:
            return like(np.ascontiguousarray(pixels_of(src)[:, ::-1]), src)
        return src


class CastAug(Augmenter):
    """Another dtype, float32 by default.

    >>> image.CastAug()(nd.ones((1, 1, 3), dtype="uint8")).dtype
    <class 'numpy.float32'>
    """

    def __init__(self, typ="float32"):
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src):
        return src.astype(self.typ)


def CreateAugmenter(
    data_shape: tuple[int, int, int], resize: int = 0, rand_crop: bool = False, rand_resize: bool = False,
    rand_mirror: bool = False, mean=None, std=None, brightness: float = 0, contrast: float = 0, saturation: float = 0,
    hue: float = 0, pca_noise: float = 0, rand_gray: float = 0, inter_method: int = 2,
) -> list[Augmenter]:  # fmt: skip
    """The usual augmenters for images of `data_shape` = (channels, height, width), in their usual order.

    `mean` and `std`: arrays by channel, True for ImageNet's, None for none. `rand_resize` needs `rand_crop`.

    >>> [type(a).__name__ for a in image.CreateAugmenter((3, 4, 4), resize=8, rand_mirror=True)]
    ['ResizeAug', 'CenterCropAug', 'HorizontalFlipAug', 'CastAug']
    """
    size = (data_shape[2], data_shape[1])
    chain: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    if rand_resize:
        assert rand_crop, "rand_resize needs rand_crop"
        chain.append(RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    else:
        chain.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        chain.append(HorizontalFlipAug(0.5))
    return chain + colour_chain(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray)


def colour_chain(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray) -> list[Augmenter]:
    """The augmenters that change colours alone, after a cast to float32."""
    chain: list[Augmenter] = [CastAug()]
    if brightness or contrast or saturation:
        chain.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        chain.append(HueJitterAug(hue))
    if pca_noise > 0:
        chain.append(LightingAug(pca_noise, EIGENVALUES, EIGENVECTORS))
    if rand_gray > 0:
        chain.append(RandomGrayAug(rand_gray))
    mean, std = _statistics(mean, MEAN, "mean"), _statistics(std, STD, "std")
    if mean is not None or std is not None:
        chain.append(ColorNormalizeAug(mean, std))
    return chain


def brighter(pixels: np.ndarray, alpha: np.float32) -> np.ndarray:
    """The float image times `alpha`."""
    return pixels * alpha


def contrasted(pixels: np.ndarray, alpha: np.float32) -> np.ndarray:
    """`alpha` of the float image, the rest the mean luma."""
    return pixels * alpha + (pixels @ LUMA).mean(dtype=np.float32) * (1 - alpha)


def saturated(pixels: np.ndarray, alpha: np.float32) -> np.ndarray:
    """`alpha` of the float image, the rest its luma."""
    return pixels * alpha + (pixels @ LUMA)[..., None] * (1 - alpha)


def _statistics(given, imagenet: np.ndarray, what: str) -> np.ndarray | None:
    if given is None or given is False:
        return None
    if given is True:
        return imagenet
    values = pixels_of(given) if hasattr(given, "asnumpy") else np.asarray(given)
    assert values.shape[0] in (1, 3), f"{what} has {values.shape[0]} channels; accepted are 1 and 3"
    return values


def _around_one(amount: float) -> np.float32:
    return np.float32(1.0 + random.uniform(-amount, amount))


def _changed(src, change):
    """`change` of the float32 pixels; integer images come back rounded and within their range."""
    pixels = pixels_of(src)
    if pixels.dtype.kind == "f":
        return like(change(pixels).astype(pixels.dtype, copy=False), src)
    limits = np.iinfo(pixels.dtype)
    changed = np.clip(np.rint(change(pixels.astype(np.float32))), limits.min, limits.max)
    return like(changed.astype(pixels.dtype), src)


def _plain(value):
    """A value for JSON."""
    if hasattr(value, "asnumpy"):
        value = value.asnumpy()
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value

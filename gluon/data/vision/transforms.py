"""Transforms of images: blocks to compose and to give to `Dataset.transform_first`.

Images are arrays of shape (height, width, channels), or (batch, height, width, channels) where noted, usually uint8
in RGB, until `ToTensor` makes (channels, height, width) float32 of them. NumPy arrays are accepted too.
Random transforms draw from the generators that `DataLoader` seeds for each batch: cropping and rotating from Python's
`random`, the others from MXNet's (`mx.random.seed`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType

import numpy as np

from core import image
from core.autograd import state
from core.context import cpu
from core.documentation.classes import complete as _complete
from core.dtypes import dtype_name
from core.ndarray import NDArray
from core.random_keys import next_key
from gluon.block import Block, HybridBlock
from gluon.data import arrays
from gluon.nn import HybridSequential, Sequential

__all__ = [
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "HybridCompose",
    "HybridRandomApply",
    "Normalize",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomCrop",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomGray",
    "RandomHue",
    "RandomLighting",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaturation",
    "Resize",
    "Rotate",
    "ToTensor",
]

# Of so many keys the share `p` mirrors: as the operators of random flips decide.
KEYS = 1 << 63


class Compose(Sequential):
    """Transforms one after another; neighbours that can be hybridized are compiled together by `hybridize()`.

    Each gets what the one before it returned; it can be indexed as `nn.Sequential`.

    >>> transform = transforms.Compose([transforms.Resize(4), transforms.ToTensor()])
    >>> transform(nd.zeros((8, 8, 3), dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, transforms: Iterable[Block]):
        super().__init__()
        for hybrid, group in itertools.groupby(transforms, lambda t: isinstance(t, HybridBlock)):
            group = list(group)
            if hybrid and len(group) > 1:
                joined = HybridSequential()
                joined.add(*group)
                group = [joined]
            self.add(*group)

    def forward(self, x, *args):
        """A picture in this machine's memory is NumPy's array from transform to transform, where they know how."""
        if args or state.recording or state.tracer is not None:
            return super().forward(x, *args)
        pixels, own, kind = None, False, None
        for transform in _each(self._children.values()):
            rule = None if transform._forward_hooks or transform._forward_pre_hooks else _rule(transform)
            if rule is not None and pixels is None and _in_memory(x):
                pixels, own, kind = arrays.view(x), False, None if isinstance(x, np.ndarray) else type(x)
            given, result = pixels, None
            if rule is not None and pixels is not None and pixels.ndim == 3:
                result = rule(transform, pixels, own)
            if result is not None:
                pixels, own = result, own or not np.may_share_memory(result, given)
                continue
            if pixels is not None:
                x, pixels = _given_back(pixels, own, kind), None
            x = transform(x)
        return x if pixels is None else _given_back(pixels, own, kind)


class HybridCompose(HybridSequential):
    """`Compose` of transforms that can all be hybridized.

    >>> transform = transforms.HybridCompose([transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
    >>> transform(nd.zeros((2, 2, 3), dtype="uint8")).shape
    (3, 2, 2)
    """

    def __init__(self, transforms: Sequence[HybridBlock]):
        super().__init__()
        for transform in transforms:
            if not isinstance(transform, HybridBlock):
                raise ValueError(f"{type(transform).__name__} cannot be hybridized; use Compose")
            self.add(transform)


class _Pixels:
    """Accepts NumPy arrays, and passes on what comes with the picture, such as its boxes."""

    def __call__(self, x, *others):
        changed = super().__call__(arrays.wrap(x) if isinstance(x, np.ndarray) else x)
        return (changed, *others) if others else changed


def _each(transforms: Iterable[Block]) -> Iterator[Block]:
    """The transforms, those of plain groups one by one."""
    for transform in transforms:
        if type(transform) is HybridSequential and not (
            transform._active or transform._forward_hooks or transform._forward_pre_hooks
        ):
            yield from _each(transform._children.values())
        else:
            yield transform


def _rule(transform: Block) -> Callable | None:
    """`_on_pixels` if the very class of the transform defines it: a subclass may compute something else."""
    return None if getattr(transform, "_active", False) else type(transform).__dict__.get("_on_pixels")


def _in_memory(x) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "biuf"
    plain = isinstance(x, NDArray) and x.stype == "default" and x.ctx.device_type == "cpu"
    return plain and dtype_name(x.dtype) != "bfloat16"


def _given_back(pixels: np.ndarray, own: bool, kind: type | None):
    return arrays.wrap(pixels if own else pixels.copy("K"), kind)


class Cast(_Pixels, HybridBlock):
    """Values as another dtype.

    dtype: "float32", "float16", "uint8", ... Floating numbers lose their fraction on the way to whole ones. It can be hybridized.

    >>> transforms.Cast("float32")(nd.array([1, 2], dtype="uint8"))
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, dtype="float32"):
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F, x):
        return F.cast(x, self._dtype)


class ToTensor(_Pixels, HybridBlock):
    """(height, width, channels) in 0..255 to (channels, height, width) float32 in 0..1; also with a batch axis.

    The first transform after those of images, and what networks take: a batch of (channels, height, width). It can be hybridized.

    >>> transforms.ToTensor()(nd.array([[[0, 51, 255]]], dtype="uint8"))
    [[[0. ]]
     [[0.2]]
     [[1. ]]]
    <NDArray 3x1x1 @cpu(0)>
    """

    def hybrid_forward(self, F, x):
        return _operators(F).to_tensor(x)

    def _on_pixels(self, pixels: np.ndarray, own: bool) -> np.ndarray:
        planes = pixels.transpose(2, 0, 1).astype(np.float32, order="C")
        planes /= np.float32(255)
        return planes


class Normalize(_Pixels, HybridBlock):
    """(x - mean) / std by channel, for (channels, height, width) or a batch; `mean`, `std`: one number or many.

    Put it behind `ToTensor`. Networks of the model zoo take mean (0.485, 0.456, 0.406) and std (0.229, 0.224, 0.225).

    >>> transforms.Normalize(mean=(0.5, 0.5, 0.5), std=(0.5, 0.25, 1))(nd.ones((3, 1, 1)))
    [[[1. ]]
     [[2. ]]
     [[0.5]]]
    <NDArray 3x1x1 @cpu(0)>
    """

    def __init__(self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0):
        super().__init__()
        self._mean = mean
        self._std = std

    def hybrid_forward(self, F, x):
        return _operators(F).normalize(x, self._mean, self._std)

    def _on_pixels(self, pixels: np.ndarray, own: bool) -> np.ndarray | None:
        mean, std = (np.array(v, np.float64).reshape(-1, 1, 1) for v in (self._mean, self._std))
        channels = len(pixels)
        if pixels.dtype != np.float32 or channels not in (1, 3) or not {len(mean), len(std)} <= {1, channels}:
            return None
        pixels = np.subtract(pixels, mean.astype(np.float32), out=pixels if own else None)
        pixels /= std.astype(np.float32)
        return pixels


class Resize(_Pixels, HybridBlock):
    """The image, or a batch of images, in another size.

    `size`: (width, height), or the length of both edges; with `keep_ratio` an int is the length of the shorter edge.
    `interpolation`: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos.

    >>> transforms.Resize(256, keep_ratio=True)(nd.zeros((300, 600, 3), dtype="uint8")).shape
    (256, 512, 3)
    """

    def __init__(self, size: int | Sequence[int], keep_ratio: bool = False, interpolation: int = 1):
        super().__init__()
        self._size = size
        self._keep = keep_ratio
        self._interpolation = interpolation

    def hybrid_forward(self, F, x):
        return _operators(F).resize(x, self._size, self._keep, self._interpolation)


class CropResize(_Pixels, HybridBlock):
    """The window of `width` and `height` at column `x` and row `y`, resized to `size` if given; also of a batch.

    Images are (height, width, channels). MXNetError for a window that does not lie in the image. interpolation as in `Resize`.

    >>> transforms.CropResize(x=1, y=0, width=4, height=2, size=(8, 8))(nd.zeros((6, 8, 3))).shape
    (8, 8, 3)
    """

    def __init__(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        size: int | Sequence[int] | None = None,
        interpolation: int | None = None,
    ):
        super().__init__()
        self._window = x, y, width, height
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def hybrid_forward(self, F, x):
        window = _operators(F).crop(x, *self._window)
        return window if self._size is None else _operators(F).resize(window, self._size, False, self._interpolation)


class CenterCrop(_Pixels, Block):
    """The window of `size` = (width, height) in the middle; a smaller image gives the largest window, resized.

    Images are (height, width, channels), uint8 or float32. interpolation: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, for
    images that are too small.

    >>> transforms.CenterCrop((4, 2))(nd.zeros((6, 8, 3))).shape
    (2, 4, 3)
    """

    def __init__(self, size: int | Sequence[int], interpolation: int = 1):
        super().__init__()
        self._size = _pair(size)
        self._interpolation = interpolation

    def forward(self, x):
        return image.center_crop(x, self._size, self._interpolation)[0]

    def _on_pixels(self, pixels: np.ndarray, own: bool) -> np.ndarray:
        return self.forward(pixels)


class RandomCrop(_Pixels, Block):
    """A window of `size` = (width, height) anywhere, after adding `pad` pixels of `pad_value` to every edge.

    A smaller image gives the largest window of that aspect, resized. `pad`: a number, or (top, bottom, left, right).

    >>> transforms.RandomCrop(32, pad=4)(nd.zeros((32, 32, 3))).shape
    (32, 32, 3)
    """

    def __init__(
        self,
        size: int | Sequence[int],
        pad: int | Sequence[int] | None = None,
        pad_value: float | Sequence[float] = 0,
        interpolation: int = 1,
    ):
        super().__init__()
        self._size = _pair(size)
        self._pad = (pad,) * 4 if isinstance(pad, int) else pad
        self._pad_value = (pad_value,) if isinstance(pad_value, int | float) else tuple(pad_value)
        self._interpolation = interpolation

    def forward(self, x):
        if self._pad:
            x = image.copyMakeBorder(x, *self._pad, values=self._border(x.shape[-1]))
        return image.random_crop(x, self._size, self._interpolation)[0]

    def _on_pixels(self, pixels: np.ndarray, own: bool) -> np.ndarray:
        return self.forward(pixels)

    def _border(self, channels: int) -> tuple:
        return self._pad_value * channels if len(self._pad_value) == 1 else self._pad_value


class RandomResizedCrop(_Pixels, Block):
    """A window of random area and aspect, resized to `size` = (width, height) (Szegedy et al., 2015).

    `scale`: bounds of the share of the area; `ratio`: bounds of width / height.

    >>> transforms.RandomResizedCrop(224)(nd.zeros((300, 400, 3), dtype="uint8")).shape
    (224, 224, 3)
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: int = 1,
    ):
        super().__init__()
        self._size = _pair(size)
        self._scale = scale
        self._ratio = ratio
        self._interpolation = interpolation

    def forward(self, x):
        return image.random_size_crop(x, self._size, self._scale, self._ratio, self._interpolation)[0]

    def _on_pixels(self, pixels: np.ndarray, own: bool) -> np.ndarray:
        return self.forward(pixels)


class Rotate(_Pixels, Block):
    """float32 images of shape (channels, height, width), or a batch, turned by `rotation_degrees`; zeros outside.

    `zoom_in` enlarges until no zeros show, `zoom_out` shrinks until nothing is cut off; not both.

    >>> transforms.Rotate(90)(nd.arange(9).reshape((1, 3, 3)))
    [[[2. 5. 8.]
      [1. 4. 7.]
      [0. 3. 6.]]]
    <NDArray 1x3x3 @cpu(0)>
    """

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False):
        super().__init__()
        self._degrees = rotation_degrees
        self._zoom = zoom_in, zoom_out

    def forward(self, x):
        return image.imrotate(x, self._degrees, *self._zoom)


class RandomRotation(_Pixels, Block):
    """`Rotate` by an angle drawn evenly from `angle_limits`, for a share `rotate_with_proba` of the images.

    >>> transforms.RandomRotation((-10, 10))(nd.zeros((3, 8, 8))).shape
    (3, 8, 8)
    """

    def __init__(
        self,
        angle_limits: tuple[float, float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ):
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ValueError(f"angle_limits must grow, got {angle_limits}")
        if not 0 <= rotate_with_proba <= 1:
            raise ValueError(f"rotate_with_proba must be in 0..1, got {rotate_with_proba}")
        self._limits = lower, upper
        self._zoom = zoom_in, zoom_out
        self._probability = rotate_with_proba

    def forward(self, x):
        if random.random() > self._probability:
            return x
        return image.random_rotate(x, self._limits, *self._zoom)


class RandomFlipLeftRight(_Pixels, HybridBlock):
    """Mirrors the image with probability `p`.

    Images are (height, width, channels) or a batch of them, which is mirrored as a whole. It can be hybridized.

    >>> transforms.RandomFlipLeftRight(p=1)(nd.array([[[1], [2]]]))
    [[[2.]
      [1.]]]
    <NDArray 1x2x1 @cpu(0)>
    """

    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = p

    def hybrid_forward(self, F, x):
        return _operators(F).random_flip_left_right(x, p=self.p)

    def _on_pixels(self, pixels: np.ndarray, own: bool) -> np.ndarray:
        return pixels[:, ::-1] if next_key(cpu()) < self.p * KEYS else pixels


class RandomFlipTopBottom(_Pixels, HybridBlock):
    """Turns the image upside down, as a mirror on the floor does, with probability `p`.

    Images are (height, width, channels) or a batch of them, which is turned as a whole. It can be hybridized.

    >>> transforms.RandomFlipTopBottom(p=1)(nd.array([[[1]], [[2]]]))
    [[[2.]]
     [[1.]]]
    <NDArray 2x1x1 @cpu(0)>
    """

    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = p

    def hybrid_forward(self, F, x):
        return _operators(F).random_flip_top_bottom(x, p=self.p)

    def _on_pixels(self, pixels: np.ndarray, own: bool) -> np.ndarray:
        return pixels[::-1] if next_key(cpu()) < self.p * KEYS else pixels


class RandomBrightness(_Pixels, HybridBlock):
    """Multiplies the image by a factor between 1 - brightness (0 at least) and 1 + brightness.

    Images are (height, width, channels); uint8 ones stay so and are cut off at 0 and 255. All factors are equally likely.

    >>> transforms.RandomBrightness(0)(nd.ones((1, 1, 3)))
    [[[1. 1. 1.]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, brightness: float):
        super().__init__()
        self._factors = _around_one(brightness)

    def hybrid_forward(self, F, x):
        return _operators(F).random_brightness(x, *self._factors)


class RandomContrast(_Pixels, HybridBlock):
    """Scales the distance from the mean gray by a factor between 1 - contrast (0 at least) and 1 + contrast.

    Images are (height, width, 3); uint8 ones stay so. All factors are equally likely; 0 would give gray.

    >>> transforms.RandomContrast(0)(nd.ones((1, 1, 3)))
    [[[1. 1. 1.]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, contrast: float):
        super().__init__()
        self._factors = _around_one(contrast)

    def hybrid_forward(self, F, x):
        return _operators(F).random_contrast(x, *self._factors)


class RandomSaturation(_Pixels, HybridBlock):
    """Scales the distance from the gray image by a factor between 1 - saturation (0 at least) and 1 + saturation.

    Images are (height, width, 3). 0 in all would give a gray image. As in MXNet the gray is 0.114 times the last channel.

    >>> transforms.RandomSaturation(0)(nd.ones((1, 1, 3)))
    [[[1. 1. 1.]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, saturation: float):
        super().__init__()
        self._factors = _around_one(saturation)

    def hybrid_forward(self, F, x):
        return _operators(F).random_saturation(x, *self._factors)


class RandomHue(_Pixels, HybridBlock):
    """Turns the hue by a share of the circle between -hue and hue.

    Images are (height, width, 3). Gray pixels stay as they are; 0.5 turns as far as it goes.

    >>> transforms.RandomHue(0.1)(nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, hue: float):
        super().__init__()
        self._factors = _around_one(hue)

    def hybrid_forward(self, F, x):
        return _operators(F).random_hue(x, *self._factors)


class RandomColorJitter(_Pixels, HybridBlock):
    """The four random changes of brightness, contrast, saturation and hue in a random order.

    Each argument is the most by which that quality changes, as in the transforms of their own; 0 leaves it alone.

    >>> transforms.RandomColorJitter(brightness=0.1, hue=0.1)(nd.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0):
        super().__init__()
        self._amounts = brightness, contrast, saturation, hue

    def hybrid_forward(self, F, x):
        return _operators(F).random_color_jitter(x, *self._amounts)


class RandomLighting(_Pixels, HybridBlock):
    """Adds noise of deviation `alpha` along principal components of ImageNet's colours (Krizhevsky et al., 2012).

    Images are (height, width, 3) with values of 0 to 255.

    >>> transforms.RandomLighting(0)(nd.ones((1, 1, 3)))
    [[[1. 1. 1.]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, alpha: float):
        super().__init__()
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        return _operators(F).random_lighting(x, self._alpha)


class RandomGray(_Pixels, Block):
    """Replaces the colours by their gray with probability `p`; the image keeps its three channels.

    Gray is 0.21 red + 0.72 green + 0.07 blue. Images are (height, width, 3).

    >>> transforms.RandomGray(p=1)(nd.array([[[100, 0, 0]]]))
    [[[21. 21. 21.]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, p: float = 0.5):
        super().__init__()
        self._augmenter = image.RandomGrayAug(p)

    def forward(self, x):
        return self._augmenter(x)


class RandomApply(Sequential):
    """Applies `transforms` (a transform or function, or a list of transforms in order) with probability `p`.

    >>> transforms.RandomApply(lambda x: x + 1, p=1)(nd.array([1]))
    [2.]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, transforms: Callable | Sequence[Block], p: float = 0.5):
        super().__init__()
        self.transforms = transforms if callable(transforms) else Compose(transforms)
        self.p = p

    def forward(self, x):
        return x if random.random() >= self.p else self.transforms(x)


class HybridRandomApply(_Pixels, HybridBlock):
    """`RandomApply` of a transform that can be hybridized; draws on the device.

    >>> transforms.HybridRandomApply(transforms.Cast("float16"), p=0)(nd.ones(1)).dtype
    <class 'numpy.float32'>
    """

    def __init__(self, transforms: HybridBlock | Sequence[HybridBlock], p: float = 0.5):
        super().__init__()
        self.transforms = transforms if isinstance(transforms, HybridBlock) else HybridCompose(transforms)
        self.p = p

    def hybrid_forward(self, F, x):
        drawn = F.random.uniform(0, 1, shape=(1,))
        return F.contrib.cond(drawn < self.p, lambda: self.transforms(x), lambda: x)


def _operators(F):
    """The image operators for what F works on: `nd.image` or `sym.image`, `npx.image` for np arrays."""
    return F.image if isinstance(F, ModuleType) else F.npx.image


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else tuple(size)


def _around_one(amount: float) -> tuple[float, float]:
    return max(0.0, 1.0 - amount), 1.0 + amount


_complete(globals())

"""Image operators against the standard library, NumPy, and numbers that MXNet 1.9.1 gave for the same pixels."""

import colorsys

import numpy as np
import pytest

from core import ndarray as nd
from core.base import MXNetError

PIXELS = np.random.RandomState(0).randint(0, 256, (5, 6, 3)).astype("uint8")


def image(dtype="uint8", pixels=PIXELS):
    return nd.array(pixels, dtype=dtype)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "int32", "float64"])
def test_to_tensor(dtype):
    expected = PIXELS.transpose(2, 0, 1).astype("float32") / np.float32(255)
    single = nd.image.to_tensor(image(dtype))
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single.asnumpy(), expected)
    np.testing.assert_array_equal(nd.image.to_tensor(image(dtype, PIXELS[None])).asnumpy(), expected[None])


def test_normalize_and_its_gradient():
    from core import autograd

    x = nd.ones((2, 3, 4, 4)) * 2
    x.attach_grad()
    with autograd.record():
        y = nd.image.normalize(x, mean=(0.5, 0.25, 1), std=(1, 2, 4))
    y.backward()
    np.testing.assert_allclose(y.asnumpy()[1, :, 0, 0], [1.5, 0.875, 0.25])
    np.testing.assert_allclose(x.grad.asnumpy()[1, :, 3, 3], [1, 0.5, 0.25])
    assert nd.image.normalize(nd.ones((1, 2, 2), dtype="uint8"), 0, 0.3).asnumpy().max() == 3
    for shape, options in [((2, 4, 4), {}), ((4, 4), {}), ((1, 4, 4), {"mean": (1, 2, 3)})]:
        with pytest.raises(MXNetError, match="normalize"):
            nd.image.normalize(nd.ones(shape), **options)


def test_crop():
    np.testing.assert_array_equal(nd.image.crop(image(), 1, 2, 3, 2).asnumpy(), PIXELS[2:4, 1:4])
    np.testing.assert_array_equal(
        nd.image.crop(image(pixels=PIXELS[None]), 1, 2, 3, 2).asnumpy(), PIXELS[None, 2:4, 1:4]
    )
    for window in [(4, 2, 3, 2), (-1, 2, 3, 2), (0, 0, 0, 2), (0, 4, 1, 2)]:
        with pytest.raises(MXNetError, match="not inside 6 x 5 pixels"):
            nd.image.crop(image(), *window)


def test_flips():
    np.testing.assert_array_equal(nd.image.flip_left_right(image()).asnumpy(), PIXELS[:, ::-1])
    np.testing.assert_array_equal(nd.image.flip_top_bottom(image(pixels=PIXELS[None])).asnumpy()[0], PIXELS[::-1])
    drawn = [nd.image.random_flip_left_right(image()).asnumpy() for _ in range(60)]
    flipped = [not np.array_equal(d, PIXELS) for d in drawn]
    assert all(np.array_equal(d, PIXELS[:, ::-1]) for d, f in zip(drawn, flipped) if f)
    assert 10 < sum(flipped) < 50
    assert np.array_equal(nd.image.random_flip_top_bottom(image(), p=1).asnumpy(), PIXELS[::-1])


# What MXNet makes of the first two pixels, as float32, with a fixed factor.
CHANGED = {
    ("random_brightness", 0.7): [120.4, 32.899998, 81.9, 134.4, 46.899998, 175.7],
    ("random_brightness", 1.3): [223.59999, 61.1, 152.09999, 249.59999, 87.1, 326.3],
    ("random_contrast", 0.7): [156.65134, 69.15134, 118.151344, 170.65134, 83.15134, 211.95134],
    ("random_contrast", 1.3): [187.34866, 24.848663, 115.848656, 213.34866, 50.848663, 290.04865],
    ("random_saturation", 0.7): [124.401405, 36.901398, 85.901405, 142.98419, 55.4842, 184.2842],
    ("random_saturation", 1.3): [219.59859, 57.0986, 148.09859, 241.0158, 78.5158, 317.7158],
    ("random_hue", 0.7): [46.999996, 91.99984, 172.0, 67.00002, 250.99998, 228.79999],
    ("random_hue", 1.3): [142.00002, 172.0, 46.999996, 250.99998, 155.20007, 67.00002],
}


@pytest.mark.parametrize("name, factor", CHANGED)
def test_changes_of_colour(name, factor):
    def changed(dtype, pixels=PIXELS):
        result = getattr(nd.image, name)(image(dtype, pixels), min_factor=factor, max_factor=factor)
        assert result.dtype == np.dtype(dtype)
        return result.asnumpy()

    floats = changed("float32")
    np.testing.assert_allclose(floats.ravel()[:6], CHANGED[name, factor], rtol=3e-6)
    # Integers are cut off behind the point.
    np.testing.assert_array_equal(np.clip(floats, 0, 255).astype("uint8"), changed("uint8"))
    if name != "random_contrast":
        np.testing.assert_array_equal(changed("uint8", PIXELS[None])[0], changed("uint8"))
    with pytest.raises(MXNetError, match="min_factor"):
        getattr(nd.image, name)(image(), min_factor=-1, max_factor=1)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_hue_turns_as_in_the_standard_library(share):
    turned = nd.image.random_hue(image("float32"), min_factor=share, max_factor=share).asnumpy() / 255
    for pixel, result in zip(PIXELS.reshape(-1, 3) / 255, turned.reshape(-1, 3)):
        hue, light, saturation = colorsys.rgb_to_hls(*pixel)
        np.testing.assert_allclose(result, colorsys.hls_to_rgb((hue + share) % 1, light, saturation), atol=1e-5)


def test_lighting():
    black = nd.zeros((1, 1, 3))
    components = [nd.image.adjust_lighting(black, alpha=a).asnumpy().ravel() for a in np.eye(3).tolist()]
    expected = [
        [-31.47355, -32.211166, -32.366455],
        [3.4478447, -0.021573, -3.330871],
        [0.4602332, -0.934472, 0.4825044],
    ]
    np.testing.assert_allclose(components, expected, rtol=1e-5)
    drawn = np.stack([nd.image.random_lighting(black, alpha_std=2).asnumpy().ravel() for _ in range(300)])
    assert 0.8 < np.std(drawn @ np.linalg.pinv(expected)) / 2 < 1.2


def test_jitter_keeps_shape_and_type_and_repeats_for_a_seed():
    from core import random

    def draw():
        return nd.image.random_color_jitter(image(), brightness=0.4, contrast=0.4, saturation=0.4, hue=0.2).asnumpy()

    random.seed(4)
    first, other = draw(), draw()
    random.seed(4)
    np.testing.assert_array_equal(draw(), first)
    assert first.shape == PIXELS.shape and first.dtype == np.uint8 and not np.array_equal(first, other)


@pytest.mark.parametrize("name", ["to_tensor", "flip_left_right", "random_flip_left_right"])
def test_two_axes_are_no_image(name):
    with pytest.raises(MXNetError, match=r"\(4, 4\)"):
        getattr(nd.image, name)(nd.ones((4, 4)))

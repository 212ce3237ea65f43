"""Transforms: fixed ones against MXNet's recorded results (section ops) and NumPy, random ones by what they may do."""

import random

import numpy as np
import pytest

from core import ndarray as nd
from core import random as mx_random
from core.base import MXNetError
from core.numpy import array as np_array
from core.numpy import ndarray as np_ndarray
from gluon.data import DataLoader, SimpleDataset
from gluon.data.vision import transforms as T

PIXELS = np.random.RandomState(0).randint(0, 256, (12, 17, 3)).astype("uint8")


def image(pixels=PIXELS, dtype=None):
    return nd.array(pixels, dtype=dtype or pixels.dtype)


@pytest.fixture(autouse=True)
def seeded():
    random.seed(1)
    mx_random.seed(1)


def test_compose_as_for_imagenet():
    transform = T.Compose(
        [T.Resize(8, keep_ratio=True), T.CenterCrop(6), T.ToTensor(), T.Normalize(0.5, (0.1, 0.2, 0.4))]
    )
    out = transform(image())
    assert out.shape == (3, 6, 6) and out.dtype == np.float32
    window = T.CenterCrop(6)(T.Resize((11, 8))(image())).asnumpy()
    expected = (window.transpose(2, 0, 1) / 255 - 0.5) / np.array([0.1, 0.2, 0.4]).reshape(3, 1, 1)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5, atol=1e-6)


class Louder(T.Normalize):
    def hybrid_forward(self, F, x):
        return 100 * super().hybrid_forward(F, x)


CHAINS = {
    "the usual": lambda: [
        T.RandomResizedCrop(6), T.RandomFlipLeftRight(), T.RandomFlipTopBottom(), T.ToTensor(), T.Normalize(MEAN, 0.3)
    ],
    "no resize": lambda: [T.CenterCrop((17, 12)), T.ToTensor()],
    "view": lambda: [T.RandomFlipLeftRight()],
    "colours between": lambda: [T.RandomCrop(8, pad=2), T.RandomColorJitter(0.2, 0.2), T.RandomFlipLeftRight(), T.ToTensor()],
    "floats": lambda: [T.Cast("float32"), T.RandomFlipLeftRight(), T.Normalize((1.0,), (2.0,))],
    "subclass": lambda: [T.ToTensor(), Louder(MEAN, 0.3)],
}  # fmt: skip
MEAN = (0.4, 0.5, 0.6)


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("make", [image, np_array], ids=["nd", "np"])
def test_transforms_in_a_row_give_the_bits_that_they_give_one_by_one(chain, make):
    transforms = CHAINS[chain]()
    composed = T.Compose(transforms)
    for seed in range(4):
        source = make(PIXELS) if make is image else np_array(PIXELS, dtype="uint8")
        if chain == "floats":
            source = source.astype("float32").transpose((2, 0, 1))
        before, expected = source.asnumpy(), source
        random.seed(seed), mx_random.seed(seed)
        for transform in transforms:
            expected = transform(expected)
        random.seed(seed), mx_random.seed(seed)
        out = composed(source)
        assert type(out) is type(expected) and out.dtype == expected.dtype
        np.testing.assert_array_equal(out.asnumpy(), expected.asnumpy())
        out[:] = 0
        np.testing.assert_array_equal(source.asnumpy(), before)


def test_transforms_in_a_row_take_what_numpy_has_not():
    out = T.Compose([T.ToTensor(), T.Normalize(0.5, 2.0)])(image().astype("bfloat16"))
    np.testing.assert_allclose(out.asnumpy(), (PIXELS.transpose(2, 0, 1) / 255 - 0.5) / 2, atol=2e-3)


def test_transforms_in_a_row_call_their_hooks():
    seen = []
    transforms = [T.CenterCrop(6), T.ToTensor(), T.Normalize(0.5, 0.5)]
    transforms[1].register_forward_hook(lambda block, inputs, out: seen.append(out.shape))
    composed = T.Compose(transforms)
    expected = T.Normalize(0.5, 0.5)(T.ToTensor()(T.CenterCrop(6)(image())))
    np.testing.assert_array_equal(composed(image()).asnumpy(), expected.asnumpy())
    assert seen == [(3, 6, 6)]
    composed.hybridize()
    np.testing.assert_allclose(composed(image()).asnumpy(), expected.asnumpy(), rtol=1e-6)


def test_numpy_images_are_accepted():
    for transform in (T.ToTensor(), T.Resize(5), T.CenterCrop(4), T.RandomResizedCrop(4), T.Cast("float16")):
        assert isinstance(transform(PIXELS), nd.NDArray)
    random.seed(1)
    of_array = T.RandomResizedCrop(6)(image()).asnumpy()
    random.seed(1)
    np.testing.assert_array_equal(T.RandomResizedCrop(6)(PIXELS).asnumpy(), of_array)


@pytest.mark.parametrize(
    "transform",
    [
        T.Compose([T.Resize(9), T.CenterCrop(8), T.ToTensor(), T.Normalize(0.5, 0.5)]),
        T.Compose([T.RandomResizedCrop(8), T.RandomFlipLeftRight(), T.RandomColorJitter(0.1, 0.1, 0.1, 0.1), T.Cast()]),
        T.Compose([T.RandomCrop(8, pad=2), T.RandomFlipTopBottom(), T.RandomLighting(0.1), T.RandomGray()]),
    ],
    ids=["evaluation", "training", "more"],
)
def test_np_arrays_stay_np_arrays(transform):
    from core import npx

    npx.set_np()
    try:
        assert type(transform(PIXELS)) is np_ndarray and type(transform(np_array(PIXELS))) is np_ndarray
    finally:
        npx.reset_np()
    assert type(transform(image())) is nd.NDArray


def test_windows():
    np.testing.assert_array_equal(T.CropResize(2, 1, 5, 4)(image()).asnumpy(), PIXELS[1:5, 2:7])
    assert T.CropResize(2, 1, 5, 4, (3, 2))(image()).shape == (2, 3, 3)
    np.testing.assert_array_equal(T.CenterCrop((7, 4))(image()).asnumpy(), PIXELS[4:8, 5:12])
    assert T.CenterCrop((34, 12))(image()).shape == (12, 34, 3)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "float32", "float64"])
def test_batches_and_other_types(dtype):
    batch = nd.array(np.random.RandomState(0).randint(0, 100, (3, 20, 10, 3)), dtype=dtype)
    for transform, size in [
        (T.Resize((7, 5)), (7, 5)),
        (T.CropResize(1, 2, 6, 8, (5, 4), 2), (5, 4)),
        (T.CenterCrop((8, 6)), (8, 6)),
        (T.CenterCrop((20, 15), 2), (20, 15)),
        (T.RandomResizedCrop((7, 9)), (7, 9)),
        (T.RandomCrop((7, 9)), (7, 9)),
    ]:
        random.seed(2)
        out = transform(batch)
        assert out.shape == (3, *size[::-1], 3) and out.dtype == np.dtype(dtype)
        random.seed(2)
        np.testing.assert_array_equal(transform(batch[1]).asnumpy(), out.asnumpy()[1])


def test_impossible_sizes():
    for transform in (
        T.CenterCrop((-2, 3)),
        T.RandomCrop(0),
        T.Resize(-1),
        T.Resize((1, 2, 3)),
        T.CropResize(0, 0, -1, 2),
    ):
        with pytest.raises(MXNetError):
            transform(image())


def test_random_crop_stays_inside_and_pads():
    rows = np.broadcast_to(np.arange(1, 13, dtype="uint8")[:, None, None], (12, 12, 3))
    seen = set()
    for _ in range(40):
        window = T.RandomCrop((12, 5))(image(rows)).asnumpy()[:, 0, 0]
        assert (np.diff(window) == 1).all()
        seen.add(int(window[0]))
    assert seen == set(range(1, 9))
    padded = T.RandomCrop(20, pad=4, pad_value=(9, 8, 7))(image(rows)).asnumpy()
    assert padded.shape == (20, 20, 3) and padded[0, 0].tolist() == [9, 8, 7]
    np.testing.assert_array_equal(padded[4:16, 4:16], rows)


def test_random_resized_crop_takes_shares_in_bounds():
    ramp = np.stack(np.broadcast_arrays(np.arange(100)[:, None], np.arange(200)[None], 0), -1).astype("float32")
    shares = []
    for _ in range(60):
        out = T.RandomResizedCrop((20, 10), scale=(0.2, 0.5), ratio=(0.5, 2), interpolation=0)(image(ramp)).asnumpy()
        assert out.shape == (10, 20, 3)
        height = (out[-1, 0, 0] - out[0, 0, 0]) * 10 / 9
        width = (out[0, -1, 1] - out[0, 0, 1]) * 20 / 19
        shares.append(height * width / 20000)
    assert 0.15 < min(shares) < 0.3 and 0.4 < max(shares) < 0.55


def test_random_flips():
    for transform, axis in ((T.RandomFlipLeftRight(), 1), (T.RandomFlipTopBottom(), 0)):
        flipped = 0
        for _ in range(60):
            out = transform(image()).asnumpy()
            if not np.array_equal(out, PIXELS):
                np.testing.assert_array_equal(out, np.flip(PIXELS, axis))
                flipped += 1
        assert 15 < flipped < 45


@pytest.mark.parametrize(
    "transform",
    [
        T.RandomBrightness(0.4),
        T.RandomContrast(0.4),
        T.RandomSaturation(0.4),
        T.RandomHue(0.2),
        T.RandomColorJitter(0.4, 0.4, 0.4, 0.2),
        T.RandomLighting(0.5),
    ],
    ids=lambda t: type(t).__name__,
)
def test_changes_of_colour_repeat_for_a_seed(transform):
    first, second = transform(image()).asnumpy(), transform(image()).asnumpy()
    mx_random.seed(1)
    np.testing.assert_array_equal(transform(image()).asnumpy(), first)
    assert first.dtype == np.uint8 and first.shape == PIXELS.shape and not np.array_equal(first, second)


def test_no_change_of_colour():
    for transform in (T.RandomBrightness(0), T.RandomContrast(0), T.RandomSaturation(0), T.RandomLighting(0)):
        np.testing.assert_array_equal(transform(image()).asnumpy(), PIXELS)


def test_random_gray():
    gray = T.RandomGray(1)(image()).asnumpy()
    assert gray.shape == PIXELS.shape and (gray.max(2) - gray.min(2)).max() <= 1
    np.testing.assert_array_equal(T.RandomGray(0)(image()).asnumpy(), PIXELS)


def test_rotation():
    x = image(PIXELS.transpose(2, 0, 1), "float32")
    # A quarter turn of a square is exact.
    square = nd.array(np.arange(9.0).reshape(1, 3, 3))
    turned = T.Rotate(90)(square).asnumpy()
    assert any(np.allclose(turned[0], np.rot90(square.asnumpy()[0], k), atol=1e-4) for k in (1, 3))
    assert T.RandomRotation((-30, 30))(x).shape == x.shape
    assert T.RandomRotation((-30, 30), rotate_with_proba=0)(x) is x
    for options in ({"angle_limits": (3, 3)}, {"angle_limits": (0, 3), "rotate_with_proba": 2}):
        with pytest.raises(ValueError):
            T.RandomRotation(**options)


@pytest.mark.parametrize("kind", [T.RandomApply, T.HybridRandomApply])
def test_random_apply(kind):
    for p, width in ((0, 17), (1, 1)):
        assert kind(T.CropResize(0, 0, 1, 2), p)(image()).shape[1] == width
    twice = kind([T.CropResize(0, 0, 3, 2), T.CropResize(0, 0, 1, 2)])
    applied = [twice(image()).shape[1] for _ in range(60)]
    assert set(applied) == {1, 17} and 15 < applied.count(1) < 45


def test_random_apply_of_a_function():
    applied = [T.Compose([T.RandomApply(lambda x: x[:, :3], 0.5)])(image()).shape[1] for _ in range(60)]
    assert set(applied) == {3, 17} and 15 < applied.count(3) < 45


def test_hybrid_compose_takes_hybrid_transforms_alone():
    with pytest.raises(ValueError, match="CenterCrop"):
        T.HybridCompose([T.CenterCrop(3)])


def test_in_workers():
    transform = T.Compose([T.RandomResizedCrop(8), T.RandomFlipLeftRight(), T.ToTensor()])
    loader = DataLoader(SimpleDataset([(PIXELS, i) for i in range(8)]).transform_first(transform), 4, num_workers=2)

    def batches(seed):
        np.random.seed(seed)
        return np.concatenate([x.asnumpy() for x, _ in loader])

    first, again, other = batches(0), batches(0), batches(1)
    assert first.shape == (8, 3, 8, 8)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other) and len(np.unique(first.sum((1, 2, 3)))) == 8

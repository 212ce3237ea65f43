"""Operators of regions, sampling and size against naive loops in float64 and finite differences."""

import math

import numpy as np
import pytest

from core import autograd
from core import ndarray as nd
from core.base import MXNetError

RANDOM = np.random.RandomState(0)
ROIS = np.array([[0, 1.2, 0.7, 7.4, 6.1], [1, 0, 0, 9, 7], [0, 3, 3, 3.2, 3.1], [1, -4, -3, 20, 12]], "float32")


def bilinear(image, y, x):
    """One sample of (C, H, W) as region align takes it: zero beyond one pixel outside, else the nearest inside."""
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(image.shape[0])
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    down, right = y - top, x - left
    bottom, end = min(top + 1, height - 1), min(left + 1, width - 1)
    return (
        image[:, top, left] * (1 - down) * (1 - right)
        + image[:, top, end] * (1 - down) * right
        + image[:, bottom, left] * down * (1 - right)
        + image[:, bottom, end] * down * right
    )


def naive_align(data, rois, pooled, scale, ratio, aligned):
    out = np.zeros((len(rois), data.shape[1], *pooled))
    for r, (image, *corners) in enumerate(rois.astype("float64")):
        left, top, right, bottom = (c * scale - 0.5 * aligned for c in corners)
        width, height = right - left, bottom - top
        if not aligned:
            width, height = max(width, 1), max(height, 1)
        cell = height / pooled[0], width / pooled[1]
        samples = [ratio if ratio > 0 else math.ceil(c) for c in cell]
        for i in range(pooled[0]):
            for j in range(pooled[1]):
                for a in range(samples[0]):
                    for b in range(samples[1]):
                        y = top + (i + (a + 0.5) / samples[0]) * cell[0]
                        x = left + (j + (b + 0.5) / samples[1]) * cell[1]
                        out[r, :, i, j] += bilinear(data[int(image)], y, x)
        out[r] /= samples[0] * samples[1]
    return out


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 1, 2])
def test_roi_align(ratio, aligned):
    data = RANDOM.randn(2, 3, 8, 10)
    y = nd.contrib.ROIAlign(
        nd.array(data, dtype="float64"), nd.array(ROIS, dtype="float64"), (3, 2), 0.9, ratio, False, aligned
    )
    np.testing.assert_allclose(y.asnumpy(), naive_align(data, ROIS, (3, 2), 0.9, ratio, aligned), atol=1e-5)


def test_roi_align_of_no_image_is_zero_and_of_no_region_is_empty():
    rois = np.vstack([[-1, 0, 0, 5, 5], ROIS[:1]]).astype("float32")
    data = nd.ones((2, 3, 8, 10))
    data.attach_grad()
    with autograd.record():
        y = nd.contrib.ROIAlign(data, nd.array(rois), (2, 2), 1.0)
    y.backward()
    assert not y.asnumpy()[0].any() and np.allclose(y.asnumpy()[1], 1)
    assert data.grad.sum().asscalar() == pytest.approx(12, rel=1e-5)
    assert nd.contrib.ROIAlign(data, nd.empty((0, 5)), (2, 2), 1.0).shape == (0, 3, 2, 2)


def test_position_sensitive_cells_read_their_own_channels():
    data = RANDOM.randn(2, 12, 8, 10)
    whole = naive_align(data, ROIS, (3, 2), 1.0, 2, False)
    y = nd.contrib.ROIAlign(nd.array(data), nd.array(ROIS), (3, 2), 1.0, 2, True).asnumpy()
    for c in range(2):
        for k in range(6):
            np.testing.assert_allclose(y[:, c, k // 2, k % 2], whole[:, c * 6 + k, k // 2, k % 2], atol=1e-4)


def naive_pool(data, rois, pooled, scale):
    out = np.zeros((len(rois), data.shape[1], *pooled))
    height, width = data.shape[2:]
    for r, (image, *corners) in enumerate(rois):
        left, top, right, bottom = (int(math.copysign(math.floor(abs(c * scale) + 0.5), c)) for c in corners)
        rows, columns = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for i in range(pooled[0]):
            for j in range(pooled[1]):
                y = slice(
                    *(min(max(f + top, 0), height) for f in (i * rows // pooled[0], -(-(i + 1) * rows // pooled[0])))
                )
                x = slice(*(min(max(f + left, 0), width) for f in (j * columns // pooled[1], -(-(j + 1) * columns // pooled[1]))))  # fmt: skip
                cell = data[int(image), :, y, x]
                out[r, :, i, j] = cell.max((1, 2)) if cell.size else 0
    return out


@pytest.mark.parametrize("pooled", [(2, 3), (7, 7)])
def test_roi_pooling(pooled):
    data = RANDOM.randn(2, 3, 8, 10).astype("float32")
    y = nd.ROIPooling(nd.array(data), nd.array(ROIS), pooled, 0.6)
    np.testing.assert_allclose(y.asnumpy(), naive_pool(data, ROIS, pooled, 0.6), rtol=1e-6)


def test_regions_of_no_image_are_zeros_and_pass_no_gradient():
    data = nd.array(RANDOM.rand(2, 3, 8, 10) + 1)
    data.attach_grad()
    with autograd.record():
        y = nd.ROIPooling(data, nd.array([[-1, 0, 0, 5, 5], [1, 0, 0, 5, 5], [2, 0, 0, 5, 5]]), (2, 2), 1.0)
    y.backward()
    assert (y.asnumpy() > 0).all((1, 2, 3)).tolist() == [False, True, False]
    assert not y[0].asnumpy().any() and not y[2].asnumpy().any()
    assert data.grad.asnumpy().sum((1, 2, 3)).tolist() == [0, 12]


CASES = {
    "align": (lambda x: nd.contrib.ROIAlign(x, nd.array(ROIS, dtype="float64"), (2, 2), 1.0), (2, 3, 8, 10)),
    "by position": (
        lambda x: nd.contrib.ROIAlign(x, nd.array(ROIS, dtype="float64"), (2, 2), 1.0, 2, True),
        (2, 4, 8, 10),
    ),
    "rotated": (
        lambda x: nd.contrib.RROIAlign(x, nd.array([[1, 4, 4, 5, 3, 30]], dtype="float64"), (2, 2), 1.0),
        (2, 3, 8, 10),
    ),
    "pool": (lambda x: nd.ROIPooling(x, nd.array(ROIS, dtype="float64"), (2, 2), 1.0), (2, 2, 8, 10)),
    "resize": (lambda x: nd.contrib.BilinearResize2D(x, height=7, width=3), (1, 2, 4, 5)),
    "resize from edges": (
        lambda x: nd.contrib.BilinearResize2D(x, height=3, width=9, align_corners=False),
        (1, 2, 4, 5),
    ),
    "adaptive": (lambda x: nd.contrib.AdaptiveAvgPooling2D(x, output_size=(3, 2)), (1, 2, 7, 5)),
    "sampler, data": (lambda x: nd.BilinearSampler(x, GRID), (1, 2, 4, 5)),
    "sampler, grid": (lambda x: nd.BilinearSampler(IMAGE, nd.tanh(x) * 0.9), (1, 2, 2, 3)),
    "affine grid": (lambda x: nd.GridGenerator(x, transform_type="affine", target_shape=(3, 4)), (2, 6)),
    "warp": (lambda x: nd.GridGenerator(x, transform_type="warp"), (2, 2, 3, 4)),
    "correlation": (lambda x: nd.Correlation(x, x * 0.5 + IMAGE, 3, 2, 2, 1, 3), (1, 2, 4, 5)),
    "difference": (lambda x: nd.Correlation(x, IMAGE, 1, 1, 1, 1, 1, False), (1, 2, 4, 5)),
    "crop": (lambda x: nd.Crop(x, nd.zeros((1, 1, 2, 3)), center_crop=True), (1, 2, 4, 6)),
    "columns": (lambda x: nd.im2col(x, kernel=(3, 2), stride=(2, 1), pad=(1, 0)), (1, 2, 4, 5)),
}
GRID = nd.array(RANDOM.uniform(-1.2, 1.2, (1, 2, 3, 3)), dtype="float64")
IMAGE = nd.array(RANDOM.randn(1, 2, 4, 5), dtype="float64")


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_finite_differences(name):
    function, shape = CASES[name]
    x = nd.array(RANDOM.randn(*shape), dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = function(x)
    head = nd.array(RANDOM.randn(*y.shape), dtype="float64")
    y.backward(head)
    direction = nd.array(RANDOM.randn(*shape), dtype="float64")
    step = 1e-6
    change = ((function(x + step * direction) - function(x - step * direction)) * head).sum().asscalar() / (2 * step)
    assert (x.grad * direction).sum().asscalar() == pytest.approx(change, rel=1e-4, abs=1e-6)


def test_up_sampling_repeats_and_adds():
    small, large = RANDOM.randn(1, 2, 2, 2), RANDOM.randn(1, 2, 4, 4)
    y = nd.UpSampling(nd.array(large), nd.array(small), scale=1, sample_type="nearest", multi_input_mode="sum")
    np.testing.assert_allclose(y.asnumpy(), large + small.repeat(2, 2).repeat(2, 3), rtol=1e-5)


def test_an_affine_identity_gives_the_image_back():
    same = nd.array([[1, 0, 0, 0, 1, 0]], dtype="float64")
    y = nd.SpatialTransformer(IMAGE, same, target_shape=(4, 5), transform_type="affine", sampler_type="bilinear")
    np.testing.assert_allclose(y.asnumpy(), IMAGE.asnumpy(), atol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.ROIPooling(nd.ones((1, 2, 3)), nd.zeros((1, 5)), (2, 2), 1.0),
        lambda: nd.contrib.ROIAlign(nd.ones((1, 2, 3, 3)), nd.zeros((1, 6)), (2, 2), 1.0),
        lambda: nd.Crop(nd.ones((1, 1, 4, 4)), h_w=(5, 2)),
        lambda: nd.im2col(nd.ones((1, 1, 4)), kernel=(2, 2)),
        lambda: nd.Correlation(nd.ones((1, 1, 4, 4)), nd.ones((1, 1, 4, 4)), kernel_size=2),
    ],
)
def test_errors_say_what_is_accepted(call):
    with pytest.raises(MXNetError, match=r"takes|accepted|not inside"):
        call()


def test_regions_that_begin_a_pixel_outside():
    """MXNet leaves out samples below -1, and counts those at -1 as the first row."""
    image = nd.array(np.arange(1.0, 10).reshape(1, 1, 3, 3))
    for top, expected in ((-1.5, 2.0), (-1.51, 0.0)):  # the middle of a window one pixel high is at -1, or beyond
        region = nd.array([[0, 0.5, top, 1.5, top + 1]])
        found = nd.contrib.ROIAlign(image, region, pooled_size=(1, 1), spatial_scale=1.0, sample_ratio=1)
        assert found.asscalar() == expected

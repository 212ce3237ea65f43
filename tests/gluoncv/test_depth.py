"""Geometry and losses of learning depth, against NumPy."""

import numpy as np
import pytest

from core import nd
from gluoncv import model_zoo
from gluoncv.model_zoo.monodepthv2 import (
    SSIM,
    BackprojectDepth,
    Project3D,
    compute_depth_errors,
    disp_to_depth,
    get_smooth_loss,
    rot_from_axisangle,
    transformation_from_parameters,
)


def test_disparity_and_depth():
    scaled, depth = disp_to_depth(nd.array([0, 0.5, 1]), 0.1, 100)
    np.testing.assert_allclose(scaled.asnumpy(), [0.01, 5.005, 10], rtol=1e-6)
    np.testing.assert_allclose(depth.asnumpy(), [100, 1 / 5.005, 0.1], rtol=1e-6)


def test_rotation():
    """Orthogonal, of determinant 1, about the axis, by the angle."""
    vectors = np.random.RandomState(0).standard_normal((4, 1, 3)).astype("float32")
    found = rot_from_axisangle(nd.array(vectors)).asnumpy()
    for vector, matrix in zip(vectors[:, 0], found, strict=True):
        turn = matrix[:3, :3]
        np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-5)
        np.testing.assert_allclose(turn @ vector, vector, atol=1e-5)
        assert abs(np.trace(turn) - 1 - 2 * np.cos(np.linalg.norm(vector))) < 1e-5 and np.linalg.det(turn) > 0
        assert matrix[3].tolist() == [0, 0, 0, 1] and not matrix[:3, 3].any()
    quarter = rot_from_axisangle(nd.array([[[0, 0, np.pi / 2]]])).asnumpy()[0]
    np.testing.assert_allclose(quarter @ [1, 0, 0, 1], [0, 1, 0, 1], atol=1e-6)


def test_motion_and_its_inverse():
    random = np.random.RandomState(1)
    turn, move = (nd.array(random.standard_normal((3, 1, 3))) for _ in range(2))
    there, back = (transformation_from_parameters(turn, move, invert) for invert in (False, True))
    np.testing.assert_allclose(nd.batch_dot(there, back).asnumpy(), np.tile(np.eye(4), (3, 1, 1)), atol=1e-5)
    np.testing.assert_allclose(there.asnumpy()[:, :3, 3], move.asnumpy()[:, 0], atol=1e-6)


@pytest.mark.parametrize("hybrid", [False, True])
def test_pixels_projected_without_motion_stay(hybrid):
    height, width = 4, 6
    camera = np.tile(np.array([[5, 0, 3, 0], [0, 4, 2, 0], [0, 0, 1, 0], [0, 0, 0, 1]], "float32"), (2, 1, 1))
    back, forth = BackprojectDepth(2, height, width), Project3D(2, height, width)
    if hybrid:
        back.hybridize()
        forth.hybridize()
    depth = nd.random.uniform(1, 5, shape=(2, 1, height, width))
    points = back(depth, nd.array(np.linalg.inv(camera)))
    assert points.shape == (2, 4, height * width)
    np.testing.assert_allclose(points.asnumpy()[:, 2], depth.asnumpy().reshape(2, -1), rtol=1e-5)
    places = forth(points, nd.array(camera), nd.array(np.tile(np.eye(4), (2, 1, 1)))).asnumpy()
    columns, rows = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    np.testing.assert_allclose(places, np.tile(np.stack([columns, rows]), (2, 1, 1, 1)), atol=1e-4)


def test_likeness_of_pictures():
    x, y = nd.random.uniform(shape=(1, 3, 8, 8)), nd.random.uniform(shape=(1, 3, 8, 8))
    ssim = SSIM()
    assert np.abs(ssim(x, x).asnumpy()).max() < 1e-5
    a, b = (v.asnumpy()[0, 0, 2:5, 3:6].astype("float64") for v in (x, y))
    covariance = (a * b).mean() - a.mean() * b.mean()
    above = (2 * a.mean() * b.mean() + 1e-4) * (2 * covariance + 9e-4)
    below = (a.mean() ** 2 + b.mean() ** 2 + 1e-4) * (a.var() + b.var() + 9e-4)
    assert abs(float(ssim(x, y)[0, 0, 3, 4].asscalar()) - (1 - above / below) / 2) < 1e-5


def test_smoothness():
    """A step of the disparity costs its size, less where the picture has one, too."""
    disparity = nd.zeros((1, 1, 2, 4))
    disparity[:, :, :, 2:] = 3
    flat = nd.zeros((1, 3, 2, 4))
    assert abs(float(get_smooth_loss(disparity, flat).asscalar()) - 1) < 1e-6
    edged = nd.broadcast_mul(disparity, nd.ones((1, 3, 1, 1)))
    assert abs(float(get_smooth_loss(disparity, edged).asscalar()) - np.exp(-3)) < 1e-6


def test_errors_of_depths():
    truth, found = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 4.4])
    relative, squared, rmse, _, first, second, third = compute_depth_errors(truth, found)
    np.testing.assert_allclose([relative, squared], [(0.5 + 0.1) / 3, (0.5 + 0.04) / 3])
    np.testing.assert_allclose(rmse, np.sqrt((1 + 0.16) / 3))
    np.testing.assert_allclose([first, second, third], [2 / 3, 1, 1])


def test_predictions_by_scale():
    net = model_zoo.get_model("monodepth2_resnet18_kitti_mono_640x192", pretrained_base=False)
    found = net.predict(nd.random.uniform(shape=(1, 3, 64, 96)))
    assert {key: value.shape for key, value in found.items()} == {
        ("disp", i): (1, 1, 64 >> i, 96 >> i) for i in range(4)
    }
    half = model_zoo.monodepthv2.MonoDepth2("resnet18", pretrained_base=False, scales=[0, 2], use_skips=False)
    assert [out.shape for out in half(nd.ones((1, 3, 64, 64)))] == [(1, 1, 16, 16), (1, 1, 64, 64)]

"""Normalisations of the CPU backend against float64 formulas written out."""

import numpy as np
import pytest
import torch

from core import kernels
from core.kernels.cpu import norm

TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
EPS = 1e-3
LAST = torch.channels_last


def draw(shape, dtype=torch.float64, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def close(ours, truth, dtype=None):
    assert ours.shape == truth.shape
    dtype = dtype or ours.dtype
    assert ours.dtype == dtype
    assert (ours.double() - truth).norm() <= TOLERANCE[dtype] * max(truth.norm(), 1e-3)


def stat(dtype):
    return torch.float64 if dtype == torch.float64 else torch.float32


def normalise64(x, axes, eps=EPS):
    """x normalised over `axes` in float64, its mean and 1 / deviation."""
    x = x.double()
    mean = x.mean(axes, keepdim=True)
    rstd = ((x - mean).square().mean(axes, keepdim=True) + eps).rsqrt()
    return (x - mean) * rstd, mean, rstd


def normalise_grad64(dy_scaled, xhat, rstd, axes):
    """Gradient of `normalise64` for x."""
    centred = dy_scaled - dy_scaled.mean(axes, keepdim=True)
    return rstd * (centred - xhat * (dy_scaled * xhat).mean(axes, keepdim=True))


def along(vector, x, axis):
    return vector.double().view([-1 if a == axis else 1 for a in range(x.ndim)])


BATCH = [
    ((4, 6, 5, 3), 1),
    ((4, 6, 5, 3), 3),
    ((5, 3), 1),
    ((5, 3, 4), 2),
    ((5, 3, 4), 1),
    ((3, 4, 5), 0),
    ((2, 3, 2, 3, 2), 1),
]


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape, axis", BATCH)
def test_batch_norm(shape, axis, dtype, affine):
    x, dy, size = draw(shape, dtype) * 2 + 1, draw(shape, dtype, 1), shape[axis]
    gamma, beta = (draw(size, stat(dtype), seed) if affine else None for seed in (2, 3))
    axes = tuple(a for a in range(len(shape)) if a != axis)
    xhat, mean, rstd = normalise64(x, axes)
    scale = along(gamma, x, axis) if affine else 1
    y, our_mean, our_rstd = norm.batch_norm(x, gamma, beta, axis, EPS)
    close(y, xhat * scale + (along(beta, x, axis) if affine else 0), dtype)
    close(our_mean, mean.flatten(), stat(dtype))
    close(our_rstd, rstd.flatten(), stat(dtype))
    dx, dgamma, dbeta = norm.batch_norm_grad(dy, x, gamma, our_mean, our_rstd, axis)
    close(dx, normalise_grad64(dy.double() * scale, xhat, rstd, axes), dtype)
    close(dgamma, (dy.double() * xhat).sum(axes), stat(dtype))
    close(dbeta, dy.double().sum(axes), stat(dtype))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape, axis", BATCH)
def test_batch_norm_inference(shape, axis, dtype, affine):
    x, dy, size = draw(shape, dtype), draw(shape, dtype, 1), shape[axis]
    gamma, beta = (draw(size, stat(dtype), seed) if affine else None for seed in (2, 3))
    mean, var = draw(size, stat(dtype), 4), draw(size, stat(dtype), 5).square()
    axes = tuple(a for a in range(len(shape)) if a != axis)
    scale = along(gamma, x, axis) if affine else 1
    rstd = (along(var, x, axis) + EPS).rsqrt()
    xhat = (x.double() - along(mean, x, axis)) * rstd
    y = norm.batch_norm_inference(x, gamma, beta, mean, var, axis, EPS)
    close(y, xhat * scale + (along(beta, x, axis) if affine else 0), dtype)
    dx, dgamma, dbeta = norm.batch_norm_inference_grad(dy, x, gamma, mean, var, axis, EPS)
    close(dx, dy.double() * scale * rstd, dtype)
    close(dgamma, (dy.double() * xhat).sum(axes), stat(dtype))
    close(dbeta, dy.double().sum(axes), stat(dtype))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape, axis", [((5, 7), 1), ((5, 7), 0), ((3, 4, 5), 1), ((3, 1, 17), 2), ((9,), 0)])
def test_layer_norm(shape, axis, dtype, affine):
    x, dy, size = draw(shape, dtype) * 2 + 1, draw(shape, dtype, 1), shape[axis]
    gamma, beta = (draw(size, dtype, seed) if affine else None for seed in (2, 3))
    others = tuple(a for a in range(len(shape)) if a != axis)
    xhat, mean, rstd = normalise64(x, (axis,))
    scale = along(gamma, x, axis) if affine else 1
    y, our_mean, our_rstd = norm.layer_norm(x, gamma, beta, axis, EPS)
    close(y, xhat * scale + (along(beta, x, axis) if affine else 0), dtype)
    close(our_mean, mean, stat(dtype))
    close(our_rstd, rstd, stat(dtype))
    dx, dgamma, dbeta = norm.layer_norm_grad(dy, x, gamma, our_mean, our_rstd, axis)
    close(dx, normalise_grad64(dy.double() * scale, xhat, rstd, (axis,)), dtype)
    param = dtype if affine else stat(dtype)
    # torch sums over the empty tuple as over all axes
    close(dgamma, (dy.double() * xhat).sum(others) if others else dy.double() * xhat, param)
    close(dbeta, dy.double().sum(others) if others else dy.double(), param)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, LAST])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(groups, dtype, memory_format, affine):
    shape = (3, 6, 4, 5)
    x = (draw(shape, dtype) * 2 + 1).contiguous(memory_format=memory_format)
    dy = draw(shape, dtype, 1)
    gamma, beta = (draw(6, stat(dtype), seed) if affine else None for seed in (2, 3))
    split = (3, groups, 6 // groups, 4, 5)
    xhat, mean, rstd = normalise64(x.reshape(split), (2, 3, 4))
    flat = xhat.reshape(shape)
    scale = along(gamma, x, 1) if affine else torch.ones(1)
    y, our_mean, our_rstd = norm.group_norm(x, gamma, beta, groups, EPS)
    close(y, flat * scale + (along(beta, x, 1) if affine else 0), dtype)
    close(our_mean, mean.reshape(3, groups), stat(dtype))
    close(our_rstd, rstd.reshape(3, groups), stat(dtype))
    dx, dgamma, dbeta = norm.group_norm_grad(dy, x, gamma, our_mean, our_rstd, groups)
    close(dx, normalise_grad64((dy.double() * scale).reshape(split), xhat, rstd, (2, 3, 4)).reshape(shape), dtype)
    close(dgamma, (dy.double() * flat).sum((0, 2, 3)), stat(dtype))
    close(dbeta, dy.double().sum((0, 2, 3)), stat(dtype))


def test_channels_last_stays():
    x = draw((2, 6, 4, 5), torch.float32).contiguous(memory_format=LAST)
    stats = torch.zeros(6), torch.ones(6)
    y, mean, rstd = norm.batch_norm(x, None, None, 1, EPS)
    for t in (
        y,
        norm.batch_norm_grad(x, x, None, mean, rstd, 1)[0],
        norm.batch_norm_inference(x, None, None, *stats, 1, EPS),
        norm.batch_norm_inference_grad(x, x, None, *stats, 1, EPS)[0],
        norm.group_norm(x, None, None, 2, EPS)[0],
    ):
        assert t.is_contiguous(memory_format=LAST)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_gradients_of_parameters_add_up_in_float32(dtype):
    x, dy = draw((4096, 8), dtype), draw((4096, 8), dtype, 1) + 1
    truth = dy.double().sum(0)
    for grads in (
        norm.batch_norm_grad(dy, x, None, torch.zeros(8), torch.ones(8), 1),
        norm.layer_norm_grad(dy, x, None, torch.zeros(4096, 1), torch.ones(4096, 1), 1),
        norm.group_norm_grad(dy, x, None, torch.zeros(4096, 2), torch.ones(4096, 2), 2),
    ):
        close(grads[2], truth, torch.float32)
        close(grads[1], (dy.double() * x.double()).sum(0), torch.float32)


def test_layer_norm_of_single_elements_has_no_gradient():
    x, dy = draw((5, 1), torch.float32), draw((5, 1), torch.float32, 1)
    y, mean, rstd = norm.layer_norm(x, None, None, 1, 1e-5)
    dx, dgamma, dbeta = norm.layer_norm_grad(dy, x, None, mean, rstd, 1)
    assert not y.any() and not dx.any() and not dgamma.any() and torch.allclose(dbeta, dy.sum())


def test_mixed_layouts_of_gradient_and_input():
    x, dy = draw((2, 6, 4, 5)).contiguous(memory_format=LAST), draw((2, 6, 4, 5), seed=1)
    _, mean, rstd = norm.batch_norm(x, None, None, 1, EPS)
    plain = norm.batch_norm_grad(dy, x.contiguous(), None, mean, rstd, 1)
    for ours, truth in zip(norm.batch_norm_grad(dy, x, None, mean, rstd, 1), plain):
        close(ours, truth)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_running_statistics_move_in_place(dtype):
    moving_mean, moving_var = draw(5, dtype), draw(5, dtype, 1).abs()
    mean, rstd = draw(5, stat(dtype), 2), draw(5, stat(dtype), 3).abs() + 1
    want_mean = moving_mean.double() * 0.9 + mean.double() * 0.1
    want_var = moving_var.double() * 0.9 + (rstd.double() ** -2 - EPS) * 0.1
    norm.move_statistics(moving_mean, moving_var, mean, rstd, 0.9, EPS)
    close(moving_mean, want_mean, dtype)
    close(moving_var, want_var, dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_infinite_running_statistics_stay_infinite(dtype):
    moving = torch.tensor([[np.inf, -np.inf, 1.0, np.inf, np.inf]] * 2, dtype=dtype)
    mean = torch.tensor([2.0, 2.0, np.inf, np.inf, -np.inf], dtype=stat(dtype))
    norm.move_statistics(moving[0], moving[1], mean, mean.new_ones(5), 0.9, EPS)
    with np.errstate(invalid="ignore"):
        want = np.array([np.inf, -np.inf, 1.0, np.inf, np.inf]) * 0.9 + mean.double().numpy() * 0.1
    np.testing.assert_array_equal(moving[0].double().numpy(), want)
    assert moving[1].isinf().tolist() == [True, True, False, True, True]


def test_empty():
    x, stats = torch.zeros(0, 4, 3, 3), (torch.zeros(4), torch.ones(4))
    y, mean, rstd = norm.batch_norm(x, None, None, 1, EPS)
    assert y.shape == x.shape and mean.shape == rstd.shape == (4,)
    for grads in (
        norm.batch_norm_grad(x, x, None, mean, rstd, 1),
        norm.batch_norm_inference_grad(x, x, None, *stats, 1, EPS),
        norm.group_norm_grad(x, x, None, *norm.group_norm(x, None, None, 2, EPS)[1:], 2),
    ):
        assert [tuple(g.shape) for g in grads] == [(0, 4, 3, 3), (4,), (4,)] and not grads[1].any()
    assert norm.batch_norm_inference(x, None, None, *stats, 1, EPS).shape == x.shape
    assert [tuple(t.shape) for t in norm.layer_norm(x, None, None, 3, EPS)] == [(0, 4, 3, 3)] + [(0, 4, 3, 1)] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_shapes_are_inferred_on_meta(dtype):
    real = draw((2, 4, 3, 3), dtype)
    calls = {
        "batch": lambda x: kernels.norm.batch_norm(x, None, None, 1, EPS),
        "batch, last": lambda x: kernels.norm.batch_norm(x, None, None, 3, EPS),
        "layer": lambda x: kernels.norm.layer_norm(x, None, None, 3, EPS),
        "layer, second": lambda x: kernels.norm.layer_norm(x, None, None, 1, EPS),
        "group": lambda x: kernels.norm.group_norm(x, None, None, 2, EPS),
    }
    for call in calls.values():
        for a, b in zip(call(real), call(real.to("meta"))):
            assert b.is_meta and a.shape == b.shape and a.dtype == b.dtype

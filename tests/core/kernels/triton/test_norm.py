"""The Triton normalisations against the CPU backend in float64."""

import numpy as np
import pytest
import torch

from core.kernels.cpu import norm as truth
from core.kernels.triton import _layer_norm
from core.kernels.triton import norm as family

pytestmark = pytest.mark.usefixtures("on_device")

TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
EPS = 1e-3
LAST = torch.channels_last
BATCH = [
    ((4, 6, 5, 3), 1),
    ((4, 6, 5, 3), 3),
    ((5, 3), 1),
    ((1, 3), 1),
    ((7, 1, 1), 1),
    ((3, 4, 5), 0),
    ((2, 3, 2, 3, 2), 1),
    ((2, 3, 41, 59), 1),
]


def draw(shape, dtype=torch.float32, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def wide(*tensors):
    return [None if t is None else t.double().cpu() for t in tensors]


def close(ours, expected, x):
    """The first result has the dtype of `x`, statistics and parameters that of the statistics."""
    for number, (a, b) in enumerate(zip(ours, expected, strict=True)):
        stat = torch.float64 if x.dtype == torch.float64 else torch.float32
        assert a.shape == b.shape and a.dtype == (stat if number else x.dtype)
        assert (a.double().cpu() - b).norm() <= TOLERANCE[x.dtype] * max(b.norm(), 1e-3)


def parameters(x, axis, affine, dtype=None):
    stat = dtype or (torch.float64 if x.dtype == torch.float64 else torch.float32)
    return [draw(x.shape[axis], stat, seed) + 1 if affine else None for seed in (2, 3)]


def check_batch_norm(x, axis, affine=True):
    dy = draw(x.shape, x.dtype, 1)
    gamma, beta = parameters(x, axis, affine)
    ours = family.batch_norm(x, gamma, beta, axis, EPS)
    expected = truth.batch_norm(*wide(x, gamma, beta), axis, EPS)
    close(ours, expected, x)
    grads = truth.batch_norm_grad(*wide(dy, x, gamma, *expected[1:]), axis)
    close(family.batch_norm_grad(dy, x, gamma, *ours[1:], axis), grads, x)
    return ours[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_running_statistics_move_in_place(dtype):
    moving, batch = (draw(5, dtype), draw(5, dtype, 1).abs()), (draw(5, seed=2), draw(5, seed=3).abs() + 1)
    expected = wide(*moving)
    truth.move_statistics(*expected, *wide(*batch), 0.9, EPS)
    family.move_statistics(*moving, *batch, 0.9, EPS)
    for ours, theirs in zip(moving, expected, strict=True):
        assert ours.dtype == dtype
        assert (ours.double().cpu() - theirs).norm() <= TOLERANCE[dtype] * theirs.norm()


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape, axis", BATCH)
def test_batch_norm(shape, axis, dtype, affine):
    check_batch_norm(draw(shape, dtype) * 2 + 1, axis, affine)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape, axis", BATCH[:4])
def test_batch_norm_inference(shape, axis, dtype, affine):
    x, dy = draw(shape, dtype), draw(shape, dtype, 1)
    gamma, beta = parameters(x, axis, affine)
    mean, var = draw(shape[axis], seed=4), draw(shape[axis], seed=5).square()
    if dtype == torch.float64:
        mean, var = mean.double(), var.double()
    y = truth.batch_norm_inference(*wide(x, gamma, beta, mean, var), axis, EPS)
    close([family.batch_norm_inference(x, gamma, beta, mean, var, axis, EPS)], [y], x)
    grads = truth.batch_norm_inference_grad(*wide(dy, x, gamma, mean, var), axis, EPS)
    close(family.batch_norm_inference_grad(dy, x, gamma, mean, var, axis, EPS), grads, x)


def check_layer_norm(x, axis, affine=True):
    dy = draw(x.shape, x.dtype, 1)
    gamma, beta = parameters(x, axis, affine)
    ours = family.layer_norm(x, gamma, beta, axis, EPS)
    expected = truth.layer_norm(*wide(x, gamma, beta), axis, EPS)
    close(ours, expected, x)
    grads = truth.layer_norm_grad(*wide(dy, x, gamma, *expected[1:]), axis)
    close(family.layer_norm_grad(dy, x, gamma, *ours[1:], axis), grads, x)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape, axis", [((5, 7), 1), ((5, 7), 0), ((3, 4, 5), 1), ((300, 1, 17), 2), ((9,), 0)])
def test_layer_norm(shape, axis, dtype, affine):
    check_layer_norm(draw(shape, dtype) * 2 + 1, axis, affine)


def test_layer_norm_of_rows_too_long_for_registers(monkeypatch):
    monkeypatch.setattr(_layer_norm, "ROW", 4)
    monkeypatch.setattr(_layer_norm, "GRADIENT_ROW", 4)
    check_layer_norm(draw((5, 13)), 1)
    check_layer_norm(draw((5, 13, 2)), 1, False)


def check_group_norm(x, groups, affine=True):
    dy = draw(x.shape, x.dtype, 1)
    gamma, beta = parameters(x, 1, affine)
    ours = family.group_norm(x, gamma, beta, groups, EPS)
    expected = truth.group_norm(*wide(x, gamma, beta), groups, EPS)
    close(ours, expected, x)
    grads = truth.group_norm_grad(*wide(dy, x, gamma, *expected[1:]), groups)
    close(family.group_norm_grad(dy, x, gamma, *ours[1:], groups), grads, x)
    return ours[0]


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, LAST])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(groups, memory_format, dtype, affine):
    x = (draw((3, 6, 4, 5), dtype) * 2 + 1).contiguous(memory_format=memory_format)
    assert check_group_norm(x, groups, affine).is_contiguous(memory_format=memory_format)


def test_layouts():
    x = draw((4, 6, 5, 3))
    assert check_batch_norm(x.contiguous(memory_format=LAST), 1).is_contiguous(memory_format=LAST)
    check_batch_norm(x.permute(2, 3, 0, 1), 1)
    check_batch_norm(x[:, ::2], 1)
    check_batch_norm(draw((2, 3, 2, 3, 2)).contiguous(memory_format=torch.channels_last_3d), 1)
    check_layer_norm(x.permute(2, 3, 0, 1), 3)
    check_group_norm(draw((3, 4, 7)), 2)
    check_group_norm(draw((3, 4)), 2)
    check_group_norm(draw((2, 4, 2, 3, 2)), 2)


def test_a_large_mean_does_not_cancel():
    x = draw((64, 3, 5)) + 1e4
    y = family.batch_norm(x, None, None, 1, 1e-5)[0]
    expected = truth.batch_norm(*wide(x), None, None, 1, 1e-5)[0]
    assert (y.cpu() - expected).norm() < 1e-3 * expected.norm()


def test_parameters_keep_their_dtype():
    x = draw((4, 6), torch.float16)
    gamma, beta = parameters(x, 1, True, torch.float16)
    _, mean, rstd = family.batch_norm(x, gamma, beta, 1, EPS)
    assert {t.dtype for t in family.batch_norm_grad(x, x, gamma, mean, rstd, 1)} == {torch.float16}
    assert {
        t.dtype for t in family.layer_norm_grad(x, x, gamma, *family.layer_norm(x, gamma, beta, 1, EPS)[1:], 1)
    } == {torch.float16}


def test_empty():
    x, stats = torch.zeros(0, 4, 3, 3), (torch.zeros(4), torch.ones(4))
    for module in (truth, family):
        module_results = [
            *module.batch_norm(x, None, None, 1, EPS),
            *module.batch_norm_grad(x, x, None, *stats, 1),
            module.batch_norm_inference(x, None, None, *stats, 1, EPS),
            *module.batch_norm_inference_grad(x, x, None, *stats, 1, EPS),
            *module.group_norm(x, None, None, 2, EPS),
            *module.group_norm_grad(x, x, None, torch.zeros(0, 2), torch.zeros(0, 2), 2),
            *module.layer_norm(x, None, None, 3, EPS),
            *module.layer_norm_grad(x, x, None, torch.zeros(0, 4, 3, 1), torch.zeros(0, 4, 3, 1), 3),
        ]
        if module is truth:
            expected = module_results
    for a, b in zip(module_results, expected, strict=True):
        assert torch.equal(a, b) and a.dtype == b.dtype


X, G = torch.ones(2, 4, 3, 5), torch.ones(4)
STATS = torch.ones(2, 2), torch.ones(2, 2)
SAMPLES = [
    lambda: family.batch_norm(X, G, G, 1, EPS),
    lambda: family.batch_norm(X.contiguous(memory_format=LAST), None, None, 1, EPS),
    lambda: family.batch_norm_inference(X, G, G, G, G, 1, EPS),
    lambda: family.batch_norm_grad(X, X, G, G, G, 1),
    lambda: family.batch_norm_grad(X, X.contiguous(memory_format=LAST), G, G, G, 1),
    lambda: family.batch_norm_inference_grad(X, X, G, G, G, 1, EPS),
    lambda: family.layer_norm(X, G, G, 1, EPS),
    lambda: family.layer_norm_grad(X, X, G, torch.ones(2, 1, 3, 5), torch.ones(2, 1, 3, 5), 1),
    lambda: family.group_norm(X, G, G, 2, EPS),
    lambda: family.group_norm_grad(X, X, G, *STATS, 2),
]

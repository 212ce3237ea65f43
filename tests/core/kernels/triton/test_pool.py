"""Pooling of the Triton backend against float64 NumPy."""

import math
from unittest.mock import MagicMock

import numpy as np
import pytest
import torch

from core.base import MXNetError
from core.kernels.triton import pool as family
from tests.core.kernels import naive
from tests.core.kernels.test_pool import CASES

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
EVERY_DTYPE = [(case, torch.float32) for case in CASES] + [("2d full, padded", dtype) for dtype in LIMITS]


@pytest.mark.parametrize("case, dtype", EVERY_DTYPE, ids=str)
def test_max_pool(case, dtype, device):
    x_shape, *how = CASES[case]
    x = tensor(dtype, x_shape, device)
    y, argmax = family.max_pool(x, *how)
    want, want_argmax = naive.max_pool(exact(x), *how)
    np.testing.assert_array_equal(exact(y), want)
    np.testing.assert_array_equal(argmax.cpu().numpy(), want_argmax)

    dy = tensor(dtype, y.shape, device)
    dx = np.zeros((*x_shape[:2], np.prod(x_shape[2:])))
    valid, rows = want_argmax >= 0, np.indices(want_argmax.shape)
    np.add.at(dx, (rows[0][valid], rows[1][valid], want_argmax[valid]), exact(dy)[valid])
    got = family.max_pool_grad(dy, argmax, x_shape, *how)
    assert got.dtype == dtype
    assert naive.relative_error(exact(got), dx.reshape(x_shape)) < LIMITS[dtype]

    ddx = tensor(dtype, x_shape, device)
    picked = np.take_along_axis(exact(ddx).reshape(dx.shape), want_argmax.reshape(*x_shape[:2], -1), 2)
    want = np.where(valid, picked.reshape(valid.shape), 0)
    np.testing.assert_array_equal(exact(family.max_pool_gather(ddx, argmax)), want)


@pytest.mark.parametrize("count_include_pad", [False, True])
@pytest.mark.parametrize("case, dtype", EVERY_DTYPE, ids=str)
def test_avg_pool(case, dtype, count_include_pad, device):
    x_shape, *how = CASES[case]
    x = tensor(dtype, x_shape, device)
    y = family.avg_pool(x, *how, count_include_pad)
    assert y.dtype == dtype
    assert naive.relative_error(exact(y), naive.avg_pool(exact(x), *how, count_include_pad)) < LIMITS[dtype]

    dy = tensor(dtype, y.shape, device)
    dx = family.avg_pool_grad(dy, x_shape, *how, count_include_pad)
    assert dx.dtype == dtype
    want = naive.avg_pool_grad(exact(dy), x_shape, *how, count_include_pad)
    assert naive.relative_error(exact(dx), want) < LIMITS[dtype]


@pytest.mark.parametrize("config", family.CONFIGS, ids=str)
def test_every_configuration(config, monkeypatch, device):
    monkeypatch.setattr(family, "choose", lambda name, key, configs, run: config)
    test_max_pool("2d full, padded", torch.float32, device)


def test_more_channels_than_a_grid_is_high(monkeypatch):
    """A launch may have 65,535 programs in all dimensions but the first."""
    grids, kernel = [], MagicMock(__name__="_avg_pool")
    kernel.__getitem__.side_effect = lambda grid: grids.append(grid) or (lambda *args, **constants: None)
    monkeypatch.setattr(family, "_avg_pool", kernel)
    monkeypatch.setattr(family, "choose", lambda name, key, configs, run: [*map(run, configs), configs[0]][-1])
    family.avg_pool(torch.empty(1, 70_000, 3, 1), (1, 1), (1, 1), ((0, 0), (0, 0)), True)
    assert grids and all(math.prod(grid[1:]) == 1 for grid in grids)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32], ids=str)
def test_integers(dtype, device):
    x_shape, *how = CASES["2d full, window in the padding"]
    x = torch.randint(0, 100, x_shape, generator=torch.Generator().manual_seed(0), dtype=dtype).to(device)
    y, argmax = family.max_pool(x, *how)
    want, want_argmax = naive.max_pool(x.cpu(), *how)
    np.testing.assert_array_equal(argmax.cpu(), want_argmax)
    np.testing.assert_array_equal(y.cpu(), np.where(want_argmax < 0, torch.iinfo(dtype).min, want))
    want = np.floor(naive.avg_pool(x.cpu(), *how, True) + 1e-9)
    np.testing.assert_array_equal(family.avg_pool(x, *how, True).cpu(), want)


def test_nan_is_the_maximum(device):
    x = torch.tensor([1.0, float("nan"), 3.0, 4.0], device=device).view(1, 1, 4)
    y, argmax = family.max_pool(x, (2,), (1,), ((0, 0),))
    np.testing.assert_array_equal(y.cpu().numpy().ravel(), [np.nan, np.nan, 4.0])
    assert argmax.flatten().tolist() == [1, 1, 3]


def test_empty(device):
    how = ((2, 2), (2, 2), ((0, 0), (0, 0)))
    x = torch.ones(0, 3, 4, 4, device=device)
    y, argmax = family.max_pool(x, *how)
    assert y.shape == argmax.shape == (0, 3, 2, 2)
    assert family.max_pool_grad(y, argmax, x.shape, *how).shape == x.shape
    assert family.max_pool_gather(x, argmax).shape == y.shape
    assert family.avg_pool(x, *how, True).shape == y.shape
    assert family.avg_pool_grad(y, x.shape, *how, True).shape == x.shape


def test_a_kernel_larger_than_the_image_is_an_error(device):
    with pytest.raises(MXNetError, match="kernel"):
        family.max_pool(torch.ones(1, 1, 2, 2, device=device), (4, 4), (1, 1), ((0, 0), (0, 0)))


def tensor(dtype, shape, device):
    generator = torch.Generator().manual_seed(len(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype)


def exact(t):
    return t.double().cpu().numpy()


_X, _HOW = torch.ones(1, 2, 4, 4), ((3, 3), (2, 2), ((1, 2), (1, 2)))
_Y, _ARGMAX = torch.ones(1, 2, 3, 3), torch.zeros(1, 2, 3, 3, dtype=torch.int32)
SAMPLES = [
    lambda: family.max_pool(_X, *_HOW),
    lambda: family.max_pool_grad(_Y, _ARGMAX, _X.shape, *_HOW),
    lambda: family.max_pool_gather(_X, _ARGMAX),
    lambda: family.avg_pool(_X, *_HOW, False),
    lambda: family.avg_pool_grad(_Y, _X.shape, *_HOW, True),
]

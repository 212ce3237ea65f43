"""Pooling of the CPU backend against float64 NumPy."""

import numpy as np
import pytest
import torch

from core import kernels
from core.base import MXNetError
from core.kernels.cpu import pool as family
from core.kernels.layout import memory_format
from tests.core.kernels import naive

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
# x, kernel, stride, pad
CASES = {
    "1d": ((2, 3, 11), (3,), (2,), ((1, 1),)),
    "1d full": ((2, 3, 6), (3,), (2,), ((0, 1),)),
    "2d": ((2, 3, 8, 8), (2, 2), (2, 2), ((0, 0), (0, 0))),
    "2d padded": ((2, 3, 7, 9), (3, 3), (2, 1), ((1, 1), (1, 1))),
    "2d full, as ceil": ((2, 3, 6, 8), (3, 3), (2, 2), ((0, 1), (0, 1))),
    "2d full, padded": ((2, 3, 6, 8), (3, 3), (2, 2), ((1, 2), (1, 2))),
    "2d full on one axis": ((2, 3, 6, 7), (3, 3), (2, 2), ((0, 1), (0, 0))),
    "2d full, window in the padding": ((1, 2, 3, 3), (2, 2), (3, 3), ((1, 2), (1, 2))),
    "2d pad beyond half a kernel": ((1, 2, 4, 5), (2, 3), (1, 2), ((2, 1), (2, 2))),
    "2d more windows than places": ((2, 2, 2, 1), (2, 2), (1, 1), ((1, 1), (1, 1))),
    "2d many more windows": ((1, 2, 2, 2), (2, 2), (1, 1), ((3, 2), (1, 1))),
    "2d lopsided": ((1, 2, 5, 6), (2, 3), (2, 1), ((0, 3), (1, 0))),
    "whole": ((2, 3, 4, 5), (4, 5), (1, 1), ((0, 0), (0, 0))),
    "3d": ((1, 2, 4, 5, 6), (2, 3, 2), (2, 1, 2), ((0, 0), (1, 1), (1, 1))),
    "3d full": ((1, 2, 4, 5, 4), (3, 2, 3), (2, 2, 2), ((0, 1), (0, 1), (1, 2))),
}


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_max_pool(case, channels_last, dtype):
    x_shape, *how = CASES[case]
    x = tensor(dtype, x_shape, channels_last)
    y, argmax = family.max_pool(x, *how)
    want, want_argmax = naive.max_pool(x.double(), *how)
    np.testing.assert_array_equal(y.double(), want)
    np.testing.assert_array_equal(argmax, want_argmax)
    assert y.dtype == dtype and argmax.dtype == torch.int64

    dy = tensor(dtype, y.shape, channels_last)
    dx = np.zeros((*x_shape[:2], np.prod(x_shape[2:])))
    valid = want_argmax >= 0
    rows = np.indices(want_argmax.shape)
    np.add.at(dx, (rows[0][valid], rows[1][valid], want_argmax[valid]), dy.double().numpy()[valid])
    got = family.max_pool_grad(dy, argmax, x_shape, *how)
    assert got.dtype == dtype
    assert naive.relative_error(got.double(), dx.reshape(x_shape)) < LIMITS[dtype]

    ddx = tensor(dtype, x_shape, channels_last)
    picked = np.take_along_axis(ddx.double().numpy().reshape(dx.shape), want_argmax.reshape(*x_shape[:2], -1), 2)
    got_dd = family.max_pool_gather(ddx, argmax)
    np.testing.assert_array_equal(got_dd.double(), np.where(valid, picked.reshape(valid.shape), 0))
    assert_layout(channels_last, x, y, argmax, got, got_dd)


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_maxima_alone(case, channels_last, dtype, monkeypatch):
    monkeypatch.setattr(family, "MANY", 0)
    x_shape, *how = CASES[case]
    x = tensor(dtype, x_shape, channels_last)
    np.testing.assert_array_equal(family.max_pool(x, *how, False)[0].double(), naive.max_pool(x.double(), *how)[0])
    x[(0,) * x.ndim] = torch.nan
    y = family.max_pool(x, *how, False)[0]
    np.testing.assert_array_equal(y.double(), family.max_pool(x, *how)[0].double())
    assert_layout(channels_last, x, y)


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("count_include_pad", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_avg_pool(case, count_include_pad, channels_last, dtype):
    x_shape, *how = CASES[case]
    x = tensor(dtype, x_shape, channels_last)
    y = family.avg_pool(x, *how, count_include_pad)
    assert y.dtype == dtype
    assert naive.relative_error(y.double(), naive.avg_pool(x.double(), *how, count_include_pad)) < LIMITS[dtype]

    dy = tensor(dtype, y.shape, channels_last)
    dx = family.avg_pool_grad(dy, x_shape, *how, count_include_pad)
    want = naive.avg_pool_grad(dy.double(), x_shape, *how, count_include_pad)
    assert dx.dtype == dtype
    assert naive.relative_error(dx.double(), want) < LIMITS[dtype]
    assert_layout(channels_last, x, y, dx)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("case", ["2d padded", "2d full, padded", "2d full, window in the padding"])
def test_integers(case, dtype):
    x_shape, *how = CASES[case]
    x = torch.randint(0, 100, x_shape, generator=torch.Generator().manual_seed(0), dtype=dtype)
    y, argmax = family.max_pool(x, *how)
    want, want_argmax = naive.max_pool(x, *how)
    np.testing.assert_array_equal(argmax, want_argmax)
    np.testing.assert_array_equal(y, np.where(want_argmax < 0, torch.iinfo(dtype).min, want))
    np.testing.assert_array_equal(family.avg_pool(x, *how, True), np.floor(naive.avg_pool(x, *how, True) + 1e-9))


def test_empty():
    how = ((2, 2), (2, 2), ((0, 0), (0, 0)))
    x = torch.ones(0, 3, 4, 4)
    y, argmax = family.max_pool(x, *how)
    assert y.shape == argmax.shape == (0, 3, 2, 2)
    assert family.max_pool_grad(y, argmax, x.shape, *how).shape == x.shape
    assert family.max_pool_gather(x, argmax).shape == y.shape
    assert family.avg_pool(x, *how, True).shape == y.shape
    assert family.avg_pool_grad(y, x.shape, *how, True).shape == x.shape


def test_a_kernel_larger_than_the_image_is_an_error():
    with pytest.raises(MXNetError, match="kernel"):
        family.max_pool(torch.ones(1, 1, 2, 2), (4, 4), (1, 1), ((0, 0), (0, 0)))


@pytest.mark.parametrize("case", CASES)
def test_meta(case):
    x_shape, *how = CASES[case]
    x = torch.empty(x_shape, device="meta")
    y, argmax = kernels.pool.max_pool(x, *how)
    assert y.shape == argmax.shape == (*x_shape[:2], *naive.output_extent(x_shape[2:], *how))
    assert kernels.pool.max_pool_grad(y, argmax, x_shape, *how).shape == x_shape
    assert kernels.pool.max_pool_gather(x, argmax).shape == y.shape
    assert kernels.pool.avg_pool(x, *how, False).shape == y.shape
    assert kernels.pool.avg_pool_grad(y, x_shape, *how, False).shape == x_shape


def tensor(dtype, shape, channels_last):
    t = torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)), dtype=torch.float64).to(dtype)
    if channels_last and t.ndim > 3:
        t = t.clone(memory_format={4: torch.channels_last, 5: torch.channels_last_3d}[t.ndim])
    return t


def assert_layout(channels_last, x, *results):
    if channels_last:
        for result in results:
            assert memory_format(result) == memory_format(x)

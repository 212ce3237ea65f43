"""Triton sorting, top-k and unique against NumPy; small blocks, so that merging is tested with few elements."""

import numpy as np
import pytest
import torch

from core.kernels.triton import sort

DTYPES = [torch.float16, torch.float32, torch.float64, torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(sort, "_BLOCK", 8)


def numbers(dtype, *shape):
    """Many ties, both signs where the type has them, both zeros, values that differ in either half of 64 bits."""
    values = np.random.RandomState(0).randint(-9, 9, shape)
    if dtype in (torch.bool, torch.uint8):
        values = np.abs(values) // 5
    if dtype is torch.int64:
        values = values * ((1 << 40) + 3)
    x = torch.from_numpy(values).to(dtype)
    return (
        x * 0.37 * torch.tensor([1.0, -1.0], dtype=dtype).repeat(shape[-1])[: shape[-1]] if x.is_floating_point() else x
    )


def stable_order(x, axis, descending):
    values = x.numpy().astype(np.float64 if x.is_floating_point() else np.int64)
    return np.argsort(-values if descending else values, axis=axis, kind="stable")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("descending", [True, False])
def test_sort_and_topk_are_stable(dtype, descending, device):
    x = numbers(dtype, 2, 19)
    order = stable_order(x, 1, descending)
    values, indices = sort.sort(x.to(device), 1, descending)
    assert (indices.cpu().numpy() == order).all()
    assert (values.cpu() == x.gather(1, torch.from_numpy(order))).all()
    for k in (2, 5):
        values, indices = sort.topk(x.to(device), k, 1, descending)
        first = order[:, :k]
        assert (indices.cpu().numpy() == first).all()
        assert (values.cpu() == x.gather(1, torch.from_numpy(first.copy()))).all()


def test_other_axes(device):
    x = numbers(torch.float32, 11, 2, 2)
    order = stable_order(x, 0, False)
    values, indices = sort.sort(x.to(device), 0, False)
    assert (indices.cpu().numpy() == order).all() and values.is_contiguous()
    assert (sort.topk(x.to(device), 4, 0, False)[1].cpu().numpy() == order[:4]).all()


def test_nan_is_largest(device):
    for dtype in (torch.float32, torch.float64):
        x = torch.arange(12.0, dtype=dtype, device=device)
        x[7], x[9], x[3] = float("nan"), float("inf"), -float("nan")
        assert sort.topk(x, 4, 0, True)[1].tolist() == [3, 7, 9, 11]
        assert sort.sort(x, 0, False)[1].tolist() == [0, 1, 2, 4, 5, 6, 8, 10, 11, 9, 3, 7]


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.bool_])
def test_unique(axis, dtype, device):
    x = np.random.RandomState(0).randint(0, 3, (13, 3)).astype(dtype)
    got = sort.unique(torch.from_numpy(x).to(device), axis)
    for a, b in zip(got, np.unique(x, True, True, True, axis=axis), strict=True):
        assert (a.cpu().numpy() == b.reshape(a.shape)).all()


def test_empty(device):
    values, indices = sort.sort(torch.empty((2, 0), device=device), 1, True)
    assert values.shape == indices.shape == (2, 0)
    assert [t.numel() for t in sort.unique(torch.empty(0, device=device))] == [0] * 4


SAMPLES = [
    lambda: sort.sort(torch.ones(2, 5), 1, True),
    lambda: sort.sort(torch.ones(2, 20), 1, False),
    lambda: sort.sort(torch.ones(5, dtype=torch.int64), 0, False),
    lambda: sort.topk(torch.ones(5), 2, 0, True),
    lambda: sort.unique(torch.ones(5)),
    lambda: sort.unique(torch.ones(5, 2), 0),
]

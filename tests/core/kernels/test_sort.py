"""CPU sorting, top-k and unique against NumPy."""

import numpy as np
import pytest
import torch

from core import kernels
from core.kernels.cpu import sort

DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.uint8,
    torch.int8,
    torch.int32,
    torch.int64,
]


def numbers(dtype, *shape):
    """Many ties, both signs where the type has them, both zeros."""
    values = np.random.RandomState(0).randint(0 if dtype is torch.uint8 else -9, 9, shape)
    x = torch.from_numpy(values).to(dtype)
    return (
        x * 0.5 * torch.where(torch.arange(shape[-1]) % 2 == 0, 1.0, -1.0).to(dtype) if dtype.is_floating_point else x
    )


def stable_order(x, axis, descending):
    """The reference: NumPy's stable sort of the values, or of their negatives."""
    values = x.double().numpy()
    return np.argsort(-values if descending else values, axis=axis, kind="stable")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
def test_sort_and_topk_are_stable(dtype, descending, axis):
    x = numbers(dtype, 60, 70)
    order = stable_order(x, axis, descending)
    values, indices = sort.sort(x, axis, descending)
    assert (indices.numpy() == order).all() and (values == x.gather(axis, torch.from_numpy(order))).all()
    assert (sort.sort_values(x, axis, descending) == values).all()
    for k in (1, 5, 40, 60):
        values, indices = sort.topk(x, k, axis, descending)
        first = np.take(order, range(k), axis)
        assert (indices.numpy() == first).all() and (values == x.gather(axis, torch.from_numpy(first))).all()


@pytest.mark.parametrize("shape, axis", [((3, 5, 80), 2), ((80, 3), 0), ((80,), 0)])
def test_threads_share_the_rows_of_many_elements(monkeypatch, shape, axis):
    monkeypatch.setattr(sort, "_PARALLEL", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    x = numbers(torch.float32, *shape)
    values, indices = sort.sort(x, axis, True)
    np.testing.assert_array_equal(indices, stable_order(x, axis, True))
    np.testing.assert_array_equal(sort.sort_values(x, axis, True), values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_values_that_hardly_tie(dtype, largest):
    x = torch.from_numpy(np.random.RandomState(0).randint(0, 2000, (9, 300))).to(dtype)
    check_topk(x, 30, largest)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int32], ids=str)
@pytest.mark.parametrize("largest", [True, False])
def test_long_rows_that_are_thinned_out(dtype, largest):
    """Rows without ties, with some among the first, all equal, and with infinities and NaN; the last ones are many."""
    random = np.random.RandomState(0)
    x = torch.from_numpy(np.stack([random.permutation(2048) - 1000 for _ in range(8)])).to(dtype)
    for rows in (x, x // 300, torch.cat([x, x[:1] * 0])):
        check_topk(rows, 5, largest)
    if dtype.is_floating_point:
        x[1, 5], x[2, 7], x[3, 9] = float("inf"), -float("inf"), float("nan")
        check_topk(x[:3], 5, largest)
        kept, order = torch.sort(x, dim=1, descending=largest, stable=True)
        values, indices = sort.topk(x, 5, 1, largest)
        assert (indices == order[:, :5]).all()
        np.testing.assert_array_equal(values.numpy(), kept[:, :5].numpy())


def check_topk(x, k, largest):
    order = torch.from_numpy(stable_order(x, 1, largest)[:, :k].copy())
    values, indices = sort.topk(x, k, 1, largest)
    assert (indices == order).all() and (values == x.gather(1, order)).all()


@pytest.mark.parametrize("size", [500, 5000])
@pytest.mark.parametrize("descending", [True, False])
def test_small_and_large_rows_have_one_order(size, descending):
    x = numbers(torch.float32, 1, size)
    x[0, ::7] = float("nan")
    expected, order = torch.sort(x, dim=1, descending=descending, stable=True)
    values, indices = sort.sort(x, 1, descending)
    assert (indices == order).all()
    for found in (values, sort.sort_values(x, 1, descending)):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("k", [2, 20])
def test_nan_is_largest(k):
    x = torch.arange(40.0)
    x[7], x[9], x[3] = float("nan"), float("inf"), -float("nan")
    assert sort.topk(x, k, 0, True)[1][:3].tolist() in ([3, 7, 9], [3, 7])
    assert sort.topk(x, k, 0, False)[1][:2].tolist() == [0, 1]


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique(axis):
    x = np.random.RandomState(0).randint(0, 3, (40, 3))
    got = sort.unique(torch.from_numpy(x), axis)
    expected = np.unique(x, True, True, True, axis=axis)
    for a, b in zip(got, expected, strict=True):
        assert (a.numpy() == b.reshape(a.shape)).all()


def test_shapes_on_meta():
    x = torch.empty(4, 50, device="meta")
    assert kernels.sort.sort(x, 1, True)[1].shape == (4, 50)
    assert [t.shape for t in kernels.sort.topk(x, 3, 1, True)] == [(4, 3)] * 2


@pytest.mark.parametrize("largest", [True, False])
def test_extremes_of_long_rows_that_lie_apart(largest):
    base = torch.from_numpy(np.random.RandomState(2).permutation(3 * 4096).astype("float32")).reshape(3, 4096)
    for x in (base, base[:, ::2], base.t().contiguous().t()):
        values, places = sort._select(x, 3, 1, largest)
        expected = np.sort(x.numpy(), axis=1)[:, ::-1][:, :3] if largest else np.sort(x.numpy(), axis=1)[:, :3]
        assert values.tolist() == expected.tolist()
        assert x.gather(1, places).tolist() == expected.tolist()


def test_what_many_share_stays_shared():
    """Places in large arrays, and in those of other strides, are found without memory of their own for a shared one."""
    large = numbers(torch.float32, 64, 512)._lazy_clone()
    kernels.sort.topk_indices(large, 3, 1, True)
    assert torch._C._is_cow_tensor(large)
    turned = numbers(torch.float32, 8, 4)._lazy_clone().t()
    kernels.reduce.argmax(turned, 1, False, torch.float32)
    assert torch._C._is_cow_tensor(turned)

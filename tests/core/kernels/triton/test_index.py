"""Triton gathers and scatters against the CPU backend, which is tested against NumPy."""

import numpy as np
import pytest
import torch

from core import kernels
from core.kernels.cpu import index as reference
from core.kernels.triton import index


@pytest.fixture(params=[False, True], ids=["atomic", "deterministic"])
def deterministic(request):
    before = kernels.set_deterministic(request.param)
    yield
    kernels.set_deterministic(before)


def numbers(*shape, dtype=torch.float32):
    return torch.from_numpy(np.random.RandomState(0).standard_normal(shape)).to(dtype)


def integers(limit, *shape, dtype=torch.int64):
    return torch.from_numpy(np.random.RandomState(1).randint(0, limit, shape)).to(dtype)


def agree(name, device, *args):
    """Calls the function in both backends; sums in another order differ in the last bits."""
    moved = [
        tuple(None if i is None else i.to(device) for i in a) if isinstance(a, tuple) and torch.is_tensor(a[-1]) else a
        for a in (a.to(device) if torch.is_tensor(a) else a for a in args)
    ]
    got, want = getattr(index, name)(*moved).cpu(), getattr(reference, name)(*args)
    assert got.dtype is want.dtype and got.shape == want.shape and got.is_contiguous()
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["clipped", "wrapped", "wrapped_negative"])
def test_indices_are_made_valid(name, device):
    low = -4 if name == "wrapped_negative" else -9
    agree(name, device, torch.arange(low, 9), 4)
    agree(name, device, torch.tensor([[-0.9, 2.7], [1e3, 0.0]]), 4)


def test_check(device):
    index.check(torch.tensor([0, 3], device=device), 4)
    index.check(torch.tensor([], device=device), 4)
    for wrong in (-1, 4):
        with pytest.raises(IndexError, match="axis of length 4"):
            index.check(torch.tensor([0, wrong], device=device), 4)


def test_adding_through_a_view(device, deterministic):
    at = torch.tensor([1, 0, 1], device=device)
    base, want = torch.zeros(4, 6, device=device), torch.zeros(4, 6)
    value = numbers(3, 2)
    assert index.index_put_(base, base[1:3, ::3].t(), (None, at), value.t().to(device), True) is base
    reference.index_put_(want, want[1:3, ::3].t(), (None, at.cpu()), value.t(), True)
    torch.testing.assert_close(base.cpu(), want)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take(axis, device, deterministic):
    x, at = numbers(4, 5, 3), integers(3, 2, 3, dtype=torch.int32)
    agree("take", device, x, at, axis)
    agree("take", device, x.transpose(0, 2), at, axis)
    agree("take_grad", device, numbers(*index.take(x, at, axis).shape), at, axis, x.shape)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int8, torch.bool], ids=str)
def test_element_types(dtype, device):
    x = (numbers(6, 4) * 3).to(dtype)
    agree("take", device, x, integers(6, 5), 0)
    agree("gather_along", device, x, integers(4, 6, 2), 1)
    agree("scatter_nd", device, x, integers(7, 1, 6), (7, 4))


def test_embedding_of_wide_rows(device, deterministic):
    weight, at = numbers(6, 1030), integers(6, 9)
    agree("embedding", device, at, weight)
    agree("embedding_grad", device, numbers(9, 1030), at, weight.shape)
    half = torch.full((50, 2), 0.1, dtype=torch.float16, device=device)
    total = index.embedding_grad(half, torch.zeros(50, dtype=torch.int64, device=device), (3, 2))
    assert total.dtype is torch.float16 and abs(float(total[0, 0]) - 5) < 5e-3 and not total[1:].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_product_of_a_csr_matrix(dtype, device):
    values, starts = numbers(40).to(dtype), torch.tensor([0, 0, 7, 38, 40])
    agree("csr_dot", device, values, integers(6, 40), starts, numbers(6, 3).to(dtype))
    agree("csr_dot", device, values, integers(6, 40), starts, numbers(6, 150).to(dtype))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("keepdims", [True, False])
def test_pick(axis, keepdims, device):
    x = numbers(4, 5, 3)
    at = integers(3, *(n for i, n in enumerate(x.shape) if i != axis), dtype=torch.uint8)
    agree("pick", device, x, at, axis, keepdims)
    agree("pick_grad", device, reference.pick(x, at, axis, keepdims), at, axis, x.shape)


def test_nd(device, deterministic):
    x, at = numbers(4, 5, 3), torch.stack([integers(4, 6), integers(5, 6)])
    agree("gather_nd", device, x, at)
    agree("scatter_nd_add", device, numbers(6, 3), at, x.shape)
    agree("scatter_nd", device, numbers(6, 3), at, x.shape)
    agree("scatter_nd", device, torch.arange(300), integers(7, 1, 300), (7,))


def test_along(device, deterministic):
    x, at = numbers(4, 5, 1), integers(5, 1, 7, 3)
    agree("gather_along", device, x, at, 1)
    agree("scatter_along_add", device, numbers(4, 7, 3), at, 1, x.shape)
    agree("scatter_along_add", device, numbers(4, 7, 3), integers(5, 4, 7, 3), 1, (4, 5, 3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool], ids=str)
def test_one_hot(dtype, device):
    agree("one_hot", device, torch.tensor([[1, 3], [-1, 0]]), 3, 1.0, 0.0, dtype)
    agree("one_hot", device, torch.tensor([2, 1]), 4, 2.0, -1.0, torch.float32)


def test_advanced_indexing(device, deterministic):
    x, i, j = numbers(4, 5, 3), torch.tensor([[0], [3]]), torch.tensor([2, 0])
    for where in ((i, j), (i, None, j), (None, i, j), (None, j), (x > 0,), (None, x[0] > 0)):
        agree("index_get", device, x, where)
        value = reference.index_get(x, where) + 1
        agree("index_put", device, x, where, value, False)
        agree("index_put", device, x, where, value, True)
    agree("index_put", device, x, (torch.tensor([1, 1]),), torch.tensor(1.5), True)


def test_negative_indices_count_from_the_end(device, deterministic):
    x, at = numbers(4, 5, 3), torch.stack([integers(4, 6) - 4, integers(5, 6) - 5])
    agree("gather_nd", device, x, at)
    agree("scatter_nd", device, numbers(6, 3), at, x.shape)
    agree("scatter_nd_add", device, numbers(6, 3), at, x.shape)
    agree("index_get", device, x, (at[0], None, at[0] + 1))
    agree("gather_along", device, x, integers(5, 4, 7, 3) - 5, 1)
    agree("scatter_along_add", device, numbers(4, 7, 3), integers(5, 4, 7, 3) - 5, 1, x.shape)


def test_indices_outside_stay_in_memory(device):
    """Of the CPU an error, of a GPU the nearest position."""
    x, at = numbers(4, 5, 3), torch.tensor([[9, -9, 1], [2, 5, -6]])
    near = torch.tensor([[3, 0, 1], [2, 4, 0]])
    assert torch.equal(index.gather_nd(x.to(device), at.to(device)).cpu(), reference.gather_nd(x, near))
    y = torch.arange(9.0).reshape(3, 3)
    assert torch.equal(
        index.scatter_nd(y.to(device), at.to(device), x.shape).cpu(), reference.scatter_nd(y, near, x.shape)
    )
    with pytest.raises(IndexError, match="length 0"):
        index.gather_nd(torch.empty(0, 3, device=device), torch.zeros(1, 2, dtype=torch.int64, device=device))


def test_sequence_reverse(device):
    x = numbers(4, 3, 2)
    agree("sequence_reverse", device, x, None)
    agree("sequence_reverse", device, x, torch.tensor([3, 1, 4], dtype=torch.int32))


def test_nonzero(device):
    agree("nonzero", device, numbers(5, 7) > 0.5)
    agree("nonzero", device, torch.arange(2100) % 700)
    agree("nonzero", device, torch.zeros(3, 2))


def test_empty_inputs(device):
    none = torch.zeros(0, dtype=torch.int64)
    agree("take", device, numbers(3, 2), none, 0)
    agree("take_grad", device, numbers(0, 2), none, 0, (3, 2))
    agree("scatter_nd", device, numbers(0, 2), none[None], (3, 2))
    agree("nonzero", device, none)


_X, _AT = torch.ones(3, 4), torch.zeros(3, dtype=torch.int64)
SAMPLES = [
    lambda: index.clipped(_AT, 3),
    lambda: index.wrapped(_AT, 3),
    lambda: index.wrapped_negative(_AT, 3),
    lambda: index.check(_AT, 3),
    lambda: index.index_put_(_X, _X, (_AT,), _X, True),
    lambda: index.take(_X, _AT, 0),
    lambda: index.take_grad(_X, _AT, 0, (5, 4)),
    lambda: index.embedding(_AT, _X),
    lambda: index.embedding_grad(_X, _AT, (5, 4)),
    lambda: index.csr_dot(_X[0, :3], _AT, _AT, _X),
    lambda: index.pick(_X, _AT, 1, False),
    lambda: index.index_put_(_X, _X[1:], (_AT[:2],), _X[0], False),
    lambda: index.pick_grad(_X[:, 0], _AT, 1, (3, 4)),
    lambda: index.gather_nd(_X, _AT[None]),
    lambda: index.scatter_nd(_X, _AT[None], (5, 4)),
    lambda: index.scatter_nd_add(_X, _AT[None], (5, 4)),
    lambda: index.gather_along(_X, _AT[:, None], 1),
    lambda: index.scatter_along_add(_X, _AT[:, None], 1, (3, 5)),
    lambda: index.scatter_along_add(_X, _AT[:, None], 1, (1, 5)),
    lambda: index.one_hot(_AT, 3, 1.0, 0.0, torch.float32),
    lambda: index.index_get(_X, (None, _AT)),
    lambda: index.index_put(_X, (_AT,), _X[0], True),
    lambda: index.sequence_reverse(_X.mT, _AT),
    lambda: index.nonzero(_X),
]

"""CPU gathers and scatters against NumPy."""

import numpy as np
import pytest
import torch

from core import kernels
from core.kernels.cpu import index


def numbers(*shape):
    return torch.from_numpy(np.random.RandomState(0).standard_normal(shape))


def assert_equal(got, expected):
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12, atol=1e-12)
    assert got.is_contiguous()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_take_and_its_gradient(axis, dtype):
    x, at = numbers(4, 5, 3), torch.tensor([[0, 2], [2, 1], [0, 0]], dtype=dtype)
    y = index.take(x, at, axis)
    assert_equal(y, np.take(x.numpy(), at.numpy(), axis))
    dy = numbers(*y.shape)
    expected = np.zeros(x.shape)
    np.add.at(expected, (slice(None),) * axis + (at.numpy(),), dy.numpy())
    assert_equal(index.take_grad(dy, at, axis, x.shape), expected)


def test_embedding_and_its_gradient():
    weight, at = numbers(6, 4), torch.tensor([[1, 5, 1], [0, 1, 5]])
    assert_equal(index.embedding(at, weight), weight.numpy()[at.numpy()])
    dy = numbers(2, 3, 4)
    expected = np.zeros((6, 4))
    np.add.at(expected, at.numpy(), dy.numpy())
    assert_equal(index.embedding_grad(dy, at, weight.shape), expected)


def csr(rows, columns, dtype=torch.float64):
    """The parts of a random CSR matrix with a row of nothing, and the matrix."""
    random = np.random.RandomState(3)
    dense = random.standard_normal((rows, columns)) * (random.rand(rows, columns) < 0.4)
    dense[1] = 0
    at, starts = np.nonzero(dense), np.append(0, np.cumsum((dense != 0).sum(1)))
    return torch.from_numpy(dense[at]).to(dtype), torch.from_numpy(at[1]), torch.from_numpy(starts), dense


def test_product_of_a_csr_matrix():
    values, columns, starts, dense = csr(5, 7)
    assert_equal(index.csr_dot(values, columns, starts, numbers(7, 3)), dense @ numbers(7, 3).numpy())
    assert index.csr_dot(values[:0], columns[:0], starts * 0, numbers(7, 3)).tolist() == [[0.0] * 3] * 5
    half = index.csr_dot(
        torch.ones(3000).half(), torch.zeros(3000).long(), torch.tensor([0, 3000]), torch.full((1, 1), 0.1).half()
    )
    assert abs(half.item() / (3000 * float(torch.tensor(0.1).half())) - 1) < 1e-3


def test_half_gradients_add_in_float32():
    dy = torch.full((3000, 1), 0.1, dtype=torch.float16)
    at = torch.zeros(3000, dtype=torch.int64)
    exact = 3000 * float(dy[0, 0])
    assert abs(float(index.embedding_grad(dy, at, (1, 1))) - exact) < 1e-3 * exact
    assert abs(float(index.scatter_nd_add(dy[:, 0], at[None], (2,))[0]) - exact) < 1e-3 * exact


@pytest.mark.parametrize("keepdims", [True, False])
def test_pick_and_its_gradient(keepdims):
    x, at = numbers(4, 5, 3), torch.tensor(np.random.RandomState(1).randint(0, 5, (4, 3)))
    y = index.pick(x, at, 1, keepdims)
    expected = np.take_along_axis(x.numpy(), at.numpy()[:, None], 1)
    assert_equal(y, expected if keepdims else expected[:, 0])
    dx = np.zeros(x.shape)
    np.put_along_axis(dx, at.numpy()[:, None], expected, 1)
    assert_equal(index.pick_grad(y, at, 1, x.shape), dx)


def test_gather_and_scatter_nd():
    x, at = numbers(4, 5, 3), torch.tensor([[0, 3, 0, 1], [4, 0, 4, 2]])
    y = index.gather_nd(x, at)
    assert_equal(y, x.numpy()[at[0].numpy(), at[1].numpy()])
    added = np.zeros(x.shape)
    np.add.at(added, tuple(at.numpy()), y.numpy())
    assert_equal(index.scatter_nd_add(y, at, x.shape), added)
    counts = index.scatter_nd_add(torch.ones(4, dtype=torch.int32), at, (4, 5))
    assert counts.dtype is torch.int32 and counts[0, 4] == 2 and counts.sum() == 4
    data = numbers(4, 3)
    written = np.zeros(x.shape)
    for j in range(4):
        written[at[0, j], at[1, j]] = data[j]
    assert_equal(index.scatter_nd(data, at, x.shape), written)


def test_last_write_wins_among_many():
    at = torch.from_numpy(np.random.RandomState(0).randint(0, 50, 100_000))
    written = np.zeros(50)
    written[at.numpy()] = np.arange(100_000)
    assert_equal(index.scatter_nd(torch.arange(100_000, dtype=torch.float64), at[None], (50,)), written)


def test_gather_along_broadcasts():
    x, at = numbers(4, 5, 1), torch.tensor(np.random.RandomState(1).randint(0, 5, (1, 7, 3)))
    y = index.gather_along(x, at, 1)
    wide = np.broadcast_to(x.numpy(), (4, 5, 3))
    wide_at = np.broadcast_to(at.numpy(), (4, 7, 3))
    assert_equal(y, np.take_along_axis(wide, wide_at, 1))
    dy, dx = numbers(4, 7, 3), np.zeros((4, 5, 3))
    i, _, k = np.indices(wide_at.shape)
    np.add.at(dx, (i, wide_at, k), dy.numpy())
    assert_equal(index.scatter_along_add(dy, at, 1, x.shape), dx.sum(2, keepdims=True))


def test_negative_indices_along_an_axis():
    x, at = numbers(4, 5), torch.tensor([[-1, 0, -4, 2, -1]])
    assert_equal(index.gather_along(x, at, 0), np.take_along_axis(x.numpy(), at.numpy(), 0))
    expected = np.zeros((4, 5), "float32")
    np.add.at(expected, (at.numpy(), np.arange(5)), 1)
    assert_equal(index.scatter_along_add(torch.ones(1, 5), at, 0, (4, 5)), expected)


def test_one_hot_leaves_rows_out_of_range_cold():
    y = index.one_hot(torch.tensor([[1, 3], [-1, 0]]), 3, 2.0, -1.0, torch.float32)
    assert y.tolist() == [[[-1, 2, -1], [-1, -1, -1]], [[-1, -1, -1], [2, -1, -1]]]
    assert index.one_hot(torch.tensor([0]), 0, 1.0, 0.0, torch.int32).shape == (1, 0)


def test_advanced_indexing():
    x, i, j = numbers(4, 5, 3), torch.tensor([[0], [3]]), torch.tensor([2, 0])
    assert_equal(index.index_get(x, (i, None, j)), x.numpy()[i.numpy(), :, j.numpy()])
    mask = x > 0
    assert_equal(index.index_get(x, (mask,)), x.numpy()[mask.numpy()])
    expected = x.numpy().copy()
    expected[i.numpy(), j.numpy()] = 7
    assert_equal(index.index_put(x, (i, j), torch.tensor(7), False), expected)
    expected = x.numpy().copy()
    np.add.at(expected, (np.array([1, 1]),), 1.5)
    assert_equal(index.index_put(x, (torch.tensor([1, 1]),), torch.tensor(1.5), True), expected)


def test_sequence_reverse():
    x = numbers(4, 3, 2)
    assert_equal(index.sequence_reverse(x, None), x.numpy()[::-1])
    expected = x.numpy().copy()
    for n, length in enumerate([3, 1, 4]):
        expected[:length, n] = expected[:length, n][::-1]
    assert_equal(index.sequence_reverse(x, torch.tensor([3, 1, 4], dtype=torch.int32)), expected)


def test_nonzero():
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    assert index.nonzero(x).tolist() == [[0, 1], [1, 0]]


def test_empty_inputs():
    none = torch.zeros(0, dtype=torch.int64)
    assert index.take(numbers(3, 2), none, 0).shape == (0, 2)
    assert not index.take_grad(numbers(0, 2), none, 0, (3, 2)).any()
    assert not index.scatter_nd_add(numbers(0, 2), none[None], (3, 2)).any()
    assert index.nonzero(none).shape == (0, 1)


def test_shapes_on_meta():
    x, at = torch.empty(4, 5, 3, device="meta"), torch.empty(2, 6, dtype=torch.int32, device="meta")
    assert kernels.index.take(x, at, 1).shape == (4, 2, 6, 3)
    assert kernels.index.take_grad(torch.empty(4, 2, 6, 3, device="meta"), at, 1, x.shape).shape == x.shape
    assert kernels.index.embedding_grad(torch.empty(2, 6, 3, device="meta"), at, (9, 3)).shape == (9, 3)
    assert kernels.index.gather_nd(x, at).shape == (6, 3)
    assert kernels.index.scatter_nd(torch.empty(6, 3, device="meta"), at, x.shape).shape == x.shape
    assert kernels.index.one_hot(at, 7, 1.0, 0.0, torch.float32).shape == (2, 6, 7)
    assert kernels.index.index_get(x, (None, at)).shape == (4, 2, 6, 3)
    assert kernels.index.sequence_reverse(x, torch.empty(5, device="meta")).shape == x.shape

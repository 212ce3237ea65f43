"""Reductions of the CPU backend against float64 (or exact integer) answers of NumPy."""

import numpy as np
import pytest
import torch

from core import kernels
from core.base import MXNetError
from core.kernels.cpu import reduce

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
SHAPES = [
    ((), ()),
    ((7,), (0,)),
    ((5, 7), (1,)),
    ((5, 7), (0,)),
    ((3, 5, 7), (0, 2)),
    ((3, 1, 7), (0, 1, 2)),
    ((3, 5), ()),
]


def draw(shape, dtype=torch.float32, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def close(ours, truth, dtype):
    truth = np.asarray(truth, dtype=np.float64)
    assert tuple(ours.shape) == truth.shape
    assert np.linalg.norm(ours.double().numpy() - truth) <= FLOATS[dtype] * max(np.linalg.norm(truth), 1e-3)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape, axes", SHAPES)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "nansum", "nanprod"])
def test_reductions(name, shape, axes, keepdims, dtype):
    x = draw(shape, dtype) + 1.5
    ours = getattr(reduce, name)(x, axes, keepdims)
    assert ours.dtype == dtype
    close(ours, getattr(np, name)(x.double().numpy(), axis=axes, keepdims=keepdims), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape, axes", SHAPES)
def test_norms_moments_logsumexp(shape, axes, dtype):
    x = draw(shape, dtype)
    wide = x.double().numpy()
    for keepdims in (False, True):
        close(reduce.norm(x, 1, axes, keepdims), np.abs(wide).sum(axis=axes, keepdims=keepdims), dtype)
        close(reduce.norm(x, 2, axes, keepdims), np.sqrt((wide**2).sum(axis=axes, keepdims=keepdims)), dtype)
        close(reduce.logsumexp(x, axes, keepdims), np.log(np.exp(wide).sum(axis=axes, keepdims=keepdims)), dtype)
        mean, var = reduce.moments(x, axes, keepdims)
        close(mean, wide.mean(axis=axes, keepdims=keepdims), dtype)
        close(var, wide.var(axis=axes, keepdims=keepdims), dtype)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64])
def test_integers_keep_their_dtype(dtype):
    x = torch.tensor([[3, 2, 5], [0, 1, 1]]).to(dtype)
    for name, truth in {"sum": [10, 2], "mean": [3, 0], "prod": [30, 0], "max": [5, 1], "nansum": [10, 2]}.items():
        ours = getattr(reduce, name)(x, (1,), False)
        assert ours.dtype == dtype and ours.tolist() == truth, name


def test_integer_mean_truncates_towards_zero():
    assert reduce.mean(torch.tensor([-7, 2], dtype=torch.int32), (0,), False).item() == -2
    assert reduce.mean(torch.tensor([-7, 2]), (0,), False, torch.float32).item() == -2.5


def test_half_accumulates_in_float32():
    x = torch.ones(5000, dtype=torch.float16)
    assert reduce.sum(x, (0,), False).item() == 5000
    assert reduce.mean(x * 1000, (0,), False).item() == 1000


def test_nan():
    x = torch.tensor([[1.0, float("nan"), 3.0], [4.0, 2.0, 6.0]])
    assert reduce.nansum(x, (1,), False).tolist() == [4, 12]
    assert reduce.nanprod(x, (1,), False).tolist() == [3, 48]
    assert reduce.max(x, (1,), False).isnan().tolist() == [True, False]
    assert reduce.min(x, (0,), False).isnan().tolist() == [False, True, False]
    assert reduce.argmax(x, 1, False).tolist() == [1, 2]
    assert reduce.argmin(x, 1, True).tolist() == [[1], [1]]
    assert reduce.any(x, (1,), False).tolist() == [True, True]
    infinite = torch.tensor([float("inf"), 1.0, float("nan")])
    assert reduce.nansum(infinite, (0,), False).item() == float("inf")
    assert reduce.logsumexp(infinite[:2], (0,), False).item() == float("inf")


def test_all_any():
    x = torch.tensor([[0.0, 1.0], [2.0, 3.0]])
    assert reduce.all(x, (1,), False).tolist() == [False, True]
    assert reduce.any(x, (0, 1), True).tolist() == [[True]]
    assert reduce.all(x.int(), (), False).tolist() == [[False, True], [True, True]]


def test_arguments_of_extrema_take_the_first_of_ties():
    x = torch.tensor([[2, 5, 5, 2, 5, 2]])
    for dtype in (torch.float32, torch.float16, torch.int8, torch.bool):
        ours = reduce.argmax((x - 2).to(dtype), 1, False), reduce.argmin((x - 2).to(dtype), 1, True)
        assert ours[0].tolist() == [1] and ours[1].tolist() == [[0]] and ours[0].dtype == torch.int64


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scans(axis):
    x = draw((3, 5, 4)).permute(2, 0, 1) + 1
    close(reduce.cumsum(x, axis), np.cumsum(x.double().numpy(), axis), torch.float32)
    close(reduce.cumprod(x, axis), np.cumprod(x.double().numpy(), axis), torch.float32)
    whole = (x * 4).to(torch.int32)
    assert reduce.cumsum(whole, axis).dtype == torch.int32
    assert reduce.cumsum(whole, axis, torch.float64).tolist() == np.cumsum(whole.numpy(), axis).tolist()


def test_nothing_to_reduce():
    x = torch.zeros(0, 3)
    assert reduce.sum(x, (0,), False).tolist() == [0, 0, 0]
    assert reduce.prod(x, (0, 1), False).item() == 1
    assert reduce.max(x, (1,), False).shape == (0,)
    assert reduce.logsumexp(x, (0,), False).tolist() == [-float("inf")] * 3
    for name in ("max", "min"):
        with pytest.raises(MXNetError, match=r"axis 0 of shape \(0, 3\)"):
            getattr(reduce, name)(x, (0,), False)
    with pytest.raises(MXNetError, match="argmax"):
        reduce.argmax(x, 0, False)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "nansum", "nanprod", "all", "any", "logsumexp"])
@pytest.mark.parametrize("axes", [(), (1,), (0, 2)])
def test_shapes_are_inferred_on_meta(name, axes):
    x = draw((2, 3, 4))
    real, meta = (getattr(kernels.reduce, name)(t, axes, True) for t in (x, x.to("meta")))
    assert meta.is_meta and meta.shape == real.shape and meta.dtype == real.dtype


@pytest.mark.parametrize("shape", [(9000,), (60, 90), (3, 40, 70)])
@pytest.mark.parametrize("keepdims", [True, False])
def test_places_in_large_arrays_are_the_first_ones(shape, keepdims):
    x = torch.from_numpy(np.random.RandomState(0).randint(0, 50, shape)).float()
    for numbers in (x, x.where(x != 7, torch.tensor(float("nan")))):
        for name in ("argmax", "argmin"):
            found = getattr(reduce, name)(numbers, len(shape) - 1, keepdims)
            expected = getattr(torch, name)(numbers, len(shape) - 1, keepdims)
            assert found.dtype is torch.int64 and torch.equal(found, expected)

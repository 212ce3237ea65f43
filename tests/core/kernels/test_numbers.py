"""Numbers beside tensors, which small operators of the CPU get as tensors of one element."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from core import nd
from core import np as mnp
from core.kernels import numbers

OPERATORS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
}
NUMBERS = [1.1, -1e-3, 3, 1e300, 5e-324, 1e-42, math.inf, -math.inf, math.nan, 0.0, -0.0, 0, 2**24 + 1, 2**53 + 1]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_comes_again_gives_the_same(name, number, dtype):
    values = np.array([[1.5, -0.0, 0.0, math.inf, math.nan, 3e-39, -7.25, 6e4]]).astype(dtype)
    x, operator = nd.array(values, dtype=dtype), OPERATORS[name]
    with np.errstate(all="ignore"):
        wanted = operator(torch.from_numpy(values), number).numpy()
    for _ in range(3):
        found = operator(x, number)
        assert found.dtype == np.dtype(dtype)
        assert found.asnumpy().tobytes() == wanted.tobytes()


def test_zeros_keep_their_sign():
    x = nd.array([-0.0])
    for zero in (0.0, -0.0) * 3:
        assert math.copysign(1, (x + zero).asscalar()) == math.copysign(1, -0.0 + zero)


def test_arrays_without_axes_and_other_types():
    for _ in range(3):
        assert (mnp.array(2.0) * 2.5).item() == 5
        assert (nd.array([2], dtype="int32") * 3).asnumpy().tolist() == [6]
        assert (nd.array([2], dtype="int32") * 1.5).dtype == np.int32


def test_few_numbers_are_kept(monkeypatch):
    monkeypatch.setattr(numbers, "MOST", 8)
    kept = numbers.Numbers(torch.float32)
    for k in range(1, 100):
        assert kept[k] is k  # nothing is made of a number that comes once
        assert isinstance(kept[k], torch.Tensor) and kept[k] is kept[k]
        assert len(kept) <= 8


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, (0, 2), None])
def test_means_are_those_of_aten_to_the_last_digit(axis, dtype):
    values = np.random.RandomState(0).standard_normal((5, 7, 3)).astype(dtype)
    for keepdims in (False, True):
        wanted = torch.mean(torch.from_numpy(values), axis, keepdims).numpy().reshape(-1)
        for _ in range(3):
            found = nd.array(values, dtype=dtype).mean(axis=axis or (() if axis is None else 0), keepdims=keepdims)
            assert found.asnumpy().reshape(-1).tobytes() == wanted.tobytes()

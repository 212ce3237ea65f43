"""Matrix products of the CPU backend against float64 NumPy."""

import math

import numpy as np
import pytest
import torch

from core import kernels
from core.base import MXNetError
from core.kernels.cpu import matmul as family
from tests.core.kernels.naive import relative_error

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
ACTIVATIONS = {
    None: lambda y: y,
    "relu": lambda y: np.maximum(y, 0),
    "gelu": lambda y: 0.5 * y * (1 + np.vectorize(math.erf)(y / math.sqrt(2))),
    "sigmoid": lambda y: 1 / (1 + np.exp(-y)),
    "tanh": np.tanh,
    "silu": lambda y: y / (1 + np.exp(-y)),
    "hard_swish": lambda y: y * np.clip(y + 3, 0, 6) / 6,
    "hard_gate": lambda y: np.clip(y + 3, 0, 6) / 6,
    "relu6": lambda y: np.clip(y, 0, 6),
}


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(
    "lead_a, lead_b", [((), ()), ((2, 3), (2, 3)), ((3,), ()), ((), (3,)), ((3, 2), (2,)), ((3, 3), (3,))]
)
def test_matmul(dtype, transpose_a, transpose_b, lead_a, lead_b):
    torch.manual_seed(0)
    a = torch.randn(*lead_a, *((7, 5) if transpose_a else (5, 7)), dtype=torch.float64).to(dtype)
    b = torch.randn(*lead_b, *((11, 7) if transpose_b else (7, 11)), dtype=torch.float64).to(dtype)
    got = family.matmul(a, b, transpose_a, transpose_b)
    a, b = a.double().mT if transpose_a else a.double(), b.double().mT if transpose_b else b.double()
    want = a.numpy() @ b.numpy()
    assert got.dtype == dtype and got.is_contiguous()
    assert relative_error(got.double(), want) < LIMITS[dtype]


@pytest.mark.parametrize("m, n, k", [(2000, 60, 600), (300, 250, 600)], ids=["product turned", "operand turned"])
def test_gradients_of_weights(m, n, k):
    """Large enough for oneDNN, in either way around."""
    torch.manual_seed(0)
    a, b = torch.randn(k, m), torch.randn(k, n)
    got = family.matmul(a, b, transpose_a=True)
    assert got.is_contiguous()
    assert relative_error(got.double(), a.double().numpy().T @ b.double().numpy()) < LIMITS[torch.float32]


@pytest.mark.parametrize("m, n, k", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1)])
def test_empty_and_single(m, n, k):
    got = family.matmul(torch.ones(m, k), torch.ones(k, n))
    assert torch.equal(got, torch.full((m, n), float(k)))


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias, residual", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("packed", [False, True])
def test_linear(dtype, activation, bias, residual, packed):
    torch.manual_seed(0)
    x, w, b, r = (torch.randn(s, dtype=torch.float64).to(dtype) for s in ((2, 3, 13), (7, 13), (7,), (2, 3, 7)))
    weight = family.pack(w, 6) if packed else w
    got = family.linear(x, weight, b if bias else None, activation, r if residual else None)
    y = x.double().numpy() @ w.double().numpy().T
    y = y + b.double().numpy() * bias + r.double().numpy() * residual
    assert got.dtype == dtype
    assert relative_error(got.double(), ACTIVATIONS[activation](y)) < LIMITS[dtype]


def test_linear_names_the_activations_it_knows():
    with pytest.raises(MXNetError, match=r"'swish'.*relu"):
        family.linear(torch.ones(1, 2), torch.ones(3, 2), activation="swish")


def test_meta():
    x, w = torch.empty(2, 3, 5, device="meta"), torch.empty(7, 5, device="meta")
    assert kernels.matmul.linear(x, w, torch.empty(7, device="meta"), "gelu").shape == (2, 3, 7)
    assert kernels.matmul.matmul(x, x, transpose_b=True).shape == (2, 3, 3)

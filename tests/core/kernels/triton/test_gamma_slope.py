"""Gamma samples move with their shapes: against differences of the quantile function, in both backends."""

import numpy as np
import pytest
import torch

from core.kernels import formula as f
from core.kernels.cpu import pointwise as cpu
from core.kernels.formula import Formula
from core.kernels.triton import pointwise as triton

SLOPE = Formula.of(f.gamma_slope, name="gamma_slope")


@pytest.mark.parametrize(
    "backend, dtype, rtol",
    [
        (cpu, torch.float64, 1e-3),
        (cpu, torch.float32, 1e-3),
        (triton, torch.float64, 5e-5),
        (triton, torch.float32, 1e-3),
    ],
)
def test_samples_move_with_their_shapes_as_quantiles_do(backend, dtype, rtol, device):
    special = pytest.importorskip("scipy.special")
    shape = np.repeat([0.05, 0.4, 1.0, 3.0, 12.0, 90.0, 2000.0], 4)
    quantile = np.tile([0.05, 0.3, 0.7, 0.99], 7)
    step = 1e-4 * shape
    low, high = (special.gammaincinv(shape + way * step, quantile) for way in (-1, 1))
    sample = special.gammaincinv(shape, quantile)
    kept = sample > 1e-30
    place = device if backend is triton else "cpu"
    operands = [torch.tensor(v[kept], dtype=dtype, device=place) for v in (shape, sample)]
    slope = backend.pointwise(SLOPE, operands, (), dtype)
    np.testing.assert_allclose(slope.cpu(), ((high - low) / (2 * step))[kept], rtol=rtol)

"""Convolutions of the Triton backend against float64 NumPy."""

import dataclasses

import numpy as np
import pytest
import torch

from core.kernels.triton import conv as family
from core.kernels.triton import tiles
from core.kernels.triton.targets import TARGETS
from tests.core.kernels import naive
from tests.core.kernels.test_conv import CASES as COMMON
from tests.core.kernels.test_matmul import ACTIVATIONS

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
# x, w, stride, dilate, pad, groups
CASES = COMMON | {
    "whole blocks of channels": ((1, 32, 5, 4), (16, 32, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "strided, whole blocks": ((2, 32, 5, 6), (32, 32, 3, 2), (2, 3), (1, 1), (1, 0), 1),
    "groups, whole blocks": ((1, 64, 3, 5), (64, 32, 3, 3), (2, 1), (1, 1), (1, 1), 2),
    "dilated and strided": ((1, 2, 10, 11), (3, 2, 3, 3), (2, 3), (2, 2), (2, 1), 1),
    "stride beyond the kernel": ((1, 2, 7, 8), (2, 2, 2, 1), (3, 2), (1, 1), (1, 0), 1),
    "depthwise strided 1d": ((2, 5, 9), (10, 1, 3), (2,), (2,), (1,), 5),
    "1d 1x1": ((2, 5, 9), (3, 5, 1), (1,), (1,), (0,), 1),
}
# Each takes another kernel.
ONE_OF_A_KIND = ["2d", "strided, whole blocks", "depthwise", "1x1"]


@pytest.mark.parametrize("case", CASES)
def test_conv_and_gradients(case, device):
    check(CASES[case], torch.float32, device)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", ONE_OF_A_KIND)
def test_dtypes(case, dtype, device):
    check(CASES[case], dtype, device)


def fifty_processors(device):
    return dataclasses.replace(TARGETS["cuda:90"], processors=50)


@pytest.mark.parametrize("case", ONE_OF_A_KIND)
def test_split_sums(case, device, monkeypatch):
    monkeypatch.setattr(family, "target_of", fifty_processors)
    monkeypatch.setattr(tiles, "_MINIMAL_STEPS", 1)
    check(CASES[case], torch.float32, device)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("case", ONE_OF_A_KIND)
def test_epilogue(case, split, device, monkeypatch):
    if split:
        monkeypatch.setattr(family, "target_of", fifty_processors)
        monkeypatch.setattr(tiles, "_MINIMAL_STEPS", 1)
    x_shape, w_shape, *how = CASES[case]
    x, w, b = tensors(torch.float32, device, x_shape, w_shape, (w_shape[0],))
    plain = naive.conv(exact(x), exact(w), exact(b), *how)
    r = tensors(torch.float32, device, tuple(plain.shape))[0]
    got = family.conv(x, family.pack(w, x_shape, *how), b, *how, "relu", r)
    assert_close(got, np.maximum(plain + exact(r), 0), torch.float32)
    assert_close(
        family.conv(x, w, None, *how, "gelu"),
        ACTIVATIONS["gelu"](plain - np.asarray(exact(b)).reshape(-1, 1, 1)),
        torch.float32,
    )


def test_strides(device):
    how = ((1, 1), (1, 1), (1, 1), 1)
    x, w = tensors(torch.float32, device, (4, 9, 6, 10), (8, 3, 3, 6))
    x, w = x[::2, 1::3, :, 1:].mT, w[1::2, :, :, ::2]
    assert_close(family.conv(x, w, None, *how), naive.conv(exact(x), exact(w), None, *how), torch.float32)


@pytest.mark.parametrize("n, c, kernel", [(0, 3, 3), (2, 0, 3), (0, 3, 1), (2, 0, 1)])
def test_empty(n, c, kernel, device):
    x, w = torch.ones(n, c, 5, 5, device=device), torch.ones(4, c, kernel, kernel, device=device)
    b = torch.arange(4.0, device=device)
    how = ((1, 1), (1, 1), (0, 0), 1)
    y = family.conv(x, w, b, *how)
    assert torch.equal(y, b.view(1, 4, 1, 1).expand(n, 4, 6 - kernel, 6 - kernel))
    assert torch.equal(family.conv_data_grad(y, w, x.shape, *how), torch.zeros_like(x))
    assert torch.equal(family.conv_weight_grad(y, x, w.shape, *how), torch.zeros_like(w))


def check(case, dtype, device):
    x_shape, w_shape, *how = case
    x, w, b = tensors(dtype, device, x_shape, w_shape, (w_shape[0],))
    y = family.conv(x, w, b, *how)
    assert_close(y, naive.conv(exact(x), exact(w), exact(b), *how), dtype)
    dy = tensors(dtype, device, y.shape)[0]
    dx, dw = naive.conv_grads(exact(dy), exact(x), exact(w), *how)
    assert_close(family.conv_data_grad(dy, w, x_shape, *how), dx, dtype)
    assert_close(family.conv_weight_grad(dy, x, w_shape, *how), dw, dtype)
    assert_close(family.conv_bias_grad(dy), exact(dy).sum((0, *range(2, dy.ndim))), dtype)


def tensors(dtype, device, *shapes):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype) for shape in shapes]


def exact(t):
    return t.double().cpu().numpy()


def assert_close(got, want, dtype):
    assert got.dtype == dtype
    assert got.ndim < 3 or got.movedim(1, -1).is_contiguous()
    assert naive.relative_error(exact(got), np.asarray(want)) < LIMITS[dtype]


def _samples():
    for x_shape, w_shape, *how in (CASES[case] for case in (*ONE_OF_A_KIND, "1d", "groups")):
        x, w, b = torch.ones(x_shape), torch.ones(w_shape), torch.ones(w_shape[0])
        out = naive.output_extent(x_shape[2:], w_shape[2:], how[0], [(p, p) for p in how[2]], how[1])
        dy = torch.ones(x_shape[0], w_shape[0], *out)
        yield lambda x=x, w=w, b=b, how=how: family.conv(x, w, b, *how)
        yield lambda dy=dy, x=x, w=w, how=how: family.conv_data_grad(dy, w, x.shape, *how)
        yield lambda dy=dy, x=x, w=w, how=how: family.conv_weight_grad(dy, x, w.shape, *how)
    yield lambda: family.conv_bias_grad(dy)


SAMPLES = list(_samples())

"""Convolutions of the Triton backend against float64 NumPy."""

import dataclasses

import numpy as np
import pytest
import torch

from core.kernels.cpu import norm
from core.kernels.triton import _moments, tiles
from core.kernels.triton import conv as family
from core.kernels.triton import norm as norms
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
    "several tiles": ((2, 32, 9, 9), (80, 32, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "wide 1x1": ((2, 32, 9, 9), (80, 32, 1, 1), (1, 1), (1, 1), (0, 0), 1),
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
    monkeypatch.setattr(tiles, "MINIMAL_STEPS", 1)
    check(CASES[case], torch.float32, device)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("case", ONE_OF_A_KIND)
def test_epilogue(case, split, device, monkeypatch):
    if split:
        monkeypatch.setattr(family, "target_of", fifty_processors)
        monkeypatch.setattr(tiles, "MINIMAL_STEPS", 1)
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


@pytest.mark.parametrize("case", ["several tiles", "groups, whole blocks", "strided, whole blocks", "2d"])
def test_a_program_takes_tile_after_tile(case, device, monkeypatch):
    monkeypatch.setattr(family, "target_of", lambda device: dataclasses.replace(TARGETS["cuda:90"], processors=1))
    monkeypatch.setattr(family, "_resident", lambda config, itemsize, on: 1)
    check(CASES[case], torch.float32, device)


@pytest.mark.parametrize("case", [*ONE_OF_A_KIND, "groups, whole blocks"])
def test_without_descriptors(case, device, monkeypatch):
    monkeypatch.setattr(family, "target_of", lambda device: dataclasses.replace(TARGETS["cuda:80"], processors=2))
    check(CASES[case], torch.float32, device)


def test_weights_that_no_descriptor_describes(device):
    x_shape, w_shape, *how = CASES["whole blocks of channels"]
    x, w = tensors(torch.float32, device, x_shape, w_shape)
    moved = torch.zeros(w.numel() + 1, device=device)[1:].view(16, 3, 3, 32).movedim(-1, 1).copy_(w)
    assert moved.data_ptr() % 16
    assert torch.equal(family.conv(x, moved, None, *how), family.conv(x, w, None, *how))


NORMALIZED = ["2d", "whole blocks of channels", "several tiles", "groups, whole blocks", "depthwise", "1x1", "wide 1x1"]


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("case", NORMALIZED)
def test_batch_normalization(case, dtype, device, monkeypatch):
    """Against float64, of what the convolution stores; twice alike, bit for bit."""
    x_shape, w_shape, *how = CASES[case]
    x, w, b, gamma, beta = tensors(dtype, device, x_shape, w_shape, *[(w_shape[0],)] * 3)
    found, again = (family.conv_batch_norm(x, w, b, gamma, beta, *how, 1e-3) for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(found, again, strict=True))
    y, normalized, mean, rstd = found
    assert torch.equal(y, family.conv(x, w, b, *how)) or case == "wide 1x1"
    assert_close(y, naive.conv(exact(x), exact(w), exact(b), *how), dtype)
    expected = norm.batch_norm(y.double().cpu(), gamma.double().cpu(), beta.double().cpu(), 1, 1e-3)
    assert_close(normalized, expected[0], dtype)
    assert mean.dtype == rstd.dtype == (dtype if dtype == torch.float64 else torch.float32)
    for ours, theirs in zip((mean, rstd), expected[1:], strict=True):
        assert naive.relative_error(exact(ours), theirs.numpy()) < (1e-12 if dtype == torch.float64 else 1e-5)


@pytest.mark.parametrize("stages", [False, True])
def test_statistics_of_a_large_mean_lose_no_digits(stages, device, monkeypatch):
    """The mean is 1,000 times the deviation: sums of squares would leave nothing of the variance's digits but one."""
    if stages:
        monkeypatch.setattr(_moments, "PROGRAMS", 2)
        monkeypatch.setattr(_moments, "TOGETHER", 2)
    x_shape, w_shape, *how = (3, 32, 17, 19), (33, 32, 3, 3), (1, 1), (1, 1), (1, 1), 1
    x, w = tensors(torch.float32, device, x_shape, w_shape)
    b = torch.full((33,), 17e3, device=device)
    y, _, mean, rstd = family.conv_batch_norm(x, w, b, None, None, *how, 1e-3)
    _, separate_mean, separate_rstd = norms.batch_norm(y, None, None, 1, 1e-3)
    _, true_mean, true_rstd = norm.batch_norm(y.double().cpu(), None, None, 1, 1e-3)
    assert 500 < float((true_mean * true_rstd).mean()) < 2000
    for ours, separate, true in ((mean, separate_mean, true_mean), (rstd, separate_rstd, true_rstd)):
        error, before = ((t.double().cpu() / true - 1).abs().max() for t in (ours, separate))
        assert error < max(2 * before, 1e-6)


def test_statistics_of_split_sums(device, monkeypatch):
    monkeypatch.setattr(family, "target_of", fifty_processors)
    monkeypatch.setattr(tiles, "MINIMAL_STEPS", 1)
    x_shape, w_shape, *how = CASES["whole blocks of channels"]
    x, w = tensors(torch.float32, device, x_shape, w_shape)
    y, *found = family.conv_batch_norm(x, w, None, None, None, *how, 1e-3)
    for ours, theirs in zip(found, norm.batch_norm(y.cpu(), None, None, 1, 1e-3), strict=True):
        assert naive.relative_error(exact(ours), exact(theirs)) < 1e-5


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
    for case in ("2d", "whole blocks of channels", "depthwise"):
        x_shape, w_shape, *how = CASES[case]
        x, w, b = torch.ones(x_shape), torch.ones(w_shape), torch.ones(w_shape[0])
        yield lambda x=x, w=w, b=b, how=how: family.conv_batch_norm(x, w, b, b, None, *how, 1e-3)


SAMPLES = list(_samples())

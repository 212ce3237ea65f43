"""Convolutions of the CPU backend against float64 NumPy."""

import pytest
import torch

from core import kernels
from core.base import MXNetError
from core.kernels.cpu import _winograd
from core.kernels.cpu import conv as family
from core.kernels.layout import memory_format
from tests.core.kernels import naive
from tests.core.kernels.test_matmul import ACTIVATIONS

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
# x, w, stride, dilate, pad, groups
CASES = {
    "1d": ((2, 3, 11), (5, 3, 3), (2,), (1,), (1,), 1),
    "2d": ((2, 3, 7, 9), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "2d strided, uneven": ((2, 4, 8, 11), (6, 4, 3, 2), (3, 2), (1, 1), (2, 0), 1),
    "dilated": ((1, 2, 9, 9), (3, 2, 3, 3), (1, 2), (2, 3), (2, 3), 1),
    "groups": ((2, 6, 5, 7), (4, 3, 3, 3), (2, 2), (1, 1), (1, 1), 2),
    "depthwise": ((2, 5, 6, 7), (5, 1, 3, 3), (1, 1), (1, 1), (1, 1), 5),
    "depthwise twice": ((2, 3, 6, 7), (6, 1, 3, 3), (2, 2), (1, 1), (1, 1), 3),
    "1x1": ((2, 7, 5, 3), (3, 7, 1, 1), (1, 1), (1, 1), (0, 0), 1),
    "1x1 strided": ((2, 7, 5, 4), (3, 7, 1, 1), (2, 2), (1, 1), (0, 0), 1),
    "3d": ((1, 2, 5, 6, 4), (3, 2, 2, 3, 3), (1, 2, 1), (1, 1, 1), (0, 1, 1), 1),
    "pad beyond the kernel": ((1, 2, 3, 3), (2, 2, 1, 1), (1, 1), (1, 1), (2, 2), 1),
}


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_conv_and_gradients(case, channels_last, dtype):
    x_shape, w_shape, *how = CASES[case]
    x, w, b = tensors(dtype, x_shape, w_shape, (w_shape[0],))
    if channels_last and x.ndim > 3:
        x = x.contiguous(memory_format={4: torch.channels_last, 5: torch.channels_last_3d}[x.ndim])
    y = family.conv(x, w, b, *how)
    assert_close(y, naive.conv(x.double(), w.double(), b.double(), *how), dtype)
    assert_close(family.conv(x, w, None, *how), naive.conv(x.double(), w.double(), None, *how), dtype)

    dy = tensors(dtype, y.shape)[0].contiguous(memory_format=memory_format(y))
    dx, dw = naive.conv_grads(dy.double(), x.double(), w.double(), *how)
    got = family.conv_data_grad(dy, w, x_shape, *how)
    assert_close(got, dx, dtype)
    assert_close(family.conv_weight_grad(dy, x, w_shape, *how), dw, dtype)
    assert_close(family.conv_bias_grad(dy), dy.double().sum((0, *range(2, dy.ndim))), dtype)
    if channels_last and x.ndim == 4 and min(x_shape[1], w_shape[0]) > 1:
        assert memory_format(y) == memory_format(got) == memory_format(x)


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("packed", [False, True])
def test_epilogue(case, packed, dtype):
    x_shape, w_shape, *how = CASES[case]
    x, w, b = tensors(dtype, x_shape, w_shape, (w_shape[0],))
    plain = naive.conv(x.double(), w.double(), b.double(), *how)
    r = tensors(dtype, plain.shape)[0]
    weight = family.pack(w, x_shape, *how) if packed else w
    for activation, finish in ACTIVATIONS.items():
        for added in (None, r):
            expected = finish(plain if added is None else plain + r.double().numpy())
            assert_close(family.conv(x, weight, b, *how, activation, added), expected, dtype)


# images, channels, outputs, rows, columns, pad
WINOGRAD = [(1, 64, 64, 28, 28, 1), (3, 80, 72, 17, 30, 0), (2, 96, 160, 14, 9, 2), (1, 300, 64, 33, 70, 1)]


@pytest.mark.parametrize("n, c, o, rows, columns, pad", WINOGRAD)
def test_many_channels_are_convolved_with_a_quarter_of_the_products(n, c, o, rows, columns, pad, monkeypatch):
    """With errors of some last digits, in one chunk or several."""
    x, w, b = tensors(torch.float32, (n, c, rows, columns), (o, c, 3, 3), (o,))
    how = (1, 1), (1, 1), (pad, pad), 1
    exact = torch.convolution(x.double(), w.double(), b.double(), (1, 1), how[2], (1, 1), False, (0, 0), 1)
    small = 3e-6 * rms(exact)
    monkeypatch.setattr(_winograd, "GAIN", 2.0)
    added = tensors(torch.float32, exact.shape)[0]
    for few in (_winograd.FEWEST, 8):
        monkeypatch.setattr(_winograd, "FEWEST", few)
        monkeypatch.setattr(_winograd, "CHUNK", few)
        packed = family.pack(w, x.shape, *how)
        assert packed.ndim == 5
        for layout in (torch.contiguous_format, torch.channels_last):
            y = family.conv(x.contiguous(memory_format=layout), packed, b, *how)
            assert y.is_contiguous(memory_format=torch.channels_last) and rms(y - exact) < small
        assert rms(family.conv(x, packed, None, *how) - (exact - b.view(-1, 1, 1))) < small
        assert rms(family.conv(x, packed, b, *how, "relu") - exact.relu()) < small
        assert rms(family.conv(x, packed, b, *how, None, added) - (exact + added)) < small


def test_only_convolutions_that_gain_have_fewer_products():
    one = 1, 1
    for outputs, channels, size, *how in (
        (64, 64, 7, one, one, one, 1),
        (256, 256, 28, (2, 2), one, one, 1),
        (256, 256, 28, one, (2, 2), one, 1),
        (256, 1, 28, one, one, one, 256),
        (256, 256, 1, one, one, (0, 0), 1),
    ):
        w = torch.ones(outputs, channels, 3, 3)
        assert not _winograd.suits(w, (1, channels * how[-1], size, size), *how)
    assert not _winograd.suits(torch.ones(256, 256, 3, 3, dtype=torch.bfloat16), (1, 256, 28, 28), one, one, one, 1)
    assert _winograd.suits(torch.ones(256, 256, 3, 3), (1, 256, 28, 28), one, one, one, 1)


def rms(error):
    return float(error.double().square().mean().sqrt())


def test_conv_names_the_activations_it_knows():
    with pytest.raises(MXNetError, match=r"'swish'.*relu"):
        family.conv(torch.ones(1, 2, 3, 3), torch.ones(3, 2, 1, 1), None, (1, 1), (1, 1), (0, 0), 1, "swish")


@pytest.mark.parametrize("n, c", [(0, 3), (2, 0)])
def test_empty(n, c):
    x, w, b = torch.ones(n, c, 5, 5), torch.ones(4, c, 3, 3), torch.arange(4.0)
    how = ((1, 1), (1, 1), (0, 0), 1)
    y = family.conv(x, w, b, *how)
    assert torch.equal(y, b.view(1, 4, 1, 1).expand(n, 4, 3, 3))
    assert torch.equal(family.conv_data_grad(y, w, x.shape, *how), torch.zeros_like(x))
    assert torch.equal(family.conv_weight_grad(y, x, w.shape, *how), torch.zeros_like(w))


@pytest.mark.parametrize("case", CASES)
def test_meta(case):
    x_shape, w_shape, *how = CASES[case]
    x, w = torch.empty(x_shape, device="meta"), torch.empty(w_shape, device="meta")
    y = kernels.conv.conv(x, w, None, *how)
    out = naive.output_extent(x_shape[2:], w_shape[2:], how[0], [(p, p) for p in how[2]], how[1])
    assert y.shape == (x_shape[0], w_shape[0], *out)
    assert kernels.conv.conv_data_grad(y, w, x_shape, *how).shape == x_shape
    assert kernels.conv.conv_weight_grad(y, x, w_shape, *how).shape == w_shape
    assert kernels.conv.conv_bias_grad(y).shape == w_shape[:1]


def tensors(dtype, *shapes):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def assert_close(got, want, dtype):
    assert got.dtype == dtype
    assert naive.relative_error(got.double(), want) < LIMITS[dtype]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", [torch.uint8, torch.int8], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_products_of_codes_are_summed_exactly(case, kind, packed):
    x_shape, w_shape, *how = CASES[case]
    numbers = torch.Generator().manual_seed(0)
    least, most = torch.iinfo(kind).min, torch.iinfo(kind).max
    x = torch.randint(least, most + 1, x_shape, generator=numbers).to(kind)
    w = torch.randint(-128, 128, w_shape, generator=numbers).to(torch.int8)
    b = torch.randint(-1000, 1000, w_shape[:1], generator=numbers).float()
    weight = family.pack_quantized(w, x_shape, *how, kind is torch.int8) if packed else w
    for bias in (b, None):
        expected = naive.conv(x.double(), w.double(), None if bias is None else bias.double(), *how)
        found = family.quantized_conv(x, weight, bias, *how)
        assert found.dtype is torch.float32 and (found.double().numpy() == expected).all()

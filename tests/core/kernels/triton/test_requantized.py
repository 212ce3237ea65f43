"""Products of quantized values in Triton against the CPU backend, which is tested against exact sums."""

import pytest
import torch

from core.kernels.cpu import conv as conv_reference
from core.kernels.cpu import matmul as matmul_reference
from core.kernels.triton import conv, matmul

RANDOM = torch.Generator().manual_seed(0)


def integers(kind, *shape):
    low, high = torch.iinfo(kind).min, torch.iinfo(kind).max
    return torch.randint(low, high + 1, shape, generator=RANDOM).to(kind)


def moved(device, *given):
    return [x.to(device) if torch.is_tensor(x) else x for x in given]


@pytest.mark.parametrize(
    ("signed", "other", "bias"),
    [(True, None, True), (False, None, False), (True, torch.int8, False), (False, torch.int8, True)],
)
def test_convolutions_end_with_integers(signed, other, bias, device):
    x, w, how = integers(torch.uint8, 2, 4, 7, 6), integers(torch.int8, 6, 4, 3, 3), ((2, 1), (1, 1), (1, 0), 1)
    scale, b = torch.rand(6, generator=RANDOM) * 1e-3 + 1e-3, torch.rand(6, generator=RANDOM) * 60 - 20
    shape = tuple(conv_reference.quantized_conv(x, w, None, *how).shape)
    residual = None if other is None else integers(other, *shape)
    meaning = None if other is None else torch.tensor([0.37])
    given = x, w, b if bias else None, scale, *how, signed, residual, meaning
    want, y = conv_reference.requantized_conv(*given), conv.requantized_conv(*moved(device, *given)).cpu()
    assert y.dtype is want.dtype and (y.int() - want.int()).abs().max() <= 1
    assert (y != want).float().mean() < 0.02  # halves, in float32


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rectify", [False, True])
def test_linear_layers_on_quantized_values(rectify, bias, device):
    x, w = integers(torch.int8, 2, 3, 40), integers(torch.int8, 10, 40)
    given = x, w, torch.rand(10, generator=RANDOM), torch.rand(10, generator=RANDOM) * 1000 if bias else None, rectify
    want, y = matmul_reference.quantized_linear(*given), matmul.quantized_linear(*moved(device, *given))
    torch.testing.assert_close(y.cpu(), want, rtol=1e-5, atol=1e-2)
    packed = matmul.pack_quantized(w.to(device), 6)
    torch.testing.assert_close(matmul.quantized_linear(x.to(device), packed, *moved(device, *given[2:])), y)

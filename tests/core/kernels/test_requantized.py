"""Products of quantized values that are quantized again at once: against exact sums."""

import time

import numpy as np
import pytest
import torch

from core.kernels.cpu import conv, matmul, pool
from tests.core.kernels import naive

RANDOM = torch.Generator().manual_seed(0)
KINDS = [torch.uint8, torch.int8]


def integers(kind, *shape):
    low, high = torch.iinfo(kind).min, torch.iinfo(kind).max
    return torch.randint(low, high + 1, shape, generator=RANDOM).to(kind)


def expected(x, w, b, scale, how, signed, residual, meaning):
    y = torch.from_numpy(np.asarray(naive.conv(x.double(), w.double(), None, *how)))
    y = y * scale.double().view(-1, 1, 1) + (0 if b is None else b.double().view(-1, 1, 1))
    y = y if residual is None else y + residual.double() * meaning.double()
    low, high = (-128, 127) if signed else (0, 255)
    if residual is not None and residual.dtype is torch.int8:
        high = 127
    return y.round().clamp(low, high)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(
    ("signed", "other"), [(True, None), (False, None), (True, torch.int8), (False, torch.int8), (False, torch.uint8)]
)
def test_convolutions_end_with_integers(signed, other, kind, packed):
    x, w, how = integers(kind, 2, 4, 7, 6), integers(torch.int8, 6, 2, 3, 3), ((2, 1), (1, 1), (1, 0), 2)
    scale, b = torch.rand(6, generator=RANDOM) * 1e-3 + 1e-3, torch.rand(6, generator=RANDOM) * 60 - 20
    shape = tuple(conv.quantized_conv(x, w, None, *how).shape)
    residual = None if other is None else integers(other, *shape)
    meaning = None if other is None else torch.tensor([0.37])
    want = expected(x, w, b, scale, how, signed, residual, meaning)
    before = None if residual is None else residual.clone()
    weight = conv.pack_quantized(w, tuple(x.shape), *how, kind is torch.int8) if packed else w
    y = conv.requantized_conv(x, weight, b, scale, *how, signed, residual, meaning)
    assert y.dtype is (torch.int8 if signed else torch.uint8)
    assert (y.double() - want).abs().max() <= 1 and (y.double() != want).float().mean() < 0.01  # halves, in float32
    assert residual is None or (residual == before).all()


def test_the_memory_of_what_is_added_is_taken_if_it_may_be():
    x, w, how = integers(torch.uint8, 1, 8, 5, 5), integers(torch.int8, 16, 8, 1, 1), ((1, 1), (1, 1), (0, 0), 1)
    residual = integers(torch.uint8, 1, 16, 5, 5).contiguous(memory_format=torch.channels_last)
    weight = conv.pack_quantized(w, tuple(x.shape), *how, False)
    y = conv.requantized_conv(x, weight, None, torch.ones(16), *how, False, residual, torch.ones(1), True)
    assert y.data_ptr() == residual.data_ptr() or not weight.is_mkldnn


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("rectify", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_linear_layers_on_quantized_values(many, rectify, kind):
    x, w = integers(kind, 2, 3, 40), integers(torch.int8, 10, 40)
    scale, b = torch.rand(10 if many else 1, generator=RANDOM), torch.rand(10, generator=RANDOM) * 1000
    y = matmul.quantized_linear(x, matmul.pack_quantized(w, 6), scale, b, rectify)
    unpacked = matmul.quantized_linear(x, w, scale, b, rectify)
    want = (x.double() @ w.double().T) * scale.double() + b.double()
    want = want.clamp(min=0) if rectify else want
    for found in (y, unpacked):
        assert found.dtype is torch.float32 and torch.allclose(found.double(), want, rtol=1e-6, atol=1e-2)


def test_sums_do_not_round_where_float32_would():
    x, w = torch.full((1, 3000), 255, dtype=torch.uint8), torch.full((2, 3000), 127, dtype=torch.int8)
    w[1, 0] = 126
    y = matmul.quantized_linear(x, w, torch.ones(1))
    assert y.double().tolist() == [[np.float32(255 * 127 * 3000), np.float32(255 * 127 * 3000 - 255)]]


@pytest.mark.parametrize("pad", [((1, 1), (1, 1)), ((0, 0), (0, 0)), ((0, 1), (1, 2))])
def test_maxima_of_unsigned_integers(pad):
    x = integers(torch.uint8, 2, 3, 9, 8).contiguous(memory_format=torch.channels_last)
    y, places = pool.max_pool(x, (3, 3), (2, 2), pad, False)
    want, _ = pool.max_pool(x.float(), (3, 3), (2, 2), pad)
    assert places is None and y.dtype is torch.uint8 and (y.float() == want).all()


def test_signed_codes_are_multiplied_by_the_processor():
    """oneDNN's own loop for them takes seconds; what is asserted is the exact sum, and that it comes at once."""
    rng = np.random.RandomState(0)
    x, w = (torch.from_numpy(rng.randint(-128, 128, (512, 512)).astype("int8")) for _ in range(2))
    packed = matmul.pack_quantized(w, 512)
    start = time.process_time()
    y = matmul.quantized_linear(x, packed, torch.ones(1))
    assert time.process_time() - start < 1
    np.testing.assert_array_equal(y.numpy(), x.numpy().astype("int32") @ w.numpy().astype("int32").T)

"""Gradients in two bits an element, against comparisons and sums of NumPy, in both backends."""

import numpy as np
import pytest
import torch

from core.kernels.cpu import compression as cpu_compression
from core.kernels.triton import compression

KINDS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
BACKENDS = {"cpu": cpu_compression, "triton": compression}


def signs_of(wanted, threshold):
    """+1, -1 or 0 as threshold and wanted say, both tensors of one type."""
    return (wanted >= threshold).to(torch.int8) - (wanted <= -threshold).to(torch.int8)


def unpacked(packed, count):
    codes = packed.cpu().numpy()[:, None] >> np.array([0, 2, 4, 6]) & 3
    return torch.from_numpy(np.array([0, 1, 9, -1], "int8")[codes].reshape(-1)[:count].copy())


def place(backend, device):
    if backend == "cpu" and device != "cpu":
        pytest.skip("the CPU's function packs the CPU's memory")
    return device


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("count", [0, 1, 4, 7, 1030, 2 * 65536 + 5])
def test_what_is_sent_and_kept(count, dtype, backend, device):
    functions, device = BACKENDS[backend], place(backend, device)
    threshold = float(np.float32(0.3))
    torch.manual_seed(count)
    numbers = torch.randn(3, 2, count) / 3
    if dtype is torch.bfloat16:  # to which Triton's interpreter cuts numbers: here nothing is rounded
        threshold, numbers = 0.25, numbers.mul(64).round().clamp(-100, 100) / 64
    limit = torch.tensor(threshold, dtype=dtype)
    pairs = [pair.unbind() for pair in numbers.to(dtype)]
    wanted = [x + rest for x, rest in pairs]
    signs = [signs_of(w, limit) for w in wanted]
    packed = [functions.pack_two_bits(x.to(device), rest.to(device), threshold) for x, rest in pairs]
    for bits, want in zip(packed, signs):
        assert bits.dtype is torch.uint8 and torch.equal(unpacked(bits, count), want)
    values = [sign.to(dtype) * limit for sign in signs]
    x, rest = (t.to(device) for t in pairs[1])
    functions.sum_two_bits_(x, rest, torch.stack(packed), 1, threshold)
    assert torch.equal(rest.cpu(), wanted[1] - values[1])
    assert torch.equal(x.cpu(), values[0] + values[1] + values[2])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", KINDS[:2])
def test_the_threshold_itself_is_sent(dtype, backend, device):
    functions, device = BACKENDS[backend], place(backend, device)
    kind = np.dtype(str(dtype).removeprefix("torch.")).type
    for threshold in map(float, np.float32([0.05, 0.5, 1e-4, 0.3, 7, 1e-30, 3e38])):
        at = kind(threshold)
        below, above = np.nextafter(at, kind(0)), np.nextafter(at, kind(np.inf))
        x = np.array([at, below, above, -at, -below, -above, 0, np.inf, -np.inf, np.nan], kind)
        bits = functions.pack_two_bits(
            torch.tensor(x, device=device), torch.zeros(10, dtype=dtype, device=device), threshold
        )
        assert unpacked(bits, 10).tolist() == [1, 0, 1, -1, 0, -1, 0, 1, -1, 0]


SAMPLES = [
    lambda: compression.pack_two_bits(torch.zeros(1030), torch.ones(1030), 0.5),
    lambda: compression.sum_two_bits_(
        torch.zeros(1030), torch.ones(1030), torch.zeros(3, 258, dtype=torch.uint8), 1, 0.5
    ),
]

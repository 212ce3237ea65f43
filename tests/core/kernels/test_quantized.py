"""Codes of eight bits against NumPy, of arrays in one block and in several."""

import numpy as np
import pytest
import torch

from core.kernels.cpu import _quantized as backend

LIMITS = {"int8": (127.0, -128.0, 127.0), "uint8": (255.0, 0.0, 0.0), "uint8 over int8": (127.0, 0.0, 0.0)}
LAYOUTS = [torch.contiguous_format, torch.channels_last]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize("across", [1, 7])
def test_codes_are_the_nearest_whole_numbers(across, sums, limits, layout, monkeypatch):
    high, low, nan = LIMITS[limits]
    numbers = np.random.RandomState(0)
    x = (numbers.randint(-600, 600, (3, 7, 5, 4)) / 2).astype("float32")
    x.flat[:4] = np.nan, np.inf, -np.inf, -0.0
    scale = np.exp2(numbers.randint(-1, 2, (1, across, 1, 1))).astype("float32")
    addend, meaning = numbers.randint(0, 100, x.shape).astype("uint8"), np.array([[[[0.3]]]], "float32")
    real = x * scale
    if sums:
        real = (real.astype("float64") + addend.astype("float64") * meaning.astype("float64")).astype("float32")
    expected = np.where(np.isnan(real), nan, np.clip(np.round(real), low, high))
    data = torch.from_numpy(x).contiguous(memory_format=layout)
    operands = [torch.from_numpy(scale)]
    if sums:
        operands += [torch.from_numpy(addend).contiguous(memory_format=layout), torch.from_numpy(meaning)]
    for block in (backend.BLOCK, 16):
        monkeypatch.setattr(backend, "BLOCK", block)
        found = (backend.summed_quantized if sums else backend.scaled_quantized)(data, *operands, high, low, nan)
        assert found.dtype is (torch.int8 if low else torch.uint8)
        assert found.is_contiguous(memory_format=layout)
        np.testing.assert_array_equal(found.numpy(), expected)


def test_operands_that_lie_otherwise():
    x = torch.linspace(-300, 300, 2 * 3 * 300 * 200).view(2, 3, 300, 200)
    for data in (x, x.transpose(2, 3), x[:, :, ::2]):
        found = backend.quantized(data, 127.0, -128.0, 127.0)
        np.testing.assert_array_equal(found.numpy(), np.clip(np.round(data.numpy()), -128, 127))
        mirrored = torch.ones(data.shape, dtype=torch.int8).contiguous(memory_format=torch.channels_last)
        found = backend.summed_quantized(data, torch.ones(1), mirrored, torch.ones(1), 127.0, -128.0, 127.0)
        np.testing.assert_array_equal(found.numpy(), np.clip(np.round(data.numpy() + 1), -128, 127))

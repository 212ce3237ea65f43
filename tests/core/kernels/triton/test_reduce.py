"""The Triton reductions and scans against the CPU backend in float64, or in the same integer type."""

import numpy as np
import pytest
import torch

from core.base import MXNetError
from core.kernels.cpu import reduce as truth
from core.kernels.triton import reduce as family

pytestmark = pytest.mark.usefixtures("on_device")

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
FLOATS = [
    "sum",
    "mean",
    "prod",
    "max",
    "min",
    "nansum",
    "nanprod",
    "all",
    "any",
    "norm1",
    "norm2",
    "moments",
    "logsumexp",
]
INTEGERS = ["sum", "mean", "prod", "max", "min", "nansum", "all", "any"]
CASES = [
    ((), ()),
    ((1,), (0,)),
    ((7,), (0,)),
    ((5, 7), (1,)),
    ((5, 7), (0,)),
    ((3, 5, 7, 2), (0, 2)),
    ((3, 5, 7, 2), (1, 3)),
    ((2, 3, 2, 3, 2), (0, 2, 4)),
    ((0, 3), (0,)),
    ((0, 3), (1,)),
    ((3, 4), ()),
]


def draw(shape, dtype=torch.float32, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape) * 2).to(dtype)


def call(module, name, x, axes, keepdims=False):
    if name.startswith("norm"):
        return module.norm(x, int(name[4:]), axes, keepdims)
    return getattr(module, name)(x, axes, keepdims)


def close(ours, expected, dtype):
    """Equal, but for rounding; NaN and infinities in the same places."""
    assert ours.shape == expected.shape and ours.dtype == dtype
    ours, expected = ours.double().cpu(), expected.double()
    finite = expected.isfinite()
    assert torch.equal(torch.nan_to_num(ours[~finite], 7), torch.nan_to_num(expected[~finite], 7))
    difference = (ours - expected)[finite].norm()
    assert difference <= TOLERANCE.get(dtype, 0) * max(expected[finite].norm(), 1e-3)


def compare(name, x, axes, keepdims=False):
    wide = (x.double() if x.is_floating_point() else x).cpu()
    ours, expected = call(family, name, x, axes, keepdims), call(truth, name, wide, axes, keepdims)
    dtype = torch.bool if name in ("all", "any") else x.dtype
    for a, b in zip(*((t if isinstance(t, tuple) else (t,)) for t in (ours, expected)), strict=True):
        close(a, b, dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("shape, axes", [((5, 7), (1,)), ((3, 5, 7, 2), (0, 2))])
def test_floating_point_types(name, shape, axes, dtype):
    compare(name, draw(shape, dtype), axes)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("shape, axes", CASES)
def test_shapes(name, shape, axes):
    if name in ("max", "min") and any(shape[a] == 0 for a in axes):
        pytest.skip("nothing to choose from: see test_nothing_to_choose_from")
    compare(name, draw(shape), axes, keepdims=len(shape) % 2 == 0)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64])
@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("shape, axes", [((5, 7), (1,)), ((2, 3, 4), (0, 2))])
def test_integers(name, shape, axes, dtype):
    compare(name, (draw(shape) * 5).to(dtype), axes)


def test_dtype_of_the_result():
    x = (draw((5, 7)) * 3).to(torch.int8)
    for name in ("sum", "mean", "prod", "nansum"):
        close(
            getattr(family, name)(x, (1,), False, torch.float32),
            getattr(truth, name)(x.cpu(), (1,), False, torch.float32),
            torch.float32,
        )
    assert family.sum(x.bool(), (0, 1), False, torch.int64).item() == x.bool().sum()


@pytest.mark.parametrize("name", [n for n in FLOATS if "prod" not in n])
@pytest.mark.parametrize("shape, axes", [((2, 9001), (1,)), ((3001, 2), (0,)), ((2, 3, 5000), (0, 2))])
def test_two_stages(name, shape, axes):
    compare(name, draw(shape) + 10, axes)


@pytest.mark.parametrize("name", ["sum", "nansum", "max", "min", "any", "all", "logsumexp", "nanprod"])
def test_nan_and_infinity(name):
    nan, inf = float("nan"), float("inf")
    x = torch.tensor(
        [[1.0, nan, 3.0], [nan, nan, nan], [inf, 1.0, 2.0], [-inf, -inf, -inf], [-inf, 1.0, 2.0], [inf, nan, 0.0]]
    )
    compare(name, x, (1,))
    compare(name, x, (0,))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_indices_of_extrema(name):
    nan, inf = float("nan"), float("inf")
    ours, expected = getattr(family, name), getattr(truth, name)
    special = torch.tensor([[1.0, nan, 3.0, nan], [nan] * 4, [-inf] * 4, [inf] * 4, [2.0, 5.0, 5.0, 2.0]])
    for x in (
        draw((5, 7)),
        draw((3, 5, 2)),
        draw((2, 9001)),
        draw((3001, 2)),
        special,
        special.half(),
        draw((3, 4)) > 0,
    ):
        for axis in range(x.ndim):
            a, b = ours(x, axis, axis == 0), expected(x.cpu(), axis, axis == 0)
            assert a.dtype == torch.int64 and torch.equal(a.cpu(), b)
    ties = torch.full((1, 5000), 3, dtype=torch.int32)
    ties[0, [70, 4300]] = 9 if name == "argmax" else -9
    assert ours(ties, 1, False).tolist() == [70]


def test_nothing_to_choose_from():
    x = torch.zeros(0, 3)
    assert family.max(x, (1,), False).shape == family.argmax(x, 1, False).shape == (0,)
    for name in ("max", "min"):
        with pytest.raises(MXNetError, match=r"axis 0 of shape \(0, 3\)"):
            getattr(family, name)(x, (0,), False)
    with pytest.raises(MXNetError, match="argmin"):
        family.argmin(x, 0, False)


def test_layouts():
    x = draw((2, 5, 3, 4))
    for y in (
        x.permute(0, 3, 1, 2),
        x.contiguous(memory_format=torch.channels_last),
        x[:, ::2],
        x.flip(1).transpose(0, 2),
        x[:, :1].expand(2, 6, 3, 4),
    ):
        for axes in ((1,), (2, 3), (0, 2, 3), (0, 1), (0, 1, 2, 3)):
            compare("sum", y, axes)
            compare("moments", y, axes)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32, torch.float64])
@pytest.mark.parametrize(
    "shape, axis", [((5, 7), 1), ((5, 7), 0), ((2, 3, 4), 1), ((1,), 0), ((0, 3), 0), ((1, 67), 1)]
)
def test_scans(shape, axis, dtype):
    x = (draw(shape) / 4 + 1).to(dtype)
    wide = (x.double() if dtype.is_floating_point else x).cpu()
    for name in ("cumsum", "cumprod"):
        close(getattr(family, name)(x, axis), getattr(truth, name)(wide, axis), dtype)


@pytest.mark.parametrize("shape, axis", [((2, 9001), 1), ((700, 3), 0)])
def test_scans_in_chunks(shape, axis):
    x = draw(shape, torch.float64)
    close(family.cumsum(x, axis), truth.cumsum(x.cpu(), axis), torch.float64)
    whole = (x * 3).to(torch.int8)
    assert torch.equal(family.cumsum(whole, axis, torch.int64).cpu(), truth.cumsum(whole.cpu(), axis, torch.int64))
    assert torch.equal(family.cumsum(whole.mT, 1 - axis).cpu(), truth.cumsum(whole.mT.cpu(), 1 - axis))


@pytest.mark.slow  # the interpreter copies what the tensor's memory spans, 2 GB
def test_offsets_beyond_32_bits():
    x = torch.zeros(2**31 + 8, dtype=torch.uint8).as_strided((2, 3), (2**31, 2))
    x[1] = torch.tensor([1, 2, 4])
    compare("sum", x, (1,))
    compare("max", x, (0,))


X = torch.ones(3, 5)
SAMPLES = [
    *(lambda name=name: call(family, name, X, (1,)) for name in FLOATS),
    lambda: family.sum(X.expand(4, 3, 5), (0, 2), True, torch.float64),
    lambda: family.sum(torch.ones(2, 9001), (1,), False),
    lambda: family.moments(torch.ones(2, 9001), (1,), False),
    lambda: family.argmax(torch.ones(2, 9001), 1, False),
    lambda: family.argmin(X, 0, True),
    lambda: family.cumsum(torch.ones(1, 9001), 1),
    lambda: family.cumprod(X, 0),
]

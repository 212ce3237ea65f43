"""Memory that is filled with a number, with even steps, with ones on a diagonal, and triangles, against NumPy."""

import math

import numpy as np
import pytest
import torch

from core import kernels
from core.context import cpu
from core.kernels.triton import fills

FRACTIONS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
VIEWS = {
    "whole": lambda x: x,
    "one number": lambda x: x[0, 0, 0],
    "part": lambda x: x[:, 1:3, ::2],
    "transposed": lambda x: x.permute(2, 0, 1),
    "row": lambda x: x[:, 1],
    "no elements": lambda x: x[:, :0],
    "six axes": lambda x: x.view(3, 2, 2, 5, 2, 2)[:, :1, :, ::2, :1, :].permute(3, 0, 5, 1, 2, 4),
    "six axes with gaps": lambda x: torch.empty(4, 4, 4, 4, 4, 4, device=x.device)[::2, ::3, ::2, ::3, ::2, ::3],
}


@pytest.mark.parametrize("name", VIEWS)
def test_fill_leaves_what_lies_between(name, device):
    whole = torch.zeros(3, 4, 20, device=device)
    view = VIEWS[name](whole)
    assert fills.fill_(view, -2.5) is view and bool((view == -2.5).all())
    if view.numel() and view.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr():
        assert int((whole != 0).sum()) == view.numel()


@pytest.mark.parametrize("dtype", [*FRACTIONS, *INTEGERS, torch.bool])
def test_numbers(dtype, device):
    numbers = [0, 1, 3, 100]
    if dtype in FRACTIONS:
        numbers += [0.1, -1 / 3, math.inf, -0.0]
    if dtype is torch.bfloat16 and device == "cpu":  # the interpreter cuts off what compiled kernels round
        numbers = [0, 1, -0.5, math.inf]
    if dtype in (torch.int32, torch.int64, torch.float64):
        numbers += [-(2**31), 2**31 - 1]
    if dtype is torch.int64:
        numbers += [2**53 + 1, -(2**63)]
    for number in numbers:
        found = fills.fill_(torch.empty(1500, dtype=dtype, device=device), number)
        assert torch.equal(found.cpu(), torch.full((1500,), number, dtype=dtype))
        assert found[0].item() != 0 or math.copysign(1, found[0].item()) == math.copysign(1, number)
    if dtype in FRACTIONS:
        assert fills.fill_(torch.empty(3, dtype=dtype, device=device), math.nan).isnan().all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize(("start", "stop", "step"), [(0, 5, 1), (3, -9, -2), (0.1, 300, 0.3), (2, 2, 1), (7, 1e3, 0.7)])
def test_arange(start, stop, step, dtype, device):
    if "int" in dtype and (isinstance(step, float) or (dtype == "uint8" and step < 0)):
        pytest.skip("steps of integers are whole")
    with kernels.using("triton"):
        found = kernels.shape.arange(start, stop, step, dtype, cpu())
    kind = np.dtype(dtype)
    steps = np.arange(math.ceil((stop - start) / step)).astype(kind)
    want = steps * kind.type(step) + kind.type(start)
    assert found.numpy().dtype == kind and np.array_equal(found.numpy(), want)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_linspace(dtype, device):
    for start, stop, num, endpoint in ((0, 1, 7, True), (-3.3, 1e4, 2000, False), (5, 5, 1, True), (1, 2, 0, True)):
        with kernels.using("triton"):
            found = kernels.shape.linspace(start, stop, num, endpoint, dtype, cpu())
        step = (stop - start) / max(num - 1 if endpoint else num, 1)
        want = (np.arange(num) * step + start).astype("float32" if dtype == "float16" else dtype).astype(dtype)
        assert np.array_equal(found.numpy(), want)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int32, torch.bool])
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (3, 5), (5, 3), (40, 60), (0, 3), (3, 0)])
def test_eye(rows, columns, dtype, device):
    for offset in (0, 1, -2, 7, -7):
        found = fills.eye(rows, columns, offset, dtype, torch.device(device))
        assert found.dtype is dtype and np.array_equal(found.cpu().double().numpy(), np.eye(rows, columns, offset))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int8, torch.bool])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 5), (2, 5, 3), (2, 0, 3)])
def test_triangle(shape, dtype, device):
    x = (torch.rand(shape) * 100).to(dtype)
    for offset in (0, 1, -1, 3, 9, -9):
        for lower, want in ((True, np.tril), (False, np.triu)):
            for given in (x, x.mT.contiguous().mT):
                found = fills.triangle(given.to(device), lower, offset)
                assert found.dtype is dtype
                assert np.array_equal(found.cpu().double().numpy(), want(x.double().numpy(), offset))


def test_what_is_no_number_stays_out_of_triangles(device):
    x = torch.tensor([[1.0, torch.nan], [torch.inf, 2.0]], device=device)
    assert fills.triangle(x, True, -1).tolist() == [[0, 0], [math.inf, 0]]


@pytest.mark.parametrize("value", ["number", "array", "row"])
@pytest.mark.parametrize(
    "key",
    [
        (slice(1, 3),),
        (1, slice(None), 2),
        (..., slice(None, None, 2)),
        (torch.tensor([2, 0, -1]),),
        (slice(1, 3), torch.tensor([2, 0])),
        (torch.tensor([[1], [0]]), slice(None), torch.tensor([3, -2])),
        (torch.tensor([1]), ..., torch.tensor([0, 2])),
        (torch.tensor(1), slice(1, 3)),
        (None, torch.tensor([1]), ..., 0),
        (torch.arange(12).view(3, 4) % 3 == 0,),
        (..., torch.tensor([True, False, True, False, True])),
        (torch.tensor(True),),
        (torch.tensor(False),),
    ],
    ids=str,
)
def test_writes_to_places(key, value, device):
    want = torch.arange(60.0).view(3, 4, 5)
    part = want[key].shape
    given = {"number": -1.5, "array": -1 - torch.rand(part), "row": -1 - torch.rand(part[-1:])}[value]
    if isinstance(given, torch.Tensor) and torch.broadcast_shapes(given.shape, part) != part:
        pytest.skip("does not fit")
    found = want.clone()
    with kernels.using("triton"):
        kernels.shape.write_at(found, key, given)
    want[key] = given
    assert torch.equal(found, want)


def test_writes_outside_are_refused(device):
    with kernels.using("triton"), pytest.raises(IndexError, match="axis of length 3"):
        kernels.shape.write_at(torch.zeros(3, 4), (torch.tensor([0, 3]),), 1.0)
    with kernels.using("triton"), pytest.raises(RuntimeError):
        kernels.shape.write_at(torch.zeros(3, 4), (torch.tensor([0, 1]),), torch.zeros(3, 4))


def test_writes_are_counted(device):
    """What the tape holds must not change unseen."""
    x = torch.zeros(3)
    changes = [
        lambda: kernels.shape.fill_(x, 1), lambda: kernels.shape.copy_(x, torch.ones(3)),
        lambda: kernels.shape.add_(x, torch.ones(3)), lambda: kernels.shape.write_at(x, (torch.tensor([1]),), 2.0),
        lambda: kernels.shape.write_at(x, (slice(1, 2),), 2.0),
    ]  # fmt: skip
    with kernels.using("triton"):
        for change in changes:
            before = x._version
            change()
            assert x._version > before


def _on_the_triton_way(function):
    def sample():
        with kernels.using("triton"):
            function(kernels.shape)

    return sample


_X = torch.zeros(3, 4)
SAMPLES = [
    lambda: fills.fill_(torch.empty(3, 4), 2.5),
    lambda: fills.fill_(torch.empty(3, 4)[:, ::2], 0),
    lambda: fills.fill_(torch.empty(3, 4, dtype=torch.float64), 0.1),
    lambda: fills.fill_(torch.empty(3, 4, dtype=torch.bool), True),
    lambda: fills.fill_(torch.empty(3, dtype=torch.int64), -1),
    lambda: fills.evenly(0, 1, 5, torch.float32, torch.float32, torch.device("cpu")),
    lambda: fills.evenly(0.5, 0.25, 5, torch.float64, torch.float16, torch.device("cpu")),
    lambda: fills.evenly(1, 2, 5, torch.int64, torch.int32, torch.device("cpu")),
    lambda: fills.eye(3, 4, 1, torch.float32, torch.device("cpu")),
    lambda: fills.triangle(torch.zeros(2, 3, 4), True, 0),
    *map(
        _on_the_triton_way,
        [
            lambda shape: shape.full((3, 4), 2.0, "float32", cpu()),
            lambda shape: shape.zeros((3, 4), "bool", cpu()),
            lambda shape: shape.full_like(_X, 3, "int32"),
            lambda shape: shape.steps(5, _X),
            lambda shape: shape.write_at(_X, (slice(1, 2), torch.tensor([1])), 2.0),
            lambda shape: shape.write_at(_X, (slice(1, 2),), 2.0),
        ],
    ),
]

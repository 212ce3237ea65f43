"""Copies in another order, another type and one behind the other, against torch's, and to addresses."""

import pytest
import torch

from core import kernels
from core.kernels.cpu import copies as cpu_copies
from core.kernels.triton import copies

X = torch.arange(2 * 3 * 4 * 5 * 2 * 3).view(2, 3, 4, 5, 2, 3)
VIEWS = {
    "transposed": lambda x: x[0, 0, :, :, 0, 0].T,
    "channels first": lambda x: x[0, 0].movedim(-1, 0),
    "broadcast": lambda x: x[0, :1, :, 0, 0, :1].expand(4, 4, 2),
    "every other": lambda x: x.view(-1)[1::2],
    "five axes": lambda x: x[:, :, :, :, 0].permute(4, 2, 0, 3, 1),
    "six axes": lambda x: x.permute(5, 3, 1, 4, 2, 0),
    "six axes from the middle": lambda x: x.permute(3, 0, 5, 2, 4, 1),
    "no elements": lambda x: x[:, :0, 0].transpose(0, 3),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool])
@pytest.mark.parametrize("name", VIEWS)
def test_contiguous(name, dtype, device):
    view = VIEWS[name](X.to(dtype).to(device))
    copy = copies.contiguous(view)
    assert copy.is_contiguous() and copy.dtype is dtype and torch.equal(copy, view)


TYPES = [
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.uint8, torch.bool,
]  # fmt: skip


@pytest.mark.parametrize("target", TYPES)
@pytest.mark.parametrize("source", TYPES)
def test_cast(source, target, device):
    """Fractions, negative numbers, what is too large for eight bits, and what is rounded twice on its way."""
    x = torch.tensor([0.0, -0.0, 0.3, -0.7, 1.0, 2.5, -2.5, 117.9, -128, 300.0, -301.5, 2049, 1.00048828125 + 1e-9])
    x = x.double().to(source)
    want = x.to(target)
    if device == "cpu" and target is torch.bfloat16:  # the interpreter cuts off what compiled kernels round
        want = (x.float().view(torch.int32) >> 16 << 16).view(torch.float32).to(target)
    assert torch.equal(copies.cast(x.to(device), target).cpu(), want)


@pytest.mark.parametrize("name", VIEWS)
def test_casts_lie_as_what_they_are_made_of(name, device):
    view = VIEWS[name](X.float().to(device))
    found, want = copies.cast(view, torch.float64), view.to(torch.float64, copy=True)
    assert torch.equal(found, want) and found.stride() == want.stride()


def test_what_is_no_number_is_true_and_stays_none(device):
    x = torch.tensor([torch.nan, torch.inf, 0.0], device=device)
    assert copies.cast(x, torch.bool).tolist() == [True, True, False]
    assert torch.equal(copies.cast(x, torch.float16).isnan().cpu(), torch.tensor([True, False, False]))


@pytest.mark.parametrize("axes", [(), (0,), (1,), (-1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("name", ["whole", "transposed", "every other", "broadcast", "bool", "one number"])
def test_flip(name, axes, device):
    x = {
        "whole": X[0, 0, :, :, :, 0],
        "transposed": X[0, 0, :, :, :, 0].permute(2, 0, 1),
        "every other": X[0, 0, ::2, :, :, 0],
        "broadcast": X[0, 0, :1, :, :1, 0].expand(3, 5, 2),
        "bool": X[0, 0, :, :, :, 0] % 3 == 0,
        "one number": X[0, 0, 0, 0, 0, 0],
    }[name]
    if x.dim() == 0 and axes:
        pytest.skip("has no axes")
    found = copies.flip(x.to(device), axes)
    assert found.is_contiguous() and torch.equal(found.cpu(), x.flip(axes))


IMAGES = torch.rand(2, 3, 4, 5)
NHWC = IMAGES.to(memory_format=torch.channels_last)
PARTS = {
    "last axis": ([torch.rand(3, n) for n in (4, 1, 7)], -1),
    "first axis": ([torch.rand(n, 3) for n in (4, 0, 7)], 0),
    "many": ([torch.rand(2, 1 + k % 3, 5) for k in range(21)], 1),
    "more than a block": ([torch.rand(1500), torch.rand(3)], 0),
    "one": ([torch.rand(3, 4)], 1),
    "one number each": ([torch.rand(1) for _ in range(9)], 0),
    "views": ([torch.rand(4, 3).T, torch.rand(3, 8)[:, ::2], torch.rand(3, 1).expand(3, 2)], 1),
    "channels last": ([NHWC, NHWC * 2], 1),
    "channels last, an axis of space": ([NHWC, NHWC[:, :, :, :2]], 3),
    "channels first and last": ([IMAGES, NHWC], 0),
    "several types": ([torch.rand(3), torch.rand(2).bfloat16(), torch.arange(4)], 0),
    "truth": ([torch.tensor([True, False]), torch.tensor([False])], 0),
    "empty vectors": ([torch.rand(0), torch.rand(2, 3), torch.rand(1, 3)], 0),
    "nothing": ([torch.rand(0, 3), torch.rand(0, 3)], 1),
}


@pytest.mark.parametrize("name", PARTS)
def test_joined(name, device):
    parts, axis = PARTS[name]
    want = torch.cat(parts, axis)
    found = copies.joined([t.to(device) for t in parts], axis)
    assert torch.equal(found.cpu(), want) and found.dtype is want.dtype and found.stride() == want.stride()


@pytest.mark.parametrize("into", [torch.float32, torch.bfloat16, torch.int32])
@pytest.mark.parametrize("name", ["row", "column", "number", "transposed", "as it is"])
def test_write(name, into, device):
    """Into a part of memory; what lies between stays."""
    values = torch.arange(30.0).view(6, 5) / 4
    x = {"row": values[0], "column": values[:, :1], "number": values[0, 0], "transposed": (values.T.clone()).T}.get(
        name, values
    )
    for make in (
        lambda: torch.zeros(6, 9)[:, 2:7], lambda: torch.zeros(5, 6).T, lambda: torch.zeros(12, 5)[1::2],
        lambda: torch.zeros(6, 5),
    ):  # fmt: skip
        whole, want = make().to(into), make().to(into)
        whole = torch.empty_strided(whole.shape, make().stride(), dtype=into, device=device).zero_()
        assert copies.write_(whole, x.to(device)) is whole
        assert torch.equal(whole.cpu(), want.copy_(x))


@pytest.mark.parametrize("into", [torch.float32, torch.float16, torch.float64, torch.int32])
def test_add(into, device):
    values = torch.arange(30.0).view(6, 5) - 7
    for make in (lambda: torch.ones(6, 9)[:, 2:7], lambda: torch.ones(5, 6).T, lambda: torch.ones(6, 5)):
        want = (make() * 3).to(into)
        found = torch.empty_strided(want.shape, make().stride(), device=device, dtype=into).copy_(want)
        assert copies.add_(found, values[:, :1].to(into).to(device)) is found
        assert torch.equal(found.cpu(), want + values[:, :1].to(into))


@pytest.mark.parametrize("lengths", [(4,), (1, 0, 3), (1, 1, 2), (0, 4)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_divided(axis, lengths, device):
    x = torch.rand(4, 4, 4)
    for given in (x, x.permute(2, 0, 1), x > 0.5):
        found = copies.divided(given.to(device), lengths, axis)
        for part, want in zip(found, given.split(lengths, axis), strict=True):
            assert part.is_contiguous() and torch.equal(part.cpu(), want)
    many = torch.arange(3 * 21).view(3, 21)
    assert [p.tolist() for p in copies.divided(many.to(device), (1,) * 21, 1)] == [p.tolist() for p in many.split(1, 1)]
    assert [tuple(p.shape) for p in copies.divided(x[:0].to(device), (1, 3), 1)] == [(0, 1, 4), (0, 3, 4)]


@pytest.mark.parametrize("shift", [0, 1, -1, 3, 7, -8])
def test_roll(shift, device):
    x = torch.arange(3 * 500 * 2).view(3, 500, 2)
    for given, axis in ((x, 1), (x, -1), (x.permute(2, 1, 0), 0), (x % 3 == 0, 1), (x[:, :0], 1), (x[:, :0], 0)):
        assert torch.equal(copies.roll(given.to(device), shift, axis).cpu(), given.roll(shift, axis))


def test_what_lies_between_stays(device):
    whole = torch.full((4, 6), 7.0, device=device)
    copies.write_(whole[1:3, 1:6:2], torch.zeros(3, device=device))
    want = torch.full((4, 6), 7.0)
    want[1:3, 1:6:2] = 0
    assert torch.equal(whole.cpu(), want)


OTHER = torch.rand(3, 4)
SHAPES = {
    "cast": lambda s, x: s.cast(x, "int32"),
    "clone": lambda s, x: s.clone(x.T),
    "part": lambda s, x: s.copy_part(x, 1, 1, 2),
    "backwards": lambda s, x: s.take_part(x, (slice(None, None, -1), slice(3, 0, -2))),
    "put": lambda s, x: s.put_part(x, (slice(1, 4), slice(None, None, 2)), (5, 8)),
    "put backwards": lambda s, x: s.put_part(x, (slice(3, 0, -1),), (5, 4)),
    "concat": lambda s, x: s.concat([x, OTHER], 1),
    "with room": lambda s, x: s.grown(s.concat([x, x], 0, 4), [x, x[:1]], 0),
    "set part": lambda s, x: s.set_part(x, x[:2], (slice(2, 0, -1),)),
    "split": lambda s, x: torch.cat([t.reshape(-1) for t in s.split(x, (1, 3), 1)]),
    "roll": lambda s, x: s.roll(x, (1, -2), (0, 1)),
    "stack": lambda s, x: s.stack([x, OTHER, x], 1),
    "flip": lambda s, x: s.flip(x, (0, 1)),
    "tile": lambda s, x: s.tile(x, (2, 1, 3)),
    "tile of fewer": lambda s, x: s.tile(x, (3,)),
    "pad": lambda s, x: s.pad_constant(x, ((1, 0), (2, 3)), 5.0),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    """What moves memory gives on the Triton way what it gives on the CPU."""
    x = torch.rand(3, 4) * 9
    want = SHAPES[name](kernels.shape, x)
    with kernels.using("triton"):
        found = SHAPES[name](kernels.shape, x)
    assert torch.equal(found, want) and found.dtype is want.dtype


def _on_the_triton_way(name):
    def sample():
        with kernels.using("triton"):
            SHAPES[name](kernels.shape, MADE)

    return sample


MADE = torch.zeros(3, 4)


def test_what_lies_so_is_returned(device):
    x = torch.ones(3, 4, device=device)
    assert copies.contiguous(x) is x


@pytest.mark.parametrize("backend", [cpu_copies, copies])
@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.uint8, torch.bool])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4, 5), (0, 3), (1500,)])
def test_memory_at_an_address(shape, dtype, write, backend, device):
    if backend is cpu_copies and device != "cpu":
        pytest.skip("the CPU's function moves the CPU's memory")
    here = (torch.rand(shape, device=device) * 9).to(dtype)
    there = (torch.rand(shape, device=device) * 9).to(dtype)
    if here.dim() == 4:
        here, there = (t.to(memory_format=torch.channels_last) for t in (here, there))
    want = (here if write else there).clone()
    address = torch.tensor([[7, 7], [there.data_ptr(), 7]], device=device)[1, :1]
    backend.at_address_(here, address, write)
    assert torch.equal(here, want) and torch.equal(there, want)


PLACE = torch.zeros(3, 4)
SAMPLES = [
    lambda: copies.contiguous(torch.zeros(3, 4).T),
    lambda: copies.contiguous(torch.zeros(2, 3, 4).movedim(1, 2)),
    lambda: copies.at_address_(torch.zeros(3, 4), torch.tensor([PLACE.data_ptr()]), True),
    lambda: copies.at_address_(torch.zeros(3, 4), torch.tensor([PLACE.data_ptr()]), False),
    lambda: copies.cast(torch.zeros(3, 4), torch.bfloat16),
    lambda: copies.cast(torch.zeros(3, 4), torch.bool),
    lambda: copies.cast(torch.zeros(3, 4).T, torch.int8),
    lambda: copies.flip(torch.zeros(3, 4), (1,)),
    lambda: copies.joined([torch.zeros(3, 4), torch.zeros(3, 2), torch.zeros(3, 5)], 1),
    lambda: copies.joined([torch.zeros(3, 4, dtype=torch.bool)] * 11, 0),
    lambda: copies.joined([torch.zeros(2, 4, 5, 3).permute(0, 3, 1, 2)] * 2, 1),
    lambda: copies.contiguous(torch.zeros(2, 3, 2, 3, 2, 3).permute(5, 3, 1, 4, 2, 0)),
    lambda: copies.divided(torch.zeros(3, 4), (1, 3), 1),
    lambda: copies.roll(torch.zeros(3, 4), 1, 0),
    lambda: copies.add_(torch.zeros(3, 8)[:, ::2], torch.zeros(4)),
    lambda: copies.write_(torch.zeros(3, 8)[:, ::2], torch.zeros(4, dtype=torch.int32)),
    *map(
        _on_the_triton_way,
        (
            "concat",
            "with room",
            "stack",
            "flip",
            "tile",
            "part",
            "put backwards",
            "cast",
            "clone",
            "pad",
            "set part",
            "split",
            "roll",
        ),
    ),
]

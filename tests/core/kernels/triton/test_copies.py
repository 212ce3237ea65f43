"""Copies in another order, against torch's, and to addresses."""

import pytest
import torch

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
    "no elements": lambda x: x[:, :0, 0].transpose(0, 3),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool])
@pytest.mark.parametrize("name", VIEWS)
def test_contiguous(name, dtype, device):
    view = VIEWS[name](X.to(dtype).to(device))
    copy = copies.contiguous(view)
    assert copy.is_contiguous() and copy.dtype is dtype and torch.equal(copy, view)


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
]

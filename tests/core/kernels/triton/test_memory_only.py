"""In the Triton backend torch allocates, views and copies memory; every computed number comes out of a kernel.

Each kernel family's test module here lists sample calls in SAMPLES (functions without arguments that return nothing of
interest); each runs under a recorder of ATen calls, which fails on any call of ours that is not about memory. The interpreter reaches memory through NumPy and addresses and calls no ATen
operator of its own but those that move tensors to where it can see them, which are about memory too.
"""

import importlib
import sys
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from core.kernels.cpu import copies

_TESTS = str(Path(__file__).parents[3])
# Allocation, views, copies of memory as it lies; `cat` of the states of recurrent layers.
ALLOWED = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided",
    "view", "_unsafe_view", "_reshape_alias", "reshape", "as_strided", "alias", "detach", "permute", "transpose", "t",
    "expand", "squeeze", "squeeze_", "unsqueeze", "unsqueeze_", "select", "slice", "narrow", "unbind", "split",
    "split_with_sizes", "unfold", "view_as_real", "movedim", "flatten", "unflatten", "broadcast_to", "lift_fresh",
    "set_", "resize_", "clone", "_lazy_clone", "copy_", "contiguous", "cat", "_local_scalar_dense",
}  # fmt: skip


class Recorder(TorchDispatchMode):
    """Collects the ATen operators that are called inside the block, but for what tests call themselves."""

    def __init__(self):
        super().__init__()
        self.called = set()

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # torch would put functions of its own between the caller and this

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        caller = sys._getframe(1)
        while caller.f_code.co_name == "__torch_dispatch__":
            caller = caller.f_back
        if not caller.f_code.co_filename.startswith(_TESTS):
            name = function.overloadpacket.__name__
            self.called.add(f"{name} in another order" if name in ("clone", "copy_") and reorders(*args) else name)
        return function(*args, **(kwargs or {}))


def reorders(x, *others):
    """Whether a copy takes a kernel: elements have gaps between them, or lie otherwise in the other tensor."""
    tensors = [x, *(t for t in others if isinstance(t, torch.Tensor))]
    dense = all(torch.ops.aten.is_non_overlapping_and_dense(t) for t in tensors)
    return not dense or len({(t.dtype, t.shape, t.stride()) for t in tensors if t.numel() > 1}) > 1


def samples():
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path != Path(__file__) and "SAMPLES" in path.read_text():
            module = importlib.import_module(f"tests.core.kernels.triton.{path.stem}")
            for number, sample in enumerate(module.SAMPLES):
                yield pytest.param(sample, id=f"{path.stem.removeprefix('test_')}-{number}")


@pytest.mark.parametrize("sample", list(samples()))
def test_torch_only_moves_memory(sample):
    with Recorder() as recorder:
        sample()
    assert recorder.called <= ALLOWED, sorted(recorder.called - ALLOWED)


def test_the_recorder_sees_arithmetic():
    x = torch.ones(2)
    with Recorder() as recorder:
        copies.add_(x, x)
    assert recorder.called - ALLOWED == {"add_"}

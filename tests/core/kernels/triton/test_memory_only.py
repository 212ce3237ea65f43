"""In the Triton backend torch allocates, views and copies memory; every computed number comes out of a kernel.

Each kernel family's test module here lists sample calls in SAMPLES (functions without arguments that return nothing of
interest, made so that they do no arithmetic of their own); each runs under a recorder of ATen calls, which fails on
any call that is not about memory. The interpreter reaches memory through NumPy and addresses and calls no ATen
operator of its own but those that move tensors to where it can see them, which are about memory too.
"""

import importlib
from pathlib import Path

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

# Allocation, filling with a constant, views, copies within a type; `cat` of the states of recurrent layers.
ALLOWED = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like", "new_zeros",
    "full", "full_like", "new_full", "ones", "ones_like", "new_ones", "fill_", "zero_",
    "view", "_unsafe_view", "_reshape_alias", "reshape", "as_strided", "alias", "detach", "permute", "transpose", "t",
    "expand", "squeeze", "squeeze_", "unsqueeze", "unsqueeze_", "select", "slice", "narrow", "unbind", "split",
    "split_with_sizes", "unfold", "view_as_real", "movedim", "flatten", "unflatten", "broadcast_to", "lift_fresh",
    "set_", "resize_", "clone", "_lazy_clone", "copy_", "contiguous", "cat", "_local_scalar_dense",
}  # fmt: skip


class Recorder(TorchDispatchMode):
    """Collects the ATen operators that are called inside the block."""

    def __init__(self):
        super().__init__()
        self.called = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.called.add(function.overloadpacket.__name__)
        return function(*args, **(kwargs or {}))


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
    import torch

    x = torch.ones(2)
    with Recorder() as recorder:
        x + x
    assert recorder.called - ALLOWED == {"add"}

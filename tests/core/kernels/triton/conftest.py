"""Triton kernels are tested under Triton's interpreter, on the CPU, unless TRITON_INTERPRET=0 asks for a GPU."""

import os
import sys
import warnings
from pathlib import Path

import pytest

from tests.support.interpreter import unusable

# Triton decides when it is imported; a Triton that came earlier without the interpreter is of no use here.
if "triton" not in sys.modules:
    os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture(scope="session")
def device() -> str:
    """Where the tensors of a test live."""
    return "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"


@pytest.fixture
def on_device(device):
    """Tensors of the test are made where the kernels run; the truth is computed on the CPU."""
    import torch

    with torch.device(device), warnings.catch_warnings():
        # The interpreter computes masked lanes with NumPy, which warns of their NaN and infinities.
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@pytest.fixture(autouse=True)
def poison():
    """Memory from torch.empty is filled with NaN (integers: the largest value), so that a place left out shows."""
    import torch

    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _unusable()
    if reason:
        for item in items:
            if item.path.parent == _HERE and item.path.name not in _COMPILED:
                item.add_marker(pytest.mark.skip(reason=reason))


def _unusable() -> str | None:
    import torch

    if os.environ.get("TRITON_INTERPRET") == "1":
        return unusable()
    if torch.cuda.is_available():
        return None
    return "Triton was imported without TRITON_INTERPRET=1 and there is no CUDA device"


_HERE = Path(__file__).parent
_COMPILED = {"test_aot.py", "test_host_time.py", "test_launch.py"}  # in processes of their own

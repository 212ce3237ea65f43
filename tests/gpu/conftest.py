"""What a GPU computes, against the CPU: run by `make gpu`, in minutes.

Each failure stands for itself: a kernel that breaks the device (an address out of bounds) ends its worker, which pytest
replaces, and the tests after it find a whole one.
"""

import os
import sys
import time
from pathlib import Path

import pytest


def pytest_sessionstart(session: pytest.Session) -> None:
    """Called where these tests are what was asked for: without a device that has failed."""
    import torch

    if not torch.cuda.is_available():
        pytest.exit("there is no CUDA device here, so nothing of tests/gpu can be said to work", returncode=2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("TRITON_INTERPRET") == "1":
        for item in items:
            if item.path.is_relative_to(_HERE):
                item.add_marker(pytest.mark.skip(reason="kernels are interpreted in this process; run `make gpu`"))


@pytest.fixture(autouse=True)
def device_is_whole():
    """Kernels fail when somebody waits for them, and from then on every call does."""
    yield
    import torch

    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        sys.stderr.write(f"\n{os.environ.get('PYTEST_CURRENT_TEST')} broke the device: {error}\n")
        sys.stderr.flush()
        time.sleep(1)  # the report of the test is on its way
        os._exit(1)


_HERE = Path(__file__).parent

"""In deterministic mode no kernel adds floating-point numbers by atomics, whose order would change the last bits.

The samples of every room run under a look at the atomic instructions that their kernels have. Integers may be added so:
their sums do not depend on the order.
"""

import pytest
import triton.language as tl
from triton.runtime.interpreter import InterpreterBuilder

from core import kernels, placement
from tests.core.kernels.triton.test_memory_only import samples

ROOMS = ("attention", "index", "vision", "deformable")  # those that have atomics in their usual mode


@pytest.fixture
def atomics(monkeypatch):
    """The types of the numbers that atomic instructions take, as they are met."""
    met, run = set(), InterpreterBuilder.create_atomic_rmw

    def noted(self, operation, pointer, value, *rest):
        met.add(value.dtype.scalar)
        return run(self, operation, pointer, value, *rest)

    monkeypatch.setattr(InterpreterBuilder, "create_atomic_rmw", noted)
    return met


@pytest.mark.parametrize("sample", list(samples()))
def test_no_room_adds_floating_point_numbers_by_atomics(sample, atomics):
    before = kernels.set_deterministic(True)
    try:
        sample()
    finally:
        kernels.set_deterministic(before)
    assert atomics <= {tl.int32, tl.int64}


@pytest.mark.parametrize("value, active", [("1", True), ("0", False), (None, False)])
def test_the_variable_of_mxnet(value, active, monkeypatch):
    monkeypatch.delenv("MXNET_ENFORCE_DETERMINISM", raising=False)
    if value is not None:
        monkeypatch.setenv("MXNET_ENFORCE_DETERMINISM", value)
    assert placement._State().deterministic is active


@pytest.mark.parametrize("room", ROOMS)
def test_the_usual_mode_does(room, atomics):
    for sample in samples():
        if sample.id.startswith(room + "-"):
            sample.values[0]()
    assert tl.float32 in atomics

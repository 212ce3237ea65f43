"""Freed memory is kept for the next arrays until a network begins."""

import subprocess
import sys

import pytest

PROGRAM = """
import core as mx
from core import heap
from gluon import nn

heap._WORTH_TRIMMING = 1 << 27
before = heap.resident()
arrays = [mx.nd.ones((1 << 18,)) for _ in range(400)]
kept = arrays[::40]
del arrays
assert heap.resident() - before > 380 << 20  # MXNet's own memory pool keeps it, too
mx.cpu().empty_cache() if {explicit} else nn.Dense(2).initialize()
assert heap.resident() - before < 60 << 20
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc's heap is told what to keep")
@pytest.mark.parametrize("explicit", [False, True])
def test_freed_memory_goes_back_when_a_network_begins(explicit, root):
    text = PROGRAM.format(explicit=explicit)
    result = subprocess.run([sys.executable, "-c", text], cwd=root, capture_output=True, text=True)
    assert not result.returncode, result.stderr


SHARED = """
import mmap
from core import heap

heap._WORTH_TRIMMING = 1 << 26
memory = mmap.mmap(-1, 1 << 28)  # as workers of a loader share it
memory.write(bytes(1 << 28))
heap.trim = lambda: 1 / 0
heap.settle()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc's heap is told what to keep")
def test_shared_memory_is_not_taken_for_freed_memory(root):
    result = subprocess.run([sys.executable, "-c", SHARED], cwd=root, capture_output=True, text=True)
    assert not result.returncode, result.stderr

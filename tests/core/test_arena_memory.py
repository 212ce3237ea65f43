"""Arrays move into an arena piece by piece: what they had is released on the way."""

import subprocess
import sys

import pytest

PROGRAM = """
from core import nd, optimizer
from core.optimizer.arena import Arena

def megabytes(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(key))

rows = [(i, nd.ones((1024, 1024)), nd.ones((1024, 1024))) for i in range(48)]
updater = optimizer.get_updater(optimizer.create("sgd", learning_rate=0.1))
before = megabytes("VmRSS")
Arena(updater, rows)
print(megabytes("VmHWM") - before, megabytes("VmRSS") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_arena_of_384_mb_takes_the_memory_of_a_part_more(root):
    result = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True, check=True)
    peak, after = map(float, result.stdout.split())
    assert peak < 130 and after < 30

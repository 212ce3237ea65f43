"""The smoke test of a GPU fails where there is no GPU."""

import os
import sys
from pathlib import Path

import pytest

from tests.support import forked

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "command", [["-m", "pytest", "-q", "tests/gpu"], ["scripts/benchmarks/gpu.py", "--smoke", "--jobs", "1"]]
)
def test_without_a_device_it_fails(command):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    result = forked.run([sys.executable, *command], cwd=ROOT, env=environment)
    assert result.returncode == 2 and "no CUDA device" in result.stdout + result.stderr

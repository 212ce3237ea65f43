"""What launchers pass fits their kernels on a GPU too, where arguments are typed and compiled, not interpreted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core import kernels


def test_arguments_fit_the_kernels(root):
    check(root)


def test_replays_launch_what_calls_launch(root):
    rows = check(root, "--replay")
    kinds = rows[-1]
    assert kinds["launched"] == sorted(kernels.WAITING) and len(kinds["replayed"]) > 130


def test_replays_follow_numbers_and_memory(root):
    check(root, program="changing_numbers.py")


def test_bound_plans_launch_what_their_kernels_launch(root):
    assert len(check(root, program="bound_plans.py")) == 10


def test_arguments_of_operators_fit_the_kernels(root):
    assert len(check(root, "--operators")) > 580


def test_products_compile_for_amd(root):
    check(root, "--compile", "--target", "hip:gfx942", "--only", "test_matmul", "test_conv")


def test_numbers_of_one_compile(root):
    """Triton takes them for constants, which have no methods: a loss whose classes are one part."""
    check(root, "--compile", "--only", "test_linear_loss")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942"])
@pytest.mark.parametrize("what", [[], ["--operators"]], ids=["samples", "operators"])
def test_launches_compile(root, what, target):
    check(root, "--compile", "--target", target, *what)


def check(root, *arguments, program="launch_samples.py"):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = str(root)
    path = Path(__file__).with_name(program)
    result = subprocess.run([sys.executable, path, *arguments], capture_output=True, text=True, env=environment)
    rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert rows and result.returncode == 0, result.stderr[-2000:]
    wrong = [f"{row['sample']}: {row['error']}" for row in rows if row.get("error")]
    assert not wrong, "\n".join(wrong)
    return rows

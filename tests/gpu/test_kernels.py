"""The cases of the benchmark of kernels, small, on a GPU: near float64 before anything is timed."""

import argparse

import pytest
import torch

from scripts.benchmarks import kernels as benchmark
from scripts.benchmarks.kernel_case import Lab
from scripts.benchmarks.kernel_cases import cases

pytestmark = pytest.mark.gpu
NAMES = [f"{case.family}: {case.name}" for case in cases(Lab("cpu", torch.float32, tiny=True))]
# A kernel is compiled for a type, not for a shape: one case of a kind is enough.
CHOSEN = [name for name in NAMES if not name.startswith(("convolution", "depthwise"))]
CHOSEN += [
    name for name in NAMES if name.startswith(("convolution", "depthwise")) and name.endswith(("at 56", "at 112"))
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", CHOSEN)
def test_case(name, dtype):
    lab = Lab("cuda", getattr(torch, dtype), tiny=True)
    case = next(case for case in cases(lab) if f"{case.family}: {case.name}" == name)
    error, right = benchmark.check(case, case.make(), argparse.Namespace(dtype=dtype, tf32=False))
    assert right == "yes", f"off by {error:.1e}"

"""Launches and host time of operators, plans and training steps do not grow.

Counted under a GPU that launches nothing (`tests.support.fake_gpu`), in another process, for kernels are interpreted in
this one. Where fewer launches are made, lower the numbers here.
"""

import json
import os
import statistics
import subprocess
import sys

import pytest

OPERATORS = {"Convolution": 3}  # two operands are copied to channels-last; all others 1
LAUNCHES = {
    # forward and training step, eager; the same hybridized
    "LeNet": (12, 45, 10, 46),
    "ResNet-20": (77, 318, 29, 285),  # four gradients of the last stage, behind the mean over places, are laid out anew
    "BERT layer": (23, 77, 16, 71),
    "LSTM": (10, 42, 8, 36),
}


@pytest.fixture(scope="module")
def found(root):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    program = root / "tests/core/kernels/triton/host_time.py"
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.splitlines()[-1])


def test_an_operator_is_one_launch(found):
    for name, count in found["launches"].items():
        assert count <= OPERATORS.get(name, 1), f"{name} makes {count} launches"


@pytest.mark.parametrize("name", LAUNCHES)
def test_launches_of_networks(found, name):
    counts = [found[name][mode][what] for mode in ("eager", "hybrid") for what in ("forward", "step")]
    assert all(count <= limit for count, limit in zip(counts, LAUNCHES[name], strict=True)), counts


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_captured_step_is_three_launches(found, name):
    """The forward part, the backward part and the update; each part has a table written to the device before."""
    assert found["captured"][name] == {"launches": ["graph", "graph", "_update"], "copies": 2}


def test_an_operator_takes_the_time_of_few_launches(found):
    """Host time over that of `kernel[grid](...)`, Triton's own way, in the same process."""
    ratios = found["ratios"]
    assert statistics.median(ratios.values()) <= 2.5 and max(ratios.values()) <= 4, ratios


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_plan_takes_the_time_of_fewer_launches_than_it_makes(found, name):
    """The whole call of a hybridized network, of whose time about a bare launch is the block's and the plan's."""
    counts = found[name]["hybrid"]
    assert counts["bare launches for each of the forward pass"] <= 0.5, counts

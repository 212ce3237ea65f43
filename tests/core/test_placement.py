"""Where tensors may live: a process of a CPU alone does not ask each tensor, until there is one without memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch

PROGRAM = """
import core as mx
from core import kernels, nd, storage
from core.kernels.dispatch import state

x = nd.array([[-1, 2, 3]])
before = nd.relu(x) * 2, nd.tile(x, (1, 2)), x.sum(axis=1), nd.topk(x, k=2), x.reshape((3, 1))
print(state.plain)
with kernels.using("cpu"):
    print(state.plain)
    again = nd.relu(x) * 2, nd.tile(x, (1, 2)), x.sum(axis=1), nd.topk(x, k=2), x.reshape((3, 1))
print(state.plain, all((a.asnumpy() == b.asnumpy()).all() for a, b in zip(before, again)))
empty = nd.NDArray._wrap(storage.meta((2, 3), "float32"), mx.cpu())
print(state.plain)
with kernels.using("cpu"):
    pass
print(state.plain)
for y in (nd.relu(empty) * 2, nd.tile(empty, (1, 2)), empty.sum(axis=1), nd.topk(empty, k=2), empty.reshape((3, 2))):
    print(y._data.is_meta, y.shape)
"""


def test_tensors_are_asked_where_they_live_once_there_is_one_without_memory():
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True, check=True)
    plain = not (torch.version.cuda or torch.version.hip)
    assert done.stdout.splitlines() == [
        f"{plain}", "False", f"{plain} True", "False", "False",
        "True (2, 3)", "True (2, 6)", "True (2,)", "True (2, 2)", "True (3, 2)",
    ]  # fmt: skip

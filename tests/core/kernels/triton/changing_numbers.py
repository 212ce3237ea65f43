"""Calls that are remembered, made with other numbers and memory: a program for test_launch.py.

After a launcher has been called often enough to be replayed, every further call has to launch what the launcher itself
would for the same arguments. One JSON object a case.
"""

import importlib
import inspect
import json
import math
import os

import torch

from core.kernels import dispatch
from core.kernels.formula import Formula
from core.kernels.triton import replay
from tests.core.kernels.triton.launch_samples import Calls
from tests.support.fake_gpu import FakeGpu

os.environ["MXNET_CUDNN_AUTOTUNE_DEFAULT"] = "0"
TWICE = Formula.of(lambda x, *, scalar: x * scalar, name="twice")
X, Y, Z, V = (torch.ones(8, 6) for _ in range(4))
FLAT = torch.zeros(64)
WHOLE = torch.ones(8, 6, dtype=torch.int32)
F, CPU = torch.float32, torch.device("cpu")


def scaled(x, value, dtype=F):
    return (TWICE, (x,), (value,), dtype), {}


CASES = {
    "a rate": ("optimizer.sgd_", [((X, Y, lr), {"wd": wd}) for lr, wd in ((0.1, 0.0), (0.2, 0.0), (1, 0.5), (0.0, -0.0))]),
    "a step": ("optimizer.ftml_", [((X, Y, Z, V, X.clone(), 0.1, t), {}) for t in (1, 2, 3, 77)]),
    "a bound, given or not": (
        "optimizer.adam_", [((X, Y, Z, V, 0.1), {"clip": clip}) for clip in (None, 1.0, -1.0, 0.5, None, 2.0)],
    ),
    "a scalar": ("pointwise.pointwise", [scaled(X, v) for v in (2.0, 3.0, 0.0, -0.0, math.inf, 7, 7.5)]),
    "a scalar of integers": ("pointwise.pointwise", [scaled(WHOLE, v, torch.int32) for v in (2, 3, 16, 1, 3)]),
    "a seed": ("random.uniform", [(((5,), 0.0, 1.0, F, CPU, key), {}) for key in (1, 2, 2**31, 2**62 + 1, 3, 16)]),
    "a range": ("random.uniform", [(((5,), low, 1.0, F, CPU, 3), {}) for low in (0.0, -1.0, -0.0)]),
    "dropout": ("random.dropout", [((X, p, key), {}) for p, key in ((0.5, 1), (0.5, 9), (0.25, 9), (1.0, 3))]),
    "alignment": ("softmax.softmax", [((FLAT[at : at + 16].view(4, 4), 1), {}) for at in (0, 16, 1, 4, 2, 0)]),
    "one operand twice": ("matmul.matmul", [((a, b, False, True), {}) for a, b in ((X, Y), (X, X), (Z, Y))]),
    "parts of one memory": (
        "matmul.matmul", [((FLAT[i : i + 16].view(4, 4), FLAT[j : j + 16].view(4, 4)), {}) for i, j in ((0, 16), (32, 0), (0, 0))],
    ),
    "epsilon": ("norm.layer_norm", [((X, None, None, 1, eps), {}) for eps in (1e-5, 1e-3, 1e-5)]),
}  # fmt: skip


def failure(calls: Calls, name: str, variants: list) -> str | None:
    family, _, kernel = name.partition(".")
    importlib.import_module(f"core.kernels.contracts.{family}")
    function = getattr(importlib.import_module(f"core.kernels.triton.{family}"), kernel)
    memo = replay.Memo(function, inspect.signature(dispatch.KERNELS[name].contract))
    for turn in range(4):
        for args, kwargs in variants:
            plain, again = calls.seen(function, args, kwargs), calls.seen(memo.call, args, kwargs)
            if repr(plain) != repr(again):  # which tells zeros by their signs
                return f"turn {turn}, {kwargs or args}: {again}, not {plain}"[-900:]
    return None if memo.known else "nothing was remembered"


if __name__ == "__main__":
    seen = Calls(FakeGpu("cuda:90").start())
    for case, (kernel_name, given) in CASES.items():
        print(json.dumps({"sample": case, "error": failure(seen, kernel_name, given)}), flush=True)

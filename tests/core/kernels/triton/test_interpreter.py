"""What is left out of Triton's interpreter: checks whose result it drops, and names that are replaced already."""

import pytest
import torch
import triton
import triton.language as tl

from core.kernels.triton._kernel import INTERPRETED

pytestmark = [
    pytest.mark.interpreter,
    pytest.mark.skipif(not INTERPRETED, reason="kernels are compiled here"),
]


@triton.jit
def doubled(x):
    return tl.sum(x + x, axis=0)


@triton.jit
def repeated(source, target, COUNT: tl.constexpr):
    total = 0
    for _ in range(COUNT):
        total += doubled(tl.load(source + tl.arange(0, 4)))
    tl.store(target, total)


def launch(count: int) -> int:
    target = torch.zeros(1, dtype=torch.int32)
    repeated[(1,)](torch.tensor([1, 2, 3, 2**30], dtype=torch.int32), target, count)
    return target.item()


def test_integers_wrap_and_are_computed_once(monkeypatch):
    from triton.runtime import interpreter

    compared = []
    real = interpreter.interpreter_semantic.less_equal
    monkeypatch.setattr(interpreter.interpreter_semantic, "less_equal", lambda *args: compared.append(1) or real(*args))
    assert launch(3) == (36 + 6 * 2**30 + 2**31) % 2**32 - 2**31
    assert not compared


def test_a_launch_replaces_names_once(monkeypatch):
    from triton.runtime import interpreter

    launch(1)
    replaced = []
    real = interpreter._patch_builtin
    monkeypatch.setattr(interpreter, "_patch_builtin", lambda *args: replaced.append(1) or real(*args))
    launch(1)
    once = len(replaced)
    launch(5)
    assert len(replaced) == 2 * once > 0

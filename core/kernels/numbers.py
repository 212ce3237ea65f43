"""Numbers beside tensors on the CPU, as tensors of one element.

ATen makes one of every number that it is given, and another one of the type to compute in: more than half of the time of
a small sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from core.kernels.formula import Expr, Formula

MOST = 1024  # numbers of one type; beyond, all are dropped


class Numbers(dict[float, Any]):
    """What to give ATen for a number: from the second time on a tensor of a type; the number itself before that, for
    those that change from call to call.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype, self._seen = dtype, set[float]()

    def __missing__(self, number: float) -> Any:
        if number and number in self._seen:  # not zeros, which are equal whatever their sign
            made = self[number] = torch.tensor(number, dtype=self._dtype, device="cpu")
            return made
        if len(self._seen) == MOST:
            self._seen.clear()
            self.clear()
        self._seen.add(number)
        return number


class _Same:
    def __getitem__(self, number: float) -> float:
        return number


class _ByType(dict[torch.dtype, Any]):
    def __missing__(self, dtype: torch.dtype) -> _Same:  # in which ATen computes with numbers in another way
        same = self[dtype] = _Same()
        return same


NUMBERS: Mapping[torch.dtype, Any] = _ByType({kind: Numbers(kind) for kind in (torch.float32, torch.float64)})


def takes_tensor(formula: Formula | None) -> bool:
    """Whether a formula of a tensor and a number is the same if the number is a tensor: one step of arithmetic."""
    if formula is None or formula.root.op not in ("add", "sub", "mul", "div"):
        return False
    operands = [a.op for a in formula.root.args if isinstance(a, Expr)]
    return operands == ["input", "attr"] or (formula.root.op == "sub" and operands == ["attr", "input"])

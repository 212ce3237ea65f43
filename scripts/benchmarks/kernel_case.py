"""A case of the benchmark of kernels, what it is run on, and the bars of the families of cases.

A case is the same function twice, ours and PyTorch's, over the same inputs. PyTorch's in float64 is the truth too,
except where a case brings its own: where PyTorch computes something else, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Bar:
    """`least` is what the speed has to reach, as a share of that `of` which: "torch" or "floor" (of the hardware)."""

    of: str
    least: float
    each: bool = True  # every case, or the geometric mean of the family


# Faster is a share above 1.
BARS = {
    "matmul": Bar("torch", 0.95),
    "linear with bias and gelu": Bar("torch", 1.0),
    "convolution": Bar("torch", 0.95, each=False),
    "convolution and batch norm": Bar("torch", 1.0),
    "depthwise convolution": Bar("torch", 1.0),
    "pointwise": Bar("floor", 0.90),
    "rows": Bar("floor", 0.90),
    "layer norm": Bar("floor", 0.90),
    "batch norm": Bar("floor", 0.90),
    "softmax": Bar("floor", 0.90),
    "cross-entropy": Bar("floor", 0.90),
    "linear cross-entropy": Bar("torch", 0.75),  # of whose operations it does four for three, in little memory
    "dropout": Bar("floor", 0.90),
    "embedding gradient": Bar("floor", 0.90),
    "reduction": Bar("floor", 0.90),
    "transpose": Bar("floor", 0.90),
    "optimizer": Bar("floor", 0.90),
    "attention": Bar("torch", 0.95),
    "lstm": Bar("torch", 0.8),
    "detection": Bar("torch", 1.0),
    "linear algebra": Bar("torch", 1.0),
    "deterministic": Bar("torch", 1 / 1.2),
}


@dataclass
class Case:
    """`ours` and `theirs` take the inputs that `make` draws and return a tensor or a tuple of them.

    truth: the same from inputs in float64, where `theirs` is not. flops: multiplications and additions, counted
    singly; 0 where memory decides. reread: how often the inputs have to be read from memory, for the floor.
    """

    family: str
    name: str
    make: Callable[[], tuple]
    ours: Callable
    theirs: Callable | None
    truth: Callable | None = None
    flops: float = 0
    reread: int = 1


@dataclass(frozen=True)
class Lab:
    """Where tensors live, their type, and whether extents are cut to what an interpreter can do."""

    device: str
    dtype: torch.dtype
    tiny: bool

    def extent(self, full: int, tiny: int) -> int:
        return min(full, tiny) if self.tiny else full

    def draw(self, *shape: int, scale: float = 1.0, dtype: torch.dtype | None = None) -> torch.Tensor:
        return (torch.randn(shape, device=self.device) * scale).to(dtype or self.dtype)

    def below(self, n: int, *shape: int) -> torch.Tensor:
        return torch.randint(0, n, shape, device=self.device)


BYTES = 256 << 20


def table(lab: Lab, columns: int = 1024) -> tuple[int, int]:
    """(rows, columns) of 256 MB."""
    if lab.tiny:
        return 13, min(columns, 70)
    return BYTES // lab.dtype.itemsize // columns, columns

"""The operator table: importing this package enters every family."""

import importlib

from core.ops.registry import TABLE, F, Operator, get

FAMILIES = (
    "create", "elementwise", "shape", "parts", "reduce", "matrix", "sparse", "index", "order", "nn", "softmax", "norm",
    "rnn", "random", "optimizer", "output", "ctc", "deformable", "image", "linalg", "attention", "sliding_window",
    "np_elementwise", "np_reduce", "np_shape", "np_index", "vision", "columns", "position_sensitive", "boxes", "contrib",
    "quantized", "intgemm", "spectral", "control_flow", "loops", "plan",
)  # fmt: skip
for _family in FAMILIES:
    importlib.import_module(f"core.ops.{_family}")

__all__ = ["FAMILIES", "TABLE", "F", "Operator", "get"]

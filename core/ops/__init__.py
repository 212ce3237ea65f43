"""The operator table: importing this package enters every family."""

from core.ops import (
    create,
    elementwise,
    image,
    index,
    matrix,
    nn,
    norm,
    np_elementwise,
    np_reduce,
    np_shape,
    order,
    random,
    reduce,
    rnn,
    shape,
)
from core.ops.registry import TABLE, F, Operator, get

__all__ = [
    "TABLE", "F", "Operator", "create", "elementwise", "get", "image", "index", "matrix", "nn", "norm", "np_elementwise", "np_reduce", "np_shape", "order", "random", "reduce",
    "rnn", "shape",
]  # fmt: skip

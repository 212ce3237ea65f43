"""Rules for the kernels of `pointwise` on tensors without memory."""

from core import storage
from core.kernels.meta.base import broadcast, empty, enter


@enter("pointwise")
def pointwise(formula, tensors, attrs, dtype):
    if formula.root.op == "input":  # the operand itself
        x = tensors[formula.root.args[0]]
        return x if x.dtype is dtype else empty(x.shape, dtype, x)
    shape = broadcast([t.shape for t in tensors])
    whole = next((t for t in tensors if t.shape == shape), None)
    return empty(shape, dtype, whole)


@enter("pointwise")
def pointwise_rows(program, tensors):
    return tuple(empty(r.shape, storage.TORCH[r.dtype]) for r in program.results)

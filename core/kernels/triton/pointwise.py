"""Pointwise formulas as Triton kernels, generated from the expression graph.

Floor: one read of every operand and one write of the result, so their bytes over the memory's bandwidth. One kernel
serves a formula for one rank and one set of types; operands that lie alike in memory are walked as flat vectors, others
by strides (0 where an operand is broadcast), after axes that all operands step through evenly have been merged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import triton

from core.kernels.formula import CONSTRUCTORS, Formula, postorder
from core.kernels.row_program import RowProgram
from core.kernels.triton import _row_kernels
from core.kernels.triton._generated import LANGUAGE, kernel_of, statements
from core.kernels.triton._layouts import merged
from core.kernels.triton._recording import as_float
from core.kernels.triton.aot import AotCase

BLOCK, WARPS = 1024, 4
INT32_REACH = 2**31 - 1
INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
TYPES = {
    torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.float64: "fp64", torch.int8: "i8",
    torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8", torch.bool: "u1",
}  # fmt: skip


def pointwise(formula: Formula, tensors: Sequence[torch.Tensor], attrs: Sequence[float], dtype: torch.dtype):
    out, sizes, strides = _layout(tensors, dtype)
    count = out.numel()
    if count == 0:
        return out
    wide = _compute_type(formula, [t.dtype for t in tensors])
    reach = max(sum((n - 1) * abs(s) for n, s in zip(sizes, one, strict=True)) for one in [*strides, (0,) * len(sizes)])
    large = max(count + BLOCK, reach) > INT32_REACH
    kernel = _kernel(formula, len(sizes), wide, dtype is torch.bool, large)
    scalars = []
    for value in attrs:
        if wide == "fp64":  # a launch passes float32, so a float64 goes as the sum of two
            high = float(torch.tensor(value, dtype=torch.float32)) if math.isfinite(value) else float(value)
            scalars += [high, float(value) - high if math.isfinite(value) else 0.0]
        else:
            scalars.append(as_float(value) if wide == "fp32" else int(value))
    operands = [t.view(torch.uint8) if t.dtype is torch.bool else t for t in (*tensors, out)]
    kernel[(triton.cdiv(count, BLOCK),)](
        *operands, count, *sizes[1:], *[s for one in strides for s in one], *scalars, BLOCK=BLOCK, num_warps=WARPS
    )
    return out


def pointwise_rows(program: RowProgram, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return _row_kernels.run(program, tensors)


def _layout(tensors: Sequence[torch.Tensor], dtype: torch.dtype):
    """The empty result, the lengths of the merged axes, and the strides of each operand along them."""
    shape = torch.broadcast_shapes(*[t.shape for t in tensors])
    first = next((t for t in tensors if t.shape == shape and _dense(t)), None)
    if first is None:
        out, order = torch.empty(shape, dtype=dtype, device=tensors[0].device), range(len(shape))
    else:  # the result lies as that operand does, in whatever order of axes, and is walked in the order of memory
        out = torch.empty_strided(shape, first.stride(), dtype=dtype, device=first.device)
        order = sorted(range(len(shape)), key=first.stride().__getitem__, reverse=True)
    strides = [t.expand(shape).stride() for t in tensors]
    return out, *merged([shape[a] for a in order], [[one[a] for a in order] for one in strides])


def _dense(t: torch.Tensor) -> bool:
    """Whether the elements fill their memory without gaps, in some order of the axes."""
    expected = 1
    for stride, n in sorted(zip(t.stride(), t.shape, strict=True)):
        if n != 1:
            if stride != expected:
                return False
            expected *= n
    return True


# Steps whose value is a fraction even for integer operands.
_FRACTIONAL = frozenset(
    "div exp exp2 log log2 log10 log1p expm1 sqrt rsqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfinv "
    "lgamma digamma polygamma1 polygamma2 sigmoid atan2 hypot ldexp".split()
)


def _compute_type(formula: Formula, dtypes: Sequence[torch.dtype]) -> str:
    """The type in which a kernel computes: float32 for halves, the widest of the operands otherwise."""
    if torch.float64 in dtypes:
        return "fp64"
    if any(d not in INTEGERS for d in dtypes):
        return "fp32"
    nodes = postorder([formula.root])
    if any(n.op in _FRACTIONAL or (n.op == "const" and isinstance(n.args[0], float)) for n in nodes):
        return "fp64" if torch.int64 in dtypes else "fp32"
    return "i64" if torch.int64 in dtypes else "i32"


# ----------------------------------------------------------------------------------------------
# Generation


def _kernel(formula: Formula, rank: int, wide: str, truth: bool, large: bool):
    key = ("triton", rank, wide, truth, large)
    made = formula.compiled.get(key)
    if made is None:
        made = formula.compiled[key] = kernel_of(_source(formula, rank, wide, truth, large))
    return made


def _source(formula: Formula, rank: int, wide: str, truth: bool = False, large: bool = False) -> str:
    """Python source of the kernel of a formula for operands of `rank` merged axes, computing in `wide`."""
    n = len(formula.inputs)
    arguments = [f"x{i}" for i in range(n)] + ["out", "count"]
    arguments += [f"size{a}" for a in range(1, rank)]
    arguments += [f"stride{i}_{a}" for i in range(n) for a in range(rank)]
    for attr in formula.attrs:
        arguments += [f"{attr}_high", f"{attr}_low"] if wide == "fp64" else [attr]
    body = ["program = tl.program_id(0)" + (".to(tl.int64)" if large else "")]
    body += ["position = program * BLOCK + tl.arange(0, BLOCK)", "inside = position < count"]
    if rank > 1:
        body.append("rest = position")
        for a in range(rank - 1, 0, -1):
            body += [f"at{a} = rest % size{a}", f"rest = rest // size{a}"]
        body.append("at0 = rest")
    compute = f"tl.{LANGUAGE[wide]}"
    for i in range(n):
        offset = f"position * stride{i}_0" if rank == 1 else " + ".join(f"at{a} * stride{i}_{a}" for a in range(rank))
        body.append(f"v{i} = tl.load(x{i} + {offset}, mask=inside, other=1).to({compute})")
    for attr in formula.attrs:
        if wide == "fp64":
            body.append(f"a_{attr} = ({attr}_high * (position * 0 + 1).to({compute})) + {attr}_low")
        else:
            body.append(f"a_{attr} = ({attr} * (position * 0 + 1)).to({compute})")
    lines, (result,) = statements([formula.root], "[BLOCK]", compute, wide)
    body += [*lines, f"result = ({result} != 0).to(tl.uint8)" if truth else f"result = {result}"]
    body.append("tl.store(out + position, result.to(out.dtype.element_ty), mask=inside)")
    return "\n".join(
        [f"def kernel({', '.join(arguments)}, BLOCK: tl.constexpr):", *("    " + line for line in body), ""]
    )


def _aot() -> list[AotCase]:
    """A short chain and a long one, flat and broadcast, in the types that matter."""
    gelu = Formula.of(lambda x: 0.5 * x * (1.0 + CONSTRUCTORS["erf"](x * 0.7071067811865476)), name="gelu")
    add = Formula.of(lambda a, b: a + b, name="add")
    cases = []
    for formula, rank in ((gelu, 1), (add, 1), (add, 2), (add, 4)):
        kernel = _kernel(formula, rank, "fp32", False, False)
        for kind in ("*fp32", "*bf16"):
            signature = {f"x{i}": kind for i in range(len(formula.inputs))} | {"out": kind, "count": "i32"}
            signature |= {f"size{a}": "i32" for a in range(1, rank)}
            signature |= {f"stride{i}_{a}": "i32" for i in range(len(formula.inputs)) for a in range(rank)}
            cases.append(AotCase(kernel, signature, {"BLOCK": BLOCK}, num_warps=WARPS, num_stages=1))
    return cases


AOT = _aot()

"""Pointwise formulas as Triton kernels, generated from the expression graph.

Floor: one read of every operand and one write of the result, so their bytes over the memory's bandwidth. One kernel
serves a formula for one rank and one set of types; operands that lie alike in memory are walked as flat vectors, others
by strides (0 where an operand is broadcast), after axes that all operands step through evenly have been merged.
"""

from __future__ import annotations

import hashlib
import linecache
import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from core.kernels.formula import CONSTRUCTORS, PREDICATES, Expr, Formula, postorder
from core.kernels.triton import functions
from core.kernels.triton.aot import AotCase

BLOCK, WARPS = 1024, 4
INT32_REACH = 2**31 - 1
INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
TYPES = {
    torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.float64: "fp64", torch.int8: "i8",
    torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8", torch.bool: "u1",
}  # fmt: skip
LANGUAGE = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i32": "int32", "i64": "int64",
            "i8": "int8", "i16": "int16", "u8": "uint8", "u1": "int1"}  # fmt: skip


def pointwise(formula: Formula, tensors: Sequence[torch.Tensor], attrs: Sequence[float], dtype: torch.dtype):
    """`formula` applied to broadcast `tensors`, with `attrs` in the formula's order; the result has `dtype`."""
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
            scalars.append(float(value) if wide == "fp32" else int(value))
    operands = [t.view(torch.uint8) if t.dtype is torch.bool else t for t in (*tensors, out)]
    kernel[(triton.cdiv(count, BLOCK),)](
        *operands, count, *sizes[1:], *[s for one in strides for s in one], *scalars, BLOCK=BLOCK, num_warps=WARPS
    )
    return out


def pointwise_reduce(
    formula: Formula, tensors: Sequence[torch.Tensor], combine: str, axes: Sequence[int], keepdims: bool
):
    """`combine` ("sum", "mean", "max" or "min") over the last `axes` of `formula` applied to broadcast `tensors`.

    Results have the dtype of the tensors, floating point and one for all. One program a row; one read of every operand.
    """
    shape = torch.broadcast_shapes(*[t.shape for t in tensors])
    kept, reduced = shape[: len(shape) - len(axes)], shape[len(shape) - len(axes) :]
    rows, columns = math.prod(kept), math.prod(reduced)
    out = torch.empty((*kept, *[1] * len(axes)) if keepdims else kept, dtype=tensors[0].dtype, device=tensors[0].device)
    if rows == 0:
        return out
    operands = [t.expand(shape).reshape(rows, columns) for t in tensors]
    kernel = _reduce_kernel(formula, _compute_type(formula, [t.dtype for t in tensors]), combine)
    block = min(triton.next_power_of_2(columns), BLOCK)
    strides = [s for t in operands for s in t.stride()]
    kernel[(rows,)](*operands, out, columns, *strides, BLOCK=block, num_warps=WARPS)
    return out


def _layout(tensors: Sequence[torch.Tensor], dtype: torch.dtype):
    """The empty result, the lengths of the merged axes, and the strides of each operand along them."""
    shape = torch.broadcast_shapes(*[t.shape for t in tensors])
    first = next((t for t in tensors if t.shape == shape), None)
    alike = first is not None and all(t.shape == shape and t.stride() == first.stride() for t in tensors)
    if alike and _dense(first):  # flat, in whatever order of axes the operands share
        out = torch.empty_strided(shape, first.stride(), dtype=dtype, device=first.device)
        return out, [out.numel()], [[1]] * len(tensors)
    out = torch.empty(shape, dtype=dtype, device=tensors[0].device)
    sizes, strides = [1], [[0] for _ in tensors]
    wide = [t.expand(shape).stride() for t in tensors]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        if all(one[-1] == w[axis] * n for one, w in zip(strides, wide, strict=True)) and sizes != [1]:
            sizes[-1] *= n
            for one, w in zip(strides, wide, strict=True):
                one[-1] = w[axis]
        elif sizes == [1]:
            sizes, strides = [n], [[w[axis]] for w in wide]
        else:
            sizes.append(n)
            for one, w in zip(strides, wide, strict=True):
                one.append(w[axis])
    return out, sizes, strides


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
    "div exp exp2 log log2 log10 log1p expm1 sqrt rsqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfinv "
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
        made = formula.compiled[key] = _compile(_source(formula, rank, wide, truth, large))
    return made


def _reduce_kernel(formula: Formula, wide: str, combine: str):
    key = ("triton", combine, wide)
    made = formula.compiled.get(key)
    if made is None:
        made = formula.compiled[key] = _compile(_reduce_source(formula, wide, combine))
    return made


def _compile(text: str):
    """The kernel of a generated source; triton reads it back through linecache."""
    name = f"<pointwise {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"triton": triton, "tl": tl, "functions": functions, "__name__": __name__}
    exec(compile(text, name, "exec"), scope)
    return triton.jit(scope["kernel"])


def _source(formula: Formula, rank: int, wide: str, truth: bool = False, large: bool = False) -> str:
    """Python source of the kernel of a formula for operands of `rank` merged axes, computing in `wide`."""
    n = len(formula.inputs)
    arguments = [f"x{i}" for i in range(n)] + ["out", "count"]
    arguments += [f"size{a}" for a in range(1, rank)]
    arguments += [f"stride{i}_{a}" for i in range(n) for a in range(rank)]
    for attr in formula.attrs:
        arguments += [f"{attr}_high", f"{attr}_low"] if wide == "fp64" else [attr]
    body = ["program = tl.program_id(0)" + (".to(tl.int64)" if large else "")]
    body += ["place = program * BLOCK + tl.arange(0, BLOCK)", "inside = place < count"]
    if rank > 1:
        body.append("rest = place")
        for a in range(rank - 1, 0, -1):
            body += [f"at{a} = rest % size{a}", f"rest = rest // size{a}"]
        body.append("at0 = rest")
    compute = f"tl.{LANGUAGE[wide]}"
    for i in range(n):
        offset = f"place * stride{i}_0" if rank == 1 else " + ".join(f"at{a} * stride{i}_{a}" for a in range(rank))
        body.append(f"v{i} = tl.load(x{i} + {offset}, mask=inside, other=1).to({compute})")
    for attr in formula.attrs:
        if wide == "fp64":
            body.append(f"a_{attr} = ({attr}_high * (place * 0 + 1).to({compute})) + {attr}_low")
        else:
            body.append(f"a_{attr} = ({attr} * (place * 0 + 1)).to({compute})")
    lines, result, is_truth = _expression(formula.root, compute, wide)
    body += lines
    if truth:
        body.append(f"result = {result}.to(tl.uint8)" if is_truth else f"result = ({result} != 0).to(tl.uint8)")
    else:
        body.append(f"result = ({result}).to({compute})" if is_truth else f"result = {result}")
    body.append("tl.store(out + place, result.to(out.dtype.element_ty), mask=inside)")
    return "\n".join(
        [f"def kernel({', '.join(arguments)}, BLOCK: tl.constexpr):", *("    " + line for line in body), ""]
    )


def _reduce_source(formula: Formula, wide: str, combine: str) -> str:
    """Python source of the kernel that reduces a formula without attributes over each row of its operands."""
    n, compute = len(formula.inputs), f"tl.{LANGUAGE[wide]}"
    arguments = [f"x{i}" for i in range(n)] + ["out", "columns"]
    arguments += [f"{kind}{i}" for i in range(n) for kind in ("row_stride", "stride")]
    extremum = combine in ("max", "min")
    identity = {"max": "float('-inf')", "min": "float('inf')"}.get(combine, "0")
    loop = ["place = first + tl.arange(0, BLOCK)", "inside = place < columns"]
    for i in range(n):
        loop.append(
            f"v{i} = tl.load(x{i} + row * row_stride{i} + place * stride{i}, mask=inside, other=1).to({compute})"
        )
    lines, result, _ = _expression(formula.root, compute, wide)
    loop += [*lines, f"found = tl.where(inside, ({result}).to({compute}), {identity})"]
    loop.append(
        f"total = tl.{combine}imum(total, found, propagate_nan=tl.PropagateNan.ALL)" if extremum else "total += found"
    )
    body = ["row = tl.program_id(0).to(tl.int64)", f"total = tl.full([BLOCK], {identity}, {compute})"]
    body += ["for first in range(0, columns, BLOCK):", *("    " + line for line in loop)]
    if extremum:  # Triton's own reductions pass over NaN
        body.append("nan = tl.sum((total != total).to(tl.int32), 0) > 0")
        body.append(f"result = tl.where(nan, float('nan'), tl.{combine}(total, 0))")
    else:
        body.append("result = tl.sum(total, 0)" + (" / columns" if combine == "mean" else ""))
    body.append("tl.store(out + row, result.to(out.dtype.element_ty))")
    return "\n".join(
        [f"def kernel({', '.join(arguments)}, BLOCK: tl.constexpr):", *("    " + line for line in body), ""]
    )


INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
         "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>"}  # fmt: skip
NATIVE = "exp exp2 log log2 sqrt sin cos erf floor ceil abs".split()
TRUTHS = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}


def _expression(root: Expr, compute: str, wide: str) -> tuple[list[str], str, bool]:
    """Statements that compute `root`, the name of its value, and whether that is a truth value."""
    names: dict[int, str] = {}
    lines: list[str] = []
    whole = wide in ("i32", "i64")
    for node in postorder([root]):
        op = node.op
        if op == "input":
            names[id(node)] = f"v{node.args[0]}"
            continue
        if op == "attr":
            names[id(node)] = f"a_{node.args[0]}"
            continue
        if op == "const":
            names[id(node)] = f"tl.full([BLOCK], {_literal(node.args[0])}, {compute})"
            continue
        operands = [a for a in node.args if isinstance(a, Expr)]
        values = []
        for a in operands:
            value = names[id(a)]
            truth = a.op in PREDICATES
            if op in TRUTHS or op == "logical_not" or (op == "where" and not values):
                values.append(value if truth else f"({value} != 0)")
            else:
                values.append(f"{value}.to({compute})" if truth else value)
        name = f"t{len(lines)}"
        lines.append(f"{name} = {_step(op, values, node, whole, compute)}")
        names[id(node)] = name
    return lines, names[id(root)], root.op in PREDICATES


def _step(op: str, v: list[str], node: Expr, whole: bool, compute: str) -> str:
    if op in INFIX:
        return f"{v[0]} {INFIX[op]} {v[1]}"
    if op in TRUTHS:
        return f"{v[0]} {TRUTHS[op]} {v[1]}"
    if op in ("floor", "ceil", "rint", "trunc", "round_away") and whole:
        return v[0]
    if op in NATIVE:
        return f"tl.{op}({v[0]})"
    if op == "logical_not":
        return f"{v[0]} == 0"
    if op == "neg":
        return f"-{v[0]}"
    if op == "rsqrt":
        return f"1.0 / tl.sqrt({v[0]})"
    if op == "where":
        return f"tl.where({', '.join(v)})"
    if op == "cast":
        return f"{v[0]}.to(tl.{node.args[1]}).to({compute})"
    if op in ("maximum", "minimum"):
        nan = "" if whole else ", propagate_nan=tl.PropagateNan.ALL"
        return f"tl.{op}({v[0]}, {v[1]}{nan})"
    if op in ("fmax", "fmin"):
        return f"tl.{'maximum' if op == 'fmax' else 'minimum'}({v[0]}, {v[1]})"
    if op == "isnan":
        return f"{v[0]} != {v[0]}"
    if op == "isinf":
        return f"tl.abs({v[0]}) == float('inf')" if not whole else f"{v[0]} != {v[0]}"
    if op == "isfinite":
        return f"tl.abs({v[0]}) < float('inf')" if not whole else f"{v[0]} == {v[0]}"
    if op == "bitwise_not":
        return f"~{v[0]}"
    if op == "ldexp":
        return f"{v[0]} * tl.exp2({v[1]})"
    if op == "floordiv" and not whole:
        return f"tl.floor({v[0]} / {v[1]})"
    function = {"pow": "power"}.get(op, op)
    if whole and function in ("power", "mod", "fmod", "floordiv"):
        function += "_int"
    if not hasattr(functions, function):
        raise NotImplementedError(f"the Triton wing has no function {op!r}")
    return f"functions.{function}({', '.join(v)})"


def _literal(value) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)


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
    for combine in ("sum", "max"):
        kernel = _reduce_kernel(gelu, "fp32", combine)
        for kind in ("*fp32", "*bf16"):
            signature = {"x0": kind, "out": kind, "columns": "i32", "row_stride0": "i32", "stride0": "i32"}
            cases.append(AotCase(kernel, signature, {"BLOCK": BLOCK}, num_warps=WARPS, num_stages=1))
    return cases


AOT = _aot()

"""Source of kernels: what is generated for every kind of formula, and how source becomes a kernel."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Sequence

import triton
import triton.language as tl

from core.kernels.formula import PREDICATES, REDUCTIONS, Expr, literal, postorder
from core.kernels.triton import _row_reductions, functions
from core.kernels.triton._kernel import jit

LANGUAGE = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i32": "int32", "i64": "int64",
            "i8": "int8", "i16": "int16", "u8": "uint8", "u1": "int1"}  # fmt: skip


def kernel_of(text: str):
    """The kernel of a generated source; triton reads it back through linecache."""
    name = f"<pointwise {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"triton": triton, "tl": tl, "functions": functions, "reductions": _row_reductions, "__name__": __name__}
    exec(compile(text, name, "exec"), scope)
    return jit(scope["kernel"])


def statements(roots: Sequence[Expr], block: str, compute: str, wide: str) -> tuple[list[str], list[str]]:
    """Lines that compute `roots`, and what their values are called; truth values are numbers in the end.

    Operands are v0, v1, ..., attributes a_NAME. block: the shape of constants. compute: the type of all values, in
    Triton's language; wide: the same in short.
    """
    names: dict[int, str] = {}
    lines: list[str] = []
    whole = wide in ("i32", "i64")
    for node in postorder(roots):
        op = node.op
        if op == "input":
            names[id(node)] = f"v{node.args[0]}"
            continue
        if op == "attr":
            names[id(node)] = f"a_{node.args[0]}"
            continue
        if op == "const":
            names[id(node)] = f"tl.full({block}, {literal(node.args[0])}, {compute})"
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
    return lines, [f"{names[id(r)]}.to({compute})" if r.op in PREDICATES else names[id(r)] for r in roots]


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
    if op in REDUCTIONS:
        return f"reductions.{op.removeprefix('row_')}({v[0]}, inside, columns)"
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
        raise NotImplementedError(f"the Triton backend has no function {op!r}")
    return f"functions.{function}({', '.join(v)})"


INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
         "ge": ">=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<",
         "right_shift": ">>"}  # fmt: skip
NATIVE = "exp exp2 log log2 sqrt sin cos erf floor ceil abs".split()
TRUTHS = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}

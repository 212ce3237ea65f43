"""Row programs as Triton kernels, generated from their expressions.

Floor: one read of every operand and one write of every result. A program of the launch holds whole rows in registers,
several of them where they are short, and reduces them there. Sums of columns are kept in registers by a fixed number of
programs, each of which walks over its share of the rows; a second, small launch adds the shares up, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
from torch import Tensor

from core import storage
from core.kernels.formula import CONSTRUCTORS, Expr
from core.kernels.row_program import COLUMN, ROW, WHOLE, Result, RowProgram
from core.kernels.triton import reduce
from core.kernels.triton._generated import LANGUAGE, kernel_of, statements
from core.kernels.triton._layouts import merged
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous
from core.kernels.triton.targets import target_of

TILE = 1024  # elements of several short rows together
EACH = 8  # elements per thread, up to the most warps that a program has
SHARES = 4  # programs for each processor where columns are summed


def run(program: RowProgram, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results of `program` over `tensors`, which broadcast to its shape and have elements."""
    rows, columns, device = program.rows, program.columns, tensors[0].device
    wide = "fp64" if any(t.dtype is torch.float64 for t in tensors) else "fp32"
    operands = [_Operand(t, program) for t in tensors]
    sizes, strides = merged(program.shape[: -program.axes], [o.lead for o in operands if o.form != COLUMN])
    tile, num_warps = _tile(rows, columns)
    programs = blocks = triton.cdiv(rows, tile["BR"])
    if any(r.kind == COLUMN for r in program.results):
        programs = min(blocks, SHARES * target_of(device).processors)
    results = [_memory(r, programs, columns, wide, device) for r in program.results]
    kernel = _kernel(program.results, tuple(o.form for o in operands), len(sizes), wide)
    kernel[(programs,)](
        *[o.tensor for o in operands], *results, rows, columns, *sizes[1:], *[s for one in strides for s in one],
        *[o.step for o in operands if o.form != ROW], **tile, num_warps=num_warps,
    )  # fmt: skip
    return tuple(map(_finished, program.results, results))


class _Operand:
    """An operand, what it is to a tile ("whole", or one "row" or "column" of it), and its strides: `lead` along the
    axes before those of a row, `step` from one element of a row to the next.
    """

    def __init__(self, t: Tensor, program: RowProgram):
        split = len(program.shape) - program.axes
        sizes, steps = merged(program.shape[split:], [t.expand(program.shape).stride()[split:]])
        if len(sizes) > 1:  # the axes of a row do not follow one another in memory
            t = contiguous(t.expand(program.shape))
            steps = [[1]]
        self.tensor, self.step = t, steps[0][0]
        self.lead = t.expand(program.shape).stride()[:split]
        moves = any(s for s, n in zip(self.lead, program.shape, strict=False) if n != 1)
        self.form = ROW if self.step == 0 else WHOLE if moves else COLUMN


def _tile(rows: int, columns: int) -> tuple[dict[str, int], int]:
    """Rows and elements of a row that a program holds, and its warps."""
    bn = triton.next_power_of_2(columns)
    br = max(1, min(triton.next_power_of_2(rows), TILE // bn))
    return {"BR": br, "BN": bn}, max(1, min(16, br * bn // (32 * EACH)))


def _memory(result: Result, programs: int, columns: int, wide: str, device: torch.device) -> Tensor:
    if result.kind == COLUMN:
        dtype = torch.float64 if wide == "fp64" else torch.float32
        return torch.empty((programs, columns), dtype=dtype, device=device)
    return torch.empty(result.shape, dtype=storage.TORCH[result.dtype], device=device)


def _finished(result: Result, memory: Tensor) -> Tensor:
    if result.kind != COLUMN:
        return memory
    return reduce.sum(memory, (0,), False, storage.TORCH[result.dtype]).view(result.shape)


# ----------------------------------------------------------------------------------------------
# Generation

_kernels: dict[tuple, object] = {}


def _kernel(results: Sequence[Result], forms: tuple[str, ...], rank: int, wide: str):
    key = (tuple((r.root, r.kind) for r in results), forms, rank, wide)
    made = _kernels.get(key)
    if made is None:
        made = _kernels[key] = kernel_of(_source(results, forms, rank, wide))
    return made


def _source(results: Sequence[Result], forms: tuple[str, ...], rank: int, wide: str) -> str:
    """Python source of the kernel for operands of such forms, over rows in `rank` merged axes, computing in `wide`."""
    compute = f"tl.{LANGUAGE[wide]}"
    arguments = [f"x{i}" for i in range(len(forms))] + [f"out{j}" for j in range(len(results))] + ["rows", "columns"]
    arguments += [f"size{a}" for a in range(1, rank)]
    arguments += [f"stride{i}_{a}" for i, form in enumerate(forms) if form != COLUMN for a in range(rank)]
    arguments += [f"step{i}" for i, form in enumerate(forms) if form != ROW]
    before = ["column = tl.arange(0, BN)[None, :].to(tl.int64)", "within = column < columns"]
    after, body = [], ["row = (block * BR + tl.arange(0, BR))[:, None]", "valid = row < rows"]
    body += ["inside = valid & within", *_coordinates(rank)]
    for i, form in enumerate(forms):
        lead = " + ".join(f"at{a} * stride{i}_{a}" for a in range(rank))
        position = {ROW: lead, COLUMN: f"column * step{i}", WHOLE: f"{lead} + column * step{i}"}[form]
        mask = {ROW: "valid", COLUMN: "within", WHOLE: "inside"}[form]
        target = before if form == COLUMN else body
        target.append(f"v{i} = tl.load(x{i} + ({position}), mask={mask}, other=1).to({compute})")
    lines, values = statements([r.root for r in results], "[1, 1]", compute, wide)
    body += lines
    for j, (result, value) in enumerate(zip(results, values, strict=True)):
        stored = f"{{}}.to(out{j}.dtype.element_ty)"
        if result.kind == COLUMN:
            before.append(f"total{j} = tl.zeros([BR, BN], {compute})")
            body.append(f"total{j} += tl.where(inside, {value}, 0)")
            sums = stored.format(f"tl.sum(total{j}, 0)[None, :]")
            after.append(f"tl.store(out{j} + tl.program_id(0) * columns + column, {sums}, mask=within)")
        elif result.kind == ROW:
            value = stored.format(f"tl.broadcast_to({value}, [BR, 1])")
            body.append(f"tl.store(out{j} + row, {value}, mask=valid)")
        else:
            value = stored.format(f"tl.broadcast_to({value}, [BR, BN])")
            body.append(f"tl.store(out{j} + row * columns + column, {value}, mask=inside)")
    if after:
        turn = "for turn in range(tl.program_id(0), (rows - 1) // BR + 1, tl.num_programs(0)):"
        body = [turn, "    block = turn + tl.zeros([1], tl.int64)", *("    " + line for line in body)]
    else:
        body = ["block = tl.program_id(0).to(tl.int64)", *body]
    head = f"def kernel({', '.join(arguments)}, BR: tl.constexpr, BN: tl.constexpr):"
    return "\n".join([head, *("    " + line for line in (*before, *body, *after)), ""])


def _coordinates(rank: int) -> list[str]:
    """Statements that tell where in each of the merged axes a row is."""
    lines = ["rest = row"]
    for a in range(rank - 1, 0, -1):
        lines += [f"at{a} = rest % size{a}", f"rest = rest // size{a}"]
    return [*lines, "at0 = rest"]


def _aot() -> list[AotCase]:
    """The softmax of a scaled and masked matrix, and a layer normalisation's gradient with the sums of its columns."""
    x, y, scale = (Expr("input", i) for i in range(3))
    exp, top, total, mean = (CONSTRUCTORS[name] for name in ("exp", "row_fmax", "row_sum", "row_mean"))
    scores = x * 0.125 + y
    e = exp(scores - top(scores))
    g = x * scale
    whole = (g - (mean(g) + y * mean(g * y)), WHOLE), (x * y, COLUMN), (x, COLUMN)
    cases = []
    for roots, forms in ((((e / total(e), WHOLE),), (WHOLE, ROW)), (whole, (WHOLE, WHOLE, COLUMN))):
        results = [Result(root, kind, (), "float32") for root, kind in roots]
        kernel = _kernel(results, forms, 1, "fp32")
        for kind in ("*fp32", "*bf16"):
            for n in (64, 768, 4096):
                tile, num_warps = _tile(8192, n)
                pointers = {f"x{i}": kind for i in range(len(forms))}
                pointers |= {f"out{j}": "*fp32" if r.kind == COLUMN else kind for j, r in enumerate(results)}
                signature = pointers | {"rows": "i32:16", "columns": "i32:16"}
                signature |= {f"stride{i}_0": "i32:16" for i, form in enumerate(forms) if form != COLUMN}
                steps = {f"step{i}": 1 for i, form in enumerate(forms) if form != ROW}
                cases.append(AotCase(kernel, signature, tile | steps, num_warps, num_stages=1))
    return cases


AOT = _aot()

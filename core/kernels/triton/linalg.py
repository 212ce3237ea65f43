"""Factorisations and systems of matrices of up to 64 rows and columns: one program a matrix, which stays in registers.

Larger matrices, other types than float32 and float64, and what does not fit go through the CPU, which says so or computes
it. Registers have no addresses: a step takes a row and a column out of its matrix by masked sums. Steps depend on one
another, as many as there are rows (of eigenvalues: that many for each of some sweeps), so that their latency decides where
matrices are few, and the floor, the bytes of operands and results, where they are many.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.contracts.rules import broadcast
from core.kernels.dispatch import through_the_cpu
from core.kernels.triton import reduce
from core.kernels.triton._counting import blocks_of
from core.kernels.triton._kernel import jit
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous

MOST = 64  # rows and columns
COLUMNS = 32  # of right sides that one program solves for
ROWS = 16  # of a matrix that are turned at a time
SWEEPS = 30  # over all pairs of rows; seven or eight are usual
NEGLIGIBLE = {torch.float32: 2.0**-26, torch.float64: 2.0**-55}  # beside the largest element: a quarter of its last bit


def cholesky(a: Tensor, lower: bool) -> Tensor:
    if not _serves(a):
        return through_the_cpu("linalg.cholesky", a, lower)
    a = contiguous(a)
    out, failed = torch.empty_like(a), _numbers(a, torch.int32)
    if out.numel():
        _cholesky[(failed.numel(),)](a, out, failed, a.shape[-1], LOWER=lower, **_sizes(a))
        _check(
            failed,
            "linalg.cholesky: {}The factorization could not be completed because the input is not positive-definite "
            "(the leading minor of order {} is not positive-definite).",
        )
    return out


def triangular_solve(a: Tensor, b: Tensor, lower: bool, transpose: bool, rightside: bool) -> Tensor:
    if not _serves(a) or not _fits(a, b, -1 if rightside else -2):
        return through_the_cpu("linalg.triangular_solve", a, b, lower, transpose, rightside)
    a, b = _together(a, b)
    out = torch.empty_like(b)
    if out.numel():
        n, (rows, columns) = a.shape[-1], b.shape[-2:]
        # x op(a) = b is op(a)^T x^T = b^T: the same steps along the other axes
        turned = transpose != rightside
        sides, down, across = (rows, 1, columns) if rightside else (columns, columns, 1)
        _triangular_solve[(_batch(a) * triton.cdiv(sides, COLUMNS),)](
            a, b, out, n, sides, *((1, n) if turned else (n, 1)), down, across,
            DOWN=lower != turned, COLUMNS=COLUMNS, **_sizes(a),
        )  # fmt: skip
    return out


def inverse(a: Tensor) -> Tensor:
    if not _serves(a):
        return through_the_cpu("linalg.inverse", a)
    a = contiguous(a)
    return _solved(
        a, None, torch.empty_like(a), "linalg.inv: {}The diagonal element {} is zero, the inversion could not be "
        "completed because the input matrix is singular.",
    )  # fmt: skip


def solve(a: Tensor, b: Tensor) -> Tensor:
    vectors = b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1])
    columns = b.unsqueeze(-1) if vectors else b
    if not _serves(a) or not _fits(a, columns, -2):
        return through_the_cpu("linalg.solve", a, b)
    a, columns = _together(a, columns)
    words = "torch.linalg.solve: {}The solver failed because the input matrix is singular."
    x = _solved(a, columns, torch.empty_like(columns), words)
    return x.squeeze(-1) if vectors else x


def det(a: Tensor) -> Tensor:
    if not _serves(a):
        return through_the_cpu("linalg.det", a)
    out = _numbers(a, a.dtype)
    return _determinant_of(a, out, out, logarithm=False)[0]


def slogdet(a: Tensor) -> tuple[Tensor, Tensor]:
    if not _serves(a):
        return through_the_cpu("linalg.slogdet", a)
    return _determinant_of(a, _numbers(a, a.dtype), _numbers(a, a.dtype), logarithm=True)


def qr(a: Tensor, complete: bool = False) -> tuple[Tensor, Tensor]:
    m, n = a.shape[-2:]
    if not _serves(a, square=False):
        return through_the_cpu("linalg.qr", a, complete)
    k = m if complete else min(m, n)
    q, r = a.new_empty((*a.shape[:-2], m, k)), a.new_empty((*a.shape[:-2], k, n))
    _factored(a, q, r, m, n, k, turned=False)
    return q, r


def lq(a: Tensor) -> tuple[Tensor, Tensor]:
    m, n = a.shape[-2:]
    if not _serves(a, square=False):
        return through_the_cpu("linalg.lq", a)
    k = min(m, n)
    q, lower = a.new_empty((*a.shape[:-2], k, n)), a.new_empty((*a.shape[:-2], m, k))
    _factored(a, q, lower, n, m, k, turned=True)
    return q, lower


def eigh(a: Tensor) -> tuple[Tensor, Tensor]:
    if not _serves(a):
        return through_the_cpu("linalg.eigh", a)
    return _diagonal_of(a, a.shape[-1], 1)


def syevd(a: Tensor) -> tuple[Tensor, Tensor]:
    if not _serves(a):
        return through_the_cpu("linalg.syevd", a)
    values, vectors = _diagonal_of(a, 1, a.shape[-1])
    return vectors, values


# ------------------------------------------------------------ launching


def _serves(a: Tensor, square: bool = True) -> bool:
    m, n = a.shape[-2:]
    return 0 < m <= MOST and 0 < n <= MOST and (m == n or not square) and a.dtype in NEGLIGIBLE


def _fits(a: Tensor, b: Tensor, axis: int) -> bool:
    """Whether matrices on the other side of a system are of the type and, along an axis, of the size of its own."""
    return b.dtype is a.dtype and b.dim() >= 2 and b.shape[axis] == a.shape[-1]


def _together(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both in memory of their own for each matrix of the batch that they have together."""
    lead = broadcast([a.shape[:-2], b.shape[:-2]])
    return contiguous(a.expand(*lead, *a.shape[-2:])), contiguous(b.expand(*lead, *b.shape[-2:]))


def _batch(a: Tensor) -> int:
    return math.prod(a.shape[:-2])


def _numbers(a: Tensor, dtype: torch.dtype) -> Tensor:
    """New memory for a number a matrix."""
    return torch.empty(a.shape[:-2], dtype=dtype, device=a.device)


def _width(n: int) -> int:
    return max(2, triton.next_power_of_2(n))


def _warps(width: int, dtype: torch.dtype = torch.float64) -> int:
    """So many that a square matrix of a type takes 32 registers of a thread at most.

    Those of float64 for float32, too, keep Triton 3.6 from spilling registers, but make 3.9 do so in `_solve` for sm_80.
    """
    return max(1, width**2 * dtype.itemsize // 4096)


def _sizes(a: Tensor, dtype: torch.dtype = torch.float64) -> dict[str, int]:
    width = _width(a.shape[-1])
    return {"N": width, "num_warps": _warps(width, dtype)}


def _check(failed: Tensor, words: str) -> None:
    """RuntimeError, in the CPU's words, where one of the numbers is not 0: they are read back."""
    if int(reduce.max(failed.view(-1), (0,), False)):
        element, step = next((k, step) for k, step in enumerate(failed.view(-1).tolist()) if step)
        raise RuntimeError(words.format(f"(Batch element {element}): " if failed.dim() else "", step))


def _solved(a: Tensor, b: Tensor | None, out: Tensor, words: str) -> Tensor:
    """x with a x = b (None: the identity)."""
    if out.numel():
        n, sides = a.shape[-1], out.shape[-1]
        blocks, failed = triton.cdiv(sides, COLUMNS), _numbers(a, torch.int32)
        _solve[(failed.numel() * blocks,)](
            a, a if b is None else b, out, failed, n, sides, INVERSE=b is None, COLUMNS=COLUMNS, **_sizes(a, a.dtype)
        )
        _check(failed, words)
    return out


def _determinant_of(a: Tensor, first: Tensor, second: Tensor, logarithm: bool) -> tuple[Tensor, Tensor]:
    if first.numel():
        _determinant[(first.numel(),)](contiguous(a), first, second, a.shape[-1], LOGARITHM=logarithm, **_sizes(a))
    return first, second


def _factored(a: Tensor, q: Tensor, r: Tensor, m: int, n: int, kept: int, turned: bool) -> None:
    """Fills q (m, kept) and r (kept, n) of the m x n matrices `a`; turned: all three lie transposed."""
    if a.numel():
        down_right = [(1, w) if turned else (h, 1) for h, w in ((n, m), (kept, m), (n, kept))]
        width = _width(m)
        _qr[(_batch(a),)](
            contiguous(a), q, r, m, n, min(m, n), kept, *(number for pair in down_right for number in pair),
            M=width, N=_width(n), num_warps=_warps(width),
        )  # fmt: skip


def _diagonal_of(a: Tensor, down: int, right: int) -> tuple[Tensor, Tensor]:
    """Eigenvalues, and eigenvectors whose elements are `down` apart and which begin `right` apart."""
    a = contiguous(a)
    values, vectors = torch.empty(a.shape[:-1], dtype=a.dtype, device=a.device), torch.empty_like(a)
    if a.numel():
        _eigh[(_batch(a),)](
            a, torch.empty_like(a), vectors, values, a.shape[-1], down, right,
            NEGLIGIBLE=NEGLIGIBLE[a.dtype], SWEEPS=SWEEPS, ROWS=ROWS, **_sizes(a),
        )  # fmt: skip
    return values, vectors


# ------------------------------------------------------------ device code


@jit
def _row(matrix, chosen):
    """The row of a matrix in registers that is chosen."""
    return tl.sum(tl.where(chosen[:, None], matrix, 0.0), 0)


@jit
def _column(matrix, columns, k):
    """Column k of a matrix in registers."""
    return tl.sum(tl.where(columns[None, :] == k, matrix, 0.0), 1)


@jit
def _entry(vector, chosen):
    """The element of a vector in registers that is chosen."""
    return tl.sum(tl.where(chosen, vector, 0.0), 0)


@jit
def _square(a, n, N: tl.constexpr):
    """A row-major matrix; zeros around it."""
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    return tl.load(a + rows * n + columns, mask=(rows < n) & (columns < n), other=0.0)


@jit
def _cholesky(a, out, failed, n, LOWER: tl.constexpr, N: tl.constexpr):
    batch = tl.program_id(0)
    start = batch.to(tl.int64) * n * n
    rows, columns = tl.arange(0, N), tl.arange(0, N)
    inside = (rows[:, None] < n) & (columns[None, :] < n)
    later, sooner = tl.maximum(rows[:, None], columns[None, :]), tl.minimum(rows[:, None], columns[None, :])
    place = later * n + sooner if LOWER else sooner * n + later  # in the triangle that is given
    m = tl.load(a + start + place, mask=inside, other=0.0)
    wrong = 0
    for k in range(n):
        column, row = _column(m, columns, k), _row(m, rows == k)  # equal beyond k, for what is left is symmetric
        pivot = _entry(column, rows == k)
        wrong = tl.where((wrong == 0) & ~(pivot > 0), k + 1, wrong)
        root = tl.sqrt(pivot)
        rest = (rows[:, None] > k) & (columns[None, :] > k)
        m = tl.where(rest, m - (column / root)[:, None] * (row / root)[None, :], m)
        m = tl.where((columns[None, :] == k) & (rows[:, None] >= k), (column / root)[:, None], m)
    place = rows[:, None] * n + columns[None, :] if LOWER else columns[None, :] * n + rows[:, None]
    tl.store(out + start + place, tl.where(rows[:, None] >= columns[None, :], m, 0.0), mask=inside)
    tl.store(failed + batch, wrong)


@jit
def _triangular_solve(
    a, b, out, n, sides, a_down, a_right, down, right, DOWN: tl.constexpr, N: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    """T x = b; neighbours in a column are `down` apart in b and x and `a_down` in T, those in a row `right`, `a_right`.

    DOWN: T is a lower triangle, and is gone through from above.
    """
    blocks = blocks_of(sides, COLUMNS)
    batch = (tl.program_id(0) // blocks).to(tl.int64)
    rows = tl.arange(0, N)
    columns = tl.program_id(0) % blocks * COLUMNS + tl.arange(0, COLUMNS)
    inside = (rows[:, None] < n) & (columns[None, :] < sides)
    place = batch * n * sides + rows[:, None] * down + columns[None, :] * right
    a += batch * n * n
    x = tl.load(b + place, mask=inside, other=0.0)
    for step in range(n):
        k = step if DOWN else n - 1 - step
        known = _row(x, rows == k) / tl.load(a + k * a_down + k * a_right)
        left = (rows > k) & (rows < n) if DOWN else rows < k
        factors = tl.load(a + rows * a_down + k * a_right, mask=left, other=0.0)
        x = tl.where(left[:, None], x - factors[:, None] * known[None, :], x)
        x = tl.where((rows == k)[:, None], known[None, :], x)
    tl.store(out + place, x, mask=inside)


@jit
def _pivot(column, order, rows, N: tl.constexpr):
    """The row, as a mask, with the largest element of a column among those without a number: NaN is largest."""
    size = tl.where(column == column, tl.abs(column), float("inf"))
    return rows == tl.argmax(tl.where(order == N, size, -1.0), 0)


@jit
def _solve(a, b, out, failed, n, sides, INVERSE: tl.constexpr, N: tl.constexpr, COLUMNS: tl.constexpr):
    """a x = b: elimination with the largest element of each column as the pivot, then substitution.

    Rows stay where they are: `order` has the step in which each was the pivot's, which is the unknown it ends with.
    """
    blocks = blocks_of(sides, COLUMNS)
    batch = (tl.program_id(0) // blocks).to(tl.int64)
    rows, columns = tl.arange(0, N), tl.arange(0, N)
    right = tl.program_id(0) % blocks * COLUMNS + tl.arange(0, COLUMNS)
    m = _square(a + batch * n * n, n, N)
    start = batch * n * sides + right[None, :]
    inside = (rows[:, None] < n) & (right[None, :] < sides)
    if INVERSE:
        x = tl.where(rows[:, None] == right[None, :], 1.0, 0.0).to(m.dtype)
    else:
        x = tl.load(b + start + rows[:, None] * sides, mask=inside, other=0.0)
    order = tl.where(rows < n, N, -1)
    wrong = 0
    for k in range(n):
        column = _column(m, columns, k)
        chosen = _pivot(column, order, rows, N)
        pivot = _entry(column, chosen)
        wrong = tl.where((wrong == 0) & (pivot == 0), k + 1, wrong)
        order = tl.where(chosen, k, order)
        left = order == N
        factors = (column / pivot)[:, None]
        m = tl.where(left[:, None], m - factors * _row(m, chosen)[None, :], m)
        x = tl.where(left[:, None], x - factors * _row(x, chosen)[None, :], x)
    for step in range(n):
        k = n - 1 - step
        chosen = order == k
        column = _column(m, columns, k)
        known = _row(x, chosen) / _entry(column, chosen)
        x = tl.where((order < k)[:, None], x - column[:, None] * known[None, :], x)
        x = tl.where(chosen[:, None], known[None, :], x)
    tl.store(out + start + order[:, None] * sides, x, mask=inside)
    tl.store(failed + batch, wrong)


@jit
def _determinant(a, first, second, n, LOGARITHM: tl.constexpr, N: tl.constexpr):
    """The determinant, or its sign and the logarithm of its size, by the pivots of an elimination."""
    batch = tl.program_id(0)
    rows, columns = tl.arange(0, N), tl.arange(0, N)
    m = _square(a + batch.to(tl.int64) * n * n, n, N)
    order = tl.where(rows < n, N, -1)
    product = tl.full((), 1, m.dtype)
    logarithm = tl.full((), 0, m.dtype)
    for k in range(n):
        column = _column(m, columns, k)
        chosen = _pivot(column, order, rows, N)
        pivot = _entry(column, chosen)
        order = tl.where(chosen, k, order)
        factors = tl.where((order == N) & (column != 0), column / pivot, 0.0)  # 0 / 0 of a singular matrix is none
        m -= factors[:, None] * _row(m, chosen)[None, :]
        if LOGARITHM:
            product *= tl.where(pivot > 0, 1.0, tl.where(pivot < 0, -1.0, 0.0))
            logarithm += tl.log(tl.abs(pivot))
        else:
            product *= pivot
    swapped = (rows[:, None] < columns[None, :]) & (columns[None, :] < n) & (order[:, None] > order[None, :])
    odd = tl.sum(tl.sum(swapped.to(tl.int32), 1), 0) % 2 == 1
    tl.store(first + batch, tl.where(odd, -product, product))
    if LOGARITHM:
        tl.store(second + batch, logarithm)


@jit
def _qr(
    a, q, r, m, n, steps, kept, a_down, a_right, q_down, q_right, r_down, r_right, M: tl.constexpr, N: tl.constexpr
):  # fmt: skip
    """Householder's reflections, with LAPACK's signs: R has on its diagonal the opposite sign of what stood there."""
    batch = tl.program_id(0).to(tl.int64)
    rows, columns, across = tl.arange(0, M), tl.arange(0, N), tl.arange(0, M)
    place = batch * m * n + rows[:, None] * a_down + columns[None, :] * a_right
    x = tl.load(a + place, mask=(rows[:, None] < m) & (columns[None, :] < n), other=0.0)
    product = tl.where(rows[:, None] == across[None, :], 1.0, 0.0).to(x.dtype)
    for k in range(steps):
        column = _column(x, columns, k)
        head = _entry(column, rows == k)
        below = tl.where(rows > k, column, 0.0)
        still = tl.sum((below != 0).to(tl.int32), 0) == 0
        largest = tl.maximum(tl.max(tl.abs(below), 0), tl.abs(head))
        scaled = tl.where(rows >= k, column / tl.where(largest > 0, largest, 1.0), 0.0)
        length = largest * tl.sqrt(tl.sum(scaled * scaled, 0))
        turned = tl.where(head < 0, length, -length)
        normal = tl.where(rows == k, 1.0, below / (head - turned))
        normal = tl.where(still, 0.0, normal)
        weight = tl.where(still, 0.0, (turned - head) / turned)
        x -= (weight * normal)[:, None] * tl.sum(normal[:, None] * x, 0)[None, :]
        product -= tl.sum(product * normal[None, :], 1)[:, None] * (weight * normal)[None, :]
    place = batch * m * kept + rows[:, None] * q_down + across[None, :] * q_right
    tl.store(q + place, product, mask=(rows[:, None] < m) & (across[None, :] < kept))
    place = batch * kept * n + rows[:, None] * r_down + columns[None, :] * r_right
    upper = tl.where(rows[:, None] <= columns[None, :], x, 0.0)
    tl.store(r + place, upper, mask=(rows[:, None] < kept) & (columns[None, :] < n))


@jit
def _rotation(work, rows, partner, n):
    """Cosine, and the sine with its sign, by which each column is turned with its partner so that their element vanishes.

    Golub and Van Loan, Matrix Computations, section 8.5; the smaller of two angles.
    """
    low, high = tl.minimum(rows, partner), tl.maximum(rows, partner)
    between = tl.load(work + high * n + low, mask=high < n, other=0.0)
    apart = tl.load(work + high * (n + 1), mask=high < n, other=0.0)
    apart -= tl.load(work + low * (n + 1), mask=high < n, other=0.0)
    slope = apart / (2 * tl.where(between != 0, between, 1.0))
    tangent = tl.where(slope < 0, -1.0, 1.0) / (tl.abs(slope) + tl.sqrt(1 + slope * slope))
    tangent = tl.where(between != 0, tangent, 0.0)
    cosine = 1 / tl.sqrt(1 + tangent * tangent)
    return cosine, tl.where(rows < partner, -tangent * cosine, tangent * cosine)


@jit
def _partner(rows, turn, players):
    """Whom each row meets in a turn of a tournament of an even number: all others once in players - 1 turns."""
    other = (2 * turn - rows + players - 1) % (players - 1)
    last = players - 1
    return tl.where(rows == last, turn, tl.where(rows == turn, last, other))


@jit
def _turn_columns(matrix, partner, cosine, sine, n, down, right, N: tl.constexpr, ROWS: tl.constexpr):
    """Turns each column with its partner; barriers stand between what lanes read and what others write.

    A few rows at a time: the places of all would not find room in registers.
    """
    columns = tl.arange(0, N)[None, :]
    for first in range(0, n, ROWS):
        rows = first + tl.arange(0, ROWS)[:, None]
        inside = (rows < n) & (columns < n)
        own = matrix + rows * down + columns * right
        beside = matrix + rows * down + partner[None, :] * right
        x = tl.load(own, mask=inside, other=0.0) * cosine[None, :]
        x += tl.load(beside, mask=inside & (partner[None, :] < n), other=0.0) * sine[None, :]
        tl.debug_barrier()
        tl.store(own, x, mask=inside)
    tl.debug_barrier()


@jit
def _largest(work, n, DIAGONAL: tl.constexpr, N: tl.constexpr):
    """The largest size of an element, with or without the diagonal; where one is NaN or infinite, NaN."""
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    inside = (rows < n) & (columns < n) & (DIAGONAL | (rows != columns))
    m = tl.load(work + rows * n + columns, mask=inside, other=0.0)
    return tl.max(tl.max(tl.abs(m), 1), 0) + tl.sum(tl.sum(m - m, 1), 0)


@jit
def _eigh(
    a, work, vectors, values, n, down, right, NEGLIGIBLE: tl.constexpr, SWEEPS: tl.constexpr, N: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Jacobi's method with a rotation for each pair of rows of a turn at once; elements meet in memory.

    Eigenvectors have their largest element positive. All is NaN where an element is NaN or infinite.
    """
    batch = tl.program_id(0).to(tl.int64)
    a, work, vectors, values = a + batch * n * n, work + batch * n * n, vectors + batch * n * n, values + batch * n
    rows, columns = tl.arange(0, N), tl.arange(0, N)
    row, column = rows[:, None], columns[None, :]
    inside = (row < n) & (column < n)
    lower = tl.load(a + tl.maximum(row, column) * n + tl.minimum(row, column), mask=inside, other=0.0)
    tl.store(work + row * n + column, lower, mask=inside)
    tl.store(vectors + row * down + column * right, tl.where(row == column, 1.0, 0.0), mask=inside)
    tl.debug_barrier()  # from here on lanes read what others wrote
    limit = _largest(work, n, True, N) * NEGLIGIBLE
    players = (n + 1) // 2 * 2  # where rows are odd in number, one of them rests
    sweep = 0
    while (_largest(work, n, False, N) > limit) & (sweep < SWEEPS):
        for turn in range(players - 1):
            partner = _partner(columns, turn, players)
            cosine, sine = _rotation(work, columns, partner, n)
            _turn_columns(work, partner, cosine, sine, n, n, 1, N, ROWS)
            _turn_columns(work, partner, cosine, sine, n, 1, n, N, ROWS)
            tl.store(work + columns * n + partner, 0.0, mask=(columns < n) & (partner < n))  # but for rounding it is
            _turn_columns(vectors, partner, cosine, sine, n, down, right, N, ROWS)
        sweep += 1
    finite = limit == limit
    value = tl.load(work + rows * (n + 1), mask=rows < n, other=0.0)
    across = tl.load(work + columns * (n + 1), mask=columns < n, other=0.0)
    before = (value[:, None] < across[None, :]) | ((value[:, None] == across[None, :]) & (row < column))
    rank = tl.where(finite, tl.sum((before & inside).to(tl.int32), 0), columns)
    v = tl.load(vectors + row * down + column * right, mask=inside, other=0.0)
    negative = tl.sum(tl.where(row == tl.argmax(tl.abs(v), 0)[None, :], v, 0.0), 0) < 0
    tl.debug_barrier()
    v = tl.where(finite, tl.where(negative[None, :], -v, v), float("nan"))
    tl.store(vectors + row * down + rank[None, :] * right, v, mask=inside)
    tl.store(values + rank, tl.where(finite, across, float("nan")), mask=columns < n)


def _case(kernel, dtype: torch.dtype, **constexprs) -> AotCase:
    kind = {torch.float32: "*fp32", torch.float64: "*fp64"}[dtype]
    types = dict.fromkeys(("a", "b", "out", "first", "second", "q", "r", "work", "vectors", "values"), kind)
    types["failed"] = "*i32"
    signature = {name: types.get(name, "i32") for name in kernel.arg_names if name not in constexprs | {"N": 0}}
    warps = _warps(MOST, dtype) if kernel is _solve else _warps(MOST)
    return AotCase(kernel, signature, constexprs | {"N": MOST}, num_warps=warps)


AOT = [
    case
    for dtype in NEGLIGIBLE
    for case in (
        _case(_cholesky, dtype, LOWER=True),
        _case(_triangular_solve, dtype, DOWN=True, COLUMNS=COLUMNS),
        _case(_solve, dtype, INVERSE=False, COLUMNS=COLUMNS),
        _case(_determinant, dtype, LOGARITHM=True),
        _case(_qr, dtype, M=MOST),
        _case(_eigh, dtype, NEGLIGIBLE=NEGLIGIBLE[dtype], SWEEPS=SWEEPS, ROWS=ROWS),
    )
]

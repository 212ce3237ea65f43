"""Linear algebra of the `linalg` namespace. Matrices are the last two axes (or `axis` and the last one)."""

from core import kernels
from core.base import MXNetError
from core.ops.attributes import Bool, Float, Int
from core.ops.registry import F, composite, gradient, operator
from core.ops.relations import FIRST, TRIANGULAR
from core.ops.values import Attrs, Gradients, Namespace, Tensor, Value

K = kernels.linalg


def _names(name: str) -> Attrs:
    return {"name": f"_linalg_{name}", "aliases": (f"linalg_{name}",)}


def transposed(x: Value) -> Value:
    """The last two axes exchanged."""
    n = x.ndim
    return F.transpose(x, axes=(*range(n - 2), n - 1, n - 2))


def _square(name: str, x: Value | Tensor) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise MXNetError(f"linalg.{name}: square matrices are needed, given the shape {tuple(x.shape)}")


# ---------------------------------------------------------------------------------------------- products


def _product(a: Value, b: Value, transpose_a: bool, transpose_b: bool, axis: int) -> Value:
    if axis not in (-2, a.ndim - 2):
        a, b = (F.SwapAxis(x, dim1=axis, dim2=x.ndim - 2) for x in (a, b))
    y = F._matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    return y if axis in (-2, y.ndim - 2) else F.SwapAxis(y, dim1=axis, dim2=y.ndim - 2)


@composite(**_names("gemm"), real=True)
def gemm(
    A: Value, B: Value, C: Value, *, transpose_a: Bool = False, transpose_b: Bool = False, alpha: Float = 1.0,
    beta: Float = 1.0, axis: Int = -2,
) -> Value:  # fmt: skip
    """alpha op(A) op(B) + beta C."""
    return _product(A, B, transpose_a, transpose_b, axis) * alpha + C * beta


@composite(**_names("gemm2"), real=True)
def gemm2(
    A: Value, B: Value, *, transpose_a: Bool = False, transpose_b: Bool = False, alpha: Float = 1.0, axis: Int = -2
) -> Value:
    """alpha op(A) op(B)."""
    return _product(A, B, transpose_a, transpose_b, axis) * alpha


@composite(**_names("syrk"), real=True)
def syrk(A: Value, *, transpose: Bool = False, alpha: Float = 1.0) -> Value:
    """alpha A A^T, or alpha A^T A with transpose."""
    return F._matmul(A, A, transpose_a=transpose, transpose_b=not transpose) * alpha


@composite(**_names("trmm"), real=True, shape=TRIANGULAR)
def trmm(
    A: Value, B: Value, *, transpose: Bool = False, rightside: Bool = False, lower: Bool = True, alpha: Float = 1.0
) -> Value:
    """alpha op(A) B (B op(A) with rightside) with a triangular A."""
    _square("trmm", A)
    a = F._triangle(A, lower=lower)
    y = F._matmul(B, a, transpose_b=transpose) if rightside else F._matmul(a, B, transpose_a=transpose)
    return y * alpha


# ---------------------------------------------------------------------------------------------- triangles, diagonals


def triangle_places(n: int, offset: int, lower: bool) -> tuple[int, ...]:
    """Flat positions of a triangle of an n x n matrix up to a diagonal: the lower by rows, the upper by columns."""
    if lower:
        return tuple(r * n + c for r in range(n) for c in range(n) if c - r <= offset)
    return tuple(r * n + c for c in range(n) for r in range(n) if c - r >= offset)


@operator("_triangle")
def _triangle(data: Tensor, *, lower: Bool = True, offset: Int = 0) -> Tensor:
    """The elements of a triangle; zeros elsewhere."""
    return kernels.shape.triangle(data, lower, offset)


@gradient(_triangle)
def _triangle_gradient(dy: Value, attrs: Namespace) -> Gradients:
    return [F._triangle(dy, lower=attrs.lower, offset=attrs.offset)]


def _take(x: Value, positions: tuple[int, ...]) -> Value:
    flat = F._reshape_to(x, shape=(*x.shape[:-2], x.shape[-2] * x.shape[-1]))
    return F._take_places(flat, places=positions, axis=flat.ndim - 1)


def _put(x: Value, positions: tuple[int, ...], n: int) -> Value:
    flat = F._fold_places(x, places=positions, axis=x.ndim - 1, length=n * n)
    return F._reshape_to(flat, shape=(*x.shape[:-1], n, n))


def _diagonal_places(n: int, offset: int) -> tuple[int, ...]:
    return tuple(r * n + r + offset for r in range(n) if 0 <= r + offset < n)


@composite(**_names("extractdiag"), real=True)
def extractdiag(A: Value, *, offset: Int = 0) -> Value:
    """A diagonal of each square matrix."""
    _square("extractdiag", A)
    return _take(A, _diagonal_places(A.shape[-1], offset))


@composite(**_names("makediag"), real=True)
def makediag(A: Value, *, offset: Int = 0) -> Value:
    """Square matrices with the vectors on a diagonal."""
    n = A.shape[-1] + abs(offset)
    return _put(A, _diagonal_places(n, offset), n)


@composite(**_names("extracttrian"), real=True)
def extracttrian(A: Value, *, offset: Int = 0, lower: Bool = True) -> Value:
    """A triangle of each square matrix as a vector; an offset other than 0 decides which triangle."""
    _square("extracttrian", A)
    lower = offset < 0 if offset else lower
    return _take(A, triangle_places(A.shape[-1], offset, lower))


@composite(**_names("maketrian"), real=True)
def maketrian(A: Value, *, offset: Int = 0, lower: Bool = True) -> Value:
    """Square matrices with the vectors as a triangle; an offset other than 0 decides which triangle."""
    lower = offset < 0 if offset else lower
    n = abs(offset)
    while len(triangle_places(n, offset, lower)) < A.shape[-1]:
        n += 1
    positions = triangle_places(n, offset, lower)
    if len(positions) != A.shape[-1]:
        raise MXNetError(f"linalg.maketrian: {A.shape[-1]} elements do not fill a triangle")
    return _put(A, positions, n)


@composite(**_names("sumlogdiag"), real=True)
def sumlogdiag(A: Value) -> Value:
    """The sum of the logarithms of the diagonal of each square matrix."""
    total = F.sum(F.log(F._linalg_extractdiag(A)), axis=-1)
    return F._reshape_to(total, shape=A.shape[:-2] or (1,))


# ---------------------------------------------------------------------------------------------- solvers


@operator("_triangular_solve")
def _triangular_solve(a: Tensor, b: Tensor, *, lower: Bool, transpose: Bool, rightside: Bool) -> Tensor:
    """x with op(a) x = b, or x op(a) = b with rightside."""
    return K.triangular_solve(a, b, lower, transpose, rightside)


@gradient(_triangular_solve)
def _triangular_solve_gradient(dy: Value, a: Value, out: Value, attrs: Namespace) -> Gradients:
    gb = F._triangular_solve(a, dy, lower=attrs.lower, transpose=not attrs.transpose, rightside=attrs.rightside)
    if attrs.rightside == attrs.transpose:
        ga = F._matmul(gb, out, transpose_b=True) if not attrs.rightside else F._matmul(gb, out, transpose_a=True)
    else:
        ga = F._matmul(out, gb, transpose_b=True) if attrs.transpose else F._matmul(out, gb, transpose_a=True)
    return [F._triangle(F.negative(ga), lower=attrs.lower), gb]


@composite(**_names("trsm"), shape=TRIANGULAR)
def trsm(
    A: Value, B: Value, *, transpose: Bool = False, rightside: Bool = False, lower: Bool = True, alpha: Float = 1.0
) -> Value:
    """alpha op(A)^-1 B (B op(A)^-1 with rightside) with a triangular A."""
    _square("trsm", A)
    return F._triangular_solve(A, B, lower=lower, transpose=transpose, rightside=rightside) * alpha


@operator(**_names("potrf"), shape=FIRST)
def potrf(A: Tensor, *, lower: Bool = True) -> Tensor:
    """The Cholesky factor of symmetric positive definite matrices."""
    _square("potrf", A)
    return K.cholesky(A, lower)


@gradient(potrf)
def _potrf_gradient(dy: Value, out: Value, attrs: Namespace) -> Gradients:
    factor, dy = (out, dy) if attrs.lower else (transposed(out), transposed(dy))
    inner = F._triangle(F._matmul(factor, dy, transpose_a=True), lower=True)
    inner = F._triangle(inner, lower=True) - 0.5 * _diagonal_part(inner)
    left = F._triangular_solve(factor, inner, lower=True, transpose=True, rightside=False)
    grad = F._triangular_solve(factor, left, lower=True, transpose=False, rightside=True)
    return [(grad + transposed(grad)) * 0.5]


def _diagonal_part(x: Value) -> Value:
    return F._triangle(F._triangle(x, lower=True), lower=False)


@composite(**_names("potri"), shape=FIRST)
def potri(A: Value, *, lower: Bool = True) -> Value:
    """The inverse of L L^T from its Cholesky factor L."""
    _square("potri", A)
    n = A.shape[-1]
    ones = F.ones_like(_take(A, _diagonal_places(n, 0)))
    eye = _put(ones, _diagonal_places(n, 0), n)
    inverse = F._triangular_solve(A, eye, lower=lower, transpose=False, rightside=False)
    return F._matmul(inverse, inverse, transpose_a=lower, transpose_b=not lower)


@operator(**_names("inverse"))
def inverse(A: Tensor) -> Tensor:
    """The inverse of square matrices."""
    _square("inverse", A)
    return K.inverse(A)


@gradient(inverse)
def _inverse_gradient(dy: Value, out: Value) -> Gradients:
    return [F.negative(F._matmul(F._matmul(out, dy, transpose_a=True), out, transpose_b=True))]


def _scale(matrix: Value, values: Value) -> Value:
    """Each matrix times its number."""
    shape = (*matrix.shape[:-2], 1, 1)
    return F.broadcast_mul(matrix, F._reshape_to(values, shape=shape))


@operator(**_names("det"), numbered=True)
def det(A: Tensor) -> Tensor:
    """The determinant of square matrices."""
    _square("det", A)
    value = K.det(A)
    return value if value.dim() else value.reshape(1)


def _inverse_of_regular(A: Value, value: Value) -> Value:
    """The transposed inverses of matrices; zeros for those of which `value`, a determinant or its sign, is 0, as in MXNet."""
    singular = F._equal_scalar(value, scalar=0)
    order = F._contrib_arange_like(A, axis=-1)
    n = A.shape[-1]
    identity = F.broadcast_equal(F._reshape_to(order, shape=(n, 1)), F._reshape_to(order, shape=(1, n)))
    chosen = F._reshape_to(singular, shape=(*A.shape[:-2], 1, 1))
    return _scale(F._linalg_inverse(transposed(F._npi_where(chosen, identity, A))), 1 - singular)


@gradient(det)
def _det_gradient(dy: Value, A: Value, out: Value) -> Gradients:
    return [_scale(_inverse_of_regular(A, out), dy * out)]


@operator(**_names("slogdet"), outputs=2)
def slogdet(A: Tensor) -> tuple[Tensor, ...]:
    """Sign and logarithm of the size of the determinant of square matrices."""
    _square("slogdet", A)
    sign, log = K.slogdet(A)
    return (sign, log) if sign.dim() else (sign.reshape(1), log.reshape(1))


@gradient(slogdet)
def _slogdet_gradient(dy1: Value, A: Value, out: Value) -> Gradients:
    return [_scale(_inverse_of_regular(A, out), dy1)]


# ---------------------------------------------------------------------------------------------- factorisations


@operator(**_names("gelqf"), outputs=2)
def gelqf(A: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Q with orthonormal rows and a lower triangular L with A = L Q."""
    if A.ndim < 2 or A.shape[-2] > A.shape[-1]:
        raise MXNetError(f"linalg.gelqf: no more rows than columns are accepted, given the shape {tuple(A.shape)}")
    return K.lq(A)


@gradient(gelqf)
def _gelqf_gradient(dy: Value, dy1: Value, out: Value, out1: Value) -> Gradients:
    inner = F._matmul(out1, dy1, transpose_a=True) - F._matmul(dy, out, transpose_b=True)
    low = F._triangle(inner, lower=True, offset=-1)
    symmetric = low + transposed(low) + _diagonal_part(inner)
    middle = dy + F._matmul(symmetric, out)
    return [F._triangular_solve(out1, middle, lower=True, transpose=True, rightside=False)]


@operator(**_names("syevd"), outputs=2)
def syevd(A: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Rows U of eigenvectors and eigenvalues L of symmetric matrices: U A = diag(L) U."""
    _square("syevd", A)
    return K.syevd(A)


@gradient(syevd)
def _syevd_gradient(dy: Value, dy1: Value, out: Value, out1: Value) -> Gradients:
    n = out.shape[-1]
    column, row = F.expand_dims(out1, axis=-1), F.expand_dims(out1, axis=-2)
    gap = F.broadcast_sub(column, row)
    apart = F.broadcast_not_equal(gap, F.zeros_like(gap))
    factor = apart / (gap + (1.0 - apart))
    inner = F._matmul(dy, out, transpose_b=True) * factor
    inner = (inner + transposed(inner)) * 0.5 + _put(dy1, _diagonal_places(n, 0), n)
    return [F._matmul(F._matmul(out, inner, transpose_a=True), out)]


# ---------------------------------------------------------------------------------------------- of the np face


@operator("_npi_solve")
def solve(a: Tensor, b: Tensor) -> Tensor:
    """x with a x = b."""
    return K.solve(a, b)


@gradient(solve)
def _solve_gradient(dy: Value, a: Value, out: Value) -> Gradients:
    gb = F._npi_solve(transposed(a), dy)
    return [F.negative(F._matmul(gb, out, transpose_b=True)), gb]


@operator("_npi_qr", outputs=2)
def np_qr(a: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Orthogonal Q and upper triangular R with a = Q R."""
    return K.qr(a)


@gradient(np_qr)
def _np_qr_gradient(dy: Value, dy1: Value, a: Value, out: Value, out1: Value) -> Gradients:
    """Walter and Lehmann, 2010; the columns of a wide matrix beyond the square are Q times theirs of R."""
    rows, columns = a.shape[-2:]
    if rows >= columns:
        return [_tall_qr_grad(dy, dy1, out, out1)]
    axis = a.ndim - 1

    def parts(x: Value) -> tuple[Value, Value]:
        lead = (slice(None),) * axis
        return F._slice_view(x, key=(*lead, slice(0, rows))), F._slice_view(x, key=(*lead, slice(rows, columns)))

    (first, rest), beyond = parts(dy1), parts(a)[1]
    square = _tall_qr_grad(dy + F._matmul(beyond, rest, transpose_b=True), first, out, parts(out1)[0])
    return [F.Concat(square, F._matmul(out, rest), dim=axis)]


def _tall_qr_grad(dq: Value, dr: Value, q: Value, r: Value) -> Value:
    inner = F._matmul(r, dr, transpose_b=True) - F._matmul(dq, q, transpose_a=True)
    symmetric = F._triangle(inner) + transposed(F._triangle(inner, offset=-1))
    return F._triangular_solve(r, dq + F._matmul(q, symmetric), lower=False, transpose=True, rightside=True)


@operator("_npi_pinv")
def np_pinv(a: Tensor, cutoff: Tensor) -> Tensor:
    """The pseudo-inverse; singular values up to `cutoff` times the largest count as zero."""
    return K.pinv(a, cutoff)


@gradient(np_pinv)
def _np_pinv_gradient(dy: Value, a: Value, out: Value) -> Gradients:
    """Golub and Pereyra, 1973: differentiating pseudo-inverses of constant rank."""
    p, pt, gt = out, transposed(out), transposed(dy)
    outer = F._matmul(gt, F._matmul(p, pt))  # rows of a that its columns do not reach
    outer = outer - F._matmul(a, F._matmul(p, outer))
    inner = F._matmul(F._matmul(pt, p), gt)
    inner = inner - F._matmul(F._matmul(inner, p), a)
    return [outer + inner - F._matmul(F._matmul(pt, dy), pt), None]


@operator("_npi_svd", outputs=3)
def np_svd(a: Tensor) -> Tensor | tuple[Tensor, ...]:
    """U, singular values and V with a = U diag(s) V."""
    return K.svd(a)


@gradient(np_svd)
def _np_svd_gradient(dy: Value, dy1: Value, dy2: Value, out: Value, out1: Value, out2: Value) -> Gradients:
    """Townsend, 2016: differentiating the singular value decomposition; a has no more rows than columns."""
    u, s, v = out, out1, out2
    n = s.shape[-1]
    square = F.square(s)
    gap = F.broadcast_sub(F.expand_dims(square, axis=-2), F.expand_dims(square, axis=-1))
    apart = F.Cast(F.broadcast_not_equal(gap, F.zeros_like(gap)), dtype=s.dtype)
    factor = apart / (gap + (1.0 - apart))
    row, column = F.expand_dims(s, axis=-2), F.expand_dims(s, axis=-1)

    def skew(x: Value) -> Value:
        return x - transposed(x)

    inner_u = F.broadcast_mul(factor * skew(F._matmul(u, dy, transpose_a=True)), row)
    inner_v = F.broadcast_mul(factor * skew(F._matmul(v, dy2, transpose_b=True)), column)
    inner = inner_u + inner_v + _put(dy1, _diagonal_places(n, 0), n)
    grad = F._matmul(F._matmul(u, inner), v)
    if u.shape[-2] > n:
        rest = F.broadcast_div(dy, row)
        grad = grad + F._matmul(rest - F._matmul(u, F._matmul(u, rest, transpose_a=True)), v)
    if v.shape[-1] > n:
        rest = F.broadcast_div(dy2, column)
        grad = grad + F._matmul(u, rest - F._matmul(F._matmul(rest, v, transpose_b=True), v))
    return [grad]


@operator("_npi_eigh", outputs=2)
def np_eigh(a: Tensor) -> tuple[Tensor, ...]:
    """Eigenvalues in ascending order and eigenvectors (columns) of symmetric matrices."""
    return K.eigh(a)


@operator("_npi_eig", outputs=2)
def np_eig(a: Tensor) -> tuple[Tensor, ...]:
    """Eigenvalues and eigenvectors (columns) of matrices whose eigenvalues are real."""
    return K.eig(a)

"""The functions of NumPy that arrays of `np` answer to (`core.numpy.protocol`),
by the names that MXNet's programs look up.
"""

from __future__ import annotations

_NUMPY_ARRAY_FUNCTION_LIST = (
    "all any argmin argmax around round argsort sort append broadcast_arrays broadcast_to clip concatenate copy "
    "cumsum diag diagonal diagflat dot expand_dims fix flip flipud fliplr inner insert interp max amax mean min amin "
    "nonzero ones_like atleast_1d atleast_2d atleast_3d prod ravel repeat reshape roll split array_split hsplit "
    "vsplit dsplit squeeze stack std sum swapaxes take tensordot tile transpose unique unravel_index flatnonzero "
    "diag_indices_from delete var vdot vstack column_stack hstack dstack zeros_like linalg.norm linalg.cholesky "
    "linalg.inv linalg.solve linalg.tensorinv linalg.tensorsolve linalg.lstsq linalg.pinv linalg.eigvals linalg.eig "
    "linalg.eigvalsh linalg.eigh linalg.qr linalg.matrix_rank shape trace tril triu meshgrid outer kron einsum "
    "polyval shares_memory may_share_memory quantile median percentile diff ediff1d resize where full_like bincount "
    "empty_like nan_to_num isposinf isneginf pad cross"
).split()
_NUMPY_ARRAY_UFUNC_LIST = (
    "abs fabs add arctan2 copysign degrees hypot lcm gcd logaddexp subtract multiply floor_divide true_divide "
    "negative power mod fmod matmul absolute rint sign exp log log2 log10 expm1 sqrt square cbrt reciprocal invert "
    "bitwise_not remainder sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh maximum fmax "
    "minimum fmin ceil trunc floor bitwise_and bitwise_xor bitwise_or logical_and logical_or logical_xor logical_not "
    "equal not_equal less less_equal greater greater_equal isnan isfinite isinf"
).split()


def with_array_function_protocol(func):
    """The function as it is: arrays of `np` always answer to NumPy's functions."""
    return func


with_array_ufunc_protocol = with_array_function_protocol

"""Helpers of training programs: batches over several contexts, gradient clipping; and the names of `gluon.store`."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence

from core import ndarray as nd
from core.base import BadArgument
from core.context import Context
from core.ops.registry import F
from core.util import is_np_array
from gluon.block import HookHandle
from gluon.block.block import indent as _indent  # noqa: F401 - the name that toolkits import
from gluon.parameter import shape_is_known  # noqa: F401
from gluon.store import DownloadError, check_sha1, download, replace_file
from gluon.store import repo_file_url as _get_repo_file_url  # noqa: F401 - the name that toolkits import
from gluon.store import repo_url as _get_repo_url  # noqa: F401

__all__ = [
    "DownloadError",
    "HookHandle",
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "split_and_load",
    "split_data",
    "split_rnn_params",
]


def split_data(data, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list:
    """Cuts an array into `num_slice` pieces along `batch_axis`.

    Raises ValueError when the extent is not a multiple of `num_slice`, unless `even_split` is false: then the
    first pieces are one longer than the others, and the last ones are empty where there are more pieces than rows.
    Arrays that are not NumPy's have empty pieces along the first axis only: ValueError along another one.

    Pieces are copies that can be written to by themselves.

    >>> [piece.shape for piece in gluon.utils.split_data(nd.zeros((5, 2)), 2, even_split=False)]
    [(3, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    length, extra = divmod(size, num_slice)
    if extra and even_split:
        raise ValueError(
            f"data with shape {tuple(data.shape)} cannot be evenly split into {num_slice} slices along axis "
            f"{batch_axis}. Use a batch size that's multiple of {num_slice} or set even_split=False to allow uneven "
            "partitioning of data."
        )
    if length == 0 and batch_axis != 0 and not is_np_array():
        raise _too_many(num_slice, data, batch_axis)
    if num_slice == 1:
        return [data]
    ends = list(itertools.accumulate(length + (i < extra) for i in range(num_slice)))
    before = (slice(None),) * (batch_axis % len(data.shape))
    return [data[(*before, slice(begin, end))] for begin, end in zip([0, *ends], ends)]


def _too_many(num_slice, data, batch_axis) -> ValueError:
    return ValueError(f"too many slices: {num_slice} for data with shape {tuple(data.shape)} along axis {batch_axis}")


def split_and_load(data, ctx_list: Sequence[Context] | Context, batch_axis: int = 0, even_split: bool = True) -> list:
    """Cuts a batch into one piece for each context and puts the pieces there.

    `data` may be an NDArray or what `nd.array` takes. Errors as for `split_data`; and ValueError where a context would get
    an empty piece, unless NumPy's semantics are on, whose layers take such pieces.

    One piece is made for each context, in order; with one context the whole batch goes there. Loops over devices run `net` on each
    piece, and `trainer.step` adds the gradients up.

    >>> pieces = gluon.utils.split_and_load(nd.arange(4), [mx.cpu(0), mx.cpu(1)])
    >>> [piece.shape for piece in pieces]
    [(2,), (2,)]
    """
    contexts = [ctx_list] if isinstance(ctx_list, Context) else list(ctx_list)
    if not isinstance(data, nd.NDArray):
        data = nd.array(data, ctx=contexts[0])
    slices = split_data(data, len(contexts), batch_axis, even_split)
    if data.shape[batch_axis] < len(contexts) and not is_np_array():
        raise _too_many(len(contexts), data, batch_axis)
    return [piece.as_in_context(context) for piece, context in zip(slices, contexts)]


def split_rnn_params(
    param, mode: str, num_layers: int, input_size: int, hidden_size: int, bidirectional=False, projection_size=None
) -> dict:
    """The weights and biases in the one vector that the RNN operator takes,
    by name ("l0_i2h_weight", "r0_h2h_bias", ...).

    mode: rnn_relu, rnn_tanh, lstm or gru. All weights come before all biases, layer by layer, to the left before to the
    right; a weight has the shape (gates hidden, inputs), with a projection h2r_weight is (projection, hidden).
    ValueError where the length of `param` is another.

    >>> parameters = nd.zeros(4 * 5 * (3 + 5) + 2 * 4 * 5)
    >>> named = gluon.utils.split_rnn_params(parameters, "lstm", num_layers=1, input_size=3, hidden_size=5)
    >>> {name: array.shape for name, array in named.items()}["l0_i2h_weight"]
    (20, 3)
    """
    from gluon.rnn.rnn_layer import GATES

    rows, recurrent = GATES[mode] * hidden_size, projection_size or hidden_size
    directions = "lr" if bidirectional else "l"
    shapes = {}
    for kind, layer, direction in itertools.product(("weight", "bias"), range(num_layers), directions):
        name = f"{direction}{layer}_{{}}_{kind}".format
        width = len(directions) * recurrent if layer else input_size
        shapes[name("i2h")] = (rows, width) if kind == "weight" else (rows,)
        shapes[name("h2h")] = (rows, recurrent) if kind == "weight" else (rows,)
        if projection_size and kind == "weight":
            shapes[name("h2r")] = (projection_size, hidden_size)
    ends = list(itertools.accumulate(map(math.prod, shapes.values())))
    if ends[-1] != param.size:
        raise ValueError(f"{ends[-1]} numbers are in the parameters of this {mode}, {param.size} are given")
    return {name: param[b:e].reshape(shapes[name]) for name, b, e in zip(shapes, [0, *ends], ends)}


def clip_global_norm(arrays: Sequence, max_norm: float, check_isfinite: bool = True):
    """Scales `arrays` in place so that their 2-norm, taken together, is at most `max_norm`; returns the former norm.

    With `check_isfinite` the norm is a NumPy number (reading it waits for the result) and a warning says when it is not
    finite. Without, it is an array of one element and nothing waits.

    The norm is the root of the sum of the squares of all elements of all arrays. Call it between `backward` and `trainer.step`, on
    `[p.grad() for p in params]`.

    >>> arrays = [nd.array([3]), nd.array([4])]
    >>> float(gluon.utils.clip_global_norm(arrays, max_norm=1))
    5.0
    >>> arrays[0]
    [0.6]
    <NDArray 1 @cpu(0)>
    """
    if not arrays:
        raise BadArgument("clip_global_norm needs at least one array")
    context = arrays[0].ctx
    by_context: dict[Context, list] = {}
    for array in arrays:
        by_context.setdefault(array.ctx, []).append(array)
    squares = [
        F.multi_sum_sq(*group, num_arrays=len(group)).sum().reshape((1,)).as_in_context(context)
        for group in by_context.values()
    ]
    total = sum(squares[1:], squares[0]).sqrt()
    scale = (max_norm / (total + 1e-8)).clip(0, 1)
    for array in arrays:
        array *= scale.as_in_context(array.ctx).astype(array.dtype)
    if not check_isfinite:
        return total
    norm = total.asnumpy()[0]
    if not math.isfinite(norm):
        warnings.warn("nan or inf is detected. Clipping results will be undefined.", stacklevel=2)
    return norm

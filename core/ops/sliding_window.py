"""Attention in a sliding window: each position of a sequence sees `w` positions on either side, or before it,
`dilation` apart.

Arrays are those of MXNet 2: query, key and value (batch, positions, heads, width), dilation (heads,) of integers, and
scores (batch, positions, heads, window) with a window of 2 w + 1, or of w + 1 where `symmetric` is False (source: Beltagy,
Peters and Cohan, Longformer, 2020). Scores of positions outside of the sequence are 0.
"""

from core import kernels
from core.ops.attributes import Bool, Int
from core.ops.registry import F, composite, operator
from core.ops.shape import expect_shape
from core.ops.values import Tensor, Value


@operator("_sliding_window", outputs=2, memory="new")
def _sliding_window(data: Tensor, dilation: Tensor, *, w: Int, symmetric: Bool) -> Tensor | tuple[Tensor, ...]:
    """What each position of data (batch, positions, heads, ...) sees: rows of (positions x heads), int64,
    and 1 where there are such, else 0.

    Both (positions, heads, window), the second of the data's type;
    rows that are not there are numbered like the first position.
    """
    length, heads = data.shape[1:3]
    expect_shape("sliding window attention", "a dilation", dilation, (heads,))

    def along(values: range, shape: tuple[int, ...]) -> Tensor:
        return kernels.shape.reshape(kernels.shape.index_tensor(values, data), shape)

    times, add = F.broadcast_mul.forward, F.broadcast_add.forward
    steps = along(range(-w, w + 1 if symmetric else 1), (1, 1, -1))
    apart = kernels.shape.reshape(kernels.cast(dilation, "int64"), (1, heads, 1))
    position = add(along(range(length), (-1, 1, 1)), times(steps, apart))
    inside = times(
        F._greater_equal_scalar.forward(position, scalar=0), F._lesser_scalar.forward(position, scalar=length)
    )
    rows = add(F._mul_scalar.forward(times(position, inside), scalar=heads), along(range(heads), (1, -1, 1)))
    return rows, kernels.cast(inside, kernels.dtype_name(data))


def _seen(data: Value, dilation: Value, w: int, symmetric: bool) -> tuple[Value, Value]:
    """The data of the positions that each position sees, (batch, positions, heads, window, width), and which of these exist."""
    batch, length, heads, width = data.shape
    rows, inside = F._sliding_window(data, dilation, w=w, symmetric=symmetric)
    flat = F._reshape_to(data, shape=(batch, length * heads, width))
    seen = F.take(flat, F._reshape_to(rows, shape=(-1,)), axis=1)
    window = 2 * w + 1 if symmetric else w + 1
    return F._reshape_to(seen, shape=(batch, length, heads, window, width)), F.expand_dims(inside, axis=0)


@composite("_contrib_sldwin_atten_score", aliases=("_npx_sldwin_atten_score",))
def sldwin_atten_score(query: Value, key: Value, dilation: Value, *, w: Int, symmetric: Bool) -> Value:
    """The products of each query with the keys that it sees."""
    expect_shape("sldwin_atten_score", "a key", key, tuple(query.shape))
    keys, inside = _seen(key, dilation, w, symmetric)
    return F.broadcast_mul(F.sum(F.broadcast_mul(F.expand_dims(query, axis=3), keys), axis=4), inside)


@composite("_contrib_sldwin_atten_mask_like", aliases=("_npx_sldwin_atten_mask_like",))
def sldwin_atten_mask_like(score: Value, dilation: Value, valid_length: Value, *, w: Int, symmetric: Bool) -> Value:
    """1 for each score of two positions below the `valid_length` (batch,) of their sequence, else 0."""
    batch, length, heads, window = score.shape
    expect_shape("sldwin_atten_mask_like", "an array of valid lengths", valid_length, (batch,))
    rows, inside = F._sliding_window(score, dilation, w=w, symmetric=symmetric)
    limit = F._reshape_to(F.Cast(valid_length, dtype="int64") * heads, shape=(batch, 1, 1, 1))
    own, _ = F._sliding_window(score, dilation, w=0, symmetric=False)
    mask = inside
    for numbers in (rows, own):  # rows below the limit are of positions below the length, for every head
        below = F.broadcast_lesser(F.expand_dims(numbers, axis=0), limit)
        mask = F.broadcast_mul(mask, F.Cast(below, dtype=score.dtype))
    return mask


@composite("_contrib_sldwin_atten_context", aliases=("_npx_sldwin_atten_context",))
def sldwin_atten_context(score: Value, value: Value, dilation: Value, *, w: Int, symmetric: Bool) -> Value:
    """The values that each position sees, weighted by its scores and added up."""
    batch, length, heads, _ = value.shape
    expect_shape("sldwin_atten_context", "a score", score, (batch, length, heads, 2 * w + 1 if symmetric else w + 1))
    values, inside = _seen(value, dilation, w, symmetric)
    return F.sum(F.broadcast_mul(F.expand_dims(F.broadcast_mul(score, inside), axis=4), values), axis=3)

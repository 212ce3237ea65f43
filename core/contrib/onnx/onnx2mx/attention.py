"""Attention of ONNX, since opset 23 one node, as symbols."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import Network, converts
from core.symbol import Symbol

_OUT = -1e38  # the score of what is masked: all of a row may be, and gives zeros then


@converts("Attention")
def attention(net, attrs, q, k, v, mask=None, past_key=None, past_value=None, lengths=None):
    """softmax(q k' * scale + mask) v of (batch, heads, steps, width),
    or (batch, steps, heads * width) with numbers of heads.
    """
    if lengths is not None or max(attrs.get("left_window_size", -1), attrs.get("right_window_size", -1)) >= 0:
        raise net.refuse("lengths of keys and windows are not converted")
    if net.outputs > 3:
        raise net.refuse("its fourth output, the scores, is not converted")
    rank, dtype = net.rank(q), net.dtype(q)
    q, k, v = (net.symbol(x) for x in (q, k, v))
    if rank == 3:
        q = _heads(q, attrs["q_num_heads"])
        k, v = (_heads(x, attrs["kv_num_heads"]) for x in (k, v))
    if past_key is not None:
        k = sym.Concat(net.symbol(past_key), k, dim=2)
        v = sym.Concat(net.symbol(past_value), v, dim=2)
    keys, values = k, v
    heads, shared = (_extent(net, x, 1) for x in (q, k))
    if heads != shared:
        k, v = (sym.repeat(x, repeats=heads // shared, axis=1) for x in (k, v))
    scale = attrs.get("scale") or _extent(net, q, 3) ** -0.5
    q, k = (x * float(np.sqrt(scale)) for x in (q, k))
    scores = sym.Cast(sym.linalg_gemm2(q, k, transpose_b=True), dtype="float32")
    bias = _bias(net, mask, keys)
    causal = _causal(net, q, keys, past_key) if attrs.get("is_causal") else None
    softcap = attrs.get("softcap", 0.0)
    scores = sym.tanh(scores / softcap) * softcap if softcap else scores
    for masked in (bias, causal):
        scores = scores if masked is None else sym.op._npi_add(scores, masked)
    scores = sym.op._npi_maximum_scalar(scores, scalar=_OUT)
    weights = sym.softmax(scores, axis=-1) * (scores > _OUT / 10)
    made = sym.linalg_gemm2(sym.Cast(weights, dtype=dtype), v)
    if rank == 3:
        made = sym.Reshape(sym.transpose(made, axes=(0, 2, 1, 3)), shape=(0, 0, -3))
    return [made, keys, values][: max(1, net.outputs)]


@converts("RotaryEmbedding")
def rotary_embedding(net, attrs, x, cosines, sines, places=None):
    """Pairs of the first elements of each head turned by the angles of their positions (Su et al., 2021)."""
    rank = net.rank(x)
    cosines, sines = (net.symbol(t) for t in (cosines, sines))
    if places is not None:
        cosines, sines = (sym.take(t, net.symbol(places), axis=0) for t in (cosines, sines))
    cosines, sines = (sym.expand_dims(t, axis=1) for t in (cosines, sines))
    x = _heads(net.symbol(x), attrs["num_heads"]) if rank == 3 else net.symbol(x)
    width = attrs.get("rotary_embedding_dim") or _extent(net, x, 3)
    turned = sym.slice_axis(x, axis=3, begin=0, end=width)
    kept = sym.slice_axis(x, axis=3, begin=width, end=None) if width < _extent(net, x, 3) else None
    if attrs.get("interleaved"):
        pairs = sym.Reshape(turned, shape=(0, 0, 0, width // 2, 2))
        one, other = (sym.squeeze(sym.slice_axis(pairs, axis=4, begin=b, end=b + 1), axis=4) for b in (0, 1))
    else:
        one, other = (sym.slice_axis(turned, axis=3, begin=b, end=b + width // 2) for b in (0, width // 2))
    mul = sym.broadcast_mul
    parts = [
        sym.broadcast_sub(mul(one, cosines), mul(other, sines)),
        sym.broadcast_add(mul(one, sines), mul(other, cosines)),
    ]
    if attrs.get("interleaved"):
        made = sym.Reshape(sym.stack(*parts, axis=4), shape=(0, 0, 0, width))
    else:
        made = sym.Concat(*parts, dim=3)
    made = made if kept is None else sym.Concat(made, kept, dim=3)
    return sym.Reshape(sym.transpose(made, axes=(0, 2, 1, 3)), shape=(0, 0, -3)) if rank == 3 else made


# ----------------------------------------------------------------------------------------------


def _heads(x: Symbol, count: int) -> Symbol:
    """(batch, steps, heads * width) as (batch, heads, steps, width)."""
    return sym.transpose(sym.Reshape(x, shape=(0, 0, -4, count, -1)), axes=(0, 2, 1, 3))


def _extent(net: Network, x: Symbol, axis: int) -> int:
    shape = net.shape(x)
    if shape is None or shape[axis] < 1:
        raise net.refuse("numbers and widths of heads must be known")
    return shape[axis]


def _bias(net: Network, mask, keys: Symbol) -> Symbol | None:
    """What a mask adds to scores; False is out."""
    if mask is None:
        return None
    if net.shape(mask) is None or net.shape(mask)[-1] != (net.shape(keys) or (None,) * 4)[2]:
        raise net.refuse("a mask of as many elements as there are keys is needed")
    if net.dtype(mask) == "bool":
        return (1 - sym.Cast(net.symbol(mask), dtype="float32")) * _OUT
    return sym.Cast(net.symbol(mask), dtype="float32")


def _causal(net: Network, q: Symbol, keys: Symbol, past) -> Symbol:
    """What is added to scores of keys behind the query, whose place is counted from the end of the past."""
    rows = sym.Reshape(sym.contrib.arange_like(q, axis=2), shape=(-1, 1))
    if past is not None:
        before = sym.sum(sym.ones_like(sym.contrib.arange_like(net.symbol(past), axis=2)))
        rows = sym.broadcast_add(rows, before)
    columns = sym.Reshape(sym.contrib.arange_like(keys, axis=2), shape=(1, -1))
    return sym.Cast(sym.broadcast_greater(columns, rows), dtype="float32") * _OUT

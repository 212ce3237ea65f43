"""Attention of the CPU backend against the float64 formula and its gradient."""

import math

import numpy as np
import pytest
import torch

from core import kernels
from core.kernels.cpu import random
from core.kernels.cpu.attention import attention, attention_grad, cache_write

TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
SIZES = [(1, 1, 1, 1, 1), (2, 3, 7, 7, 8), (2, 1, 5, 11, 16), (2, 2, 70, 33, 8)]


def draw(shape, dtype=torch.float64, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def close(ours, truth, dtype):
    assert ours.shape == truth.shape and ours.dtype == dtype
    assert (ours.double() - truth).norm() <= TOLERANCE[dtype] * max(truth.norm(), 1e-3)


def attention64(q, k, v, do, scale, causal, length, mask=None):
    """Results and gradients in float64; `mask` multiplies the probabilities."""
    q, k, v, do = (t.double() for t in (q, k, v, do))
    keys = torch.arange(k.shape[2])
    seen = torch.ones(q.shape[0], 1, q.shape[2], k.shape[2], dtype=torch.bool)
    if causal:
        seen = seen & (keys <= torch.arange(q.shape[2]).unsqueeze(1))
    if length is not None:
        seen = seen & (keys < length.view(-1, 1, 1, 1))
    scores = q @ k.mT * scale
    e = torch.where(seen, scores.exp(), 0)
    total = e.sum(-1, keepdim=True)
    p = torch.where(total > 0, e / total, 0)
    mask = torch.ones_like(p) if mask is None else mask.double()
    dp = do @ v.mT * mask
    ds = p * (dp - (dp * p).sum(-1, keepdim=True)) * scale
    return (p * mask) @ v, total.log().squeeze(-1), ds @ k, ds.mT @ q, (p * mask).mT @ do


def compare(q, k, v, do, dtype, causal, length, dropout=0.0, key=None, mask=None):
    scale = 1 / math.sqrt(q.shape[-1])
    truth = attention64(q, k, v, do, scale, causal, length, mask)
    o, lse = attention(q, k, v, scale, causal, length, dropout, key)
    close(o, truth[0], dtype)
    assert torch.allclose(lse.double(), truth[1], atol=1e-4)
    grads = attention_grad(do, q, k, v, o, lse, scale, causal, length, dropout, key)
    for ours, expected in zip(grads, truth[2:]):
        close(ours, expected, dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("b, h, lq, lk, d", SIZES)
def test_attention(b, h, lq, lk, d, causal, lengths, dtype):
    q, do = draw((b, h, lq, d), dtype), draw((b, h, lq, d), dtype, 1)
    k, v = draw((b, h, lk, d), dtype, 2), draw((b, h, lk, d), dtype, 3)
    length = torch.tensor([(lk + 1) // 2, 0][:b], dtype=torch.int32) if lengths else None
    compare(q, k, v, do, dtype, causal, length)


@pytest.fixture
def plain(monkeypatch):
    """Attention without ATen's flash kernel, a few heads at a time."""
    monkeypatch.setattr("core.kernels.cpu.attention._fused", lambda *_: False)
    monkeypatch.setattr("core.kernels.cpu.attention.CHUNK", 10_000)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_few_heads_at_a_time(dropout, causal, dtype, plain):
    q, k, v, do = (draw((3, 2, 70, 16), dtype, s) for s in range(4))
    mask = random.dropout(torch.ones(3, 2, 70, 70), dropout, 99) if dropout else None
    compare(q, k, v, do, dtype, causal, torch.tensor([70, 0, 31]), dropout, 99, mask)
    compare(q, k, v[..., :8], do[..., :8], dtype, causal, None, dropout, 99, mask)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_large_scores_in_half_precision(dtype, plain):
    q, k, v, do = (draw((1, 2, 40, 16), dtype, s) for s in range(4))
    compare(q * 40, k, v + 100, do, dtype, False, None)  # scores up to 200


def test_transposed_inputs_and_other_value_size():
    q, k = (draw((2, 5, 3, 8), torch.float32, s).transpose(1, 2) for s in (0, 1))
    v, do = (draw((2, 5, 3, 4), torch.float32, s).transpose(1, 2) for s in (2, 3))
    compare(q, k, v, do, torch.float32, True, torch.tensor([5, 2]))


def test_rows_whose_elements_lie_apart():
    q, k, v, do = (draw((2, 2, 8, 5), torch.float32, s).mT for s in range(4))
    compare(q, k, v, do, torch.float32, False, None)
    compare(q, k, v, do[..., :1].expand_as(do), torch.float32, True, torch.tensor([5, 2]))


def test_dropout():
    q, k, v, do = (draw((2, 2, 6, 8), torch.float32, s) for s in range(4))
    mask = random.dropout(torch.ones(2, 2, 6, 6), 0.3, 99)
    compare(q, k, v, do, torch.float32, False, torch.tensor([6, 4]), 0.3, 99, mask)
    assert torch.equal(*(attention(q, k, v, 1.0, True, None, 0.3, 7)[0] for _ in range(2)))


def test_empty():
    q, k = torch.zeros(2, 3, 5, 8), torch.zeros(2, 3, 0, 8)
    o, lse = attention(q, k, k, 1.0, False, None, 0.0, None)
    assert not o.any() and o.shape == q.shape and (lse == -math.inf).all()
    dq, dk, dv = attention_grad(q, q, k, k, o, lse, 1.0, False, None, 0.0, None)
    assert not dq.any() and dk.shape == dv.shape == k.shape


def test_shapes_are_inferred_on_meta():
    q, k = torch.empty(2, 3, 5, 8, device="meta"), torch.empty(2, 3, 4, 8, device="meta")
    for length in (None, torch.empty(2, dtype=torch.int32, device="meta")):
        o, lse = kernels.attention.attention(q, k, k, 1.0, True, length, 0.0, None)
        assert o.shape == q.shape and lse.shape == (2, 3, 5)
        grads = kernels.attention.attention_grad(o, q, k, k, o, lse, 1.0, True, length, 0.0, None)
        assert [g.shape for g in grads] == [q.shape, k.shape, k.shape]


def test_cache_write():
    cache, rows = draw((2, 3, 7, 4)), draw((2, 3, 2, 4), seed=1)
    expected = cache.clone()
    expected[0, :, 5:7], expected[1, :, 1:3] = rows[0], rows[1]
    assert cache_write(cache, rows, torch.tensor([5, 1], dtype=torch.int32)) is cache
    assert torch.equal(cache, expected)
    for counts in ([6, 0], [-1, 0]):
        with pytest.raises(IndexError, match=f"7 steps that holds {counts[0]} has no place for 2"):
            cache_write(cache, rows, torch.tensor(counts))

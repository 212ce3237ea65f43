"""The Triton attention kernels against the CPU backend in float64."""

import numpy as np
import pytest
import torch

from core import kernels
from core.base import MXNetError
from core.kernels.cpu import attention as truth
from core.kernels.triton import attention as family

pytestmark = pytest.mark.usefixtures("on_device")

TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}
SCALE = 0.3
# (B, H, Lq, Lk, D): one element, smaller than a tile, several tiles of queries and of keys, odd head sizes
SIZES = [(1, 1, 1, 1, 1), (2, 3, 5, 11, 16), (1, 2, 70, 70, 8), (1, 1, 33, 150, 20), (2, 1, 131, 7, 3)]


def draw(shape, dtype=torch.float32, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def inputs(b, h, lq, lk, d, dtype=torch.float32):
    return [draw((b, h, n, d), dtype, seed) for seed, n in enumerate((lq, lk, lk, lq))]


def close(ours, expected):
    assert ours.shape == expected.shape
    assert (ours.double().cpu() - expected.cpu()).norm() <= TOLERANCE[ours.dtype] * max(expected.norm(), 1e-3)


def check(q, k, v, do, causal, length):
    o, lse = family.attention(q, k, v, SCALE, causal, length, 0.0, None)
    grads = family.attention_grad(do, q, k, v, o, lse, SCALE, causal, length, 0.0, None)
    assert {t.dtype for t in (o, *grads)} == {q.dtype}
    q, k, v, do = (t.double().cpu() for t in (q, k, v, do))
    length = None if length is None else length.cpu()
    true_o, true_lse = truth.attention(q, k, v, SCALE, causal, length, 0.0, None)
    close(o, true_o)
    assert lse.dtype == (torch.float64 if o.dtype == torch.float64 else torch.float32)
    assert torch.allclose(lse.double().cpu(), true_lse, atol=1e-5)
    expected = truth.attention_grad(do, q, k, v, true_o, true_lse, SCALE, causal, length, 0.0, None)
    for a, b in zip(grads, expected, strict=True):
        close(a, b)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_sizes(size, causal, lengths):
    check(
        *inputs(*size), causal, torch.tensor([size[3] // 2 + 1, 0][: size[0]], dtype=torch.int32) if lengths else None
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_types(dtype, causal):
    check(*inputs(2, 1, 40, 51, 24, dtype), causal, torch.tensor([37, 51]))


def test_layouts():
    q, k, v, do = (t.transpose(1, 2) for t in inputs(2, 7, 2, 2, 8))
    k, v = (draw((2, 9, 2, 8), seed=s).transpose(1, 2) for s in (4, 5))
    check(q, k, v, do, True, None)
    check(q.mT.contiguous().mT, k, v, do, False, None)
    check(q, k, v, do[..., :1].expand_as(do), False, torch.tensor([9, 4]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [None, [150, 0]])
@pytest.mark.parametrize("size", [(2, 2, 70, 300, 64), (2, 1, 260, 260, 24), (2, 1, 130, 129, 160)])
def test_blocks_by_descriptors(size, lengths, causal, dtype, monkeypatch):
    """Keys and values that come by descriptors, in blocks and in either order of axes, beside those that do not."""
    q, k, v, _ = inputs(*size, dtype)
    q, k, v, length = q / 4, k, v.transpose(1, 2).contiguous().transpose(1, 2), None
    if lengths:
        length = torch.tensor(lengths, dtype=torch.int32)
        k[0, :, 150:] = v[0, :, 150:] = torch.nan  # nobody sees these
    described, made = family._descriptor, []
    monkeypatch.setattr(family, "_descriptor", lambda *given: made.append(given) or described(*given))
    found = family.attention(q, k, v, SCALE, causal, length, 0.0, None)
    assert len(made) == 2
    monkeypatch.setattr(family, "_describable", lambda t: False)
    beside = family.attention(q, k, v, SCALE, causal, length, 0.0, None)
    assert len(made) == 2
    expected = truth.attention(*(t.double().nan_to_num() for t in (q, k, v)), SCALE, causal, length, 0.0, None)
    for o, lse in (found, beside):
        close(o, expected[0])
        assert torch.allclose(lse.double(), expected[1], atol=1e-3)


@pytest.mark.slow  # the interpreter copies what the tensor's memory spans, 4 GB
def test_offsets_beyond_32_bits():
    q, k, v, _ = inputs(2, 1, 5, 7, 8, torch.float16)
    far = torch.zeros(2**31 + 64, dtype=torch.float16).as_strided(k.shape, (2**31, 56, 8, 1)).copy_(k)
    o, lse = family.attention(q, far, v, SCALE, False, None, 0.0, None)
    expected = truth.attention(*(t.double().cpu() for t in (q, k, v)), SCALE, False, None, 0.0, None)
    close(o, expected[0])
    assert torch.allclose(lse.double().cpu(), expected[1], atol=1e-3)


def test_large_scores():
    q, k, v, do = inputs(1, 1, 20, 40, 16, torch.float64)
    check(q * 20, k * 20, v, do, False, None)


@pytest.mark.parametrize("causal", [False, True])
def test_dropout(causal):
    q, k, v, do = inputs(2, 2, 70, 64, 64)
    length, p, key = torch.tensor([64, 50]), 0.3, 5_000_000_000_019
    seen = family.attention(q, k, torch.eye(64).expand_as(k), SCALE, causal, length, 0.0, None)[0]
    kept = family.attention(q, k, torch.eye(64).expand_as(k), SCALE, causal, length, p, key)[0]
    mask = torch.where(seen > 0, kept / torch.where(seen > 0, seen, 1), 0)
    assert torch.allclose(mask[mask > 0.5], torch.tensor(1 / (1 - p)))
    share = (mask > 0.5).sum() / (seen > 0).sum()
    assert abs(share - (1 - p)) < 0.02
    # No two rows or (sample, head) matrices share a mask.
    assert len({tuple(row.tolist()) for row in mask[:, :, -40:, :50].reshape(-1, 50) > 0.5}) == 160
    other = family.attention(q, k, torch.eye(64).expand_as(k), SCALE, causal, length, p, key + 1)[0]
    assert not torch.equal(other, kept)

    o, lse = family.attention(q, k, v, SCALE, causal, length, p, key)
    key = torch.tensor([key])  # one that lies in memory is the same one
    grads = family.attention_grad(do, q, k, v, o, lse, SCALE, causal, length, p, key)
    q, k, v, do, seen, mask = (t.double() for t in (q, k, v, do, seen, mask))
    close(o, (seen * mask) @ v)
    dp = do @ v.mT * mask
    ds = seen * (dp - (dp * seen).sum(-1, keepdim=True)) * SCALE
    for a, b in zip(grads, (ds @ k, ds.mT @ q, (seen * mask).mT @ do), strict=True):
        close(a, b)


def test_empty():
    q, k = torch.zeros(2, 3, 5, 8), torch.zeros(2, 3, 0, 8)
    o, lse = family.attention(q, k, k, SCALE, False, None, 0.0, None)
    assert not o.any() and o.shape == q.shape and (lse == -torch.inf).all()
    dq, dk, dv = family.attention_grad(q, q, k, k, o, lse, SCALE, False, None, 0.0, None)
    assert not dq.any() and dk.shape == dv.shape == k.shape
    assert family.attention(k, q, q, SCALE, False, None, 0.0, None)[0].shape == k.shape


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_deterministic_mode(size, causal):
    """dq comes from a kernel of its own, without atomics."""
    q, k, v, do = inputs(*size)
    before = kernels.set_deterministic(True)
    try:
        check(q, k, v, do, causal, None)
        check(*(t.half() for t in (q, k, v, do)), causal, None)
    finally:
        kernels.set_deterministic(before)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_wide_heads(dtype):
    """Scores spread as those of smaller heads do."""
    for size, causal, length in (((1, 2, 40, 70, 256), True, None), ((1, 1, 33, 20, 160), False, torch.tensor([17]))):
        q, k, v, do = inputs(*size, dtype)
        check(q / 4, k, v, do, causal, length)


def test_errors():
    q = torch.zeros(1, 1, 2, 130)
    with pytest.raises(MXNetError, match=r"heads of size 130 .* at most 128 is supported in float32"):
        family.attention(q, q, q, SCALE, False, None, 0.0, None)
    with pytest.raises(MXNetError, match=r"\(1, 1, 2, 64\)"):
        family.attention(q, q[..., :64], q, SCALE, False, None, 0.0, None)


X, LSE = torch.ones(1, 2, 5, 8), torch.ones(1, 2, 5)
LENGTH = torch.tensor([3])
W = torch.ones(1, 1, 70, 256, dtype=torch.bfloat16)
HALF = X.half()
SAMPLES = [
    lambda: family.attention(X, X, X, SCALE, True, LENGTH, 0.1, 7),
    lambda: family.attention_grad(X, X, X, X, X, LSE, SCALE, True, LENGTH, 0.1, 7),
    lambda: family.attention_grad(*[HALF] * 5, LSE, SCALE, False, None, 0.0, None),
    lambda: family.attention_grad(*[W] * 5, torch.ones(1, 1, 70), SCALE, True, None, 0.0, None),
    lambda: family.attention(*[W] * 3, SCALE, False, None, 0.0, None),
    lambda: family.attention(*[HALF] * 3, SCALE, True, LENGTH, 0.1, 7),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_cache_write(dtype):
    cache, rows = draw((2, 3, 7, 20), dtype), draw((2, 2, 3, 20), dtype, seed=1).transpose(1, 2)
    expected = cache.clone()
    expected[0, :, 5:7], expected[1, :, 6:7] = rows[0], rows[1, :, :1]  # the last one has no place
    assert family.cache_write(cache, rows, torch.tensor([5, 6], dtype=torch.int32)) is cache
    assert torch.equal(cache, expected)

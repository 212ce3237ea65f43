"""Every room beyond 2^31 elements: tensors of several GB, of whose memory only the ends are ever touched.

Memory fresh from the operating system reads as zero and costs nothing until it is written. The first and the last
sample hold numbers; of launches, and of loops inside kernels, only the first and the last turns are run. What kernels
make of the two samples is held against the CPU backend in float64, which sees those two alone. The interpreter checks
every 32-bit addition and multiplication for overflow besides.
"""

import dataclasses
import importlib
import itertools
import math
import sys

import numpy as np
import pytest
import torch
import triton.language as tl
from triton.runtime import interpreter

from core import kernels, ops
from core.kernels import dispatch

pytestmark = pytest.mark.slow

LIMIT = 2**31
TURNS = 3  # at either end of loops of more than SHORT turns
SHORT = 64
# By rooms, kernels whose loops run over all samples, each turn by itself.
SUMS = {"_depthwise": "_depthwise_weight", "_layer_norm": "_backward_kernel", "_per_channel": "_sums_kernel"}
COUNTING = "reduce", "optimizer"  # files whose loops count elements themselves: in numbers past 2^31, turn after turn
LIMITS = {torch.float16: 1e-2, torch.float32: 1e-5}
FORMULAS = {op.formula.name: op.formula for op in ops.TABLE.values() if op.formula is not None}


@pytest.fixture(autouse=True)
def only_ends(monkeypatch, poison):
    """Loops of launches and kernels take their first and last turns; memory is not copied back, and fresh or zero."""
    every = range

    def ends(*bounds):
        turns = every(*bounds)
        if len(turns) > SHORT and sys._getframe(1).f_code.co_name in ("__call__", "_new_range", *SUMS.values()):
            turns = itertools.chain(turns[:TURNS], turns[-TURNS:])
        return (turn if turn < LIMIT else wide(turn) for turn in turns)

    empty = torch.empty

    def memory(*size, **how):
        try:
            fresh = empty(*size, **how)
        except RuntimeError as error:
            pytest.skip(f"this machine does not promise so much memory: {error}")
        return fresh.zero_() if fresh.numel() < LIMIT // 8 else fresh

    rewrite = interpreter.FunctionRewriter._compile_and_exec

    def rewritten(self, tree):  # what the interpreter's module holds then stays in the kernel's module for good
        with monkeypatch.context() as without:
            without.delattr(interpreter, "range")
            return rewrite(self, tree)

    monkeypatch.setattr(interpreter.FunctionRewriter, "_compile_and_exec", rewritten)
    for place in (interpreter, *map(kernels_of, (*SUMS, *COUNTING))):
        monkeypatch.setattr(place, "range", ends, raising=False)
    monkeypatch.setattr(interpreter.GridExecutor, "_restore_args_dev", lambda *args: None)
    monkeypatch.setattr(torch, "zeros", memory)
    monkeypatch.setattr(torch, "empty", memory)
    torch.use_deterministic_algorithms(False)


def wide(number):
    """A loop's number as compiled kernels have it: of 64 bits, where the interpreter would pass a Python integer."""
    return tl.tensor(interpreter.TensorHandle(np.array([number]), tl.int64), tl.int64)


def vast(*shape, dtype=torch.float16, last=False, fill=torch.randn):
    """A tensor of zeros but for its first and last sample; `last`: with the channels last in memory."""
    order = (shape[0], *shape[2:], shape[1]) if last else shape
    assert math.prod(order) > LIMIT
    x = torch.empty(order, dtype=dtype)
    torch.manual_seed(0)
    for at in (0, -1):
        x[at] = fill(order[1:])
    return x.movedim(-1, 1) if last else x


def ends_of(t):
    return torch.cat([t[:1], t[-1:]])


def agree(function, *tensors, dtype=torch.float16):
    """`function(room, *tensors)` of the Triton backend at the ends, against the CPU backend's of the ends.

    Tensors as long as the first are cut to their ends, inputs and results alike; the others are taken whole.
    """
    length = tensors[0].shape[0]
    cut = [ends_of(t) if t.shape and t.shape[0] == length else t for t in tensors]
    expected = function(room_of("cpu"), *(t.double() if t.is_floating_point() else t for t in cut))
    got = function(room_of("triton"), *tensors)
    for g, e in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, expected)), strict=True):
        g = (ends_of(g) if g.shape[0] == length else g).double()
        error = torch.linalg.vector_norm(g - e) / torch.linalg.vector_norm(e.double())
        assert g.shape == e.shape and e.count_nonzero() and error < LIMITS[dtype], (g, e)


def room_of(backend):
    return lambda name: importlib.import_module(f"core.kernels.{backend}.{name}")


ROWS = (2**21 + 3, 1031)
IMAGES = (143_200_001, 1, 3, 5)  # with one channel there are more than 2^31 places
DEEPER = (36_000_001, 4, 3, 5)


@pytest.mark.parametrize("name, count", [("gelu", 1), ("broadcast_add", 2)])
def test_pointwise(name, count):
    agree(
        lambda room, *x: room("pointwise").pointwise(FORMULAS[name], list(x), [], x[0].dtype),
        *(vast(*ROWS) for _ in range(count)),
    )


def test_pointwise_of_other_strides():
    agree(
        lambda room, x, y: room("pointwise").pointwise(FORMULAS["broadcast_add"], [x.mT, y], [], x.dtype),
        vast(*ROWS, 1).expand(-1, -1, 2),
        torch.randn(2, 1, dtype=torch.float16),
    )


@pytest.mark.parametrize("name", ["sum", "max", "logsumexp", "moments"])
def test_reductions(name):
    agree(lambda room, x: getattr(room("reduce"), name)(x, (1,), False), vast(*ROWS))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_indices_of_extrema(name):
    agree(lambda room, x: getattr(room("reduce"), name)(x, 1, False), vast(*ROWS))


def test_sums_of_everything():
    """In two stages: programs that are left out leave zeros."""
    agree(lambda room, x: room("reduce").sum(x, (0, 1), True), vast(*ROWS))


def test_scans():
    agree(lambda room, x: room("reduce").cumsum(x, 1), vast(*ROWS))


@pytest.mark.parametrize("axis", [1, 2])
def test_softmax(axis):
    def run(room, x, dy):
        y = room("softmax").softmax(x, axis)
        return y, room("softmax").log_softmax(x, axis), room("softmax").softmax_grad(dy, y, axis)

    agree(run, *(vast(2**20 + 1, 103, 21) for _ in range(2)))


def test_cross_entropy():
    def run(room, x, label, dloss):
        loss = room("softmax").cross_entropy(x, label, 1)
        return loss, room("softmax").cross_entropy_grad(dloss, x, label, 1)

    agree(run, vast(*ROWS), torch.arange(ROWS[0]) % ROWS[1], torch.ones(ROWS[0], dtype=torch.float16))


@pytest.mark.parametrize("shape", [ROWS, (LIMIT - 5, 3)])
def test_layer_norm(shape):
    def run(room, x, dy, gamma, beta):
        y, mean, rstd = room("norm").layer_norm(x, gamma, beta, 1, 1e-5)
        return y, mean, rstd, *room("norm").layer_norm_grad(dy, x, gamma, mean, rstd, 1)

    agree(run, *(vast(*shape) for _ in range(2)), *torch.randn(2, shape[1]))


@pytest.mark.parametrize("last", [False, True])
def test_batch_norm_of_many_samples(last):
    def run(room, x, dy, gamma, beta):
        mean, var = gamma * 0 + 0.5, gamma * 0 + 2.0
        y = room("norm").batch_norm_inference(x, gamma, beta, mean, var, 1, 1e-5)
        return y, *room("norm").batch_norm_inference_grad(dy, x, gamma, mean, var, 1, 1e-5)

    agree(run, *(vast(2**20 + 1, 103, 3, 7, last=last) for _ in range(2)), *torch.randn(2, 103))


@pytest.mark.parametrize("count", [LIMIT + 3, LIMIT - 5])
def test_batch_norm_of_many_channels(count):
    """As many as 64 bits count, and as 32 bits just do: a block of them does not."""
    near = [0, 1, -2, -1]
    x, dy = (torch.empty(3, count, dtype=torch.float16) for _ in range(2))
    gamma, beta = torch.empty(count), torch.empty(count)
    results = []
    for t in (x, dy, gamma, beta):
        t[..., near] = torch.randn(*t.shape[:-1], 4).to(t.dtype)
    for room, at in (kernels_of("norm"), slice(None)), (room_of("cpu")("norm"), near):
        a, b, c, d = (t[..., at] if at is near else t for t in (x, dy, gamma, beta))
        if at is near:
            a, b, c, d = (t.double() for t in (a, b, c, d))
        y, mean, rstd = room.batch_norm(a, c, d, 1, 1e-5)
        results.append((y, mean, rstd, *room.batch_norm_grad(b, a, c, mean, rstd, 1)))
    for got, want in zip(*results, strict=True):
        assert torch.allclose(got[..., near].double(), want, rtol=1e-2, atol=1e-2)


COLUMNS = {
    "scan": lambda room, x: room("reduce").cumsum(x, 0),
    "softmax": lambda room, x: room("softmax").softmax(x, 0),
    "cross-entropy": lambda room, x: room("softmax").cross_entropy(x, torch.zeros(x.shape[1], dtype=torch.int32), 0),
    "rows": lambda room, x: room("index").take(x, torch.tensor([2]), 0),
    "sums of rows": lambda room, x: room("index").take_grad(x[1:2], torch.tensor([0]), 0, (1, x.shape[1])),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_rounding_up_of_many_columns(name, monkeypatch):
    """As many as 32 bits just count: with a block of them, they do not."""
    monkeypatch.setattr(dispatch.state, "deterministic", True)
    near, x = [0, 1, -2, -1], torch.empty(3, LIMIT - 5, dtype=torch.float16)
    x[:, near] = torch.randn(3, 4).half()
    got, want = (COLUMNS[name](room_of(backend), t) for backend, t in (("triton", x), ("cpu", x[:, near].double())))
    assert want.count_nonzero() and torch.allclose(got[..., near].double(), want.double(), rtol=1e-2, atol=1e-2)


def test_rounding_up_of_many_rows():
    """As before, of a product and of a convolution that reads its neighbours."""
    x, w, b = vast(LIMIT - 5, 3), torch.randn(1, 3, dtype=torch.float16), torch.randn(1, dtype=torch.float16)
    agree(lambda room, x, w, b: room("matmul").linear(x, w, b), x, w, b)
    x, w = vast(LIMIT - 5, 2, 1, 1), torch.randn(1, 2, 1, 3, dtype=torch.float16)
    agree(lambda room, x, w, b: room("conv").conv(x, w, b, (1, 1), (1, 1), (0, 1), 1), x, w, b)


def test_group_norm(monkeypatch):
    """Programs that are left out would make the terms of the first and the last sample: they are given."""
    n, groups, size = 2**20 + 1, 2, 51

    def terms(view, gamma, sums):
        given = torch.zeros(2, n * groups)
        parts = sums.view(2, n, groups, size)[:, [0, -1]] * gamma.view(groups, size)
        given.view(2, n, groups)[:, [0, -1]] = parts.sum(-1)
        return given

    def run(room, x, dy, gamma, beta):
        y, mean, rstd = room("norm").group_norm(x, gamma, beta, groups, 1e-5)
        return y, mean, rstd, room("norm").group_norm_grad(dy, x, gamma, mean, rstd, groups)[0]

    monkeypatch.setattr(kernels_of("_per_channel"), "group_terms", terms)
    agree(run, *(vast(n, groups * size, 3, 7, last=True) for _ in range(2)), *torch.randn(2, groups * size))


def test_terms_of_groups():
    room, gamma = kernels_of("_per_channel"), torch.randn(1030)
    sums = vast(2 * (2**20 + 1), 1030, dtype=torch.float32)
    view = room.Channels(None, 1, 2**20 + 1, 1030, 1, True, 2)
    terms = room.group_terms(view, gamma, sums.view(2, -1)).view(-1, 2)
    assert torch.allclose(ends_of(terms), (ends_of(sums) * gamma).view(2, 2, 515).sum(-1), atol=1e-4)


@pytest.mark.parametrize("n", [33, 32])
def test_products_of_many_rows(n, monkeypatch):
    """By pointers, and by descriptors (whose coordinates and results go far, too)."""
    monkeypatch.setattr(kernels_of("matmul"), "_WORTH_COPIES", math.inf)
    k = 5 if n == 33 else 32
    a = torch.empty(2**26 + 3, k, dtype=torch.float16)
    a[[0, -1]] = torch.randn(2, k, dtype=torch.float16)
    w, b = torch.randn(n, k, dtype=torch.float16), torch.randn(n, dtype=torch.float16)
    agree(lambda room, a, w, b: room("matmul").linear(a, w, b, "relu"), a, w, b)


@pytest.mark.parametrize("width", [5, 8])
def test_products_of_many_matrices(width):
    """As above, one product for each sample."""
    a, b = vast(2**27 + 3, 4, width), vast(2**27 + 3, width, 8)
    agree(lambda room, a, b: room("matmul").matmul(a, b), a, b)


def test_long_inner_products(monkeypatch):
    """In as many parts as there are programs, of which the first and the last are run."""
    matmul = kernels_of("matmul")
    many = dataclasses.replace(matmul.target_of(torch.device("cpu")), processors=LIMIT)
    monkeypatch.setattr(matmul, "target_of", lambda device: many)
    monkeypatch.setattr(matmul, "add_partials", lambda partials, out, *end: out.copy_(partials.sum(0)))
    a, b = (vast(2**26 + 3, 33, fill=torch.ones).view(-1) for _ in range(2))
    a[-33:] = torch.arange(33)
    assert matmul.matmul(a[None], b[:, None]) == 33 + 32 * 33 / 2


@pytest.mark.parametrize("width", [2**26 + 3, 2**26])
def test_products_of_far_operands(width):
    """Rows, and steps along the inner axis, that lie far apart: odd and aligned, both ways round."""
    wide = vast(67, width)
    part = torch.randn(67, 40, dtype=torch.float16)
    wide[:, :40] = part
    near, other = wide[:, :40], torch.randn(67, 40, dtype=torch.float16)
    for a, b, ta, tb in ((near, other, False, True), (other, near, True, False), (near, other, True, False)):
        got = kernels_of("matmul").matmul(a, b, ta, tb).double()
        one, two = (part if t is near else t for t in (a, b))
        want = (one.mT if ta else one).double() @ (two.mT if tb else two).double()
        assert torch.linalg.vector_norm(got - want) / torch.linalg.vector_norm(want) < 1e-2


def kernels_of(name):
    return importlib.import_module(f"core.kernels.triton.{name}")


CONVOLUTIONS = {
    "one channel": (IMAGES, (1, 1, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    # So few channels and taps that one tile of a product holds them: the first programs make the first sample whole.
    "blocks of channels": ((2_300_001, 64, 3, 5), (64, 64, 1, 1), (1, 1), (1, 1), (1, 1), 1),
    "odd channels": ((7_200_001, 20, 3, 5), (20, 20, 1, 2), (1, 1), (1, 1), (0, 1), 1),
    "depthwise": (DEEPER, (4, 1, 3, 3), (1, 1), (1, 1), (1, 1), 4),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case):
    shape, w_shape, *how = CONVOLUTIONS[case]
    x, w, b = vast(*shape, last=True), *(torch.randn(s, dtype=torch.float16) for s in (w_shape, w_shape[:1]))
    agree(lambda room, x, w, b: room("conv").conv(x, w, b, *how), x, w, b)
    places = kernels_of("windows").Geometry.of(w_shape, *how).out(shape[2:])
    dy = torch.empty(shape[0], *places, w_shape[0], dtype=torch.float16).movedim(-1, 1)
    dy[[0, -1]] = torch.randn(2, w_shape[0], *places, dtype=torch.float16)
    agree(
        lambda room, dy, x, w: (
            room("conv").conv_data_grad(dy, w, tuple(x.shape), *how),
            room("conv").conv_weight_grad(dy, x, w_shape, *how),
        ),
        dy, x, w,
    )  # fmt: skip


@pytest.mark.parametrize("shape", [IMAGES, DEEPER])
def test_pools(shape):
    how = (3, 3), (2, 2), ((1, 1), (1, 1))

    def run(room, x):
        y, at = room("pool").max_pool(x, *how)
        dx = room("pool").max_pool_grad(y, at, tuple(x.shape), *how)
        mean = room("pool").avg_pool(x, *how, True)
        return (
            y, at.to(torch.int64) if len(at) == 2 else at, dx, room("pool").max_pool_gather(dx, at), mean,
            room("pool").avg_pool_grad(mean, tuple(x.shape), *how, True),
        )  # fmt: skip

    agree(run, vast(*shape, last=True))


def test_attention():
    def run(room, q, k, v, do):
        o, lse = room("attention").attention(q, k, v, 0.25, True, None, 0.0, None)
        return o, *room("attention").attention_grad(do, q, k, v, o, lse, 0.25, True, None, 0.0, None)

    agree(run, *(vast(2**18 + 1, 2, 257, 16)[:, :, :5] for _ in range(4)))


@pytest.mark.parametrize("mode, gates", [("lstm", 4), ("gru", 3)])
def test_gates(mode, gates):
    """One step of so many samples that their gates lie far apart."""
    rnn, count, hidden = kernels_of("rnn"), 2**20 + 1, 683 if gates == 4 else 911
    given = vast(count, gates * hidden, dtype=torch.float32)
    before = torch.zeros(count, hidden)
    after, h = torch.empty_like(before), torch.empty_like(before)
    parts = ends_of(given).double().view(2, gates, hidden).unbind(1)
    grid = rnn._grid(before)
    if mode == "lstm":
        i, f, g, o = parts
        rnn._lstm_step[grid](given, before, after, h, before.numel(), hidden, hidden, BLOCK=rnn._BLOCK)
        want = o.sigmoid() * (i.sigmoid() * g.tanh()).tanh()
    else:
        state = torch.empty_like(given)  # zeros
        r, z, n = parts
        rnn._gru_step[grid](given, state, before, after, h, before.numel(), hidden, hidden, BLOCK=rnn._BLOCK)
        want = n.tanh() * (1 - z.sigmoid())
    assert torch.allclose(ends_of(h).double(), want, atol=1e-5)


def test_states_of_recurrent_networks_are_limited():
    with pytest.raises(Exception, match="up to 1073741824 elements"):
        kernels_of("rnn")._grid(torch.empty(2**20, 2**10, device="meta"))


def test_gathers():
    x, at = vast(*ROWS), torch.tensor([ROWS[0] - 1, 0, ROWS[0] - 1])
    want = x[at]
    assert torch.equal(kernels_of("index").take(x, at, 0), want)
    assert torch.equal(kernels_of("index").gather_nd(x, at[None]), want)
    picked = kernels_of("index").pick(x, torch.arange(ROWS[0]) % 7 + 1000, 1, False)
    assert torch.equal(ends_of(picked), x[[0, -1], [1000, (ROWS[0] - 1) % 7 + 1000]])


@pytest.mark.parametrize("deterministic", [False, True])
def test_scatters(deterministic):
    before = kernels.set_deterministic(deterministic)
    at, dy = torch.tensor([ROWS[0] - 1, 0, ROWS[0] - 1]), torch.randn(3, ROWS[1])
    try:
        got = kernels_of("index").embedding_grad(dy, at, ROWS)
    finally:
        kernels.set_deterministic(before)
    assert torch.allclose(ends_of(got), torch.stack([dy[1], dy[0] + dy[2]]))
    written = kernels_of("index").scatter_nd(dy, at[None], ROWS)
    assert torch.equal(ends_of(written), torch.stack([dy[1], dy[2]]))


# Parts are of one length, for the last programs of a launch serve the longest.
COPIES = {
    "order": lambda room, x: room("copies").contiguous(x.mT),
    "type": lambda room, x: room("copies").cast(x, torch.float32),
    "backwards": lambda room, x: room("copies").flip(x, (1,)),
    "joined": lambda room, x: room("copies").joined([x, x], 1),
    "divided": lambda room, x: room("copies").divided(x[:, :102], (51, 51), 1),
    "rolled": lambda room, x: room("copies").roll(x, 5, 1),
    "written": lambda room, x: room("copies").write_(torch.empty(x.mT.shape, dtype=x.dtype).mT, x),
    "added": lambda room, x: room("copies").add_(torch.empty(x.mT.shape, dtype=x.dtype).mT, x),
    "along": lambda room, x: room("index").gather_along(
        x, torch.arange(102, -1, -1, dtype=torch.int32).view(1, -1, 1), 1
    ),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name):
    agree(COPIES[name], vast(2**20 + 1, 103, 21))


def test_gradients_of_picks():
    at = torch.arange(ROWS[0]) % 7 + 1000
    agree(lambda room, dy, at: room("index").pick_grad(dy, at, 1, (len(dy), ROWS[1])), torch.ones(ROWS[0]), at)


def test_fills():
    fills, x = kernels_of("fills"), vast(*ROWS)
    cut = fills.triangle(x, False, 501 - ROWS[0])  # all of the first row, and what lies from 500 on in the last
    assert torch.equal(cut[0], x[0]) and torch.equal(cut[-1, 500:], x[-1, 500:]) and not cut[-1, :500].any()
    assert ends_of(fills.eye(*ROWS, 501 - ROWS[0], torch.float16, x.device)).nonzero().tolist() == [[1, 500]]
    count = LIMIT + 3
    numbers = fills.evenly(-LIMIT, 1, count, torch.float64, torch.float32, x.device)
    assert numbers[[0, 1, -2, -1]].tolist() == [-LIMIT, -LIMIT, 1, 2]
    apart = x[:, ::2]
    want = torch.where(torch.arange(ROWS[1]) % 2 == 0, 3.0, ends_of(x).float())
    fills.fill_(apart, 3)
    assert torch.equal(ends_of(x).float(), want)
    assert ends_of(fills.fill_(x, 2)).eq(2).all()


def test_one_hot():
    y = kernels_of("index").one_hot(torch.arange(ROWS[0]) % 9, ROWS[1], 1.0, 0.0, torch.float16)
    assert ends_of(y).nonzero().tolist() == [[0, 0], [1, (ROWS[0] - 1) % 9]]


def test_sequences_are_reversed():
    x = vast(*ROWS)
    y = kernels_of("index").sequence_reverse(x, None)
    assert torch.equal(ends_of(y), ends_of(x).flip(0))


@pytest.mark.parametrize("block", [64, 32])
def test_sorts(block, monkeypatch):
    """Of rows within a block, and of blocks that are merged."""
    monkeypatch.setattr(kernels_of("sort"), "_BLOCK", block)
    agree(
        lambda room, x: (*room("sort").sort(x, 1, True), *room("sort").topk(x, 3, 1, False)), vast(LIMIT // 61 + 2, 61)
    )


def test_long_rows_are_sorted_with_wide_numbers(monkeypatch):
    sort = kernels_of("sort")
    monkeypatch.setattr(sort, "WIDE", 0)
    monkeypatch.setattr(sort, "_BLOCK", 64)
    x = torch.randn(2, 300)
    values, at = sort.sort(x, 1, True)
    want = torch.sort(x, dim=1, descending=True, stable=True)
    assert torch.equal(values, want.values) and torch.equal(at, want.indices)
    with pytest.raises(Exception, match="up to 4294967296 can be"):
        sort._sorted_keys(torch.empty(1, 2**32 + 1, device="meta"), None, 0, False)


def test_random_numbers():
    x = kernels_of("random").uniform(ROWS, 2.0, 3.0, torch.float16, "cpu", 5)
    first, last = ends_of(x).double()
    for row in (first, last):
        assert row.min() >= 2 and row.max() <= 3 and abs(row.mean() - 2.5) < 0.05
    assert not torch.equal(first, last)


def test_dropout():
    x = vast(*ROWS, fill=torch.ones)
    y = ends_of(kernels_of("random").dropout(x, 0.5, 7))
    assert set(y.unique().tolist()) == {0.0, 2.0} and abs(y.double().mean() - 1) < 0.1


def test_updates():
    n = LIMIT + 3000
    w, g, mom = (vast(n, dtype=torch.float32, fill=lambda shape: torch.ones(shape)) for _ in range(3))
    segments = ((0, 1000, 1.0, 1.0), (n - 1000, n, 2.0, 1.0))
    kernels_of("optimizer").sgd_momentum_(w, g, mom, 0.1, momentum=0.5, segments=segments)
    assert torch.allclose(ends_of(w), torch.tensor([1 + 0.5 - 0.1, 1 + 0.5 - 0.2]))
    sums = kernels_of("optimizer").sum_squares(g, segments)
    assert sums.tolist() == [1.0, 1.0]


def test_boxes_are_decoded():
    corners = torch.tensor([0.1, 0.2, 0.5, 0.9])
    anchors = torch.empty(1, 2**26 + 1, 4)
    data = vast(9, 2**26 + 1, 4, dtype=torch.float32, fill=lambda shape: torch.zeros(()))
    for t in (anchors, data):
        t[-1, -1] = t[-1, 0] = corners
    out = kernels_of("boxes").decode(data, anchors, (0.1, 0.1, 0.2, 0.2), -1, False)
    want = room_of("cpu")("boxes").decode(corners.double().view(1, 1, 4), corners.double().view(1, 1, 4),
                                          (0.1, 0.1, 0.2, 0.2), -1, False)  # fmt: skip
    assert torch.allclose(out[-1, -1].double(), want.view(4), atol=1e-6)


def test_overlaps():
    lhs, rhs = (torch.zeros(n, 4) for n in (2**16 + 3, 2**15 + 5))
    for t in (lhs, rhs):
        t[[0, -1]] = torch.rand(2, 4)
        t[:, 2:] += t[:, :2]
    out = kernels_of("boxes").overlaps(lhs, rhs, False)
    for at in (0, -1):
        want = room_of("cpu")("boxes").overlaps(lhs[at].double(), rhs[at].double(), False)
        assert abs(out[at, at] - want) < 1e-6


@pytest.mark.parametrize("shape", [IMAGES, DEEPER])
def test_images(shape):
    def run(room, x):
        vision, size = room("vision"), tuple(x.shape)
        y = vision.resize_bilinear(x, (2, 4), True)
        mean = vision.adaptive_avg_pool(x, (2, 3))
        return (
            y, vision.resize_bilinear_grad(y, size, True), mean, vision.adaptive_avg_pool_grad(mean, size),
            vision.columns(x, (2, 2), (2, 2), (1, 1), (0, 0)),
        )  # fmt: skip

    agree(run, vast(*shape))


def test_samplers():
    def run(room, x, grid):
        y = room("vision").bilinear_sample(x, grid)
        return y, room("vision").bilinear_sample_grad(y, x, grid)[1]

    x = vast(*DEEPER)
    grid = torch.empty(x.shape[0], 2, 2, 2, dtype=torch.float16)
    grid[[0, -1]] = (torch.rand(2, 2, 2, 2) * 1.8 - 0.9).half()
    agree(run, x, grid)


@pytest.mark.parametrize("name, how", [("roi_align", ((1, 3), 1.0, 2, False, False)), ("roi_pool", ((1, 3), 1.0))])
def test_regions(name, how, monkeypatch):
    """Of the last image and the first, and of their gradient (which is left with its channels last)."""
    monkeypatch.setattr(kernels_of("vision"), "_by_channel", lambda t: t.movedim(-1, 1))
    x, sides = vast(2**21 + 1, 9, 11, 13, dtype=torch.float32, last=True), torch.tensor([[1, 2, 9, 8], [0, 1, 7, 8.0]])
    results = []
    for backend, data in (("triton", x), ("cpu", ends_of(x).double())):
        vision = room_of(backend)("vision")
        rois = torch.cat([torch.tensor([[data.shape[0] - 1.0], [0.0]]), sides], 1).to(data.dtype)
        made = getattr(vision, name)(data, rois, *how)
        if name == "roi_align":
            results.append((made, ends_of(vision.roi_align_grad(made, rois, *how, tuple(data.shape)))))
        else:
            y, at = made
            dx = vision.roi_pool_grad(y, at, tuple(data.shape))
            results.append((y, ends_of(dx), vision.roi_pool_gather(data, at)))
    for got, want in zip(*results, strict=True):
        assert want.count_nonzero() and torch.allclose(got.double(), want, atol=1e-5)


def test_deformable_windows():
    def run(room, x, offset):
        return room("deformable").columns(x, offset, None, (1, 1), (1, 1), (1, 1), (0, 0), 1)

    x = vast(4_500_001, 32, 3, 5, dtype=torch.float32)
    offset = torch.empty(x.shape[0], 2, 3, 5)
    offset[[0, -1]] = torch.rand(2, 2, 3, 5)
    agree(run, x, offset, dtype=torch.float32)


def test_correlation():
    x = torch.empty(9_600_001, 1, 5, 5)
    x[[0, -1]] = torch.randn(2, 1, 5, 5)
    agree(lambda room, a, b: room("correlation").correlate(a, b, 1, 1, 1, 1, 1, True), x, x, dtype=torch.float32)


@pytest.mark.parametrize("classes, places", [(1000, 2), (5, 500)])
def test_labels_of_sequences(classes, places, monkeypatch):
    """Of many sequences with far scores, or with far states; what programs that are left out would add up is given."""
    ctc, steps, batch = kernels_of("ctc"), 3, 720_001
    assert steps * batch * max(classes, 2 * places) > LIMIT
    data = torch.empty(steps, batch, classes)
    data[:, [0, -1]] = torch.randn(steps, 2, classes)
    label, counts = torch.empty(batch, places, dtype=torch.int32), torch.full((batch,), 2, dtype=torch.int32)
    label[0, :2], label[-1, :2] = torch.tensor([1, 2]), torch.tensor([3, classes - 1])
    totals = torch.empty(steps, batch)
    totals[:, [0, -1]] = data[:, [0, -1]].logsumexp(2)
    monkeypatch.setattr(ctc.reduce, "logsumexp", lambda *given: totals)
    near = data[:, [0, -1]].double(), ends_of(label)[:, :2], ends_of(counts), None, 0
    want = room_of("cpu")("ctc").loss(*near)
    assert torch.allclose(ends_of(ctc.loss(data, label, counts, None, 0)).double(), want, atol=1e-4)
    got = ctc.loss_grad(torch.ones(batch), data, label, counts, None, 0)
    want = room_of("cpu")("ctc").loss_grad(torch.ones(2).double(), *near)
    done = slice(0, 768), slice(-(classes - 256), None)  # three programs at either end
    for at, kinds in zip((0, -1), done if classes > 768 else [slice(None)] * 2, strict=True):
        assert torch.allclose(got[at, at, kinds].double(), want[at, at, kinds], atol=1e-5)

"""Shapes of primes, of ones and of nothing in the rooms whose own tests do not have them all, against float64."""

import importlib

import pytest
import torch

from core import ops

FORMULAS = {op.formula.name: op.formula for op in ops.TABLE.values() if op.formula is not None}
PRIME, ONE, NONE = 11, 1, 0


def agree(function, *tensors):
    """`function(room, *tensors)` of the Triton backend in float32 against the CPU backend's in float64,
    new tensors or changed.
    """
    results = []
    for backend, kind in (("triton", torch.float32), ("cpu", torch.float64)):
        own = [t.to(kind, copy=True) if t.is_floating_point() else t.clone() for t in tensors]
        result = function(lambda name, backend=backend: importlib.import_module(f"core.kernels.{backend}.{name}"), *own)
        results.append(own if result is None else result if isinstance(result, (tuple, list)) else (result,))
    for got, want in zip(*results, strict=True):
        if want is not None:
            assert got.shape == want.shape
            assert torch.allclose(got.double(), want.double(), rtol=1e-4, atol=1e-5)


@pytest.fixture(autouse=True)
def seed(poison):
    torch.manual_seed(0)


@pytest.mark.parametrize("n", [PRIME, ONE, NONE])
def test_pointwise(n):
    def add(room, x, y):
        return room("pointwise").pointwise(FORMULAS["broadcast_add"], [x, y], [], x.dtype)

    agree(add, torch.randn(n), torch.randn(n))
    agree(add, torch.randn(7, n), torch.randn(n))
    agree(add, torch.randn(n, 13).mT, torch.randn(1, n))


@pytest.mark.parametrize("n", [1009, ONE, NONE])
def test_updates(n):
    state = [torch.rand(n) for _ in range(4)]
    agree(lambda room, w, g, mom, _: room("optimizer").sgd_momentum_(w, g, mom, 0.1, wd=0.1, momentum=0.9), *state)
    agree(lambda room, w, g, mean, var: room("optimizer").adam_(w, g, mean, var, 0.1), *state)
    agree(lambda room, x: room("optimizer").sum_squares(x), state[0])


@pytest.mark.parametrize("mode, gates", [("lstm", 4), ("gru", 3), ("rnn_tanh", 1)])
@pytest.mark.parametrize("steps, batch, inputs, hidden", [(3, 5, 7, 11), (1, 1, 1, 1), (0, 2, 3, 5), (2, 0, 3, 5)])
def test_recurrent(mode, gates, steps, batch, inputs, hidden):
    def run(room, x, params, h0, c0, dy):
        rest = mode, hidden, 1, False, 0.0, 1, True
        c0 = c0 if mode == "lstm" else None
        y, hn, cn, reserve = room("rnn").rnn(x, params, h0, c0, *rest)
        gradients = room("rnn").rnn_grad(dy, None, None, x, params, h0, c0, y, reserve, *rest)
        return y, hn, cn, *gradients

    size = gates * hidden * (inputs + hidden + 2)
    states = (torch.randn(1, batch, hidden) for _ in range(2))
    agree(run, torch.randn(steps, batch, inputs), torch.randn(size) * 0.3, *states, torch.randn(steps, batch, hidden))


@pytest.mark.parametrize("name", ["uniform", "normal", "gamma", "poisson", "bernoulli", "exponential"])
@pytest.mark.parametrize("n", [PRIME, ONE, NONE])
def test_samples(name, n):
    random = importlib.import_module("core.kernels.triton.random")
    parameters = {"poisson": (3.0,), "bernoulli": (0.5,), "exponential": (2.0,)}.get(name, (0.5, 1.5))
    x = getattr(random, name)((n, 3), *parameters, torch.float32, "cpu", 7)
    assert x.shape == (n, 3) and x.isfinite().all()
    assert random.dropout(x, 0.5, 3).shape == x.shape
    assert sorted(random.permutation(n, "cpu", 5).tolist()) == list(range(n))


@pytest.mark.parametrize("n", [PRIME, ONE, NONE])
def test_scans_and_orders(n):
    x = torch.randn(3, n)
    agree(lambda room, x: room("reduce").cumsum(x, 1), x)
    agree(lambda room, x: room("reduce").cumprod(x, 0), x)
    agree(lambda room, x: room("sort").sort(x, 1, True), x)
    agree(lambda room, x: room("sort").topk(x, min(n, 2), 1, False), x)


@pytest.mark.parametrize("batch, height, width", [(2, 5, 7), (1, 1, 1), (0, 5, 7)])
def test_images(batch, height, width):
    x, grid = torch.randn(batch, 3, height, width), torch.rand(batch, 2, 3, 5) * 1.8 - 0.9

    def run(room, x, grid):
        vision, size = room("vision"), tuple(x.shape)
        resized, mean = vision.resize_bilinear(x, (3, 11), False), vision.adaptive_avg_pool(x, (1, 3))
        columns = vision.columns(x, (3, 3), (2, 1), (1, 1), (1, 1))
        sampled = vision.bilinear_sample(x, grid)
        return (
            resized, vision.resize_bilinear_grad(resized, size, False), mean, vision.adaptive_avg_pool_grad(mean, size),
            columns, vision.columns_grad(columns, size[2:], (3, 3), (2, 1), (1, 1), (1, 1)), sampled,
            *vision.bilinear_sample_grad(sampled, x, grid),
        )  # fmt: skip

    agree(run, x, grid)


@pytest.mark.parametrize("count, channels", [(3, 7), (1, 1), (0, 7)])
def test_regions(count, channels):
    rois = torch.tensor([[0, 1.2, 0.7, 4.4, 3.1], [1, 0, 0, 5, 4], [1, 2, 2, 3, 3.5]])[:count]

    def run(room, x, rois):
        vision, size = room("vision"), tuple(x.shape)
        y = vision.roi_align(x, rois, (2, 3), 1.0, 2, False, False)
        maxima, places = vision.roi_pool(x, rois, (2, 2), 1.0)
        return (
            y, vision.roi_align_grad(y, rois, (2, 3), 1.0, 2, False, False, size), maxima,
            vision.roi_pool_grad(maxima, places, size),
        )  # fmt: skip

    agree(run, torch.randn(2, channels, 5, 7), rois)


@pytest.mark.parametrize("batch, channels, size", [(2, 3, 7), (1, 1, 1), (0, 3, 5)])
def test_deformable(batch, channels, size):
    offset = torch.rand(batch, 18, size, size)

    def run(room, x, offset):
        how = (3, 3), (1, 1), (1, 1), (1, 1), 1
        y = room("deformable").columns(x, offset, None, *how)
        return y, *room("deformable").columns_grad(y, x, offset, None, *how)[:2]

    agree(run, torch.randn(batch, channels, size, size), offset)


@pytest.mark.parametrize("batch, channels, size", [(2, 3, 7), (1, 1, 1), (0, 3, 5)])
def test_correlation(batch, channels, size):
    def run(room, a, b):
        how = 1, 1, 1, 1, 1, True
        y = room("correlation").correlate(a, b, *how)
        return y, *room("correlation").correlate_grad(y, a, b, *how)

    agree(run, *(torch.randn(batch, channels, size, size) for _ in range(2)))


@pytest.mark.parametrize("steps, batch, classes, labels", [(7, 3, 5, 2), (1, 1, 2, 1), (3, 0, 5, 2)])
def test_labels_of_sequences(steps, batch, classes, labels):
    label, counts = torch.randint(1, classes, (batch, labels)), torch.full((batch,), labels)

    def run(room, data):
        loss = room("ctc").loss(data, label, counts, None, 0)
        return loss, room("ctc").loss_grad(loss, data, label, counts, None, 0)

    agree(run, torch.randn(steps, batch, classes))


@pytest.mark.parametrize("n, m", [(7, 11), (1, 1), (0, 3), (3, 0)])
def test_boxes(n, m):
    lhs, rhs = torch.rand(n, 4), torch.rand(m, 4)
    lhs[:, 2:] += lhs[:, :2]
    rhs[:, 2:] += rhs[:, :2]
    agree(lambda room, a, b: room("boxes").overlaps(a, b, False), lhs, rhs)
    agree(lambda room, a: room("boxes").decode(a[None], a[None], (0.1, 0.1, 0.2, 0.2), -1, False), lhs)

"""Attention cells whose weights nobody asks for: the same numbers, without the matrix of weights in memory."""

import numpy as np
import pytest

import core as mx
import gluonnlp as nlp
from core import autograd, nd
from core.ndarray.lazy import Lazy
from gluon import HybridBlock
from scripts.benchmarks.growth import peak

CELLS = {
    "multi-head": lambda: nlp.model.MultiHeadAttentionCell(nlp.model.DotProductAttentionCell(), 8, 8, 8, num_heads=2),
    "not scaled": lambda: nlp.model.MultiHeadAttentionCell(
        nlp.model.DotProductAttentionCell(scaled=False), 4, 4, 4, num_heads=2
    ),
    "plain": nlp.model.DotProductAttentionCell,
    "projected": lambda: nlp.model.DotProductAttentionCell(units=8, scaled=False),
    "luong": lambda: nlp.model.DotProductAttentionCell(units=8, luong_style=True),
    "cosine": lambda: nlp.model.DotProductAttentionCell(normalized=True),
}


class Reader(HybridBlock):
    """What a cell reads of its input."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def hybrid_forward(self, F, x):
        return self.cell(x, x, x)[0]


def results(cell, masked, looks, mode):
    """What is read, the weights, and the gradient of both in the query, computed with all weights where `masked`."""
    random = np.random.RandomState(0)
    query, memory = (nd.array(random.standard_normal((2, n, 8))) for n in (5, 6))
    for name, p in cell._collect_params_with_prefix().items():
        p.set_data(nd.array(np.random.RandomState(len(name)).uniform(-0.5, 0.5, p.shape)))
    cell.hybridize(mode == "hybridized")
    query.attach_grad()
    with autograd.record():
        read, weights = cell(query, memory, memory, nd.ones((2, 5, 6)) if masked else None)
        total = (read * read).sum() + (weights * weights).sum() if looks else (read * read).sum()
    total.backward()
    assert looks or masked or type(weights) is Lazy
    return read.asnumpy(), weights.asnumpy(), query.grad.asnumpy()


@pytest.mark.parametrize("mode", ["eager", "hybridized"])
@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_the_same_numbers(name, looks, mode):
    cell = CELLS[name]()
    cell.initialize()
    cell(nd.ones((2, 5, 8)), nd.ones((2, 6, 8)))
    want = results(cell, True, looks, "eager")
    for ours, theirs in zip(results(cell, False, looks, mode), want, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_writing_to_an_input_leaves_the_weights_alone():
    cell, x = nlp.model.DotProductAttentionCell(), nd.array(np.random.RandomState(0).standard_normal((1, 3, 4)))
    want = cell(x, x, x, nd.ones((1, 3, 3)))[1].asnumpy()
    weights = cell(x, x, x)[1]
    x[:] = 0
    np.testing.assert_allclose(weights.asnumpy(), want, rtol=1e-5)


def test_dropped_weights_are_those_that_were_read_with():
    cell, x = nlp.model.DotProductAttentionCell(dropout=0.5), nd.array(np.random.RandomState(0).randn(1, 6, 4))
    with autograd.train_mode():
        read, weights = cell(x, x, x)
    np.testing.assert_allclose(read.asnumpy(), (weights.asnumpy() @ x.asnumpy()), rtol=1e-4, atol=1e-5)
    assert (weights.asnumpy() == 0).any()


def test_a_file_gives_the_weights(tmp_path):
    cell, x = CELLS["multi-head"](), nd.array(np.random.RandomState(0).randn(2, 5, 8))
    cell.initialize()
    cell.hybridize()
    read, weights = cell(x, x, x)
    cell.export(str(tmp_path / "cell"))
    out = mx.sym.load(str(tmp_path / "cell-symbol.json"))
    assert len(out.list_outputs()) == 2 and read.shape == (2, 5, 8) and weights.shape == (2, 2, 5, 5)


@pytest.mark.parametrize("mode", ["eager", "hybridized"])
def test_memory_grows_with_the_length(mode):
    """Forward and backward; the weights of one head at length 2048 alone are 16 MB."""
    length = 2048
    cell = CELLS["multi-head"]()
    net, x = Reader(cell), nd.ones((1, length, 8))
    net.initialize()
    x.attach_grad()
    if mode == "hybridized":
        net.hybridize()

    def step():
        with autograd.record():
            y = net(x) if mode == "hybridized" else cell(x, x, x)[0]
        y.backward()
        nd.waitall()

    assert peak(step) < 12

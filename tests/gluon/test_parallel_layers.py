"""Layers split over processes: forward, gradients, training and files are those of the whole layers in one process."""

import functools

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from core.base import NotSupportedError
from core.kernels import communication
from core.kvstore.groups import ProcessGroup
from gluon import nn
from gluon.contrib.nn import ColumnParallelDense, ParallelAttention, ParallelEmbedding, RowParallelDense
from tests.support import ranks

run = functools.partial(ranks.run, HEARTBEAT=30.0)
UNITS, HEADS, WORDS = 8, 4, 12


class Attention(gluon.HybridBlock):
    """The plain layer, with the names of the split one."""

    def __init__(self, **options):
        super().__init__(**options)
        with self.name_scope():
            for name in ("query", "key", "value", "out"):
                setattr(self, f"{name}_proj", nn.Dense(UNITS, flatten=False, in_units=UNITS, prefix=f"{name}_"))

    def hybrid_forward(self, F, x):
        q, k, v = (
            p(x).reshape((0, 0, HEADS, -1)).transpose((0, 2, 1, 3))
            for p in (self.query_proj, self.key_proj, self.value_proj)
        )
        scores = nd.batch_dot(q.reshape((-3, 0, 0)), k.reshape((-3, 0, 0)), transpose_b=True) * (UNITS / HEADS) ** -0.5
        read = nd.batch_dot(nd.softmax(scores), v.reshape((-3, 0, 0))).reshape((-4, -1, HEADS, 0, 0))
        return self.out_proj(read.transpose((0, 2, 1, 3)).reshape((0, 0, -1)))


def network(parallel, group=None):
    column, row, words, attention = (
        (ColumnParallelDense, RowParallelDense, ParallelEmbedding, ParallelAttention)
        if parallel
        else (nn.Dense, nn.Dense, nn.Embedding, Attention)
    )
    on = {"group": group} if parallel else {}
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(words(WORDS, UNITS, prefix="words_", **on))
        net.add(column(16, "tanh", flatten=False, prefix="up_", **(on | {"gather_output": False} if parallel else {})))
        net.add(
            row(UNITS, in_units=16, flatten=False, prefix="down_", **(on | {"split_input": False} if parallel else {}))
        )
        net.add(ParallelAttention(UNITS, HEADS, prefix="att_", **on) if parallel else attention(prefix="att_"))
        net.add(column(4, in_units=UNITS, flatten=False, prefix="wide_", **on))
        net.add(row(2, "relu", in_units=12, use_bias=False, prefix="last_", **on))
    mx.random.seed(3)
    net.initialize(mx.init.Xavier())
    return net


def batch():
    numbers = np.random.RandomState(0)
    return nd.array(numbers.randint(-1, WORDS + 1, (5, 3))), nd.array(numbers.standard_normal((5, 2)))


def learn(net, steps=3):
    """Outputs, gradients of the first step as files would hold them, and parameters after training."""
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05, "momentum": 0.9}, kvstore=None)
    x, y = batch()
    outputs, gradients = [], {}
    for k in range(steps):
        with autograd.record():
            out = net(x)
            loss = ((out - y) ** 2).sum()
        loss.backward()
        outputs.append(out.asnumpy())
        if not k:
            for name, p in net.collect_params().items():
                gradients[name] = (p.group.gather(p.grad(), p.axis) if p.is_split else p.grad()).asnumpy()
        trainer.step(5)
    return outputs, gradients, {name: p._reduce().asnumpy() for name, p in net.collect_params().items()}


def split(rank, folder, size=None, hybridize=False):
    net = network(True, None if size is None else ProcessGroup(size))
    if hybridize:
        net.hybridize()
    found = learn(net)
    net.save_parameters(f"{folder}/split-{rank}.params")
    shapes = [net[0].weight.shape, net[3].out_proj.weight.shape, net[1].weight.shape]
    net.load_parameters(f"{folder}/whole.params")
    return found, shapes, net(batch()[0]).asnumpy()


@pytest.mark.parametrize(("count", "size", "hybridize"), [(2, None, False), (2, None, True), (4, 2, False)])
def test_split_layers_are_the_whole_ones(count, size, hybridize, tmp_path):
    whole = network(False)
    whole(batch()[0])
    whole.save_parameters(str(tmp_path / "whole.params"))
    first = whole(batch()[0]).asnumpy()
    outputs, gradients, after = learn(whole)
    moved = [name for name, g in gradients.items() if np.abs(g).max() > 1e-4]
    assert np.abs(first).max() > 0.1 and set(gradients) - set(moved) == {"net_att_key_bias"}  # which softmax cancels
    for answer in run(count, split, str(tmp_path), size, hybridize):
        assert not isinstance(answer, str), answer
        found, shapes, loaded = answer
        assert shapes == [(WORDS // 2, UNITS), (UNITS, UNITS // 2), (16 // 2, UNITS)]
        np.testing.assert_allclose(found[0], outputs, rtol=0, atol=1e-6)
        for name in gradients:
            np.testing.assert_allclose(found[1][name], gradients[name], rtol=1e-5, atol=1e-6, err_msg=name)
            np.testing.assert_allclose(found[2][name], after[name], rtol=0, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(loaded, first, rtol=0, atol=1e-6)
    again = network(False)
    again.load_parameters(str(tmp_path / "split-1.params"))
    np.testing.assert_allclose(again(batch()[0]).asnumpy(), whole(batch()[0]).asnumpy(), rtol=0, atol=1e-6)


def refused(rank):
    texts = []
    net = network(True)
    for optimizer, how in (("sgd", {"kvstore": "dist_sync"}), ("lamb", {"kvstore": None}),
                           ("sgd", {"kvstore": None, "clip_global_norm": 1.0})):  # fmt: skip
        with pytest.raises(NotSupportedError) as caught:
            gluon.Trainer(net.collect_params(), optimizer, **how)
        texts.append(str(caught.value))
    with pytest.raises(ValueError) as caught:
        ColumnParallelDense(3, in_units=2)
    texts.append(str(caught.value))
    layer = ColumnParallelDense(4, in_units=2, prefix="seeded_")
    mx.random.seed(rank)
    with pytest.raises(mx.MXNetError) as caught:
        layer.initialize()
    return [*texts, str(caught.value)]


def test_what_split_layers_cannot_do():
    for found in run(2, refused):
        assert not isinstance(found, str), found
        expected = [
            "kvstore 'dist_sync', which sums gradients of all processes",
            "LAMB, which needs whole parameters",
            "clip_global_norm, which needs the gradients of all processes",
            "units is a multiple of the 2 processes that share it, got 3",
            "Seed all processes alike",
        ]
        assert all(text in answer for text, answer in zip(expected, found, strict=True)), found
    with pytest.raises(ValueError, match="divides the number of processes, 1, got 2"):
        ProcessGroup(2)
    assert communication.size() == 1

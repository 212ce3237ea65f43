"""Small networks train on a GPU, captured as CUDA graphs, as they train on the CPU operator by operator."""

import numpy as np
import pytest

import core as mx
import gluon
from gluon import nn, rnn
from gluonnlp.model import BERTEncoder

pytestmark = pytest.mark.gpu
STEPS = 6


def convolutions():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(8, 3, padding=1, use_bias=False),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(),
        nn.Conv2D(8, 3, groups=8, use_bias=False),
    )
    net.add(nn.BatchNorm(), nn.LeakyReLU(0.1), nn.GlobalAvgPool2D(), nn.Dense(5))
    return net, (4, 3, 16, 16)


def recurrent():
    net = nn.HybridSequential()
    net.add(rnn.LSTM(12, num_layers=2, layout="NTC", bidirectional=True), nn.LayerNorm(), nn.Dense(5))
    return net, (4, 7, 6)


class Attentive(gluon.HybridBlock):
    """An encoder of BERT's kind, without dropout: its masks are other ones on a GPU."""

    def __init__(self):
        super().__init__()
        self.encoder = BERTEncoder(num_layers=2, units=16, hidden_size=32, max_length=9, num_heads=2, dropout=0.0)
        self.scores = nn.Dense(5)

    def hybrid_forward(self, F, x):
        return self.scores(self.encoder(x)[0])


def attention():
    return Attentive(), (4, 9, 16)


NETWORKS = {"convolutions": convolutions, "recurrent": recurrent, "attention": attention}


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("name", NETWORKS)
def test_training(name, optimizer, recwarn):
    found, expected = train(name, optimizer, mx.gpu(0), True), train(name, optimizer, mx.cpu(), False)
    assert not [w for w in recwarn if "kernel by kernel" in str(w.message)]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def train(name: str, optimizer: str, ctx, hybridize: bool) -> list[float]:
    """The losses of a few steps, and the mean of a prediction after them."""
    mx.random.seed(3)
    net, shape = NETWORKS[name]()
    net.initialize(mx.init.Xavier(), ctx=mx.cpu())
    numbers = np.random.default_rng(5)
    inputs, labels = numbers.standard_normal(shape).astype("float32"), numbers.integers(0, 5, shape[0])
    net(mx.nd.array(inputs))  # shapes, and so parameters, are the same everywhere
    net.collect_params().reset_ctx(ctx)
    x, y = mx.nd.array(inputs, ctx=ctx), mx.nd.array(labels, ctx=ctx)
    loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
    if hybridize:
        net.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.02})
    found = []
    for _ in range(STEPS):
        with mx.autograd.record():
            loss = loss_function(net(x), y).mean()
        loss.backward()
        trainer.step(1)
        found.append(loss.asscalar())
    return [*map(float, found), float(net(x).abs().mean().asscalar())]

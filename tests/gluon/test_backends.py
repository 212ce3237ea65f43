"""Networks that other libraries compute: `net.optimize_for(x, backend=...)`."""

import sys

import numpy as np
import pytest

import core as mx
from core import autograd, nd
from core.base import MXNetError
from gluon import HybridBlock, Trainer, nn

BACKENDS = ["openvino", "onnxruntime"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    pytest.importorskip(request.param)
    pytest.importorskip("onnx")
    return request.param


class Two(HybridBlock):
    """Two outputs of two inputs, nested."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.conv, self.out = nn.Conv2D(4, 3, padding=1), nn.Dense(5)
            self.norm = nn.BatchNorm()

    def hybrid_forward(self, F, x, scale):
        y = F.relu(self.norm(self.conv(x)))
        return self.out(F.broadcast_mul(y, scale)), [y]


def network():
    mx.random.seed(0)
    net = Two()
    net.initialize(mx.init.Xavier())
    return net, nd.random.normal(shape=(2, 3, 8, 8)), nd.random.uniform(shape=(2, 1, 1, 1))


def close(found, wanted):
    assert isinstance(found[1], list)
    for a, b in zip((found[0], found[1][0]), (wanted[0], wanted[1][0])):
        assert (type(a), a.shape, a.dtype) == (type(b), b.shape, b.dtype)
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-4)


def test_outputs_are_those_of_the_network(backend, monkeypatch):
    net, x, scale = network()
    wanted = net(x, scale)
    net.optimize_for(x, scale, backend=backend)
    calls = []
    delegate = type(net._delegate)
    own = delegate.__call__
    monkeypatch.setattr(delegate, "__call__", lambda self, args: calls.append(1) or own(self, args))
    close(net(x, scale), wanted)
    other, factor = nd.random.normal(shape=(3, 3, 8, 8)), nd.ones((3, 1, 1, 1))
    found = net(other, factor)
    assert len(calls) == 2
    kept = net(x, scale)[0].asnumpy(), net(x * 2, scale)
    np.testing.assert_allclose(kept[0], wanted[0].asnumpy(), rtol=1e-4, atol=1e-4)  # results do not share memory
    net.hybridize(False)
    close(found, net(other, factor))
    assert len(calls) == 4


def test_parameters_that_change_and_training(backend, tmp_path):
    net, x, scale = network()
    net.optimize_for(x, scale, backend=backend)
    before = net(x, scale)[0].asnumpy()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    with autograd.record():
        net(x, scale)[0].sum().backward()
    trainer.step(1)
    after = net(x, scale)
    assert abs(after[0].asnumpy() - before).max() > 0.1
    names = net.export(str(tmp_path / "net"))
    net.hybridize(False)
    close(after, net(x, scale))
    assert all((tmp_path / name).stat().st_size for name in names)


def test_options_are_those_of_the_library():
    pytest.importorskip("onnxruntime")
    net, x, scale = network()
    net.optimize_for(x, scale, backend="onnxruntime", intra_op_num_threads=1, static_alloc=True)
    with pytest.raises(MXNetError, match=r"no option 'intra_op_num_thread'. Did you mean 'intra_op_num_threads'"):
        net.optimize_for(x, scale, backend="onnxruntime", intra_op_num_thread=1)


def test_unknown_backends_are_refused():
    net, x, scale = network()
    with pytest.raises(MXNetError, match=r"no backend 'openvin'; known are openvino, onnxruntime, MKLDNN.*'openvino'"):
        net.optimize_for(x, scale, backend="openvin")
    net.optimize_for(x, scale, backend="MKLDNN")
    assert net._delegate is None


@pytest.mark.parametrize("name", BACKENDS)
def test_what_is_missing_is_said(name, monkeypatch):
    net, x, scale = network()
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"pip install 'gluon-triton\[{name}\]'"):
        net.optimize_for(x, scale, backend=name)

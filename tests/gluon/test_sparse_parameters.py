"""Row-sparse parameters and gradients; numbers are those that MXNet 1.9.1 gives for the same programs."""

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from gluon import nn

# After three steps on the rows 0, 1, 3, 4, 5 of 6 (0 and 5 with gradients of zero): the weights, and the last gradient.
STEPS = {
    "sgd": (
        {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1},
        [0.94438, -0.06976, 1.0, 0.38817, 0.43965, 0.94438],
        [0.0, 2.8282, 2.0, 1.3862, 0.0],
    ),
    "sgd, all rows": (
        {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1, "lazy_update": False},
        [0.94438, -0.06976, 0.94438, 0.38817, 0.43965, 0.94438],
        [0.0, 2.8282, 2.0, 1.3862, 0.0],
    ),
    "adam": (
        {"learning_rate": 0.1, "wd": 0.1},
        [0.70158, 0.70066, 1.0, 0.70009, 0.70158, 0.70158],
        [0.0, 3.60035, 2.0, 1.60082, 0.0],
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_lazy_steps_touch_the_rows_that_were_looked_up(name):
    options, weights, gradient = STEPS[name]
    layer = nn.Embedding(6, 2, sparse_grad=True)
    layer.initialize(mx.init.One())
    trainer = gluon.Trainer(layer.collect_params(), name.split(",")[0], options)
    for _ in range(3):
        with autograd.record():
            first, second = layer(nd.array([[1, 3, 5], [3, 1, 0]])), layer(nd.array([4, 1]))
            counted = first * nd.array([[1, 1, 0], [1, 1, 0]]).expand_dims(2)
            loss = counted.sum() + (second * second).sum()
        loss.backward()
        trainer.step(2)
    found = layer.weight.grad()
    assert found.stype == "row_sparse" and found.indices.asnumpy().tolist() == [0, 1, 3, 4, 5]
    found = found.data.asnumpy()[:, 0]
    # Row 4 is read by the square alone.
    np.testing.assert_allclose(found[:3], gradient[:3], rtol=1e-5)
    np.testing.assert_allclose(found[3], gradient[3], rtol=1e-5)
    np.testing.assert_allclose(layer.weight.data().asnumpy()[:, 0], weights, rtol=2e-5)


@pytest.mark.parametrize("hybrid", [False, True])
def test_gradients_of_embeddings_are_row_sparse(hybrid):
    layer = nn.Embedding(10, 3, sparse_grad=True)
    layer.initialize()
    if hybrid:
        layer.hybridize()
    with autograd.record():
        loss = layer(nd.array([3, 4, 3])).sum() + layer(nd.array([7])).sum()
    loss.backward()
    gradient = layer.weight.grad()
    assert gradient.stype == "row_sparse" and gradient.indices.asnumpy().tolist() == [3, 4, 7]
    assert gradient.data.asnumpy()[:, 0].tolist() == [2, 1, 1]
    layer.collect_params().zero_grad()
    assert layer.weight.grad().data.shape == (0, 3)


@pytest.mark.parametrize("count", [1, 2])
def test_rows_of_a_sparse_parameter_come_from_one_place(count, tmp_path):
    contexts = [mx.cpu(i + 1) for i in range(count)]
    weight = gluon.Parameter("weight", shape=(4, 3), stype="row_sparse", grad_stype="row_sparse")
    weight.initialize(mx.init.One(), ctx=contexts)
    rows = [nd.array([[0, 2]], ctx=contexts[0]), nd.array([[1, 2]], ctx=contexts[-1])]
    with pytest.raises(RuntimeError, match="Trainer"):
        weight.row_sparse_data(rows[0])
    with pytest.raises(RuntimeError, match="row_sparse_data"):
        weight.data(contexts[0])
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1})
    with autograd.record():
        losses = [nd.Embedding(r, weight.row_sparse_data(r), 4, 3, sparse_grad=True).sum() for r in rows]
    autograd.backward(losses)
    assert weight._data[0].indices.asnumpy().tolist() == ([0, 2] if count == 2 else [1, 2])
    trainer.step(1)
    everything = weight.row_sparse_data(nd.arange(4, ctx=contexts[0]))
    assert everything.stype == "row_sparse" and everything.context == contexts[0]
    assert everything.asnumpy()[:, 0].tolist() == [0, 0, -1, 1]
    saved = gluon.ParameterDict()
    saved._params["weight"] = weight
    saved.save(tmp_path / "w.params")
    dense = gluon.ParameterDict()
    dense.get("weight", shape=(4, 3))
    dense.load(tmp_path / "w.params", mx.cpu())
    loaded = dense["weight"].data()
    assert loaded.stype == "default" and loaded.asnumpy()[:, 0].tolist() == [0, 0, -1, 1]
    weight.reset_ctx([mx.cpu(5)])
    assert weight.row_sparse_data(nd.array([2], ctx=mx.cpu(5))).asnumpy()[:, 0].tolist() == [0, 0, -1, 0]
    with pytest.raises(RuntimeError, match="one Trainer"):
        gluon.Trainer([weight], "sgd")


@pytest.mark.parametrize(("kvstore", "update", "error"), [("device", False, ValueError), (None, None, TypeError)])
def test_rows_come_from_a_store_that_updates(kvstore, update, error):
    weight = gluon.Parameter("weight", shape=(4, 3), stype="row_sparse")
    weight.initialize(mx.init.One())
    gluon.Trainer([weight], "sgd", kvstore=kvstore, update_on_kvstore=update)
    with pytest.raises(error):
        weight.row_sparse_data(nd.arange(4))


def test_parameters_that_a_distributed_store_updates_are_not_loaded(tmp_path):
    parameters = gluon.ParameterDict()
    weight = parameters.get("weight", shape=(4, 3), stype="row_sparse")
    parameters.initialize("zeros")
    parameters.save(tmp_path / "w.params")
    trainer = gluon.Trainer(parameters, "sgd", kvstore="dist_sync")
    weight.row_sparse_data(nd.arange(4))
    assert trainer._kv_initialized and trainer._update_on_kvstore
    with pytest.raises(RuntimeError, match="'dist_sync'"):
        parameters.load(tmp_path / "w.params")


def test_blocks_of_dense_arrays_refuse_sparse_parameters():
    parameters = gluon.ParameterDict("net_")
    parameters.get("weight", shape=(5, 5), stype="row_sparse")
    parameters.get("bias", shape=5)
    layer = nn.Dense(5, params=parameters)
    layer.initialize()
    with pytest.raises(RuntimeError, match="row_sparse"):
        layer(nd.ones((2, 5)))
    weight = mx.sym.var("weight", stype="row_sparse")
    with pytest.raises(AssertionError, match="row_sparse"):
        gluon.SymbolBlock(mx.sym.dot(mx.sym.var("data"), weight), mx.sym.var("data"))

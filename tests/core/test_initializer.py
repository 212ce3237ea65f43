"""Initializers: what the recorded cases do not reach."""

import numpy as np
import pytest

import core as mx
from core import nd


def filled(initializer, shape, name="a_weight"):
    array = nd.zeros(shape)
    initializer(mx.init.InitDesc(name), array)
    return array.asnumpy()


def test_fused_rnn_fills_gate_by_gate():
    hidden, width = 3, 2
    size = 4 * hidden * (width + hidden + 2)
    values = filled(mx.init.FusedRNN(mx.init.Constant(2), hidden, 1, "lstm", forget_bias=5.0), (size,))
    weights, biases = values[: 4 * hidden * (width + hidden)], values[4 * hidden * (width + hidden) :]
    assert (weights == 2).all()
    # Both biases of the forget gate; the others follow the rule for biases.
    want = np.zeros((2, 4, hidden))
    want[:, 1] = 5
    np.testing.assert_array_equal(biases.reshape(2, 4, hidden), want)


def test_dumps_makes_the_same_initializer_again():
    made = mx.init.Xavier("gaussian", "in", 2)
    assert mx.init.create(made.dumps()) == made
    assert mx.init.Constant([1, 2]).dumps() == mx.init.Constant(np.array([1, 2])).dumps()


def test_unknown_names_get_a_proposal():
    with pytest.raises(mx.MXNetError, match="xavier"):
        mx.init.create("xavie")


def test_load_checks_shapes():
    load = mx.init.Load({"arg:a_weight": nd.ones((2,))})
    with pytest.raises(mx.MXNetError, match="shape"):
        filled(load, (3,))
    with pytest.raises(mx.MXNetError, match="default_init"):
        filled(load, (3,), "b_weight")

"""np arrays in blocks while the interface as a whole is classic."""

import numpy as np
import pytest

import core as mx
from gluon import HybridBlock, Parameter, nn


@mx.util.use_np
class OfNumPy(HybridBlock):
    """Everything that it makes is np, wherever it is initialised and called."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, in_units=4)
        self.weight = Parameter("weight", shape=(3,), init="ones")

    def forward(self, x):
        return self.dense(x) + self.weight.data(x.ctx)


@pytest.mark.parametrize("hybrid", [False, True])
def test_parameters_of_classes_under_use_np(hybrid):
    net = OfNumPy()
    net.initialize()
    net.hybridize(hybrid)
    assert isinstance(net(mx.np.ones((2, 4))), mx.np.ndarray)


def test_masks_that_choose_places_run_operator_by_operator():
    class Chosen(HybridBlock):
        def forward(self, x, mask):
            return x[mask] * 2

    net, x = Chosen(), mx.np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    net.hybridize()
    np.testing.assert_array_equal(net(x, x < 2).asnumpy(), [0, 2, 2, 2])
    np.testing.assert_array_equal(net(x, x > 1).asnumpy(), [4, 4])


def test_one_element_leaves_as_an_array_without_axes(tmp_path):
    class One(HybridBlock):
        def forward(self, x):
            return x[1] * 2

    net, x = One(), mx.np.arange(4)
    net.hybridize()
    assert net(x).shape == ()
    net.export(str(tmp_path / "one"))
    with mx.util.np_shape(True):
        (found,) = mx.sym.load(str(tmp_path / "one-symbol.json")).eval(data=x)
    assert found.shape == () and float(found) == 2


def test_cells_make_states_of_the_kind_of_their_inputs():
    cell = mx.gluon.rnn.LSTMCell(4)
    cell.initialize()
    out, states = cell.unroll(3, mx.np.ones((2, 3, 5)), merge_outputs=True)
    assert {type(x) for x in (out, *states)} == {mx.np.ndarray}


def test_types_of_numbers_are_those_of_mxnet_2():
    numbers = (3, True, 2**63, 0.5, 2.0**24, 2.0**24 + 1, float("inf"), float("nan"), np.float16(2), np.int8(1))
    kinds = "int64 int64 uint64 float32 float32 float64 float64 float32 float16 int8".split()
    assert [np.dtype(mx.util.dtype_from_number(n)).name for n in numbers] == kinds
    with pytest.raises(OverflowError):
        mx.util.dtype_from_number(2**64)


def test_denormal_numbers_are_flushed_on_request():
    tiny = mx.nd.array([1e-39])
    assert mx.util.set_flush_denorms(True) is False
    try:
        assert (tiny * 2).asscalar() == 0
    finally:
        assert mx.util.set_flush_denorms(False) is True
    assert (tiny * 2).asscalar() > 0

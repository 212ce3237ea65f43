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

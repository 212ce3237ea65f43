"""Plans write over memory only where the operator's record, and the strides of what is given, say that nobody reads it."""

import numpy as np
import pytest

import core as mx
from core.ops import registry
from gluon import nn
from gluon.block import HybridBlock


@pytest.fixture
def tight():
    """An operator of this file, of which nothing is said: it returns its input, or a copy of it, as strides have it."""

    @registry.operator("_test_tight")
    def tight(data):
        """The data without gaps."""
        return data.contiguous()

    @registry.gradient(tight)
    def tight_gradient(dy):
        return [dy]

    yield tight
    del registry.TABLE["_test_tight"]
    registry.F.__dict__.pop("_test_tight", None)


def test_a_plan_for_one_layout_is_not_run_for_another(tight):
    class Net(HybridBlock):
        def hybrid_forward(self, F, x):
            return F.relu(tight(x) * 2 - 1)

    net = Net()
    net.hybridize()
    conv = nn.Conv2D(3, 3, padding=1, in_channels=3)
    conv.initialize()
    last = conv(mx.nd.random.normal(shape=(2, 3, 8, 8)))  # in channels-last memory
    np.testing.assert_allclose(net(last).asnumpy(), np.maximum(last.asnumpy() * 2 - 1, 0), rtol=1e-6)
    x = mx.nd.random.normal(shape=(2, 3, 8, 8))
    before = x.asnumpy().copy()
    for _ in range(40):  # more calls than a second plan waits for
        np.testing.assert_allclose(net(x).asnumpy(), np.maximum(before * 2 - 1, 0), rtol=1e-6)
        np.testing.assert_array_equal(x.asnumpy(), before)

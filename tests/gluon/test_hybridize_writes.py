"""Blocks that write to parts of arrays compute the same hybridized: the same numbers, through views too."""

import numpy as np
import pytest

import core as mx
from core import autograd
from gluon import HybridBlock, SymbolBlock, nn


def _part(x, y):
    z = x * 2
    z[1:3] = y
    return z * z


def _changed_in_place(x, y):
    z = x * 2
    z[1:3] += y
    z[0] *= 3
    z[:, 1] -= 1
    z[3, 2] = 7
    return z * z


def _through_a_view(x, y):
    z = x * 2
    v = z[1:3]
    w = z.reshape((2, 6))
    v += y
    w[0, 0] = 50
    return z + w.reshape((4, 3)), v * 1


def _view_sees_later_writes(x, y):
    z = x * 2
    row = z[2]
    z[1:3] = y
    z[:] = z + 1
    return row * 10


def _steps(x, y):
    z = x * 2
    z[3:0:-2] = y
    z[..., 0] = x[..., 1]
    return z


def _index_arrays(x, y):
    z = x * 2
    z[[0, 3]] = y
    z[[1, 2], [0, 2]] = 9
    return z


def _numbers_and_lists(x, y):
    z = x.zeros_like()
    z[1] = [1, 2, 3]
    z[2, 1:] = 4
    z[3] = y[0]
    return z


PROGRAMS = (
    _part, _changed_in_place, _through_a_view, _view_sees_later_writes, _steps, _index_arrays, _numbers_and_lists,
)  # fmt: skip


def _block(function, style):
    if style == "forward":
        return type("Block", (HybridBlock,), {"forward": lambda self, x, y: function(x, y)})()
    return type("Block", (HybridBlock,), {"hybrid_forward": lambda self, F, x, y: function(x, y)})()


@pytest.mark.parametrize("style", ["forward", "hybrid_forward"])
@pytest.mark.parametrize("face", ["nd", "np"])
@pytest.mark.parametrize("function", PROGRAMS)
def test_writes_to_parts(function, face, style):
    if face == "np" and (style == "hybrid_forward" or function is _numbers_and_lists):
        pytest.skip("np arrays are for forward, and have no method zeros_like")
    make = mx.np.array if face == "np" else mx.nd.array
    x, y = make(np.arange(12.0).reshape(4, 3)), make(np.full((2, 3), 5.0))
    expected = _block(function, style)(x, y)
    block = _block(function, style)
    block.hybridize()
    for _ in range(2):
        found = block(x, y)
        for a, b in zip(_listed(found), _listed(expected), strict=True):
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    np.testing.assert_array_equal(x.asnumpy(), np.arange(12.0).reshape(4, 3))


def test_masks_take_numbers():
    class Cut(HybridBlock):
        def forward(self, x):
            z = x * 1
            z[z > 2] = 0
            return z

    x = mx.np.array(np.arange(6.0).reshape(2, 3))
    block = Cut()
    block.hybridize()
    np.testing.assert_array_equal(block(x).asnumpy(), [[0, 1, 2], [0, 0, 0]])


def test_the_callers_array_is_written():
    class Block(HybridBlock):
        def forward(self, x):
            x[1:3] = 9
            return x + 1

    for hybrid in (False, True):
        block, x = Block(), mx.nd.array(np.arange(8.0).reshape(4, 2))
        block.hybridize(hybrid)
        np.testing.assert_array_equal(block(x).asnumpy(), [[1, 2], [10, 10], [10, 10], [7, 8]])
        np.testing.assert_array_equal(x.asnumpy(), [[0, 1], [9, 9], [9, 9], [6, 7]])


class Masked(HybridBlock):
    """A layer behind a mask that is written place by place."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Dense(3, in_units=4)

    def forward(self, x):
        mask = mx.nd.zeros(x.shape)
        mask[:, 1:3] = 1
        mask[0] += 1
        return self.layer(x * mask)


def test_gradients_pass_by_what_is_written():
    x = mx.nd.array(np.random.default_rng(0).normal(size=(2, 4)))
    x.attach_grad()
    found = []
    net = Masked()
    net.initialize()
    for hybrid in (False, True):
        net.hybridize(hybrid)
        with autograd.record():
            out = net(x)
        out.backward()
        found.append((out.asnumpy(), x.grad.asnumpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("hybrid", [False, True])
def test_writes_to_recorded_arrays_are_refused(hybrid):
    block = _block(_part, "forward")
    block.hybridize(hybrid)
    x, y = mx.nd.ones((4, 3)), mx.nd.ones((2, 3))
    x.attach_grad()
    with autograd.record(), pytest.raises(mx.MXNetError, match=r"[Ii]n-?place operations"):
        block(x, y)


def test_writes_are_exported(tmp_path):
    x, y = mx.nd.array(np.arange(12.0).reshape(4, 3)), mx.nd.array(np.full((2, 3), 5.0))
    block = _block(_changed_in_place, "forward")
    block.hybridize()
    expected = block(x, y)
    block.export(str(tmp_path / "net"))
    loaded = SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data0", "data1"], str(tmp_path / "net-0000.params")
    )
    np.testing.assert_array_equal(loaded(x, y).asnumpy(), expected.asnumpy())


def _listed(values):
    return values if isinstance(values, (list, tuple)) else [values]

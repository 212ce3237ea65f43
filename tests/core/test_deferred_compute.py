"""`core._deferred_compute`: what programs compute on arrays as a symbol."""

import numpy as np
import pytest

import core as mx
from core import _deferred_compute as deferred
from core import nd
from core.base import MXNetError


def test_the_symbol_computes_what_the_arrays_hold():
    a = nd.arange(10)
    deferred.set_variable(a, mx.sym.var("a"))
    with deferred.context():
        assert deferred.is_deferred_compute()
        b = (a + nd.arange(a.shape[0])).reshape((5, 2))
        first, _ = nd.split(b, 2, axis=1)
        outputs = [b[:2, 1] + 1, first, nd.concat(b, b, dim=0), a]
    assert not deferred.is_deferred_compute()
    np.testing.assert_array_equal(outputs[0].asnumpy(), [3, 7])  # values are there at once
    symbol = deferred.get_symbol(outputs)
    assert symbol.list_inputs() == ["a"] == deferred.get_symbol(first).list_inputs()
    for found, expected in zip(symbol.bind(mx.cpu(), {"a": a}).forward(), outputs, strict=True):
        np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())


def test_what_is_refused():
    a, other = nd.arange(3), nd.ones((3,))
    deferred.set_variable(a, mx.sym.var("a"))
    with pytest.raises(MXNetError, match="already"):
        deferred.set_variable(a, mx.sym.var("b"))
    with deferred.context():
        b = a + other
        with pytest.raises(MXNetError, match="not written to"):
            a[:] = 0
    with pytest.raises(MXNetError, match="neither a variable"):
        deferred.get_symbol(b)
    deferred.clear(a)
    deferred.set_variable(a, mx.sym.var("b"))

"""What programs written for MXNet were seen to ask, and failed to get: one question each."""

import numpy as np

import core as mx


def test_expand_dims_squeeze_and_flatten_share_memory_on_request():
    x = mx.nd.ones((1, 2, 3))
    x.squeeze(axis=0, inplace=True)[0, 0] = 9
    x.expand_dims(-1, inplace=True)[0, 0, 1] = 8
    x.flatten(inplace=True)[0, 5] = 7
    x.squeeze(axis=0)[:] = 0
    np.testing.assert_array_equal(x.asnumpy(), [[[9, 8, 1], [1, 1, 7]]])
    assert x.flatten(inplace=True).shape == (1, 6) and x.squeeze(inplace=True).shape == (2, 3)


def test_an_array_names_its_type():
    like = mx.nd.ones((2,), dtype="float16")
    assert mx.nd.ones((2,)).astype(like).dtype == np.float16
    assert mx.nd.zeros((2,), dtype=mx.nd.ones((1,)).dtype).dtype == np.float32

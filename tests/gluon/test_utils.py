"""`gluon.utils`: the expected values are those that MXNet 1.9.1 gives."""

import warnings

import numpy as np
import pytest

from core import ndarray as nd
from core import numpy as mx_np
from core import util
from core.context import cpu
from gluon import nn, rnn, utils


@pytest.mark.parametrize(
    "count, expected",
    [(1, [[0, 1, 2, 3, 4, 5, 6]]), (3, [[0, 1, 2], [3, 4], [5, 6]]), (5, [[0, 1], [2, 3], [4], [5], [6]])],
)
def test_split_data_unevenly(count, expected):
    for data in (nd.arange(7), np.arange(7.0)):
        pieces = utils.split_data(data, count, even_split=False)
        assert [list(np.asarray(piece)) for piece in pieces] == expected


def test_split_data_along_another_axis():
    data = nd.arange(24).reshape((2, 4, 3))
    for axis in (1, -2):
        left, right = utils.split_data(data, 2, batch_axis=axis)
        np.testing.assert_array_equal(left.asnumpy(), data.asnumpy()[:, :2])
        np.testing.assert_array_equal(right.asnumpy(), data.asnumpy()[:, 2:])


def test_split_data_refuses_what_does_not_divide():
    with pytest.raises(ValueError, match=r"\(7,\).*even_split=False"):
        utils.split_data(nd.arange(7), 2)
    with pytest.raises(ValueError, match="too many slices: 8"):
        utils.split_data(nd.zeros((2, 7)), 8, batch_axis=1, even_split=False)


def test_more_pieces_than_rows_leave_empty_ones():
    """As MXNet 1.9.1 cuts them, in both semantics."""
    data = np.arange(6.0).reshape(3, 2)
    cut = [data[:1], data[1:2], data[2:], data[3:]]
    pieces = utils.split_data(nd.array(data), 4, even_split=False)
    for piece, expected in zip(pieces, cut, strict=True):
        np.testing.assert_array_equal(piece.asnumpy(), expected)
    with pytest.raises(ValueError, match="too many slices: 4"):
        utils.split_and_load(data, [cpu(i) for i in range(4)], even_split=False)
    with util.np_shape(), util.np_array():
        for axis, given in ((0, data), (1, data.T)):
            pieces = utils.split_and_load(mx_np.array(given), [cpu(i) for i in range(4)], axis, even_split=False)
            assert [piece.shape[axis] for piece in pieces] == [1, 1, 1, 0]
            assert [piece.ctx for piece in pieces] == [cpu(i) for i in range(4)]


def test_split_and_load():
    pieces = utils.split_and_load([1, 2, 3, 4], [cpu(0), cpu(1)])
    assert [piece.asnumpy().tolist() for piece in pieces] == [[1, 2], [3, 4]]
    assert [piece.ctx for piece in pieces] == [cpu(0), cpu(1)]
    assert utils.split_and_load(np.arange(3.0), cpu())[0].dtype == np.float32


@pytest.mark.parametrize(
    "arrays, limit, norm, clipped",
    [
        ([[3.0, 4.0], [12.0]], 6.5, 13.0, [[1.5, 2.0], [6.0]]),
        ([[3.0, 4.0]], 60, 5.0, [[3.0, 4.0]]),
    ],
)
def test_clip_global_norm(arrays, limit, norm, clipped):
    given = [nd.array(a) for a in arrays]
    assert utils.clip_global_norm(given, limit) == pytest.approx(norm)
    for array, expected in zip(given, clipped):
        np.testing.assert_allclose(array.asnumpy(), expected, rtol=1e-6)


def test_clip_global_norm_over_contexts_and_types_without_waiting():
    given = [nd.array([3.0], ctx=cpu(0)), nd.array([4.0], ctx=cpu(1)), nd.array([0.0], dtype="float16")]
    norm = utils.clip_global_norm(given, 1, check_isfinite=False)
    assert norm.shape == (1,) and norm.asscalar() == pytest.approx(5)
    assert [a.asscalar() for a in given[:2]] == pytest.approx([0.6, 0.8])
    assert given[2].dtype == np.float16 and given[1].ctx == cpu(1)


def test_clip_global_norm_of_np_arrays():
    from core import numpy

    given = [numpy.array([3.0, 4.0]), numpy.array([[12.0]])]
    assert utils.clip_global_norm(given, 6.5) == pytest.approx(13)
    assert type(given[0]) is numpy.ndarray and given[0].asnumpy() == pytest.approx([1.5, 2])


def test_clip_global_norm_warns_of_what_is_not_finite():
    with pytest.warns(UserWarning, match="nan or inf"):
        assert np.isnan(utils.clip_global_norm([nd.array([np.nan, 4.0])], 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        utils.clip_global_norm([nd.array([np.inf])], 1, check_isfinite=False)


def test_names_of_the_store():
    assert {"check_sha1", "download", "replace_file"} <= set(utils.__all__)
    assert utils._get_repo_file_url("a", "b") == utils._get_repo_url() + "a/b"


def test_split_rnn_params_in_the_order_of_mxnet_2():
    parts = utils.split_rnn_params(nd.arange(736), "lstm", 2, 3, 4, bidirectional=True)
    # places of the first numbers, as MXNet 2.0.0b1 gives them
    begins = {name: int(part.reshape((-1,))[0].asscalar()) for name, part in parts.items()}
    assert [begins[n] for n in ("l0_h2h_weight", "r0_i2h_weight", "l1_i2h_weight", "r1_h2h_weight", "l0_i2h_bias")] == [
        48, 112, 224, 544, 608]  # fmt: skip
    assert parts["l1_i2h_weight"].shape == (16, 8) and parts["r1_h2h_bias"].shape == (16,)
    assert utils.split_rnn_params(nd.zeros(120), "lstm", 1, 3, 4, projection_size=2)["l0_h2r_weight"].shape == (2, 4)
    with pytest.raises(ValueError, match="736"):
        utils.split_rnn_params(nd.arange(735), "lstm", 2, 3, 4, bidirectional=True)


@pytest.mark.parametrize(
    ("options", "inputs"),
    [({}, 3), ({"bidirectional": True, "num_layers": 2}, 3), ({"projection_size": 2, "num_layers": 2}, 0)],
)
def test_files_of_mxnet_2_hold_recurrent_layers_as_one_vector(tmp_path, options, inputs):
    """The vector is that of the RNN operator, which tells what the layer has to give."""
    layers, directions = options.get("num_layers", 1), 1 + options.get("bidirectional", False)
    net = nn.HybridSequential()
    net.add(rnn.LSTM(4, input_size=inputs, **options), nn.Dense(2, in_units=1, flatten=False))
    projected = options.get("projection_size")
    recurrent = projected or 4
    size = sum(
        directions * (16 * ((recurrent * directions if layer else 3) + recurrent + 2) + 4 * (projected or 0))
        for layer in range(layers)
    )
    flat, x = nd.array(np.random.RandomState(0).randn(size)), nd.array(np.random.RandomState(1).randn(5, 2, 3))
    nd.save(str(tmp_path / "x.params"), {"0.rnn_param": flat, "1.weight": nd.ones((2, 1)), "1.bias": nd.ones(2)})
    net.load_parameters(str(tmp_path / "x.params"))
    states = nd.zeros((layers * directions, 2, recurrent)), nd.zeros((layers * directions, 2, 4))
    settings = {"state_size": 4, "mode": "lstm", "num_layers": layers, "bidirectional": directions == 2}
    if projected:
        settings["projection_size"] = projected
    np.testing.assert_allclose(net[0](x).asnumpy(), nd.RNN(x, flat, *states, **settings).asnumpy(), rtol=1e-5)

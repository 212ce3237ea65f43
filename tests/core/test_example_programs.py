"""What upstream's example programs, tutorials and tools ask: numbers are what MXNet 1.9.1 gives."""

import ctypes
import json
import sys

import numpy as np
import pytest

import core as mx

mx.install_as_mxnet()


# ---------------------------------------------------------------------------------------------- symbols and modules


def layer():
    return mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")


def test_outputs_of_a_module_may_be_written_before_the_backward_pass():
    module = mx.mod.Module(mx.sym.SoftmaxOutput(layer(), name="softmax"))
    module.bind([("data", (3, 4))], [("softmax_label", (3,))], inputs_need_grad=True)
    module.init_params(mx.init.One())
    module.forward(mx.io.DataBatch([mx.nd.ones((3, 4))], [mx.nd.zeros((3,))]), is_train=True)
    out = module.get_outputs()[0]
    np.testing.assert_array_equal(out.asnumpy(), np.full((3, 2), 0.5))
    out[:] = 3
    out += 1
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), np.full((3, 2), 4))
    module.backward()  # whose gradient is that at what was written: 4 - 1 and 4
    np.testing.assert_array_equal(module.get_input_grads()[0].asnumpy(), np.full((3, 4), 7))


def test_gradients_of_an_executor_are_those_at_what_its_arrays_hold_now():
    data, grad = mx.nd.array([0.5, 1]), mx.nd.zeros((2,))
    first = mx.sym.tanh(mx.sym.var("data"))
    executor = mx.sym.Group([first, mx.sym.square(first)]).bind(mx.cpu(), {"data": data}, {"data": grad})
    executor.forward(is_train=True)
    executor.outputs[0][:] = 3
    executor.backward([mx.nd.ones((2,))] * 2)
    np.testing.assert_array_equal(grad.asnumpy(), [-56, -56])
    executor = mx.sym.square(mx.sym.var("data")).bind(mx.cpu(), {"data": data}, {"data": grad})
    executor.forward(is_train=True)
    data[:] = 5
    executor.backward(mx.nd.ones((2,)))
    np.testing.assert_array_equal(grad.asnumpy(), [10, 10])


def test_what_a_graph_does_not_need_may_stand_in_the_dictionaries_that_it_is_bound_with():
    args = {"data": mx.nd.ones((3, 4)), "fc_weight": mx.nd.ones((2, 4)), "fc_bias": mx.nd.ones((2,))}
    grads = {"data": mx.nd.zeros((3, 4)), "other": mx.nd.zeros((1,))}
    executor = layer().bind(
        mx.cpu(),
        {**args, "other": mx.nd.ones((1,))},
        args_grad=grads,
        grad_req={"data": "write", "other": "write"},
        aux_states={"state": mx.nd.ones((1,))},
    )
    (out,) = executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 2)))
    np.testing.assert_array_equal(out.asnumpy(), np.full((3, 2), 5))
    np.testing.assert_array_equal(grads["data"].asnumpy(), np.full((3, 4), 2))
    assert grads["other"].asscalar() == 0


def test_an_executor_gives_the_symbol_that_it_computes():
    executor = layer().simple_bind(mx.cpu(), data=(3, 4))
    symbol = executor.get_optimized_symbol()
    assert symbol.list_arguments() == ["data", "fc_weight", "fc_bias"]
    assert symbol.list_outputs() == ["fc_output"]


def test_automatic_names_begin_anew_in_the_network_of_each_bucket():
    def generate(length):
        words = mx.sym.Embedding(mx.sym.var("data"), input_dim=5, output_dim=3)
        out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(words, num_hidden=2), mx.sym.var("softmax_label"))
        return out, ("data",), ("softmax_label",)

    mx.sym.Embedding(mx.sym.var("x"), input_dim=5, output_dim=3)  # takes a number outside
    module = mx.mod.BucketingModule(generate, default_bucket_key=4)
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    module.init_params()
    for length in (4, 4, 4):
        module.switch_bucket(length, [("data", (2, length))], [("softmax_label", (2,))])
    assert set(module.get_params()[0]) == {"embedding0_weight", "fullyconnected0_weight", "fullyconnected0_bias"}


def test_feed_forward_predicts_on_its_first_context():
    data, labels = np.random.RandomState(0).rand(8, 3), np.zeros(8)
    model = mx.model.FeedForward(
        mx.sym.SoftmaxOutput(layer(), name="softmax"), ctx=[mx.cpu(0), mx.cpu(1)], num_epoch=1, numpy_batch_size=4
    )
    model.fit(data, labels)
    assert model.predict(data[:6]).shape == (6, 2)
    assert model.predict(data[:1]).shape == (1, 2)  # fewer samples than contexts


# ---------------------------------------------------------------------------------------------- names


def test_names_that_tools_and_tests_of_mxnet_import():
    from mxnet import _numpy_op_doc, rnn
    from mxnet.ndarray._internal import NDArrayBase
    from mxnet.rnn.io import BucketSentenceIter

    assert isinstance(mx.nd.ones((1,)), NDArrayBase) and mx.nd._internal.NDArrayBase is NDArrayBase
    assert isinstance(layer(), mx.sym._internal.SymbolBase)
    assert rnn.io.BucketSentenceIter is BucketSentenceIter is rnn.BucketSentenceIter
    assert _numpy_op_doc._np_sum is mx.np.sum and "any" in _numpy_op_doc._np_any.__doc__.lower()
    assert mx.AttrScope._subgraph_names["none of that name"] == 0

    everything = {}
    exec("from mxnet.autograd import *", everything)
    assert everything["NDArray"] is mx.nd.NDArray and everything["record"] is mx.autograd.record


def test_namespaces_of_operators_stand_among_the_loaded_modules():
    for face, home in (("ndarray", mx.nd), ("symbol", mx.sym)):
        for room in ("_internal", "contrib", "image", "linalg", "op", "random", "sparse"):
            assert sys.modules[f"mxnet.{face}.{room}"] is getattr(home, room)


def test_registered_operators_are_those_of_nd_op_without_those_of_users():
    @mx.operator.register("a_users_operator")
    class OfUser(mx.operator.CustomOpProp):
        pass

    names = mx.operator.get_all_registered_operators()
    assert "a_users_operator" not in names and {"Custom", "FullyConnected", "_plus_scalar"} <= {*names}
    assert sorted(names) == sorted(dir(mx.nd.op)) and all(callable(getattr(mx.nd.op, name)) for name in names)
    assert mx.nd.op.Custom is mx.nd.Custom


def test_callbacks_for_notebooks_collect_what_they_are_given():
    from mxnet.notebook import callback

    class First:
        def callback_args(self):
            return {"batch_end_callback": 1, "eval_end_callback": 2}

    class Second:
        def callback_args(self):
            return {"batch_end_callback": 3}

    assert callback.args_wrapper(First(), Second()) == {"batch_end_callback": [1, 3], "eval_end_callback": [2]}


def test_pandas_loggers_record_batches_evaluations_and_epochs():
    pandas = pytest.importorskip("pandas")
    from mxnet.notebook.callback import PandasLogger

    logger, metric = PandasLogger(batch_size=10, frequent=2), mx.metric.Accuracy()
    for batch in range(4):
        metric.update([mx.nd.array([0, 1])], [mx.nd.array([[1, 0], [1, 0]])])
        logger.train_cb(mx.model.BatchEndParam(epoch=0, nbatch=batch, eval_metric=metric, locals=None))
    logger.eval_cb(mx.model.BatchEndParam(epoch=0, nbatch=0, eval_metric=None, locals=None))
    logger.epoch_cb()
    assert isinstance(logger.train_df, pandas.DataFrame) and list(logger.train_df["accuracy"]) == [0.5, 0.5]
    assert list(logger.train_df["minibatch_count"]) == [0, 2]
    assert len(logger.eval_df) == len(logger.epoch_df) == 1 and set(logger.all_dataframes) == {"train", "eval", "epoch"}


# ---------------------------------------------------------------------------------------------- the shared library


def test_positions_of_records_are_told_by_the_shared_library(tmp_path):
    from mxnet.base import _LIB, check_call

    writer = mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    for _ in range(3):
        writer.write(b"four")
    writer.close()
    reader, position, found = mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "r"), ctypes.c_size_t(), []
    while reader.read() is not None:
        check_call(_LIB.MXRecordIOReaderTell(reader.handle, ctypes.byref(position)))
        found.append(position.value)
    assert found == [12, 24, 36]
    check_call(_LIB.MXRecordIOReaderSeek(reader.handle, ctypes.c_size_t(24)))
    assert reader.read() == b"four" and reader.read() is None


def test_the_number_of_threads_is_set_by_the_shared_library():
    import torch

    before = torch.get_num_threads()
    try:
        assert mx.base._LIB.MXSetNumOMPThreads(ctypes.c_int(1)) == 0
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("transient", [False, True])
def test_memory_goes_to_others_and_comes_back_through_the_shared_library(transient):
    from mxnet.base import _LIB, DLPackHandle, NDArrayHandle, check_call

    x, tensor, handle = mx.nd.array([1, 2, 3]), DLPackHandle(), NDArrayHandle()
    check_call(_LIB.MXNDArrayToDLPack(x.handle, ctypes.byref(tensor)))
    check_call(_LIB.MXNDArrayFromDLPackEx(tensor, transient, ctypes.byref(handle)))
    y = mx.nd.NDArray(handle=handle)
    y[1] = 9
    assert x.asnumpy().tolist() == [1, 9, 3] and x.handle == x.handle != y.handle
    del y, handle
    check_call(_LIB.MXNDArrayToDLPack(x.handle, ctypes.byref(tensor)))
    check_call(_LIB.MXNDArrayCallDLPackDeleter(tensor))
    assert x.asnumpy().tolist() == [1, 9, 3]
    with pytest.raises(mx.MXNetError, match="null"):
        _LIB.MXNDArrayFromDLPack(DLPackHandle(), ctypes.byref(NDArrayHandle()))


# ---------------------------------------------------------------------------------------------- arrays


def test_numpy_memory_is_shared_again():
    given = np.ones(3, "float32")
    first, second = mx.nd.from_numpy(given), mx.nd.from_numpy(given)
    first[1] = 7
    assert second.asnumpy().tolist() == given.tolist() == [1, 7, 1] and not given.flags.writeable


def test_reshape_view_shares_memory():
    x = mx.np.ones((2, 3))
    y = x.reshape_view((-1,))
    y[5] = 4
    x.reshape((6,))[0] = 5
    assert x.tolist() == [[1, 1, 1], [1, 1, 4]] and isinstance(y, mx.np.ndarray)


def test_a_number_cannot_be_iterated_over():
    with pytest.raises(TypeError, match="0-d"):
        iter(mx.np.array(3.0))
    assert not np.iterable(mx.np.array(3.0)) and np.iterable(mx.np.zeros(2))
    assert [float(x) for x in mx.np.arange(3)] == [0, 1, 2]


def test_a_negative_count_of_samples_is_taken_as_there():
    taken = mx.gluon.data.SimpleDataset([1, 2, 3]).take(-2)
    with pytest.raises(IndexError):
        taken[0]
    with pytest.raises(ValueError, match="__len__"):
        len(taken)


@pytest.mark.parametrize("make", [np.array, mx.nd.array, mx.np.array])
def test_a_constant_array_is_written_as_numbers(make):
    assert json.loads(mx.init.Constant(make([1.0, 2.0])).dumps()) == ["constant", {"value": [1, 2]}]


def test_a_trainer_says_which_store_was_asked_for():
    net = mx.gluon.nn.Dense(1, in_units=1)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", kvstore="local", update_on_kvstore=False)
    assert trainer._kvstore_params == {"kvstore": "local", "update_on_kvstore": False}


def test_a_hybridized_block_takes_more_optional_arrays_than_in_its_first_call():
    class Scaled(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, scale=None, shift=None):
            x = x if scale is None else x * scale
            return x if shift is None else x + shift

    net, x = Scaled(), mx.nd.ones((2,))
    net.hybridize()
    for arguments, result in [((x,), 1), ((x, x * 3), 3), ((x, x * 3, x), 4), ((x, None, x), 2), ((x,), 1)]:
        assert net(*arguments).asnumpy().tolist() == [result] * 2
    with pytest.raises(TypeError, match="given list"):  # by the block's own multiplication
        net([x], x)


# ---------------------------------------------------------------------------------------------- operators


def test_the_sparseness_penalty_moves_its_average_and_pulls_by_it():
    data = mx.nd.array(np.random.RandomState(0).rand(4, 3))
    symbol = mx.sym.IdentityAttachKLSparseReg(
        mx.sym.var("data"), name="k", sparseness_target=0.1, penalty=0.01, momentum=0.9
    )
    grad = mx.nd.zeros((4, 3))
    executor = symbol.bind(
        mx.cpu(), {"data": data}, {"data": grad}, aux_states={"k_moving_avg": mx.nd.array([0.2, 0.3, 0.4])}
    )
    for average, slopes in (
        ([0.22786814, 0.3405586, 0.4285304], [1.0072676, 1.0107116, 1.0134153]),
        ([0.25294945, 0.3770613, 0.45420772], [1.0080941, 1.0117955, 1.0142882]),
    ):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((4, 3)))
        np.testing.assert_allclose(executor.aux_dict["k_moving_avg"].asnumpy(), average, rtol=1e-6)
        np.testing.assert_allclose(grad.asnumpy(), [slopes] * 4, rtol=1e-6)


def test_squares_of_halves_are_halves():
    x = mx.nd.array(np.random.RandomState(0).standard_normal(20), dtype="float16")
    np.testing.assert_allclose(mx.nd.multi_sum_sq(x, num_arrays=1).asnumpy(), [20.935219], rtol=1e-6)
    np.testing.assert_allclose(mx.nd.multi_sum_sq(x.astype("float32"), num_arrays=1).asnumpy(), [20.932556], rtol=1e-6)


def test_indices_are_unravelled_over_an_unknown_first_extent():
    x = mx.nd.array([5, 7, 23, 100])
    assert mx.nd.unravel_index(x, shape=(-1, 3, 4)).asnumpy().tolist() == [[0, 0, 1, 8], [1, 1, 2, 1], [1, 3, 3, 0]]
    symbol = mx.sym.unravel_index(mx.sym.var("x"), shape=(-1, 4))
    assert symbol.eval(x=x)[0].asnumpy().tolist() == [[1, 1, 5, 25], [1, 3, 3, 0]]
    (out,) = symbol.infer_shape(x=(4,))[1]
    assert out == (2, 4)


def test_one_array_in_its_own_precision_is_an_array():
    assert isinstance(mx.nd.amp_multicast(mx.nd.ones((2,)), num_outputs=1), mx.nd.NDArray)
    half, single = mx.nd.amp_multicast(mx.nd.ones((2,), dtype="float16"), mx.nd.ones((2,)), num_outputs=2)
    assert half.dtype == single.dtype == np.float32


@pytest.mark.parametrize("shape", [(1, 3), (1, 1), (1,)])
def test_the_second_phase_of_lamb_takes_norms_with_axes(shape):
    weight, g = mx.nd.array([1, 2, 3]), mx.nd.array([0.1, 0.2, 0.3])
    norms = mx.nd.full(shape, 2), mx.nd.full(shape, 4)
    expected = [0.995, 1.99, 2.985]
    np.testing.assert_allclose(mx.nd.lamb_update_phase2(weight, g, *norms, lr=0.1).asnumpy(), expected, rtol=1e-6)
    half = mx.nd.mp_lamb_update_phase2(weight.astype("float16"), g, *norms, weight, lr=0.1)
    np.testing.assert_allclose(half.asnumpy(), expected, rtol=1e-3)
    with pytest.raises(mx.MXNetError, match="r1"):
        mx.nd.lamb_update_phase2(weight, g, mx.nd.ones((3,)), mx.nd.ones((1,)), lr=0.1)


@pytest.mark.parametrize(
    ("size", "options"),
    [
        ((9,), {"kernel": (3,), "stride": (2,), "dilate": (2,), "pad": (1,)}),
        ((5, 6), {"kernel": (2, 3), "stride": (2, 1), "pad": (1, 0)}),
        ((5, 6, 7), {"kernel": (2, 3, 2), "stride": (2, 1, 2), "dilate": (1, 2, 1), "pad": (1, 0, 1)}),
        ((4, 5, 6), {"kernel": (2, 2, 2)}),
    ],
)
def test_columns_over_one_two_and_three_axes(size, options):
    rs = np.random.RandomState(0)
    x, n, kernel = rs.standard_normal((2, 3, *size)).astype("float32"), len(size), options["kernel"]
    stride, dilate = options.get("stride", (1,) * n), options.get("dilate", (1,) * n)
    pad = options.get("pad", (0,) * n)
    padded = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in pad)))
    windows = [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, p, d, k, t in zip(size, pad, dilate, kernel, stride)]
    columns = np.zeros((2, 3, *kernel, *windows), "float32")
    for spot in np.ndindex(*kernel):
        for window in np.ndindex(*windows):
            at = tuple(w * t + k * d for w, t, k, d in zip(window, stride, spot, dilate))
            columns[(..., *spot, *window)] = padded[(..., *at)]
    columns = columns.reshape(2, 3 * int(np.prod(kernel)), -1)

    data = mx.nd.array(x)
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.im2col(data, **options)
    np.testing.assert_array_equal(out.asnumpy(), columns)
    (shape,) = mx.sym.im2col(mx.sym.var("x"), **options).infer_shape(x=x.shape)[1]
    assert shape == columns.shape
    head = rs.standard_normal(columns.shape).astype("float32")
    out.backward(mx.nd.array(head))
    image = mx.nd.col2im(mx.nd.array(head), output_size=size, **options)
    np.testing.assert_allclose(data.grad.asnumpy(), image.asnumpy(), rtol=1e-6)
    np.testing.assert_allclose((image.asnumpy() * x).sum(), (head * columns).sum(), rtol=1e-4)  # the adjoint


def test_records_without_rounding_end_in_zeros(tmp_path):
    writer = mx.recordio.MXIndexedRecordIO(str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "w")
    for i in range(5):
        image = np.full((8, 8, 3), 10 * (i + 1), np.uint8)
        writer.write_idx(i, mx.recordio.pack_img(mx.recordio.IRHeader(0, i + 1.0, i, 0), image, img_fmt=".png"))
    writer.close()
    batches = mx.io.ImageRecordIter(
        path_imgrec=str(tmp_path / "a.rec"), data_shape=(3, 8, 8), batch_size=3, round_batch=False
    )
    for _ in range(2):
        found = [(b.pad, b.data[0][:, 0, 0, 0].asnumpy().tolist(), b.label[0].asnumpy().tolist()) for b in batches]
        assert found == [(0, [10, 20, 30], [1, 2, 3]), (0, [40, 50, 0], [4, 5, 0])]
        batches.reset()

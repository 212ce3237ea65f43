"""Arguments do what MXNet 1.9.1 or NumPy do with them, or are refused by name.

Numbers in comments are what MXNet 1.9.1 printed for the same lines.
"""

import warnings

import numpy as onp
import pytest

import core as mx
import gluon
from core import autograd, io, nd, np, npx, profiler, sym
from core.base import MXNetError, NotSupportedError
from core.contrib import onnx

MATRIX = onp.random.default_rng(0).normal(size=(4, 4))


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.zeros((2,), nonsense=3),
        lambda: nd.ones((2,), nonsense=3),
        lambda: nd.sparse.zeros("csr", (2, 2), nonsense=3),
        lambda: np.around(np.ones(2), nonsense=3),
        lambda: np.positive(np.ones(2), nonsense=3),
        lambda: np.nan_to_num(np.ones(2), nonsense=3),
        lambda: np.float_power(np.ones(2), 2, nonsense=3),
        lambda: np.eye(2, nonsense=3),
        lambda: sym.np.zeros((2,), nonsense=3),
        lambda: sym.np.concatenate([sym.np.zeros((2,))], nonsense=3),
    ],
)
def test_unknown_keywords_are_named(call):
    with pytest.raises(TypeError, match="nonsense"):
        call()
    assert nd.zeros((2,), name="zeros", __layout__="NC").shape == (2,)  # what recurrent cells say of their states


@pytest.mark.parametrize(
    "call",
    [
        lambda words: nd.relu(nd.ones(2), **words),
        lambda words: nd.ones(2).softmax(**words),
        lambda words: nd.concat(nd.ones(1), nd.ones(1), dim=0, **words),
        lambda words: nd.random.uniform(shape=(2,), **words),
        lambda words: nd.random.randint(0, 9, shape=(2,), **words),
        lambda words: nd.random.exponential(nd.array([1, 2]), **words),
        lambda words: sym.softmax(sym.var("x"), **words).eval(x=nd.ones(2))[0],
    ],
)
def test_operators_take_keywords_that_describe_nodes(call):
    assert call({"__layout__": "NC", "__mine__": "1"}).shape == (2,)
    with pytest.raises(MXNetError, match="has no attribute '__mine'"):
        call({"__mine": "1"})


@pytest.mark.parametrize("draw", [nd.random.normal, nd.random.uniform, nd.random.exponential, nd.random.gamma])
@pytest.mark.parametrize("cell", [gluon.rnn.LSTMCell(4), gluon.rnn.LSTM(4)])
def test_recurrent_states_begin_with_draws(cell, draw):
    states = cell.begin_state(2, func=draw)
    assert [state.size for state in states] == [8, 8]
    assert len(set(states[0].asnumpy().flatten())) == 8


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda a: np.zeros((2, 3), order="F"), "np.zeros: order='F' .* accepted is 'C'"),
        (lambda a: np.ones((2, 3), order="F"), "np.ones: order='F'"),
        (lambda a: np.full((2, 3), 1, order="F"), "np.full: order='F'"),
        (lambda a: np.full_like(a, 1, order="F"), "np.full_like: order='F'"),
        (lambda a: np.zeros_like(a, order="F"), "np.full_like: order='F'"),
        (lambda a: np.empty_like(a, order="F"), "np.empty_like: order='F'"),
        (lambda a: np.empty_like(a, subok=True), "np.empty_like: subok=True"),
        (lambda a: np.eye(2, order="F"), "np.eye: order='F'"),
        (lambda a: np.asarray([1, 2], order="F"), "np.asarray: order='F'"),
        (lambda a: np.linspace(0, 1, 3, axis=1), "np.linspace: axis=1"),
        (lambda a: np.logspace(0, 1, 3, axis=1), "np.logspace: axis=1"),
        (lambda a: np.sort(a, order="x"), "np.sort: order='x'"),
        (lambda a: np.argsort(a, order="x"), "np.argsort: order='x'"),
        (lambda a: np.meshgrid(a, a, copy=False), "np.meshgrid: copy=False"),
        (lambda a: np.positive(a, where=False), "positive: where=False"),
    ],
)
def test_what_mxnet_leaves_out_is_refused_as_there(call, said):
    with pytest.raises(NotImplementedError, match=said):
        call(np.array([1.5, 2.5, -3.0]))


def test_kinds_of_sorting_are_those_of_numpy():
    a = np.array([3.0, 1.0, 2.0])
    for kind in (None, "quicksort", "mergesort", "heapsort", "stable"):
        assert np.sort(a, kind=kind).tolist() == [1, 2, 3]
    for function in (np.sort, np.argsort):
        with pytest.raises(ValueError, match="given 'bubble'"):
            function(a, kind="bubble")


def test_memory_is_in_c_order():
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert a.astype("float16", order="A").dtype == onp.float16
    with pytest.raises(ValueError, match="order"):  # MXNet: order must be either 'K' or 'C'
        a.astype("float16", order="F")
    with pytest.raises(MXNetError, match="only order='C' is supported, given 'F'"):
        npx.reshape(a, (4,), order="F")


def test_rounding_to_decimals():
    for array in (nd.array([1.234, -2.342]), np.array([1.234, -2.342])):
        onp.testing.assert_allclose(round(array, 2).asnumpy(), [1.23, -2.34], rtol=1e-6)
        onp.testing.assert_allclose(round(array * 100, -1).asnumpy(), [120, -230], rtol=1e-6)
        assert round(array).asnumpy().tolist() == [1, -2]


def test_matrices_said_to_be_symmetric_are_read_below_the_diagonal():
    given = np.array(MATRIX, dtype="float64")
    onp.testing.assert_allclose(
        np.linalg.pinv(given, hermitian=True).asnumpy(), onp.linalg.pinv(MATRIX, hermitian=True), rtol=1e-8
    )
    low_rank = onp.tril(onp.ones((3, 3)))  # of rank 3, and read as all ones of rank 1
    given = np.array(low_rank, dtype="float64")
    assert (int(np.linalg.matrix_rank(given)), int(np.linalg.matrix_rank(given, hermitian=True))) == (3, 1)


def test_indices_in_both_orders():
    for order in "CF":
        found = np.unravel_index(np.array([1, 4], dtype="int64"), (2, 3), order=order)
        expected = onp.unravel_index([1, 4], (2, 3), order=order)
        assert [f.tolist() for f in found] == [e.tolist() for e in expected]


@pytest.mark.parametrize("optimize", [False, True, "greedy", "optimal", ["einsum_path", (0, 2), (0, 1)]])
def test_sums_of_products_in_any_order(optimize):
    rng = onp.random.default_rng(1)
    a, b, c = (rng.normal(size=shape).astype("float32") for shape in ((3, 4), (4, 5), (5, 3)))
    given = [np.array(x) for x in (a, b, c)]
    for text in ("ij,jk,kl->il", "ij,jk,ki", "ij,jk,kl"):
        expected = onp.einsum(text, a, b, c)
        onp.testing.assert_allclose(np.einsum(text, *given, optimize=optimize).asnumpy(), expected, rtol=2e-5)


def test_products_meet_in_the_cheapest_order(monkeypatch):
    from core.numpy import products

    met, pair = [], products._pair
    monkeypatch.setattr(products, "_pair", lambda ta, *rest: met.append((ta, rest[1])) or pair(ta, *rest))
    given = [np.ones(shape) for shape in ((2, 100), (100, 100), (100, 2))]
    np.einsum("ab,bc,cd->ad", *given)
    assert met.pop(0) == ("ab", "bc")
    met.clear()
    np.einsum("ab,bc,cd->ad", *reversed(given[::-1]), optimize=["einsum_path", (1, 2), (0, 1)])
    assert met[0] == ("bc", "cd")


def test_covariances_are_looked_at_where_asked():
    mean, wrong = np.zeros(2), np.array([[1.0, 0.5], [0.2, 1.0]])
    assert np.random.multivariate_normal(mean, wrong).shape == (2,)
    with pytest.raises(ValueError, match="not symmetric"):
        np.random.multivariate_normal(mean, wrong, check_valid="raise")
    with pytest.warns(RuntimeWarning, match="not symmetric"):
        np.random.multivariate_normal(mean, wrong, check_valid="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.random.multivariate_normal(mean, wrong, check_valid="raise", tol=1.0)
        np.random.multivariate_normal(mean, np.eye(2), check_valid="raise")
    with pytest.raises(ValueError, match="'odd'"):
        np.random.multivariate_normal(mean, wrong, check_valid="odd")


def test_numbers_of_arrays_fit():
    a = nd.ones((2, 3))
    for name in ("multi_sum_sq", "multi_all_finite", "reset_arrays"):
        with pytest.raises(MXNetError, match="num_arrays=3, but 2 arrays"):  # MXNet: Check failed: num_inputs
            getattr(nd, name)(a, a, num_arrays=3)
    assert nd.multi_sum_sq(a, a, num_arrays=2).asnumpy().tolist() == pytest.approx([6, 6])
    graph = nd.sparse.csr_matrix(([1, 2], [1, 0], [0, 1, 2]), shape=(2, 2), dtype="int64")
    with pytest.raises(MXNetError, match="num_args=5, but 2 arrays"):
        nd.contrib.dgl_subgraph(graph, nd.array([0, 1], dtype="int64"), num_args=5)


@pytest.mark.parametrize("call", [profiler.set_state, profiler.pause, profiler.resume, profiler.dump])
def test_there_are_no_servers_to_profile(call):
    given = {"state": "stop"} if call is profiler.set_state else {}
    with pytest.raises(NotSupportedError, match="profile_process='server'"):
        call(**given, profile_process="server")


def test_operators_of_an_opset():
    every, oldest = onnx.mx2onnx.get_operator_support(), onnx.mx2onnx.get_operator_support(17)
    assert set(oldest) < set(every)
    with pytest.raises(ValueError, match="17 to 19"):
        onnx.mx2onnx.get_operator_support(3)


def test_types_of_batches(tmp_path):
    (tmp_path / "a.libsvm").write_text("1 0:1\n0 1:1\n")
    given = {"data_libsvm": str(tmp_path / "a.libsvm"), "data_shape": (2,), "batch_size": 2}
    assert next(io.LibSVMIter(**given, dtype="float32")).data[0].dtype == onp.float32
    with pytest.raises(NotSupportedError, match="dtype='float64'"):
        io.LibSVMIter(**given, dtype="float64")


def test_layouts_of_deformable_convolutions():
    with pytest.raises(MXNetError, match="layout='NHWC'"):
        nd.contrib.DeformableConvolution(
            nd.ones((1, 2, 5, 5)), nd.zeros((1, 18, 5, 5)), nd.ones((1, 2, 3, 3)), kernel=(3, 3), pad=(1, 1),
            num_filter=1, no_bias=True, layout="NHWC",
        )  # fmt: skip


def test_smooth_l1_of_a_scalar_of_0():
    x = nd.array([-2, -0.5, 0, 0.5, 2])
    x.attach_grad()
    with autograd.record():
        y = nd.smooth_l1(x, scalar=0.0)
    y.backward()
    assert y.asnumpy().tolist() == x.grad.asnumpy().tolist() == [0] * 5


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_maxima_of_nothing_but_padding(dtype):
    x = nd.full((1, 1, 4, 4), -1, dtype=dtype)
    x.attach_grad()
    with autograd.record():
        y = nd.Pooling(x, kernel=(2, 2), stride=(3, 3), pad=(1, 1), pool_type="max", pooling_convention="full")
        (y * 0.5).backward()
    least = onp.finfo(dtype).min  # MXNet: -3.4028235e+38
    assert y[0, 0].asnumpy().tolist() == [[-1, -1, least], [-1, -1, least], [least] * 3]
    assert x.grad.sum().asscalar() == 0.5 * 4  # of the windows that hold data
    # A window that touches the data keeps what it finds, infinities too.
    x = nd.full((1, 1, 3), -onp.inf)
    assert nd.Pooling(x, kernel=(2,), pad=(1,)).asnumpy().tolist() == [[[-onp.inf] * 4]]


@pytest.mark.parametrize(
    ("metric", "arguments"),
    [("acc", {}), ("top_k_acc", {"top_k": 2}), ("f1", {}), ("mcc", {}), ("ce", {}), ("nll_loss", {}), ("loss", {}),
     ("perplexity", {"ignore_label": None}), ("mse", {}), ("rmse", {}), ("mae", {}), ("pcc", {})],
)  # fmt: skip
def test_values_of_metrics_are_numpy_numbers(metric, arguments):
    made = mx.metric.create(metric, **arguments)
    if metric != "pcc":
        assert onp.isnan(made.get()[1].item())
    labels = nd.array([[0.0], [1.0]]) if metric in ("mse", "rmse", "mae") else nd.array([0, 1])
    made.update([labels], [nd.array([[0.9], [0.2]]) if labels.ndim == 2 else nd.array([[0.9, 0.1], [0.2, 0.8]])])
    assert isinstance(made.get()[1].item(), float)
    assert isinstance(made.get_global()[1].item(), float)


def test_accuracy_names_the_axis_that_is_not_there():
    with pytest.raises(MXNetError, match=r"predictions of shape \(2, 3\) have no axis 3"):
        mx.metric.Accuracy(axis=3).update([nd.array([0, 1])], [nd.zeros((2, 3))])
    metric = mx.metric.Accuracy(axis=0)
    metric.update([nd.array([1, 0, 1])], [nd.array([[0, 1, 0], [1, 0, 1]])])
    assert metric.get()[1] == 1
    with pytest.raises(ValueError, match="labels 2 does not match the number of predictions 3"):
        metric.update([nd.array([0, 1])], [nd.zeros((2, 3))])


def test_the_norm_before_clipping_is_a_numpy_number():
    assert mx.gluon.utils.clip_global_norm([nd.ones(3)], 1.0).item() == pytest.approx(3**0.5)

"""Sparse arrays in training: what is stored is computed on, and nothing else, against dense NumPy."""

import difflib
import sys
import weakref

import numpy as np
import pytest

import core as mx
from core import autograd, nd
from core.ndarray import sparse
from core.ndarray.rows import rows_of
from core.ndarray.sparse import CSRNDArray, RowSparseNDArray

RANDOM = np.random.RandomState(0)
DATA = (RANDOM.standard_normal((5, 40)) * (RANDOM.rand(5, 40) < 0.1)).astype("float32")
WEIGHT = RANDOM.standard_normal((40, 3)).astype("float32")
HEAD = RANDOM.standard_normal((5, 3)).astype("float32")
BATCH, FEATURES = 4, 1_000_001


@pytest.fixture
def nothing_dense(monkeypatch):
    """Dense values of sparse arrays are an error."""

    def refuse(self):
        raise AssertionError(f"the dense values of {type(self).__name__} {self.shape} were asked for")

    for kind in (CSRNDArray, RowSparseNDArray):
        monkeypatch.setattr(kind, "_data", property(refuse))
        monkeypatch.setattr(kind, "_dense", refuse)


def weights(stype):
    """All rows; or those that the data name and one more, as a pull leaves them."""
    if stype == "default":
        return nd.array(WEIGHT)
    kept = np.arange(40) if stype == "full" else np.union1d(np.nonzero(DATA)[1], [0])
    return sparse.row_sparse_array((WEIGHT[kept], kept), shape=WEIGHT.shape)


@pytest.mark.parametrize("stype", ["default", "full", "pulled"])
def test_products_of_csr_matrices_and_their_gradients(stype, nothing_dense):
    x, w = sparse.csr_matrix(DATA), weights(stype)
    w.attach_grad(stype="row_sparse")
    with autograd.record():
        y = nd.dot(x, w)
    y.backward(nd.array(HEAD))
    np.testing.assert_allclose(y.asnumpy(), DATA @ WEIGHT, rtol=1e-5, atol=1e-6)
    named = np.unique(np.nonzero(DATA)[1])
    assert w.grad.stype == "row_sparse" and w.grad.indices.asnumpy().tolist() == named.tolist()
    np.testing.assert_allclose(w.grad.data.asnumpy(), (DATA.T @ HEAD)[named], rtol=1e-5, atol=1e-6)


def test_products_of_transposed_csr_matrices(nothing_dense):
    x, h = sparse.csr_matrix(DATA), nd.array(HEAD)
    h.attach_grad()
    with autograd.record():
        y = nd.sparse.dot(x, h, transpose_a=True)
    assert y.stype == "row_sparse" and y.indices.asnumpy().tolist() == np.unique(np.nonzero(DATA)[1]).tolist()
    np.testing.assert_allclose(y.data.asnumpy(), (DATA.T @ HEAD)[y.indices.asnumpy()], rtol=1e-5, atol=1e-6)
    y.backward(sparse.row_sparse_array((WEIGHT, np.arange(40))))
    np.testing.assert_allclose(h.grad.asnumpy(), DATA @ WEIGHT, rtol=1e-5, atol=1e-6)


def test_gradients_of_gradients_go_through_dense_values():
    x, w = sparse.csr_matrix(DATA), nd.array(WEIGHT)
    w.attach_grad()
    with autograd.record():
        (first,) = autograd.grad((nd.dot(x, w) ** 2).sum(), [w], create_graph=True)
        total = (first**2).sum()
    total.backward()
    inner = 2 * DATA.T @ DATA
    np.testing.assert_allclose(w.grad.asnumpy(), 2 * inner.T @ (inner @ WEIGHT), rtol=1e-4, atol=1e-4)


def test_factorization_machines_stay_sparse(nothing_dense):
    x, v = sparse.csr_matrix(DATA), weights("pulled")
    v.attach_grad()
    with autograd.record():
        y = nd.dot(x, v).square() - nd.dot(x.square(), nd.sparse.square(v))
    y.backward()
    want = 2 * DATA.T @ (DATA @ WEIGHT) - 2 * (DATA**2).T @ np.ones((5, 3)) * WEIGHT
    rows = v.grad.indices.asnumpy()
    np.testing.assert_allclose(v.grad.data.asnumpy(), want[rows], rtol=1e-4, atol=1e-4)
    assert rows.tolist() == np.unique(np.nonzero(DATA)[1]).tolist()


def test_lookups_in_row_sparse_weights(nothing_dense):
    w = sparse.row_sparse_array((WEIGHT[[2, 7]], [2, 7]), shape=WEIGHT.shape)
    w.attach_grad()
    at = nd.array([[7, 2], [2, 3]])
    with autograd.record():
        y = nd.Embedding(at, w, input_dim=40, output_dim=3, sparse_grad=True)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [[WEIGHT[7], WEIGHT[2]], [WEIGHT[2], np.zeros(3)]])
    assert w.grad.indices.asnumpy().tolist() == [2, 3, 7]
    np.testing.assert_array_equal(w.grad.data.asnumpy(), [[2] * 3, [1] * 3, [1] * 3])


@pytest.mark.parametrize("name", ["sgd", "adam", "adagrad", "ftrl"])
def test_steps_touch_the_rows_of_the_gradient_alone(name, nothing_dense):
    weight = sparse.row_sparse_array((WEIGHT, np.arange(40)))
    memory = weight.data._data.data_ptr()
    gradient = sparse.row_sparse_array((HEAD[:2], [4, 30]), shape=WEIGHT.shape)
    optimizer = mx.optimizer.create(name, learning_rate=0.1)
    state = optimizer.create_state(0, weight)
    optimizer.update(0, weight, gradient, state)
    changed = np.flatnonzero((weight.data.asnumpy() != WEIGHT).any(1))
    assert changed.tolist() == [4, 30] and weight.data._data.data_ptr() == memory


def test_steps_store_new_rows():
    weight = sparse.row_sparse_array((WEIGHT[[4]], [4]), shape=WEIGHT.shape)
    gradient = sparse.row_sparse_array((HEAD[:2], [4, 30]), shape=WEIGHT.shape)
    mx.optimizer.create("sgd", learning_rate=1.0).update(0, weight, gradient, None)
    assert weight.indices.asnumpy().tolist() == [4, 30]
    np.testing.assert_allclose(weight.data.asnumpy(), [WEIGHT[4] - HEAD[0], -HEAD[1]], rtol=1e-6)


def test_linear_classification_of_a_million_features(nothing_dense):
    """Upstream's example/sparse/linear_classification; dense, a batch of it would be 16 MB, of 8192 rows 30 GiB."""
    x, y = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("softmax_label")
    weight = mx.sym.Variable("weight", stype="row_sparse", init=mx.init.Zero(), shape=(FEATURES, 2))
    module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.sparse.dot(x, weight), label=y), label_names=["softmax_label"])
    module.bind([("data", (BATCH, FEATURES))], [("softmax_label", (BATCH,))])
    module.init_params(mx.init.Zero())
    module.init_optimizer(kvstore=mx.kv.create("local"), optimizer="sgd", optimizer_params={"learning_rate": 1.0})
    rows = sparse.csr_matrix((np.ones(4), [5, 999_999, 5, 17], [0, 1, 2, 3, 4]), shape=(BATCH, FEATURES))
    batch = mx.io.DataBatch([rows], [nd.array([0, 1, 1, 0])])
    module.prepare(batch, sparse_row_id_fn=lambda batch: {"weight": batch.data[0].indices})
    module.forward_backward(batch)
    module.update()
    module.prepare(batch, sparse_row_id_fn=lambda batch: {"weight": nd.array([5, 17, 999_999], dtype="int64")})
    pulled = module._exec_group.execs[0].arg_dict["weight"]
    assert pulled.indices.asnumpy().tolist() == [5, 17, 999_999]
    np.testing.assert_allclose(pulled.data.asnumpy(), [[0, 0], [0.125, -0.125], [-0.125, 0.125]], atol=1e-6)


def test_gradients_of_lookups_are_stored_by_rows_in_modules():
    at, label = mx.sym.Variable("data"), mx.sym.Variable("label")
    found = mx.sym.Embedding(at, mx.sym.Variable("w"), input_dim=40, output_dim=3, sparse_grad=True)
    module = mx.mod.Module(mx.sym.LinearRegressionOutput(found, label), label_names=["label"])
    module.bind([("data", (2,))], [("label", (2, 3))])
    assert module._exec_group.execs[0].grad_dict["w"].stype == "row_sparse"


def test_dense_copies_of_stored_rows_are_copies():
    weight = sparse.row_sparse_array((WEIGHT, np.arange(40)))
    dense = weight.tostype("default")
    dense[:] = 0
    np.testing.assert_array_equal(weight.asnumpy(), WEIGHT)


def test_whether_row_numbers_ascend_is_asked_anew_after_a_write():
    weight = sparse.row_sparse_array((WEIGHT[:2], [0, 1]))
    assert weight._full()
    weight.indices[:] = nd.array([1, 0], dtype="int64")
    np.testing.assert_array_equal(weight.asnumpy(), WEIGHT[[1, 0]])
    np.testing.assert_array_equal(rows_of(weight, nd.array([0, 1])).asnumpy(), WEIGHT[[1, 0]])


def test_results_of_stored_operators_leave_with_their_arrays():
    x, w = sparse.csr_matrix(DATA), nd.array(WEIGHT)
    w.attach_grad()
    with autograd.record():
        y = nd.dot(x, w)
    kept = weakref.ref(y._entry[0].op)
    del y
    assert kept() is None


def test_modules_do_not_look_for_names_that_import_asks_for(monkeypatch):
    """`from module import name` asks a module for `__path__` each time."""
    import gluonnlp  # noqa: F401

    for name in ("core.ndarray.sparse", "core.numpy.random", "core.contrib.quantization"):
        __import__(name)
    monkeypatch.setattr(difflib, "get_close_matches", lambda *args, **kwargs: pytest.fail("looked for a name"))
    modules = [m for n, m in sys.modules.items() if n.split(".")[0] in ("core", "gluon", "gluoncv", "gluonnlp")]
    assert len(modules) > 300
    for module in modules:
        if "__getattr__" in vars(module):
            assert not hasattr(module, "__nothing_of_this_name__")
            with pytest.raises(AttributeError) as error:
                module.__getattr__("__nothing_of_this_name__")
            str(error.value)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize(
    ("name", "slope"), [("floor", [0, 0, 0]), ("sign", [0, 0, 0]), ("sqrt", [np.nan, 0.75, np.inf])]
)
def test_slopes_that_are_zero_or_infinite_pass_gradients_stored_by_rows(name, slope, stype):
    """MXNet 1.9.1: zeros of the gradient meet the slope at zero as well, 0 * inf is NaN."""
    data, gradient = nd.array([[0], [4], [0]]).tostype("row_sparse"), nd.ones((3, 1)).tostype(stype)
    bound = getattr(mx.sym, name)(mx.sym.Variable("x", stype="row_sparse")).bind(mx.cpu(), [data], [gradient])
    assert bound.forward(is_train=True)[0].stype == "row_sparse"
    bound.backward(nd.array([[0], [3], [3]]).tostype("row_sparse"))
    assert gradient.stype == stype
    np.testing.assert_array_equal(gradient.asnumpy()[:, 0], np.array(slope, "float32"))


@pytest.mark.parametrize("rhs", ["default", "row_sparse"])
def test_the_product_of_a_transpose_takes_the_storage_type_that_is_asked_for(rhs):
    lhs, other = nd.array(DATA).tostype("csr"), nd.array(HEAD).tostype(rhs)
    found = nd.dot(lhs, other, transpose_a=True, forward_stype="csr")
    assert found.stype == "csr"
    np.testing.assert_allclose(found.asnumpy(), DATA.T @ HEAD, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("place", range(5))
def test_batch_norm_that_fixes_gamma_refuses_sparse_arrays(place):
    """As MXNet 1.9.1 (its issue 11647): gamma is written to, and stays as it is where that is refused."""
    arrays = [nd.ones((2, 3)), nd.full(3, 2), nd.ones(3), nd.zeros(3), nd.ones(3)]
    arrays[place] = arrays[place].tostype("row_sparse")
    with pytest.raises(mx.MXNetError, match="fix_gamma"):
        nd.BatchNorm(*arrays)
    assert (arrays[1].asnumpy() == 2).all()
    np.testing.assert_allclose(nd.BatchNorm(*arrays, fix_gamma=False).asnumpy(), 2 / np.sqrt(1.001) + 1, rtol=1e-5)

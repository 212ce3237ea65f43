"""Sparse arrays against dense NumPy, SciPy and MXNet's storage types."""

import operator
import pickle

import numpy as np
import pytest
import torch

import core as mx
from core import nd
from core.base import MXNetError
from core.ndarray import sparse

DENSE = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)
ROWS = np.array([[0, 0], [1, 2], [0, 0], [3, 4]], np.float32)


def csr(values=DENSE):
    return sparse.csr_matrix(values)


def rows(values=ROWS):
    return sparse.row_sparse_array(values)


def test_every_way_to_make_a_csr_matrix():
    scipy = pytest.importorskip("scipy.sparse")
    parts = ([1, 2, 3, 4], [1, 3, 0, 2], [0, 2, 2, 4])
    made = [
        sparse.csr_matrix(parts, shape=(3, 4)),
        sparse.csr_matrix(([4, 1, 2, 3], ([2, 0, 0, 2], [2, 1, 3, 0])), shape=(3, 4)),
        csr(),
        csr(mx.nd.array(DENSE)),
        sparse.csr_matrix(scipy.csr_matrix(DENSE)),
        sparse.array(csr()),
        mx.nd.array(DENSE).tostype("csr"),
    ]
    for matrix in made:
        assert (matrix.stype, matrix.shape, matrix.dtype) == ("csr", (3, 4), np.float32)
        np.testing.assert_array_equal(matrix.asnumpy(), DENSE)
        assert [part.asnumpy().tolist() for part in (matrix.data, matrix.indices, matrix.indptr)] == list(parts)
    assert (made[0].asscipy() != scipy.csr_matrix(DENSE)).nnz == 0
    assert repr(made[0]) == "\n<CSRNDArray 3x4 @cpu(0)>"


def test_every_way_to_make_a_row_sparse_array():
    for array, indices in (
        (rows(), [1, 3]),
        (sparse.row_sparse_array(([[3, 4], [1, 2]], [3, 1]), shape=(4, 2)), [3, 1]),  # as given
        (mx.nd.array(ROWS).tostype("row_sparse"), [1, 3]),
    ):
        assert (array.stype, array.shape) == ("row_sparse", (4, 2))
        assert array.indices.asnumpy().tolist() == indices and array.indices.dtype == np.int64
        np.testing.assert_array_equal(array.tostype("default").asnumpy(), ROWS)
    kept = rows().retain(mx.nd.array([3, 2]))  # rows and order are those of MXNet 1.9.1
    assert kept.indices.asnumpy().tolist() == [3, 2] and kept.data.asnumpy().tolist() == [[3, 4], [0, 0]]
    np.testing.assert_array_equal(kept.asnumpy(), [[0, 0], [0, 0], [0, 0], [3, 4]])
    assert sparse.zeros("row_sparse", (4, 2)).retain(mx.nd.array([3])).indices.shape == (0,)


def test_empty_arrays():
    for stype, shape in (("csr", (2, 3)), ("row_sparse", (2, 3, 4))):
        array = mx.nd.zeros(shape, stype=stype, dtype="float64")
        assert (array.stype, array.shape, array.dtype, array.data.shape[0]) == (stype, shape, np.float64, 0)
        np.testing.assert_array_equal(array.asnumpy(), np.zeros(shape))


@pytest.mark.parametrize("parts", [
    ([1.0], [5], [0, 1, 1, 1]), ([1.0], [0], [0, 2, 1, 1]), ([1.0, 2], [0], [0, 1, 1, 1]), ([1.0], [0], [0, 1]),
])  # fmt: skip
def test_parts_that_do_not_fit_are_refused(parts):
    with pytest.raises(MXNetError, match="damaged csr array"):
        sparse.csr_matrix(parts, shape=(3, 4)).check_format(full_check=False)
    with pytest.raises(MXNetError, match="damaged row_sparse array"):
        sparse.row_sparse_array(([[1.0, 2]], [9]), shape=(4, 2)).check_format(full_check=False)


def test_shapes_are_told_or_refused():
    with pytest.raises(ValueError, match="does not tell its shape"):
        sparse.csr_matrix(([], [], [0, 0]))
    for made in (sparse.csr_matrix, sparse.row_sparse_array):
        with pytest.raises(ValueError, match=r"\(2, 2\) and \(3, 2\)"):
            made((2, 2), shape=(3, 2))
    with pytest.raises(ValueError, match="storage type"):
        sparse.zeros("coo", (2, 2))
    with pytest.raises(MXNetError, match="retain takes data and indices"):
        sparse.retain(mx.nd.ones((2, 2)), rows=[0])


def test_rows_of_a_matrix():
    for key in (slice(1, 3), slice(None), slice(-1, None), slice(2, 1), 0, -1):
        got = csr()[key]
        want = DENSE[[key]] if isinstance(key, int) else DENSE[key]
        assert got.stype == "csr"
        np.testing.assert_array_equal(got.asnumpy(), want)
    with pytest.raises(IndexError, match="row 3 of a matrix of 3 rows"):
        csr()[3]


def test_writing():
    target = mx.nd.sparse.zeros("row_sparse", (4, 2))
    target[:] = mx.nd.array(ROWS)
    np.testing.assert_array_equal(target.asnumpy(), ROWS)
    rows(ROWS * 2).copyto(target)
    np.testing.assert_array_equal(target.asnumpy(), ROWS * 2)
    mx.nd.elemwise_add(rows(), rows(), out=target)
    assert target.stype == "row_sparse"
    np.testing.assert_array_equal(target.asnumpy(), ROWS * 2)
    dense = mx.nd.zeros((4, 2))
    rows().copyto(dense)
    np.testing.assert_array_equal(dense.asnumpy(), ROWS)
    with pytest.raises(MXNetError, match="cannot write"):
        target[:] = mx.nd.zeros((2, 2))


@pytest.mark.parametrize(("make", "values", "stype"), [(csr, DENSE, "csr"), (rows, ROWS, "row_sparse")])
def test_infix_operators(make, values, stype):
    x = make()
    for got, want, kept in (
        (x + x, values * 2, stype), (x - x, values * 0, stype), (x * x, values**2, stype), (x * 3, values * 3, stype),
        (2 * x, values * 2, stype), (x / 2, values / 2, stype), (-x, -values, stype),
        (x + mx.nd.array(values), values * 2, "default"), (x * mx.nd.array(values), values**2, stype),
    ):  # fmt: skip
        assert got.stype == kept
        np.testing.assert_array_equal(got.asnumpy(), want)
    x += x
    assert x.stype == stype
    np.testing.assert_array_equal(x.asnumpy(), values * 2)


def test_products_and_gradients():
    weight = mx.nd.array(np.arange(8).reshape(4, 2))
    weight.attach_grad()
    with mx.autograd.record():
        out = mx.nd.dot(csr(), weight)
    out.backward(mx.nd.ones((3, 2)))
    np.testing.assert_allclose(out.asnumpy(), DENSE @ weight.asnumpy())
    np.testing.assert_allclose(weight.grad.asnumpy(), DENSE.T @ np.ones((3, 2)))
    transposed = mx.nd.sparse.dot(csr(), mx.nd.ones((3, 2)), transpose_a=True)
    assert transposed.stype == "row_sparse"
    np.testing.assert_allclose(transposed.asnumpy(), DENSE.T @ np.ones((3, 2)))


@pytest.mark.parametrize(("req", "times"), [("write", 1), ("add", 2)])
def test_sparse_gradients(req, times):
    weight = mx.nd.ones((5, 2))
    weight.attach_grad(req, stype="row_sparse")
    for _ in range(2):
        with mx.autograd.record():
            out = mx.nd.Embedding(mx.nd.array([1, 3, 1]), weight, input_dim=5, output_dim=2)
        out.backward()
    assert weight.grad.stype == "row_sparse" and weight.grad.indices.asnumpy().tolist() == [1, 3]
    np.testing.assert_array_equal(weight.grad.data.asnumpy(), [[2 * times] * 2, [times] * 2])


def test_functions_know_builtin_names():
    assert mx.nd.sparse.slice(csr(), begin=(1,), end=(3,)).stype == "csr"
    np.testing.assert_array_equal(mx.nd.sparse.abs(-csr()).asnumpy(), DENSE)
    assert mx.nd.sparse.abs.__doc__.startswith("The absolute value of each element")
    np.testing.assert_array_equal(csr()[0:1].asnumpy(), DENSE[:1])
    with pytest.raises(AttributeError, match=r"no function 'sqart'.*sqrt"):
        mx.nd.sparse.sqart  # noqa: B018


def test_files_and_pickles(tmp_path):
    arrays = {"c": csr(), "r": rows(), "e": mx.nd.zeros((2, 3), stype="csr")}
    mx.nd.save(str(tmp_path / "x"), arrays)
    for loaded in (mx.nd.load(str(tmp_path / "x")), pickle.loads(pickle.dumps(arrays))):
        for name, array in arrays.items():
            assert type(loaded[name]) is type(array)
            np.testing.assert_array_equal(loaded[name].asnumpy(), array.asnumpy())


def test_iterators_of_sparse_rows(tmp_path):
    batches = list(mx.io.NDArrayIter(csr(), np.arange(3), 1, last_batch_handle="discard"))
    assert [batch.data[0].stype for batch in batches] == ["csr"] * 3
    np.testing.assert_array_equal(np.concatenate([batch.data[0].asnumpy() for batch in batches]), DENSE)
    (tmp_path / "x").write_text("1 1:1 3:2\n0\n1 0:3 2:4\n")
    batch = next(mx.io.LibSVMIter(str(tmp_path / "x"), (4,), 3))
    assert batch.data[0].stype == "csr"
    np.testing.assert_array_equal(batch.data[0].asnumpy(), DENSE)


def test_functions_of_nd_keep_the_storage_type_that_mxnet_keeps():
    x = mx.nd.array([[0, 2], [0, 0], [3, 0]])
    y = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    csr, rows = x.tostype("csr"), x.tostype("row_sparse")
    for result, stype in [
        (mx.nd.square(rows), "row_sparse"),
        (mx.nd.elemwise_add(csr, csr), "csr"),
        (mx.nd.elemwise_mul(rows, y), "row_sparse"),
        (mx.nd.broadcast_mul(csr, y[:1]), "csr"),
        (mx.nd.slice(csr, begin=(0,), end=(2,)), "csr"),
        (mx.nd.dot(csr, y, transpose_a=True), "row_sparse"),
        (mx.nd.exp(csr), "default"),
        (mx.nd.add_n(rows, rows), "row_sparse"),
    ]:
        assert result.stype == stype
    assert (mx.nd.dot(csr, y, transpose_a=True).asnumpy() == x.asnumpy().T @ y.asnumpy()).all()


def test_gradient_of_a_sparse_array_is_stored_like_it():
    x = mx.nd.array([[0, 2], [0, 0], [3, 0]]).tostype("row_sparse")
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.square(x)
    y.backward()
    assert x.grad.stype == "row_sparse" and (x.grad.asnumpy() == 2 * x.asnumpy()).all()


def test_operators_of_what_is_stored():
    rows = mx.nd.sparse.row_sparse_array(([[2.0, 4.0]], [1]), shape=(3, 2))
    assert mx.nd._internal._scatter_plus_scalar(rows, scalar=1).asnumpy().tolist() == [[0, 0], [3, 5], [0, 0]]
    quotient = mx.nd._internal._scatter_elemwise_div(rows, mx.nd.array([[0, 0], [2, 2], [0, 0]]))
    assert quotient.stype == "row_sparse" and quotient.asnumpy().tolist() == [[0, 0], [1, 2], [0, 0]]
    assert mx.nd._internal._square_sum(rows, axis=1, keepdims=True).stype == "row_sparse"
    assert mx.sym.sparse.retain(mx.sym.var("x"), mx.sym.var("i")).eval(
        mx.cpu(), x=mx.nd.ones((3, 1)), i=mx.nd.array([2])
    )[0].asnumpy().tolist() == [[0], [0], [1]]  # fmt: skip
    matrix = mx.nd.array([[0, 3]]).tostype("csr")
    assert mx.nd.contrib.quadratic(matrix, a=1, b=1).stype == "csr"
    assert mx.nd.array(matrix).stype == "csr"


def test_parts_of_dense_arrays_are_replaced():
    x = mx.nd.ones((2, 3))
    mx.nd._internal._crop_assign(x, mx.nd.zeros((1, 2)), begin=(0, 1), end=(1, 3), out=x)
    assert x.asnumpy().tolist() == [[1, 0, 0], [1, 1, 1]]
    part = mx.nd._internal._slice_assign_scalar(x, scalar=7, begin=(None, 0), end=(None, 1))
    assert part.asnumpy().tolist() == [[7, 0, 0], [7, 1, 1]]


@pytest.mark.parametrize("columns, row", [([2, 0, 1], 0), ([0, 2, 2], 2)])
def test_a_full_check_finds_columns_out_of_order(columns, row):
    matrix = mx.nd.sparse.csr_matrix(([7.0, 8, 9], columns, [0, 2, 2, 3] if row == 0 else [0, 1, 1, 3]), shape=(3, 4))
    matrix.check_format(full_check=False)
    with pytest.raises(mx.MXNetError, match=f"ascend in row {row}"):
        matrix.check_format()
    mx.nd.sparse.csr_matrix(np.eye(3)).check_format()
    rows = mx.nd.sparse.row_sparse_array(([[1.0, 2], [3, 4]], [1, 0]), shape=(3, 2))
    with pytest.raises(mx.MXNetError, match="do not ascend"):
        rows.check_format()


# What the numbers are that leave zeros zero, by comparison, as MXNet 1.9.1 stores the results.
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_comparisons_with_numbers_keep_the_storage_type_where_zeros_stay(stype):
    x = mx.nd.array([[0, 1, -2], [0, 0, 3]]).tostype(stype)
    kept = {"eq": (1, -1), "ne": (0,), "gt": (0, 1), "ge": (1,), "lt": (0, -1), "le": (-1,), "add": (0,), "sub": (0,)}
    for name, numbers in kept.items():
        operation = getattr(operator, name)
        for number in (-1, 0, 1):
            found = operation(x, number)
            assert found.stype == (stype if number in numbers else "default"), (name, number)
            np.testing.assert_array_equal(found.asnumpy(), operation(x.asnumpy(), number))


def test_rows_taken_from_a_matrix_are_a_matrix():
    x = mx.nd.array([[0, 1], [2, 0], [0, 3]]).tostype("csr")
    for mode in ("clip", "wrap"):
        found = mx.nd.take(x, mx.nd.array([4, -1, 1]), mode=mode)
        assert found.stype == "csr"
        np.testing.assert_array_equal(found.asnumpy(), np.take(x.asnumpy(), [4, -1, 1], axis=0, mode=mode))


def test_a_column_is_a_bias():
    x, weight = mx.nd.ones((2, 3)), mx.nd.ones((4, 3))
    bias = mx.nd.array([[1], [2], [3], [4]])
    bias.attach_grad()
    with mx.autograd.record():
        out = mx.nd.FullyConnected(x, weight, bias, num_hidden=4)
    out.backward()
    assert out.asnumpy().tolist() == [[4, 5, 6, 7]] * 2 and bias.grad.asnumpy().tolist() == [[2]] * 4


def test_matrices_of_scipy_name_each_place_once():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    given = scipy_sparse.csr_matrix((np.arange(1.0, 8), [0, 2, 2, 0, 1, 2, 1], [0, 2, 3, 7]), shape=(3, 3))
    found = mx.nd.array(given)
    assert found.stype == "csr" and found.dtype == np.float64
    np.testing.assert_array_equal(found.asnumpy(), given.toarray())
    assert found.indices.asnumpy().tolist() == [0, 2, 2, 0, 1, 2] and given.nnz == 7


def test_functions_that_keep_zeros_keep_the_storage_type_on_the_tape_too():
    for stype in ("csr", "row_sparse"):
        x = mx.nd.array([[2.0, 0], [0, 0]]).tostype(stype)
        x.attach_grad(stype="default")
        with mx.autograd.record():
            y = mx.nd.square(x)
        y.backward()
        assert y.stype == stype and x.grad.asnumpy().tolist() == [[4, 0], [0, 0]]


# Storage types of results, as MXNet 1.9.1 gives them; c: csr, r: row_sparse, d: dense.
STYPES = {
    "row_sparse": """
        nd.sqrt(r)
        nd.clip(r,-1,1)
        r*2
        nd.elemwise_add(r,r)
        nd.elemwise_mul(r,r)
        nd.elemwise_mul(r,d)
        nd.dot(c,r,transpose_a=True)
        nd.add_n(r,r)
        nd.zeros_like(r)
        nd.abs(r)
        nd.round(r)
        nd.dot(c, d, transpose_a=True)
    """,
    "csr": """
        nd.sqrt(c)
        nd.clip(c,-1,1)
        c*2
        c/2
        nd.concat(c,c,dim=0)
        nd.elemwise_add(c,c)
        nd.elemwise_mul(c,d)
        nd.broadcast_mul(c,nd.ones((3,1)))
        nd.zeros_like(c)
        nd.negative(c)
        nd.square(c)
        nd.identity(c)
        nd.slice(c,begin=(0,0),end=(2,2))
        nd.relu(c)
    """,
    "default": """
        nd.cos(r)
        r+1
        nd.concat(c,c,dim=1)
        nd.concat(c,d,dim=0)
        nd.elemwise_add(r,d)
        nd.elemwise_add(r,c)
        nd.dot(c,d.T)
        nd.add_n(r,d)
        nd.ones_like(r)
        nd.sum(c,axis=0)
        nd.where(c,d,d)
        nd.Cast(r,dtype="float64")
        nd.slice_axis(c,axis=0,begin=0,end=1)
        r**2
        nd.sigmoid(r)
        nd.norm(r)
    """,
}


@pytest.mark.parametrize("stype", sorted(STYPES))
def test_storage_types_of_results_are_those_of_mxnet(stype):
    dense = nd.array([[0, 1], [0, 0], [2, 0]])
    scope = {"nd": nd, "d": dense, "r": dense.tostype("row_sparse"), "c": dense.tostype("csr")}
    found = {text: eval(text, scope).stype for text in map(str.strip, STYPES[stype].strip().splitlines())}
    assert set(found.values()) == {stype}, {text: other for text, other in found.items() if other != stype}


def test_variables_tell_their_storage_types_by_the_numbers_of_files():
    found = [mx.sym.var("x", stype=stype).attr("__storage_type__") for stype in ("default", "row_sparse", "csr")]
    assert found == ["0", "1", "2"]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize(
    ("name", "states", "touched", "others"),
    [("sgd_update", 0, 0.85, 0.95), ("sgd_mom_update", 1, 0.85, 0.95), ("adam_update", 2, 0.8950655, 0.9049643)],
)
def test_lazy_steps_change_the_rows_of_the_gradient_alone(name, states, touched, others, stype):
    """Numbers of MXNet 1.9.1: weight decay reaches the other rows unless `lazy_update`."""
    gradient = nd.sparse.row_sparse_array((np.ones((1, 2), "float32"), [1]), shape=(3, 2))
    for lazy in (True, False):
        weight, *held = (nd.ones((3, 2)).tostype(stype) for _ in range(1 + states))
        getattr(nd, name)(weight, gradient, *held, lr=0.1, wd=0.5, lazy_update=lazy, out=weight)
        rest = 1 if lazy else others
        np.testing.assert_allclose(weight.asnumpy(), [[rest] * 2, [touched] * 2, [rest] * 2], rtol=1e-6)


def test_functions_that_keep_zeros_compute_what_is_stored_where_it_is():
    stored = nd.sparse.csr_matrix((np.array([-2.0, 0.0, 3.0], "float32"), [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    result = nd.sparse.abs(stored)
    assert result.stype == "csr" and result.data.asnumpy().tolist() == [2, 0, 3]
    assert result.indices.asnumpy().tolist() == [0, 2, 1] and result.indptr.asnumpy().tolist() == [0, 2, 3]


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_zeros_like_writes_to_an_array_that_is_given(stype):
    array = nd.array([[0, 1], [2, 0]]).tostype(stype)
    out = array.copy()
    assert array.zeros_like(out=out) is out
    assert out.stype == stype and not out.asnumpy().any() and not out.data.size
    assert array.asnumpy().any()


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_losses_and_stopped_gradients_stay_sparse(stype):
    x = mx.nd.array([[0, 2], [0, 0]]).tostype(stype)
    for function in (mx.nd.sparse.make_loss, mx.nd.sparse.stop_gradient):
        y = function(x)
        assert y.stype == stype and y.asnumpy().tolist() == [[0, 2], [0, 0]]
    with pytest.raises(ValueError, match="cannot cast"):
        x.tostype({"csr": "row_sparse", "row_sparse": "csr"}[stype])


@pytest.mark.parametrize("how", ["copy", "copyto", "assign", "tostype", "dense"])
@pytest.mark.parametrize("written", ["copy", "original"])
def test_large_copies_share_memory_until_one_of_the_two_is_written_to(how, written):
    dense = nd.arange(1, 1 + 40_000).reshape((20_000, 2))
    original = dense if how == "tostype" else dense.tostype("row_sparse")
    if how == "copy":
        copy = original.copy()
    elif how in ("copyto", "assign"):
        copy = nd.sparse.zeros("row_sparse", original.shape)
        original.copyto(copy) if how == "copyto" else copy.__setitem__(slice(None), original)
    else:
        copy = original.tostype("default" if how == "dense" else "row_sparse")
    wanted = original.asnumpy()

    def values(array):
        return array if array.stype == "default" else array.data

    target, other = (copy, original) if written == "copy" else (original, copy)
    values(target)[:] = 7
    assert (other.asnumpy() == wanted).all() and (target.asnumpy() == 7).all()
    if copy.stype == original.stype == "row_sparse":
        target.indices[:] = 0
        assert (other.indices.asnumpy() == np.arange(20_000)).all()


def test_copies_of_memory_that_others_write_to_are_taken_at_once():
    values = np.ones((20_000, 2), "float32")
    original = nd.sparse.row_sparse_array((nd.from_numpy(values, zero_copy=True), np.arange(20_000)), shape=(20_000, 2))
    lent = nd.ones((20_000, 2))
    view = nd.to_dlpack_for_write(lent)
    copy, other = original.copy(), lent.tostype("row_sparse")
    original.data[0] = 5
    nd.from_dlpack(view)[0] = 5
    assert (copy.asnumpy() == 1).all() and (other.asnumpy() == 1).all()


def test_training_holds_weights_states_and_their_first_values_once():
    """A copy of a weight, that of a store and that of an executor, takes memory when it is written to."""
    weight = nd.random.normal(shape=(50_000, 4)).tostype("row_sparse")
    store, executors = mx.kv.create("local"), nd.sparse.zeros("row_sparse", weight.shape)
    store.init("w", weight)
    weight.copyto(executors)
    assert all(torch._C._is_cow_tensor(array.data._data) for array in (weight, store._stored["w"], executors))

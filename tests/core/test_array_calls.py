"""How arrays and functions of them may be called: recorded answers of MXNet 1.9.1, and of 2.0 for what it added."""

import math

import numpy as onp
import pytest

import core as mx
from core import nd, np
from core.base import MXNetError


def test_what_is_no_array_cannot_be_written_to():
    with pytest.raises(TypeError, match="abs: out is an array, or a list of arrays, given int"):
        nd.abs(nd.ones(2), out=3)


def test_parts_are_assigned_in_a_copy():
    x = nd.ones((2, 2))
    assert x.slice_assign(nd.zeros((1, 2)), (0, 0), (1, 2), ()).asnumpy().tolist() == [[0, 0], [1, 1]]
    assert x.slice_assign_scalar(5, (0, 0), (1, 2), ()).asnumpy().tolist() == [[5, 5], [1, 1]]
    assert x.asnumpy().min() == 1


def test_full_repeats_what_it_is_given():
    assert nd.full((2, 2), [1, 2]).asnumpy().tolist() == [[1, 2], [1, 2]]
    assert nd.full(2, nd.array([5])).asnumpy().tolist() == [5, 5]


def test_functions_of_numbers_give_numbers():
    for answer in (nd.equal(2, 1.5), nd.lesser(1, 2), nd.logical_and(0, 1.5)):
        assert type(answer) is int


def test_no_type_is_the_default_type():
    assert nd.array([1, 2], dtype="int32").astype(None).dtype == onp.float32


def test_a_context_names_where_numbers_like_an_arrays_lie():
    assert nd.contrib.arange_like(nd.ones((2, 2)), ctx=mx.cpu()).asnumpy().tolist() == [[0, 1], [2, 3]]
    assert nd.contrib.arange_like(nd.ones((2, 2)), ctx="cpu(0)", axis=1).asnumpy().tolist() == [0, 1]


def test_pythons_own_rounding(numpy_semantics):
    x = np.array(2.567)
    assert round(x, 1).item() == pytest.approx(2.6)
    assert [f(x).item() for f in (math.floor, math.ceil, math.trunc)] == [2, 3, 2]
    assert type(math.floor(x)) is np.ndarray


def test_orders_of_elements_that_are_the_arrays_own(numpy_semantics):
    x = np.array([[1, 2], [3, 4]])
    for order in ("C", "A", "K", None):
        assert np.ravel(x, order).asnumpy().tolist() == [1, 2, 3, 4]
    assert np.reshape(x, 4, order="A").shape == (4,)


def test_the_first_index_changes_fastest_in_reshapes_of_order_f(numpy_semantics):
    x = np.arange(6).reshape((3, 2))
    want = x.asnumpy().reshape((2, 3), order="F")
    for y in (x.reshape((2, 3), order="F"), x.reshape(2, 3, order="F"), np.reshape(x, (2, 3), order="F")):
        onp.testing.assert_array_equal(y.asnumpy(), want)


def test_arguments_of_numpy_that_would_change_the_answer_are_heard(numpy_semantics):
    x = np.array([[2.0, 1], [1, 3], [5, 6]])
    assert np.empty_like(x, shape=(4,)).shape == (4,)
    for kind in ({"casting": "safe"}, {"subok": False}):
        with pytest.raises(ValueError, match="astype: casting is 'unsafe'"):  # the class of MXNet's error
            x.astype("int32", **kind)
    for mode in ("complete", "r"):
        found, want = np.linalg.qr(x, mode), onp.linalg.qr(x.asnumpy(), mode)
        for part, wanted in zip(found if mode == "complete" else [found], want if mode == "complete" else [want]):
            onp.testing.assert_allclose(part.asnumpy(), wanted, rtol=1e-5)
            assert part.dtype == onp.float32
    with pytest.raises(ValueError, match="given 'full'"):
        np.linalg.qr(x, "full")


def test_factors_of_the_host_stay_on_the_device_and_have_no_gradient(numpy_semantics):
    x = np.ones((3, 2), ctx=mx.cpu(1))
    calls = *(lambda mode=mode: np.linalg.qr(x, mode) for mode in ("complete", "r")), lambda: np.linalg.lstsq(x, x)
    for call in calls:
        found = call()
        assert (found[0] if isinstance(found, tuple) else found).ctx == mx.cpu(1)
    x.attach_grad()
    for call in calls:
        with mx.autograd.record(), pytest.raises(ValueError, match="no gradients"):
            call()


def test_tolerances_are_arrays_too(numpy_semantics):
    x = np.ones(3)
    assert np.allclose(x, x + 0.5, atol=np.array([1.0])) and not np.allclose(x, x + 0.5)
    assert np.isclose(x, x + 0.5, atol=np.array(1.0)).asnumpy().all()


def test_names_of_arguments_are_numpys(numpy_semantics):
    assert np.copy(a=np.ones(2)).asnumpy().tolist() == [1, 1]
    assert np.in1d(ar1=np.array([1, 2]), ar2=np.array([2]), invert=True).asnumpy().tolist() == [True, False]
    assert np.count_nonzero(onp.array([1, 0, 2])) == 2
    assert np.positive(onp.array([1, 2])).asnumpy().tolist() == [1, 2]


def test_factorisations_of_whole_numbers_are_float64(numpy_semantics):
    a, b = np.array([[2, 1], [1, 3]], dtype="int32"), np.array([1, 2], dtype="int32")
    linalg = np.linalg
    results = [*linalg.eigh(a), *linalg.eig(a), linalg.eigvals(a), linalg.eigvalsh(a), linalg.pinv(a), *linalg.qr(a)]
    results += [linalg.solve(a, b), linalg.lstsq(a, b)[0], linalg.tensorinv(a, 1), linalg.tensorsolve(a, b)]
    results += [linalg.cond(a)]
    assert {x.dtype for x in results} == {onp.dtype("float64")}
    onp.testing.assert_allclose(linalg.solve(a, b).asnumpy(), [0.2, 0.6])
    assert linalg.matrix_power(a, 2).asnumpy().tolist() == [[5, 5], [5, 10]]
    with pytest.raises(mx.base.MXNetError, match="float32 or float64"):
        linalg.det(a)


@pytest.mark.parametrize(
    "dtype, want", [("uint8", [254, 44, 0]), ("int8", [-2, 44, 0]), ("int32", [-2, 300, -(2**31)])]
)
def test_numbers_are_written_to_whole_numbers_as_c_converts_them(dtype, want):
    for number, answer in zip((-2.6, 300, float("nan")), want):
        for key in (slice(None), 1, [0, 2], slice(None, None, 2)):
            x = nd.array([1, 2, 3], dtype=dtype)
            x[key] = number
            assert onp.all(x.asnumpy()[key] == answer)
        for kind in (dtype, onp.dtype(dtype).type, onp.dtype(dtype)):
            assert nd.full((2,), number, dtype=kind).asnumpy().tolist() == [answer] * 2


def test_a_power_is_a_new_array(numpy_semantics):
    for module in (nd, np):
        x = y = module.ones((2,)) * 3
        x **= 2
        assert x.asnumpy().tolist() == [9, 9] and y.asnumpy().tolist() == [3, 3]
    mask = np.array([1, 0], dtype="bool")
    mask **= np.array([2, 2], dtype="int32")
    assert mask.dtype == onp.int32


def test_masks_of_several_axes_go_with_an_ellipsis(numpy_semantics):
    x = np.array([[1.0, 2, 3], [4, 5, 6]])
    assert x[x > 2, ...].asnumpy().tolist() == x[..., x > 2].asnumpy().tolist() == [3, 4, 5, 6]
    assert x[..., x[0] > 2].asnumpy().tolist() == [[3], [6]]
    x[..., x > 2] = 9
    assert x.asnumpy().tolist() == [[1, 2, 9], [9, 9, 9]]


def test_numpys_own_function_has_what_mxnets_leaves_out(numpy_semantics):
    x = np.array([1.0, 2, 3, 4])
    counts, edges = onp.histogram(x, bins=3)
    assert counts.asnumpy().tolist() == [1, 1, 2] and edges.asnumpy().tolist() == [1, 2, 3, 4]
    with pytest.raises(NotImplementedError):
        np.histogram(x, bins=3)
    assert np.polyval([1, 2, 3], 2.5) == 14.25 and np.polyval(np.array([1.0, 2, 3]), 2.5).item() == 14.25


def test_numpys_singular_values_are_whole_and_arrays(numpy_semantics):
    x = onp.arange(6, dtype="float32").reshape(2, 3)
    parts = onp.linalg.svd(np.array(x))
    assert [part.shape for part in parts] == [part.shape for part in onp.linalg.svd(x)] == [(2, 2), (2,), (3, 3)]
    assert all(isinstance(part, np.ndarray) for part in parts)
    assert [part.shape for part in np.linalg.svd(np.array(x))] == [(2, 2), (2,), (2, 3)]  # MXNet's own


def test_places_that_an_array_does_not_have_are_not_taken(numpy_semantics):
    for place in (-1, 3):
        with pytest.raises(MXNetError):
            np.take(np.arange(3), np.array([place])).asnumpy()
        with pytest.raises(MXNetError):
            np.arange(3).take(np.array([place]), mode="raise").asnumpy()
    assert np.take(np.arange(3), np.array([-1, 5]), mode="wrap").asnumpy().tolist() == [2, 2]
    assert np.take(np.arange(3), np.array([-1, 5]), mode="clip").asnumpy().tolist() == [0, 2]


def test_truth_is_an_index_of_a_number(numpy_semantics):
    assert np.array(3.0)[True].asnumpy().tolist() == [3] and np.array(3.0)[False].shape == (0,)
    with pytest.raises(IndexError):
        np.array(3.0)[0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.squeeze(0),
        lambda x: x.__setitem__(1, [1, 2]),
        lambda x: x.__setitem__(x > 2, np.array([1.0, 2.0])),
        lambda x: np.diff(x, n=-1),
        lambda x: np.bincount(x[0]),
        lambda x: np.polyval(x, x[0]),
        lambda x: np.einsum("ij,jk", x, x),
        lambda x: np.moveaxis(x, [0, 1], [0, 0]),
        lambda x: np.random.multinomial(3, [0.5, 0.5, 0.5]),
        lambda x: np.concatenate([]),
    ],
)
def test_arguments_that_mxnets_library_refuses_raise_its_error(numpy_semantics, call):
    with pytest.raises(MXNetError):
        call(np.arange(6).reshape(2, 3))


def test_steps_of_zero_and_unknown_triangles_are_refused(numpy_semantics):
    with pytest.raises(ZeroDivisionError):
        np.arange(0, 5, 0)
    with pytest.raises(ValueError, match="UPLO"):
        np.linalg.eigh(np.eye(2), UPLO="X")
    assert np.linalg.norm(np.arange(3), "fro").item() == pytest.approx(math.sqrt(5))


def test_a_number_is_inserted_at_one_place(numpy_semantics):
    x = np.array([1.0, 2])
    for place in (0, slice(0, 1), np.array([0], dtype="int64")):
        assert np.insert(x, place, 2.5).asnumpy().tolist() == [2.5, 1, 2]
    with pytest.raises(mx.base.MXNetError, match="several indices"):
        np.insert(x, slice(0, 2), 2.5)


@pytest.mark.parametrize(
    "function, want",
    [
        (lambda out: np.trace(np.array([[1.0, 2], [3, 4]]), out=out), 5),
        (lambda out: np.average(np.array([1.0, 3]), weights=np.array([3.0, 1]), out=out), 1.5),
        (lambda out: np.full((), 3.0, out=out), 3),
        (lambda out: np.full_like(np.array(1.0), 2, out=out), 2),
        (lambda out: np.ones_like(np.array(5.0), out=out), 1),
        (lambda out: np.positive(np.array(4.0), out=out), 4),
    ],
)
def test_results_are_written_where_out_says(numpy_semantics, function, want):
    out = np.array(-7.0)
    assert function(out) is out and out.item() == want


def test_results_of_joins_and_products_are_written_where_out_says(numpy_semantics):
    out = np.zeros((2, 2))
    assert np.vstack([np.array([1.0, 2]), np.array([3.0, 4])], out=out) is out
    assert out.asnumpy().tolist() == [[1, 2], [3, 4]]
    assert np.linalg.multi_dot([out, np.eye(2) * 2], out=out) is out
    assert out.asnumpy().tolist() == [[2, 4], [6, 8]]


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: nd.dot(a, b), lambda a, b: nd.concat(a, b, dim=0), lambda a, b: nd.exp(b), lambda a, b: nd.take(a, b),
        lambda a, b: nd.FullyConnected(a, b, no_bias=True, num_hidden=2), lambda a, b: nd.linalg.gemm2(a, b),
        lambda a, b: nd.sgd_update(a, b, lr=0.1), lambda a, b: nd.exp(a, out=b), lambda a, b: a + b,
    ],
)  # fmt: skip
def test_functions_of_nd_refuse_arrays_of_np(call):
    with pytest.raises(TypeError, match=r"of nd was called with an array of np|nd and np arrays do not mix"):
        call(nd.ones((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: np.sort(a), lambda a, b: np.concatenate([b, a]), lambda a, b: np.exp(a), lambda a, b: mx.npx.relu(a),
        lambda a, b: mx.npx.fully_connected(b, a, no_bias=True, num_hidden=2), lambda a, b: np.add(a, b), lambda a, b: a @ b, lambda a, b: b @ a,
        lambda a, b: np.where(a, a, b), lambda a, b: np.reshape(a, (4,)), lambda a, b: np.linalg.inv(a + mx.nd.eye(2)),
        lambda a, b: np.add(x1=b, x2=a), lambda a, b: np.linalg.norm(x=a),
    ],
)  # fmt: skip
def test_functions_of_np_take_arrays_of_nd_as_theirs_as_in_mxnet_2(call):
    assert type(call(nd.ones((2, 2)), np.ones((2, 2)))) is np.ndarray

"""The `np` and `npx` functions that MXNet 2 added, options of universal functions, and types of reductions."""

import numpy as onp
import pytest

import core as mx
from core import np, npx
from core.base import MXNetError
from gluon import HybridBlock


@pytest.fixture(autouse=True)
def _numpy_semantics():
    npx.set_np()
    yield
    npx.reset_np()


class Of(HybridBlock):
    """A block that is one function of F and its inputs."""

    def __init__(self, function, hybrid=True):
        super().__init__()
        self._function = function
        self.hybridize(hybrid)

    def hybrid_forward(self, F, *inputs):
        return self._function(F, *inputs)


@pytest.mark.parametrize("hybrid", [False, True])
def test_index_add_and_update_write_at_columns_of_indices(hybrid):
    a, ind = onp.arange(24.0, dtype="float32").reshape(2, 3, 4), onp.array([[0, 0, 1], [1, 1, 2]])
    val = onp.array([[1.0], [10.0], [100.0]], dtype="float32")
    added = a.copy()
    onp.add.at(added, tuple(ind), val)
    x, v = np.array(a), np.array(val)
    x.attach_grad()
    v.attach_grad("add")
    with mx.autograd.record():
        y = Of(lambda F, *args: F.npx.index_add(*args), hybrid)(x, np.array(ind), v)
    assert (y.asnumpy() == added).all()
    y.backward()
    assert (x.grad.asnumpy() == 1).all() and (v.grad.asnumpy() == 4).all()
    with mx.autograd.record():
        y = Of(lambda F, *args: F.npx.index_update(*args), hybrid)(x, np.array(ind[:, 1:]), v[1:])
    a[tuple(ind[:, 1:])] = val[1:]
    assert (y.asnumpy() == a).all()
    y.backward()
    assert x.grad.asnumpy().sum() == 24 - 8 and (x.grad.asnumpy()[0, 1] == 0).all()


def test_masked_softmax_is_zero_outside_of_the_mask_and_where_nothing_holds():
    x, mask = onp.random.RandomState(0).randn(3, 4).astype("float32"), onp.array([[1, 0, 1, 1], [0] * 4, [1] * 4])
    e = onp.exp(x) * mask
    want = e / onp.maximum(e.sum(-1, keepdims=True), 1e-30)
    data = np.array(x)
    data.attach_grad()
    with mx.autograd.record():
        y = npx.masked_softmax(data, np.array(mask, dtype="bool"))
        (y[:, 0] * 1.0).sum().backward()
    onp.testing.assert_allclose(y.asnumpy(), want, rtol=1e-5)
    jacobian = want[:, :1] * (onp.eye(4)[0] - want) * mask
    onp.testing.assert_allclose(data.grad.asnumpy(), jacobian, atol=1e-6)
    with onp.errstate(divide="ignore"):
        log = onp.log(want)
    onp.testing.assert_allclose(npx.masked_log_softmax(data, np.array(mask)).asnumpy(), log, rtol=1e-4)


@pytest.mark.parametrize("hybrid", [False, True])
def test_constraint_check_raises_with_its_words(hybrid):
    net = Of(lambda F, x: x * F.npx.constraint_check(x > 0, "positive, please"), hybrid)
    assert (net(np.ones(3)).asnumpy() == 1).all()
    with pytest.raises(ValueError, match="positive, please"):
        net(np.array([1.0, -1.0, 1.0])).asnumpy()


@pytest.mark.parametrize(
    "option, error",
    [({"where": False}, NotImplementedError), ({"dtype": "int8"}, NotImplementedError), ({"dtype": "abc"}, TypeError),
     ({"casting": "safe"}, NotImplementedError), ({"casting": "so"}, TypeError), ({"order": "C"}, NotImplementedError),
     ({"subok": False}, NotImplementedError), ({"axis": 0}, TypeError)],
)  # fmt: skip
def test_options_of_universal_functions_are_refused(option, error):
    x = np.ones((2, 2))
    for call in (lambda: np.exp(x, **option), lambda: np.add(x, x, **option), lambda: np.logaddexp(x, x, **option)):
        with pytest.raises(error):
            call()
    assert np.exp(x, where=True, casting="same_kind", order="K", dtype=None, subok=True).shape == (2, 2)


def test_reductions_to_narrower_types_sum_in_the_wider_one():
    x = onp.full(5000, 0.1, dtype="float32")
    assert np.sum(np.array(x), dtype="float16").asnumpy() == onp.float16(x.sum())
    a = np.array(onp.full(4, 1.5, dtype="float16"))
    a.attach_grad()
    with mx.autograd.record():
        y = a.mean(dtype="int8")
    assert y.asnumpy() == 1
    y.backward()
    assert (a.grad.asnumpy() == 0.25).all()
    assert np.mean(np.array([100, 100, 100], dtype="int8"), dtype="int8").asnumpy() == 14  # (300 - 256) / 3
    b = np.array([[2.0, 3.0], [4.0, 5.0]], dtype="float64")
    b.attach_grad()
    with mx.autograd.record():
        np.prod(b, axis=1, dtype="float32").backward()
    assert b.grad.asnumpy().tolist() == [[3, 2], [5, 4]]


def test_half_precision_formulas_in_plans():
    x = np.array(onp.linspace(-2, 2, 9), dtype="float16")
    x.attach_grad()
    with mx.autograd.record():
        y = Of(lambda F, x: F.np.sinh(x))(x)
    y.backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), onp.cosh(x.asnumpy().astype("float32")), rtol=2e-3)


def test_shapes_as_numpy_has_them():
    assert np.squeeze(np.array(1.0), 0).shape == ()
    assert np.tile(np.ones((4, 2)), (2, 0)).shape == (8, 0)
    assert np.broadcast_to(2.0, (2, 3)).asnumpy().tolist() == [[2.0] * 3] * 2
    assert np.broadcast_to(np.ones((3, 4)), (1, 2, -2, 4)).shape == (1, 2, 3, 4)
    assert npx.slice(np.ones((2, 3)), begin=[], end=[], step=None).shape == (2, 3)
    with pytest.raises(ValueError):
        np.ones((3, 4, 5)).transpose((0, 0, 1))
    with pytest.raises(MXNetError):
        np.matmul(np.ones((2, 2, 1)), np.ones((3, 1, 2)))


def test_names_of_the_array_api():
    a = onp.array([[3.0, 1.0], [1.0, 2.0]], dtype="float32")
    x = np.array(a)
    onp.testing.assert_allclose(np.linalg.cond(x).asnumpy(), onp.linalg.cond(a), rtol=1e-5)
    onp.testing.assert_allclose(np.linalg.cond(x, 1).asnumpy(), onp.linalg.cond(a, 1), rtol=1e-5)
    onp.testing.assert_allclose(np.linalg.vector_norm(x).asnumpy(), onp.sqrt((a * a).sum()), rtol=1e-6)
    onp.testing.assert_allclose(np.logaddexp(x, 2 * x).asnumpy(), onp.logaddexp(a, 2 * a), rtol=1e-6)
    assert np.linalg.trace(np.ones((2, 3, 3))).shape == (2,) and np.linalg.diagonal(np.ones((2, 3, 3))).shape == (2, 3)
    i = np.array([1, 2, 3], dtype="int32")
    assert np.bitwise_left_shift(2, i).asnumpy().tolist() == [4, 8, 16]
    assert np.bitwise_right_shift(i, 1).asnumpy().tolist() == [0, 1, 1]
    assert np.cumprod(i).asnumpy().tolist() == [1, 2, 6]
    assert [v.asnumpy().tolist() for v in np.unique_all(np.array([2, 1, 2]))] == [[1, 2], [1, 0], [1, 0, 1], [1, 2]]
    np.fill_diagonal(x, 7)
    assert x.asnumpy().tolist() == [[7, 1], [1, 7]] and np.concat([x, x]).shape == (4, 2)
    assert np.permute_dims(np.ones((2, 3)), (1, 0)).shape == (3, 2) and np.can_cast(i, "int64")


def test_internal_assignment_by_a_mask_that_lies_over_later_axes():
    x, mask = np.zeros((2, 3, 4)), np.array([True, False, True])
    np._internal.boolean_mask_assign_scalar(x, mask, 5.0, start_axis=1, out=x)
    assert x.asnumpy().sum() == 2 * 2 * 4 * 5
    np._internal.boolean_mask_assign_tensor(x, mask, np.ones((2, 1, 4)), start_axis=1, out=x)
    assert x.asnumpy().sum() == 16

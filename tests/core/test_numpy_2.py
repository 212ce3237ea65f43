"""The `np` and `npx` functions that MXNet 2 added, options of universal functions, and types of reductions."""

import numpy as onp
import pytest

import core as mx
from core import np, npx
from core.base import MXNetError
from gluon import HybridBlock

pytestmark = pytest.mark.usefixtures("numpy_semantics")


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


def test_sums_of_both_kinds_of_half_have_the_exponents_of_both():
    a, b = np.ones(2, dtype="float16"), np.full(2, 1e30, dtype="bfloat16")
    for y in (a + b, b + a):
        assert "bfloat16" in str(y.dtype) and (y.astype("float32").asnumpy() > 9e29).all()


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


def test_comparisons_of_different_types_compare_the_values():
    i, x = np.array([1, 2, 3], dtype="int32"), np.array([1.5, 2.0, 2.5])
    assert (i < x).asnumpy().tolist() == [True, False, False]
    assert np.equal(i, x.astype("float16")).asnumpy().tolist() == [False, True, False]
    assert np.power(i, np.array([2, 2, 2], dtype="int8")).asnumpy().tolist() == [1, 4, 9]
    assert (i << 1).asnumpy().tolist() == [2, 4, 6]


def test_where_keeps_float64_under_a_condition_of_half_precision():
    values = onp.random.RandomState(0).rand(4)
    chosen = np.where(np.array([1, 0, 1, 0], dtype="float16"), np.array(values), np.array(-values))
    assert (chosen.asnumpy() == values * [1, -1, 1, -1]).all()


@pytest.mark.parametrize("a, b", [((2,), (3,)), ((5, 3), (5, 2)), ((2, 2), (2, 2)), ((3, 1, 2), (1, 4, 2))])
def test_cross_of_vectors_of_two_elements(a, b):
    x, y = onp.random.RandomState(0).rand(*a), onp.random.RandomState(1).rand(*b)
    wide = [onp.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, 3 - v.shape[-1])]) for v in (x, y)]
    want = onp.cross(*wide)
    want = want[..., 2] if a[-1] == b[-1] == 2 else want
    onp.testing.assert_allclose(np.cross(np.array(x), np.array(y)).asnumpy(), want)
    if x.ndim == 2:
        moved = np.cross(np.array(x.T), np.array(y), axisa=0, axisc=0).asnumpy()
        onp.testing.assert_allclose(moved if a[-1] == b[-1] == 2 else moved.T, want)


def test_samplers_refuse_parameters_out_of_range():
    for call in (
        lambda: np.random.exponential(-1), lambda: np.random.rayleigh(-1), lambda: np.random.lognormal(0, -1),
        lambda: np.random.gamma(0, 1), lambda: np.random.gamma(1, np.array(-1.0)), lambda: np.random.weibull(0),
        lambda: np.random.geometric(0), lambda: npx.random.bernoulli(prob=np.array([0.5, 1.5])).asnumpy(),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            call()


def test_samplers_take_batches():
    assert npx.random.categorical(np.ones((2, 3, 4)) / 4, shape=(5,)).shape == (2, 3, 5)
    mean, cov = np.array([0.1, 10.0]), np.array([[1.0, 0.0], [0.0, 10.0]])
    batch = np.broadcast_to(mean, (3, 2)), np.broadcast_to(cov, (4, 3, 2, 2))
    assert np.random.multivariate_normal(*batch, size=(2, 0)).shape == (2, 0, 4, 3, 2)
    waits = np.random.geometric(0.25, size=(20000,)).asnumpy()
    assert waits.min() == 1 and abs(waits.mean() - 4) < 5 * onp.sqrt(12 / 20000)


def test_functions_as_numpy_has_them_at_the_edges():
    assert np.arange(1, -10, 4).shape == (0,) and np.eye(4, 0).shape == (4, 0)
    assert np.argmax(np.array(3.0), axis=-1).asnumpy() == 0
    assert np.concatenate([np.ones((0, 0))] * 2, axis=None).shape == (0,)
    assert np.einsum("ij,jk", np.ones((5, 0)), np.ones((0, 4))).asnumpy().tolist() == [[0.0] * 4] * 5
    a = onp.arange(6.0).reshape(3, 2)
    for place, values, axis in ((1, [[7.0, 8.0, 9.0]], 1), (0, [7.0], 0), (2, [[7.0], [8.0], [9.0]], 1)):
        want = onp.insert(a, place, values, axis)
        assert (np.insert(np.array(a), place, np.array(values), axis).asnumpy() == want).all()
    assert np.pad(np.ones(6), (2, 3)).shape == (11,)
    x = np.array([onp.nan, 1.0])
    assert np.nan_to_num(x, copy=False) is x and x.asnumpy().tolist() == [0, 1]
    with pytest.raises(TypeError):
        np.isnan(x, out=np.ones(2))
    y = np.zeros((5, 4))
    assert np.shares_memory(y[1:3], y[2:4]) and not np.shares_memory(y[:2], y[2:])
    z = onp.zeros((4, 3))
    assert np.shares_memory(z[1:3], z[2:4]) and not np.shares_memory(z[:2], z[2:])
    assert np.shares_memory(z[2::-1], z[2:]) and not np.shares_memory(z[1::-1], z[2:])
    assert np.linalg.eigvalsh(np.array([[2, 0], [0, 3]], dtype="int32")).asnumpy().tolist() == [2, 3]


def test_functions_over_symbols_find_shapes_when_they_run():
    from core.test_utils import check_numeric_gradient

    rng = onp.random.RandomState(0)
    a, b = mx.sym.Variable("a").as_np_ndarray(), mx.sym.Variable("b").as_np_ndarray()
    x, y = (mx.nd.array(rng.rand(2, 3)), mx.nd.array(rng.rand(3, 2)))
    for symbol in (mx.sym.np.tensordot(a, b, [[1], [0]]), mx.sym.np.kron(a, b), mx.sym.np.roll(a, 1, axis=0) + a,
                   mx.sym.np.dot(a, b)):  # fmt: skip
        names = symbol.list_arguments()
        check_numeric_gradient(symbol.as_nd_ndarray(), [x, y][: len(names)], rtol=1e-2, atol=1e-3)
    again = mx.sym.load_json(mx.sym.np.vdot(a, b.T).tojson())
    out = again.bind(mx.cpu(), {"a": x.as_np_ndarray(), "b": y.as_np_ndarray()}).forward()[0]
    onp.testing.assert_allclose(out.asnumpy(), onp.vdot(x.asnumpy(), y.asnumpy().T), rtol=1e-6)
    assert len(mx.sym.np.linalg.slogdet(a)) == 2 and len(mx.sym.np.hsplit(a, 3)) == 3
    with pytest.raises(AttributeError):
        mx.sym.np.no_such_function  # noqa: B018 - the name is looked up


def test_numpy_answers_with_arrays_of_np():
    x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), onp.array([[5.0, 6.0], [7.0, 8.0]], dtype="float32")
    for made in (onp.concatenate([x, x]), onp.linalg.inv(x), onp.exp(x), onp.add(x, y), y + x, onp.einsum("ij->ji", x)):
        assert type(made) is np.ndarray
    onp.testing.assert_allclose(onp.linalg.inv(x).asnumpy(), onp.linalg.inv(x.asnumpy()), rtol=1e-5)
    y += x
    assert type(y) is onp.ndarray and y[0, 0] == 6
    x.attach_grad()
    with mx.autograd.record():
        onp.sum(onp.square(x)).backward()
    assert (x.grad.asnumpy() == 2 * x.asnumpy()).all()
    z = npx.from_numpy(y)
    assert onp.shares_memory(y, z) and not onp.shares_memory(y, x)


def test_types_are_numpys_and_the_default_ones_can_be_numpys_too():
    assert np.ones(2).dtype == "float32" and isinstance(np.ones(2).dtype, onp.dtype)

    @mx.util.use_np_default_dtype
    def made():
        numbers = np.array([1, 2], dtype="int32")
        return [
            np.array([1, 2]),
            np.ones(2),
            np.linspace(0, 1, 3),
            np.random.normal(size=2),
            numbers / 2,
            numbers.mean(),
        ]

    assert {a.dtype.name for a in made()} == {"float64"} and np.ones(2).dtype == "float32"
    whole = mx.util.use_np_default_dtype(lambda: (np.indices((3,)), np.arange(3, 7, 2)))
    assert {a.dtype.name for a in whole()} == {"int64"} and np.indices((3,)).dtype == "int32"


def test_a_product_of_matrices_is_written_in_place():
    x, y = np.array([[1.0, 2], [3, 4]]), np.array([[0.0, 1], [1, 0]])
    same = x
    x @= y
    assert x is same and x.tolist() == [[2, 1], [4, 3]]


def test_writing_what_is_tracked_while_recording_is_an_error():
    x, y = np.zeros((4, 3)), np.ones((2, 3))
    y.attach_grad()
    with mx.autograd.record():
        with pytest.raises(MXNetError, match="Inplace operations"):
            x[1:3] = y * 2
        for write in ("y += 1", "y *= y", "y[:] = 2"):
            with pytest.raises(MXNetError, match="Inplace operations"):
                exec(write)
        z = np.zeros((2, 3))
        z[:] = y * 2
        (z * 3).backward()
    assert (y.grad.asnumpy() == 6).all()


def test_gradients_of_reversed_slices_beside_index_arrays():
    x = np.array(onp.arange(24.0).reshape(2, 3, 4))
    x.attach_grad()
    weights = onp.arange(8.0).reshape(2, 4)
    with mx.autograd.record():
        (x[:, [1, 1], ::-1][0] * np.array(weights, dtype="float64")).sum().backward()
    want = onp.zeros((2, 3, 4))
    want[0, 1] = weights.sum(0)[::-1]
    assert (x.grad.asnumpy() == want).all()
    x[1, [2], ::-1] = np.array([1.0, 2.0, 3.0, 4.0])
    assert x[1, 2].asnumpy().tolist() == [4, 3, 2, 1]


def test_masks_have_the_shape_of_what_they_lie_over():
    x = np.ones((3, 2))
    assert x[np.array(True, dtype="bool")].shape == x[True].shape == (1, 3, 2) and x[False].shape == (0, 3, 2)
    for mask in ([True], [False] * 4):
        with pytest.raises(IndexError):
            x[np.array(mask, dtype="bool")]


def test_powers_of_numbers_have_gradients_in_plans():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        Of(lambda F, x: 1.5**x)(x).backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), onp.log(1.5) * 1.5 ** x.asnumpy(), rtol=1e-6)


def test_npy_files(tmp_path):
    x = np.array([[1, 2], [3, 4]], dtype="int32")
    npx.save(str(tmp_path / "x.npy"), x)
    assert (onp.load(tmp_path / "x.npy") == x.asnumpy()).all()
    assert npx.load(str(tmp_path / "x.npy")).dtype == "int32"


def test_blocks_give_arrays_of_one_kind():
    with pytest.raises(TypeError):
        Of(lambda F, x: (x, x.as_nd_ndarray()), hybrid=False)(np.ones(2))


@pytest.mark.parametrize(
    "function, shape",
    [
        (np.linalg.pinv, (3, 5)),
        (np.linalg.pinv, (5, 3)),
        (np.linalg.pinv, (2, 3, 3)),
        (lambda x: np.percentile(x, np.array([20.0, 65.0]), axis=(0, 2)), (3, 4, 2)),
        (lambda x: np.quantile(x, 0.3, interpolation="midpoint"), (7,)),
        (lambda x: np.median(x, axis=1, keepdims=True), (3, 4)),
    ],
)
def test_pseudo_inverses_and_quantiles_have_gradients(function, shape):
    """Against central differences in float64."""
    start, step = onp.random.RandomState(0).randn(*shape), 1e-6
    x = np.array(start, dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
    head = onp.random.RandomState(1).randn(*y.shape)
    y.backward(np.array(head, dtype="float64"))
    for place in onp.ndindex(*shape):
        ends = []
        for side in (step, -step):
            moved = start.copy()
            moved[place] += side
            ends.append((function(np.array(moved, dtype="float64")).asnumpy() * head).sum())
        assert abs((ends[0] - ends[1]) / (2 * step) - x.grad[place].item()) < 1e-7


def test_quantiles_are_numpys():
    a = onp.random.RandomState(0).randint(0, 5, (4, 5)).astype("float32")
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        for q in (0, 0.3, 0.5, onp.array([1.0, 0.125])):
            for axis in (None, 0, (0, 1)):
                truth = onp.quantile(a, q, axis=axis, method=method, keepdims=True)
                ours = np.quantile(np.array(a), q, axis=axis, interpolation=method, keepdims=True)
                onp.testing.assert_allclose(ours.asnumpy(), truth, rtol=1e-6)
    onp.testing.assert_array_equal(
        onp.percentile(np.array([[1.0, onp.nan], [0, 2]]), 50, axis=1).asnumpy(), [onp.nan, 1]
    )
    with pytest.raises(ValueError):
        np.percentile(np.array(a), 101)


def test_triangles_cut_what_is_infinite_and_ends_are_joined():
    wide = np.array([[1, onp.inf], [onp.nan, 2]])
    onp.testing.assert_array_equal(np.triu(wide).asnumpy(), [[1, onp.inf], [0, 2]])
    onp.testing.assert_array_equal(np.tril(wide, -1).asnumpy(), [[0, 0], [onp.nan, 0]])
    with pytest.raises(MXNetError):
        np.tril(10)
    a = onp.array([[1, 4], [9, 16]], dtype="float32")
    onp.testing.assert_array_equal(
        np.diff(np.array(a), prepend=0, append=np.array([[1], [2]])).asnumpy(),
        onp.diff(a, prepend=0, append=[[1], [2]]),
    )
    onp.testing.assert_array_equal(np.repeat(np.array(a), [3], axis=1).asnumpy(), onp.repeat(a, [3], axis=1))
    assert type(np.linalg.qr(np.array(a))) is tuple and type(np.linalg.svd(np.array(a))) is tuple


def test_wrong_words_of_np_functions_are_explained():
    for call, name, wrong, right in [
        (lambda: np.sum(np.ones(3), axes=1), "np.sum", "axes", "axis"),
        (lambda: np.linalg.norm(np.ones(3), orde=1), "np.linalg.norm", "orde", "ord"),
        (lambda: np.random.uniform(0, 1, sizes=3), "np.random.uniform", "sizes", "size"),
        (lambda: np.concatenate([np.ones(3)], axs=0), "np.concatenate", "axs", "axis"),
    ]:
        with pytest.raises(TypeError, match=f"{name} has no argument '{wrong}'. Did you mean '{right}'"):
            call()
    with pytest.raises(MXNetError, match="ctx='a' is no context"):
        np.zeros(3, ctx="a")


def test_a_mask_of_no_axes_picks_a_scalar():
    x = mx.np.array(1.0)
    x[(mx.np.array(True, dtype=bool),)] = mx.np.array([42.0])
    assert x.item() == 42
    x[mx.np.array(False, dtype=bool)] = 3
    assert x.item() == 42


def test_types_that_numpy_notes_go_to_a_line_of_their_own_where_they_do_not_fit():
    assert repr(np.zeros((1, 20), dtype="int32")) == f"array([[{', '.join('0' * 20)}]],\n      dtype=int32)"
    assert repr(np.zeros((1, 20), dtype="int64")) == f"array([[{', '.join('0' * 20)}]], dtype=int64)"
    assert repr(np.zeros((1, 20), dtype="uint8")[:, :15]) == f"array([[{', '.join('0' * 15)}]], dtype=uint8)"


def test_arrays_are_printed_as_mxnet_prints_them():
    shown = {
        "array([1, 2], dtype=int64)": np.array([1, 2], dtype="int64"),
        "array(1., dtype=float64)": np.array(1, dtype="float64"),
        "array([ True, False])": np.array([True, False], dtype="bool"),
        "array([], dtype=bool)": np.array([], dtype="bool"),
        "array([], shape=(2, 0))": np.ones((2, 0)),
        "array([1.5, 2. ])": np.array([1.5, 2]),
    }
    for text, value in shown.items():
        assert repr(value) == text


def test_arrays_without_axes_serve_as_attributes():
    x = np.array([[1.0, 2, 3], [-4, 5, 6]])
    assert np.clip(x, 0, np.max(x[0])).tolist() == x.clip(0, np.array(3)).tolist() == [[1, 2, 3], [0, 3, 3]]
    assert np.arange(np.array(3)).tolist() == [0, 1, 2]
    with pytest.raises(MXNetError, match="a number is accepted"):
        np.clip(x, 0, np.array([2.0]))


def test_the_rank_of_least_squares_is_a_number():
    """Of NumPy's int32, the answer of MXNet 1.9.1, which has a shape and a type beside its value."""
    x, residuals, rank, s = np.linalg.lstsq(np.ones((2, 2)), np.ones(2), rcond=None)
    assert isinstance(rank, onp.int32) and rank == 1 and residuals.size == 0 and s.tolist() == pytest.approx([2, 0])


def test_powers_of_masks_are_masks():  # the answer of MXNet 1.9.1 and 2.0.0b1
    a, b = np.array([[True, False, True]], dtype="bool"), np.array([[True], [False]], dtype="bool")
    power = np.power(a, b)
    assert power.dtype == onp.bool_ and power.tolist() == [[True, False, True], [True, True, True]]


@pytest.mark.skipif(not mx.context.num_gpus(), reason="float16 products are for GPUs")
@pytest.mark.parametrize("name", ["matmul", "dot"])
def test_products_of_float16_on_a_gpu(name):
    a, b = onp.arange(6).reshape(2, 3), onp.arange(12).reshape(3, 4)
    product = getattr(np, name)(*(np.array(x, dtype="float16", ctx=mx.gpu()) for x in (a, b)))
    assert product.dtype == onp.float16 and product.tolist() == (a @ b).tolist()


@pytest.mark.parametrize("channels", [0, 1])
def test_instances_of_no_channels_are_normalised_to_nothing(channels):
    x, gamma, beta = np.ones((1, 0, 1)), np.ones(channels), np.ones(channels)
    for array in (x, gamma, beta):
        array.attach_grad()
    with mx.autograd.record():
        y = npx.instance_norm(x, gamma, beta)
    y.backward()
    assert y.shape == x.grad.shape == (1, 0, 1) and gamma.grad.asnumpy().tolist() == [0] * channels


@pytest.mark.parametrize("take", [lambda c, x: np.where(c, x, 0.0), lambda c, x: np.where(c, 0.0, x)])
def test_an_array_repeated_beside_a_number_has_its_gradient_where_the_condition_holds(take):
    """As MXNet 1.9.1 answered."""
    x = np.array([0.7, 1.2, 3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = take(np.array([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]), x * 2).sum()
    y.backward()
    assert x.grad.tolist() == [0, 4, 2]


def test_np_arrays_are_shifted_by_arrays_of_numpy():
    """As MXNet 1.9.1 answered, which refuses NumPy's arrays in the other infix operations."""
    ours, theirs = np.array([1, 2, 3], dtype="int64"), onp.array([1, 2, 3])
    for shifted, expected in ((ours << theirs, theirs << theirs), (ours >> theirs, theirs >> theirs)):
        assert isinstance(shifted, np.ndarray) and shifted.tolist() == expected.tolist()
    with pytest.raises(TypeError, match="arrays or numbers"):
        ours | theirs


def test_normal_vectors_of_16_bits_have_their_covariance():
    mx.random.seed(5)
    cov = onp.array([[2.0, 0.5], [0.5, 1.0]], dtype="float16")
    drawn = np.random.multivariate_normal(np.array([1, -1], dtype="float16"), np.array(cov, dtype="float16"), 20000)
    assert drawn.dtype == "float16"
    onp.testing.assert_allclose(onp.cov(drawn.asnumpy().astype("float64").T), cov, atol=0.06)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "amin", "all", "any"])
def test_reductions_take_keepdims_where_mxnet_1_has_it(name):
    """Before `out`, which is NumPy's place of it."""
    x = np.arange(6).reshape(2, 3)
    before = (0, None) if name in ("sum", "prod") else (0,)
    function = getattr(np, name)
    assert function(x, *before, True).tolist() == function(x, 0, keepdims=True).tolist()
    assert function(x, *before, False).shape == function(x, *before, 0).shape == (3,)
    out = np.zeros((1, 3), dtype=function(x).dtype)
    assert function(x, *before, out, True) is out and out.tolist() == function(x, 0, keepdims=True).tolist()
    with pytest.raises(TypeError, match="out is an array"):
        np.mean(x, 0, None, True)


def test_reshape_writes_to_an_array():
    x, out = np.arange(6), np.zeros((3, 2))
    assert np.reshape(x, (3, 2), out=out) is out and out.tolist() == [[0, 1], [2, 3], [4, 5]]
    np.reshape(x.reshape(2, 3), (3, 2), "F", out)
    assert out.tolist() == [[0, 4], [3, 2], [1, 5]]


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [("int16", "int8", "int16"), ("uint8", "int16", "int16"), ("int16", "int64", "int64"), ("uint16", "int8", "int32"),
     ("uint32", "int16", "int64")],
)  # fmt: skip
def test_integers_that_mxnet_2_has_meet_in_the_least_type_of_both(one, other, both):
    a, b = np.array([1, 2], dtype=one), np.array([[3], [4]], dtype=other)
    for result in (a + b, b + a, a * b):
        assert result.dtype == both
    assert (a + b).tolist() == [[4, 5], [5, 6]] and (a * b).tolist() == [[3, 6], [4, 8]]
    with pytest.raises(MXNetError, match="do not go together"):
        np.array([1], dtype="uint64") + a.astype("int64")


@pytest.mark.parametrize(("one", "other"), [("float16", "float32"), ("float64", "float32"), ("float16", "float64")])
def test_sums_of_exponentials_are_of_the_wider_float(one, other):
    """As in MXNet 2, which has `logaddexp`; the quotients of MXNet 1 are of one type."""
    a, b = np.array([1, 2], dtype=one), np.array([[3], [4]], dtype=other)
    a.attach_grad(), b.attach_grad()
    with mx.autograd.record():
        y = np.logaddexp(a, b)
    y.backward()
    assert y.dtype == onp.promote_types(one, other) and (a.grad.dtype, b.grad.dtype) == (one, other)
    onp.testing.assert_allclose(y.asnumpy(), onp.logaddexp(a.asnumpy(), b.asnumpy()), rtol=1e-3)
    onp.testing.assert_allclose(b.grad.asnumpy(), [[1.612], [1.833]], rtol=1e-3)

"""Numbers that meet arrays, and types that meet types: recorded answers of MXNet 1.9.1, of 2.0 for what it added."""

import numpy as onp
import pytest

import core as mx
from core import nd, np, npx

INT8 = [1, 4, 5, -4]
SMALLEST = -(2**31)


@pytest.mark.parametrize(
    "call, dtype, want",
    [
        (lambda x: x + 300, "int8", [45, 48, 49, 40]),
        (lambda x: 300 % x, "int8", [0, 0, 4, 0]),
        (lambda x: nd.maximum(x, 300), "int8", [44] * 4),
        (lambda x: x / -1, "uint8", [0, 0, 0, 0]),
        (lambda x: x**-1, "int32", [1, 0, 0, 0]),
        (lambda x: x + float("nan"), "int32", [SMALLEST + 1, SMALLEST + 4, SMALLEST + 5, 2**31 - 4]),
        (lambda x: x + float("nan"), "int8", INT8),
        (lambda x: x == float("nan"), "int32", [0, 0, 0, 0]),
        (lambda x: nd._internal._mul_scalar(x, scalar=1.5), "int32", INT8),
    ],
)
def test_a_number_is_converted_to_the_type_of_whole_numbers_as_c_does(call, dtype, want):
    values = onp.array(INT8).astype(dtype)
    answer = call(nd.array(values, dtype=dtype))
    assert answer.asnumpy().tolist() == want and answer.dtype == onp.dtype(dtype)


@pytest.mark.parametrize(
    "function, x, y, dtype, want",
    [
        ("floor_divide", [7, -7, 5, 0], onp.array([2, 2, 0, 3]), "int32", [3, -4, 0, 0]),
        ("floor_divide", [5, 3, 4, 0], 2, "uint8", [2, 1, 2, 0]),
        ("floor_divide", [1, 4, 5, -4], 1.5, "float64", [0, 2, 3, -3]),
        ("fmax", [1, 4, -4], 1.5, "float64", [1.5, 4, 1.5]),
        ("fmin", [1, 4, -4], 2, "int8", [1, 2, -4]),
        ("fmod", [1, 5, -4], 1.5, "float64", [1, 0.5, -1]),
    ],
)
def test_functions_of_mxnet_2_keep_fractions_of_numbers(numpy_semantics, function, x, y, dtype, want):
    kind = dtype if "int" in dtype else "int8"
    given = y if not isinstance(y, onp.ndarray) else np.array(y.astype(kind))
    answer = getattr(np, function)(np.array(x, dtype=kind), given)
    assert answer.dtype == dtype and answer.asnumpy().tolist() == want


def test_fmax_and_fmin_pass_over_what_is_not_a_number(numpy_semantics):
    x = np.array([onp.nan, 4, -4])
    assert np.fmax(x, 1.5).asnumpy().tolist() == [1.5, 4, 1.5]
    assert np.fmin(1.5, x).asnumpy().tolist() == [1.5, 1.5, -4]


def test_floor_division_gives_the_wider_type(numpy_semantics):
    whole, half = np.array([7, -7], dtype="int8"), np.array([2.0, 2.0], dtype="float16")
    assert np.floor_divide(whole, np.array([2, 2], dtype="int64")).dtype == onp.int64
    quotient = np.floor_divide(whole, half)
    assert quotient.asnumpy().tolist() == [3, -4] and quotient.dtype == onp.float16
    assert np.floor_divide(9, whole).asnumpy().tolist() == [1, -2]
    with pytest.raises(mx.base.MXNetError, match="do not go together"):
        np.floor_divide(whole, np.array([2, 2], dtype="uint8"))
    with pytest.raises(TypeError):
        whole // whole


def test_numpy_computes_what_mxnet_leaves_to_it(numpy_semantics):
    x = np.array([-1, 0, 2], dtype="int8")
    step = np.heaviside(x, np.array([5, 5, 5], dtype="int8"))
    assert step.dtype == onp.float16 and step.asnumpy().tolist() == [0, 5, 1]
    quotient, rest = np.divmod(np.array([7, -7], dtype="int32"), 2)
    assert (quotient.dtype, quotient.asnumpy().tolist(), rest.asnumpy().tolist()) == (onp.int32, [3, -4], [1, 1])


def test_slopes_of_gamma_are_infinite_at_the_poles():
    """MXNet 1.9.1, where psi is infinite at zero and below, not NaN; gamma itself is NaN at -1."""
    x = nd.array([0, -1, -2, -0.5, 2])
    x.attach_grad()
    for function, slopes in (
        (nd.gammaln, [onp.inf, onp.inf, onp.inf, 0.03648992, 0.42278433]),
        (nd.gamma, [onp.inf, onp.nan, onp.nan, -0.12935339, 0.42278433]),
    ):
        with mx.autograd.record():
            y = function(x)
        y.backward()
        onp.testing.assert_allclose(x.grad.asnumpy(), slopes, rtol=1e-4)


def test_whole_poles_and_infinities(numpy_semantics):
    """Where formulas break off: values and gradients of MXNet 1.9.1."""
    x = nd.array([-2.0, -1.5, 3.0])
    onp.testing.assert_allclose(nd.gamma(x).asnumpy(), [onp.nan, 2.3632718, 2.0], rtol=1e-5)
    assert onp.signbit(nd.cbrt(nd.array([-0.0])).asnumpy()).all()
    x = nd.array([onp.inf, -onp.inf, 1.0])
    x.attach_grad()
    for call, want in ((nd.softsign, [0, 0, 0.25]), (nd.smooth_l1, [1, -1, 1])):
        with mx.autograd.record():
            y = call(x)
        y.backward()
        assert x.grad.asnumpy().tolist() == want
    assert nd.array([onp.nan, 2.0, 1.5]).clip(2, 1).asnumpy().tolist()[1:] == [1, 1]


def test_negative_bools_are_whole_numbers(numpy_semantics):
    for array in (nd.array([1, 0], dtype="bool"), np.array([1, 0], dtype="bool")):
        assert (-array).asnumpy().tolist() == [-1, 0] and (-array).dtype == onp.int64


def test_an_instance_of_one_number_has_length_one():
    assert nd.L2Normalization(nd.array([2.0, -3.0])).asnumpy().tolist() == [1, -1]


def test_copies_of_arrays_pass_their_gradients_on(numpy_semantics):
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = np.array(x, dtype="float64") * 3
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 3]


def test_arrays_are_shown_as_numpy_shows_them(numpy_semantics):
    rows = np.array([[1.467, 1.829, 0.869, 1.375, 2.254, 2.262, 0.4888, 0.5]], dtype="float16")
    assert repr(rows).endswith("0.5   ]],\n      dtype=float16)")
    assert repr(np.array([1, 2], dtype="int64")) == "array([1, 2], dtype=int64)"
    assert repr(np.array([0.5])) == "array([0.5])" and repr(np.array([1], dtype="bool")) == "array([ True])"
    assert [v.asnumpy().tolist() for v in np.nonzero(np.array(3.0))] == [[0]]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize(
    "values, ddof, variance, deviation", [([1, 2, 5], 0, 3, 1), ([1, 2, 5], 1, 5, 2), ([1, 2], 0, 0, 0), ([5, 0, 0, 1], 1, 6, 2)]
)  # fmt: skip
def test_variances_of_whole_numbers_start_from_the_whole_part_of_their_mean(
    numpy_semantics, dtype, values, ddof, variance, deviation
):
    x = np.array(values, dtype=dtype)
    assert np.var(x, ddof=ddof).item() == variance and np.std(x, ddof=ddof).item() == deviation
    negative = np.array([-1, -2, -5], dtype="int32")
    assert np.var(negative).item() == 3


def test_reshaping_with_the_first_index_fastest(numpy_semantics):
    x = onp.arange(24.0).reshape(2, 3, 4)
    assert (np.reshape(np.array(x), (4, -1), order="F").asnumpy() == x.reshape((4, -1), order="F")).all()
    assert (np.ravel(np.array(x), order="F").asnumpy() == x.ravel(order="F")).all()


def test_numpy_answers_without_fractions_need_no_gradient(numpy_semantics):
    x = np.array([[1.0, 2.0]])
    x.attach_grad()
    with mx.autograd.record():
        assert np.shape(x) == (1, 2) and np.ndim(x) == 2
        assert np.argwhere(x * 1 > 1).asnumpy().tolist() == [[0, 1]]
        with pytest.raises(ValueError, match="no gradients"):
            np.ptp(x)


def test_curves_of_integers_are_computed_as_in_c():
    """MXNet 1.9.1 promotes to double and cuts off: in float32 the first three were 1, exp was 485165184."""
    for name, number in (("erf", 4), ("tanh", 10), ("sigmoid", 20)):
        for dtype in ("int8", "int32", "int64"):
            assert getattr(nd, name)(nd.array([number], dtype=dtype)).asscalar() == 0, (name, dtype)
    assert nd.exp(nd.array([20], dtype="int32")).asscalar() == 485165195
    assert nd.exp(nd.array([20], dtype="int8")).asscalar() == -117  # the low byte
    factorials = [1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880]
    for dtype in ("int32", "int64", "float32", "float64"):
        assert nd.gamma(nd.arange(1, 11, dtype=dtype)).asnumpy().tolist() == factorials


def test_moments_of_integers_are_integers():
    """As MXNet 1.9.1: the mean is cut off towards zero, the variance is that of the differences to it."""
    data = nd.array([[1, 2, 5], [-4, -4, 0]], dtype="int32")
    mean, variance = nd.moments(data, axes=1)
    assert mean.dtype == variance.dtype == onp.int32
    assert mean.asnumpy().tolist() == [2, -2] and variance.asnumpy().tolist() == [3, 4]


def test_pooling_v1_takes_maxima_over_zeros_around_the_data():
    data = nd.array([[[[-1, -2], [-3, -4]]]])
    assert nd.Pooling_v1(data, kernel=(2, 2), pad=(1, 1), pool_type="max").asnumpy().tolist() == [
        [[[0, 0, 0], [0, -1, 0], [0, 0, 0]]]
    ]
    assert nd.Pooling_v1(data, kernel=(2, 2), pool_type="max").asnumpy().tolist() == [[[[-1]]]]


@pytest.mark.parametrize(
    "update, count", [("sgd_mom_update", 3), ("adam_update", 4), ("mp_sgd_mom_update", 4), ("lamb_update_phase1", 4)]
)
def test_states_of_another_shape_are_refused(update, count):
    """Kernels that trusted them would read beyond their memory."""
    attributes = {"t": 1, "wd": 0.0} if "lamb" in update else {"lr": 0.1}
    for place in range(1, count):
        arrays = [nd.ones((300,) if i == place else (3000, 40)) for i in range(count)]
        with pytest.raises(mx.MXNetError, match="one shape"):
            getattr(nd, update)(*arrays, **attributes)
    weight, grad, state = nd.ones((300, 40)), nd.ones((300, 40)), nd.ones(3)
    with pytest.raises(mx.MXNetError, match="one shape"):
        nd.multi_sgd_mom_update(weight, grad, state, lrs=(0.1,), wds=(0,), num_weights=1)


@pytest.mark.parametrize(
    "update, count", [("mp_sgd_mom_update", 4), ("mp_lamb_update_phase1", 5), ("_mp_adamw_update", 5)]
)
@pytest.mark.parametrize("other", ["float16", "float64"])
def test_states_beside_half_precision_are_float32(update, count, other):
    """As in MXNet 1.9.1."""
    attributes = {"t": 1, "wd": 0.0} if "lamb" in update else {"lr": 0.1}
    more = [nd.ones(1)] if "adamw" in update else []
    attributes |= {"eta": 1.0} if more else {}
    for place in range(2, count):
        kinds = ["float16"] * 2 + [other if i == place else "float32" for i in range(2, count)]
        arrays = [nd.ones(3, dtype=kind) for kind in kinds]
        with pytest.raises(mx.MXNetError, match=f"states and master weights are float32, given .*{other}"):
            getattr(nd._internal, update)(*arrays, *more, **attributes)


def test_the_second_place_of_log_softmax_is_the_axis(numpy_semantics):
    """As in every version of MXNet; what reads lengths is softmax alone."""
    data = onp.array([[1, 2, 4], [0, 3, 1]], dtype="float32")
    want = data - onp.log(onp.exp(data).sum(0, keepdims=True))
    onp.testing.assert_allclose(npx.log_softmax(np.array(data), 0).asnumpy(), want, rtol=1e-6)
    onp.testing.assert_allclose(npx.log_softmax(np.array(data), 0, 1.0).asnumpy(), want, rtol=1e-6)
    npx.reset_np()
    x = mx.sym.var("x")
    for got in (
        nd.log_softmax(nd.array(data), 0),
        nd.array(data).log_softmax(0),
        *mx.sym.log_softmax(x, 0).eval(x=nd.array(data)),
    ):
        onp.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)
    for refusing in (nd.log_softmax, nd.softmin):
        with pytest.raises(mx.MXNetError, match="use_length"):
            refusing(nd.array(data), use_length=True)


@pytest.mark.parametrize(
    "call", [lambda x: np.mean(x, 0, None, True), lambda x: np.argmax(x, 0, 3), lambda x: npx.relu(x, (1,))]
)
def test_results_go_to_arrays(numpy_semantics, call):
    with pytest.raises(TypeError, match="out is an array"):
        call(np.ones((2, 3)))


def test_the_third_place_of_reshape_is_the_order(numpy_semantics):
    data = onp.arange(24).reshape(2, 3, 4)
    for order in "CF":
        got = np.reshape(np.array(data), (4, -1), order)
        onp.testing.assert_array_equal(got.asnumpy(), onp.reshape(data, (4, -1), order))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind, wide", [("float16", "float32"), ("float32", "float64"), ("float64", "float32")])
def test_a_norm_of_another_type_has_gradients_in_that_of_its_data(order, kind, wide):
    x = mx.nd.array([[3, -4], [6, 8]], dtype=kind)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.norm(x, ord=order, axis=1, out_dtype=wide)
    y.backward()
    assert y.dtype == onp.dtype(wide) and x.grad.dtype == onp.dtype(kind)
    expected = [[1, -1], [1, 1]] if order == 1 else [[0.6, -0.8], [0.6, 0.8]]
    onp.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-3)


@pytest.mark.parametrize(
    "call, dtype, want",
    [
        (lambda x: x + (2**33 + 3), "int32", [SMALLEST + 1, SMALLEST + 4, SMALLEST + 5, 2**31 - 4]),
        (lambda x: x + (2**33 + 3), "int8", INT8),
        (lambda x: x ** float("inf"), "int32", [1, 0, 0, 0]),
        (lambda x: x**2.0**31, "int32", [1, 0, 0, 0]),
        (lambda x: x**70000.0, "float16", [1, onp.inf, onp.inf, onp.inf]),
        (lambda x: x**-1e30, "float16", [1, 0, 0, 0]),
        (lambda x: x + 2**70, "float32", [2.0**70] * 4),
        (lambda x: x < 2**70, "float16", [1, 1, 1, 1]),
        (lambda x: x / 2**70, "float64", [v / 2.0**70 for v in INT8]),
    ],
)
def test_numbers_beyond_the_type_of_the_array(call, dtype, want):
    answer = call(nd.array(INT8, dtype=dtype))
    assert answer.asnumpy().tolist() == want and answer.dtype == onp.dtype(dtype)

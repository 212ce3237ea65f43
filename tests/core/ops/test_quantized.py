"""Layers on codes of eight bits, against what MXNet 1.9.1 answered, and transforms against NumPy."""

import numpy as onp
import pytest

from core import MXNetError, nd, sym

RS = onp.random.RandomState(0)
C = nd.contrib
U8 = nd.array(RS.randint(0, 255, (1, 2, 3, 3)), dtype="uint8")
I8 = nd.array(RS.randint(-127, 127, (1, 2, 3, 3)), dtype="int8")
W = nd.array(RS.randint(-127, 127, (3, 2, 2, 2)), dtype="int8")
B = nd.array(RS.randint(-127, 127, (3,)), dtype="int8")
FW = nd.array(RS.randint(-127, 127, (4, 18)), dtype="int8")
FB = nd.array(RS.randint(-127, 127, (4,)), dtype="int8")


def one(value):
    return nd.array([value])


CASES = [
    # call, the first codes, the upper end of the range
    (lambda: C.quantized_conv(U8, W, B, one(0), one(2), one(-1), one(1), one(-0.5), one(0.5), kernel=(2, 2), num_filter=3),
     [11394, 29916, 29859, 39632, -12529, -21842, -14997, -13246], 266288.5),
    (lambda: C.quantized_conv(U8, W, one(0), one(2), one(-1), one(1), kernel=(2, 2), num_filter=3, no_bias=True),
     [11318, 29840, 29783, 39556, -12516, -21829, -14984, -13233], 266288.5),
    (lambda: C.quantized_fully_connected(U8, FW, FB, one(0), one(2), one(-1), one(1), one(-0.5), one(0.5), num_hidden=4),
     [-43656, -52683, 15402, -13584], 132622.125),
    (lambda: C.quantized_fully_connected(I8, FW, FB, one(-2), one(2), one(-1), one(1), one(-0.5), one(0.5), num_hidden=4),
     [-9973, 3207, 24844, -14477], 266288.5),
    (lambda: C.quantized_pooling(U8, one(0), one(2), kernel=(2, 2), pool_type="max"), [192, 251, 195, 251, 211, 242, 216, 140], 2),
    (lambda: C.quantized_pooling(I8, one(-2), one(2), kernel=(2, 2), pool_type="avg"), [-33, 44, -53, 0, -62, -24, 25, 49], 2),
    (lambda: C.quantized_act(I8, one(-2), one(2), act_type="relu"), [0, 66, 103, 0, 0, 47, 0, 0], 2),
    (lambda: C.quantized_flatten(I8, one(-2), one(2)), [-69, 66, 103, -88, -40, 47, -39, -46], 2),
    (lambda: C.quantized_concat(U8, U8, one(0), one(2), one(0), one(4), dim=1), [86, 24, 58, 96, 34, 126, 98, 52], 4),
    (lambda: C.quantized_elemwise_add(I8, I8, one(-2), one(2), one(-1), one(1), min_calib_range=-3, max_calib_range=3),
     [-69, 66, 103, -88, -40, 47, -39, -46], 3),
    (lambda: C.quantized_batch_norm(I8, nd.ones((2,)), nd.ones((2,)), nd.zeros((2,)), nd.ones((2,)), one(-2), one(2),
                                    min_calib_range=-4.0, max_calib_range=4.0, fix_gamma=False),
     [-3, 65, 83, -12, 12, 55, 12, 9], 4),
    (lambda: C.quantized_batch_norm(U8, nd.ones((2,)), nd.ones((2,)), nd.zeros((2,)), nd.ones((2,)), one(0), one(2),
                                    min_calib_range=-4.0, max_calib_range=4.0, fix_gamma=False),
     [75, 43, 61, 80, 48, 94, 80, 57], 4),
]  # fmt: skip


@pytest.mark.parametrize("call, codes, top", CASES)
def test_codes_are_mxnets(call, codes, top):
    y, _, high = call()
    assert y.asnumpy().ravel()[: len(codes)].tolist() == codes
    assert high.asscalar() == pytest.approx(top, rel=1e-6)


def test_sums_are_mxnets_to_the_precision_of_float32():
    y = C.quantized_elemwise_add(I8, I8, one(-2), one(2), one(-1), one(1))[0]
    onp.testing.assert_allclose(y.asnumpy().ravel()[:4], [-1162167680, 1111638656, 1734830080, -1482184832], rtol=1e-6)


NOTHING = nd.array([0.0, 1.0, -1.0, onp.nan])


@pytest.mark.parametrize(
    "call, codes",
    [
        (lambda: C.quantize(NOTHING, one(0), one(0), out_type="int8"), [127, 127, -128, 127]),
        (lambda: C.quantize(NOTHING, one(0), one(0), out_type="uint8"), [0, 255, 0, 0]),
        (lambda: C.quantize_v2(nd.zeros((4,))), [127, 127, 127, 127]),
        (lambda: C.quantize_v2(NOTHING, min_calib_range=-1.0, max_calib_range=1.0), [0, 127, -128, 127]),
        (lambda: C.requantize(nd.array([0, 1, -1], dtype="int32"), one(0), one(0)), [127, 127, 127]),
    ],
)
def test_codes_of_a_range_of_nothing_are_mxnets(call, codes):
    assert call()[0].asnumpy().tolist() == codes


@pytest.mark.parametrize("name, options, arguments", [
    ("quantized_fully_connected", {"num_hidden": 4}, 9),
    ("quantized_fully_connected", {"num_hidden": 4, "no_bias": True}, 6),
    ("quantized_conv", {"num_filter": 3, "kernel": (2, 2)}, 9),
    ("quantized_conv", {"num_filter": 3, "kernel": (2, 2), "no_bias": True}, 6),
    ("quantized_pooling", {"kernel": (2, 2)}, 3),
    ("quantized_flatten", {}, 3),
])  # fmt: skip
def test_shapes_and_dtypes_follow_from_the_data(name, options, arguments):
    layer = getattr(sym.contrib, name)(data=sym.Variable("data", dtype="uint8"), name="layer", **options)
    assert len(layer.list_arguments()) == arguments
    shapes = layer.infer_shape(data=U8.shape)[0]
    assert shapes[-2:] == [(1,), (1,)]
    bound = layer.simple_bind(data=U8.shape, grad_req="null")
    assert [a.dtype for a in bound.arg_arrays[-2:]] == [onp.float32] * 2
    if arguments > 3:
        weight = FW if "num_hidden" in options else W
        assert shapes[1] == weight.shape
        assert bound.arg_arrays[1].dtype == onp.int8


def test_what_does_not_fit_is_refused():
    with pytest.raises(MXNetError, match="relu"):
        C.quantized_act(I8, one(-2), one(2), act_type="tanh")
    with pytest.raises(MXNetError, match="9 arrays"):
        C.quantized_conv(U8, W, one(0), one(2), kernel=(2, 2), num_filter=3)


def test_fourier_transforms_are_numpys():
    x = RS.standard_normal((2, 3, 1, 6)).astype("float32")
    y = C.fft(nd.array(x)).asnumpy().reshape(2, 3, 1, 6, 2)
    onp.testing.assert_allclose(y[..., 0] + 1j * y[..., 1], onp.fft.fft(x), atol=1e-5)
    back = C.ifft(nd.array(y.reshape(2, 3, 1, 12))).asnumpy()
    onp.testing.assert_allclose(back, 6 * x, atol=1e-5)


def test_count_sketch_adds_signed_columns():
    x = nd.array([[1.2, 2.5, 3.4], [3.2, 5.7, 6.6]])
    y = C.count_sketch(x, nd.array([[0, 3, 4]]), nd.array([[1, -1, 1]]), out_dim=5)
    onp.testing.assert_allclose(y.asnumpy(), [[1.2, 0, 0, -2.5, 3.4], [3.2, 0, 0, -5.7, 6.6]], rtol=1e-6)


def test_ranges_are_those_that_were_given():
    """As MXNet 1.9.1: a calibrated range keeps its two ends, joined codes have the lowest and the highest."""
    calibrated = {"min_calib_range": -2.0, "max_calib_range": 2.5}
    moments = [nd.ones((2,))] * 4
    for _, low, high in (
        C.quantized_elemwise_add(I8, I8, one(-2), one(2), one(-1), one(1), **calibrated),
        C.quantized_batch_norm(I8, *moments, one(-2), one(2), **calibrated),
        C.quantized_concat(U8, I8, one(-1), one(2.5), one(-2), one(1), dim=1),
    ):
        assert (low.asscalar(), high.asscalar()) == (-2.0, 2.5)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_quantized_batch_norm_rescales_once_more(kind):
    """MXNet 1.9.1's formula, with gamma even where it is fixed, and oneDNN's variance of 1 + eps."""
    data = onp.array([[[[100, 40, 0]], [[0, -30, 7]]]])
    data = data if kind == "int8" else data + 128
    gamma, beta, mean, variance = ([1.5, 0.25], [0.5, -1.0], [0.25, 0.75], [2.0, 0.5])
    got, _, _ = C.quantized_batch_norm(
        nd.array(data, dtype=kind), *(nd.array(v) for v in (gamma, beta, mean, variance)), one(-2), one(1.5),
        eps=0.5, fix_gamma=True, min_calib_range=-3.0, max_calib_range=4.0,
    )  # fmt: skip
    scale = onp.array(gamma) / onp.sqrt(onp.array(variance) + 0.5)
    shift = (onp.array(beta) - onp.array(mean) * scale) / 4 * 127.5
    codes = data if kind == "int8" else onp.rint(data * 127 / 255)
    want = codes / onp.sqrt(1.5) * (scale * 2 / 4).reshape(1, 2, 1, 1) + shift.reshape(1, 2, 1, 1)
    assert got.dtype == onp.int8 and got.asnumpy().tolist() == onp.clip(onp.rint(want), -128, 127).tolist()


def test_a_calibrated_range_of_nothing_has_its_ends_as_codes():
    """The codes of MXNet 1.9.1."""
    x, nothing = nd.array([[[[1, -5, 0, -128]]]], dtype="int8"), {"min_calib_range": 0.0, "max_calib_range": 0.0}
    codes, low, high = C.quantized_elemwise_add(x, x, one(-2), one(2), one(-2), one(2), **nothing)
    assert codes.asnumpy().ravel().tolist() == [127, -128, 0, -128] and low.asscalar() == high.asscalar() == 0
    for gamma, beta, want in ((1, 1, [127, 0, 0, 0]), (-1, -1, [-128, 0, 0, 0]), (1, -1, [0, -128, 0, -128])):
        parameters = [nd.array([v]) for v in (gamma, beta, 0, 1)]
        codes, *_ = C.quantized_batch_norm(x, *parameters, one(-2), one(2), **nothing)
        assert codes.asnumpy().ravel().tolist() == want


def test_quantized_batch_norm_refuses_an_axis_that_is_not_there():
    with pytest.raises(MXNetError, match="axis 5 is out of bounds for an array of 4 axes"):
        C.quantized_batch_norm(
            I8, *[nd.ones((2,))] * 4, one(-2), one(2), axis=5, min_calib_range=-1.0, max_calib_range=1.0
        )


def test_outputs_of_quantized_layers_have_mxnets_names():
    x = sym.var("x")
    assert sym.contrib.quantized_act(x, act_type="relu", name="q").list_outputs() == [
        "q_output", "q_min_output", "q_max_output",
    ]  # fmt: skip
    norm = sym.contrib.quantized_batch_norm(x, name="q")
    assert norm.list_auxiliary_states() == ["q_moving_mean", "q_moving_var"]
    assert sym.topk(x, ret_typ="value", name="t").list_outputs() == ["t_output0"]
    assert sym.contrib.BatchNormWithReLU(x, name="b", output_mean_var=True).list_outputs()[1:] == ["b_mean", "b_var"]

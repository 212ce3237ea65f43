"""What operators do at and past the bounds of their arguments, as MXNet 1.9.1 answers."""

import numpy as np
import pytest

import core as mx
from core import nd
from core.base import MXNetError

BAD = [
    ("uniform", (1, 0)), ("normal", (0, 0)), ("normal", (0, -1)), ("gamma", (0, 1)), ("gamma", (1, -1)),
    ("exponential", (-1,)), ("poisson", (-1,)), ("negative_binomial", (-1, 0.5)), ("negative_binomial", (3, -0.5)),
    ("generalized_negative_binomial", (-1, 1)), ("generalized_negative_binomial", (1, -1)), ("randint", (5, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), BAD)
def test_samplers_refuse(name, parameters):
    with pytest.raises(MXNetError):
        getattr(nd.random, name)(*parameters)
    drawn = getattr(mx.sym.random, name)(*parameters, shape=(2,))  # a symbol says it when it runs
    with pytest.raises(MXNetError):
        drawn.eval(ctx=mx.cpu())


def test_types_of_samples():
    with pytest.raises(MXNetError, match="float16, float32"):
        mx.sym.random.poisson(1, dtype="int32")
    with pytest.raises(MXNetError, match="int32, int64"):
        mx.sym.random.randint(0, 3, dtype="uint8")
    with pytest.raises(ValueError, match="number or an array"):
        nd.random.uniform("a", 1)


def test_np_samplers_refuse():
    for call in (mx.np.random.normal, mx.np.random.gumbel, mx.np.random.logistic):
        with pytest.raises(ValueError, match="scale"):
            call(0, -1)
    with pytest.raises(MXNetError):
        mx.np.random.multinomial(10, [0.2, 0.9, 0.1])


def test_zipfian_symbol():
    drawn, expected_true, expected_drawn = mx.sym.contrib.rand_zipfian(mx.sym.var("c"), 50, 100)
    mx.random.seed(3)
    values = mx.sym.Group([drawn, expected_true, expected_drawn]).eval(c=nd.array([0.0, 3.0]))
    assert values[0].dtype == np.int64 and values[0].shape == (50,) and values[0].min().asscalar() >= 0
    np.testing.assert_allclose(values[1].asnumpy(), np.log([2, 5 / 4]) / np.log(101) * 50)
    drawn = values[0].asnumpy()
    np.testing.assert_allclose(values[2].asnumpy(), np.log((drawn + 2) / (drawn + 1)) / np.log(101) * 50)


def test_clip_with_bounds_that_cross():
    x = nd.array([-2, -0.5, 0, 0.5, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.clip(x, 1, -1)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [1, -1, -1, -1, -1])
    np.testing.assert_array_equal(x.grad.asnumpy(), 0)


def test_nag_momentum_where_the_weight_is_overwritten():
    arrays = [nd.array(v) for v in ([1.0, 2.0], [0.5, -0.5], [0.1, 0.2])]
    weight, grad, mom = arrays
    given = {"lr": 0.1, "momentum": 0.9, "wd": 0.5}
    apart = nd.nag_mom_update(weight.copy(), grad, (other := mom.copy()), **given)
    nd.nag_mom_update(weight, grad, mom, out=weight, **given)
    np.testing.assert_allclose(weight.asnumpy(), apart.asnumpy(), rtol=1e-6)
    start = np.array([0.1, 0.2])
    gradient = np.array([0.5, -0.5])
    np.testing.assert_allclose(other.asnumpy(), 0.9 * start - 0.1 * (gradient + 0.5 * np.array([1.0, 2.0])), rtol=1e-5)
    np.testing.assert_allclose(mom.asnumpy(), 0.9 * start - 0.1 * (gradient + 0.5 * weight.asnumpy()), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:transpose")
def test_matrices_with_an_axis_named_twice():
    x = nd.arange(6)
    for shape, axis, squared in (
        ((2, 3), 0, [[0, 3], [1, 4]]), ((2, 3), 1, [[0, 3, 1], [4, 2, 5], [0, 0, 0]]), ((3, 2), 1, [[0, 2], [4, 1]]),
    ):  # fmt: skip
        np.testing.assert_array_equal(nd.transpose(x.reshape(shape), axes=(axis, axis)).asnumpy(), squared)
    with pytest.warns(UserWarning, match="repeated"), mx.autograd.record():
        matrix = nd.ones((2, 3))
        matrix.attach_grad()
        y = nd.transpose(matrix, axes=(0, 0))
    with pytest.raises(MXNetError, match="repeated"):
        y.backward()
    for axes in ((0, 0, 1), (1, 1, 1)):
        with pytest.raises(MXNetError, match="repeated"):
            nd.transpose(nd.ones((2, 3, 4)), axes=axes)
    for axes in ((0, 0), (0, -2)):
        with pytest.raises(ValueError, match="repeated"):
            mx.np.transpose(mx.np.ones((2, 3)), axes)


@pytest.mark.parametrize(("shape", "axis"), [((2, 4, 5), -1), ((6, 3), 1), ((3, 4, 2), 1), ((3, 4, 2), 0), ((7,), 0)])
def test_softmax_reads_on_where_lengths_are_beyond_their_rows(shape, axis):
    """Numbers of MXNet 1.9.1, which this formula tells to rounding for all rows but those that end beyond the array."""
    draw = np.random.default_rng(0)
    axis %= len(shape)
    data, head = draw.normal(size=(2, *shape)).astype("float32")
    rest, places = shape[:axis] + shape[axis + 1 :], shape[axis]
    inner = int(np.prod(shape[axis + 1 :]))
    length = draw.integers(0, places + 1, rest)
    length.reshape(-1, inner)[0] = places + 2
    x, y, dx = data.reshape(-1, inner), np.zeros((data.size // inner, inner)), np.zeros((data.size // inner, inner))
    rows = [(slice(o * places, o * places + n), slice(o * places, o * places + min(n, places)), i)
            for o, ns in enumerate(length.reshape(-1, inner)) for i, n in enumerate(ns) if n]  # fmt: skip
    for counted, row, i in rows:
        y[row, i] = np.exp(x[row, i]) / np.exp(x[counted, i]).sum()
    for counted, row, i in rows:
        heads = head.reshape(-1, inner)
        dx[row, i] = y[row, i] * (heads[row, i] - (y[counted, i] * heads[counted, i]).sum())
    array = nd.array(data)
    array.attach_grad()
    with pytest.warns(UserWarning, match="clip the lengths"), mx.autograd.record():
        out = nd.softmax(array, nd.array(length, dtype="int32"), use_length=True, axis=axis)
    out.backward(nd.array(head))
    np.testing.assert_allclose(out.asnumpy(), y.reshape(shape), atol=1e-6)
    np.testing.assert_allclose(array.grad.asnumpy(), dx.reshape(shape), atol=1e-6)


def test_joined_arrays_have_one_type():
    for join in (nd.concat, nd.stack):
        with pytest.raises(MXNetError, match="float32, int32"):
            join(nd.ones((2, 2)), nd.ones((2, 2), dtype="int32"))


def test_empty_slices_and_repeated_vectors():
    assert nd.slice(nd.ones((2, 3)), begin=(1,), end=(1,)).shape == (0, 3)
    np.testing.assert_array_equal(nd.array([1, 2]).broadcast_to((3, 2)).asnumpy(), [[1, 2]] * 3)
    assert nd.ones((2,)).broadcast_like(nd.ones((3, 2))).shape == (3, 2)
    with pytest.raises(ValueError):
        nd.ones((2, 1)).broadcast_to((2,))
    assert nd.argmax_channel(nd.ones((2, 3), dtype="float16")).dtype == np.float16


@pytest.mark.parametrize("face", [mx.np, nd])
def test_parts_written_to_their_own_array(face):
    x = face.array(np.arange(12).reshape(3, 4), dtype="float32")
    x[1:] = x[:2]
    np.testing.assert_array_equal(x.asnumpy(), [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7]])
    x[[0, 2]] = x[1]
    x[::-1] = x[0]
    np.testing.assert_array_equal(x.asnumpy(), [[0, 1, 2, 3]] * 3)


@pytest.mark.parametrize("face", [mx.np, nd])
def test_numbers_beside_index_arrays(face):
    start = np.arange(24).reshape(2, 3, 4).astype("float32")
    for key in ((0, slice(None), [1, 0]), (0, None, [0, 1]), ([0, 1], 2), (slice(None), 1, [0, 1])):
        x, expected = face.array(start, dtype="float32"), start.copy()
        np.testing.assert_array_equal(x[key].asnumpy(), expected[key])
        x[key] += 2
        x[key] = x[key] * 3
        expected[key] += 2
        expected[key] *= 3
        np.testing.assert_array_equal(x.asnumpy(), expected)


def test_sequences_of_fractional_length_and_masks_of_nothing():
    x = nd.ones((3, 2))
    masked = nd.SequenceMask(x, nd.array([1.9, 2]), use_sequence_length=True)
    np.testing.assert_array_equal(masked.asnumpy(), [[1, 1], [0, 1], [0, 0]])
    assert nd.contrib.boolean_mask(x, nd.zeros((3,))).shape == (0, 2)


def test_arguments_by_mxnets_names_and_places():
    low, high = nd.zeros((2,)), nd.ones((2,))
    assert nd.sample_uniform(low=low, high=high, shape=3).shape == (2, 3)
    assert nd.sample_normal(mu=low, sigma=high).shape == nd.sample_gamma(alpha=high, beta=high).shape == (2,)
    assert nd.sample_poisson(lam=high, shape=(2, 2)).shape == (2, 2, 2)
    assert nd.random_uniform(0, 1, (2, 3), mx.cpu(), "float64").dtype == np.float64
    np.testing.assert_array_equal(nd.power(base=nd.array([2, 3]), exp=2).asnumpy(), [4, 9])
    np.testing.assert_array_equal(nd.array(source_array=[1, 2]).asnumpy(), [1, 2])
    assert type(nd.from_numpy(np.ones(2, "float32"), array_cls=mx.np.ndarray)) is mx.np.ndarray
    drawn = nd.zeros((4,), dtype="int32")
    nd.random.multinomial(nd.array([0, 1.0]), 4, False, drawn)
    np.testing.assert_array_equal(drawn.asnumpy(), 1)
    state = [nd.ones((2,)) for _ in range(5)]
    nd.rmspropalex_update(weight=state[0], grad=state[1], n=state[2], g=state[3], delta=state[4], lr=0.1)
    back = mx.np.zeros((2, 1))
    assert mx.np.flip(mx.np.array([[1.0], [2.0]]), 0, back) is back and back[0, 0] == 2
    assert mx.np.squeeze(a=back).shape == (2,)


def test_labels_of_softmax_output_are_cut_to_integers_and_smoothed_in_rows_only():
    def gradient(shape, label, **given):
        x = nd.zeros(shape)
        x.attach_grad()
        with mx.autograd.record():
            y = nd.SoftmaxOutput(x, nd.array(label), **given)
        y.backward()
        return x.grad.asnumpy()

    ignored = gradient((2, 2), [1.7, 0.2], use_ignore=True, ignore_label=1)
    np.testing.assert_allclose(ignored, [[0, 0], [-0.5, 0.5]])
    smooth = gradient((1, 2, 1), [[1]], multi_output=True, smooth_alpha=0.1)
    np.testing.assert_allclose(smooth, [[[0.5], [-0.5]]])


def test_reductions_of_np():
    assert mx.np.sum(mx.np.array(3.0), axis=0) == 3 and mx.np.prod(mx.np.array(3.0), axis=-1) == 3
    with pytest.raises(MXNetError):
        mx.np.sum(mx.np.array(3.0), axis=1)
    with pytest.raises(MXNetError, match="initial"):
        mx.np.max(mx.np.ones(2), initial=1)
    whole = mx.np.average(mx.np.array([1, 2, 5], dtype="int32"))
    assert whole == 2 and whole.dtype == np.int32
    counts, edges = mx.np.histogram(mx.np.array([1, 2], dtype="int32"), 2, (0, 4))
    assert edges.dtype == np.int32 and counts.tolist() == [1, 1]


def test_missing_inputs_are_named():
    with pytest.raises(MXNetError, match="BatchNorm"):
        nd.BatchNorm(nd.ones((2, 3)))


def test_numbers_beside_arrays_of_bool_and_negative_powers():
    flags = mx.np.array([True, False], dtype="bool")
    assert (flags & 1).dtype == np.bool_ and (flags | 2).tolist() == [True, True]
    assert mx.np.power(mx.np.array([1, 2, -1], dtype="int32"), -1).tolist() == [1, 0, -1]


@pytest.mark.parametrize("places", [[[0, 1, 0], [0, 1, 3]], [[0, 1, 0], [0, 1, -5]]])
def test_a_place_outside_is_an_index_error_of_ours(places):
    data = nd.array([[0, 1, 2], [3, 4, 5]])
    with pytest.raises(IndexError, match="1 with size 3"):
        nd.gather_nd(data, nd.array(places))
    with pytest.raises(MXNetError, match="gather_nd"):
        nd.gather_nd(data, nd.array(places))

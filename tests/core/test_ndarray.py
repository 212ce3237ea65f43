"""The nd array: creation, memory, conversion, indexing. NumPy is the outside truth."""

import copy
import pickle

import numpy as onp
import pytest

import core as mx
from core import nd, sym
from core.base import MXNetError

DTYPES = ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"]


def numbers(shape, seed=0):
    return onp.random.RandomState(seed).randn(*shape).astype("float32")


# ---------------------------------------------------------------- creation and conversion


@pytest.mark.parametrize("dtype", DTYPES)
def test_array_keeps_values_of_a_given_type(dtype):
    source = onp.array([[0, 1], [2, 3]]).astype(dtype)
    x = nd.array(source, dtype=dtype)
    assert x.shape == (2, 2) and onp.dtype(x.dtype) == onp.dtype(dtype)
    assert (x.asnumpy() == source).all() and x.asnumpy().dtype == source.dtype


def test_array_is_float32_unless_told():
    assert nd.array([1, 2]).dtype is onp.float32
    assert nd.array(onp.arange(3)).dtype is onp.float32
    assert nd.array(nd.array([1], dtype="int32")).dtype is onp.int32


def test_bfloat16_rounds_to_eight_bits():
    x = nd.array([1.0, 1.00390625, 3.0]).astype("bfloat16")
    assert x.dtype.__name__ == "bfloat16"
    named = onp.dtype([("bfloat16", onp.uint16)])  # as MXNet's programs name it
    assert nd.amp_cast(nd.ones(2), dtype=named).dtype is x.dtype
    assert sym.var("x", dtype=named).attr("__dtype__") == "12"
    assert x.asnumpy().tolist() == [1.0, 1.0, 3.0]


def test_ragged_and_textual_sources_are_refused():
    with pytest.raises(TypeError):
        nd.array([[1, 2], [3]])
    with pytest.raises(TypeError):
        nd.array(["a"])


def test_makers():
    assert nd.zeros((2, 3)).asnumpy().tolist() == onp.zeros((2, 3)).tolist()
    assert nd.ones(2, dtype="int32").asnumpy().tolist() == [1, 1]
    assert nd.full((2,), 7).asnumpy().tolist() == [7, 7]
    assert nd.arange(1, 7, 2, repeat=2).asnumpy().tolist() == [1, 1, 3, 3, 5, 5]
    assert nd.eye(2, 3, 1).asnumpy().tolist() == onp.eye(2, 3, 1).tolist()
    assert nd.empty((3, 0, 2)).shape == (3, 0, 2)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8"])
def test_numpy_knows_the_type_of_an_array(dtype):
    assert onp.dtype(nd.ones((2, 3), dtype=dtype)) == dtype


def test_repr_shows_values_shape_and_context():
    assert repr(nd.array([[1, 2]])) == "\n[[1. 2.]]\n<NDArray 1x2 @cpu(0)>"


def test_scalars_and_truth():
    assert nd.array([2.5]).asscalar() == onp.float32(2.5)
    for convert in (float, int):  # as in MXNet: asscalar() says what is meant
        with pytest.raises(TypeError):
            convert(nd.array([2.5]))
    assert bool(nd.array([1])) and not bool(nd.array([0]))
    with pytest.raises(ValueError):
        bool(nd.array([1, 2]))
    with pytest.raises(ValueError):
        nd.array([1, 2]).asscalar()


def test_copies_and_pickles_are_independent():
    x = nd.array([1.0, 2.0])
    for y in (x.copy(), copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.astype("float32")):
        y[:] = 0
        assert x.asnumpy().tolist() == [1, 2]
    assert x.astype("float32", copy=False) is x


def test_from_numpy_shares_memory_and_locks_the_source():
    source = onp.arange(4, dtype="float32")
    x = nd.from_numpy(source)
    x[0] = 9
    assert source[0] == 9
    with pytest.raises(ValueError):
        source[0] = 1
    with pytest.raises(ValueError, match="contiguous"):
        nd.from_numpy(onp.zeros((4, 4))[:, ::2])


def test_dlpack_shares_memory_both_ways():
    x = nd.array([1.0, 2.0, 3.0])
    seen = onp.from_dlpack(x)
    x[1] = 7
    assert seen.tolist() == [1, 7, 3]
    source = onp.arange(3, dtype="float32")
    y = nd.from_dlpack(source)
    source[2] = 5
    assert y.asnumpy().tolist() == [0, 1, 5]
    again = nd.from_dlpack(x.to_dlpack_for_read())
    again[0] = 4
    assert x.asnumpy()[0] == 4


def test_numpy_sees_an_array():
    assert onp.asarray(nd.array([1.0, 2.0])).tolist() == [1, 2]
    assert onp.add(onp.ones(2, "float32"), nd.array([1.0, 2.0]).asnumpy()).tolist() == [2, 3]


# ---------------------------------------------------------------- contexts


def test_contexts():
    assert mx.cpu() == mx.cpu(0) != mx.cpu(1)
    assert str(mx.gpu(2)) == "gpu(2)" and mx.Context("cpu", 1).device_id == 1
    with mx.cpu(3):
        assert mx.current_context() == mx.cpu(3) and nd.zeros(1).context == mx.cpu(3)
    assert mx.current_context() == mx.cpu(0)
    with pytest.raises(mx.MXNetError, match="tpu"):
        mx.Context("tpu")


def test_no_type_is_float32():
    for made in (nd.eye(2, dtype=None), nd.zeros(2, dtype=None), nd.full(2, 1, dtype=None), nd.empty(2, dtype=None)):
        assert made.dtype is onp.float32


def test_moving_between_contexts():
    x = nd.array([1.0, 2.0])
    y = x.as_in_context(mx.cpu(1))
    y[:] = 0
    assert y.context == mx.cpu(1) and x.asnumpy().tolist() == [1, 2]
    assert x.as_in_context(mx.cpu(0)) is x
    z = nd.zeros(2, ctx=mx.cpu(1))
    assert x.copyto(z) is z and z.asnumpy().tolist() == [1, 2]


def test_gradients_go_back_to_where_arrays_came_from():
    seen = []

    class Watched(mx.autograd.Function):
        def forward(self, x):
            return x * 1

        def backward(self, head):
            seen.append(head.context)
            return head

    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = Watched()(x).as_in_context(mx.cpu(1)) ** 2
    y.backward()
    assert seen == [mx.cpu(0)] and x.grad.context == mx.cpu(0) and x.grad.asnumpy().tolist() == [2, 4]


# ---------------------------------------------------------------- indexing


GETS = [
    1, -1, slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(3, 0, -2), (1, 2), (slice(None), 1), (Ellipsis, 0),
    (None, 1), (slice(0, 2), slice(1, 4), 2), (1, Ellipsis, None), ([0, 2],), ([0, 2], [1, 3]), ([[0, 1], [2, 3]],),
    (slice(None), [0, 2]), (slice(1, 3), [0, 2], slice(None, 2)), ([0, 2], slice(None), [0, 1]), (1, [0, 1]), (-1, -1, -1),
]  # fmt: skip


@pytest.mark.parametrize("key", GETS, ids=str)
def test_get(key):
    source = numbers((4, 5, 3))
    want = source[key]
    got = nd.array(source)[key]
    assert got.asnumpy().reshape(want.shape).tolist() == want.tolist()
    assert got.shape == (want.shape or (1,))


@pytest.mark.parametrize("key", GETS, ids=str)
def test_set(key):
    source, x = numbers((4, 5, 3)), nd.array(numbers((4, 5, 3)))
    value = numbers(source[key].shape, 1) if source[key].shape else onp.float32(2)
    if any(isinstance(k, slice) and (k.step or 1) < 0 for k in (key if isinstance(key, tuple) else (key,))):
        value = numbers(source[key].shape, 1)
    source[key] = value
    x[key] = nd.array(value) if onp.ndim(value) else float(value)
    assert (x.asnumpy() == source).all()


def test_set_broadcasts_numbers_and_rows():
    x = nd.zeros((2, 3))
    x[:] = 1
    x[0] = nd.array([1, 2, 3])
    x[:, 2] = onp.array([8, 9])
    assert x.asnumpy().tolist() == [[1, 2, 8], [1, 1, 9]]


def test_contiguous_parts_share_memory():
    x = nd.zeros((3, 2))
    x[1:3][:] = 5
    x[0][1] = 7
    x.reshape((6,))[0] = 3
    assert x.asnumpy().tolist() == [[3, 7], [5, 5], [5, 5]]


def test_bad_indices():
    x = nd.zeros((2, 3))
    for key, error in ((5, IndexError), ((0, 0, 0), IndexError), ("a", ValueError), (1.5, ValueError)):
        with pytest.raises(error):
            x[key]
    with pytest.raises(ValueError):
        x[0] = nd.zeros(7)


def test_iteration_and_length():
    rows = list(nd.array([[1, 2], [3, 4]]))
    assert [r.asnumpy().tolist() for r in rows] == [[1, 2], [3, 4]] and len(nd.zeros((4, 2))) == 4


# ---------------------------------------------------------------- arithmetic


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "%", "**", ">", ">=", "<", "<=", "==", "!="])
def test_infix(symbol):
    a, b = onp.abs(numbers((3, 4))) + 0.5, onp.abs(numbers((1, 4), 1)) + 0.5
    scope = {"a": a, "b": b, "x": nd.array(a), "y": nd.array(b)}
    for theirs, ours in (
        (f"a {symbol} b", f"x {symbol} y"),
        (f"a {symbol} 2", f"x {symbol} 2"),
        (f"2 {symbol} a", f"2 {symbol} x"),
    ):
        want, got = eval(theirs, scope), eval(ours, scope)
        assert got.dtype is onp.float32
        onp.testing.assert_allclose(got.asnumpy(), want.astype("float32"), rtol=1e-5)


def test_in_place():
    x = nd.array([1.0, 2.0])
    y = x
    x += 1
    x *= nd.array([2, 3])
    x -= 1
    x /= 2
    assert y is x and x.asnumpy().tolist() == [1.5, 4.0]


def test_mixed_types_are_refused_by_name():
    with pytest.raises(mx.MXNetError, match=r"float32.*int32|int32.*float32"):
        nd.ones(2) + nd.ones(2, dtype="int32")


def test_numbers_take_the_type_of_the_array():
    assert (nd.array([3], dtype="int32") + 1.7).asnumpy().tolist() == [4]
    assert (nd.array([7], dtype="int32") / 2).asnumpy().tolist() == [3]


def test_a_number_over_an_array_is_rounded_once():
    x = onp.random.default_rng(0).uniform(0.1, 9, 1000).astype("float32")
    onp.testing.assert_array_equal((127.5 / nd.array(x)).asnumpy(), onp.float32(127.5) / x)


def test_wrong_attributes_are_named_with_the_nearest_right_one():
    with pytest.raises(mx.MXNetError, match=r"Convolution.*'kernal'.*'kernel'"):
        nd.Convolution(nd.zeros((1, 1, 3, 3)), kernal=(3, 3))
    with pytest.raises(mx.MXNetError, match=r"Activation.*act_type.*'relu'"):
        nd.Activation(nd.zeros(2), act_type="rely")
    with pytest.raises(mx.MXNetError, match="num_filter"):
        nd.Convolution(nd.zeros((1, 1, 3, 3)), nd.zeros((1, 1, 3, 3)), kernel=(3, 3))
    with pytest.raises(AttributeError, match="softmax"):
        _ = nd.sofmax


def test_out_is_written_in_place():
    x, out = nd.array([1.0, 4.0]), nd.zeros(2)
    view = out.reshape((1, 2))
    assert nd.sqrt(x, out=out) is out
    assert view.asnumpy().tolist() == [[1, 2]]
    with pytest.raises(mx.MXNetError, match="shape"):
        nd.sqrt(x, out=nd.zeros(3))


def test_inputs_that_do_not_fit_the_attributes_are_refused():
    x, w, b = nd.ones((2, 3)), nd.ones((4, 3)), nd.ones((4,))
    image, kernel = nd.ones((1, 3, 5, 5)), nd.ones((4, 3, 3, 3))
    for call in (
        lambda: nd.FullyConnected(x, w, b, num_hidden=5),
        lambda: nd.FullyConnected(x, w, num_hidden=4),
        lambda: nd.FullyConnected(x, w, b),
        lambda: nd.Convolution(image, kernel, kernel=(3, 3), num_filter=4),
        lambda: nd.Convolution(image, kernel, kernel=(3, 3), num_filter=5, no_bias=True),
        lambda: nd.Embedding(nd.array([1]), w, input_dim=5, output_dim=3),
        lambda: nd.Pooling(image, kernel=(3, 3), pad=(3, 3)),
        lambda: nd.softmax(x, nd.ones((2,)), use_length=True),
        lambda: nd.softmax(x, use_length=True),
        lambda: nd.slice_axis(x, axis=1, begin=2, end=1),
        lambda: nd.slice_axis(x, axis=1, begin=0, end=9),
        lambda: nd.tile(x, reps=(0, 1)),
        lambda: nd.where(nd.ones((2, 1)), x, x),
        lambda: nd.argmax(nd.ones((2,), dtype="bool")),
        lambda: nd.random.randint(0, 5, shape=(2,), dtype="float32"),
        lambda: nd.random.normal(0, -1, shape=2),
        lambda: nd.ones((2,), dtype="bool") + nd.ones((2,), dtype="bool"),
        lambda: nd.zeros((0, 3)),
    ):
        with pytest.raises(mx.MXNetError):
            call()


def test_group_norm_gives_its_statistics():
    x = nd.array(numbers((2, 4, 3)))
    y, mean, deviation = nd.GroupNorm(x, nd.ones((2,)), nd.zeros((2,)), num_groups=2, output_mean_var=True)
    grouped = x.asnumpy().reshape(2, 2, -1)
    onp.testing.assert_allclose(mean.asnumpy(), grouped.mean(2), atol=1e-6)
    onp.testing.assert_allclose(deviation.asnumpy(), onp.sqrt(grouped.var(2) + 1e-5), rtol=1e-5)
    onp.testing.assert_allclose(y.asnumpy().reshape(2, 2, -1).mean(2), 0, atol=1e-6)


def test_the_hypotenuse_of_integers_is_cut_to_an_integer():
    a, b = (mx.nd.array(v, dtype="int32") for v in ([3, 5, 1], [4, 12, 1]))
    found = mx.nd.broadcast_hypot(a, b)
    assert found.dtype == onp.int32 and found.asnumpy().tolist() == [5, 13, 1]


def test_reshape_with_a_rest_drops_it_as_an_operator_and_refuses_as_a_method():
    x = nd.arange(7)
    assert nd.reshape(x, shape=(-1, 3)).asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert sym.Reshape(sym.var("x"), shape=(2, 2, -1)).infer_shape(x=(7,))[1] == [(2, 2, 1)]
    for shape in [(-1, 8), (2, 3)]:
        with pytest.raises(MXNetError, match="cannot bring"):
            nd.reshape(x, shape=shape)
    with pytest.raises(ValueError, match="do not fill"):
        x.reshape((-1, 3))


def test_files_and_pickles_of_others_are_read(tmp_path):
    values = onp.arange(6, dtype="float32").reshape(2, 3)
    onp.save(tmp_path / "one.npy", values)
    onp.savez(tmp_path / "named.npz", **{"a b": values})
    assert onp.array_equal(nd.load(tmp_path / "one.npy")[0].asnumpy(), values)
    assert onp.array_equal(nd.load(tmp_path / "named.npz")["a b"].asnumpy(), values)
    # The record of the zero that MXNet 1.x made on a GPU and pickled: magic, dense, one axis of 1, gpu(0), float32.
    state = onp.array([0xF993FAC9, 0, 1, 1, 0, 2, 0, 0, 0], dtype="<u4").tobytes()
    array = nd.ones((2,))
    array.__setstate__({"handle": bytearray(state)})
    assert array.shape == (1,) and array.asnumpy()[0] == 0


def test_integers_are_rounded_to_themselves():
    large = nd.array([50000001, -7], dtype="int32")
    for name in ("round", "floor", "ceil", "trunc", "rint", "fix"):
        assert getattr(large, name)().asnumpy().tolist() == [50000001, -7]


def test_shapes_that_do_not_fit_are_value_errors_too():
    with pytest.raises(ValueError):
        nd.ones((2, 3, 5)).reshape((2, 3))
    with pytest.raises(MXNetError):
        nd.broadcast_like(nd.ones((1, 2)), nd.ones((3, 2)), lhs_axes=(), rhs_axes=())
    assert nd.moveaxis(nd.ones((1, 2, 3)), range(3), range(3)).shape == (1, 2, 3)


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_results_share_no_memory_with_their_inputs(shape):
    for move in (
        lambda x: x.transpose(),
        lambda x: x.transpose((0, 1)),
        lambda x: mx.nd.moveaxis(x, 0, 1),
        lambda x: mx.nd.split_v2(x, (1,), axis=0)[0],
    ):
        x = mx.nd.ones(shape)
        y = move(x)
        y[:] = 9
        assert (x.asnumpy() == 1).all()
        y = move(x)
        x[:] = 5
        assert (y.asnumpy() == 1).all()


def test_negatives_of_truth_values_are_whole_numbers():
    assert (-nd.array([1, 0], dtype="bool")).asnumpy().tolist() == [-1, 0]

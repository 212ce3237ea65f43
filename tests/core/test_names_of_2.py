"""Names and keywords that MXNet 2 gave to `np`, `npx`, `nd.random` and `nd.image`: answers of MXNet 2.0.0b1."""

import numpy as onp
import pytest

import core as mx
from core import nd, np, npx
from core.base import MXNetError


def test_words_of_the_array_api():
    x = np.array([1.0, 1.0, 2.0])
    assert np.sort(x, descending=True).asnumpy().tolist() == [2, 1, 1]
    assert np.argsort(x, descending=True, stable=True).asnumpy().tolist() == [2, 0, 1]
    y = np.array([3.0, 1.0, 2.0])
    assert np.std(y, correction=1) == y.var(correction=1) == 1
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    onp.testing.assert_allclose(np.linalg.eigvalsh(a, upper=True).asnumpy(), [0, 5], atol=1e-6)
    onp.testing.assert_allclose(np.linalg.eigvalsh(a, upper=False).asnumpy(), [-0.854102, 5.854102], rtol=1e-5)
    assert a.mT.asnumpy().tolist() == [[1, 3], [2, 4]] and np.ones((4, 2, 3)).mT.shape == (4, 3, 2)
    with pytest.raises(ValueError):
        _ = x.mT
    assert np.asarray(a) is a and np.asarray(a, copy=True) is not a
    with pytest.raises(ValueError):
        np.asarray([1.0], copy=False)


def test_sums_of_products_along_an_axis():
    a, b = onp.arange(12.0).reshape(2, 2, 3), onp.arange(12.0)[::-1].reshape(2, 2, 3)
    for axis in (None, -1, 0, 1):
        found = np.linalg.vecdot(np.array(a), np.array(b), **({} if axis is None else {"axis": axis}))
        onp.testing.assert_allclose(found.asnumpy(), (a * b).sum(-1 if axis is None else axis))


def test_devices_under_their_newer_name():
    cpu = mx.cpu(1)
    x = np.ones((2, 2))
    made = [np.zeros_like(x, device=cpu), np.full_like(x, 3, device=cpu), np.hanning(3, device=cpu), np.tri(2, device=cpu),
            np.indices((2,), device=cpu), np.empty_like(x, device=cpu), npx.random.normal_n(batch_shape=2, device=cpu)]  # fmt: skip
    assert {a.context for a in made} == {cpu}


def test_one_device_is_seeded():
    for seed in (np.random.seed, npx.random.seed, mx.random.seed):
        draws = []
        for other in (1, 2):
            seed(other)
            seed(7, device=mx.cpu(1))
            draws.append([np.random.uniform(size=2, device=mx.cpu(k)).asnumpy().tolist() for k in (0, 1)])
        assert draws[0][1] == draws[1][1] and draws[0][0] != draws[1][0]


def test_inputs_of_npx_under_their_newer_names():
    x, w = np.ones((2, 3)), np.ones((4, 3))
    assert npx.fully_connected(x=x, weight=w, num_hidden=4, no_bias=True).asnumpy().tolist() == [[3] * 4] * 2
    assert npx.one_hot(data=np.array([1]), depth=3).asnumpy().tolist() == [[0, 1, 0]]
    assert npx.batch_dot(a=np.ones((1, 2, 2)), b=np.ones((1, 2, 2))).asnumpy().tolist() == [[[2, 2], [2, 2]]]
    one = np.ones(3)
    normal = npx.batch_norm(x=x, gamma=one, beta=one, running_mean=one, running_var=one)
    assert normal.asnumpy().tolist() == [[1] * 3] * 2
    with pytest.raises(MXNetError, match="'y'"):
        npx.fully_connected(y=x, weight=w, num_hidden=4, no_bias=True)


def test_binomial_and_categorical_numbers():
    mx.random.seed(0)
    drawn = nd.random.binomial(10, 0.3, shape=(20000,)).asnumpy()
    assert drawn.dtype == onp.float32 and drawn.min() >= 0 and drawn.max() <= 10
    assert abs(drawn.mean() - 3) < 5 * onp.sqrt(2.1 / 20000) and abs(drawn.var() - 2.1) < 0.2
    each = nd.random.binomial(nd.array([0, 10, 20]), nd.array([0.5, 1.0, 0.5]), shape=(2, 5)).asnumpy()
    assert each.shape == (3, 2, 5) and (each[0] == 0).all() and (each[1] == 10).all() and each[2].max() > 5
    assert nd.random.binomial().shape == (1,)
    for n, p in ((-1, 0.5), (0.5, 0.5), (float("nan"), 0.5), (float("inf"), 0.5), (2, float("nan")), (2, 1.5)):
        with pytest.raises(MXNetError, match=r"binomial: [np] has to be"):
            nd.random.binomial(n, p)
    with pytest.raises(TypeError, match="low"):
        nd.random.binomial(2, 0.5, low=1)
    assert mx.random.categorical(nd.array([[0.0, 1.0], [1.0, 0.0]]), shape=2).asnumpy().tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("n, p", [(10, 0.3), (1000, 0.5), (10**8, 0.01), (2**40, 0.25)])
@pytest.mark.parametrize("draw", [nd.random.binomial, np.random.binomial])
def test_binomial_numbers_of_many_trials(draw, n, p):
    mx.random.seed(0)
    count, mean, variance = 20000, n * p, n * p * (1 - p)
    drawn = draw(n, p, (count,), dtype="float64").asnumpy()
    assert abs(drawn.mean() - mean) < 5 * onp.sqrt(variance / count)
    assert abs(drawn.var() / variance - 1) < 5 * onp.sqrt(2 / count)
    assert (draw(n, 0, (3,)).asnumpy() == 0).all() and (draw(n, 1, (3,), dtype="float64").asnumpy() == n).all()
    assert draw(n, p, (0,)).shape == (0,)


def test_crops_at_random_places():
    image = nd.array(onp.arange(8 * 9 * 3).reshape(8, 9, 3) % 251, dtype="uint8")
    for share, total in ((0, 3570), (0.3, 3750), (0.5, 5550), (1, 9330)):
        part = nd.image.random_crop(image, xrange=(share, share), yrange=(share, share), width=4, height=5)
        assert part.shape == (5, 4, 3) and part.asnumpy().sum() == total
    larger = nd.image.random_crop(image, xrange=(1, 1), yrange=(0, 0), width=12, height=16).asnumpy()
    assert larger.shape == (16, 12, 3) and abs(int(larger.sum()) - 64407) < 64
    whole = nd.image.random_resized_crop(image, width=9, height=8, area=(1, 1), ratio=(1.125, 1.125))
    assert (whole.asnumpy() == image.asnumpy()).all()
    places = {int(nd.image.random_crop(image, width=3, height=3).asnumpy()[0, 0, 0]) for _ in range(20)}
    assert len(places) > 5
    batch = npx.image.random_resized_crop(np.ones((2, 8, 9, 3)), width=3, height=4)
    assert batch.shape == (2, 4, 3, 3)
    with pytest.raises(MXNetError):
        nd.image.random_crop(image, xrange=(0.6, 0.2), width=3, height=3)
    for word, bounds in (
        ("ratio", (0, 0)),
        ("ratio", (-1, -1)),
        ("area", (0.1, 0.5, 1)),
        ("area", (-1, 1)),
        ("area", (1,)),
    ):
        with pytest.raises(MXNetError, match=rf"random_resized_crop: {word}=.* accepted are two numbers"):
            nd.image.random_resized_crop(image, width=3, height=3, **{word: bounds})


def test_integers_of_different_types_and_angles():
    shifted = np.bitwise_left_shift(np.array([1, -3], dtype="int32"), np.array([2, 1], dtype="int64"))
    assert shifted.dtype == "int64" and shifted.asnumpy().tolist() == [4, -6]
    turned = np.deg2rad(np.array([180, 90], dtype="int32")), np.rad2deg(np.array([1, 2], dtype="int32"))
    assert {a.dtype.name for a in turned} == {"float32"}
    onp.testing.assert_allclose(turned[0].asnumpy(), [onp.pi, onp.pi / 2], rtol=1e-6)


@pytest.mark.parametrize("name", ["dgl_adjacency", "dgl_subgraph", "edge_id", "getnnz"])
def test_functions_of_arrays_alone_say_so_to_symbols(name):
    assert not hasattr(mx.sym.contrib, name)
    with pytest.raises(AttributeError, match=f"nd.contrib.{name} is one of arrays"):
        getattr(mx.sym.contrib, name)

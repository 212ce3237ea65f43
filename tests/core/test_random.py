"""Seeds, streams and the distributions behind the samplers."""

import math

import numpy as onp
import pytest

import core as mx
from core import nd, np
from core.dtypes import dtype_name


def test_one_seed_repeats_everything():
    def draw():
        mx.random.seed(11)
        with mx.autograd.train_mode():
            return [
                nd.random.uniform(shape=5).asnumpy(), nd.random.normal(shape=5).asnumpy(), nd.Dropout(nd.ones(50)).asnumpy(),
                nd.random.shuffle(nd.arange(20)).asnumpy(), nd.random.randint(0, 9, 5).asnumpy(),
            ]  # fmt: skip

    first, second = draw(), draw()
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert not (nd.random.uniform(shape=5).asnumpy() == first[0]).all()


def test_contexts_have_streams_of_their_own():
    mx.random.seed(1)
    a = nd.random.uniform(shape=4, ctx=mx.cpu(0)).asnumpy()
    b = nd.random.uniform(shape=4, ctx=mx.cpu(1)).asnumpy()
    assert not (a == b).all()
    mx.random.seed(1, ctx=mx.cpu(1))
    assert not (nd.random.uniform(shape=4, ctx=mx.cpu(0)).asnumpy() == a).all()
    assert (nd.random.uniform(shape=4, ctx=mx.cpu(1)).asnumpy() == b).all()
    mx.random.seed(1, ctx="cpu")
    assert (nd.random.uniform(shape=4, ctx=mx.cpu(0)).asnumpy() == a).all()
    with pytest.raises(mx.MXNetError, match=r"unknown device type 'cpu\(1\)'; accepted are cpu"):
        mx.random.seed(1, ctx="cpu(1)")


def test_the_state_can_be_kept_and_put_back():
    mx.random.seed(5)
    nd.random.uniform(shape=3)
    state = mx.random.get_state()
    a = nd.random.normal(shape=3).asnumpy()
    mx.random.set_state(state)
    assert (nd.random.normal(shape=3).asnumpy() == a).all()


@pytest.mark.parametrize(
    "name, arguments, mean, deviation",
    [
        ("uniform", {"low": -1, "high": 3}, 1.0, 4 / math.sqrt(12)),
        ("normal", {"loc": 2, "scale": 3}, 2.0, 3.0),
        ("exponential", {"scale": 2}, 2.0, 2.0),
        ("gamma", {"alpha": 3, "beta": 2}, 6.0, math.sqrt(12)),
        ("poisson", {"lam": 4}, 4.0, 2.0),
        ("negative_binomial", {"k": 3, "p": 0.4}, 4.5, math.sqrt(3 * 0.6) / 0.4),
        ("generalized_negative_binomial", {"mu": 2, "alpha": 0.5}, 2.0, 2.0),
    ],
)
def test_moments(name, arguments, mean, deviation):
    mx.random.seed(7)
    n = 20000
    x = getattr(nd.random, name)(shape=n, **arguments).asnumpy()
    assert abs(x.mean() - mean) < 5 * deviation / math.sqrt(n)
    kurtosis = onp.mean((x - x.mean()) ** 4) / x.var() ** 2
    assert abs(x.std() - deviation) < 5 * deviation * math.sqrt((kurtosis - 1) / (4 * n))


def test_arrays_of_parameters_give_samples_for_each():
    mx.random.seed(0)
    x = nd.random.normal(nd.array([0.0, 100.0]), nd.array([1.0, 1.0]), shape=1000)
    assert x.shape == (2, 1000)
    assert abs(x[0].asnumpy().mean()) < 0.2 and abs(x[1].asnumpy().mean() - 100) < 0.2


def test_gradients_reach_the_shape_of_gamma_samples(numpy_semantics):
    mx.random.seed(3)
    a = np.array([2.0, 5.0])
    a.attach_grad()
    with mx.autograd.record():
        mean = np.random.gamma(a, 3.0, size=(20000, 2)).mean(axis=0)
    mean.backward()
    # The mean of a gamma distribution is shape * scale.
    onp.testing.assert_allclose(a.grad.asnumpy(), [3.0, 3.0], rtol=0.05)


def test_multinomial_follows_the_probabilities():
    mx.random.seed(0)
    draws, logs = nd.random.multinomial(nd.array([[0.1, 0.9], [0.5, 0.5]]), shape=4000, get_prob=True)
    assert draws.shape == (2, 4000)
    share = draws.asnumpy().mean(1)
    assert abs(share[0] - 0.9) < 0.03 and abs(share[1] - 0.5) < 0.04
    onp.testing.assert_allclose(logs.asnumpy()[1], math.log(0.5), rtol=1e-5)


@pytest.mark.parametrize("given", ["abc", "5", 1.5, None, [1]])
def test_seeds_are_integers(given):
    with pytest.raises(ValueError, match="seed"):
        mx.random.seed(given)


def test_seeds_of_a_context_go_by_its_name_too():
    mx.random.seed(onp.int64(3), ctx="cpu")
    drawn = mx.nd.random.uniform(shape=(4,)).asnumpy()
    mx.random.seed(3, ctx=mx.cpu())
    assert (mx.nd.random.uniform(shape=(4,)).asnumpy() == drawn).all()


def test_a_row_of_zipfian_classes_has_none_twice():
    mx.random.seed(4)
    classes, draws = nd._internal._sample_unique_zipfian(750000, shape=(4, 8192))
    assert classes.dtype == draws.dtype == onp.int64 and classes.shape == (4, 8192) and draws.shape == (4,)
    assert all(len(set(row)) == 8192 for row in classes.asnumpy().tolist())
    # MXNet 1.9.1 draws some 16,150 times for a row of these, and the class 0 is among all its rows.
    assert (abs(draws.asnumpy() - 16150) < 400).all() and (classes.asnumpy() == 0).any(axis=1).all()
    whole = nd._internal._sample_unique_zipfian(6, shape=(1, 6))[0]
    assert sorted(whole.asnumpy()[0].tolist()) == list(range(6))
    with pytest.raises(mx.MXNetError, match="7 of 6 classes"):
        nd._internal._sample_unique_zipfian(6, shape=(1, 7))


def test_draws_into_an_array_have_its_shape_and_type():
    for sampler, kind in ((nd.random.randint, "int64"), (nd.random.uniform, "float64")):
        out = nd.zeros((3, 2), dtype=kind)
        assert sampler(3, 9, out=out) is out and out.asnumpy().min() >= 3 and out.dtype == onp.dtype(kind)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_types_of_samples_are_those_asked_for(numpy_semantics, kind):
    """As in MXNet: the types of arrays of parameters do not show."""
    values = np.array([1.0, 2.0], dtype=kind)
    one = {
        "gumbel": (0, values),
        "logistic": (values, 1),
        "pareto": (values,),
        "power": (values,),
        "rayleigh": (values,),
    }
    for name, parameters in (one | {"weibull": (values,)}).items():
        assert getattr(np.random, name)(*parameters).dtype == onp.float32, name
    two = {"uniform": (values, 3), "normal": (0, values), "gamma": (values,), "chisquare": (values,)}
    for name, parameters in two.items():
        assert getattr(np.random, name)(*parameters).dtype == onp.float32, name
        for asked in ("float16", "float64"):
            assert getattr(np.random, name)(*parameters, dtype=asked).dtype == onp.dtype(asked), name
    for name, numbers in {"uniform": (0, 2), "normal": (0, 2), "gamma": (2, 2), "exponential": (2,)}.items():
        assert dtype_name(getattr(np.random, name)(*numbers, size=3, dtype="bfloat16").dtype) == "bfloat16", name


def test_samples_are_made_on_the_device_that_is_asked_for():
    one = {"exponential", "chisquare", "rayleigh", "weibull", "pareto", "power", "poisson"}
    parameters = dict.fromkeys(one, (2.0,)) | {
        "random": (), "bernoulli": (0.5,), "geometric": (0.5,), "choice": (4,), "permutation": (4,), "randint": (2, 9),
        "multinomial": (4, [0.5, 0.5]), "binomial": (4, 0.5),
    }  # fmt: skip
    two = ("uniform", "normal", "lognormal", "gamma", "beta", "f", "gumbel", "logistic", "laplace")
    for name, given in (parameters | dict.fromkeys(two, (2.0, 3.0))).items():
        draw = getattr(np.random, name)
        assert draw(*given).context == mx.cpu(0), name
        for keyword in ("ctx", "device"):
            assert draw(*given, **{keyword: mx.cpu(1)}).context == mx.cpu(1), name

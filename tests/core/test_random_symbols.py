"""Samplers as symbols, and densities of the Dirichlet distribution."""

import numpy as np
import pytest
from scipy import stats

import core as mx


@pytest.mark.parametrize(
    ("name", "parameters", "mean"),
    [("normal", {"loc": 2, "scale": 0.1}, 2), ("exponential", {"scale": 2.0}, 2), ("uniform", {"low": 1, "high": 3}, 2),
     ("gamma", {"alpha": 4, "beta": 0.5}, 2), ("poisson", {"lam": 2}, 2)],
)  # fmt: skip
def test_parameters_are_numbers_or_symbols(name, parameters, mean):
    sampler = getattr(mx.sym.random, name)
    mx.random.seed(0)
    drawn = sampler(shape=(2000,), **parameters).eval(mx.cpu())[0].asnumpy()
    assert drawn.shape == (2000,) and abs(drawn.mean() - mean) < 0.25
    symbols = {key: mx.sym.var(key) for key in parameters}
    values = {key: mx.nd.array([value, value]) for key, value in parameters.items()}
    drawn = sampler(shape=(1000,), **symbols).bind(mx.cpu(), values).forward()[0].asnumpy()
    assert drawn.shape == (2, 1000) and np.abs(drawn.mean(1) - mean).max() < 0.3


def test_draws_without_a_shape_have_the_one_that_follows():
    for sampler, kind in ((mx.sym.random.normal, "float32"), (mx.sym.random.randint, "int32")):
        noisy = mx.sym.var("x", dtype=kind) + sampler(2, 5)
        assert noisy.infer_shape(x=(3, 2))[1] == [(3, 2)]
        out = noisy.bind(mx.cpu(), {"x": mx.nd.zeros((3, 200), dtype=kind)}).forward()[0]
        assert out.dtype == np.dtype(kind) and len(set(out.asnumpy().ravel().tolist())) > 1
        assert sampler(2, 5).eval(mx.cpu())[0].shape == (1,)


def test_mixed_parameters_are_refused():
    with pytest.raises(ValueError, match="all numbers or all symbols"):
        mx.sym.random.normal(mx.sym.var("loc"), 1, shape=(2,))


def test_shuffled_symbols_keep_their_rows():
    x = mx.nd.arange(10)
    assert sorted(mx.sym.random.shuffle(mx.sym.var("x")).eval(mx.cpu(), x=x)[0].asnumpy()) == list(range(10))
    assert mx.sym.random.randn(2, 3).eval(mx.cpu())[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("sample", "alpha", "shape"), [((4, 2), (4, 2), (4,)), ((4, 3, 2), (4, 2), (4, 3)), ((3, 2), (2,), (3,))]
)
def test_densities_of_one_or_several_samples_a_row(sample, alpha, shape):
    density = mx.nd.random_pdf_dirichlet(mx.nd.full(sample, 0.5), mx.nd.full(alpha, 2.0))
    assert density.shape == shape
    np.testing.assert_allclose(density.asnumpy(), 1.5, rtol=1e-5)


@pytest.mark.parametrize(("samples", "parameters"), [((2,), (2,)), ((2, 3, 2), (2,)), ((2, 3), (2, 3)), ((0, 2), (0,))])
def test_densities_of_samples_along_any_number_of_axes(samples, parameters):
    generator = np.random.default_rng(0)
    x, scale = generator.uniform(0.5, 1.5, samples), generator.uniform(0.5, 1.5, parameters)
    density = mx.nd.random_pdf_exponential(mx.nd.array(x), mx.nd.array(scale))
    rate = scale.reshape(parameters + (1,) * (len(samples) - len(parameters)))
    np.testing.assert_allclose(density.asnumpy(), rate * np.exp(-rate * x), rtol=1e-5)


def test_dirichlet_densities_of_samples_along_two_axes():
    generator = np.random.default_rng(0)
    alpha, x = generator.uniform(1, 3, (2, 3)), generator.dirichlet([2, 2, 2], (2, 4, 5))
    density = mx.nd.random_pdf_dirichlet(mx.nd.array(x), mx.nd.array(alpha)).asnumpy()
    for row, a, values in zip(density, alpha, x, strict=True):
        expected = stats.dirichlet(a).pdf(values.reshape(20, 3).T).reshape(4, 5)
        np.testing.assert_allclose(row, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("density", "samples", "parameters"),
    [("poisson", (2, 2), (1,)), ("poisson", (3,), (1,)), ("poisson", (2,), (2, 3)), ("dirichlet", (4, 2), (1,))],
)
def test_densities_refuse_parameters_of_other_rows(density, samples, parameters):
    """As MXNet 1.9.1, where they would be repeated against each other."""
    with pytest.raises(mx.MXNetError, match="first axes of the samples"):
        getattr(mx.nd, f"random_pdf_{density}")(mx.nd.ones(samples), mx.nd.ones(parameters))


def test_categorical_is_the_second_name_of_multinomial():
    weights = mx.nd.array([[0, 1, 0]])
    drawn = mx.sym.random.categorical(mx.sym.var("x"), shape=2, get_prob=False).eval(mx.cpu(), x=weights)[0]
    np.testing.assert_array_equal(drawn.asnumpy(), [[1, 1]])


def test_densities_of_symbols():
    density = mx.sym.random_pdf_exponential(mx.sym.var("x"), mx.sym.var("scale"))
    drawn = density.bind(mx.cpu(), {"x": mx.nd.ones((2, 3, 2)), "scale": mx.nd.array([1, 2])}).forward()[0]
    assert density.infer_shape(x=(2, 3, 2), scale=(2,))[1] == [(2, 3, 2)]
    np.testing.assert_allclose(drawn.asnumpy()[:, 0, 0], [np.exp(-1), 2 * np.exp(-2)], rtol=1e-5)

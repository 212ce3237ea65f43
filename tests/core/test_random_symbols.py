"""Samplers as symbols, and densities of the Dirichlet distribution."""

import numpy as np
import pytest

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

"""Distributions, transformations and divergences over `np` arrays, and blocks that collect losses (MXNet 2)."""

from functools import cached_property

from gluon.probability import constraint
from gluon.probability.continuous import (
    Beta,
    Cauchy,
    Chi2,
    Exponential,
    FisherSnedecor,
    Gamma,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Laplace,
    Normal,
    Pareto,
    StudentT,
    Uniform,
    Weibull,
)
from gluon.probability.discrete import Bernoulli, Binomial, Categorical, Geometric, NegativeBinomial, Poisson
from gluon.probability.distribution import (
    Distribution,
    ExponentialFamily,
    digamma,
    gammaln,
    logit2prob,
    prob2logit,
    sum_right_most,
)
from gluon.probability.divergence import empirical_kl, kl_divergence, register_kl
from gluon.probability.multivariate import Dirichlet, Independent, Multinomial, MultivariateNormal, OneHotCategorical
from gluon.probability.stochastic_block import StochasticBlock, StochasticSequential
from gluon.probability.transformation import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftmaxTransform,
    Transformation,
    TransformBlock,
    biject_to,
    domain_map,
    transform_to,
)
from gluon.probability.transformed import RelaxedBernoulli, RelaxedOneHotCategorical, TransformedDistribution

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2",
    "ComposeTransform", "Dirichlet", "Distribution", "ExpTransform", "Exponential", "ExponentialFamily",
    "FisherSnedecor", "Gamma", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "Laplace",
    "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "Pareto", "Poisson",
    "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "SigmoidTransform", "SoftmaxTransform",
    "StochasticBlock", "StochasticSequential", "StudentT", "TransformBlock", "Transformation",
    "TransformedDistribution", "Uniform", "Weibull", "biject_to", "cached_property", "constraint", "digamma",
    "domain_map", "empirical_kl", "gammaln", "kl_divergence", "logit2prob", "prob2logit", "register_kl",
    "sum_right_most", "transform_to",
]  # fmt: skip

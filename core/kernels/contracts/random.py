"""Random samplers: the numbers are a function of `key` (0 <= key < 2**63), shape, dtype and backend alone.

Parameters are numbers or tensors that broadcast to `shape`; a key is a number, or an int64 tensor of one element.
Samplers of half types draw in float32. Floor: the bytes of the result (and of parameters that are tensors); gamma and
Poisson are bound by their arithmetic.
"""

from __future__ import annotations

import torch
from torch import Tensor

from core.kernels.contracts.rules import empty
from core.kernels.contracts.types import Ints, Key, Parameter
from core.kernels.dispatch import kernel


@kernel
def uniform(shape: Ints, low: Parameter, high: Parameter, dtype: torch.dtype, device: torch.device, key: Key) -> Tensor:
    """Uniform on [low, high), of `shape` and float `dtype`."""
    return empty(shape, dtype)


@kernel
def normal(shape: Ints, loc: Parameter, scale: Parameter, dtype: torch.dtype, device: torch.device, key: Key) -> Tensor:
    """Normal with mean `loc` and standard deviation `scale`."""
    return empty(shape, dtype)


@kernel
def randint(shape: Ints, low: int, high: int, dtype: torch.dtype, device: torch.device, key: Key) -> Tensor:
    """Integers low <= x < high (Python ints)."""
    return empty(shape, dtype)


@kernel
def bernoulli(shape: Ints, p: Parameter, dtype: torch.dtype, device: torch.device, key: Key) -> Tensor:
    """1 with probability `p`, else 0."""
    return empty(shape, dtype)


@kernel
def exponential(shape: Ints, scale: Parameter, dtype: torch.dtype, device: torch.device, key: Key) -> Tensor:
    """Exponential with mean `scale`."""
    return empty(shape, dtype)


@kernel
def gamma(shape: Ints, alpha: Parameter, beta: Parameter, dtype: torch.dtype, device: torch.device, key: Key) -> Tensor:
    """Gamma of shape parameter `alpha` and scale `beta`: mean alpha * beta (on a GPU by Marsaglia and Tsang, 2000)."""
    return empty(shape, dtype)


@kernel
def poisson(shape: Ints, lam: Parameter, dtype: torch.dtype, device: torch.device, key: Key) -> Tensor:
    """Poisson of mean `lam`; on a GPU by inversion below 10, from there on by transformed rejection (Hörmann, 1993)."""
    return empty(shape, dtype)


@kernel
def negative_binomial(
    shape: Ints, k: Parameter, p: Parameter, dtype: torch.dtype, device: torch.device, key: Key
) -> Tensor:
    """Failures before the k-th success of probability `p`: a Poisson of Gamma(k, (1 - p) / p) mean."""
    return empty(shape, dtype)


@kernel
def generalized_negative_binomial(
    shape: Ints, mu: Parameter, alpha: Parameter, dtype: torch.dtype, device: torch.device, key: Key
) -> Tensor:
    """Negative binomial of mean `mu` and dispersion `alpha`: a Poisson of Gamma(1 / alpha, mu alpha) mean."""
    return empty(shape, dtype)


@kernel
def multinomial(probs: Tensor, n: int, key: Key) -> Tensor:
    """`n` categories with replacement from each row of `probs` (..., K; need not sum to 1): int64 (..., n)."""
    return empty((*probs.shape[:-1], n), torch.int64)


@kernel
def permutation(n: int, device: torch.device, key: Key) -> Tensor:
    """A random order of 0 .. n - 1, int64."""
    return empty((n,), torch.int64)


@kernel
def dropout(x: Tensor, p: float, key: Key, axes: Ints = (), salt: int = 0) -> Tensor:
    """x * mask / (1 - p) with a mask that is 0 with probability `p` and constant along `axes`.

    The mask follows from `key`, so the function is linear in `x` and its own gradient. salt: makes several masks of one
    key, also where that lies in memory; the mask is that of the key `key ^ salt`.
    """
    return empty(x.shape, x.dtype, x)

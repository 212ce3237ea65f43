"""Checks that samples follow a distribution."""

from __future__ import annotations

import itertools

import numpy as np

from core.extras import load


def gen_buckets_probs_with_ppf(ppf, nbuckets):
    """(intervals of equal probability, their probabilities) of a distribution, from its percent point function."""
    if nbuckets <= 0:
        raise AssertionError(f"the number of buckets is positive, got {nbuckets}")
    ends = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(itertools.pairwise(ends)), [1.0 / nbuckets] * nbuckets


def mean_check(generator, mu, sigma, nsamples=1000000):
    """Whether the mean of samples lies within three standard errors of `mu`."""
    return bool(abs(np.asarray(generator(nsamples)).mean() - mu) < 3 * sigma / np.sqrt(nsamples))


def var_check(generator, sigma, nsamples=1000000):
    """Whether the variance of samples lies within three standard errors of `sigma`^2."""
    error = 3 * np.sqrt(2 * sigma**4 / (nsamples - 1))
    return bool(abs(np.asarray(generator(nsamples)).var(ddof=1) - sigma**2) < error)


def chi_square_check(generator, buckets, probs, nsamples=1000000):
    """(p-value, observed counts, expected counts) of Pearson's test of samples against probabilities.

    buckets: values, or intervals in rising order.
    """
    stats = load("scipy.stats", "chi_square_check")

    if not isinstance(buckets, list) or len(buckets) != len(probs):
        raise AssertionError("buckets is a list with as many entries as probs")
    samples = np.asarray(generator(nsamples)).reshape(-1)
    expected = (nsamples * np.array(probs, dtype=np.float32)).astype(np.int32)
    if isinstance(buckets[0], (list, tuple)):
        flat = np.array(buckets, dtype=np.float32).reshape(-1)
        if (np.diff(flat) < 0).any():
            raise AssertionError("the intervals are to be in rising order")
        places = np.searchsorted(flat, samples, side="right") // 2
        observed = np.array([(places == i).sum() for i in range(len(buckets))])
    else:
        observed = np.array([(samples == value).sum() for value in buckets])
    # The expected counts are rounded, and samples may lie in no bucket: the test compares shares.
    share = expected.astype(np.float64) * (observed.sum() / expected.sum())
    return stats.chisquare(observed, share)[1], observed, expected


def verify_generator(generator, buckets, probs, nsamples=1000000, nrepeat=5, success_rate=0.2, alpha=0.05):
    """The p-values of `nrepeat` tests; AssertionError where less than the share `success_rate` exceeds `alpha`."""
    results = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [p for p, _, _ in results]
    if sum(p > alpha for p in values) < nrepeat * success_rate:
        _, observed, expected = results[-1]
        raise AssertionError(
            f"the samples do not follow the distribution: p {values}; counts {observed} for {expected}"
        )
    return values

"""Samplers: the values are those that MXNet 1.9.1 gives for the same expressions."""

import numpy as np
import pytest

from gluon.data import BatchSampler, FilterSampler, IntervalSampler, RandomSampler, SequentialSampler


def test_sequential():
    assert list(SequentialSampler(3, 4)) == [4, 5, 6] and len(SequentialSampler(3, 4)) == 3


def test_random_is_a_permutation_that_numpy_seeds():
    np.random.seed(3)
    first = list(RandomSampler(50))
    np.random.seed(3)
    again = list(RandomSampler(50))
    assert first == again != list(RandomSampler(50)) and sorted(first) == list(range(50))


def test_filter():
    sampler = FilterSampler(lambda x: x > 1, [1, 2, 3])
    assert list(sampler) == [1, 2] and len(sampler) == 2


def test_interval():
    assert list(IntervalSampler(10, 3)) == [0, 3, 6, 9, 1, 4, 7, 2, 5, 8]
    assert list(IntervalSampler(10, 3, rollover=False)) == [0, 3, 6, 9]
    assert len(IntervalSampler(10, 3, rollover=False)) == 10
    with pytest.raises(ValueError, match="interval 4, length 3"):
        IntervalSampler(3, 4)


@pytest.mark.parametrize(
    "last_batch, first, second",
    [
        ("keep", [[0, 1, 2], [3, 4, 5], [6]], [[0, 1, 2], [3, 4, 5], [6]]),
        ("discard", [[0, 1, 2], [3, 4, 5]], [[0, 1, 2], [3, 4, 5]]),
        ("rollover", [[0, 1, 2], [3, 4, 5]], [[6, 0, 1], [2, 3, 4]]),
    ],
)
def test_last_batch(last_batch, first, second):
    sampler = BatchSampler(SequentialSampler(7), 3, last_batch)
    for expected in (first, second):
        assert len(sampler) == len(expected)
        assert list(sampler) == expected


def test_batch_sampler_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="keep"):
        BatchSampler(SequentialSampler(7), 3, "drop")
    with pytest.raises(ValueError, match="1 or more"):
        BatchSampler(SequentialSampler(7), 0)


def test_the_place_of_mxnet_1():
    from gluon.contrib.data import sampler

    assert sampler.IntervalSampler is IntervalSampler


def test_parts_of_101_samples_say_what_becomes_of_the_odd_one():
    from gluon.data import SplitSampler

    def parts(**how):
        return [sorted(SplitSampler(101, 2, k, **how)) for k in range(2)]

    first, second = parts()
    assert (len(first), len(second)) == (51, 50) and first + second == list(range(101))
    for pad in (True, "pad"):
        first, second = parts(even_size=pad)
        assert (len(first), len(second)) == (51, 51) and set(first + second) == set(range(101))
    assert parts(even_size="drop") == [list(range(50)), list(range(50, 100))]
    with pytest.raises(ValueError, match="even_size is False, True, 'pad' or 'drop', got 'cut'"):
        SplitSampler(101, 2, even_size="cut")

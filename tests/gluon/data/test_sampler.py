"""Samplers: the values are those that MXNet 1.9.1 gives for the same expressions."""

import itertools

import numpy as np
import pytest

from gluon.data import BatchSampler, FilterSampler, IntervalSampler, RandomSampler, SequentialSampler, SplitSampler


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


def test_a_seed_gives_all_parts_the_same_batches_whatever_their_number():
    def batches(parts, epoch, done=0, **how):
        """Batches of 12 of all parts together, sorted."""
        found = []
        for part in range(parts):
            sampler = SplitSampler(48, parts, part, seed=5, **how)
            sampler.set_epoch(epoch, done)
            assert len(sampler) == (48 - done) // parts
            found.append(list(sampler))
        size = 12 // parts
        return [sorted(itertools.chain(*(f[k : k + size] for f in found))) for k in range(0, len(found[0]), size)]

    assert batches(2, 0) == batches(3, 0) == batches(1, 0) != batches(1, 1)
    assert sorted(itertools.chain(*batches(3, 1))) == list(range(48))
    assert batches(3, 1, done=24) == batches(2, 1)[2:]
    assert batches(4, 0, shuffle=False) == [list(range(k, k + 12)) for k in (0, 12, 24, 36)]
    sampler = SplitSampler(10, 3, 0, "drop", seed=5)
    first, second = list(sampler), list(sampler)
    assert len(first) == len(second) == 3 and first != second
    parts = [list(SplitSampler(10, 3, part, "pad", seed=5)) for part in range(3)]
    assert [len(p) for p in parts] == [4, 4, 4] and set(itertools.chain(*parts)) == set(range(10))
    with pytest.raises(ValueError, match="a multiple of 3 parts up to 10 samples, got 4"):
        sampler.set_epoch(0, 4)
    with pytest.raises(ValueError, match="for a SplitSampler with a seed"):
        SplitSampler(10, 2, 0).set_epoch(1)
    with pytest.raises(ValueError, match="repeat is 1"):
        SplitSampler(10, 2, 0, repeat=2, seed=1)

"""Datasets: the values are those that MXNet 1.9.1 gives for the same expressions."""

import pickle

import numpy as np
import pytest

from gluon.data import ArrayDataset, Dataset, SequentialSampler, SimpleDataset


def times_ten(x):
    return x * 10


def test_shards_cover_the_set_and_the_first_are_longer():
    shards = [list(SimpleDataset(range(7)).shard(3, i)) for i in range(3)]
    assert shards == [[0, 1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("shards, index", [(2, 2), (2, 5), (0, 0), (2, -1)])
def test_shard_refuses_an_index_out_of_range(shards, index):
    with pytest.raises(ValueError, match="out of range"):
        SimpleDataset([1, 2]).shard(shards, index)


@pytest.mark.parametrize("count, taken", [(0, []), (2, [5, 6]), (9, [5, 6, 7]), (None, [5, 6, 7])])
def test_take(count, taken):
    assert list(SimpleDataset([5, 6, 7]).take(count)) == taken


def test_take_of_a_negative_count_has_no_length():
    taken = SimpleDataset([1]).take(-1)  # made without an error, as in MXNet
    with pytest.raises(ValueError, match="__len__"):
        len(taken)


def test_filter_and_sample():
    numbers = SimpleDataset(list(range(6)))
    assert list(numbers.filter(lambda x: x % 2)) == [1, 3, 5]
    assert list(numbers.sample(SequentialSampler(2, 3))) == [3, 4]
    with pytest.raises(TypeError, match="Invalid sampler type"):
        numbers.sample([0])


def test_transform_spreads_tuples_but_not_lists():
    pairs = ArrayDataset([1, 2], [3, 4])
    assert list(pairs.transform(lambda a, b: a + b)) == [4, 6]
    assert list(pairs.transform_first(times_ten)) == [(10, 3), (20, 4)]
    assert SimpleDataset([[1, 2]]).transform(lambda a, b=9: (a, b))[0] == ([1, 2], 9)


def test_lazy_transform_runs_at_each_access_and_the_other_once():
    calls = []
    lazy = SimpleDataset([1, 2]).transform(lambda x: calls.append(x) or x)
    assert calls == [] and [lazy[0], lazy[0]] == [1, 1] and calls == [1, 1]
    calls.clear()
    eager = SimpleDataset([1, 2]).transform(lambda x: calls.append(x) or x, lazy=False)
    assert calls == [1, 2] and list(eager) == [1, 2] and calls == [1, 2]


def test_views_pickle():
    view = ArrayDataset(np.arange(3), [3, 4, 5]).transform_first(times_ten).take(2)
    assert list(pickle.loads(pickle.dumps(view))) == [(0, 3), (10, 4)]


def test_array_dataset_wants_one_length():
    assert list(ArrayDataset([5, 6])) == [5, 6]
    with pytest.raises(ValueError, match=r"\[2, 1\]"):
        ArrayDataset([1, 2], [3])
    for kind in (ValueError, AssertionError):  # the second is MXNet's
        with pytest.raises(kind, match="at least 1"):
            ArrayDataset()


def test_base_names_the_class_that_lacks_a_method():
    class Mine(Dataset):
        pass

    with pytest.raises(NotImplementedError, match="Mine must define __len__"):
        len(Mine())

"""Rules of names in other libraries, and values that are laid out otherwise there."""

import numpy as np
import pytest

from core.base import MXNetError
from gluon.model_zoo.names import Counterpart, counterparts, to_ours, to_theirs


def names(*given, rules, sets=None, lengths=None):
    return [place.name for place in counterparts(given, rules, sets or {}, lengths).values()]


def test_the_first_rule_that_matches_whole_segments_counts():
    rules = {"features.1": "bn", "features.{s+4}.{b}": "layer{s+1}.{b}", "fc": "head"}
    given = ("features.1.gamma", "features.10.2.weight", "features.1x.weight", "fc.bias", "other.running_mean")
    assert names(*given, rules=rules) == [
        "bn.weight", "layer7.2.weight", "features.1x.weight", "head.bias", "other.running_mean",
    ]  # fmt: skip


def test_numbers_have_factors_offsets_and_limits():
    rules = {"a.{2*n+4:3}": "b.{n+1}", "a.{n}": "rest.{3*n+1}"}
    assert names("a.4", "a.5", "a.8", "a.10", rules=rules) == ["b.1", "rest.16", "b.3", "rest.31"]


def test_sets_words_and_the_end_of_a_sequence():
    rules = {"stage<x>.{n}": ["<x>.{n}", "block"], "features.-2": "classifier.0|dense"}
    sets = {"block": {"body.{3*k}": "conv{k+1}", "se": "attention|conv"}}
    assert names("stageA.0.body.3.weight", "stageA.0.skip.beta", rules=rules, sets=sets) == [
        "A.0.conv2.weight", "A.0.skip.bias",
    ]  # fmt: skip
    found = counterparts(["features.7.weight", "stageB.1.se.0.weight"], rules, sets, {"features": 9})
    assert list(found.values()) == [
        Counterpart("classifier.0.weight", "dense"),
        Counterpart("B.1.attention.0.weight", "conv"),
    ]


@pytest.mark.parametrize(
    ("layout", "shape"),
    [("dense", (5, 3, 1, 1)), ("conv", (5, 3)), ("patches 2", (5, 12)), ("transposed", (5, 3)), ("behind 2", (5, 3))],
)
def test_layouts_lose_no_bit(layout, shape):
    value = np.random.RandomState(0).standard_normal(shape).astype("float32")
    theirs = to_theirs(value, layout)
    assert theirs.shape != shape
    np.testing.assert_array_equal(to_ours(theirs, layout, shape), value)


def test_what_a_layout_would_lose_is_refused():
    value = np.zeros((2, 5), "float32")
    value[:, 3:] = 1
    assert to_theirs(value, "last 2 5").shape == (2, 2, 1, 1)
    value[0, 0] = 1
    with pytest.raises(MXNetError, match="5 features here"):
        to_theirs(value, "last 2 5")
    with pytest.raises(MXNetError, match=r"\(4, 0\) here and \(2, 5\) there"):
        to_ours(value, "", (4, 0))

"""Metrics: what the recorded cases do not reach, against scikit-learn."""

import numpy as np
import pytest

import core as mx
from core import nd

sklearn = pytest.importorskip("sklearn.metrics")
NUMBERS = np.random.RandomState(0)
LABELS = [NUMBERS.randint(0, 2, 20) for _ in range(3)]
SCORES = [NUMBERS.random_sample((20, 2)).astype("float32") for _ in range(3)]


def run(metric, labels=LABELS, scores=SCORES):
    for label, score in zip(labels, scores):
        metric.update([nd.array(label)], [nd.array(score)])
    return metric.get()[1]


def decisions():
    return np.concatenate(LABELS), np.concatenate([score.argmax(1) for score in SCORES])


def test_micro_averages_are_those_of_all_instances():
    labels, chosen = decisions()
    assert run(mx.metric.F1(average="micro")) == pytest.approx(sklearn.f1_score(labels, chosen))
    assert run(mx.metric.MCC(average="micro")) == pytest.approx(sklearn.matthews_corrcoef(labels, chosen))
    assert run(mx.metric.PCC()) == pytest.approx(sklearn.matthews_corrcoef(labels, chosen))


def test_many_classes():
    labels = [NUMBERS.randint(0, 5, 30)]
    scores = [NUMBERS.random_sample((30, 5)).astype("float32")]
    assert run(mx.metric.TopKAccuracy(3), labels, scores) == pytest.approx(
        sklearn.top_k_accuracy_score(labels[0], scores[0], k=3)
    )
    assert run(mx.metric.PCC(), labels, scores) == pytest.approx(
        sklearn.matthews_corrcoef(labels[0], scores[0].argmax(1))
    )


def test_micro_correlation_of_several_batches():
    labels = [NUMBERS.standard_normal(10) + 5 for _ in range(4)]
    preds = [label + NUMBERS.standard_normal(10) for label in labels]
    got = run(mx.metric.PearsonCorrelation(average="micro"), labels, preds)
    assert got == pytest.approx(np.corrcoef(np.concatenate(labels), np.concatenate(preds))[0, 1], rel=1e-5)


def test_composites_and_names():
    both = mx.metric.create(["acc", mx.metric.F1()])
    run(both)
    names, values = both.get()
    assert names == ["accuracy", "f1"]
    assert len(values) == 2
    assert dict(both.get_name_value())["accuracy"] == values[0]
    with pytest.raises(mx.MXNetError, match="accuracy"):
        mx.metric.create("accurac")


def test_different_numbers_are_refused():
    with pytest.raises(ValueError, match="number"):
        mx.metric.Accuracy().update([nd.ones((2,))], [nd.ones((2, 2)), nd.ones((2, 2))])


def test_correlations_of_batches_and_of_all():
    labels = [np.array([1.0, 2.0, 4.0]), np.array([5.0, 1.0, 0.0, 2.0])]
    preds = [np.array([2.0, 1.0, 5.0]), np.array([1.0, 4.0, 2.0, 9.0])]
    each = [np.corrcoef(a, b)[0, 1] for a, b in zip(labels, preds)]
    assert run(mx.metric.PearsonCorrelation(), labels, preds) == pytest.approx(np.mean(each))
    micro = mx.metric.PearsonCorrelation(average="micro")
    assert np.isnan(micro.get()[1])
    whole = np.corrcoef(np.concatenate(labels), np.concatenate(preds))[0, 1]
    assert run(micro, labels, preds) == pytest.approx(whole)
    micro.reset()
    assert run(micro, labels[1:], preds[1:]) == pytest.approx(each[1])
    with pytest.raises(ValueError, match="average"):
        mx.metric.PearsonCorrelation(average="mean")


def test_the_highest_scores_are_those_that_count():
    scores = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], "float32")
    for label, share in (([3, 0], 1.0), ([2, 1], 1.0), ([1, 2], 0.0), ([0, 3], 0.0), ([3, 3], 0.5)):
        assert run(mx.metric.TopKAccuracy(2), [np.array(label)], [scores]) == share
    metric = mx.metric.TopKAccuracy(top_k=9)  # more than there are classes
    assert run(metric, [np.array([0, 3])], [scores]) == 1 and metric.name == "top_k_accuracy_9"
    with pytest.raises(AssertionError, match="above 1"):
        mx.metric.TopKAccuracy(1)


def test_deviations_are_averaged_over_batches():
    labels, preds = [np.array([1.0, 2.0]), np.array([4.0])], [np.array([2.0, 4.0]), np.array([1.0])]
    assert run(mx.metric.MAE(), labels, preds) == pytest.approx((1.5 + 3) / 2)
    assert run(mx.metric.MSE(), labels, preds) == pytest.approx((2.5 + 9) / 2)
    assert run(mx.metric.RMSE(), labels, preds) == pytest.approx((2.5**0.5 + 3) / 2)


def test_probabilities_of_the_labels():
    labels, probabilities = [np.array([0, 1])], [np.array([[0.5, 0.5], [0.75, 0.25]], "float32")]
    mean = -np.log([0.5, 0.25]).mean()
    assert run(mx.metric.CrossEntropy(), labels, probabilities) == pytest.approx(mean)
    assert run(mx.metric.NegativeLogLikelihood(), labels, probabilities) == pytest.approx(mean)
    assert run(mx.metric.Perplexity(None), labels, probabilities) == pytest.approx(np.exp(mean))
    assert run(mx.metric.Perplexity(ignore_label=1), labels, probabilities) == pytest.approx(2)


def test_what_is_reported_locally_and_in_all():
    metric = mx.metric.Accuracy()
    metric.update([nd.array([0, 1])], [nd.array([[1, 0], [1, 0]])])
    metric.reset_local()
    metric.update([nd.array([0, 0, 1])], [nd.array([[1, 0], [1, 0], [0, 1]])])
    assert metric.get() == ("accuracy", 1.0) and metric.get_global() == ("accuracy", 0.8)
    metric.reset()
    assert np.isnan(metric.get_global()[1])

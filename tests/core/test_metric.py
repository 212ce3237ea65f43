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

"""Metrics of MXNet 2 against scikit-learn, and against numbers worked out by hand."""

import json
import math

import numpy as np
import pytest

import core as mx
from gluon import metric

sklearn = pytest.importorskip("sklearn.metrics")
NUMBERS = np.random.RandomState(3)


def run(measure, pairs):
    for label, pred in pairs:
        measure.update([mx.np.array(label)], [mx.np.array(pred)])
    return measure.get()[1]


def batches(label, pred):
    return [(label(n), pred(n).astype("float32")) for n in (9, 4)]


def joined(pairs):
    return (np.concatenate(part) for part in zip(*pairs))


BINARY = batches(lambda n: NUMBERS.randint(0, 2, n), lambda n: NUMBERS.rand(n))
CLASSES = batches(lambda n: NUMBERS.randint(0, 4, n), lambda n: NUMBERS.dirichlet(np.ones(4), n))
LABELS = batches(lambda n: NUMBERS.randint(0, 2, (n, 3)), lambda n: NUMBERS.rand(n, 3))


@pytest.mark.parametrize("average", ["micro", "macro", None])
@pytest.mark.parametrize("beta", [1, 2])
def test_f_scores_of_classes_and_labels(average, beta):
    label, pred = joined(CLASSES)
    expected = sklearn.fbeta_score(label, pred.argmax(1), beta=beta, average=average, labels=range(4))
    got = run(metric.Fbeta(class_type="multiclass", beta=beta, average=average), CLASSES)
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    label, pred = joined(LABELS)
    thresholds = np.array([0.2, 0.5, 0.7])
    expected = sklearn.fbeta_score(label, pred > thresholds, beta=beta, average=average)
    got = run(
        metric.Fbeta(class_type="multilabel", beta=beta, threshold=mx.np.array(thresholds), average=average), LABELS
    )
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_two_classes_by_one_score_or_two():
    label, pred = joined(BINARY)
    two = [(label, np.stack([1 - pred, pred], 1)) for label, pred in BINARY]
    for pairs in (BINARY, two):
        assert run(metric.F1(), pairs) == pytest.approx(sklearn.f1_score(label, pred > 0.5))
        assert run(metric.MCC(), pairs) == pytest.approx(sklearn.matthews_corrcoef(label, pred > 0.5))
    assert run(metric.BinaryAccuracy(threshold=0.6), BINARY) == pytest.approx(np.mean((pred > 0.6) == label))
    with pytest.raises(ValueError, match="two classes"):
        run(metric.F1(), CLASSES)


def test_deviations_are_averaged_over_samples():
    pairs = batches(lambda n: NUMBERS.rand(n, 2), lambda n: NUMBERS.rand(n, 2))
    label, pred = joined(pairs)
    assert run(metric.MAE(), pairs) == pytest.approx(np.abs(label - pred).mean(), rel=1e-5)
    assert run(metric.RMSE(), pairs) == pytest.approx(math.sqrt(((label - pred) ** 2).mean()), rel=1e-5)
    expected = np.corrcoef(label.ravel(), pred.ravel())[0, 1]
    assert run(metric.create("pearsonr"), pairs) == pytest.approx(expected, rel=1e-5)


def test_cross_entropy_leaves_labels_out_and_takes_logits():
    label, pred = joined(CLASSES)
    chosen = pred[np.arange(len(label)), label][label != 2]
    expected = -np.log(chosen).mean()
    assert run(metric.CrossEntropy(ignore_label=2), CLASSES) == pytest.approx(expected, rel=1e-5)
    logits = [(label, np.log(pred) + 3) for label, pred in CLASSES]
    assert run(metric.create("ce", from_logits=True, ignore_label=2), logits) == pytest.approx(expected, rel=1e-4)
    assert run(metric.Perplexity(ignore_label=2), CLASSES) == pytest.approx(math.exp(expected), rel=1e-5)


def test_names_give_the_metrics_of_this_module():
    both = metric.create(["acc", "f1"])
    both.add("rmse")
    assert [type(m) for m in both.metrics] == [metric.Accuracy, metric.F1, metric.RMSE]
    assert metric.RMSE is not mx.metric.RMSE and isinstance(both, mx.metric.EvalMetric)
    again = metric.create(**metric.Fbeta(beta=3, average="macro").get_config())
    assert (type(again), again.beta, again.average) == (metric.Fbeta, 3, "macro")
    again = metric.create(**metric.MCC().get_config())
    assert type(again) is metric.MCC and math.isnan(again.get()[1])


def test_metrics_are_made_again_from_their_configurations():
    for made in (metric.create("f1", class_type="multiclass"), metric.create(["acc", "f1"])):
        again = metric.create(json.dumps(made.get_config()))
        assert type(again) is type(made) and again.get_config() == made.get_config()
    assert type(metric.create({"metric": "f1", "average": "micro"})) is metric.F1

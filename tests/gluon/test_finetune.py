"""Fine-tuning of classifiers: the recipe, averages of weights, the best epoch, evaluation, report, files."""

import json

import numpy as np
import pytest

import core as mx
from core import nd
from core.base import MXNetError
from gluon import HybridBlock, nn
from gluon.data import ArrayDataset, DataLoader
from gluon.finetune import Classifier, Evaluation, Recipe, held_out
from gluon.finetune.report import write_report


class Points(Classifier):
    """A sample is (four numbers, class)."""

    kind = "points"

    def loader(self, samples, batch_size, train):
        values = np.stack([values for values, _ in samples])
        labels = np.array([label for _, label in samples], "float32")
        return DataLoader(ArrayDataset(values, labels), batch_size, shuffle=train)

    def shown(self, thing):
        return f"<p>{thing.tolist()}</p>"

    @classmethod
    def restored(cls, net, classes, folder, context=None, **settings):
        return cls(net, classes, context=context)


def points(count=60, classes=3):
    numbers = np.random.RandomState(0)
    centres = 2 * numbers.standard_normal((classes, 4))
    labels = np.arange(count) % classes
    return [((centres[k] + numbers.standard_normal(4)).astype("float32"), int(k)) for k in labels]


def network(classes=3):
    mx.random.seed(1)
    net = nn.HybridSequential()
    net.add(nn.Dense(8, in_units=4, activation="relu"), nn.BatchNorm(in_channels=8), nn.Dense(classes, in_units=8))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def values(net):
    return [p.data().asnumpy().copy() for p in net.collect_params().values()]


def test_it_learns_and_what_is_saved_says_the_same(tmp_path):
    train, held = held_out(points(120), 0.25)
    lines = []
    classifier = Points(network(), "abc")
    result = classifier.fit(train, held, Recipe(epochs=8, rate=0.02, patience=0), say=lines.append)
    assert result.accuracy > 0.8 and result.accuracy == max(r["validation_accuracy"] for r in classifier.history)
    assert len(lines) == len(classifier.history) == 8
    classifier.save(tmp_path)
    things = [thing for thing, _ in held]
    again = Points.load(tmp_path)
    np.testing.assert_allclose(again.probabilities(things), classifier.probabilities(things), rtol=1e-6, atol=1e-7)
    assert again.predict(things[:1], 2)[0][0][0] == classifier.predict(things[:1], 2)[0][0][0]


def test_of_epochs_with_one_accuracy_the_one_with_the_least_loss_is_kept():
    """Classes far apart are told apart after an epoch, when their probabilities are still near one half."""
    samples = [(np.full(4, 3 * (k % 2) - 1.5, "float32"), k % 2) for k in range(40)]
    classifier = Points(network(2), "ab")
    classifier.fit(samples[:30], samples[30:], Recipe(epochs=6, rate=0.02, patience=0))
    losses = [row["validation_loss"] for row in classifier.history if row["validation_accuracy"] == 1]
    assert len(losses) > 1
    labels = [label for _, label in samples[30:]]
    chances = classifier.probabilities([thing for thing, _ in samples[30:]])[range(10), labels]
    assert -np.log(chances).mean() == pytest.approx(min(losses), rel=1e-4) and min(losses) < losses[0]


def test_same_seed_same_network():
    first, second = network(), network()
    for net in (first, second):
        Points(net, "abc").fit(points(), points(), Recipe(epochs=2, seed=3))
    for a, b in zip(values(first), values(second), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_frozen_body_keeps_every_bit_and_the_new_layer_learns():
    net = network()
    before = values(net)
    Points(net, "abc", head=net[2]).fit(points(), points(), Recipe(epochs=2, body_rate=0, rate=0.01))
    after = values(net)
    for a, b in zip(before[:-2], after[:-2], strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(before[-2], after[-2])


def test_the_body_learns_at_its_part_of_the_rate():
    """One step of plain gradient descent moves parameters by rate times gradient: the body a hundredth as far."""
    moved = {}
    for rate in (1.0, 0.01):
        net = network()
        before = values(net)
        recipe = Recipe(
            epochs=1, batch_size=60, optimizer="sgd", rate=0.1, body_rate=rate, ema=0, warmup=0, weight_decay=0
        )
        Points(net, "abc", head=net[2]).fit(points(), points(), recipe)
        moved[rate] = [a - b for a, b in zip(values(net), before, strict=True)]
    np.testing.assert_allclose(moved[0.01][0], 0.01 * moved[1.0][0], rtol=1e-2, atol=1e-7)
    np.testing.assert_allclose(moved[0.01][-2], moved[1.0][-2], rtol=1e-5)


def test_statistics_of_a_trained_body_stay_unless_they_are_wanted():
    moved = {}
    for freeze in (True, False):
        net = network()
        before = values(net)
        Points(net, "abc", head=net[2]).fit(points(), points(), Recipe(epochs=1, freeze_norm=freeze))
        moved[freeze] = [not np.array_equal(a, b) for a, b in zip(before, values(net), strict=True)]
    names = list(network().collect_params())
    for name, kept, free in zip(names, moved[True], moved[False], strict=True):
        assert free and kept != ("running" in name), name


def test_the_average_of_weights_is_what_is_validated_and_kept(tmp_path):
    """The average is computed again here from the weights after each step."""
    from gluon.contrib.estimator import BatchEnd
    from gluon.finetune.classifier import Estimator

    seen = []

    class Look(BatchEnd):
        priority = -1900

        def batch_end(self, estimator, *args, **kwargs):
            seen.append(estimator.net[2].weight.data().asnumpy().copy())

    net, original = network(), Estimator.fit

    def fit(self, *args, event_handlers, **kwargs):
        return original(self, *args, event_handlers=[*event_handlers, Look()], **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Estimator, "fit", fit)
        Points(net, "abc").fit(points(), points(), Recipe(epochs=1, batch_size=10, rate=0.05, ema=0.6))
    average = seen[0]
    for step, value in enumerate(seen, 1):
        kept = min(0.6, (1 + step) / (10 + step))
        average = kept * average + (1 - kept) * value
    np.testing.assert_allclose(net[2].weight.data().asnumpy(), average, rtol=1e-5, atol=1e-6)
    assert not np.allclose(seen[-1], average, atol=1e-3)


def test_it_ends_when_nothing_becomes_better():
    lines = []
    classifier = Points(network(), "abc")
    classifier.fit(points(), points(), Recipe(epochs=30, rate=1e-9, patience=2), say=lines.append)
    assert len(classifier.history) == 3
    assert "ended after 3 epochs" in lines[-1]


def test_class_weights_weigh_the_gradients():
    """With no weight on two classes their scores' biases get the gradients of the third class's samples only."""
    net = network()
    before = net[2].bias.data().asnumpy().copy()
    samples = [s for s in points() if s[1] != 0]
    recipe = Recipe(epochs=1, optimizer="sgd", rate=0.1, ema=0, class_weights=[1, 0, 0], weight_decay=0)
    Points(net, "abc").fit(samples, points(), recipe)
    np.testing.assert_array_equal(net[2].bias.data().asnumpy(), before)
    np.testing.assert_allclose(Recipe(class_weights="balanced").weights_of([0, 0, 0, 1], 2), [2 / 3, 2])


def test_half_precision_trains_in_a_process_of_its_own():
    import subprocess
    import sys

    code = """
from tests.gluon.test_finetune import *
c = Points(network(), "abc")
assert c.fit(points(), points(), Recipe(epochs=6, rate=0.02, dtype="bfloat16")).accuracy > 0.6
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_evaluation_counts():
    probabilities = np.array([[0.7, 0.3, 0], [0.6, 0.4, 0], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3]], "float32")
    result = Evaluation(("a", "b", "c"), np.array([0, 1, 1, 2]), probabilities)
    assert result.confusion.tolist() == [[1, 0, 0], [1, 0, 1], [0, 1, 0]]
    assert result.accuracy == 0.25
    assert result.loss == pytest.approx(-np.log([0.7, 0.4, 0.2, 0.3]).mean(), rel=1e-6)
    assert result.mistakes() == [2, 3, 1] and result.mistakes(1) == [2]
    assert result.facts()["classes"]["a"] == {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "samples": 1}


def test_the_report_has_curves_confusions_and_the_worst_mistakes(tmp_path):
    classifier = Points(network(), ["<a>", "b", "c"])
    samples = points()
    result = classifier.fit(samples, samples, Recipe(epochs=2, rate=1e-4))
    assert result.mistakes()
    page = write_report(tmp_path / "out", classifier, samples, result, "Points & more", {"rate": 1}).read_text()
    assert page.count("<polyline") == 4 and "Points &amp; more" in page and "&lt;a&gt;" in page and "<a>" not in page
    assert page.count("<figure>") == min(24, len(result.mistakes(1000)))
    worst = samples[result.mistakes()[0]]
    assert f"<p>{worst[0].tolist()}</p>" in page
    record = json.loads((tmp_path / "out" / "report.json").read_text())
    assert np.sum(record["validation"]["confusion"]) == len(samples) and len(record["history"]) == 2
    assert record["mistakes"][0]["is"] == classifier.classes[worst[1]]


def test_samples_are_held_out_of_every_class():
    samples = [(i, 0) for i in range(50)] + [(i, 1) for i in range(50, 54)]
    train, held = held_out(samples, 0.2, seed=1)
    assert sorted(train + held) == samples
    assert [sum(label == k for _, label in held) for k in (0, 1)] == [10, 1]
    assert held_out(samples, 0.2, seed=1) == (train, held) != held_out(samples, 0.2, seed=2)
    with pytest.raises(MXNetError, match="class 1 has a single sample"):
        held_out(samples[:51], 0.2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs is at least 1, got 0"),
        ({"rate": 0}, "rate is above 0"),
        ({"ema": 1}, "ema is at least 0 and less than 1"),
        ({"dtype": "float64"}, "dtype is one of float32, bfloat16, float16, got 'float64'"),
        ({"class_weights": "even"}, 'class_weights is "balanced", one number for each class'),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(MXNetError, match=message):
        Recipe(**settings)


def test_other_mistakes_are_named(tmp_path):
    with pytest.raises(MXNetError, match="two or more classes of different names, got a, a"):
        Points(network(), "aa")
    with pytest.raises(MXNetError, match="no samples to validate on"):
        Points(network(), "abc").fit(points(), [])
    with pytest.raises(MXNetError, match="a number of at least 0 for each of 3 classes"):
        Points(network(), "abc").fit(points(), points(), Recipe(class_weights=[1, 2]))
    with pytest.raises(MXNetError, match=r"no classifier\.json"):
        Points.load(tmp_path)
    (tmp_path / "classifier.json").write_text(json.dumps({"kind": "songs"}))
    with pytest.raises(MXNetError, match="a classifier of 'songs', not of 'points'"):
        Points.load(tmp_path)


def test_inputs_of_any_number():
    """A network of two inputs, as those for texts have."""

    class Two(HybridBlock):
        def __init__(self):
            super().__init__()
            self.scores = nn.Dense(3, in_units=4)

        def hybrid_forward(self, F, x, y):
            return self.scores(F.concat(x, y, dim=1))

    class Halves(Points):
        def loader(self, samples, batch_size, train):
            def together(rows):
                values = np.stack([value for value, _ in rows])
                return nd.array(values[:, :2]), nd.array(values[:, 2:]), nd.array([label for _, label in rows])

            return DataLoader(list(samples), batch_size, shuffle=train, batchify_fn=together)

    net = Two()
    net.initialize()
    assert Halves(net, "abc").fit(points(), points(), Recipe(epochs=10, rate=0.05)).accuracy > 0.8

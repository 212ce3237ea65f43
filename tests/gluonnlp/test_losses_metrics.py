"""Losses, metrics, the optimizer and initializers against NumPy in float64."""

import numpy as np
import pytest

import gluonnlp as nlp
from core import autograd, nd, optimizer
from core.initializer import InitDesc


def cross_entropy(scores, labels):
    scores = scores - scores.max(-1, keepdims=True)
    log = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    return -np.take_along_axis(log, labels[..., None], -1)[..., 0]


def test_masked_cross_entropy_and_its_gradient():
    rng = np.random.RandomState(0)
    scores, labels, lengths = rng.randn(3, 5, 4), rng.randint(0, 4, (3, 5)), np.array([5, 2, 0])
    mask = np.arange(5) < lengths[:, None]
    x = nd.array(scores)
    x.attach_grad()
    with autograd.record():
        loss = nlp.loss.MaskedSoftmaxCELoss()(x, nd.array(labels), nd.array(lengths))
    loss.backward()
    np.testing.assert_allclose(loss.asnumpy(), (cross_entropy(scores, labels) * mask).mean(1), rtol=1e-5, atol=1e-6)
    probs = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    wanted = (probs - np.eye(4)[labels]) * mask[..., None] / 5
    np.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_label_smoothing():
    smooth = nlp.loss.LabelSmoothing(epsilon=0.2, units=4)
    np.testing.assert_allclose(smooth(nd.array([2])).asnumpy(), [[0.05, 0.05, 0.85, 0.05]], rtol=1e-6)
    with pytest.raises(ValueError, match="units"):
        nlp.loss.LabelSmoothing()(nd.array([2]))


@pytest.mark.parametrize("hybridize", [False, True])
def test_activation_regularizers(hybridize):
    states = np.random.RandomState(0).randn(2, 3, 2, 4)
    arrays = [nd.array(s) for s in states]
    losses = nlp.loss.ActivationRegularizationLoss(2), nlp.loss.TemporalActivationRegularizationLoss(3)
    if hybridize:
        for loss in losses:
            loss.hybridize()
    np.testing.assert_allclose(losses[0](*arrays).asnumpy(), [2 * (states[1] ** 2).mean()], rtol=1e-5)
    np.testing.assert_allclose(losses[1](*arrays).asnumpy(), [3 * (np.diff(states[1], axis=0) ** 2).mean()], rtol=1e-5)


def test_masked_accuracy():
    metric = nlp.metric.MaskedAccuracy()
    scores = np.eye(3)[[0, 1, 2, 2]]
    metric.update([nd.array([0, 1, 1, 2])], [nd.array(scores)], [nd.array([1, 1, 1, 0])])
    assert metric.get() == ("masked-accuracy", pytest.approx(2 / 3))


def test_length_normalized_loss():
    metric = nlp.metric.LengthNormalizedLoss()
    metric.update([nd.ones((2, 3)), nd.array([2, 1])], nd.array([1.5, 3]))
    metric.update([nd.ones((1, 1)), 3], 1.5)
    assert metric.get()[1] == pytest.approx(6 / 6)
    with pytest.raises(ValueError, match="valid lengths"):
        metric.update(nd.ones(2), nd.ones(2))


@pytest.mark.parametrize("settings", [{}, {"wd": 0.1}, {"clip_gradient": 0.3}, {"rescale_grad": 0.5}])
def test_bert_adam_against_numpy(settings):
    rng = np.random.RandomState(0)
    weight, made = rng.randn(4, 3), optimizer.create("bertadam", learning_rate=0.1, **settings)
    array = nd.array(weight)
    state = made.create_state_multi_precision(0, array)
    mean = var = 0
    for _ in range(4):
        gradient = rng.randn(4, 3)
        made.update_multi_precision([0], [array], [nd.array(gradient)], [state])
        gradient = gradient * settings.get("rescale_grad", 1)
        if clip := settings.get("clip_gradient"):
            gradient = gradient.clip(-clip, clip)
        mean, var = 0.9 * mean + 0.1 * gradient, 0.999 * var + 0.001 * gradient**2
        weight = weight - 0.1 * (mean / (np.sqrt(var) + 1e-6) + settings.get("wd", 0) * weight)
    np.testing.assert_allclose(array.asnumpy(), weight, rtol=1e-4, atol=1e-5)


def test_highway_bias():
    array = nd.zeros((5, 2))
    nlp.initializer.HighwayBias(1, -3)(InitDesc("highway_weight"), array)
    np.testing.assert_array_equal(array.asnumpy()[:, 0], [1, 1, -3, -3, -3])


def test_truncated_normal():
    pytest.importorskip("scipy", reason="SciPy is not installed")
    np.random.seed(0)
    array = nd.zeros((200, 50))
    nlp.initializer.TruncNorm(stdev=0.5)(InitDesc("x_weight"), array)
    values = array.asnumpy()
    # Deviation of a normal distribution cut at two standard deviations.
    assert (
        abs(values).max() <= 1 and abs(values.mean()) < 0.02 and values.std() == pytest.approx(0.8796 * 0.5, rel=0.03)
    )

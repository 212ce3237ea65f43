"""CTC against the sum over all paths, deformable convolution against the plain one, loops against Python's."""

import itertools

import numpy as np
import pytest

from core import autograd, cpu, gluon, nd, sym


def brute_force_ctc(scores, label, blank):
    """-log of the sum of the probabilities of all paths that collapse to the label; scores (T, C)."""
    probabilities = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(scores.shape[1]), repeat=len(scores)):
        collapsed = [c for c, _ in itertools.groupby(path) if c != blank]
        if collapsed == list(label):
            total += np.prod([p[c] for p, c in zip(probabilities, path)])
    return -np.log(total)


@pytest.mark.parametrize("blank_label", ["first", "last"])
def test_ctc_sums_over_paths(blank_label):
    numbers = np.random.RandomState(0)
    scores = numbers.standard_normal((5, 4, 3))
    labels = [[1, 2], [1, 1], [2], []] if blank_label == "first" else [[0, 1], [1, 1], [1], []]
    blank, padding = (0, 0) if blank_label == "first" else (2, -1)
    padded = np.array([row + [padding] * (3 - len(row)) for row in labels])
    got = nd.CTCLoss(nd.array(scores, dtype="float64"), nd.array(padded), blank_label=blank_label).asnumpy()
    want = [brute_force_ctc(scores[:, n], row, blank) for n, row in enumerate(labels)]
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_ctc_gradient_is_the_numerical_one():
    numbers = np.random.RandomState(1)
    scores, label = numbers.standard_normal((6, 2, 4)), nd.array([[1, 2, 2], [3, 0, 0]])
    lengths = nd.array([6, 4])

    def loss(values):
        return nd.CTCLoss(values, label, lengths, use_data_lengths=True)

    x = nd.array(scores, dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = loss(x)
    y.backward()
    for place in itertools.product(range(6), range(2), range(4)):
        ends = []
        for step in (1e-5, -1e-5):
            moved = scores.copy()
            moved[place] += step
            ends.append(loss(nd.array(moved, dtype="float64")).sum().asscalar())
        assert x.grad.asnumpy()[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-8)


def test_labels_that_do_not_fit_cost_nothing():
    data = nd.random.uniform(shape=(3, 1, 4))
    assert nd.CTCLoss(data, nd.array([[2, 2, 0]])).asscalar() > 0
    assert nd.CTCLoss(data, nd.array([[2, 2, 2]])).asscalar() == 0


@pytest.mark.parametrize("groups", [1, 2])
def test_deformable_convolution_without_shifts_is_a_convolution(groups):
    data, weight = nd.random.normal(shape=(2, 4, 7, 6)), nd.random.normal(shape=(6, 4 // groups, 3, 3))
    bias = nd.random.normal(shape=(6,))
    how = {"kernel": (3, 3), "stride": (2, 1), "pad": (1, 1), "num_filter": 6, "num_group": groups}
    want = nd.Convolution(data, weight, bias, **how).asnumpy()
    offset = nd.zeros((2, 2 * 2 * 9, 4, 6))
    got = nd.contrib.DeformableConvolution(data, offset, weight, bias, num_deformable_group=2, **how)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)
    mask = nd.ones((2, 2 * 9, 4, 6))
    got = nd.contrib.ModulatedDeformableConvolution(data, offset, mask, weight, bias, num_deformable_group=2, **how)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_loops():
    x = nd.array([[1, 2], [3, 4], [5, 6]])
    outputs, total = nd.contrib.foreach(lambda row, s: (row * s, s + row), x, nd.zeros((2,)))
    np.testing.assert_array_equal(total.asnumpy(), [9, 12])
    np.testing.assert_array_equal(outputs.asnumpy(), [[0, 0], [3, 8], [20, 36]])
    rows, (i,) = nd.contrib.while_loop(lambda i: i < 3, lambda i: (i * 2, i + 1), nd.array([0]), max_iterations=5)
    np.testing.assert_array_equal(rows.asnumpy()[:3, 0], [0, 2, 4])
    assert rows.shape == (5, 1)
    assert i.asscalar() == 3
    assert nd.contrib.cond(nd.array([1]), lambda: 1, lambda: 2) == 1


def test_ctc_ignores_what_comes_after_the_end():
    scores = nd.array(np.concatenate([np.ones((3, 1, 4)), np.full((2, 1, 4), np.nan)]))
    scores.attach_grad()
    with autograd.record():
        loss = nd.CTCLoss(scores, nd.array([[1, 2]]), nd.array([3]), use_data_lengths=True)
    loss.backward()
    assert np.isfinite(loss.asscalar()) and np.isfinite(scores.grad.asnumpy()).all()
    assert scores.grad.asnumpy()[:3].any() and not scores.grad.asnumpy()[3:].any()


DATA, CLASSES, VALUES = [[1.0, 2, 3], [0, 1, 0]], [1, 2], [[1.0, 2, 3], [3, 2, 1]]
# What real MXNet 1.9.1 gives behind a BlockGrad, which lets a gradient of zero through.
LOSSES = {
    "SoftmaxOutput": ([[0.09, -0.7553, 0.6652], [0.2119, 0.5761, -0.7881]], CLASSES),
    "LinearRegressionOutput": ([[0, 0, 0], [-1, -1 / 3, -1 / 3]], VALUES),
    "MAERegressionOutput": ([[-1 / 3] * 3] * 2, VALUES),
    "LogisticRegressionOutput": ([[-0.0896, -0.3731, -0.6825], [-0.8333, -0.423, -0.1667]], VALUES),
    "SVMOutput": ([[4, 0, 8], [2, 4, -2]], CLASSES),
    "MakeLoss": ([[1, 1, 1], [1, 1, 1]], None),
    "make_loss": ([[1, 1, 1], [1, 1, 1]], None),
}
CONSTANT = {
    "BlockGrad": lambda F, x: F.BlockGrad(x),
    "argmax": lambda F, x: F.argmax(x, axis=1),
    "comparison": lambda F, x: x > 0.5,
}


@pytest.mark.parametrize("constant", CONSTANT.values(), ids=CONSTANT)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_start_gradients_behind_constant_operators(name, constant):
    want, label = LOSSES[name]
    rest = [] if label is None else [nd.array(label)]
    x = nd.array(DATA)
    x.attach_grad()
    with autograd.record():
        y = constant(nd, getattr(nd, name)(x, *rest))
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), want, atol=1e-4)
    names = [sym.var("label")] if rest else []
    bound = constant(sym, getattr(sym, name)(sym.var("x"), *names))
    executor = bound.bind(cpu(), {"x": x, **({"label": rest[0]} if rest else {})}, {"x": nd.zeros((2, 3))})
    executor.forward(is_train=True)
    executor.backward([nd.ones(o.shape) for o in executor.outputs])
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), want, atol=1e-4)


class _Scores(gluon.HybridBlock):
    """A softmax with its loss, and twice the data."""

    def hybrid_forward(self, F, x, label):
        return F.SoftmaxOutput(x, label), x * 2


@pytest.mark.parametrize("hybridize", [False, True])
def test_losses_of_a_block_start_gradients_where_they_lead_to_a_head(hybridize):
    block, x, label = _Scores(), nd.array(DATA), nd.array(CLASSES)
    if hybridize:
        block.hybridize()
    x.attach_grad()
    softmax = np.array(LOSSES["SoftmaxOutput"][0])
    for take, want in (
        (lambda scores, double: double, np.full((2, 3), 2.0)),
        (lambda scores, double: nd.BlockGrad(scores), softmax),
        (lambda scores, double: double + nd.BlockGrad(scores), softmax + 2),
    ):
        with autograd.record():
            y = take(*block(x, label))
        y.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), want, atol=1e-4)


def test_functions_of_users_are_told_of_zero_gradients():
    class Shift(autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, head):
            return head + 3

    x = nd.array(DATA)
    x.attach_grad()
    with autograd.record():
        y = nd.BlockGrad(Shift()(x))
    y.backward()
    assert (x.grad.asnumpy() == 3).all()


@pytest.mark.parametrize("normalization, each", [("null", 1), ("batch", 6), ("valid", 5)])
@pytest.mark.parametrize("rows", [True, False])
def test_normalization_of_softmax_output_counts_every_label(rows, normalization, each):
    """MXNet divides by all labels, also where each instance is one row that reads a single label."""
    data = nd.array(np.random.RandomState(3).standard_normal((2, 3, 4)))
    label = nd.array([[0, 2, 1], [3, 3, 2]])  # all read, or the first two
    data.attach_grad()
    with autograd.record():
        out = nd.SoftmaxOutput(data, label, preserve_shape=rows, normalization=normalization, ignore_label=1)
    out.backward()
    classes = [0, 2, 1, 3, 3, 2] if rows else [0, 2]
    hot = np.eye(4 if rows else 12)[classes].reshape(2, 3, 4)
    np.testing.assert_allclose(data.grad.asnumpy(), (out.asnumpy() - hot) / each, rtol=1e-5, atol=1e-7)
    symbol = sym.SoftmaxOutput(sym.var("data"), sym.var("label"), preserve_shape=rows)
    assert symbol.infer_shape(data=(2, 3, 4))[0] == [(2, 3, 4), (2, 3)]


def test_out_grad_holds_for_distributions_too():
    data, label = nd.array([[1.0, 2.0], [0.5, -1.0]]), nd.array([[0.25, 0.75], [1.0, 0.0]])
    data.attach_grad()
    with autograd.record():
        out = nd.SoftmaxOutput(data, label, out_grad=True, grad_scale=3.0)
    out.backward()
    probability = out.asnumpy()
    np.testing.assert_allclose(data.grad.asnumpy(), 3 * (probability - label.asnumpy()) * probability, rtol=1e-5)

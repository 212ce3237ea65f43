"""Plans for classes of shapes: every operator, small programs and networks at lengths that vary, against eager calls."""

import sys
import warnings

import numpy as np
import pytest

import core as mx
import core.symbol.numpy_functions  # every function of np
import gluonnlp
from core import autograd, nd
from core.graph.compiled import Compiled, Plan
from core.ops.registry import TABLE
from gluon import nn, rnn
from tests.support.samples import draw, samples

# Of these the operands that a sample gives are tied to its lengths, or draws differ from call to call.
LEFT_OUT = {"Dropout", "_dropout_attention"}
OPERATORS = sorted(
    op.name
    for op in set(TABLE.values())
    if not (op.rng or op.name.endswith("_grad") or op.name in LEFT_OUT) and samples(op)
)
# These need lengths as numbers, for lists of places or because they refuse some, so that each length has its own plan.
NUMBERS = {
    "_linalg_extractdiag", "_linalg_makediag", "_linalg_extracttrian", "_linalg_maketrian", "_linalg_potri",
    "_linalg_syevd", "diag", "_npi_diag", "_correlation", "_contrib_boolean_mask", "_contrib_dynamic_reshape",
}  # fmt: skip


def longer(operand, more: int):
    """An operand of a sample with `more` places on each axis that has two or more."""
    if operand is None:
        return None
    values = np.asarray(operand)
    values = np.resize(values, [n + more if n > 1 else n for n in values.shape])
    return nd.array(values, dtype="float32" if values.dtype.kind == "f" else values.dtype)


def outcome(function, operands, moved):
    """Results and gradients of a call."""
    arrays = [x if x is None else x.copy() for x in operands]
    marked = [arrays[k] for k in moved if "float" in str(arrays[k].dtype)]
    for x in marked:
        x.attach_grad()
    with autograd.record():
        results = function(*arrays)
    heads = [x for x in results if "float" in str(x.dtype) and x._entry is not None]
    if heads:
        autograd.backward(heads, [nd.ones(x.shape) * 0.5 for x in heads])
    return [x.asnumpy() for x in (*results, *(x.grad for x in marked if heads))]


@pytest.mark.parametrize("name", OPERATORS)
def test_a_plan_for_open_lengths_gives_what_eager_calls_give(name):
    op = TABLE[name]
    for sample in samples(op)[:2]:
        if name.startswith("_") and "shape" in sample.attrs:
            continue  # a shape that was computed for this sample
        operands, moved, _ = draw(op, sample)

        def function(*arrays, attrs=sample.attrs):
            found = op(*arrays, **attrs)
            return list(found) if isinstance(found, (list, tuple)) else [found]

        calls = [[longer(x, more) for x in operands] for more in (0, 1, 3)]
        compiled = Compiled(function, lambda: [])
        for call in calls:
            try:
                expected = outcome(function, call, moved)
            except (mx.MXNetError, ValueError, IndexError, ZeroDivisionError, TypeError, RuntimeError):
                continue  # the attributes are for the sample's own lengths
            found = outcome(compiled, call, moved)
            assert [x.shape for x in found] == [x.shape for x in expected]
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
        for known in compiled._classes.values():
            assert not known.closed or name in NUMBERS, known.closed


def calls_of(net, shapes, dtype="float32"):
    rng = np.random.default_rng(0)
    return [nd.array(rng.integers(1, 20, s) if dtype == "ids" else rng.normal(size=s)) for s in shapes]


def check(net, calls, plans, rtol=1e-4, train=True):
    """Calls agree with eager ones; so many plans for open lengths are made."""

    def run():
        found = []
        for args in calls:
            args = args if isinstance(args, tuple) else (args,)
            with autograd.record() if train else autograd.predict_mode():
                out = net(*args)
                total = sum((y * y).mean() for y in (out if isinstance(out, (list, tuple)) else [out]))
            found.append([total.asnumpy()])
            if train:
                total.backward()
                found[-1] += [p.grad().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"]
        return found

    expected = run()
    net.hybridize()
    for found, wanted in zip(run(), expected, strict=True):
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-5)
    known = list(net._compiled._classes.values())
    assert [k.closed for k in known] == [""] * len(known)
    assert [len(k.plans) for k in known] == plans
    return known


def test_a_convolutional_network_at_other_sizes_and_batches():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, padding=1, in_channels=3), nn.BatchNorm(in_channels=4), nn.Activation("relu"), nn.MaxPool2D(2)
    )
    net.add(nn.Conv2D(4, 3, 2, 1, in_channels=4), nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(5, in_units=4))
    net.initialize()
    check(net, calls_of(net, [(4, 3, 16, 16), (4, 3, 20, 24), (3, 3, 17, 15), (6, 3, 33, 40)]), [1])


def test_a_recurrent_network_at_other_lengths_and_batches():
    net = nn.HybridSequential()
    net.add(nn.Embedding(20, 6), rnn.LSTM(5, 2, input_size=6), nn.Dense(4, flatten=False, in_units=5))
    net.initialize()
    check(net, calls_of(net, [(9, 4), (12, 4), (7, 3), (30, 6)], "ids"), [1])


def test_attention_with_masks_of_open_lengths():
    encoder = gluonnlp.model.BERTEncoder(num_layers=1, units=8, hidden_size=16, max_length=64, num_heads=2, dropout=0.0)
    net = gluonnlp.model.BERTModel(encoder, 20, 2, units=8, embed_size=8, use_decoder=False, use_classifier=False)
    net.initialize()
    ids = calls_of(net, [(2, 9), (2, 12), (3, 33), (5, 4)], "ids")
    calls = [(x, nd.zeros(x.shape), nd.array(np.arange(x.shape[0]) % x.shape[1] + 1)) for x in ids]
    (known,) = check(net, calls, [1], train=False)
    assert known.plans[0].shapes.extents[0] == known.plans[0].shapes.extents[1]  # one symbol for one length


def test_decoding_word_by_word_takes_one_plan_for_the_first_call_and_one_for_all_others():
    net = gluonnlp.model.GPT2Model(8, 20, 32, 2, 2)
    net.initialize()
    rng = np.random.default_rng(1)
    words = [nd.array(rng.integers(0, 20, (1, n))) for n in (5, *[1] * 9)]

    def decode():
        states, found = None, []
        for word in words:
            scores, states = net(word, states)
            found.append(scores.asnumpy())
        return found

    expected = decode()
    net.hybridize()
    for x, y in zip(decode(), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
    first, others = net._compiled._classes.values()
    assert (len(first.plans), len(others.plans)) == (0, 1)
    text = mx.graph.explain(net, words[-1], [nd.zeros((1, 2, 20, 4))] * 4)
    assert "inputs: (1, 1), (1, 2, n0, 4)" in text and "where n0 + 1 <= 32" in text
    with pytest.raises(ValueError, match="at most 32 words"):
        net(words[-1], [nd.zeros((1, 2, 32, 4))] * 4)


def test_a_branch_on_a_length_makes_a_plan_for_each_answer():
    class Halves(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.sum(x, axis=1) if x.shape[1] > 10 else x * 2

    net = Halves()
    calls = calls_of(net, [(3, 4), (3, 5), (3, 6), (3, 12), (3, 20), (3, 7)])
    (known,) = check(net, calls, [2], train=False)
    assert sorted(str(list(p.shapes.space.guards)) for p in known.plans) == ["['n0 <= 10']", "['n0 > 10']"]


def test_lengths_that_agreed_by_chance_are_told_apart():
    class Sums(nn.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return F.broadcast_add(F.expand_dims(x, axis=1), F.expand_dims(y, axis=0)) / x.shape[0]

    net = Sums()
    rng = np.random.default_rng(2)
    pairs = [(4, 4), (6, 6), (5, 9), (12, 3), (7, 7)]
    check(net, [tuple(nd.array(rng.normal(size=n)) for n in pair) for pair in pairs], [1], train=False)


def test_second_gradients_through_a_plan_for_open_lengths():
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3, activation="tanh", flatten=False), nn.Dense(1, in_units=4, flatten=False))
    net.initialize()

    def second(x):
        x.attach_grad()
        with autograd.record():
            (g,) = autograd.grad(net(x).reshape((-1,)) * x.shape[0], [x], create_graph=True)
            total = (g * g).sum()
        total.backward()
        return x.grad.asnumpy()

    xs = calls_of(net, [(2, 3, 3), (2, 5, 3), (4, 6, 3)])
    expected = [second(x) for x in xs]
    net.hybridize()
    for x, wanted in zip(xs, expected, strict=True):
        np.testing.assert_allclose(second(x), wanted, rtol=1e-4, atol=1e-6)


def test_many_shapes_under_static_shape_compile_no_more_than_without_and_warn_once(monkeypatch):
    compiled, made = sys.modules[Plan.__module__], []

    class Counted(Plan):
        def __init__(self, *args, **how):
            made.append(1)
            super().__init__(*args, **how)

    monkeypatch.setattr(compiled, "Plan", Counted)
    counts = []
    for flags in ({}, {"static_alloc": True, "static_shape": True}):
        net = nn.Dense(2, in_units=3)
        net.initialize()
        net.hybridize(**flags)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for _ in range(2):
                for n in range(2, 16):
                    assert net(nd.zeros((n, 3))).shape == (n, 2)
        messages = [str(w.message) for w in warned]
        assert len(messages) == bool(flags) and all("called with the 9th: (10, 3)" in m for m in messages)
        counts.append(len(made))
        made.clear()
    assert counts == [2, 2]  # the first shape's, and that for all


def test_the_caller_s_arrays_stay_as_they_are_whatever_the_lengths():
    class Net(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.relu(F.reshape(x, shape=(x.shape[0], -1)) * 2 - 1), F.slice_axis(x, axis=1, begin=1, end=None) + 1

    net = Net()
    net.hybridize()
    for shape in ((2, 3, 4), (2, 5, 4), (3, 2, 4), (4, 7, 4)):
        x = nd.array(np.random.default_rng(3).normal(size=shape))
        before = x.asnumpy()
        first, second = net(x)
        first[:], second[:] = 0, 0
        np.testing.assert_array_equal(x.asnumpy(), before)


def test_a_call_that_is_refused_closes_no_class():
    net = nn.Dense(2, in_units=3, flatten=False)
    net.initialize()
    net.hybridize()
    for n in (2, 4):
        assert net(nd.zeros((n, 3))).shape == (n, 2)
        with pytest.raises(mx.MXNetError, match="FullyConnected"):
            net(nd.zeros((n, 5)))
    for n in (6, 9):
        assert net(nd.zeros((n, 3))).shape == (n, 2)
    (known,) = net._compiled._classes.values()
    assert not known.closed and known.plans[0].shapes.extents[0][1] == 3

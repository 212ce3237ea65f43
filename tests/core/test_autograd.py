"""The tape: modes, requests, gradients of gradients, errors, memory."""

import gc
import weakref

import numpy as onp
import pytest

import core as mx
from core import autograd, nd
from gluon import nn


def leaf(values, req="write"):
    x = nd.array(values)
    x.attach_grad(req)
    return x


def test_modes_nest():
    assert not autograd.is_recording() and not autograd.is_training()
    with autograd.record():
        assert autograd.is_recording() and autograd.is_training()
        with autograd.pause():
            assert not autograd.is_recording() and not autograd.is_training()
        with autograd.predict_mode():
            assert autograd.is_recording() and not autograd.is_training()
    with autograd.record(train_mode=False):
        assert not autograd.is_training()
    with autograd.train_mode():
        assert autograd.is_training() and not autograd.is_recording()
    assert autograd.set_recording(True) is False and autograd.set_recording(False) is True


def test_write_add_null():
    for req, want in (("write", [6.0, 12.0]), ("add", [12.0, 24.0])):
        x = leaf([1.0, 2.0], req)
        for _ in range(2):
            with autograd.record():
                y = 3 * x * x
            y.backward()
        assert x.grad.asnumpy().tolist() == want
    x = leaf([1.0], "null")
    assert x.grad is None
    with pytest.raises(ValueError, match="write, add, null"):
        nd.zeros(1).attach_grad("wirte")


def test_head_gradients():
    x = leaf([1.0, 2.0])
    with autograd.record():
        y = x * x
    y.backward(nd.array([10.0, 100.0]))
    assert x.grad.asnumpy().tolist() == [20, 400]


def test_gradients_that_are_returned_have_memory_of_their_own():
    x, y, head = leaf([1.0, 2.0]), leaf([3.0, 4.0]), nd.array([5.0, 6.0])
    for given in (head, None, None):
        with autograd.record():
            z = x + y
        first, second = autograd.grad(z, [x, y], given)
        first[:] = 9
        assert second.asnumpy().tolist() == ([1, 1] if given is None else [5, 6])
    assert head.asnumpy().tolist() == [5, 6]


def test_several_heads():
    x = leaf([2.0])
    with autograd.record():
        a, b = x * x, 3 * x
    autograd.backward([a, b])
    assert x.grad.asscalar() == 7


def test_a_second_backward_needs_the_tape():
    x = leaf([1.0])
    with autograd.record():
        y = nd.exp(x)
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(mx.MXNetError, match="retain_graph"):
        y.backward()


def test_heads_outside_the_tape_are_refused():
    with pytest.raises(mx.MXNetError, match="record"):
        nd.ones(1).backward()


def test_detach_and_block_grad_stop():
    x = leaf([3.0])
    with autograd.record():
        y = x * x.detach() + nd.BlockGrad(x) * x
    y.backward()
    assert x.grad.asscalar() == 6


def test_gradients_are_fresh_until_told_otherwise():
    x, y = leaf([1.0, 2]), leaf([1.0, 2])
    assert not x._fresh_grad
    for detached in (False, True):
        x._fresh_grad = y._fresh_grad = False
        with autograd.record():
            z = x + 2
            ((z.detach() if detached else z) + y).backward()
        assert x._fresh_grad != detached and y._fresh_grad and not z._fresh_grad
    with pytest.raises(mx.MXNetError, match="attach_grad"):
        nd.ones(2)._fresh_grad = True


def test_unreached_gradients_become_zero():
    x = leaf([1.0, 2.0])
    x.grad[:] = 5
    with autograd.record():
        y = nd.sign(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 0]


def S(v):
    return 1 / (1 + onp.exp(-v))


FUNCTIONS = {
    "sin": (nd.sin, [onp.cos, lambda v: -onp.sin(v), lambda v: -onp.cos(v)]),
    "exp": (nd.exp, [onp.exp] * 3),
    "sigmoid": (
        nd.sigmoid,
        [
            lambda v: S(v) * (1 - S(v)),
            lambda v: S(v) * (1 - S(v)) * (1 - 2 * S(v)),
            lambda v: S(v) * (1 - S(v)) * (1 - 6 * S(v) + 6 * S(v) ** 2),
        ],
    ),
    "tanh": (
        nd.tanh,
        [
            lambda v: 1 - onp.tanh(v) ** 2,
            lambda v: -2 * onp.tanh(v) * (1 - onp.tanh(v) ** 2),
            lambda v: (1 - onp.tanh(v) ** 2) * (6 * onp.tanh(v) ** 2 - 2),
        ],
    ),
    "cube": (lambda x: x**3, [lambda v: 3 * v**2, lambda v: 6 * v, lambda v: 6 + 0 * v]),
    "log": (nd.log, [lambda v: 1 / v, lambda v: -1 / v**2, lambda v: 2 / v**3]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_to_third_order(name):
    function, want = FUNCTIONS[name]
    values = onp.array([0.3, 0.7, 1.1])
    x = nd.array(values, dtype="float64")
    x.attach_grad()
    with autograd.record():
        y, found = function(x), []
        for _ in range(3):
            y = autograd.grad(y, [x], create_graph=True)[0]
            found.append(y.asnumpy())
    for got, exact in zip(found, want, strict=True):
        onp.testing.assert_allclose(got, exact(values), rtol=1e-10)


def numeric(function, arrays, step=1e-5):
    """Central differences of sum(function) in every element, in float64."""
    grads = []
    for k, a in enumerate(arrays):
        g = onp.zeros_like(a)
        for place in onp.ndindex(*a.shape):
            values = []
            for s in (step, -step):
                moved = [b.copy() for b in arrays]
                moved[k][place] += s
                values.append(float(function(*[nd.array(m, dtype="float64") for m in moved]).sum().asscalar()))
            g[place] = (values[0] - values[1]) / (2 * step)
        grads.append(g)
    return grads


CONV = {"kernel": (3, 3), "num_filter": 2, "pad": (1, 0), "stride": (2, 1), "dilate": (1, 1)}
LAYERS = {
    "Convolution": (lambda x, w, b: nd.Convolution(x, w, b, **CONV), [(2, 2, 5, 4), (2, 2, 3, 3), (2,)]),
    "Deconvolution": (
        lambda x, w: nd.Deconvolution(x, w, kernel=(2, 2), stride=(2, 1), num_filter=3), [(2, 2, 3, 3), (2, 3, 2, 2)],
    ),
    "FullyConnected": (lambda x, w, b: nd.FullyConnected(x, w, b, num_hidden=3), [(4, 5), (3, 5), (3,)]),
    "batch_dot": (lambda a, b: nd.batch_dot(a, b, transpose_b=True), [(2, 3, 4), (2, 5, 4)]),
    "dot": (lambda a, b: nd.dot(a, b), [(2, 3, 4), (4, 5)]),
    "avg_pool": (lambda x: nd.Pooling(x, kernel=(2, 3), pool_type="avg", pad=(1, 1)), [(1, 2, 4, 5)]),
    "max_pool": (lambda x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pooling_convention="full"), [(1, 2, 5, 5)]),
    "LayerNorm": (lambda x, g, b: nd.LayerNorm(x, g, b), [(3, 5), (5,), (5,)]),
    "LayerNorm axis 0": (lambda x, g, b: nd.LayerNorm(x, g, b, axis=0), [(3, 4, 2), (3,), (3,)]),
    "GroupNorm": (lambda x, g, b: nd.GroupNorm(x, g, b, num_groups=2), [(2, 4, 3), (2,), (2,)]),
    "InstanceNorm": (lambda x, g, b: nd.InstanceNorm(x, g, b), [(2, 3, 5), (3,), (3,)]),
    "softmax": (lambda x: nd.softmax(x, axis=1) ** 2, [(2, 4, 3)]),
    "log_softmax": (lambda x: nd.log_softmax(x) ** 2, [(3, 4)]),
    "L2Normalization": (lambda x: nd.L2Normalization(x), [(3, 4)]),
    "broadcast": (lambda a, b: a * b + a / (b * b + 1), [(3, 1, 4), (2, 1)]),
    "norm": (lambda x: nd.norm(x, axis=1), [(3, 4)]),
    "concat and split": (lambda a, b: nd.split(nd.concat(a, b, dim=1), num_outputs=2, axis=1)[1] ** 2, [(2, 3), (2, 3)]),
    "take": (lambda a: nd.take(a, nd.array([0, 2, 2])) ** 2, [(3, 4)]),
    "slice": (lambda a: a[1:, ::2] ** 2, [(3, 4)]),
    "pick": (lambda a: nd.pick(a, nd.array([0, 3, 1])) ** 2, [(3, 4)]),
    "SequenceMask": (lambda a: nd.SequenceMask(a, nd.array([1, 3]), use_sequence_length=True) ** 2, [(3, 2, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers_against_central_differences(name):
    function, shapes = LAYERS[name]
    rs = onp.random.RandomState(0)
    arrays = [rs.randn(*s) for s in shapes]
    weight = None

    def weighted(*xs):
        nonlocal weight
        y = function(*xs)
        if weight is None:
            weight = nd.array(onp.random.RandomState(1).randn(*y.shape), dtype="float64")
        return y * weight

    want = numeric(weighted, arrays)
    inputs = [nd.array(a, dtype="float64") for a in arrays]
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        y = weighted(*inputs)
    y.backward()
    for x, g in zip(inputs, want, strict=True):
        onp.testing.assert_allclose(x.grad.asnumpy(), g, rtol=1e-5, atol=1e-7)


SECOND = [
    "Convolution",
    "FullyConnected",
    "batch_dot",
    "dot",
    "avg_pool",
    "LayerNorm",
    "GroupNorm",
    "softmax",
    "log_softmax",
    "broadcast",
]


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_against_differences_of_gradients(name):
    function, shapes = LAYERS[name]
    rs = onp.random.RandomState(2)
    arrays = [rs.randn(*s) for s in shapes]

    def gradient_square(values):
        inputs = [nd.array(a, dtype="float64") for a in values]
        for x in inputs:
            x.attach_grad()
        with autograd.record():
            y = (function(*inputs) ** 2).sum()
            grads = autograd.grad(y, inputs, create_graph=True)
            total = sum((g * g).sum() for g in grads)
        return inputs, total

    inputs, total = gradient_square(arrays)
    total.backward()
    direction = [rs.randn(*a.shape) for a in arrays]
    step = 1e-5
    ends = [
        float(gradient_square([a + s * d for a, d in zip(arrays, direction, strict=True)])[1].asscalar())
        for s in (step, -step)
    ]
    want = (ends[0] - ends[1]) / (2 * step)
    got = sum(float((x.grad.asnumpy() * d).sum()) for x, d in zip(inputs, direction, strict=True))
    assert got == pytest.approx(want, rel=1e-5)


def test_batch_norm_moves_statistics_in_backward():
    x, g, b = leaf(onp.random.RandomState(0).randn(4, 2)), leaf([1.0, 1.0]), leaf([0.0, 0.0])
    mean, var = nd.zeros(2), nd.ones(2)
    with autograd.record():
        y = nd.BatchNorm(x, g, b, mean, var, momentum=0.9, fix_gamma=False)
    assert mean.asnumpy().tolist() == [0, 0]
    y.backward()
    values = x.asnumpy()
    onp.testing.assert_allclose(mean.asnumpy(), 0.1 * values.mean(0), rtol=1e-5)
    onp.testing.assert_allclose(var.asnumpy(), 0.9 + 0.1 * values.var(0), rtol=1e-4)


def test_in_place_writes_the_tape_needs_are_errors():
    x = leaf([1.0, 2.0])
    with autograd.record():
        y = x * 2
        with pytest.raises(mx.MXNetError, match="record"):
            y += 1
        with pytest.raises(mx.MXNetError, match="record"):
            x[:] = 0
    a = leaf([1.0, 2.0])
    with autograd.record():
        z = nd.exp(a * 1)
    z[:] = 0
    with pytest.raises(mx.MXNetError, match="changed in place"):
        z.backward()


def test_saved_arrays_are_released():
    x = leaf(onp.ones((64, 64)))
    with autograd.record():
        hidden = nd.tanh(x)
        y = (hidden * hidden).sum()
    seen = weakref.ref(hidden._data)
    del hidden
    assert seen() is not None
    y.backward()
    gc.collect()
    assert seen() is None


def test_function():
    class Sigmoid(autograd.Function):
        def forward(self, x):
            y = 1 / (1 + nd.exp(-x))
            self.save_for_backward(y)
            return y

        def backward(self, dy):
            (y,) = self.saved_tensors
            return dy * y * (1 - y)

    x = leaf([0.5, -1.0])
    with autograd.record():
        y = Sigmoid()(x)
    y.backward()
    s = 1 / (1 + onp.exp(-x.asnumpy()))
    onp.testing.assert_allclose(x.grad.asnumpy(), s * (1 - s), rtol=1e-5)


def test_mark_variables():
    x, g = nd.array([3.0]), nd.zeros(1)
    autograd.mark_variables([x], [g])
    with autograd.record():
        y = x * x
    y.backward()
    assert g.asscalar() == 6 and x.grad is g


def test_dropout_has_the_same_mask_backward():
    mx.random.seed(3)
    x = leaf(onp.ones((100, 10)))
    with autograd.record():
        y = nd.Dropout(x, p=0.4)
    y.backward()
    assert (x.grad.asnumpy() == y.asnumpy()).all()
    kept = (y.asnumpy() != 0).mean()
    assert abs(kept - 0.6) < 5 * (0.24 / 1000) ** 0.5
    assert (nd.Dropout(x, p=0.4).asnumpy() == 1).all()


def test_lstm_gradients_against_central_differences():
    rs = onp.random.RandomState(0)
    arrays = [rs.randn(3, 2, 2), 0.5 * rs.randn(4 * 3 * (2 + 3 + 2)), rs.randn(1, 2, 3), rs.randn(1, 2, 3)]

    def run(*xs):
        return nd.RNN(*xs, state_size=3, num_layers=1, mode="lstm")

    want = numeric(run, arrays)
    inputs = [nd.array(a, dtype="float64") for a in arrays]
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        y = run(*inputs).sum()
    y.backward()
    for x, g in zip(inputs, want, strict=True):
        onp.testing.assert_allclose(x.grad.asnumpy(), g, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name, order", [("radians", 2), ("negative", 2), ("square", 3), ("relu", 2)])
def test_gradients_of_constant_gradients_are_zero(name, order):
    x = nd.array([1.5, 0.3, 2.0])
    x.attach_grad()
    with autograd.record():
        y = getattr(nd, name)(x)
        for _ in range(order - 1):
            (y,) = autograd.grad(y, [x], head_grads=nd.array([1.0, 2.0, 3.0]), create_graph=True)
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 0, 0]


def test_operators_with_a_shorter_way_are_recorded():
    """Those that come down to a function of tensors: views, reductions, and what reads its own result."""
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    x.attach_grad()
    cases = {
        nd.flatten: 1,
        lambda x: x.expand_dims(1): 1,
        nd.sum: 1,
        lambda x: nd.mean(x, axis=1): 0.5,
        lambda x: nd.max(x, axis=0): [[0, 0], [1, 1]],
        nd.exp: onp.exp(x.asnumpy()),
        lambda x: nd.concat(x, x, dim=0): 2,
        lambda x: nd.concat([x, x], dim=0): 2,
        lambda x: nd.stack([x, x]): 2,
        lambda x: nd.broadcast_add(x, x): 2,
    }
    for function, expected in cases.items():
        with autograd.record():
            y = function(x)
        y.backward()
        onp.testing.assert_allclose(x.grad.asnumpy(), onp.broadcast_to(expected, (2, 2)), rtol=1e-6)


def test_outputs_of_a_hybridized_block_that_no_parameter_reaches_may_be_heads():
    from gluon import HybridBlock, nn

    class Net(HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2)

        def hybrid_forward(self, F, x):
            return self.dense(x), F.BlockGrad(x * 2), x * 3

    net = Net()
    net.initialize(mx.init.One())
    net.hybridize()
    x = nd.ones((2, 3))
    for heads, expected in (((0, 1, 2), 2), ((1, 0), 2), ((1,), 0)):
        with autograd.record():
            outputs = net(x)
        autograd.backward([outputs[k] for k in heads])
        assert net.dense.weight.grad().asnumpy().tolist() == [[expected] * 3] * 2
    with autograd.record():
        inside, outside = net(x)[0], x * 3
    for heads in ([inside, outside], [outside]):
        with pytest.raises(mx.base.MXNetError, match="not in a recorded"):
            autograd.backward(heads)


def _write_through(capsule, value):
    """As another library would: at an address, without telling anybody."""
    import torch

    torch.utils.dlpack.from_dlpack(capsule).numpy().fill(value)


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_write_by_dlpack_between_forward_and_backward_is_refused(hybridized):
    net = nn.Dense(2, in_units=3, use_bias=False)
    net.initialize(mx.init.One())
    if hybridized:
        net.hybridize()
    x = mx.nd.ones((1, 3))
    x.attach_grad()
    with mx.autograd.record():
        loss = (net(x) ** 2).sum()
    _write_through(net.weight.data().to_dlpack_for_write(), 5)
    with pytest.raises(mx.MXNetError, match="changed in place"):
        loss.backward()


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_write_by_an_older_capsule_leaves_gradients_right(hybridized):
    net = nn.Dense(2, in_units=3, use_bias=False)
    net.initialize(mx.init.One())
    if hybridized:
        net.hybridize()
    x = mx.nd.ones((1, 3))
    x.attach_grad()
    capsules = [net.weight.data().to_dlpack_for_write(), mx.nd.to_dlpack_for_write(x)]
    with mx.autograd.record():
        loss = (net(x) ** 2).sum()
    for capsule in capsules:
        _write_through(capsule, 5)
    loss.backward()
    assert x.grad.asnumpy().tolist() == [[12, 12, 12]]  # 2 * 3 * 1, of two outputs
    assert net.weight.data().grad.asnumpy().tolist() == [[6, 6, 6]] * 2 and x.asnumpy().tolist() == [[5, 5, 5]]


def test_what_was_given_away_is_forgotten_with_its_array():
    from core import storage

    x = mx.nd.ones((2,))
    before = len(storage.writable_elsewhere)
    x.to_dlpack_for_write()
    assert len(storage.writable_elsewhere) == before + 1
    del x
    assert len(storage.writable_elsewhere) == before

"""Gradients that take over computed memory: nobody can tell them from gradients that were copied."""

import numpy as np
import pytest

import core as mx
from core import autograd, backward, nd, storage

SHAPE = (160, 200)  # large enough that a gradient takes over memory


@pytest.fixture
def x():
    x = nd.array(np.random.RandomState(0).randn(*SHAPE))
    x.attach_grad()
    return x


def place(array):
    return array._data.data_ptr()


def differentiate(function, *arrays, head=None, **how):
    with autograd.record():
        y = function(*arrays)
    y.backward(head, **how)
    return y


def equal(array, expected):
    np.testing.assert_array_equal(array.asnumpy(), np.broadcast_to(expected, array.shape))


def test_computed_memory_is_taken_over(x):
    gradient, before = x.grad, place(x.grad)
    differentiate(lambda x: x * x, x)
    assert x.grad is gradient and place(gradient) != before
    equal(gradient, 2 * x.asnumpy())


def test_arrays_that_share_the_gradient_see_the_new_one(x):
    gradient, alias, np_alias = x.grad, x.grad.detach(), x.grad.as_np_ndarray()
    differentiate(lambda x: x * 3, x)
    for array in (gradient, alias, np_alias):
        equal(array, 3)
    gradient[:] = 5
    equal(alias, 5)


def test_views_of_the_gradient_see_the_new_one(x):
    row, flat = x.grad[0:2], x.grad.reshape((-1,))
    differentiate(lambda x: x * 3, x)
    equal(row, 3)
    equal(flat, 3)
    row[:] = 7
    equal(x.grad[:2], 7)


def test_memory_that_other_libraries_see_stays(x):
    shown = np.from_dlpack(x.grad)
    differentiate(lambda x: x * 3, x)
    np.testing.assert_array_equal(shown, np.full(SHAPE, 3, "float32"))
    given = np.zeros(SHAPE, "float32")
    autograd.mark_variables([x], [nd.from_numpy(given)])
    differentiate(lambda x: x * 4, x)
    np.testing.assert_array_equal(given, np.full(SHAPE, 4, "float32"))


def test_a_head_that_the_user_holds_is_not_taken(x):
    head = nd.array(np.random.RandomState(1).randn(*SHAPE))
    values = head.asnumpy()
    for function in (lambda x: x + 1, lambda x: x.reshape((-1,)).reshape(SHAPE), lambda x: x.expand_dims(0)[0]):
        differentiate(function, x, head=head)
        equal(x.grad, values)
        x.grad[:] = 0
        equal(head, values)
        differentiate(function, x, head=head)
        head += 1
        equal(x.grad, values)
        values = head.asnumpy()


def test_a_head_that_others_look_into_is_copied(x):
    head = nd.ones(SHAPE)
    row, shown = head[0:2], np.from_dlpack(head)
    differentiate(lambda x: x + 1, x, head=head)
    row[:] = 4
    equal(x.grad, 1)
    x.grad[:] = 5
    np.testing.assert_array_equal(shown[1:3, 0], [4, 1])


def test_an_operand_that_is_its_own_gradient_is_not_taken(x):
    w = nd.array(np.random.RandomState(1).randn(*SHAPE))
    values = w.asnumpy()
    differentiate(lambda x: (x * w).sum(), x)
    np.testing.assert_allclose(x.grad.asnumpy(), values)
    x.grad[:] = 0
    equal(w, values)


def test_two_arrays_never_share_one_gradient(x):
    y = x.copy()
    y.attach_grad()
    differentiate(lambda x, y: x + y, x, y)
    x.grad[:] = 9
    equal(y.grad, 1)
    y.grad[0:3] = 8
    equal(x.grad, 9)
    equal(y.grad[3:], 1)


def test_added_gradients_stay_in_their_memory():
    x = nd.ones(SHAPE)
    x.attach_grad("add")
    before = place(x.grad)
    for k in range(3):
        differentiate(lambda x: x * 2, x)
        equal(x.grad, 2 * (k + 1))
    assert place(x.grad) == before


def test_a_tape_is_differentiated_twice(x):
    y = differentiate(lambda x: x * x * x, x, retain_graph=True)
    first = x.grad.copy()
    y.backward()
    equal(x.grad, first.asnumpy())


def test_one_array_in_two_computations(x):
    with autograd.record():
        a, b = x * 2, x * 3
    a.backward()
    kept = x.grad.copy()
    b.backward()
    equal(kept, 2)
    equal(x.grad, 3)


def test_gradients_of_other_types_and_orders_are_copied(x):
    gradient = nd.zeros(SHAPE, dtype="float64")
    autograd.mark_variables([x], [gradient])
    differentiate(lambda x: x * 2, x)
    assert gradient.dtype == np.float64
    equal(gradient, 2)


def test_a_gradient_that_a_tape_needs_cannot_change_unseen(x):
    with autograd.record():
        z = nd.ones(SHAPE)
        z.attach_grad()
        product = z * x.grad
    differentiate(lambda x: x * 2, x)
    with pytest.raises(mx.MXNetError, match="changed in place"):
        product.backward()


def test_asked_gradients_are_the_callers(x):
    with autograd.record():
        y = x * 2
    (asked,) = autograd.grad(y, [x], retain_graph=True)
    y.backward()
    asked[:] = 4
    equal(x.grad, 2)


def test_trainers_find_gradients_where_they_were():
    net = mx.gluon.nn.Dense(200, in_units=160)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    weight = net.weight.data().asnumpy()
    x = nd.ones((2, 160))
    for _ in range(3):
        with autograd.record():
            y = net(x).sum()
        y.backward()
        equal(net.weight.grad(), 2)
        trainer.step(2)
        weight = weight - 1
        np.testing.assert_allclose(net.weight.data().asnumpy(), weight, rtol=1e-5)


def test_memory_of_a_gradient_is_free_while_the_next_one_is_computed(x, monkeypatch):
    """Where the heap puts the next one is its own affair."""
    given_back, release = [], storage.release
    monkeypatch.setattr(storage, "release", lambda array: given_back.append(release(array)) or given_back[-1])
    for scale in (2, 3, 4):
        differentiate(lambda x, scale=scale: x * scale, x)
        equal(x.grad, scale)
    assert [shape for shape, *_ in given_back] == [SHAPE] * 3
    differentiate(lambda x: nd.BlockGrad(x) * 1 + x.sum() * 0, x)
    equal(x.grad, 0)


def test_a_gradient_that_is_read_on_the_way_stays(x):
    differentiate(lambda x: x * 2, x)
    differentiate(lambda x: x * x.grad, x)
    equal(x.grad, 2)
    differentiate(lambda x: x * 3, x, head=x.grad)
    equal(x.grad, 6)


def test_gradients_are_whole_after_an_error(x, monkeypatch):
    def broken(*_):
        raise ValueError("not today")

    differentiate(lambda x: x * 2, x)
    with monkeypatch.context() as patch:
        patch.setattr(backward, "_store", broken)
        with pytest.raises(ValueError, match="not today"):
            differentiate(lambda x: x * 3, x)
    equal(x.grad, 0)
    x.grad[0] = 1
    assert x.grad.asnumpy().sum() == SHAPE[1]


def test_old_gradients_that_are_read_stay(x):
    differentiate(lambda x: x * 3, x)
    differentiate(lambda x: x * x.grad, x)
    differentiate(lambda x: x * 2, x, head=x.grad)
    equal(x.grad, 6)

    class Reading(autograd.Function):
        def forward(self, y):
            return y + 0

        def backward(self, head):
            return head + x.grad

    differentiate(lambda x: Reading()(x), x)
    equal(x.grad, 7)


def test_parts_of_a_head_are_shared_until_they_are_written_to(x):
    y = x.copy()
    y.attach_grad()
    head = nd.array(np.random.RandomState(1).randn(2, *SHAPE))
    values = head.asnumpy()
    for _ in range(3):  # the gradients that are overwritten are such parts themselves
        differentiate(nd.stack, x, y, head=head)
        equal(x.grad, values[0])
        equal(y.grad, values[1])
        x.grad[:] = 5
        equal(head, values)
        head[1] = 7
        equal(y.grad, values[1])
        y.grad[:] = 0
        equal(head[1], 7)
        values = head.asnumpy()


def test_parts_of_a_head_that_others_look_into_are_copied(x):
    y = x.copy()
    y.attach_grad()
    head = nd.ones((2, *SHAPE))
    shown = np.from_dlpack(head)
    differentiate(nd.stack, x, y, head=head)
    head[:] = 3
    x.grad[:] = 4
    np.testing.assert_array_equal(shown[:, 0, 0], 3)
    equal(y.grad, 1)


def test_small_parts_do_not_keep_a_large_head(x):
    parts = [x.copy() for _ in range(4)]
    for p in parts:
        p.attach_grad()
    differentiate(nd.stack, *parts, head=nd.ones((4, *SHAPE)))
    for p in parts:
        assert p.grad._data.untyped_storage().nbytes() == p.grad._data.nbytes
        equal(p.grad, 1)


def test_two_arrays_may_write_to_one_gradient(x):
    y, shared = x.copy(), nd.zeros(SHAPE)
    autograd.mark_variables([x, y], [shared, shared])
    for k in range(2):
        differentiate(lambda x, y: x * 2 + y * 2, x, y, head=nd.full(SHAPE, k + 1))
        equal(shared, 2 * (k + 1))


def test_gradients_stay_the_arrays_that_were_given(x):
    gradient = x.grad
    for scale in (2, 3):
        differentiate(lambda x, scale=scale: x * scale, x)
        assert x.grad is gradient
        equal(gradient, scale)
    kept, part = gradient.detach(), gradient[1:3]
    differentiate(lambda x: x * 4, x)
    equal(kept, 4)
    equal(part, 4)


def test_gradients_of_gradients_leave_the_first_ones(x):
    values = x.asnumpy()
    with autograd.record():
        (first,) = autograd.grad(x * x * x, [x], create_graph=True)
        total = (first * first).sum()
    total.backward(retain_graph=True)
    np.testing.assert_allclose(first.asnumpy(), 3 * values**2, rtol=1e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), 36 * values**3, rtol=1e-4, atol=1e-5)
    total.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 36 * values**3, rtol=1e-4, atol=1e-5)

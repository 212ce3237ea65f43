"""Threads of kernels: one where there is little to do, and all others left as they were."""

import threading

import numpy as np
import pytest
import torch

import core as mx
from core import threads
from core.threads import OneThread, work


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def counted():
    """How many threads torch and MKL take, by what runs in this thread."""
    count, set_count, set_products = threads._functions()
    products = set_products(7)
    set_products(products)
    return torch.get_num_threads(), count(), products


@pytest.mark.skipif(threads._functions() is None, reason="this torch is built without OpenMP and MKL")
def test_one_thread_and_back(two_threads):
    before, inside, others = counted(), [], []
    assert before[:2] == (2, 2)

    def other():
        torch.set_num_threads(2)
        others.append(counted())

    with pytest.raises(KeyError), OneThread():
        with OneThread():
            inside.append(counted())
        inside.append(counted())
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        raise KeyError
    assert inside == [(1, 1, 1)] * 2 and others[0][:2] == (2, 2) and counted() == before


def test_nothing_happens_without_these_libraries(two_threads, monkeypatch):
    monkeypatch.setattr(threads, "_functions", lambda: None)
    with OneThread():
        assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    "shapes, count", [([(4, 5), (6, 5), (4, 6)], 120), ([(4, 5), (4, 5)], 20), ([(3,), ()], 3**0.5)]
)
def test_work_of_a_product_is_its_multiply_adds(shapes, count):
    assert work(shapes) == pytest.approx(count)


@pytest.mark.parametrize("width, expected", [(8, 1), (512, 2)])
def test_an_executor_of_small_operators_takes_one_thread_after_its_first_pass(two_threads, width, expected):
    seen = []

    class Count(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            seen.append(torch.get_num_threads())
            self.assign(out_data[0], req[0], in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            seen.append(torch.get_num_threads())
            self.assign(in_grad[0], req[0], out_grad[0])

    @mx.operator.register("count_threads")
    class CountProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Count()

    net = mx.sym.Custom(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=width), op_type="count_threads")
    executor = net.simple_bind(mx.cpu(), data=(width, width))
    monitored = []
    for _ in range(3):
        executor.forward(is_train=True, data=np.ones((width, width)))
        executor.backward()
        executor.set_monitor_callback(lambda name, _: monitored.append(name))
    assert seen[0] == 2 and set(seen[1:]) == {expected} and torch.get_num_threads() == 2
    assert len(monitored) >= 4


@pytest.mark.parametrize("size, expected", [(100, 1), (1 << 15, 2)])
def test_small_steps_of_optimizers_take_one_thread(two_threads, monkeypatch, size, expected):
    from core.kernels.cpu import optimizer

    seen = []
    monkeypatch.setattr(
        optimizer, "aten", type("aten", (), {"_fused_adam_": lambda *_, **__: seen.append(torch.get_num_threads())})
    )
    weight, states = mx.nd.ones(size), [mx.nd.zeros(size) for _ in range(2)]
    mx.nd.adam_update(weight, mx.nd.ones(size), *states, lr=0.1, out=weight)
    assert seen == [expected]

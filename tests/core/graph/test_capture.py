"""Capture as a CUDA graph, with a stand-in for the GPU: what is captured when, what is copied, and what is let go.

On a GPU itself this has not been run.
"""

from __future__ import annotations

import gc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import core as mx
from core import autograd, storage
from core.graph import capture, compiled
from core.graph.capture import PROMISED, WARM_UP, Captured, considered, obstacle
from core.graph.plan import forward_part, sharing_of
from core.graph.trace import trace
from core.graph.versions import values_changed
from gluon import HybridBlock, nn


class Gpu:
    """Captures by remembering the function; a replay runs it, in the arrays that it was captured with."""

    def __init__(self):
        self.captures = self.replays = 0
        self.pools, self.nbytes = set(), 100

    def capture(self, function, pool=None):
        self.captures += 1
        self.pools.add(id(pool))
        result = function()

        def replay():
            self.replays += 1
            again = function()
            for target, source in zip(result or [], again or [], strict=True):
                if storage.is_tensor(target):
                    target.copy_(source)

        return replay, result, self.nbytes


@pytest.fixture
def gpu(monkeypatch):
    device = Gpu()
    monkeypatch.setattr(storage, "capture", device.capture)
    monkeypatch.setattr(storage, "gpu_memory", lambda device_id: (0, 1000))
    monkeypatch.setattr(capture, "_budget", capture._Budget())
    monkeypatch.setattr(compiled, "considered", lambda graph: bool(graph.outputs))
    monkeypatch.setattr(capture, "obstacle", lambda graph, parts: "")
    return device


def captured(run, **how):
    """The forward part of a prediction, captured."""
    graph = SimpleNamespace(outputs=[SimpleNamespace(ctx=mx.cpu())], draws=[], writes=[], nodes=[], space=None)
    return Captured(graph, SimpleNamespace(run=run, steps=[]), promised=True, **how).forward


def tensor(*values):
    return mx.nd.array(values)._data


def test_replays_read_new_inputs_and_give_memory_of_their_own(gpu):
    weight = tensor(10.0, 20.0)
    run = captured(lambda inputs, held, prepared, keys: ((inputs[0] * held[0],), []))
    results = [run([tensor(k, k)], [weight], (), [])[0][0] for k in (1.0, 2.0, 3.0, 4.0, 5.0)]
    assert (gpu.captures, gpu.replays) == (1, 5 - PROMISED)
    for k, result in enumerate(results, 1):
        np.testing.assert_array_equal(result.numpy(), [10 * k, 20 * k])
    weight.mul_(2)  # in place: the kernels read the new values
    np.testing.assert_array_equal(run([tensor(1.0, 1.0)], [weight], (), [])[0][0].numpy(), [20, 40])
    assert gpu.captures == 1


def test_inputs_and_results_that_are_views_keep_their_values(gpu):
    run = captured(lambda inputs, held, prepared, keys: ((inputs[0][1:], inputs[0].t()[::2]), []))
    for k in range(1, 6):
        x = (tensor(*range(36)).reshape(6, 6) * k)[:, 1:]
        first, second = run([x], [], (), [])[0]
        np.testing.assert_array_equal(first.numpy(), x.numpy()[1:])
        np.testing.assert_array_equal(second.numpy(), x.numpy().T[::2])
    assert gpu.replays == 5 - PROMISED


def test_arrays_that_keep_moving_are_not_captured_any_more(gpu):
    reasons = []
    run = captured(lambda inputs, held, prepared, keys: ((inputs[0] + held[0],), []), decline=reasons.append)
    kept = [tensor(float(k)) for k in range(30)]
    for k, weight in enumerate(kept):
        assert float(run([tensor(1.0)], [weight], (), [])[0][0]) == k + 1
    assert 1 < gpu.captures <= capture.MOVES + 1
    assert reasons == ["the arrays that it reads keep moving in memory"]


def test_arrays_that_moved_once_are_captured_anew(gpu):
    run = captured(lambda inputs, held, prepared, keys: ((inputs[0] + held[0],), []))
    for weight in (tensor(1.0), tensor(2.0)):
        for k in range(5):
            assert float(run([tensor(float(k))], [weight], (), [])[0][0]) == k + float(weight)
    assert gpu.captures == 2


def test_prepared_weights_that_are_made_anew_are_read(gpu):
    run = captured(lambda inputs, held, prepared, keys: ((inputs[0] + prepared[0],), []))
    prepared = [(tensor(float(k)),) for k in range(3)]
    for p in [prepared[0]] * 4 + [prepared[1]] * 2 + [prepared[2]] * 2:
        want = float(p[0]) if p is not prepared[0] else 0.0
        assert float(run([tensor(1.0)], [], p, [])[0][0]) == want + 1
        prepared[0] = p if p is prepared[0] else prepared[0]
    assert gpu.captures == 1


# ---------------------------------------------------------------------------------------------- blocks


class Scale(HybridBlock):
    def hybrid_forward(self, F, x):
        return F.relu(x) * 2


def hybrid(net=None, **flags):
    net = net or Scale()
    net.initialize()
    net.hybridize(**flags)
    return net


def test_what_comes_again_is_captured_without_flags(gpu):
    net = hybrid()
    for k in range(WARM_UP):
        assert net(mx.nd.array([k, -k])).asnumpy().tolist() == [2.0 * k, 0]
        assert not gpu.captures
    for k in range(3):
        assert net(mx.nd.array([k, -k])).asnumpy().tolist() == [2.0 * k, 0]
    assert (gpu.captures, gpu.replays) == (1, 3)


@pytest.mark.parametrize(
    "flags, warm_up", [({"static_alloc": True}, WARM_UP), ({"static_alloc": True, "static_shape": True}, PROMISED)]
)
def test_flags_capture_earlier_at_most(gpu, flags, warm_up):
    net = hybrid(**flags)
    counts = []
    for _ in range(warm_up + 1):
        net(mx.nd.ones((2, 3)))
        counts.append(gpu.captures)
    assert counts == [0] * warm_up + [1]


def test_each_set_of_lengths_of_one_plan_is_captured_for_itself(gpu):
    net = hybrid()
    for _ in range(WARM_UP + 2):
        for n in (2, 3, 4, 5):
            x = np.arange(2.0 * n).reshape(n, 2) - 3
            np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), 2 * np.maximum(x, 0))
    plans = {id(plan) for plan in net._compiled._plans.values()}
    assert len(plans) == 2 and gpu.captures == 4 and len(gpu.pools) == 1
    text = mx.graph.explain(net, mx.nd.ones((3, 2)))
    assert "captured as a CUDA graph for 3 of 3 sets of shapes, 300 bytes" in text


def test_results_are_the_caller_s_over_several_calls(gpu):
    net = hybrid()
    kept = [net(mx.nd.array([k, 1])) for k in range(WARM_UP + 8)]
    views = [y[:1] for y in kept]
    assert gpu.replays == 8
    assert [y.asnumpy().tolist() for y in kept] == [[2.0 * k, 2] for k in range(WARM_UP + 8)]
    assert [y.asscalar() for y in views] == [2.0 * k for k in range(WARM_UP + 8)]
    kept[-1][:] = 9
    assert net(mx.nd.array([1, 1])).asnumpy().tolist() == [2, 2]


def test_the_least_recently_used_capture_goes_where_memory_is_short(gpu, monkeypatch):
    monkeypatch.setenv(capture.SHARE, "0.25")  # of 1000 bytes: two captures of 100
    nets = [hybrid() for _ in range(3)]
    x = mx.nd.ones((2,))
    for net in nets:
        for _ in range(WARM_UP + 1):
            net(x)
    assert gpu.captures == 3
    text = [mx.graph.explain(net, x) for net in nets]
    assert ["for 1 of 1" in t for t in text] == [False, True, True]
    nets[1](x), nets[1](x)
    assert gpu.replays == 5
    for _ in range(2 * WARM_UP + 1):  # what was let go once has to come more often
        assert nets[0](x).asnumpy().tolist() == [2, 2]
    assert ["for 1 of 1" in mx.graph.explain(net, x) for net in nets] == [True, True, False]
    del nets[:], net
    gc.collect()
    assert not capture._budget._all


def test_a_capture_above_the_limit_is_declined_with_one_warning(gpu, monkeypatch):
    monkeypatch.setenv(capture.SHARE, "0.05")
    net, x = hybrid(), mx.nd.ones((2,))
    with pytest.warns(UserWarning, match="100 bytes, and MXNET_CUDA_GRAPH_SHARE allows 50") as warned:
        for _ in range(WARM_UP + 3):
            assert net(x).asnumpy().tolist() == [2, 2]
    assert len(warned) == 1 and gpu.captures == 1


def test_what_waits_for_the_device_is_told_once_for_all_plans_of_a_block(gpu, monkeypatch):
    def refuse(function, pool=None):
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    monkeypatch.setattr(storage, "capture", refuse)
    net = hybrid()
    with pytest.warns(
        UserWarning, match="kernel by kernel: operation not permitted when stream is capturing$"
    ) as warned:
        for n in (1, 2, 3):
            for k in range(WARM_UP + 2):
                assert net(mx.nd.full((n, 1), k)).asnumpy().tolist() == [[2.0 * k]] * n
    assert len(warned) == 1
    assert "not captured as a CUDA graph: operation not permitted" in mx.graph.explain(net, mx.nd.ones((1, 1)))


def test_what_is_known_to_be_in_the_way_is_told_when_a_capture_is_due(gpu, monkeypatch):
    monkeypatch.setattr(capture, "obstacle", obstacle)  # arrays on the CPU
    net, x = hybrid(), mx.nd.ones((2,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(WARM_UP - 1):
            net(x)
    with pytest.warns(UserWarning, match="some of its arrays are not on the GPU"):
        net(x)
    assert not gpu.captures


@pytest.mark.parametrize("text", ["much", "-1", "2"])
def test_a_share_that_is_none_is_refused(gpu, monkeypatch, text):
    monkeypatch.setenv(capture.SHARE, text)
    with pytest.raises(mx.MXNetError, match=r"MXNET_CUDA_GRAPH_SHARE is '.*'; a number from 0 to 1 is expected"):
        capture._share()


def test_what_is_made_of_constants_is_made_once():
    class Offset(HybridBlock):
        def hybrid_forward(self, F, x):
            return x + F.sqrt(F.arange(3))

    net, x = hybrid(Offset()), mx.nd.ones((2, 3))
    net(x)
    (plan,) = net._compiled._plans.values()
    made = plan._ready
    values_changed()  # as an optimizer says
    np.testing.assert_allclose(net(x).asnumpy()[0], 1 + np.sqrt([0, 1, 2]), rtol=1e-6)
    assert made and plan._ready is made


# ---------------------------------------------------------------------------------------------- training


def test_gradients_are_written_to_the_parameters_own_memory(gpu):
    net = hybrid(nn.Dense(2, in_units=3))
    weight, places = net.weight, set()
    for k in range(WARM_UP + 4):
        x = mx.nd.array(np.random.RandomState(k).standard_normal((4, 3)))
        with autograd.record():
            y = net(x)
        y.backward(mx.nd.full((4, 2), k))
        np.testing.assert_allclose(weight.grad().asnumpy(), k * np.tile(x.asnumpy().sum(0), (2, 1)), rtol=1e-5)
        places.add(weight.grad()._data.data_ptr())
    assert gpu.captures == 2 and gpu.replays == 8 and len(places) == 1


def test_gradients_that_are_added_or_read_twice_are_right(gpu):
    net = hybrid(nn.Dense(2, in_units=3))
    for p in net.collect_params().values():
        p.grad_req = "add"
    other = nn.Dense(2, in_units=3, params=net.params)
    other.hybridize()
    x, total = mx.nd.ones((4, 3)), 0
    for k in range(1, WARM_UP + 4):
        with autograd.record():
            y = net(x) * k + other(x)
        y.backward()
        total += 4 * (k + 1)
        np.testing.assert_allclose(net.weight.grad().asnumpy(), np.full((2, 3), total))
    assert gpu.replays


# ---------------------------------------------------------------------------------------------- what may be captured


def on_gpu(function, *shape):
    """The graph of `function` and its parts, as of arrays on a GPU."""
    graph = trace(function, (mx.nd.ones(shape),), False).graph
    assert not considered(graph)  # on the CPU
    for v in (*graph.inputs, *graph.held, *graph.outputs):
        v.ctx = mx.gpu(0)
    return graph, [forward_part(graph, sharing_of(graph))]


def test_what_may_be_captured(monkeypatch):
    graph, parts = on_gpu(mx.nd.relu, 2)
    assert considered(graph) and not obstacle(graph, parts)
    monkeypatch.setenv(capture.SHARE, "0")
    assert not considered(graph)
    assert not obstacle(*on_gpu(lambda x: mx.nd.Dropout(x, mode="always"), 2))  # kernels read keys from memory
    flip = obstacle(*on_gpu_of(mx.nd.image.random_flip_left_right, monkeypatch, 2, 2, 3))
    assert flip == "_image_random_flip_left_right computes with its random key in Python"
    potrf = obstacle(*on_gpu_of(mx.nd.linalg.potrf, monkeypatch, 2, 2))
    assert potrf == "_linalg_potrf reads a value back in cholesky"
    assert obstacle(*on_gpu_of(mx.np.linalg.svd, monkeypatch, 2, 2)) == "_npi_svd computes svd on the CPU"
    assert not obstacle(*on_gpu_of(mx.nd.linalg.det, monkeypatch, 2, 2))


def on_gpu_of(function, monkeypatch, *shape):
    monkeypatch.delenv(capture.SHARE, raising=False)
    return on_gpu(function, *shape)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_recurrent_layers_read_their_keys_from_memory(dropout):
    def layers(x):
        weights, state = mx.nd.zeros((2 * (2 * 4 + 4),)), mx.nd.zeros((2, 1, 2))
        return mx.nd.RNN(x, weights, state, mode="rnn_tanh", state_size=2, num_layers=2, p=dropout)

    with mx.autograd.train_mode():
        graph, parts = on_gpu(layers, 3, 1, 2)
    assert not obstacle(graph, parts)

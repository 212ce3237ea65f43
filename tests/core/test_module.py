"""Modules: training, checkpoints, several contexts, buckets, chains; numbers recorded from MXNet 1.9.1."""

import logging
import pickle

import numpy as np
import pytest

import core as mx
from core.module import BucketingModule, Module, PythonLossModule, SequentialModule


def network(hidden=3):
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=hidden, name="fc1")
    x = mx.sym.Activation(x, act_type="tanh")
    x = mx.sym.FullyConnected(x, num_hidden=2, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def numbers(*shape, scale=0.1):
    count = int(np.prod(shape))
    return np.sin(np.arange(count, dtype="float32") * 1.7).reshape(shape) * scale


def params():
    shapes = {"fc1_weight": (3, 4), "fc1_bias": (3,), "fc2_weight": (2, 3), "fc2_bias": (2,)}
    return {name: mx.nd.array(numbers(*shape, scale=0.5)) for name, shape in shapes.items()}


def batches(count=12, size=4):
    labels = (np.arange(count) % 3 == 0).astype("float32")
    return mx.io.NDArrayIter(numbers(count, 4, scale=1.0), labels, size)


# (column of the first weight, last bias) after three epochs of MXNet 1.9.1
TRAINED = [0.34824947, 0.24858613, 0.3732906], [0.73593473, -0.24010226]


@pytest.mark.parametrize(("devices", "kvstore"), [(1, None), (1, "local"), (2, "local"), (2, "device")])
def test_training_gives_the_numbers_of_mxnet(devices, kvstore):
    module = Module(network(), context=[mx.cpu(i) for i in range(devices)])
    settings = {"learning_rate": 0.3, "momentum": 0.9, "wd": 0.01}
    module.fit(batches(), optimizer_params=settings, arg_params=params(), aux_params={}, num_epoch=3, kvstore=kvstore)
    args, _ = module.get_params()
    first, bias = TRAINED
    np.testing.assert_allclose(args["fc1_weight"].asnumpy()[:, 1], first, rtol=1e-4)
    np.testing.assert_allclose(args["fc2_bias"].asnumpy(), bias, rtol=1e-4, atol=1e-5)
    assert module.score(batches(), "ce")[0][1] == pytest.approx(0.66182085, rel=1e-5)
    np.testing.assert_allclose(module.predict(batches()).asnumpy()[0], [0.73576576, 0.26423424], rtol=1e-5)


def test_gradients_of_inputs_on_two_contexts():
    a, b, c = (mx.sym.var(name, __layout__="NC") for name in "abc")
    module = Module(a + 2 * b + 3 * c, ["b", "c", "a"], None, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([[name, (5, 5)] for name in "bca"], None, inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((5, 5))] * 3))
    module.backward([mx.nd.ones((5, 5))])
    assert [float(g.asnumpy().mean()) for g in module.get_input_grads()] == [2, 3, 1]


def test_the_layout_names_the_axis_of_the_batch():
    x = mx.sym.Activation(mx.sym.var("data"), act_type="relu", __layout__="TNC")
    module = Module(x, ("data",), None, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([mx.io.DataDesc("data", (3, 8, 7), np.float16, layout="TNC")])
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((3, 8, 7), dtype="float16")]))
    module.backward([mx.nd.ones((3, 8, 7), dtype="float16")])
    assert module.get_outputs()[0].shape == (3, 8, 7)
    assert [part.shape for part in module.get_outputs(merge_multi_context=False)[0]] == [(3, 4, 7)] * 2
    assert module.get_outputs()[0].dtype == np.float16


@pytest.mark.parametrize("devices", [1, 2])
def test_checkpoints_hold_parameters_and_states(tmp_path, devices):
    prefix = str(tmp_path / "net")
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    module = Module(network(), context=[mx.cpu(i) for i in range(devices)])
    module.fit(batches(), optimizer_params=settings, num_epoch=1)
    module.save_checkpoint(prefix, 1, save_optimizer_states=True)
    other = Module.load(prefix, 1, load_optimizer_states=True, context=module._context)
    other.bind(batches().provide_data, batches().provide_label)
    other.init_optimizer(optimizer_params=settings)
    assert other.symbol.tojson() == module.symbol.tojson()
    for one in (module, other):  # both go on alike
        one.fit(batches(), num_epoch=2, begin_epoch=1, optimizer_params=settings)
    for name, value in module.get_params()[0].items():
        np.testing.assert_array_equal(other.get_params()[0][name].asnumpy(), value.asnumpy())
    symbol, args, _ = mx.model.load_checkpoint(prefix, 1)
    assert set(args) == set(params()) and symbol.list_arguments() == module.symbol.list_arguments()


def test_other_shapes_and_the_same_parameters():
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=20, name="fc")
    module = Module(x, ("data",), None, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (7, 20))])
    module.init_params()
    module.init_optimizer(optimizer_params={"learning_rate": 1})
    for shape, expected in (((7, 20), -1), ((14, 20), -3)):  # gradients are divided by the first batch size
        module.reshape([("data", shape)])
        module.forward(mx.io.DataBatch([mx.nd.ones(shape)]))
        module.backward([mx.nd.ones(shape)])
        module.update()
        assert module.get_outputs()[0].shape == shape
        assert (module.get_params()[0]["fc_bias"].asnumpy() == expected).all()


def test_a_batch_of_another_shape_reshapes_the_module():
    module = Module(network())
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params()
    for count in (3, 20, 4):
        module.forward(mx.io.DataBatch([mx.nd.ones((count, 4))], [mx.nd.ones((count,))]), is_train=True)
        module.backward()
        assert module.get_outputs()[0].shape == (count, 2)
    module.bind([("data", (1, 4))], for_training=False, force_rebind=True)
    assert module.predict(mx.io.NDArrayIter(mx.nd.ones((10, 4)))).shape == (10, 2)
    assert module.predict(np.ones((6, 4))).shape == (6, 2)


def test_given_parameters_are_checked_by_name():
    module = Module(network())
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.set_params(params(), {}, force_init=True)
    some = {k: v for k, v in params().items() if k != "fc2_bias"}
    more = params() | {"fc3_bias": mx.nd.ones((2,))}
    module.set_params(some, {}, allow_missing=True)
    module.set_params(more, {}, allow_missing=True, allow_extra=True)
    with pytest.raises(RuntimeError, match="fc2_bias"):
        module.set_params(some, {})
    with pytest.raises(ValueError, match="fc3_bias"):
        module.set_params(more, {}, allow_missing=True)
    module.set_params(more, {})


def test_fixed_parameters_stay():
    module = Module(network(), fixed_param_names=["fc1_weight"])
    module.fit(batches(), arg_params=params(), num_epoch=1)
    np.testing.assert_array_equal(module.get_params()[0]["fc1_weight"].asnumpy(), params()["fc1_weight"].asnumpy())
    assert (module.get_params()[0]["fc2_weight"].asnumpy() != params()["fc2_weight"].asnumpy()).any()


def test_a_monitor_sees_outputs_gradients_and_arguments():
    module = Module(network())
    module.bind(batches().provide_data, batches().provide_label)
    monitor = mx.mon.Monitor(2, sort=True)
    module.install_monitor(monitor)
    module.init_params(arg_params=params())
    counts = []
    for batch in batches():
        monitor.tic()
        module.forward_backward(batch)
        counts.append(len(monitor.toc()))
    # 4 outputs, 3 + 1 + 3 + 2 gradients, 6 arguments; every second batch
    assert counts == [19, 0, 19]


def test_batches_of_another_shape_are_monitored_too():
    module, seen = Module(network()), []
    module.bind(batches().provide_data, batches().provide_label, for_training=False)
    module.init_params(arg_params=params())
    module._exec_group.execs[0].set_monitor_callback(lambda name, array: seen.append((name, array.shape[0])))
    module.forward(mx.io.DataBatch([mx.nd.ones((3, *batches().provide_data[0].shape[1:]))]))
    assert seen[0] == ("fc1_output", 3)


def test_fit_calls_back_and_logs(caplog, tmp_path):
    caplog.set_level(logging.INFO)
    seen = []
    Module(network()).fit(
        batches(), eval_data=batches(), num_epoch=2,
        batch_end_callback=[mx.callback.Speedometer(4, 1), lambda p: seen.append((p.epoch, p.nbatch, "data_batch" in p.locals))],
        epoch_end_callback=mx.callback.do_checkpoint(str(tmp_path / "a"), 2),
    )  # fmt: skip
    assert seen == [(epoch, batch, True) for epoch in range(2) for batch in range(3)]
    text = caplog.text
    assert "Epoch[1] Batch [1-2]\tSpeed:" in text and "Epoch[1] Validation-accuracy=" in text
    assert "Epoch[0] Train-accuracy=" in text and "Time cost=" in text
    assert (tmp_path / "a-0002.params").exists() and not (tmp_path / "a-0001.params").exists()


def bucketing(devices=1):
    def generate(length):
        data = mx.sym.var("data")
        x = mx.sym.FullyConnected(mx.sym.Reshape(data, shape=(-1, 2)), num_hidden=3, name="fc")
        x = mx.sym.sum(mx.sym.Reshape(x, shape=(-1, length, 3)), axis=1)
        return mx.sym.SoftmaxOutput(x, name="softmax"), ("data",), ("softmax_label",)

    return BucketingModule(generate, 6, context=[mx.cpu(i) for i in range(devices)])


def batch_of(length, size=4):
    data, label = mx.nd.array(numbers(size, length, 2, scale=1)), mx.nd.array(np.arange(size) % 3)
    shapes = [("data", data.shape)], [("softmax_label", label.shape)]
    return mx.io.DataBatch([data], [label], pad=0, bucket_key=length, provide_data=shapes[0], provide_label=shapes[1])


def test_buckets_share_parameters_and_optimizer(tmp_path):
    module = bucketing(2)
    first = batch_of(6)
    module.bind(first.provide_data, first.provide_label)
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    for length in (6, 3, 2, 3):
        before = module.get_params()[0]["fc_weight"].asnumpy().copy()
        module.prepare(batch_of(length))
        module.forward_backward(batch_of(length))
        module.update()
        assert module.get_outputs()[0].shape == (4, 3)
        assert (module.get_params()[0]["fc_weight"].asnumpy() != before).any()
    assert set(module._buckets) == {6, 3, 2}
    prefix = str(tmp_path / "buckets")
    module.save_checkpoint(prefix, 1)
    other = BucketingModule.load(prefix, 1, module._sym_gen, 6)
    other.bind(first.provide_data, first.provide_label, for_training=False)
    for length in (6, 3):
        for one in (module, other):
            one.forward(batch_of(length), is_train=False)
        np.testing.assert_allclose(other.get_outputs()[0].asnumpy(), module.get_outputs()[0].asnumpy(), rtol=1e-6)


def test_a_chain_with_a_loss_in_python_trains_like_one_network():
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc1")
    y = mx.sym.softmax(
        mx.sym.FullyConnected(mx.sym.Activation(mx.sym.var("in"), act_type="tanh"), num_hidden=2, name="fc2")
    )

    def gradient(scores, labels):  # of cross-entropy, by the softmax's input, pulled through the softmax's inverse
        hot = mx.nd.one_hot(labels, 2)
        return -hot / scores

    chain = SequentialModule()
    chain.add(Module(x, label_names=None)).add(Module(y, ["in"], None), auto_wiring=True)
    chain.add(PythonLossModule(grad_func=gradient), take_labels=True, auto_wiring=True)
    settings = {"learning_rate": 0.3, "momentum": 0.9, "wd": 0.01}
    chain.fit(batches(), optimizer_params=settings, arg_params=params(), aux_params={}, num_epoch=3)
    args, _ = chain.get_params()
    np.testing.assert_allclose(args["fc1_weight"].asnumpy()[:, 1], TRAINED[0], rtol=1e-4)
    np.testing.assert_allclose(args["fc2_bias"].asnumpy(), TRAINED[1], rtol=1e-4)


def test_a_chain_ends_in_a_module_that_takes_labels():
    x = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc1"), act_type="tanh")
    y = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("in"), num_hidden=2, name="fc2"), name="softmax")
    first, last = Module(x, label_names=None), Module(y, ["in"])
    chain = SequentialModule().add(first).add(last, take_labels=True, auto_wiring=True)
    settings = {"learning_rate": 0.3, "momentum": 0.9, "wd": 0.01}
    chain.fit(batches(), optimizer_params=settings, arg_params=params(), aux_params={}, num_epoch=3)
    np.testing.assert_allclose(chain.get_params()[0]["fc1_weight"].asnumpy()[:, 1], TRAINED[0], rtol=1e-4)
    assert not first.label_shapes and [tuple(d.shape) for d in last.label_shapes] == [(4,)]


def test_groups_share_inputs_and_parameters():
    module = Module(network(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params()
    other = Module(network(), context=[mx.cpu(0), mx.cpu(1)])
    other.bind([("data", (4, 4))], [("softmax_label", (4,))], shared_module=module)
    for mine, theirs in zip(module._exec_group.execs, other._exec_group.execs):
        assert all(theirs.arg_dict[name] is array for name, array in mine.arg_dict.items())
        assert all(theirs.grad_dict[name] is array for name, array in mine.grad_dict.items())


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match=r"'dat'.*Did you mean 'data'"):
        Module(network(), ["dat"])
    module = Module(network())
    with pytest.raises(AssertionError, match="bind"):
        module.forward(None)
    with pytest.raises(ValueError, match="data_names"):
        module.bind([("x", (4, 4))])
    with pytest.raises(ValueError, match="cannot be divided"):
        Module(network(), context=[mx.cpu(0), mx.cpu(1)]).bind([("data", (1, 4))])


def test_feed_forward_trains_and_predicts(tmp_path):
    x, y = numbers(12, 4, scale=1.0), (np.arange(12) % 3 == 0).astype("float32")
    model = mx.model.FeedForward.create(
        network(), x, y, num_epoch=2, learning_rate=0.1, initializer=mx.init.Xavier(), numpy_batch_size=4
    )
    assert model.predict(x).shape == (12, 2)
    scores, data, labels = model.predict(batches(10), return_data=True)  # the last batch is padded by two
    assert scores.shape == (10, 2)
    np.testing.assert_array_equal(data, numbers(10, 4, scale=1.0))
    np.testing.assert_array_equal(labels, np.arange(10) % 3 == 0)
    assert 0 <= model.score(batches()) <= 1
    model.save(str(tmp_path / "old"))
    again = mx.model.FeedForward.load(str(tmp_path / "old"), 2)
    np.testing.assert_allclose(again.predict(x), model.predict(x), rtol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x), model.predict(x))


def test_feed_forward_predicts_whatever_its_labels_are_called():
    x, y = numbers(8, 4, scale=1.0), np.arange(8) % 2
    rows = mx.io.NDArrayIter(x, y, 4)
    rows.label = mx.io._init_data(y, allow_empty=True, default_name="svm_label")
    symbol = mx.sym.SVMOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="svm")
    model = mx.model.FeedForward(symbol, num_epoch=1, initializer=mx.init.Xavier())
    model.fit(rows, eval_data=rows)
    np.testing.assert_allclose(model.predict(x), model.predict(rows), rtol=1e-6)
    assert 0 <= model.score(rows) <= 1


def test_groups_of_a_network_have_their_contexts():
    with mx.AttrScope(ctx_group="first"):
        x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc1")
    with mx.AttrScope(ctx_group="second"):
        x = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=2, name="fc2"), name="softmax")
    module = Module(x, group2ctxs={"first": mx.cpu(1), "second": [mx.cpu(2)]})
    module.fit(batches(), num_epoch=1, arg_params=params(), aux_params={})
    (executor,) = module._exec_group.execs
    assert executor.arg_dict["fc1_weight"].context == mx.cpu(1) and executor.arg_dict["fc2_bias"].context == mx.cpu(2)


class _Sums:
    """A store that adds up what it is given, and tells what was asked of it."""

    def __init__(self):
        self.calls, self.sums = [], {}

    def push(self, key, values, priority=0):
        self.calls.append(("push", key, priority))
        self.sums[key] = sum(values[1:], values[0])

    def pull(self, key, out, priority=0):
        self.calls.append(("pull", key, priority))
        for target in out:
            target[:] = self.sums[key]

    def row_sparse_pull(self, key, out, priority=0, row_ids=None):
        self.calls.append(("rows", key, row_ids))


def test_copies_on_several_devices_are_updated_by_the_sum():
    weights, gradients = ([[mx.nd.ones((2,)) * k for k in of] for of in ((1, 1), (5, 5))] for _ in range(2))
    gradients[1] = [None, None]  # no gradient is asked for
    seen, store = [], _Sums()

    def updater(indices, grads, copies):
        seen.append((list(indices), [g.asnumpy().tolist() for g in grads]))
        for grad, copy in zip(grads, copies):
            copy -= grad

    mx.model._update_params(weights, gradients, updater, 2, store, ["a", "b"])
    assert store.calls == [("push", "a", 0), ("pull", "a", 0)]
    assert seen == [([0], [[2, 2]]), ([1], [[2, 2]])]
    assert [w.asnumpy().tolist() for w in weights[0]] == [[-1, -1]] * 2
    assert [w.asnumpy().tolist() for w in weights[1]] == [[5, 5]] * 2


@pytest.mark.parametrize("in_store", [True, False])
def test_rows_are_pulled_where_the_store_updates(in_store):
    module = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), label_names=None)
    module.bind([("data", (2, 3))])
    module.init_params()
    module._kvstore, module._update_on_kvstore = _Sums(), in_store
    group = module._exec_group
    group.param_arrays[module._param_names.index("fc_weight")] = [
        mx.nd.sparse.row_sparse_array(mx.nd.ones((2, 3))) for _ in range(1)
    ]
    with pytest.warns(UserWarning, match="fc_bias is not row_sparse" if in_store else "not updated in a kvstore"):
        module.prepare(None, lambda batch: {"fc_weight": [0], "fc_bias": [1]})
    assert module._kvstore.calls == ([("rows", "fc_weight", [0])] if in_store else [])

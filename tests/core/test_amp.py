"""Mixed precision: types by operator, training close to float32, skipped steps, converted graphs."""

import subprocess
import sys

import numpy as np
import pytest

import core as mx
import gluon
from core.contrib import amp
from core.contrib.amp.loss_scaler import LossScaler

PROGRAM = """
import numpy as np
import core as mx
from core.contrib import amp
from gluon import Trainer, loss, nn

def network():
    mx.random.seed(1)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, activation="relu"), nn.BatchNorm(), nn.Flatten(), nn.Dense(16, activation="relu"), nn.Dense(3))
    net.initialize(mx.init.Xavier())
    if HYBRID:
        net.hybridize()
    return net

def train(net, scaled):
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    if scaled:
        amp.init_trainer(trainer)
        if TARGET == "float16":  # the first scale, 65,536, is beyond these gradients, which costs the first steps
            trainer._amp_loss_scaler.loss_scale = trainer._amp_loss_scaler._next = 256
    x = mx.nd.array(np.random.RandomState(0).standard_normal((12, 2, 6, 6)))
    y = mx.nd.array(np.arange(12) % 3)
    criterion, losses = loss.SoftmaxCrossEntropyLoss(), []
    for _ in range(12):
        with mx.autograd.record():
            value = criterion(net(x), y)
            if scaled:
                with amp.scale_loss(value, trainer) as scaled_value:
                    mx.autograd.backward(scaled_value)
        if not scaled:
            value.backward()
        trainer.step(12)
        losses.append(float(value.mean().asscalar()))
    return losses, trainer

exact, _ = train(network(), False)
before = nn.Dense(4)  # compiled without mixed precision, and compiled again under it
before.initialize()
before.hybridize()
assert before(mx.nd.ones((2, 3))).dtype == np.float32
amp.init(TARGET)
assert before(mx.nd.ones((2, 3))).dtype.__name__ == TARGET
x = mx.nd.ones((2, 3))
norm = nn.HybridSequential()  # waits for the number of its channels
norm.add(nn.LayerNorm())
norm.initialize()
norm.hybridize()
assert norm(x).dtype == np.float32
w = mx.nd.ones((4, 3))
assert str(mx.nd.FullyConnected(x, w, no_bias=True, num_hidden=4).dtype.__name__) == TARGET
assert mx.nd.softmax(mx.nd.FullyConnected(x, w, no_bias=True, num_hidden=4)).dtype == np.float32
assert mx.nd.Activation(x.astype(TARGET), "softrelu").dtype == np.float32
assert mx.nd.Activation(x.astype(TARGET), "relu").dtype.__name__ == TARGET
assert (mx.nd.broadcast_add(x, x.astype(TARGET))).dtype == np.float32
net = network()
mixed, trainer = train(net, True)
assert all(p.data().dtype == np.float32 for p in net.collect_params().values())
assert mixed[-1] < 0.6 * mixed[0], mixed
assert np.abs(np.array(mixed) - exact).max() < 0.06 * exact[0], (mixed, exact)
if TARGET == "float16":
    scaler = trainer._amp_loss_scaler
    before = {k: p.data().asnumpy() for k, p in net.collect_params().items()}
    for p in net.collect_params().values():
        if p.grad_req != "null":
            p.list_grad()[0][:] = float("inf")
            p.data()._entry.fresh = True
    scale = scaler._next
    trainer.step(12)
    assert scaler._next == scale / 2
    for k, p in net.collect_params().items():
        assert (p.data().asnumpy() == before[k]).all(), k
print("fine")
"""


@pytest.mark.parametrize("hybrid", (False, True))
@pytest.mark.parametrize("target", amp.TARGETS)
def test_training_in_mixed_precision_follows_float32(target, hybrid, root):
    # In a process of its own: init() changes the table for good.
    program = f"TARGET, HYBRID = {target!r}, {hybrid}\n{PROGRAM}"
    run = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=300)
    assert run.stdout.strip() == "fine", run.stderr[-3000:]


def test_the_scale_of_losses_rises_after_as_many_sound_steps_and_falls_at_an_overflow(monkeypatch):
    monkeypatch.setattr(LossScaler, "GROWTH_INTERVAL", 3)
    scaler, parameter = LossScaler(), gluon.Parameter("w", shape=(2,))
    parameter.initialize()
    scales = []
    for value in (1, 1, 1, 1, float("nan"), 1, 1, 1, 1):
        parameter.list_grad()[0][:] = value
        assert scaler.has_overflow([parameter]) is not np.isfinite(value)
        scales.append(scaler.loss_scale / 2**16)
    assert scales == [1, 1, 1, 2, 2, 1, 1, 1, 2]  # of the step; the next one has what has been decided


def test_the_lists_name_operators_once_each():
    lists = [amp.list_lp16_ops(), amp.list_fp32_ops(), amp.list_widest_type_cast()]  # losses are in float32's too
    lists.append([rule[0] for rule in amp.list_conditional_fp32_ops()])
    names = [name for part in lists for name in part]
    assert len(set(names)) == len(names) and not set(names) & set(amp.list_lp16_fp32_ops())
    assert {"Convolution", "FullyConnected"} <= set(amp.list_lp16_ops("bfloat16"))
    assert amp.lists.symbol_bf16.BF16_USE_FP32_PARAMS["BatchNorm"] == ["", "gamma", "beta", "moving_mean", "moving_var"]
    with pytest.raises(ValueError, match="float16 or bfloat16"):
        amp.list_fp32_ops("int8")


def test_a_converted_symbol_computes_in_both_types():
    data = mx.sym.var("data")
    body = mx.sym.FullyConnected(data, num_hidden=5, name="first")
    out = mx.sym.softmax(mx.sym.FullyConnected(mx.sym.Activation(body, act_type="relu"), num_hidden=3, name="second"))
    arguments, _, _ = out.infer_shape(data=(4, 7))
    draw = np.random.RandomState(0)
    arrays = {n: mx.nd.array(draw.standard_normal(s)) for n, s in zip(out.list_arguments(), arguments) if n != "data"}
    x = mx.nd.array(draw.standard_normal((4, 7)))
    exact = out.bind(mx.cpu(), {"data": x, **arrays}).forward()[0]
    sym, args, aux = amp.convert_model(out, arrays, {}, "bfloat16", cast_optional_params=True)
    assert aux == {} and {a.dtype.__name__ for a in args.values()} == {"bfloat16"}
    mixed = sym.bind(mx.cpu(), {"data": x, **args}).forward()[0]
    assert mixed.dtype == np.float32
    difference = np.abs(mixed.asnumpy() - exact.asnumpy()).max()
    assert 0 < difference < 0.02
    again = mx.sym.load_json(sym.tojson(remove_amp_cast=False))
    np.testing.assert_array_equal(again.bind(mx.cpu(), {"data": x, **args}).forward()[0].asnumpy(), mixed.asnumpy())
    kept = amp.convert_symbol(out, "bfloat16", excluded_sym_names=["first", "second"])
    np.testing.assert_array_equal(kept.bind(mx.cpu(), {"data": x, **arrays}).forward()[0].asnumpy(), exact.asnumpy())
    with pytest.raises(ValueError, match="no node nowhere"):
        amp.convert_symbol(out, excluded_sym_names=["nowhere"])


def test_operators_that_are_told_replace_the_listed_ones():
    x = mx.sym.Convolution(mx.sym.var("data"), num_filter=2, kernel=(1, 1), name="conv")
    x = mx.sym.sin(mx.sym.FullyConnected(mx.sym.BatchNorm(x, name="norm"), num_hidden=3, name="dense"))
    converted = amp.convert_symbol(
        x, "bfloat16", ["Convolution"], ["sin"], data_names=["data"], cast_optional_params=True
    )
    bound = converted.simple_bind(mx.cpu(), data=(1, 2, 3, 3), grad_req="null")
    low = {name for name, array in bound.arg_dict.items() if array.dtype == amp.bfloat16}
    # The dense layer takes what comes, its weights too; as MXNet 1.9.1 has it.
    assert low == {"conv_weight", "conv_bias", "dense_weight", "dense_bias"}
    assert bound.forward()[0].dtype == np.float32
    inner = converted.get_internals().list_outputs()
    assert "dense_weight_amp_cast_bfloat16_output" not in inner and "conv_weight_amp_cast_bfloat16_output" in inner
    assert "amp_cast" not in converted.tojson() and "amp_cast" in converted.tojson(remove_amp_cast=False)
    with pytest.raises(AssertionError, match="one rule only"):
        amp.convert_symbol(x, "bfloat16", ["FullyConnected"], ["FullyConnected"])


def test_a_type_of_records_named_bfloat16_is_bfloat16():
    record = np.dtype([("bfloat16", np.uint16)])
    assert mx.nd.ones((1,), dtype="bfloat16").dtype == record
    assert mx.nd.ones((1,)).dtype != record and amp.bfloat16 != np.dtype("uint16")


def test_a_converted_block_keeps_its_parameters():
    from gluon import nn

    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    net.initialize()
    net.hybridize()
    x = mx.nd.random.normal(shape=(3, 5))
    exact = net(x)
    mixed = amp.convert_hybrid_block(net, "bfloat16", ctx=mx.cpu())
    assert np.abs(mixed(x).astype("float32").asnumpy() - exact.asnumpy()).max() < 0.05
    assert set(mixed.collect_params()) == set(net.collect_params())


def test_a_converted_bucketing_module_serves_every_length():
    def generate(length):
        mean = mx.sym.mean(mx.sym.var("data"), axis=1, keepdims=True)
        dense = mx.sym.FullyConnected(mean, num_hidden=4, name="f")
        return mx.sym.SoftmaxOutput(dense, name="softmax"), ("data",), ("softmax_label",)

    def outputs(module, length):
        shapes = {"provide_data": [("data", (2, length))], "provide_label": [("softmax_label", (2,))]}
        arrays = [mx.nd.arange(2 * length).reshape((2, length)) / 10], [mx.nd.zeros((2,))]
        module.forward(mx.io.DataBatch(*arrays, bucket_key=length, **shapes), is_train=False)
        return module.get_outputs()[0].astype("float32").asnumpy()

    module = mx.mod.BucketingModule(generate, default_bucket_key=10)
    module.bind([("data", (2, 10))], [("softmax_label", (2,))], for_training=False)
    module.init_params(mx.init.Normal(1))
    outputs(module, 5)
    converted = amp.convert_bucketing_module(module, "bfloat16")
    converted.bind([("data", (2, 10))], [("softmax_label", (2,))], for_training=False)
    for length in (10, 5, 7):
        np.testing.assert_allclose(outputs(converted, length), outputs(module, length), atol=0.02)
        assert "amp_cast" in converted.symbol.tojson(remove_amp_cast=False)
    with pytest.raises(TypeError, match="BucketingModule"):
        amp.convert_bucketing_module(generate(3)[0])

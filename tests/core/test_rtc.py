"""Kernels of users as operators: interpreted in a process of their own, refused on the CPU in this one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import core as mx

PROGRAM = """
import sys
sys.path.insert(0, {root!r})

import numpy as np
import triton.language as tl
import core as mx
from gluon import Trainer, nn


@mx.rtc.jit
def kernel(x, out, n, slope, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.where(v > 0, v, v * slope), mask=at < n)


@mx.rtc.register("user_leaky")
def leaky(x, *, slope: float = 0.1):
    out = mx.rtc.empty_like(x)
    kernel[(mx.rtc.cdiv(x.numel(), 64),)](x, out, x.numel(), slope, BLOCK=64)
    return out


@mx.rtc.gradient(leaky)
def rule(dy, x, attrs):
    return [mx.nd.where(x > 0, dy, dy * attrs.slope)]


class Block(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.user_leaky(x, slope=0.5)


def main():
    values = np.arange(-3, 3, dtype="float32").reshape(2, 3)
    expected = np.where(values > 0, values, values * 0.5)
    x = mx.nd.array(values)
    np.testing.assert_allclose(mx.nd.user_leaky(x).asnumpy(), np.where(values > 0, values, values * 0.1), rtol=1e-6)
    np.testing.assert_allclose(mx.nd.user_leaky(x.T, slope=0.5).asnumpy(), expected.T)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.user_leaky(x, slope=0.5)
    y.backward(mx.nd.ones((2, 3)) * 2)
    np.testing.assert_allclose(x.grad.asnumpy(), np.where(values > 0, 2, 1))
    symbol = mx.sym.user_leaky(mx.sym.var("data"), slope=0.5, name="s")
    assert symbol.infer_shape(data=(2, 3))[1] == [(2, 3)]
    again = mx.sym.load_json(symbol.tojson())
    np.testing.assert_allclose(again.bind(mx.cpu(), {{"data": x}}).forward()[0].asnumpy(), expected)
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3), Block(), nn.Dense(1))
    net.initialize()
    plain = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), plain, rtol=1e-5)
    trainer = Trainer(net.collect_params(), "sgd", {{"learning_rate": 0.1}})
    losses = []
    for _ in range(5):
        with mx.autograd.record():
            loss = ((net(x) - 1) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss.asscalar()))
    assert losses[-1] < losses[0] / 2, losses


main()
"""


def program(tmp_path, **environment):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(root=str(Path(__file__).resolve().parents[2])))
    variables = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"} | environment
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=250, env=variables)


def test_a_kernel_is_an_operator_of_arrays_symbols_and_blocks(tmp_path):
    result = program(tmp_path, TRITON_INTERPRET="1")
    assert result.returncode == 0, result.stderr[-3000:]


def test_arrays_on_the_cpu_are_refused_without_the_interpreter(tmp_path):
    result = program(tmp_path)
    assert result.returncode == 1
    assert "MXNetError: kernel is a Triton kernel, which needs arrays on a GPU" in result.stderr
    assert "TRITON_INTERPRET=1" in result.stderr


@pytest.mark.gpu
def test_a_kernel_runs_on_the_gpu(tmp_path):
    code = PROGRAM.replace("x = mx.nd.array(values)", "x = mx.nd.array(values, ctx=mx.gpu())")
    code = code.replace("mx.nd.ones((2, 3))", "mx.nd.ones((2, 3), mx.gpu())").replace("mx.cpu()", "mx.gpu()")
    code = code.replace("net.initialize()", "net.initialize(ctx=mx.gpu())")
    path = tmp_path / "program.py"
    path.write_text(code.format(root=str(Path(__file__).resolve().parents[2])))
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=250)
    assert result.returncode == 0, result.stderr[-3000:]


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="'exp' already"):
        mx.rtc.register("exp")(lambda x: x)

    def launcher(x, *, size: dict):
        return x

    with pytest.raises(TypeError, match="'size' of operator 'user_other' has dict"):
        mx.rtc.register("user_other")(launcher)
    with pytest.raises(mx.MXNetError, match="Triton"):
        mx.rtc.CudaModule("")

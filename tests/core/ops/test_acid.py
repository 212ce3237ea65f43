"""An operator that is entered here, with one decorator, works everywhere; that it stands in this file makes no difference."""

import importlib.util
import sys

import numpy as np
import pytest

import core as mx
from core import autograd
from core.ops import registry
from gluon.block import HybridBlock, SymbolBlock

SOURCE = '''
"""Operators of an extension."""
from core.kernels import formula as f
from core.ops.attributes import Float, Int
from core.ops.pointwise import pointwise
from core.ops.registry import operator, gradient, composite, F


@pointwise("acid_bump")
def bump(data, *, height: Float = 1.0):
    """height exp(-x^2)."""
    return height * f.exp(-1.0 * data * data)


@composite("acid_flip")
def flip(data):
    """The last two axes exchanged: a view, where it can be."""
    return F.SwapAxis(data, dim1=-2, dim2=-1)


@operator("acid_tight")
def tight(data):
    """The data without gaps: its input itself, or a copy, as strides have it."""
    return data.contiguous()


@gradient(tight)
def tight_gradient(dy):
    return [dy]


@operator("acid_first")
def first(data, *, count: Int = 1):
    """The first rows, in the memory of the data."""
    return data[:count]


@gradient(first)
def first_gradient(dy, data_shape, attrs):
    return [F._put_part.typed(dy, key=(slice(0, attrs.count),), shape=data_shape)]
'''
NAMES = ("acid_bump", "acid_flip", "acid_tight", "acid_first")


@pytest.fixture(params=["acid_here", "core.ops.acid_there"])
def entered(request, tmp_path):
    """The operators, entered in a file of either of two modules."""
    path = tmp_path / "acid.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(request.param, path)
    module = importlib.util.module_from_spec(spec)
    before = set(registry.TABLE)
    spec.loader.exec_module(module)
    yield module
    for name in set(registry.TABLE) - before:
        del registry.TABLE[name]
        registry.F.__dict__.pop(name, None)
        for namespace in (mx.nd, mx.sym, mx.npx, mx.sym.npx):
            vars(namespace).pop(name, None)
    sys.modules.pop(request.param, None)


def _bump(x):
    return 2 * np.exp(-x * x)


CASES = {
    "acid_bump": ({"height": 2.0}, _bump),
    "acid_flip": ({}, lambda x: np.swapaxes(x, -1, -2)),
    "acid_tight": ({}, lambda x: x),
    "acid_first": ({"count": 2}, lambda x: x[:2]),
}


def _values():
    return np.random.default_rng(0).normal(size=(3, 4)).astype("float32")


@pytest.mark.parametrize("name", NAMES)
def test_it_works_on_arrays_of_both_kinds_and_on_symbols(entered, name):
    attrs, expected = CASES[name]
    x = _values()
    for kind in (mx.nd, mx.np):
        result = registry.TABLE[name](kind.array(x), **attrs)
        assert type(result) is type(kind.array(x))
        np.testing.assert_allclose(result.asnumpy(), expected(x), rtol=1e-6)
    np.testing.assert_allclose(getattr(mx.npx, name)(mx.np.array(x), **attrs).asnumpy(), expected(x), rtol=1e-6)
    np.testing.assert_allclose(getattr(mx.nd, name)(mx.nd.array(x), **attrs).asnumpy(), expected(x), rtol=1e-6)
    made = getattr(mx.sym, name)(mx.sym.var("a"), **attrs)
    assert made.infer_shape(a=(3, 4))[1] == [expected(x).shape]
    again, called = mx.sym.fromjson(made.tojson()), registry.TABLE[name](mx.sym.var("a"), **attrs)
    for symbol in (made, again, called):
        (found,) = symbol.eval(a=mx.nd.array(x))
        np.testing.assert_allclose(found.asnumpy(), expected(x), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_results_of_the_users_functions_are_memory_of_their_own(entered, name):
    x = mx.nd.array(_values())
    before = x.asnumpy()
    result = getattr(mx.nd, name)(x, **CASES[name][0])
    result[:] = 7
    np.testing.assert_array_equal(x.asnumpy(), before)


@pytest.mark.parametrize("name", NAMES)
def test_it_works_in_compiled_blocks_which_leave_their_inputs_alone(entered, name):
    attrs, expected = CASES[name]
    op = registry.TABLE[name]

    class Net(HybridBlock):
        def forward(self, x):
            return mx.np.maximum(op(x, **attrs) * 2 - 1, 0)

    net = Net()
    net.hybridize()
    mx.util.set_np()
    try:
        for layout in ("C", "F", "C", "F"):
            given = _values()
            x = mx.np.array(given)
            x = x if layout == "C" else mx.np.array(given.T.copy()).T
            for _ in range(30):
                np.testing.assert_allclose(net(x).asnumpy(), np.maximum(expected(given) * 2 - 1, 0), rtol=1e-5)
                np.testing.assert_array_equal(x.asnumpy(), given)
    finally:
        mx.util.reset_np()


@pytest.mark.parametrize("name", NAMES)
def test_it_is_differentiated_to_any_order(entered, name):
    attrs, expected = CASES[name]
    op = registry.TABLE[name]
    given = _values()
    x = mx.nd.array(given)
    x.attach_grad()
    with autograd.record():
        y = op(x, **attrs)
        (first,) = autograd.grad((y * y).sum(), [x], create_graph=True)
        (second,) = autograd.grad((first * first).sum(), [x], create_graph=True)
        third = (second * second).sum()
    third.backward()

    def of(values):  # (f^2)' and what follows, for an elementwise f, with numbers of double precision
        import torch

        t = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        z = {"acid_bump": lambda: 2 * torch.exp(-t * t), "acid_flip": lambda: t.transpose(-1, -2),
             "acid_tight": lambda: t, "acid_first": lambda: t[:2]}[name]()  # fmt: skip
        (a,) = torch.autograd.grad((z * z).sum(), t, create_graph=True)
        (b,) = torch.autograd.grad((a * a).sum(), t, create_graph=True)
        (c,) = torch.autograd.grad((b * b).sum(), t)
        return a.detach().numpy(), b.detach().numpy(), c.numpy()

    for found, wanted in zip((first, second, x.grad), of(given), strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=2e-4, atol=1e-5)
    assert expected(given).shape == y.shape


def test_a_formula_is_written_to_onnx_and_to_files(entered, tmp_path):
    onnx = pytest.importorskip("onnxruntime")
    x = mx.sym.var("data")
    made = mx.sym.acid_bump(x, height=2.0)
    path = mx.contrib.onnx.export_model(made, {}, [(3, 4)], np.float32, str(tmp_path / "bump.onnx"))
    session = onnx.InferenceSession(path, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: _values()})
    np.testing.assert_allclose(found, _bump(_values()), rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_blocks_that_hold_it_are_exported_and_loaded(entered, name, tmp_path):
    attrs, expected = CASES[name]

    class Net(HybridBlock):
        def hybrid_forward(self, F, x):
            return getattr(F, name)(x, **attrs)

    net = Net()
    net.hybridize()
    net(mx.nd.array(_values()))
    files = net.export(str(tmp_path / "net"))
    loaded = SymbolBlock.imports(files[0], ["data"], files[1])
    np.testing.assert_allclose(loaded(mx.nd.array(_values())).asnumpy(), expected(_values()), rtol=1e-6)


def test_it_is_in_the_stubs(entered, stubs):
    for module in ("core.ndarray", "core.symbol", "core.numpy_extension"):
        text = stubs.text(module)
        assert "def acid_bump(" in text and "height: float = 1.0" in text and "height exp(-x^2)." in text
        assert "def acid_tight(" in text

"""Loops, branches, custom operators, gradients and NumPy functions over symbols, against arrays and MXNet 1.9.1."""

import json
import subprocess
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import core as mx
from core.attribute import AttrScope
from core.base import MXNetError
from core.name import NameManager
from gluon import HybridBlock, SymbolBlock, rnn

sym, nd = mx.sym, mx.nd


@pytest.fixture(autouse=True)
def fresh_names():
    with NameManager():
        yield


def _values(symbol, arrays, heads=None):
    """Outputs and gradients of a symbol that went through its JSON."""
    symbol = sym.load_json(symbol.tojson())
    grads = {name: array.zeros_like() for name, array in arrays.items()}
    executor = symbol.bind(mx.cpu(), dict(arrays), grads)
    outputs = executor.forward(is_train=True)
    executor.backward(heads)
    return [o.asnumpy() for o in outputs], {n: g.asnumpy() for n, g in executor.grad_dict.items()}


def _recorded(function, arrays):
    for array in arrays.values():
        array.attach_grad()
    with mx.autograd.record():
        outputs = function(**arrays)
    mx.autograd.backward(outputs)
    return [o.asnumpy() for o in outputs], {n: a.grad.asnumpy() for n, a in arrays.items()}


def _same(first, second):
    for a, b in zip(first[0], second[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    for name, a in first[1].items():
        np.testing.assert_allclose(a, second[1][name], rtol=1e-5, atol=1e-6)


def _arrays(**shapes):
    rng = np.random.default_rng(1)
    return {name: nd.array(rng.uniform(-1, 1, shape)) for name, shape in shapes.items()}


def _scan(space, data, state, scale):
    outside = scale * 2  # computed once, read by every step
    return space.contrib.foreach(lambda x, s: (x * s[0] * outside, [s[0] + x]), data, [state])


def test_foreach_gives_what_the_loop_over_arrays_gives():
    def on(space, **v):
        outputs, states = _scan(space, v["data"], v["state"], v["scale"])
        return [outputs, *states]

    arrays = _arrays(data=(4, 3), state=(3,), scale=(3,))
    symbols = sym.Group(on(sym, **{n: sym.var(n) for n in arrays}))
    assert symbols.list_arguments() == ["data", "state", "scale"]
    _same(_values(symbols, arrays), _recorded(lambda **v: on(nd, **v), arrays))


def test_foreach_tells_shapes_of_parameters_inside():
    def step(x, states):
        return sym.BatchNorm(sym.FullyConnected(x, num_hidden=5, name="fc"), name="bn"), [states[0] + x]

    output, _ = sym.contrib.foreach(step, sym.var("data"), [sym.var("state")])
    arguments, outputs, states = output.infer_shape(data=(6, 2, 3), state=(2, 3))
    shapes = dict(zip(output.list_arguments(), arguments, strict=True))
    assert shapes["fc_weight"] == (5, 3) and shapes["bn_gamma"] == (5,) and outputs == [(6, 2, 5)]
    assert output.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"] and states == [(5,), (5,)]


def test_nested_loops_keep_the_nesting_of_lists():
    def outer(x, states):
        inner, _ = sym.contrib.foreach(lambda y, s: (y + s[0], [s[0] + 1]), x, [states[0][0]])
        return [inner, [inner * 2]], [[states[0][0] + 1], states[1] * 1]

    data, a, b = sym.var("data"), sym.var("a"), sym.var("b")
    (first, (second,)), ((last_a,), last_b) = sym.contrib.foreach(outer, data, [[a], b])
    group = sym.Group([first, second, last_a, last_b])
    out = sym.load_json(group.tojson()).eval(data=nd.zeros((2, 3)), a=nd.array([1]), b=nd.array([4]))
    np.testing.assert_array_equal(out[0].asnumpy()[..., 0], [[1, 2, 3], [2, 3, 4]])
    np.testing.assert_array_equal(out[1].asnumpy(), 2 * out[0].asnumpy())
    assert out[2].asscalar() == 3 and out[3].asscalar() == 4


@pytest.mark.parametrize("limit", [3, 8])
def test_while_loop_pads_its_outputs_and_differentiates(limit):
    def on(space, **v):
        outputs, last = space.contrib.while_loop(
            lambda i, s: i < 5,
            lambda i, s: (s * v["w"], (i + 1, s + i * v["w"])),
            [v["i"], v["s"]],
            max_iterations=limit,
        )
        return [outputs, *last]

    arrays = {"i": nd.array([1.0]), "s": nd.array([2.0]), "w": nd.array([0.5])}
    symbols = sym.Group(on(sym, **{n: sym.var(n) for n in arrays}))
    found = _values(symbols, arrays)
    _same(found, _recorded(lambda **v: on(nd, **v), arrays))
    assert found[0][0].shape == (limit, 1) and symbols.infer_shape(i=(1,), s=(1,))[1][0] == (limit, 1)


class Growing(HybridBlock):
    """Adds 1 to all loop variables while the first is below 3; those that it gives are nested as `make` has them."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def hybrid_forward(self, F, x):
        def grown(variable):
            return [grown(part) for part in variable] if isinstance(variable, (list, tuple)) else variable + 1

        return F.contrib.while_loop(
            lambda first, *rest: first < 3,
            lambda first, *rest: (first, grown([first, *rest]) if rest else first + 1),
            self.make(x),
            max_iterations=4,
        )


def _kinds(nested):
    return [_kinds(part) for part in nested] if isinstance(nested, (list, tuple)) else type(nested).__name__


@pytest.mark.parametrize(
    "make, kinds",  # of the last loop variables, as MXNet 1.9.1 gives them
    [
        (lambda x: x, "X"),
        (lambda x: [x], ["X"]),
        (lambda x: (x,), ["X"]),
        (lambda x: [x, [x + 1]], ["X", ["X"]]),
        (lambda x: (x, (x, [x + 1])), ["X", ["X", ["X"]]]),
    ],
)
def test_last_loop_variables_are_nested_as_the_first_ones(make, kinds):
    x = nd.array([1.0])
    plain, compiled = Growing(make), Growing(make)
    compiled.hybridize()
    found = [plain(x), compiled(x)]
    for outputs, last in found:
        assert outputs[:, 0].asnumpy().tolist() == [1, 2, 0, 0]
        assert str(_kinds(last)).replace("NDArray", "X") == str(kinds)
    symbols = plain(sym.var("x"))[1]
    assert str(_kinds(symbols)).replace("Symbol", "X") == str(kinds)
    rest = nd.contrib.while_loop(lambda *given: nd.zeros(1), lambda *given: (given, given), make(x), max_iterations=4)
    assert str(_kinds(rest[1])).replace("NDArray", "X") == str(kinds)


def test_subgraphs_of_traced_blocks_take_names(monkeypatch):
    monkeypatch.setattr(AttrScope, "_subgraph_names", defaultdict(int))

    class Choice(HybridBlock):
        def hybrid_forward(self, F, x):
            return F.contrib.cond(x > 0.5, lambda: x * 2, lambda: x * 3, name="mine")

    for _ in range(2):
        net = Choice()
        net.hybridize()
        assert net(nd.array([1.0])).asscalar() == 2
    assert AttrScope._subgraph_names == {"mine_pred": 2, "mine_then": 2, "mine_else": 2}


def test_while_loop_that_never_runs_gives_zeros():
    outputs, last = sym.contrib.while_loop(
        lambda i, s: i < 0, lambda i, s: (s, (i + 1, s)), [sym.var("i"), sym.var("s")], 4
    )
    found = sym.Group([outputs, *last]).eval(i=nd.array([1]), s=nd.ones((2,)))
    assert found[0].shape == (4, 2) and not found[0].asnumpy().any() and found[1].asscalar() == 1


@pytest.mark.parametrize("a", [1.0, 3.0])
def test_cond_takes_one_branch(a):
    def on(space, **v):
        x, y = v["a"], v["b"]
        return [space.contrib.cond(x * y < 5, lambda: (x + 5) * (y + 5), lambda: (x - 5) * (y - 5), name="branch")]

    arrays = {"a": nd.array([a]), "b": nd.array([2.0])}
    symbol = on(sym, a=sym.var("a"), b=sym.var("b"))[0]
    _same(_values(symbol, arrays), _recorded(lambda **v: on(nd, **v), arrays))
    assert symbol.infer_shape(a=(1,), b=(1,))[1] == [(1,)]


def test_damaged_wiring_is_refused():
    output, _ = _scan(sym, sym.var("data"), sym.var("state"), sym.var("scale"))
    graph = json.loads(output.tojson())
    graph["nodes"][-1]["attrs"]["in_data_locs"] = "[7]"
    with pytest.raises(MXNetError, match="do not fit"):
        sym.load_json(json.dumps(graph))
    del graph["nodes"][-1]["subgraphs"]
    with pytest.raises(MXNetError, match="1 subgraphs, 0 are given"):
        sym.load_json(json.dumps(graph))


def test_names_that_mean_two_things_inside_a_loop_are_refused():
    one, other = sym.var("w"), sym.var("w")
    with pytest.raises(MXNetError, match="two different things called 'w'"):
        sym.contrib.foreach(lambda x, s: (x * one + other, [s[0] + x]), sym.var("data"), [sym.var("state")])


def test_loops_inside_loops_are_named_by_what_is_around_them(monkeypatch):
    # As MXNet 1.9.1 names them; its tests count them in AttrScope._subgraph_names.
    taken = defaultdict(int)
    monkeypatch.setattr(AttrScope, "_subgraph_names", taken)
    x, s = sym.var("x"), sym.var("s")
    with AttrScope(__subgraph_name__="q"):
        for _ in range(2):
            sym.contrib.cond(x > 0.5, lambda: x * 2, lambda: x * 3, name="my")
    assert taken == {"q$my_pred": 2, "q$my_then": 2, "q$my_else": 2}
    taken.clear()
    sym.contrib.foreach(lambda a, b: (sym.contrib.cond(a > 0.5, lambda: a * 2, lambda: a * b), b + 0), x, s)
    assert taken == {"foreach": 1, "foreach0$cond_pred": 1, "foreach0$cond_then": 1, "foreach0$cond_else": 1}


def test_an_unrolled_cell_is_exported_with_its_loop(tmp_path):
    class Net(HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.cell = rnn.LSTMCell(4, input_size=3)

        def hybrid_forward(self, F, x, h, c):
            outputs, (h, c) = F.contrib.foreach(self.cell, x, [h, c])
            return outputs, h

    net = Net()
    net.initialize(mx.init.Uniform(0.5))
    inputs = list(_arrays(x=(5, 2, 3), h=(2, 4), c=(2, 4)).values())
    expected = net(*inputs)
    net.hybridize()
    net(*inputs)
    files = net.export(str(tmp_path / "net"))
    assert "subgraphs" in Path(files[0]).read_text()
    loaded = SymbolBlock.imports(files[0], ["data0", "data1", "data2"], files[1])
    for a, b in zip(loaded(*inputs), expected, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)


@mx.operator.register("test_scaled_square")
class _ScaledSquareProp(mx.operator.CustomOpProp):
    def __init__(self, power="2"):
        super().__init__()
        self.power = int(power)

    def list_arguments(self):
        return ["data", "scale"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return _ScaledSquare(self.power)


class _ScaledSquare(mx.operator.CustomOp):
    def __init__(self, power):
        self.power = power

    def forward(self, is_train, req, in_data, out_data, aux):
        x, scale = (a.asnumpy() for a in in_data)
        self.assign(out_data[0], req[0], nd.array(x**self.power * scale))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, scale = in_data
        self.assign(in_grad[0], req[0], out_grad[0] * scale * self.power * x ** (self.power - 1))
        self.assign(in_grad[1], req[1], out_grad[0] * x**self.power)


def test_custom_operators_are_nodes_of_graphs():
    symbol = sym.Custom(sym.var("x") * 2, op_type="test_scaled_square", power=3, name="c")
    assert symbol.list_arguments() == ["x", "c_scale"] and symbol.list_outputs() == ["c_output"]
    assert symbol.attr("op_type") == "test_scaled_square" and symbol.attr("power") == "3"
    assert symbol.infer_shape(x=(2, 3)) == ([(2, 3), (2, 3)], [(2, 3)], [])
    x = np.array([1.0, 2.0])
    outputs, grads = _values(symbol, {"x": nd.array(x), "c_scale": nd.array([3.0, 4.0])})
    np.testing.assert_allclose(outputs[0], (2 * x) ** 3 * [3, 4])
    np.testing.assert_allclose(grads["x"], 6 * (2 * x) ** 2 * [3, 4])
    np.testing.assert_allclose(grads["c_scale"], (2 * x) ** 3)
    with pytest.raises(MXNetError, match="no custom operator 'test_scaled_squar'"):
        sym.Custom(sym.var("x"), op_type="test_scaled_squar")


def test_gradients_as_symbols():
    a, b = sym.var("a"), sym.var("b")
    values = {"a": nd.array([3.0]), "b": nd.array([5.0])}
    first = sym.load_json((a * a * a * b).gradient(["a", "b"]).tojson())
    assert [g.asscalar() for g in first.eval(**values)] == [135.0, 27.0]
    assert (a * a * a * b).gradient("a").gradient("a").eval(**values)[0].asscalar() == 90.0
    with pytest.raises(MXNetError, match="no variable 'c'"):
        (a * b).gradient("c")


def test_numpy_functions_over_symbols():
    x, y = sym.var("x").as_np_ndarray(), sym.var("y").as_np_ndarray()
    np_, npx = sym.np, sym.npx
    z = np_.concatenate([x + 1, y], axis=0)
    w = npx.softmax(z * 2 - y.mean(), axis=-1)[1:, None, 1].sum(axis=0) / (2 - np_.sqrt(y).max())
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 1, (2, 3)).astype("float32"), rng.uniform(0, 1, (4, 3)).astype("float32")
    got = sym.load_json(w.tojson()).eval(x=mx.np.array(a), y=mx.np.array(b))[0]
    z = np.concatenate([a + 1, b]) * 2 - b.mean()
    e = np.exp(z - z.max(-1, keepdims=True))
    expected = (e / e.sum(-1, keepdims=True))[1:, None, 1].sum(0) / (2 - np.sqrt(b).max())
    np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-5)
    assert isinstance(got, mx.np.ndarray) and type(w.as_nd_ndarray()) is sym.Symbol
    assert (x @ x.T).infer_shape(x=(2, 3))[1] == [(2, 2)]
    assert npx.sync_batch_norm(x).list_auxiliary_states()[0].endswith("moving_mean")
    assert npx.box_iou(x, y).infer_shape(x=(2, 4), y=(3, 4))[1] == [(2, 3)]


_UPSTREAM = """
import sys, json
import mxnet as mx, numpy as np
answers = {}
for name, inputs in json.loads(sys.argv[2]).items():
    symbol = mx.sym.load(f"{sys.argv[1]}/{name}.json")
    args = {k: mx.nd.array(np.array(v)) for k, v in inputs.items()}
    answers[name] = [o.asnumpy().tolist() for o in symbol.bind(mx.cpu(), args).forward()]
print(json.dumps(answers))
"""


@pytest.mark.mxnet
def test_the_original_loads_our_loops_and_branches(mxnet_python, tmp_path):
    a, b, data = sym.var("a"), sym.var("b"), sym.var("data")
    outputs, states = _scan(sym, data, a, b)
    loop, last = sym.contrib.while_loop(
        lambda i, s: i < 5, lambda i, s: (s * b, (i + 1, s + i)), [a, data], max_iterations=6
    )
    graphs = {
        "foreach": (sym.Group([outputs, *states]), {"data": [[1.0, 2], [3, 4]], "a": [0.5, 1], "b": [2.0, 3]}),
        "while": (sym.Group([loop.slice_axis(axis=0, begin=0, end=4), *last]), {"a": [1.0], "data": [2.0], "b": [3.0]}),
        "cond": (sym.contrib.cond(a * b < 5, lambda: a + b, lambda: a - b), {"a": [3.0], "b": [4.0]}),
    }
    for name, (graph, _) in graphs.items():
        graph.save(str(tmp_path / f"{name}.json"))
    command = [mxnet_python, "-c", _UPSTREAM, str(tmp_path), json.dumps({n: v for n, (_, v) in graphs.items()})]
    answers = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    for name, (graph, values) in graphs.items():
        ours = graph.eval(**{k: nd.array(v) for k, v in values.items()})
        for mine, theirs in zip(ours, answers[name], strict=True):
            np.testing.assert_allclose(mine.asnumpy(), theirs, rtol=1e-5)


def test_a_loop_may_read_the_first_value_of_what_it_changes():
    def run(space, x):
        return space.contrib.while_loop(
            lambda i, s: i < 3, lambda i, s: ([], [i + 1, s * 2 + x]), [space.zeros((1,)), x], max_iterations=4
        )[1][1]

    arrays = _arrays(x=(2, 3))
    _same(_values(run(sym, sym.var("x")), arrays), _recorded(lambda x: [run(nd, x)], arrays))

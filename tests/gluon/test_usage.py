"""What programs written for MXNet 1.9 and 2.0 do with blocks besides calling them: hooks, files, names, errors."""

import hashlib
import json
import zipfile

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from core.contrib.text.vocab import Vocabulary
from gluon import contrib, nn, rnn
from gluon.contrib.data import text


def chain(*layers, **options):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(*(make() for make in layers))
    net.initialize()
    net.hybridize(**options)
    return net


@pytest.mark.parametrize("style", ["nd", "np"])
def test_hooks_on_operators(style):
    net = chain(lambda: nn.Dense(2), lambda: nn.Activation("relu"), static_alloc=True)
    seen = []
    net.register_op_hook(lambda name, operator, array: seen.append((name, operator, array.shape)), monitor_all=True)
    out = net(getattr(mx, style).ones((3, 4)))
    names = ("net_dense0_fwd", "net_relu0_fwd") if style == "nd" else ("node_0", "node_1")
    assert [row[0] for row in seen] == [
        *(f"{names[0]}_{what}" for what in ("data", "weight", "bias", "output")), f"{names[1]}_input0", f"{names[1]}_output",
    ]  # fmt: skip
    assert [row[1] for row in seen] == ["FullyConnected"] * 4 + ["Activation"] * 2
    assert seen[1][2] == (2, 4) and seen[-1][2] == out.shape


@pytest.mark.parametrize(("limit", "count"), [(3, 10), (0, 8)])
def test_recorded_calls_of_hybridized_blocks_are_symbols(limit, count):
    net = chain(*[lambda: nn.Dense(10)] * 3, inline_limit=limit)
    with autograd.record():
        out = net(nd.zeros((1, 10)))
    nodes = json.loads(autograd.get_symbol(out).tojson())["nodes"]
    assert len(nodes) == count  # as in MXNet 1.9.1: 7 variables, and 3 operators or 1 node for all of them
    assert sum(node["op"] == "_CachedOp" for node in nodes) == (limit == 0)


class Chain(gluon.Block):
    def add(self, block):
        self._children[f"{block.name}_{len(self._children)}"] = block

    def forward(self, x):
        for block in self._children.values():
            x = block(x)
        return x


def test_save_and_load_give_children_their_names_back(tmp_path):
    def build():
        inside, net = Chain(), Chain()
        inside.add(nn.Dense(10))
        net.add(inside)
        net.add(nn.Dense(3))
        return net

    first, second = build(), build()
    first.initialize()
    x = nd.ones((1, 10))
    out = first(x)
    assert list(first._children) != list(second._children)
    first.save(str(tmp_path / "model"))
    second.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(second(x).asnumpy(), out.asnumpy())
    assert list(first._children) == list(second._children)
    with pytest.raises(ValueError, match="Dense"):
        first._children[next(iter(first._children))].load(str(tmp_path / "model"))


def test_parameters_are_shared_by_structure():
    class Pair(gluon.Block):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Dense(5, in_units=5), nn.Dense(5, in_units=5)

    one = Pair()
    two = Pair().share_parameters(one.collect_params())
    assert two.first.weight is one.first.weight and two.second.bias is one.second.bias


def test_devices_as_in_mxnet_2():
    layer = nn.Dense(2, in_units=3)
    layer.initialize(device=[mx.cpu(0), mx.cpu(1)])
    assert layer.weight.list_device() == [mx.cpu(0), mx.cpu(1)]
    layer.reset_device(mx.cpu(2))
    assert layer.weight.list_ctx() == [mx.cpu(2)] and mx.device.current_device() == mx.current_device() == mx.cpu()
    assert gluon.Constant(np.ones(2)).name == "const"
    assert rnn.LSTMPCell is gluon.contrib.rnn.LSTMPCell and nn.PixelShuffle2D is gluon.contrib.nn.PixelShuffle2D


def test_functions_of_arrays_alone_on_np_arrays():
    x = mx.np.array([-1.0, 2.0])
    alone, with_operators = nn.HybridLambda(lambda x: mx.npx.relu(x)), nn.HybridLambda(lambda F, x: F.relu(x))
    for layer in (alone, with_operators):
        assert layer(x).asnumpy().tolist() == [0, 2]
    assert with_operators(nd.array([-1.0, 2.0])).asnumpy().tolist() == [0, 2]


def test_what_hybridized_blocks_refuse():
    class Sum(gluon.HybridBlock):
        def hybrid_forward(self, F, x, y=None):
            if x is None or y is None:
                return y if x is None else x
            return x + (sum(y) if isinstance(y, (list, tuple)) else y)

    x = nd.ones(3)

    def compiled():
        net = Sum()
        net.hybridize()
        return net

    net = compiled()
    assert net(x).asnumpy().tolist() == net(x, None).asnumpy().tolist() == [1, 1, 1]
    # MXNet refuses what is nested otherwise than in the first call; here it has a plan of its own.
    assert net(x, x).asnumpy().tolist() == [2, 2, 2]
    assert net(x, [x, x]).asnumpy().tolist() == [3, 3, 3]
    assert net(x).asnumpy().tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="int"):
        compiled()(x, 1)
    with pytest.raises(ValueError, match=r"cpu\(1\) and cpu\(2\)"):
        compiled()(x.as_in_context(mx.cpu(1)), x.as_in_context(mx.cpu(2)))


@pytest.mark.parametrize(
    ("make", "outputs"),
    [
        (lambda: rnn.RNNCell(4, prefix="rnn_"), "rnn_t{}_out_output"),
        (lambda: rnn.LSTMCell(4, prefix="rnn_"), "rnn_t{}_out_output"),
        (lambda: rnn.GRUCell(4, prefix="rnn_"), "rnn_t{}_out_output"),
        (lambda: rnn.LSTMPCell(4, 3, prefix="rnn_"), "rnn_t{}_out_output"),
        (lambda: rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2), output_prefix="rnn_bi_"), "rnn_bi_t{}_output"),
    ],
)
def test_names_of_unrolled_outputs(make, outputs):
    steps = [mx.sym.var(f"t{i}") for i in range(3)]
    found, _ = make().unroll(3, steps, merge_outputs=False)
    assert mx.sym.Group(found).list_outputs() == [outputs.format(i) for i in range(3)]


def test_shapes_of_unrolled_dropout_of_states():
    cell = gluon.contrib.rnn.VariationalDropoutCell(rnn.RNNCell(4), drop_states=0.5)
    found, _ = cell.unroll(2, [mx.sym.var(f"t{i}") for i in range(2)], merge_outputs=False)
    assert mx.sym.Group(found).infer_shape(t0=(10, 5), t1=(10, 5))[1] == [(10, 4)] * 2


def test_wikitext_rows(tmp_path, monkeypatch):
    content = " \n = A = \n \n b c <unk> \n b d \n"
    with zipfile.ZipFile(tmp_path / "wikitext-2-v1.zip", "w") as packed:
        packed.writestr("wikitext-2/wiki.test.tokens", content)
    known = ("wiki.test.tokens", hashlib.sha1(content.encode()).hexdigest())
    monkeypatch.setitem(text.WikiText2._files, "test", known)
    monkeypatch.setattr(text, "download", lambda url, path, sha1_hash: f"{path}/wikitext-2-v1.zip")
    data = text.WikiText2(root=str(tmp_path), segment="test", seq_len=3)
    assert data.frequencies == {"=": 2, "A": 1, "b": 2, "c": 1, "<unk>": 1, "d": 1}
    words = data.vocabulary.idx_to_token
    assert words == ["<unk>", "<eos>", "=", "b", "A", "c", "d"]
    # = A = <eos> b c <unk> <eos> b d <eos>: ten words that another one follows
    assert [[words[n] for n in row.asnumpy()] for row in data[2]] == [["<unk>", "<eos>", "b"], ["<eos>", "b", "d"]]
    assert len(data) == 3 and data[0][0].dtype == np.int32
    assert len(text.WikiText2(root=str(tmp_path), segment="test", vocab=Vocabulary(), seq_len=5)) == 2


def test_wikitext_2(data):
    folder = data / "wikitext-2"
    if not (folder / "wiki.test.tokens").exists():
        pytest.skip(f"no WikiText-2 in {folder}")
    found = text.WikiText2(root=str(folder), segment="test")
    # The figures of MXNet's own test.
    assert (len(found), len(found.vocabulary), len(found.frequencies)) == (6974, 14143, 14142)
    assert found.frequencies["English"] == 32


@pytest.mark.parametrize("hybrid", [False, True])
def test_loops_and_branches_over_np_arrays(hybrid):
    class Program(gluon.HybridBlock):
        def forward(self, rows, state):
            sums, last = mx.npx.foreach(lambda row, s: (row + s[0], [s[0] + row]), rows, [state])
            doubled, (count,) = mx.npx.while_loop(lambda i: i < 3, lambda i: (2 * i, (i + 1,)), (state[:1],), 5)
            pick = mx.npx.cond(lambda i: i > 2, lambda i: i * 10, lambda i: -i, count)
            return sums, last, doubled, pick

    net = Program()
    if hybrid:
        net.hybridize()
    for _ in range(2):
        sums, last, doubled, pick = net(mx.np.array([[1.0, 2], [3, 4]]), mx.np.array([1.0, 1]))
        assert sums.asnumpy().tolist() == [[2, 3], [5, 7]] and last[0].asnumpy().tolist() == [5, 7]
        assert doubled.asnumpy().ravel().tolist() == [2, 4, 0, 0, 0] and pick.asnumpy().tolist() == [30]
        assert type(sums) is type(pick) is mx.np.ndarray


def test_parameters_are_found_by_structural_names_too():
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=3), nn.Dense(1, in_units=2))
    params = net.collect_params()
    assert params["0.weight"] is net[0].weight is params[net[0].weight.name]
    assert "1.bias" in params and "2.bias" not in params
    with pytest.raises(KeyError, match=r"2\.bias"):
        params["2.bias"]


@mx.util.use_np
def test_parameters_have_structural_names_in_numpy_mode():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.rnn, self.tail = rnn.LSTM(2, input_size=3), nn.HybridSequential()
            self.tail.add(nn.Dense(2, in_units=3), nn.Dense(3, in_units=2))
            self.scale = self.params.get("factor", shape=(3,))
            self.params.get("unused", shape=(1,))

    net = Net()
    net.tail.add(net.tail[0])
    names = list(net.collect_params())
    assert names[0] == "scale" and "rnn.l0_i2h_weight" in names and names[-1] == net.prefix + "unused"
    assert {"tail.0.weight", "tail.2.weight"} < set(names) == set(net.collect_params().keys())
    assert list(net.collect_params("tail.1.*")) == ["tail.1.weight", "tail.1.bias"]
    chosen = net.collect_params(net.tail[1].prefix)
    assert list(chosen) == ["tail.1.weight", "tail.1.bias"]
    assert chosen[net.tail[1].bias.name] is chosen["tail.1.bias"] is net.tail[1].bias
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    assert len(trainer._params) == len({id(p) for p in net.collect_params().values()}) == len(names) - 2
    shown = net.tail[1].collect_params()
    assert repr(shown).startswith("{'weight': Parameter") and shown.pop("bias", None) is net.tail[1].bias
    assert list(shown) == ["weight"] and shown.pop("bias", None) is None and net.tail[1].bias is not None
    with mx.util.np_array(False):
        assert net.tail[0].weight.name in list(net.collect_params()) and "tail.0.weight" not in list(
            net.collect_params()
        )


def test_shapes_of_cells_as_mxnet_2_asks_for_them():
    for cell in (rnn.LSTMCell(4), rnn.BidirectionalCell(rnn.GRUCell(4), rnn.GRUCell(4)), rnn.SequentialRNNCell()):
        if isinstance(cell, rnn.SequentialRNNCell):
            cell.add(rnn.RNNCell(4))
        inputs = [mx.nd.ones((2, 3)) for _ in range(3)]
        cell.infer_shape(0, inputs[0], False)
        cell.initialize()
        outputs, _ = cell.unroll(3, inputs)
        assert [out.shape[0] for out in outputs] == [2, 2, 2]
    cell = rnn.LSTMCell(4)
    cell.initialize()
    cell.infer_shape(mx.nd.ones((2, 3)), cell.begin_state(2))
    assert cell.i2h_weight.shape == (16, 3)


@pytest.mark.parametrize("hybridize", [False, True])
def test_group_norm_with_a_factor_for_each_channel(hybridize):
    x = np.random.RandomState(0).randn(2, 4, 3).astype(np.float32)
    layer = nn.GroupNorm(num_groups=2, in_channels=4)
    layer.initialize()
    gamma = np.array([1, 2, 3, 4], np.float32)
    layer.gamma.set_data(nd.array(gamma))
    if hybridize:
        layer.hybridize()
    groups = x.reshape(2, 2, 6)
    normal = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    expected = normal.reshape(x.shape) * gamma[:, None]
    np.testing.assert_allclose(layer(nd.array(x)).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    one_a_group = nn.GroupNorm(num_groups=2)
    one_a_group.initialize()
    assert one_a_group(nd.array(x)).shape == x.shape and one_a_group.gamma.shape == (2,)


@pytest.mark.parametrize(
    "make, outputs, states",  # the names that MXNet 1.9.1 gives them
    [
        (lambda: rnn.LSTMCell(5, prefix="a_"), ["a_t1_out_output"], ["a_t1_out_output", "a_t1_state_output"]),
        (
            lambda: contrib.rnn.LSTMPCell(6, 3, prefix="a_"),
            ["a_t1_out_output"],
            ["a_t1_out_output", "a_t1_state_output"],
        ),
        (
            lambda: contrib.rnn.Conv1DLSTMCell((4, 7), 4, 3, 3, prefix="a_"),
            ["a_t1_out_output"],
            ["a_t1_out_output", "a_t1_state_output"],
        ),
        (lambda: rnn.ResidualCell(rnn.GRUCell(4, prefix="a_")), ["elemwise_add1_output"], ["a_t1_out_output"]),
    ],
    ids=["lstm", "lstmp", "conv_lstm", "residual"],
)
def test_states_of_cells_are_named_as_in_mxnet(make, outputs, states):
    with mx.name.NameManager():
        found, last = make().unroll(2, [mx.sym.var("t0"), mx.sym.var("t1")])
    assert found[-1].list_outputs() == outputs
    assert [name for state in last for name in state.list_outputs()] == states

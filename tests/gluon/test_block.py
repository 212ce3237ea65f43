"""Blocks: names, parameters, deferred initialisation, files, hooks."""

import copy
import inspect
import pickle
import re
import warnings

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from core.dtypes import dtype_name
from gluon import nn, rnn


def small_net(**kwargs):
    net = nn.HybridSequential(**kwargs)
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.Flatten(), nn.Dense(5))
    return net


def test_docstrings_of_users_stay_as_they_are():
    class Mine(nn.Conv2D.__base__):
        """Mine."""

    assert Mine.__doc__ == "Mine." and len(nn.Conv2D.__doc__.split("\n\n")) > 1


def test_names_count_by_scope():
    net = small_net(prefix="net_")
    names = list(net.collect_params().keys())
    assert names == [
        "net_conv0_weight", "net_conv0_bias", "net_batchnorm0_gamma", "net_batchnorm0_beta",
        "net_batchnorm0_running_mean", "net_batchnorm0_running_var", "net_dense0_weight", "net_dense0_bias",
    ]  # fmt: skip
    assert list(net.collect_params(".*weight").keys()) == ["net_conv0_weight", "net_dense0_weight"]
    assert list(net._collect_params_with_prefix())[:2] == ["0.weight", "0.bias"]


def test_shapes_are_found_out_in_the_first_call():
    net = small_net()
    net.initialize()
    assert net[0].weight.shape == (4, 0, 3, 3)
    with pytest.raises(gluon.DeferredInitializationError, match="first forward pass"):
        net[0].weight.data()
    net(nd.ones((2, 3, 6, 6)))
    assert net[0].weight.shape == (4, 3, 3, 3)
    assert net[3].weight.shape == (5, 64)


def test_infer_shape_without_a_training_step():
    net = small_net()
    net.initialize()
    net.infer_shape(nd.ones((2, 3, 6, 6)))
    assert net[1].gamma.shape == (4,)


def test_forward_style_finds_shapes_by_itself_or_by_infer_shape():
    class Own(nn.HybridBlock):
        def __init__(self, told):
            super().__init__()
            self.weight = gluon.Parameter("weight", shape=(3, 0), allow_deferred_init=True)
            self.told = told

        def infer_shape(self, x):
            self.told.append(x.shape)
            self.weight.shape = (3, x.shape[1])

        def forward(self, x):
            return nd.FullyConnected(x, self.weight.data(), None, num_hidden=3, no_bias=True)

    class Guess(Own):
        infer_shape = nn.HybridBlock.infer_shape

    told = []
    for kind in (Own, Guess):
        net = kind(told)
        net.initialize()
        assert net(nd.ones((2, 7))).shape == (2, 3)
        assert net.weight.shape == (3, 7)
    assert told == [(2, 7)]


def test_hybrid_blocks_take_hybrid_children_only():
    net = nn.HybridSequential()
    with pytest.raises(ValueError, match="HybridBlock"):
        net.add(nn.Lambda("relu"))


def test_attributes_keep_their_kind():
    net = nn.Dense(3)
    with pytest.raises(TypeError, match="weight"):
        net.weight = 3


def test_unregistered_blocks_are_reported():
    class Holder(nn.Block):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Dense(3)]

    with pytest.warns(UserWarning, match="not children"):
        Holder().collect_params()


@pytest.mark.parametrize("deduplicate", [False, True])
def test_parameters_survive_a_file(tmp_path, deduplicate):
    pytest.importorskip("core.serialization", reason="files of arrays are not there yet")
    path = str(tmp_path / "net.params")
    x = nd.random.uniform(shape=(2, 3, 6, 6))
    net, other = small_net(), small_net()
    net.initialize(mx.init.Xavier())
    want = net(x)
    net.save_parameters(path, deduplicate=deduplicate)
    other.load_parameters(path)
    np.testing.assert_array_equal(other(x).asnumpy(), want.asnumpy())
    half = small_net()
    half.cast("float16")
    with pytest.raises(AssertionError, match="cast_dtype"):
        half.load_parameters(path)
    half.load_parameters(path, cast_dtype=True)
    assert half[0].weight.data().dtype == np.float16
    for ready in (half, small_net()):  # with values already, and without
        ready.cast("float16")
        ready.load_parameters(path, cast_dtype=True, dtype_source="saved")
        weight = ready[0].weight
        assert weight.data().dtype == weight.grad().dtype == np.float32 and dtype_name(weight.dtype) == "float32"
        np.testing.assert_array_equal(weight.data().asnumpy(), net[0].weight.data().asnumpy())
    with pytest.raises(AssertionError, match="'current' or 'saved', got 'other'"):
        half.load_parameters(path, cast_dtype=True, dtype_source="other")
    bigger = nn.HybridSequential()
    bigger.add(*[layer for layer in small_net()], nn.Dense(2))
    with pytest.raises(AssertionError, match=r"4\.weight"):
        bigger.load_parameters(path)
    bigger.load_parameters(path, allow_missing=True)
    fewer = nn.HybridSequential()
    fewer.add(nn.Conv2D(4, 3))
    with pytest.raises(ValueError, match=r"1\.gamma"):
        fewer.load_parameters(path)
    fewer.load_parameters(path, ignore_extra=True)


def test_exported_files_are_read_by_instances_of_another_prefix(tmp_path):
    net = small_net(prefix="first_")
    net.initialize()
    net.hybridize()
    x = nd.random.uniform(shape=(2, 3, 6, 6))
    expected = net(x).asnumpy()
    net.export(str(tmp_path / "net"))
    for prefix in ("first_", "second_", ""):
        with mx.name.NameManager():  # names of blocks without a prefix are counted from 0
            other = small_net(prefix=prefix)
        other.load_parameters(str(tmp_path / "net-0000.params"))
        np.testing.assert_array_equal(other(x).asnumpy(), expected)
    bigger = small_net(prefix="third_")
    bigger.add(nn.Dense(1))
    with pytest.raises(AssertionError, match="is missing in file"):
        bigger.load_parameters(str(tmp_path / "net-0000.params"))


def test_sharing_by_params():
    first = nn.Dense(4, in_units=3)
    second = nn.Dense(4, in_units=3, params=first.params)
    first.initialize()
    x = nd.random.uniform(shape=(2, 3))
    assert second.weight is first.weight
    np.testing.assert_array_equal(first(x).asnumpy(), second(x).asnumpy())


def test_sharing_by_share_parameters():
    first, second = nn.HybridSequential(), nn.HybridSequential()
    for net in (first, second):
        net.add(nn.Dense(4, in_units=3), nn.Dense(2, in_units=4))
    second.share_parameters(first._collect_params_with_prefix())
    assert second[1].weight is first[1].weight
    assert set(second.collect_params().values()) == set(first.collect_params().values())


def test_hooks_and_their_handles():
    net, seen = nn.Dense(2, in_units=3), []
    net.initialize()
    before = net.register_forward_pre_hook(lambda block, inputs: seen.append("before"))
    after = net.register_forward_hook(lambda block, inputs, output: seen.append(output.shape))
    net(nd.ones((1, 3)))
    before.detach()
    net(nd.ones((1, 3)))
    after.detach()
    net(nd.ones((1, 3)))
    assert seen == ["before", (1, 2), (1, 2)]


def test_summary_counts(capsys):
    net = small_net()
    net.initialize()
    net.summary(nd.ones((2, 3, 6, 6)))
    text = capsys.readouterr().out
    assert "Total params: 453" in text
    assert "Non-trainable params: 8" in text
    net.hybridize()
    with pytest.raises(AssertionError, match="hybridized"):
        net.summary(nd.ones((2, 3, 6, 6)))


def test_grad_req_and_zero_grad():
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.collect_params().setattr("grad_req", "add")
    for _ in range(2):
        with autograd.record():
            loss = net(nd.ones((1, 3))).sum()
        loss.backward()
    np.testing.assert_allclose(net.weight.grad().asnumpy(), 2 * np.ones((2, 3)))
    net.collect_params().zero_grad()
    assert (net.weight.grad().asnumpy() == 0).all()
    net.bias.grad_req = "null"
    with pytest.raises(RuntimeError, match="null"):
        net.bias.grad()


def test_constants_have_no_gradient():
    class Shift(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.shift = self.params.get_constant("shift", nd.array([1.0, 2.0]))

        def hybrid_forward(self, F, x, shift):
            return F.broadcast_add(x, shift)

    net = Shift()
    net.initialize()
    np.testing.assert_array_equal(net(nd.zeros((1, 2))).asnumpy(), [[1, 2]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.shift.grad_req = "write"
    assert net.shift.grad_req == "null"


def test_several_contexts():
    contexts = [mx.cpu(0), mx.cpu(1)]
    net = nn.Dense(2, in_units=3)
    net.initialize(ctx=contexts)
    assert net.weight.list_ctx() == contexts
    np.testing.assert_array_equal(*[w.asnumpy() for w in net.weight.list_data()])
    out = net(nd.ones((1, 3), ctx=mx.cpu(1)))
    assert out.context == mx.cpu(1)
    with pytest.raises(RuntimeError, match="not on context"):
        net.weight.data(mx.cpu(2))
    net.collect_params().reset_ctx(mx.cpu(0))
    assert net.weight.list_ctx() == [mx.cpu(0)]


def test_initializers_by_name_and_by_pattern():
    net = small_net(prefix="p_")
    net.initialize(mx.init.Mixed([".*bias", ".*"], [mx.init.One(), mx.init.Constant(0.5)]))
    net(nd.ones((1, 3, 6, 6)))
    assert (net[0].bias.data().asnumpy() == 0).all()  # its own initializer, zeros
    assert (net[0].weight.data().asnumpy() == 0.5).all()


def test_seeds_repeat_initial_values():
    values = []
    for _ in range(2):
        mx.random.seed(7)
        net = nn.Dense(4, in_units=5)
        net.initialize(mx.init.Normal(1))
        values.append(net.weight.data().asnumpy())
    np.testing.assert_array_equal(*values)


def test_blocks_of_symbols():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Dense(5, activation="tanh"))
    out = net(mx.sym.var("data"))
    assert out.list_outputs() == ["net_dense0_tanh_fwd_output"]
    assert out.list_auxiliary_states() == ["net_batchnorm0_running_mean", "net_batchnorm0_running_var"]
    assert out.infer_shape(data=(2, 3, 8, 8))[1] == [(2, 5)]
    cell = gluon.rnn.LSTMCell(4, prefix="c_")
    outputs, _ = cell.unroll(2, [mx.sym.var("a"), mx.sym.var("b")])
    assert {"a", "b", "c_i2h_weight", "c_h2h_bias"} <= set(mx.sym.Group(outputs).list_arguments())
    layer = gluon.rnn.GRU(4, input_size=3, prefix="g_")
    assert layer(mx.sym.var("x")).list_arguments()[:2] == ["x", "g_l0_i2h_weight"]


class _Doubled(gluon.Parameter):
    """A parameter that layers see another way than it is stored; GluonNLP's weight dropout is such a class."""

    def data(self, ctx=None):
        return self._check_and_get(self._data, ctx) * 2


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("hybridized", [True, False])
def test_layers_compute_with_what_a_parameter_gives_as_its_data(known, hybridized):
    net = nn.Dense(2, in_units=3 if known else 0, use_bias=False)
    weight = _Doubled(net.weight.name, shape=net.weight.shape, init="ones", allow_deferred_init=True)
    net._reg_params["weight"] = net.params._params[weight.name] = weight
    net.initialize()
    net.hybridize(hybridized)
    for _ in range(2):
        with autograd.record():
            out = net(nd.ones((1, 3)))
        out.backward()
    assert out.asnumpy().tolist() == [[6, 6]]
    assert weight.grad().asnumpy().tolist() == [[2, 2, 2], [2, 2, 2]]


@pytest.mark.parametrize("kind", ["cpu_shared", "cpu_pinned"])
def test_batches_in_other_memory_of_the_host_meet_its_parameters(kind):
    net = nn.Dense(2, in_units=3)
    net.initialize(init="ones")
    assert net.weight.data(mx.Context(kind, 0)) is net.weight.data()
    block = gluon.SymbolBlock(net(mx.sym.var("x")), mx.sym.var("x"), params=net.collect_params())
    assert block(nd.ones((1, 3), ctx=mx.Context(kind, 0))).asnumpy().tolist() == [[3, 3]]
    with pytest.raises(RuntimeError, match="not on context"):
        net.weight.data(mx.cpu(1))


@pytest.mark.parametrize("cell", ["RNNCell", "LSTMCell", "GRUCell"])
def test_exported_cells_find_the_batch_size_of_their_first_states(cell, tmp_path):
    class Layer(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.cell = getattr(gluon.rnn, cell)(4)

        def hybrid_forward(self, F, x):
            return self.cell.unroll(2, x, merge_outputs=True)[0]

    net = Layer()
    net.initialize()
    expected = net(nd.ones((3, 2, 5)))
    net.hybridize()
    net(nd.ones((3, 2, 5)))
    symbols, parameters = net.export(str(tmp_path / "cell"))
    read = gluon.SymbolBlock.imports(symbols, "data", parameters)
    for hybrid in (False, True):
        read.hybridize(hybrid)
        for batch in (3, 1):
            got = read(nd.ones((batch, 2, 5)))
            np.testing.assert_allclose(got.asnumpy(), expected[:batch].asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("names", [["x"], ["q", "data0"]])
def test_exported_symbol_blocks_keep_the_names_of_their_inputs(names, tmp_path):
    inputs = [mx.sym.var(name) for name in names]
    arrays = [nd.ones((1, 3)) * (k + 1) for k in range(len(names))]
    block = gluon.SymbolBlock(mx.sym.FullyConnected(sum(inputs[1:], inputs[0]), num_hidden=2, name="fc"), inputs)
    block.initialize()
    block.hybridize()
    expected = block(*arrays)
    symbols, parameters = block.export(str(tmp_path / "net"))
    assert mx.sym.load(symbols).list_inputs() == [*names, "fc_weight", "fc_bias"]
    again = gluon.SymbolBlock.imports(symbols, names, parameters)
    np.testing.assert_array_equal(again(*arrays).asnumpy(), expected.asnumpy())


def test_arrays_and_symbols_do_not_mix():
    class Sum(gluon.HybridBlock):
        def hybrid_forward(self, F, a, b):
            return a + b

    for inputs in ((nd.ones(2), mx.sym.var("a")), (mx.sym.var("a"), nd.ones(2))):
        with pytest.raises(ValueError, match="some of both"):
            Sum()(*inputs)


@mx.util.use_np
def test_blocks_of_numpy_want_an_array():
    class First(gluon.HybridBlock):
        def forward(self, a, b=None):
            return a

    for hybrid in (False, True):
        block = First()
        block.hybridize(hybrid)
        for inputs in ((None, None), (3,)):
            with pytest.raises(ValueError, match="array"):
                block(*inputs)
        assert block([mx.np.ones(2)])[0].shape == (2,)


def test_blocks_show_themselves_as_in_mxnet():
    """The strings are those of MXNet 1.9.1."""
    assert repr(nn.LayerNorm()) == "LayerNorm(eps=1e-05, axis=-1, center=True, scale=True, in_channels=0)"
    assert repr(nn.InstanceNorm(in_channels=4)).endswith("center=True, scale=False, in_channels=4)")
    assert repr(nn.BatchNorm()).endswith("use_global_stats=False, in_channels=None)")
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.LSTMCell(3))
    assert repr(stack) == "SequentialRNNCell(\n(0): LSTMCell(None -> 12)\n)"
    assert repr(gluon.ParameterDict("p_")) == "p_ (\n\n)"
    x = mx.sym.var("x")
    assert re.fullmatch(r"SymbolBlock\(\n<Symbol _mulscalar\d+> : 1 -> 1\n\)", repr(gluon.SymbolBlock(x * 2, x)))


@pytest.mark.parametrize("stack", [nn.Sequential, nn.HybridSequential])
def test_several_results_of_a_block_are_one_argument_of_the_next(stack):
    # as in MXNet 1.9.1; those of MXNet 2, in NumPy mode, are spread over arguments
    x = mx.nd.array([1.0, 2.0])

    class Twice(gluon.Block if stack is nn.Sequential else gluon.HybridBlock):
        def forward(self, x):
            return [x, 2 * x]

    net = stack()
    net.add(Twice(), nn.HybridLambda(lambda F, pair: F.concat(*pair, dim=0)), Twice())
    first, second = net(x)
    assert first.asnumpy().tolist() == [1, 2, 2, 4]
    assert second.asnumpy().tolist() == [2, 4, 4, 8]


def test_parameters_of_modulated_deformable_convolutions_are_in_the_order_of_mxnet():
    for layer, first in (("DeformableConvolution", "offset_"), ("ModulatedDeformableConvolution", "deformable_conv_")):
        names = [p.removeprefix("d_") for p in getattr(gluon.contrib.cnn, layer)(2, prefix="d_").collect_params()]
        assert [n.startswith(first) for n in names] == [True, True, False, False]


def test_the_sigmoid_of_swish_has_the_name_that_files_of_mxnet_have():
    assert "s_fwd" in nn.Swish(prefix="s_")(mx.sym.var("data")).get_internals().list_outputs()[-2]


def test_infer_shape_needs_no_values():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Flatten(), nn.Dense(2))
    net.infer_shape(nd.ones((1, 3, 5, 5)))
    shapes = {name: p.shape for name, p in net._collect_params_with_prefix().items()}
    assert shapes["0.weight"] == (4, 3, 3, 3) and shapes["1.running_var"] == (4,) and shapes["3.weight"] == (2, 36)
    assert all(p._data is None for p in net.collect_params().values())


def test_public_layers_tell_their_arguments_without_private_bases():
    class Mine(nn.Conv2D):
        """A convolution."""

    told = inspect.getdoc(nn.Conv2D)
    assert told.startswith("Convolution of (batch, channels, height, width).\n\n") and "\n\nchannels: " in told
    assert "kernel_size" in told and "pool_size" in inspect.getdoc(nn.MaxPool1D)
    assert inspect.getdoc(rnn.LSTM).count("projection_size: ") == 1
    assert inspect.getdoc(Mine) == "A convolution."


def test_imported_networks_without_parameters_and_in_float16(tmp_path):
    """As in MXNet 1.9.1: ctx is that of loaded parameters alone, and batch normalisations stay float32."""
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=4), nn.BatchNorm(in_channels=3))
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((2, 4))
    expected = net(x).asnumpy()
    symbol_file, params_file = net.export(str(tmp_path / "net"))
    empty = gluon.SymbolBlock.imports(symbol_file, ["data"], ctx=mx.cpu())
    with pytest.raises(RuntimeError, match="has not been initialized"):
        empty(x)
    empty.collect_params().load(params_file, mx.cpu())
    np.testing.assert_array_equal(empty(x).asnumpy(), expected)
    empty.cast("float16")
    kinds = {n: np.dtype(p.dtype).name for n, p in empty.collect_params().items()}
    assert {n for n, kind in kinds.items() if kind == "float16"} == {"net_dense0_weight", "net_dense0_bias"}
    assert empty(x.astype("float16")).dtype == np.float16


def test_files_hold_the_mean_of_copies():
    parameter = mx.gluon.Parameter("weight", shape=(2,))
    parameter.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    for ctx, value in ((mx.cpu(0), 1.0), (mx.cpu(1), 4.0)):
        parameter.data(ctx)[:] = value
    assert parameter._reduce().asnumpy().tolist() == [2.5, 2.5]
    single = mx.gluon.Parameter("single", shape=(1,))
    single.initialize()
    with mx.autograd.record():
        assert single._reduce()._entry is None  # what is written hangs on no tape


def test_copies_of_a_compiled_block_are_blocks_of_their_own():
    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.BatchNorm())
    net.initialize()
    net.hybridize()
    x = nd.random.uniform(shape=(2, 4))
    before = net(x)
    copies = [copy.deepcopy(net), pickle.loads(pickle.dumps(net))]
    parameters = copy.deepcopy(net.collect_params())  # as programs keep the weights that they began with
    net[0].weight.set_data(nd.zeros((3, 4)))
    for other in copies:
        assert (other(x) - before).abs().max().asscalar() < 1e-6
    kept = parameters[net[0].weight.name].data()
    assert (kept == copies[0][0].weight.data()).min().asscalar() == 1 and net(x).abs().max().asscalar() < 1e-6

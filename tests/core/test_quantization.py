"""Networks of codes against the same networks of numbers, and files of MXNet's quantization."""

import functools
import json

import numpy as onp
import pytest

import core as mx
from core import nd
from core.contrib.quantizer import quantize_symbol, ranged
from core.symbol.graph import order
from gluon import HybridBlock, SymbolBlock, nn
from gluon.contrib.quantization import quantize_net_v2


class Residual(nn.HybridBlock):
    """A convolution with all that can follow it in one node: BatchNorm, a sum, a rectifier;
    then pooling and a dense layer.
    """

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.first = nn.HybridSequential()
            self.first.add(nn.Conv2D(8, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
            self.second = nn.HybridSequential()
            self.second.add(nn.Conv2D(8, 3, padding=1), nn.BatchNorm())
            self.last = nn.HybridSequential()
            self.last.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(3))

    def hybrid_forward(self, F, x):
        x = self.first(x)
        return self.last(F.Activation(self.second(x) + x, act_type="relu"))


def test_codes_stand_for_the_numbers_of_the_network():
    mx.random.seed(0)
    net = Residual()
    net.initialize(mx.init.Xavier())
    x = nd.random.uniform(-1, 1, (4, 3, 9, 9))
    for _ in range(3):  # running statistics that are not 0 and 1
        with mx.autograd.record():
            loss = net(x).sum()
        loss.backward()
    expected = net(x).asnumpy()
    codes = quantize_symbol(net(mx.sym.var("data")))
    kinds = [n.op.name for n in order(codes._entries) if n.op is not None]
    assert kinds.count("_sg_mkldnn_conv") == 2 and kinds.count("_contrib_quantize_v2") == 1
    assert "Convolution" not in kinds and "BatchNorm" not in kinds and "_contrib_quantized_pooling" in kinds
    high = (
        float(net.first(x).max().asscalar()),
        float(nd.relu(net.second(net.first(x)) + net.first(x)).max().asscalar()),
    )
    block = SymbolBlock(ranged(codes, [(-1.0, 1.0)], [(0.0, h) for h in high]), mx.sym.var("data"))
    block.initialize()
    for name, parameter in net.collect_params().items():
        block.collect_params()[name].set_data(parameter.data())
    difference = onp.abs(block(x).asnumpy() - expected).max()
    assert 0 < difference < 0.02 * onp.abs(expected).max()


@pytest.mark.parametrize(
    "weight, bias, limit, x, expected",
    [  # with MXNet 1.9.1's numbers
        ([1.0, -2.0], [0.3, -0.7], 0.0, [0.0, 5.0], [[0.30196077, 0.30196077], [-0.70274508, -0.70274508]]),
        ([0.0, -2.0], [0.3, -0.6], 1.0, [0.5, 1.0], [[0.30588233, 0.30588233], [-1.61098027, -2.58980369]]),
    ],
)
def test_convolutions_of_nothing_give_their_bias(weight, bias, limit, x, expected):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 1, in_channels=1))
    net.initialize()
    net[0].weight.set_data(nd.array(weight).reshape((2, 1, 1, 1)))
    net[0].bias.set_data(nd.array(bias))
    batches = mx.gluon.data.DataLoader(nd.array([[[[-limit, limit]]]]), batch_size=1)
    net = mx.contrib.quantization.quantize_net(
        net, quantized_dtype="int8", calib_mode="naive", calib_data=batches, num_calib_examples=1
    )
    onp.testing.assert_allclose(net(nd.array([[[x]]])).asnumpy()[0, :, 0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    "granularity, expected",
    [  # with MXNet 1.9.1's numbers
        ("tensor-wise", [0.09762400, 0.53480977]),
        ("channel-wise", [0.09688582, 0.53570479]),
    ],
)
def test_granularity_of_the_weights_of_fully_connected_layers(granularity, expected):
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=2))
    net.initialize()
    net[0].weight.set_data(nd.array([[1.0, -1.0], [0.05, -0.0025]]))
    net[0].bias.set_data(nd.array([-1.0, 0.5]))
    batches = mx.gluon.data.DataLoader(nd.array([[1.0, -1.0]]), batch_size=1)
    net = mx.contrib.quantization.quantize_net_v2(
        net, quantized_dtype="int8", calib_mode="naive", calib_data=batches, quantize_granularity=granularity
    )
    onp.testing.assert_allclose(net(nd.array([[0.7, -0.4]])).asnumpy()[0], expected, rtol=1e-6)


def test_all_that_the_module_offers_comes_with_a_star():
    assert {"quantize_net", "quantize_net_v2", "quantize_model"} <= set(mx.contrib.quantization.__all__)


def _trained_like(seed):
    """A network with running statistics that are not 0 and 1, batches, and what it makes of the first."""
    mx.random.seed(seed)
    net = Residual()
    net.initialize(mx.init.Xavier())
    batches = [nd.random.uniform(-1, 1, (4, 3, 9, 9)) for _ in range(3)]
    with mx.autograd.record():
        net(batches[1])
    return net, batches, net(batches[0]).asnumpy()


@pytest.mark.parametrize(
    ("mode", "dtype"), [("none", "auto"), ("none", "int8"), ("naive", "auto"), ("naive", "int8"), ("entropy", "auto")]
)
def test_blocks_on_codes_give_nearly_the_same_numbers(mode, dtype):
    net, batches, expected = _trained_like(1)
    codes = mx.contrib.quantization.quantize_net_v2(net, quantized_dtype=dtype, calib_data=batches, calib_mode=mode)
    found = codes(batches[0]).asnumpy()
    # Three layers and a mean, each rounded to one in 127 or 255; values beyond the entropy threshold are cut off.
    assert 0 < onp.abs(found - expected).max() < (0.1 if mode == "entropy" else 0.04) * onp.abs(expected).max()
    kept = mx.contrib.quantization.quantize_net(
        net, calib_data=batches, calib_mode="naive", exclude_operators=["Convolution", "FullyConnected"]
    )
    onp.testing.assert_allclose(kept(batches[0]).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_symbols_on_codes_by_an_iterator_and_by_a_monitor(tmp_path):
    """quantize_model, and quantize_graph with calib_graph, find the same ranges; files give the same symbol back."""
    net, batches, expected = _trained_like(2)
    net.hybridize()
    net(batches[0])
    net.export(str(tmp_path / "net"))
    sym, args, states = mx.model.load_checkpoint(str(tmp_path / "net"), 0)
    data = mx.io.NDArrayIter(nd.concat(*batches, dim=0), batch_size=4)
    how = {"ctx": mx.cpu(), "calib_mode": "naive", "quantized_dtype": "auto"}
    codes, args_, states_ = mx.contrib.quantization.quantize_model(
        sym, args, states, calib_data=data, label_names=None, **how
    )
    codes.save(str(tmp_path / "codes-symbol.json"))
    bound = mx.sym.load(str(tmp_path / "codes-symbol.json")).simple_bind(mx.cpu(), grad_req="null", data=(4, 3, 9, 9))
    bound.copy_params_from(args_, states_)
    found = bound.forward(data=batches[0])[0].asnumpy()
    assert 0 < onp.abs(found - expected).max() < 0.04 * onp.abs(expected).max()

    codes, _, _, collector = mx.contrib.quantization.quantize_graph(sym, args, states, **how)
    plain = sym.simple_bind(mx.cpu(), grad_req="null", data=(4, 3, 9, 9))
    plain.copy_params_from(args, states)
    plain.set_monitor_callback(collector.collect, monitor_all=True)
    for batch in batches:
        plain.forward(data=batch)
    codes = mx.contrib.quantization.calib_graph(codes, args, states, collector, calib_mode="naive")[0]
    again = codes.simple_bind(mx.cpu(), grad_req="null", data=(4, 3, 9, 9))
    again.copy_params_from(args, states)
    onp.testing.assert_array_equal(again.forward(data=batches[0])[0].asnumpy(), found)


def test_a_collector_of_the_users_own_decides_the_ranges():
    class Wide:
        def __init__(self):
            self.min_max_dict = {}

        def collect(self, name, array):
            reach = 100 * abs(array).max().asscalar()
            self.min_max_dict[name] = -reach, reach

    net, batches, expected = _trained_like(3)
    codes = mx.contrib.quantization.quantize_net_v2(
        net, calib_data=batches, calib_mode="customize", LayerOutputCollector=Wide()
    )
    assert onp.abs(codes(batches[0]).asnumpy() - expected).max() > 0.1 * onp.abs(expected).max()


def test_histograms_grow_with_the_values_and_lose_none():
    histogram = mx.contrib.quantization._LayerHistogramCollector(11, ["x"])
    for values in ([0.5, -1.0], [3.0], [-0.2, 0.2]):
        histogram.collect("x", nd.array(values))
        histogram.collect("y", nd.array(values))
    counts, edges, low, high, reach = histogram.hist_dict["x"]
    assert list(histogram.hist_dict) == ["x"] and counts.sum() == 5 and len(edges) == len(counts) + 1
    assert (low, high) == (-1.0, 3.0) and reach >= 3.0 and len(counts) % 2 == 1


def test_a_histogram_that_begins_with_zeros_grows():
    histogram = mx.contrib.quantization._LayerHistogramCollector(5, ["x"])
    for values in ([0.0, 0.0], [0.0], [0.5, -1.0], [3.0]):
        histogram.collect("x", nd.array(values))
    counts, edges, *reached = histogram.hist_dict["x"]
    assert counts.tolist() == [0] * 5 + [1, 0, 3, 1] + [0] * 5 + [1] and reached == [-1.0, 3.0, pytest.approx(3.0)]


@pytest.mark.parametrize(
    "values, counts, reach",
    [([1.6, -0.1, 0.3], [0, 0, 1, 0, 1, 2, 0, 0, 1], 1.8), ([-0.9, 0.3], [2, 0, 0, 2, 0], 1.0)],
)
def test_combined_histograms_are_mxnets(values, counts, reach):
    """Counts and reach measured from MXNet 1.9.1."""
    old = (*onp.histogram([0.5, -1.0], bins=5, range=(-1, 1)), -1.0, 0.5, 1.0)
    low, high = min(values), max(values)
    new = mx.contrib.quantization.combine_histogram(old, onp.array(values), low, high, max(-low, high))
    assert new[0].tolist() == counts and new[4] == pytest.approx(reach)
    assert new[2:4] == (min(-1.0, low), max(0.5, high)) and len(new[1]) == len(counts) + 1


def test_what_quantization_does_not_take_is_said():
    net, batches, _ = _trained_like(4)
    quantization = mx.contrib.quantization
    sym = net(mx.sym.var("data"))
    with pytest.raises(ValueError, match="calib_data is empty"):
        quantization.quantize_net(net, calib_data=[], calib_mode="naive")
    with pytest.raises(ValueError, match="unknown calib_mode 'best'; none, naive, entropy, customize are accepted"):
        quantization.quantize_net(net, calib_data=batches, calib_mode="best")
    with pytest.raises(ValueError, match="unknown quantized_dtype 'int4'"):
        quantization.quantize_model(sym, {}, {}, quantized_dtype="int4")
    with pytest.raises(ValueError, match="a DataIter, given list"):
        quantization.quantize_model(sym, {}, {}, calib_data=batches)
    with pytest.raises(ValueError, match="excluded_sym_names is a list of names, given str"):
        quantization.quantize_model(sym, {}, {}, excluded_sym_names="conv0")
    with pytest.raises(AttributeError, match="has no 'quantise'; it offers"):
        getattr(quantization, "quantise")  # noqa: B009


def test_layers_that_are_excluded_stay_on_numbers():
    net = Residual()
    codes = quantize_symbol(net(mx.sym.var("data")), ["Pooling", "FullyConnected"])
    kinds = [n.op.name for n in order(codes._entries) if n.op is not None]
    assert "Pooling" in kinds and "_contrib_quantized_pooling" not in kinds
    with pytest.raises(mx.MXNetError, match="2 nodes _sg_mkldnn_conv, 1 ranges"):
        ranged(codes, [None], [(0.0, 1.0)])


def test_a_softmax_among_codes_has_the_last_bits_of_mxnets():
    x = nd.array((onp.arange(15) * 7 % 11 - 5).astype("float32").reshape(3, 5) * onp.float32(0.73))
    codes = quantize_symbol(mx.sym.softmax(mx.sym.var("x"), axis=-1, name="scores"))
    got = codes.eval(x=x)[0].asnumpy()
    bits = [  # of MXNet 1.9.1 with oneDNN on x86-64
        [974587618, 1036220764, 1000910500, 1062884168, 1027368642],
        [998246793, 1059436533, 1024393544, 989253416, 1050654969],
        [1010133982, 974949946, 1036689724, 1001315184, 1063407951],
    ]
    assert got.view("uint32").tolist() == bits
    assert (got != nd.softmax(x).asnumpy()).any()
    (row,) = (row for row in json.loads(codes.tojson())["nodes"] if row["name"] == "scores")
    assert row["op"] == "softmax" and row["attrs"] == {"axis": "-1"}


def test_a_fused_node_of_a_file_has_its_attributes_in_a_subgraph():
    def row(op, name, *inputs, **rest):
        return {"op": op, "name": name, "inputs": [[i, 0, 0] for i in inputs], **rest}

    conv = {"kernel": "(3, 3)", "num_filter": "2", "no_bias": "True", "pad": "(1, 1)"}
    part = {
        "nodes": [row("null", "d"), row("null", "w"), row("Convolution", "c", 0, 1, attrs=conv),
                  *(row("null", s) for s in ("g", "b", "m", "v")),
                  row("BatchNorm", "n", 2, 3, 4, 5, 6, attrs={"eps": "0.01", "fix_gamma": "False"}),
                  row("Activation", "a", 7, attrs={"act_type": "relu"})],
        "arg_nodes": [0, 1, 3, 4, 5, 6], "heads": [[8, 0, 0]],
    }  # fmt: skip
    names = ("data", "weight", "gamma", "beta", "mean", "var")
    fused = row("_sg_mkldnn_conv", "sg", *range(6), attrs={"with_bn": "true", "with_relu": "true"}, subgraphs=[part])
    text = json.dumps(
        {"nodes": [*(row("null", n) for n in names), fused], "arg_nodes": list(range(6)), "heads": [[6, 0, 0]]}
    )
    symbol = mx.sym.load_json(text)
    assert symbol.list_auxiliary_states() == ["mean", "var"]
    values = {n: nd.random.uniform(0.5, 1.5, (2,)) for n in names[2:]}
    values |= {"data": nd.random.normal(0, 1, (1, 3, 5, 5)), "weight": nd.random.normal(0, 1, (2, 3, 3, 3))}
    states = {n: values[n] for n in names[4:]}
    got = symbol.bind(mx.cpu(), {n: values[n] for n in names[:4]}, aux_states=states).forward()[0]
    plain = nd.Convolution(values["data"], values["weight"], kernel=(3, 3), num_filter=2, no_bias=True, pad=(1, 1))
    plain = nd.BatchNorm(plain, *(values[n] for n in names[2:]), eps=0.01, fix_gamma=False)
    onp.testing.assert_allclose(got.asnumpy(), nd.relu(plain).asnumpy(), rtol=1e-5, atol=1e-5)


def test_a_constant_of_another_process_does_not_stop_initialisation():
    shift = mx.sym.var("shift_weight", init="Constant_shift_140197381553736", shape=(3,))
    block = SymbolBlock(mx.sym.broadcast_add(mx.sym.var("data"), shift), mx.sym.var("data"))
    block.initialize()
    block.collect_params()["shift_weight"].set_data(nd.array([1, 2, 3]))
    assert block(nd.zeros((1, 3))).asnumpy().tolist() == [[1, 2, 3]]


def test_parts_of_quantization_under_mxnets_names():
    """Numbers measured from MXNet 1.9.1; layers on codes keep float parameters here."""
    quantization, random = mx.contrib.quantization, onp.random.RandomState(0)
    random.randn(4, 5)
    values = random.randn(2, 30).astype("float32") * 3
    counts, edges = onp.histogram(values, bins=1001, range=(-9, 9))
    histograms = {"x": (counts, edges, values.min(), values.max(), 9.0), "y": (counts, edges, 0.1, values.max(), 9.0)}
    low, high, cut, lost = quantization._get_optimal_threshold(histograms["x"], "int8")
    assert (low, high) == (values.min(), values.max()) and cut == pytest.approx(5.961039) and lost < 1e-6
    found = quantization._get_optimal_thresholds(histograms, "auto")
    assert found["x"] == pytest.approx((-5.961039, 5.961039)) and found["y"] == (0, pytest.approx(7.6873126))
    smoothed = quantization._smooth_distribution(onp.array([0, 1.0, 0, 3.0]))
    onp.testing.assert_allclose(smoothed, [1e-4, 0.9999, 1e-4, 2.9999], rtol=1e-6)
    with pytest.raises(ValueError):
        quantization._smooth_distribution(onp.zeros(2), eps=1e-3)
    net = mx.sym.FullyConnected(mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=4, name="conv"),
                                num_hidden=3, name="fc")  # fmt: skip
    codes, wanted = quantization._quantize_symbol(net, offline_params=["conv_weight"])
    assert wanted == ["data", "conv_output"]
    codes = quantization._calibrate_quantized_sym(codes, {"conv_output": (-1.0, 2.0), "data": (0.0, 1.0)})
    assert codes.attr_dict()["quantized_conv"]["max_calib_range"] == "2.0"
    params = {name: nd.ones(1) for name in net.list_arguments()}
    assert quantization._quantize_params(codes, {**params, "other": nd.ones(1)}, {}) == params


@pytest.mark.parametrize("mode", ["naive", "entropy"])
def test_unsigned_codes_refuse_negative_numbers(mode):
    net, batches, _ = _trained_like(1)
    how = {"quantized_dtype": "uint8", "calib_mode": mode}
    with pytest.raises(ValueError, match="uint8 holds no negative numbers"):
        mx.contrib.quantization.quantize_net(net, calib_data=batches, **how)
    net = mx.gluon.nn.Dense(3, in_units=4)
    net.initialize()
    x = nd.random.uniform(0, 1, (5, 4))
    codes = mx.contrib.quantization.quantize_net(net, calib_data=[x], **how)
    # One in 255 of each of four numbers below 1 and of four weights of at most 0.07.
    onp.testing.assert_allclose(codes(x).asnumpy(), net(x).asnumpy(), atol=0.003)


def test_unsigned_codes_need_ranges():
    net, _, _ = _trained_like(1)
    with pytest.raises(ValueError, match="'uint8' takes a calib_mode"):
        mx.contrib.quantization.quantize_net(net, quantized_dtype="uint8")
    with pytest.raises(ValueError, match="unknown quantize_mode 'odd'"):
        mx.contrib.quantization.quantize_net(net, quantize_mode="odd")


def test_inputs_with_default_values_are_counted_by_the_batches():
    class Pair(HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.layer = nn.Dense(5, in_units=3)

        def hybrid_forward(self, F, x, scale=None):
            x = self.layer(x)
            return x if scale is None else F.broadcast_mul(x, scale)

    net = Pair()
    net.initialize(mx.init.Normal(1))
    x, scale, label = nd.array([[1, 2, 3], [0.5, -1, 2]]), nd.array([[2], [3]]), nd.zeros((7, 7))
    for batch, given in (([x, scale], (x, scale)), ([x], (x,)), ([x, label], (x,))):
        codes = mx.contrib.quantization.quantize_net_v2(net, calib_data=[batch], calib_mode="naive", ctx=[mx.cpu()])
        wanted = net(*given).asnumpy()
        onp.testing.assert_allclose(codes(*given).asnumpy(), wanted, atol=0.03 * abs(wanted).max())


def test_a_bert_classifier_on_codes():
    """As MXNet 1.9.1 with GluonNLP 0.10, whose relative error is 0.016 on such a network."""
    from gluonnlp.calibration import BertLayerCollector
    from gluonnlp.model import BERTClassifier, BERTEncoder, BERTModel

    mx.random.seed(0)
    encoder = BERTEncoder(num_layers=2, units=64, hidden_size=256, max_length=32, num_heads=4)
    bert = BERTModel(encoder, 100, 2, units=64, embed_size=64, use_decoder=False, use_classifier=False)
    net = BERTClassifier(bert, num_classes=2)
    net.initialize(mx.init.Normal(0.02))
    batch = [nd.array(onp.random.RandomState(0).randint(0, 100, (4, 16))), nd.zeros((4, 16)), nd.array([16, 9, 3, 16])]
    codes = mx.contrib.quantization.quantize_net_v2(
        net, calib_data=[batch], calib_mode="customize", LayerOutputCollector=BertLayerCollector(clip_min=-50, clip_max=10),
        quantize_granularity="channel-wise",
    )  # fmt: skip
    wanted, alone = net(*batch).asnumpy(), codes(*batch).asnumpy()
    assert abs(alone - wanted).max() < 0.03 * abs(wanted).max()
    codes.hybridize()
    for _ in range(2):
        planned = codes(*batch).asnumpy()
    onp.testing.assert_allclose(planned, alone, atol=1e-3 * abs(wanted).max())


class Limited(HybridBlock):
    """A convolution up to 6, as MobileNet V2 has it, and one behind it; weights large enough for the limit to count."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2D(8, 3, in_channels=4), nn.Conv2D(8, 1, in_channels=8)

    def hybrid_forward(self, F, x):
        return self.last(F.clip(self.first(x), 0, 6))


@pytest.mark.parametrize("calib_mode", ["naive", "none"])
def test_a_limit_is_part_of_the_convolution_before_it(calib_mode):
    """As in MXNet, whose convolutions take `clip` from 0 on: codes of 0 to 6 are unsigned, not those of -60 to 60."""
    net, x = Limited(), nd.array(onp.random.RandomState(0).standard_normal((2, 4, 9, 9)))
    net.initialize(mx.init.Uniform(4))
    wanted = net(x).asnumpy()
    codes = quantize_net_v2(net, calib_mode=calib_mode, calib_data=[x])
    kinds = [node.op.name for node in order(codes._symbol._entries) if node.op is not None]
    assert kinds.count("_sg_mkldnn_conv") == 2 and "clip" not in kinds
    for planned in (False, True):
        codes.hybridize(planned)
        assert abs(codes(x).asnumpy() - wanted).mean() < 0.01 * abs(wanted).max()


def test_a_limit_below_the_range_of_its_codes():
    x, w, ends = (
        nd.array([[[[0, 64, 128, 255]]]], dtype="uint8"),
        nd.ones((1, 1, 1, 1)),
        (nd.zeros(1), nd.array([255.5])),
    )
    call = functools.partial(
        nd._internal._sg_mkldnn_conv,
        x,
        w,
        *ends,
        kernel=(1, 1),
        num_filter=1,
        no_bias=True,
        quantized=True,
        with_act=True,
    )
    whole, limited = (
        call(min_calib_range=0.0, max_calib_range=255.5, a_max=limit)[0].asnumpy().ravel() for limit in (None, 100.0)
    )
    assert whole.max() > 250 and limited.tolist() == onp.minimum(whole, 100).tolist()


def test_the_last_batch_may_be_smaller():
    net, x = Limited(), nd.array(onp.random.RandomState(0).standard_normal((5, 4, 9, 9)))
    net.initialize(mx.init.Uniform(4))
    net(x)
    batches = [x[:2], x[2:4], x[4:]]
    codes = quantize_net_v2(net, calib_mode="naive", calib_data=batches)
    whole = quantize_net_v2(net, calib_mode="naive", calib_data=[x])
    onp.testing.assert_allclose(codes(x).asnumpy(), whole(x).asnumpy(), rtol=1e-6)

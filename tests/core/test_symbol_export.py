"""Exported networks: MXNet 1.9.1 loads them and computes the same."""

import json
import subprocess

import numpy as np
import pytest

import core as mx
from gluon import HybridBlock, nn, rnn
from gluon.model_zoo import vision

sym = mx.sym


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_written_as_operators_of_mxnet(masked, causal):
    rng = np.random.default_rng(0)
    names = ["q", "k", "v", *(["length"] if masked else [])]
    values = {n: mx.nd.array(rng.normal(0, 1, (2, 3, 5, 4))) for n in "qkv"}
    if masked:
        values["length"] = mx.nd.array([5, 2])
    fused = sym.op._dropout_attention(*map(sym.var, names), causal=causal, p=0.3, name="read")
    written = fused.tojson()
    kinds = {node["op"] for node in json.loads(written)["nodes"]}
    assert {"batch_dot", "softmax", "Dropout"} <= kinds and "_dropout_attention" not in kinds
    loaded = sym.load_json(written)
    assert loaded.list_outputs() == fused.list_outputs() and set(loaded.list_arguments()) == set(names)
    for symbol in (fused, loaded):
        scores = np.einsum("bhqd,bhkd->bhqk", *(values[n].asnumpy() for n in "qk")) / 2
        counts = np.full((2, 1, 5, 1), 5)
        if masked:
            counts = np.minimum(counts, np.array([5, 2]).reshape(2, 1, 1, 1))
        if causal:
            counts = np.minimum(counts, np.arange(1, 6).reshape(1, 1, 5, 1))
        weights = np.exp(scores) * (np.arange(5) < counts)
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(
            symbol.eval(**values)[0].asnumpy(), weights @ values["v"].asnumpy(), rtol=1e-4, atol=1e-5
        )


class _Over(HybridBlock):
    """A layer below a name scope, of which the first result counts."""

    def __init__(self, layer):
        super().__init__()
        with self.name_scope():
            self.layer = layer

    def hybrid_forward(self, F, x):
        result = self.layer(x)
        return result[0] if isinstance(result, (list, tuple)) else result


def _many_layers():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(6, 3, groups=2), nn.GroupNorm(2), nn.PReLU(), nn.InstanceNorm(), nn.Conv2DTranspose(3, 2, strides=2), nn.SELU(),
        nn.GELU(), nn.Swish(), nn.AvgPool2D(2, ceil_mode=True), nn.LayerNorm(), nn.ELU(), nn.BatchNorm(), nn.GlobalAvgPool2D(),
        nn.Flatten(), nn.Dense(3, activation="sigmoid"), nn.Dropout(0.3),
    )  # fmt: skip
    return net


def _transformer():
    from gluonnlp.model.transformer import TransformerEncoder

    return _Over(TransformerEncoder(num_layers=1, units=8, hidden_size=16, num_heads=2, max_length=9))


def _bert():
    from gluonnlp.model.bert import BERTEncoder, BERTModel

    reader = BERTEncoder(num_layers=1, units=8, hidden_size=16, num_heads=2, max_length=9)
    sizes = {"vocab_size": 20, "token_type_vocab_size": 2, "units": 8, "embed_size": 8}
    return BERTModel(reader, use_decoder=False, use_classifier=False, **sizes)


# name: (network, shapes of its inputs)
NETWORKS = {
    "resnet": (lambda: vision.resnet18_v2(classes=10), [(1, 3, 32, 32)]),
    "layers": (_many_layers, [(2, 4, 8, 8)]),
    "lstm": (lambda: _Over(rnn.LSTM(5, 2, bidirectional=True, input_size=4)), [(3, 2, 4)]),
    "gru": (lambda: _Over(rnn.GRU(5, 2, input_size=4)), [(3, 2, 4)]),
    "transformer": (_transformer, [(2, 4, 8)]),
    "bert": (_bert, [(2, 5), (2, 5), (2,)]),
}

_UPSTREAM = """
import sys, json
import mxnet as mx, numpy as np
answers = {}
for name, inputs in json.loads(sys.argv[2]).items():
    names = ["data"] if len(inputs) == 1 else [f"data{i}" for i in range(len(inputs))]
    block = mx.gluon.SymbolBlock.imports(f"{sys.argv[1]}/{name}-symbol.json", names, f"{sys.argv[1]}/{name}-0000.params")
    outputs = block(*[mx.nd.array(np.array(v, "float32")) for v in inputs])
    answers[name] = [o.asnumpy().tolist() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print(json.dumps(answers))
"""


@pytest.mark.mxnet
def test_the_original_loads_exported_networks(mxnet_python, tmp_path):
    rng = np.random.default_rng(0)
    inputs, expected = {}, {}
    for name, (build, shapes) in NETWORKS.items():
        net = build()
        net.initialize(mx.init.Xavier())
        values = [rng.integers(1, 4, s) if name == "bert" else rng.normal(0, 1, s).round(3) for s in shapes]
        net.hybridize()
        outputs = net(*[mx.nd.array(v, dtype="float32") for v in values])
        net.export(str(tmp_path / name))
        inputs[name] = [v.tolist() for v in values]
        expected[name] = [o.asnumpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
    command = [mxnet_python, "-c", _UPSTREAM, str(tmp_path), json.dumps(inputs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout.splitlines()[-1])
    for name, outputs in expected.items():
        for mine, theirs in zip(outputs, answers[name], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5, err_msg=name)


def test_moments_and_tests_of_numbers_are_written_with_operators_of_mxnet():
    x = mx.sym.var("x")
    c = mx.sym.contrib
    whole = mx.sym.Group([*mx.sym.moments(x, axes=(1,)), c.isnan(x), c.isinf(x), c.isfinite(x)])
    operators = {node["op"] for node in json.loads(whole.tojson())["nodes"]} - {"null"}
    assert operators == {
        "moments",
        "_not_equal",
        "_equal",
        "abs",
        "_equal_scalar",
        "_not_equal_scalar",
        "broadcast_logical_and",
    }
    value = mx.nd.array([[1, np.nan, np.inf, -np.inf]])
    found = [y.asnumpy()[0].tolist() for y in mx.sym.load_json(whole.tojson()).eval(x=value)[2:]]
    assert found == [[0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]]

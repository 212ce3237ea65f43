"""Networks for text: recorded answers of the original, attention against float64, and what training changes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gluonnlp as nlp
from core import autograd, nd
from core.base import MXNetError
from core.initializer import Uniform

# The small networks among the recorded ones.
RECORDED = (
    "^(attention_.*|highway_.*|convolutionalencoder_.*|textcnn_.*|block_gelu|positionwiseffn_.*"
    "|tiny_(train_)?(awdrnn|standardrnn)_.*|tiny_bigrnn|tiny_bert.*|bert_dotproduct.*|bert_3_override"
    "|bert(classifier|forqa|classifier_nodropout)_tiny|robertaclassifier_tiny|bertforicsl_tiny|berttagger_tiny|transformerencoder.*|standard_lstm_lm_200)$"
)


def test_recorded_networks(reference, root, tmp_path):
    report = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, str(reference / "check.py"), "gluonnlp_zoo", "--only", RECORDED, "--json", str(report)],
        env={**os.environ, "PROJECT": str(root), "OMP_NUM_THREADS": "1"}, cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    cases = json.loads(Path(report).read_text())["cases"]
    assert len(cases) >= 50
    assert not {c["id"]: c["detail"][:200] for c in cases if c["status"] != "passed"}


def test_attention_in_float64():
    rng = np.random.default_rng(0)
    query, key, value = (rng.standard_normal((2, n, 4)) for n in (3, 5, 5))
    mask = (rng.random((2, 3, 5)) < 0.6) | (np.arange(5) == 0)
    scores = np.where(mask, query @ key.transpose(0, 2, 1) / 2, -np.inf)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    arrays = [nd.array(x, dtype="float32") for x in (query, key, value, mask)]
    read, got = nlp.model.DotProductAttentionCell()(*arrays)
    np.testing.assert_allclose(got.asnumpy(), weights, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(read.asnumpy(), weights @ value, rtol=1e-4, atol=1e-5)


def test_weights_drop_in_training_alone():
    net = nlp.model.AWDRNN("lstm", 20, 6, 8, 2, dropout=0, weight_drop=0.5, drop_h=0, drop_i=0, drop_e=0)
    net.initialize(Uniform(1.0))
    words = nd.array(np.arange(10).reshape(5, 2))
    kept = net.encoder[0].l0_h2h_weight.data().asnumpy()
    still = net(words)[0].asnumpy()
    np.testing.assert_array_equal(still, net(words)[0].asnumpy())
    with autograd.train_mode():
        assert np.abs(net(words)[0].asnumpy() - still).max() > 1e-6
    np.testing.assert_array_equal(kept, net.encoder[0].l0_h2h_weight.data().asnumpy())


def test_dropped_weights_learn():
    net = nlp.model.AWDRNN("lstm", 20, 6, 8, 1, dropout=0, weight_drop=0.5, drop_h=0, drop_i=0, drop_e=0)
    net.initialize()
    with autograd.record():
        net(nd.array(np.arange(10).reshape(5, 2)))[0].sum().backward()
    gradient = net.encoder[0].l0_h2h_weight.grad().asnumpy()
    assert np.count_nonzero(gradient) and np.count_nonzero(gradient == 0)


def test_settings_of_named_models():
    vocab = nlp.Vocab({"a": 1, "b": 2})
    with pytest.raises(AssertionError, match="hidden_size"):
        nlp.model.get_model("awd_lstm_lm_1150", vocab=vocab, hidden_size=10)
    with pytest.raises(AssertionError, match="vocab"):
        nlp.model.get_model("awd_lstm_lm_1150")
    with pytest.raises(MXNetError, match="load_parameters"):
        nlp.model.get_model("awd_lstm_lm_1150", vocab=vocab, pretrained=True)
    with pytest.raises(ValueError, match="awd_lstm_lm_1150"):
        nlp.model.get_model("awd_lstm_lm_1151", vocab=vocab)
    net, given = nlp.model.get_model("awd_lstm_lm_1150", vocab=vocab, hidden_size=10, hparam_allow_override=True)
    assert given is vocab
    assert net.encoder[0].l0_h2h_weight.shape == (40, 10)


def test_padding_changes_nothing_in_bert():
    """What lies behind the valid length does not reach the rest."""
    encoder = nlp.model.BERTEncoder(units=8, hidden_size=16, num_heads=2, max_length=10)
    net = nlp.model.BERTModel(encoder, 30, 2, units=8, embed_size=8, use_decoder=False, use_classifier=False)
    net.initialize()
    words = np.arange(12).reshape(2, 6)
    other = words.copy()
    other[:, 4:] = 29
    types, length = nd.zeros((2, 6)), nd.array([4, 4])
    for got, want in zip(net(nd.array(words), types, length), net(nd.array(other), types, length), strict=True):
        np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


def test_answers_need_no_head():
    """Two scores for each position, whose parameters are the network's and one dense layer's."""
    encoder = nlp.model.BERTEncoder(units=8, hidden_size=16, num_heads=2, max_length=10)
    off = {"use_pooler": False, "use_decoder": False, "use_classifier": False}
    bert = nlp.model.BERTModel(encoder, 30, 2, units=8, embed_size=8, **off)
    net = nlp.model.BERTForQA(bert)
    net.initialize()
    words, length = nd.array(np.arange(12).reshape(2, 6)), nd.array([4, 6])
    got = net(words, nd.zeros((2, 6)), length).asnumpy()
    sequence = bert(words, nd.zeros((2, 6)), length).asnumpy().astype("float64")
    weight, bias = (p.data().asnumpy() for p in net.span_classifier.collect_params().values())
    np.testing.assert_allclose(got, sequence @ weight.T + bias, rtol=1e-4, atol=1e-5)

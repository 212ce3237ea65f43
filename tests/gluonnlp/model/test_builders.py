"""What programs take from GluonNLP's modules to build networks of their own."""

import numpy as np
import pytest

import gluonnlp as nlp
from core import autograd, nd
from core.base import MXNetError
from gluon import rnn
from gluonnlp.model import attention_cell, bert, utils
from gluonnlp.model.block import RNNCellLayer
from gluonnlp.model.seq2seq_encoder_decoder import _nested_sequence_last


@pytest.mark.parametrize("layout", ["TNC", "NTC"])
def test_a_cell_in_the_form_of_a_layer(layout):
    cell, layer = rnn.LSTMCell(5, input_size=3), rnn.LSTM(5, layout=layout, input_size=3)
    cell.initialize()
    layer.initialize()
    for own, other in zip(layer.collect_params().values(), cell.collect_params().values(), strict=True):
        own.set_data(other.data())
    x = nd.random.normal(shape=(4, 2, 3))
    wrapped = RNNCellLayer(cell, layout)
    np.testing.assert_allclose(wrapped(x).asnumpy(), layer(x).asnumpy(), rtol=1e-5, atol=1e-6)
    batch = 2 if layout == "TNC" else 4
    outputs, states = wrapped(x, cell.begin_state(batch_size=batch))
    assert outputs.shape == (4, 2, 5) and [s.shape for s in states] == [(batch, 5)] * 2
    with pytest.raises(ValueError, match="shape"):
        wrapped(x, cell.begin_state(batch_size=7))
    with pytest.raises(ValueError, match="layout"):
        RNNCellLayer(cell, "CNT")


@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru", "lstmpc"])
def test_stacks_of_cells(mode):
    bounds = {"proj_size": 4, "cell_clip": 1, "proj_clip": 0.02} if mode == "lstmpc" else {}
    cell = utils._get_rnn_cell(mode, 2, 4, 4, 0.1, 0.3, 0.1, 0.1, 0.1, True, **bounds)
    cell.initialize()
    x = nd.random.normal(shape=(2, 3, 4))
    still, _ = cell.unroll(3, x, merge_outputs=True)
    again, _ = cell.unroll(3, x, merge_outputs=True)
    assert still.shape == (2, 3, 4) and (still == again).min().asscalar() == 1
    if mode == "lstmpc":
        # Two cells that add at most 0.02 each.
        assert 0 < abs(still - x).max().asscalar() <= 0.041
    cell.reset()
    with autograd.train_mode():
        dropped, _ = cell.unroll(3, x, merge_outputs=True)
    assert abs(dropped - still).max().asscalar() > 0
    with pytest.raises(ValueError, match="proj_size"):
        utils._get_rnn_cell("lstm", 1, 4, 4, 0, 0, 0, 0, 0, False, proj_size=3)


def test_masked_softmax_in_numpy():
    scores, mask = np.random.RandomState(0).standard_normal((2, 3, 4)), np.ones((2, 3, 4))
    mask[:, :, 2:] = 0
    mask[0, 0] = 0
    found = attention_cell._masked_softmax(nd, nd.array(scores), nd.array(mask), "float32").asnumpy()
    wanted = np.exp(scores) * mask
    np.testing.assert_allclose(found, wanted / np.maximum(wanted.sum(-1, keepdims=True), 1e-30), rtol=1e-5, atol=1e-7)
    lowest = attention_cell._apply_mask(
        nd, nd.array(scores, dtype="float16"), nd.array(mask, dtype="float16"), "float16"
    )
    assert np.isfinite(lowest.asnumpy()).all()


def test_the_last_valid_step_of_nested_states():
    steps = [[nd.full((2, 3), t), [nd.full((2, 1), 10 * t)]] for t in range(4)]
    state, (inner,) = _nested_sequence_last(steps, nd.array([2, 4]))
    assert state.asnumpy()[:, 0].tolist() == [1, 3] and inner.asnumpy()[:, 0].tolist() == [10, 30]


def test_weights_of_a_file_or_a_url(tmp_path):
    small = {"units": 8, "embed_size": 8, "num_layers": 1, "hidden_size": 16, "num_heads": 2, "max_length": 8}
    settings = {
        "vocab": nlp.Vocab({"a": 2, "b": 1}),
        "root": str(tmp_path / "models"),
        "hparam_allow_override": True,
        **small,
    }
    net, _ = nlp.model.get_model("bert_12_768_12", pretrained=False, **settings)
    net.initialize()
    inputs = nd.array([[1, 2, 3]]), nd.zeros((1, 3)), nd.array([3])
    want = net(*inputs)[0].asnumpy()
    path = tmp_path / "bert.params"
    net.save_parameters(str(path))
    for source in (path, path.as_uri()):
        found, vocab = nlp.model.get_model("bert_12_768_12", pretrained=source, **settings)
        np.testing.assert_array_equal(found(*inputs)[0].asnumpy(), want)
        assert vocab is settings["vocab"]
    with pytest.raises(MXNetError, match="no file of parameters, no folder of transformers, no URL and no hf://"):
        nlp.model.get_model("bert_12_768_12", pretrained=str(tmp_path / "none.params"), **settings)


def test_names_of_upstream_modules():
    assert attention_cell._get_attention_cell("dot", units=4)._scaled is False
    assert utils._get_cell_type("gru") is rnn.GRUCell and utils._get_cell_type(rnn.LSTMCell) is rnn.LSTMCell
    assert isinstance(utils._get_rnn_layer("lstm", 1, 3, 4, 0, 0.5), rnn.LSTM)
    assert nlp.model.info.list_models() == nlp.model.list_models()
    assert nlp.model.language_model.awd_lstm_lm_1150_hparams["hidden_size"] == 1150
    assert set(nlp.data.word_embedding_evaluation.word_similarity_datasets) < set(
        nlp.data.word_embedding_evaluation.__all__
    )
    vocab = nlp.vocab.BERTVocab(nlp.data.count_tokens("abc"))
    settings = {"num_layers": 1, "units": 4, "embed_size": 4, "hidden_size": 4, "num_heads": 1}
    net, words = bert.get_bert_model("bert_12_768_12", None, vocab, False, hparam_allow_override=True, **settings)
    assert words is vocab and len(net.encoder.transformer_cells) == 1
    with pytest.raises(ValueError, match="no published weights"):
        bert.get_roberta_model("roberta_12_768_12", None, vocab)


def test_builders_lie_where_the_original_has_them():
    for module, name in (("bert", "bert_12_768_12"), ("elmo", "elmo_2x1024_128_2048cnn_1xhighway"),
                         ("language_model", "awd_lstm_lm_600"), ("transformer", "transformer_en_de_512")):  # fmt: skip
        assert getattr(getattr(nlp.model, module), name) is getattr(nlp.model, name)

"""Networks for text: recorded answers of the original, attention against float64, and what training changes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gluonnlp as nlp
from core import autograd, nd, random
from core.base import MXNetError
from core.initializer import Uniform
from gluon import SymbolBlock, Trainer, nn, rnn

# The small networks among the recorded ones.
RECORDED = (
    "^(attention_.*|highway_.*|convolutionalencoder_.*|textcnn_.*|block_gelu|positionwiseffn_.*"
    "|tiny_(train_)?(awdrnn|standardrnn)_.*|tiny_bigrnn|tiny_bert.*|bert_dotproduct.*|bert_3_override"
    "|bert(classifier|forqa|classifier_nodropout)_tiny|robertaclassifier_tiny|bertforicsl_tiny|berttagger_tiny|transformer(en|de)coder.*|transformeronestep.*|tiny_nmt.*|nmt_gnmt_tiny.*"
    "|tiny_elmo.*|bilm.*|lstmpcell.*|tiny_cachecell.*|(sparse)?(is|nce)dense.*|tiny_train_bigrnn.*|fasttextembedding.*|csr.*"
    "|tiny_xlnet.*|tiny_transformerxl.*|tiny_adaptive.*|xlnet_pos.*|nli_.*|sentimentnet.*|fasttextcl.*|glove|biaffine.*|standard_lstm_lm_200)$"
)


def test_recorded_networks(reference, root, tmp_path):
    report = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, str(reference / "check.py"), "gluonnlp_zoo", "--only", RECORDED, "--json", str(report)],
        env={**os.environ, "PROJECT": str(root), "OMP_NUM_THREADS": "1"}, cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    cases = json.loads(Path(report).read_text())["cases"]
    assert len(cases) >= 100
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


def test_weights_that_are_dropped_keep_their_values_and_names(tmp_path):
    """As in GluonNLP: the parameter itself is another one, for every block that has it."""
    random.seed(1)
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(4, in_units=3), nn.Dense(4, in_units=4))
    net.add(net[1])
    net.initialize(Uniform(1.0))
    before = {name: p.data().asnumpy() for name, p in net._collect_params_with_prefix().items()}
    nlp.model.apply_weight_drop(net, "weight", 0.5, axes=(0,), weight_dropout_mode="always")
    dropped = {p for p in net.collect_params().values() if isinstance(p, nlp.model.WeightDropParameter)}
    assert {p.name for p in dropped} == {net[0].weight.name, net[1].weight.name} and net[2].weight in dropped
    assert "rate=0.5, mode=always" in repr(net[0].weight) and not isinstance(net[0].bias, nlp.model.WeightDropParameter)
    assert abs(net(nd.ones((2, 3))) - net(nd.ones((2, 3)))).max().asscalar() > 0
    drawn = net[0].weight.data().asnumpy()
    kept = before["0.weight"]
    for column in range(3):  # elements of one column go together, or are twice as large
        assert not drawn[:, column].any() or np.allclose(drawn[:, column], 2 * kept[:, column])
    path = str(tmp_path / "net.params")
    net.save_parameters(path)
    for name, array in nd.load(path).items():
        np.testing.assert_array_equal(array.asnumpy(), before[name])


def test_tied_weights_are_dropped_in_both_places():
    net = nlp.model.train.AWDRNN("lstm", 20, 6, 8, 1, tie_weights=True)
    assert isinstance(net.decoder[0].weight, nlp.model.WeightDropParameter)
    assert net.decoder[0].weight is net.embedding[0].weight


def test_language_models_take_a_state_for_each_layer():
    net = nlp.model.AWDRNN("lstm", 20, 6, 8, 2)
    net.initialize()
    states = net.begin_state(batch_size=2)
    assert net(nd.zeros((3, 2)), states)[0].shape == (3, 2, 20)
    for wrong in (states[:1], states + states[:1]):
        with pytest.raises(ValueError, match="argument"):
            net(nd.zeros((3, 2)), wrong)


def test_convolutions_over_texts_give_one_score_unless_told_otherwise():
    net = nlp.model.TextCNN(vocab_size=5, embed_size=3, num_filters=(2, 2, 2))
    net.initialize()
    assert net(nd.zeros((7, 4))).shape == (4, 1)


def test_dropped_weights_learn():
    net = nlp.model.AWDRNN("lstm", 20, 6, 8, 1, dropout=0, weight_drop=0.5, drop_h=0, drop_i=0, drop_e=0)
    net.initialize()
    with autograd.record():
        net(nd.array(np.arange(10).reshape(5, 2)))[0].sum().backward()
    gradient = net.encoder[0].l0_h2h_weight.grad().asnumpy()
    assert np.count_nonzero(gradient) and np.count_nonzero(gradient == 0)


def test_weights_drop_in_compiled_networks():
    net = rnn.LSTM(6)
    kept = rnn.LSTM(6, params=net.collect_params())
    x = nd.array(np.random.RandomState(0).randn(3, 2, 5))
    net.initialize(Uniform(0.5))
    net(x)
    nlp.model.apply_weight_drop(net, ".*h2h_weight", 0.5)
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), kept(x).asnumpy(), rtol=1e-5, atol=1e-6)
    with autograd.train_mode():
        first, second = net(x).asnumpy(), net(x).asnumpy()
    assert np.abs(first - second).max() > 1e-6
    with autograd.record():
        net(x).sum().backward()
    gradient = net.l0_h2h_weight.grad().asnumpy()
    assert np.count_nonzero(gradient) and np.count_nonzero(gradient == 0)


def test_sampled_scores_are_those_of_all_words():
    """A network with sampled output, and one with all of it that shares its parameters by name."""
    sizes, rng = (12, 4, 6, 2, 5), np.random.RandomState(0)
    net = nlp.model.train.BigRNN(*sizes, 3, sparse_weight=False, sparse_grad=False, prefix="big_")
    net.initialize(Uniform(1.0))
    words, labels = (nd.array(rng.randint(0, 12, (4, 2))) for _ in range(2))
    sampled = nd.array([1, 5, 7]), nd.array([0.5, 0.2, 0.1]), nd.array(rng.uniform(0.1, 1, (4, 2)))
    state = net.begin_state(batch_size=2)
    scores, _, targets = net(words, labels, state, sampled)
    whole = nlp.model.BigRNN(*sizes, prefix="big_", params=net.collect_params())
    everything = whole(words, state)[0].asnumpy()
    of_labels = np.take_along_axis(everything, labels.asnumpy().astype(int)[..., None], 2)[..., 0]
    np.testing.assert_allclose(
        scores[:, :, 0].asnumpy(), of_labels - np.log(sampled[2].asnumpy()), rtol=1e-4, atol=1e-5
    )
    assert not targets.asnumpy().any()
    others = everything[..., [1, 5, 7]] - np.log(sampled[1].asnumpy())
    others[labels.asnumpy()[..., None] == [1, 5, 7]] = -1e37
    np.testing.assert_allclose(scores[:, :, 1:].asnumpy(), others, rtol=1e-4, atol=1e-5)


def test_settings_of_named_models():
    vocab = nlp.Vocab({"a": 1, "b": 2})
    with pytest.raises(AssertionError, match="hidden_size"):
        nlp.model.get_model("awd_lstm_lm_1150", vocab=vocab, hidden_size=10)
    with pytest.raises(AssertionError, match="vocab"):
        nlp.model.get_model("awd_lstm_lm_1150")
    with pytest.raises(ValueError, match="wikitext-2"):
        nlp.model.get_model("awd_lstm_lm_1150", vocab=vocab, pretrained=True)
    with pytest.raises(ValueError, match="awd_lstm_lm_1150"):
        nlp.model.get_model("awd_lstm_lm_1151", vocab=vocab)
    net, given = nlp.model.get_model("awd_lstm_lm_1150", vocab=vocab, hidden_size=10, hparam_allow_override=True)
    assert given is vocab
    assert net.encoder[0].l0_h2h_weight.shape == (40, 10)


def test_published_weights_are_fetched_from_the_store(tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_OFFLINE", "1")
    with pytest.raises(MXNetError, match="wikitext-2-be36dc52"):
        nlp.model.awd_lstm_lm_600("wikitext-2", pretrained=True, root=str(tmp_path))
    with pytest.raises(MXNetError, match="distilbert_book_corpus_wiki_en_uncased"):
        nlp.model.distilbert_6_768_12(root=str(tmp_path))
    with pytest.raises(MXNetError, match="elmo_2x1024_128_2048cnn_1xhighway_gbw-8c9257d9"):
        nlp.model.get_model(
            "elmo_2x1024_128_2048cnn_1xhighway", dataset_name="gbw", pretrained=True, root=str(tmp_path)
        )


@pytest.mark.parametrize("length", [None, [4, 6]])
def test_attention_without_weights_is_the_same(length):
    """Outputs and gradients of the fused operator and of the way that gives the weights."""
    length = None if length is None else nd.array(length)
    settings = {"num_layers": 2, "units": 8, "hidden_size": 16, "num_heads": 2, "max_length": 10}
    random = np.random.default_rng(0)
    inputs, memory = (nd.array(random.standard_normal((2, n, 8))) for n in (6, 7))
    head = nd.array(random.standard_normal((2, 6, 8)))

    def run(network, call, **options):
        net = network(**settings, **options)
        net.initialize()
        call(net, inputs)
        for name, p in net._collect_params_with_prefix().items():
            rs = np.random.RandomState(len(name))
            if p.grad_req != "null":
                p.set_data(nd.array(rs.uniform(-0.5, 0.5, p.shape)))
        x = inputs.copy()
        x.attach_grad()
        with autograd.record():
            outputs = call(net, x)[0]
            outputs.backward(head if outputs.shape == head.shape else head.transpose((1, 0, 2)))
        return outputs.asnumpy(), x.grad.asnumpy()

    def decode(net, x):
        return net(x, net.init_state_from_encoder(memory, None if length is None else length + 1), length)

    for network, call in (
        (nlp.model.TransformerEncoder, lambda net, x: net(x, None, length)),
        (nlp.model.BERTEncoder, lambda net, x: net(x.transpose((1, 0, 2)), None, length)),
        (nlp.model.TransformerDecoder, decode),
    ):
        for got, want in zip(run(network, call), run(network, call, output_attention=True), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_near_float32(dtype):
    words, lengths = nd.array(np.arange(12).reshape(2, 6)), nd.array([4, 6])
    small = {"units": 8, "hidden_size": 16, "num_heads": 2}
    networks = [
        (nlp.model.BERTEncoder(max_length=10, **small), lambda net, x: net(x.transpose((1, 0, 2)), None, lengths)[0]),
        (
            nlp.model.TransformerEncoder(max_length=10, output_attention=True, **small),
            lambda net, x: net(x, None, lengths)[0],
        ),
        (
            nlp.model.TransformerDecoder(max_length=10, **small),
            lambda net, x: net(x, net.init_state_from_encoder(x, lengths), lengths)[0],
        ),
        (nlp.model.GPT2Model(8, 30, 20, 2, 2), lambda net, x: net(words, net(words)[1])[0]),
        (nlp.model.XLNetModel(30, **small), lambda net, x: net(words, nd.zeros((2, 6)))[0]),
    ]
    for net, call in networks:
        net.initialize(Uniform(0.5))
        x = nd.array(np.random.RandomState(0).randn(2, 6, 8))
        want = call(net, x).asnumpy()
        net.cast(dtype)
        got = call(net, x.astype(dtype))
        assert got.dtype == x.astype(dtype).dtype
        error = np.abs(got.astype("float32").asnumpy() - want).max() / np.abs(want).max()
        assert error < {"float16": 0.01, "bfloat16": 0.05}[dtype], type(net)


def test_greedy_translation_agrees_with_the_whole_network():
    """Each word that a search of one beam finds is the best one after those before it."""
    vocab = nlp.Vocab({f"w{i}": 1 for i in range(20)})
    parts = nlp.model.get_transformer_encoder_decoder(2, 2, units=8, hidden_size=16)
    net = nlp.model.NMTModel(vocab, vocab, *parts, embed_size=8, prefix="transformer_")
    net.initialize(Uniform(1.0))
    source, length = nd.array(np.arange(10).reshape(2, 5)), nd.array([3, 5])
    samples, _, lengths = nlp.model.BeamSearchTranslator(net, max_length=6).translate(source, length)
    for i, (words, count) in enumerate(zip(samples[:, 0].asnumpy(), lengths[:, 0].asnumpy(), strict=True)):
        words = words[: int(count)]
        scores = net(source[i : i + 1], nd.array(words[None, :-1]), length[i : i + 1])[0][0]
        found = scores.asnumpy().argmax(-1)
        cut = len(words) - 1 if words[-1] == vocab[vocab.eos_token] and len(words) < 8 else len(words) - 2
        np.testing.assert_array_equal(found[:cut], words[1 : cut + 1])


def test_memory_takes_the_place_of_earlier_words():
    """XLNet's states after a text are those of its second half, read with the first half as memory."""
    net = nlp.model.XLNetModel(20, num_layers=1, units=8, hidden_size=16, num_heads=2, use_decoder=False)
    net.initialize(Uniform(0.5))
    words, types = nd.array(np.arange(12).reshape(2, 6)), nd.zeros((2, 6))
    whole, _ = net(words, types)
    _, memory = net(words[:, :3], types[:, :3], net.begin_mems(2, 3, words.context))
    half, _ = net(words[:, 3:], types[:, 3:], memory)
    np.testing.assert_allclose(half.asnumpy(), whole[:, 3:].asnumpy(), rtol=1e-4, atol=1e-5)


def test_adaptive_softmax_is_a_distribution():
    """The likelihoods of all words add up to 1."""
    net = nlp.model.AdaptiveLogSoftmaxWithLoss(12, 8, 8, [3, 7], div_val=2)
    net.initialize(Uniform(1.0))
    hidden = nd.array(np.random.RandomState(0).randn(1, 1, 8)).broadcast_to((1, 12, 8))
    losses = net(hidden, nd.array(np.arange(12.0).reshape(1, 12)))
    assert abs(np.exp(-losses.asnumpy()).sum() - 1) < 1e-5


def test_parser_learns_and_keeps_what_it_learned(tmp_path):
    class Vocabulary:
        ROOT, UNK, words_in_train, rel_size = 1, 2, 12, 4

        def get_word_embs(self, width):
            return np.random.RandomState(0).randn(12, width).astype("float32")

        def get_tag_embs(self, width):
            return np.random.RandomState(1).randn(5, width).astype("float32")

        def has_pret_embs(self):
            return False

    def parser():
        return nlp.model.BiaffineParser(Vocabulary(), 8, 4, 0, 1, 8, 0, 0, 8, 8, 0)

    words = np.array([[1, 1], [3, 8], [4, 9], [5, 10], [6, 0]])
    tags, heads = words % 5, np.array([[0, 0], [2, 0], [0, 1], [2, 2], [3, 0]])
    relations = np.where(heads == 0, 1, 2 + words % 2)  # 1 is the relation to the root, and its alone
    net = parser()
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    for _ in range(20):
        with autograd.record():
            *_, loss = net(words, tags, heads, relations)
        loss.backward()
        trainer.step(1)
    parses = net(words, tags)
    for (found, kinds), sentence in zip(parses, (0, 1), strict=True):
        np.testing.assert_array_equal(found, heads[1 : len(found) + 1, sentence])
        np.testing.assert_array_equal(kinds, relations[1 : len(found) + 1, sentence])
    net.save(str(tmp_path / "parser.params"))
    again = parser()
    again.load(str(tmp_path / "parser.params"))
    np.testing.assert_array_equal(again(words, tags)[0][0], parses[0][0])


def test_cache_prefers_what_followed_similar_states():
    """The mixture of Grave, Joulin and Usunier (2017), in float64."""
    lm = nlp.model.StandardRNN("lstm", 9, 6, 6, 1, dropout=0)
    net = nlp.model.train.CacheCell(lm, 9, window=4, theta=0.7, lambdas=0.3)
    net.initialize(Uniform(1.0))
    words = np.random.RandomState(0).randint(0, 9, (8, 1))
    inputs, target = nd.array(words[:-1]), nd.array(words[1:])
    got = net(inputs, target, None, None, net.begin_state(batch_size=1))[0].asnumpy()
    scores, _, encoded, _ = lm.run(nd, inputs)
    p = np.exp(scores.asnumpy()[:, 0].astype("float64"))
    p /= p.sum(-1, keepdims=True)
    h = encoded[-1].asnumpy()[:, 0].astype("float64")
    for i in range(7):
        if i > 4:
            weights = np.exp(0.7 * h[i - 4 : i] @ h[i])
            cache = np.bincount(words[i - 3 : i + 1, 0], weights / weights.sum(), 9)
            p[i] = 0.3 * cache + 0.7 * p[i]
        assert abs(got[i] - p[i, words[i + 1, 0]]) < 1e-5


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


def test_weights_of_all_heads_fit_a_network_without_them(tmp_path, monkeypatch):
    vocab = nlp.vocab.BERTVocab({"a": 1})
    small = {
        "num_layers": 1,
        "units": 8,
        "embed_size": 8,
        "hidden_size": 8,
        "num_heads": 2,
        "hparam_allow_override": True,
    }
    whole, _ = nlp.model.bert_12_768_12(vocab=vocab, **small)
    whole.initialize()
    whole(nd.zeros((1, 3)), nd.zeros((1, 3)), nd.array([3]), nd.zeros((1, 1)))
    whole.save_parameters(str(tmp_path / "bert.params"))
    monkeypatch.setattr(nlp.model.registry, "_weights", lambda *args: str(tmp_path / "bert.params"))
    net, _ = nlp.model.bert_12_768_12(vocab=vocab, pretrained=True, use_decoder=False, use_classifier=False, **small)
    got, want = (n.pooler.weight.data().asnumpy() for n in (net, whole))
    np.testing.assert_array_equal(got, want)
    names = nlp.model.BERTClassifier(net, dropout=0.0)._collect_params_with_prefix()
    assert "classifier.0.weight" in names


def test_an_exported_network_reads_the_same(tmp_path):
    encoder = nlp.model.BERTEncoder(units=8, hidden_size=16, num_heads=2, max_length=10)
    net = nlp.model.BERTModel(encoder, 30, 2, units=8, embed_size=8, use_decoder=False, use_classifier=False)
    net.initialize(Uniform(0.5))
    net.hybridize()
    inputs = nd.array(np.arange(12).reshape(2, 6)), nd.zeros((2, 6)), nd.array([4, 6])
    want = net(*inputs)
    symbol, params = net.export(str(tmp_path / "bert"))
    again = SymbolBlock.imports(symbol, ["data0", "data1", "data2"], params)
    for a, b in zip(again(*inputs), want, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)


def test_lengths_may_be_integers():
    """As the transforms of the data side give them."""
    words, lengths = nd.array(np.arange(12).reshape(2, 6)), nd.array([4, 6], dtype="int32")
    encoder = nlp.model.BERTEncoder(units=8, hidden_size=16, num_heads=2, max_length=10)
    bert = nlp.model.BERTModel(encoder, 30, 2, units=8, embed_size=8, use_decoder=False, use_classifier=False)
    vocab = nlp.Vocab({f"w{i}": 1 for i in range(26)})
    parts = nlp.model.get_gnmt_encoder_decoder(hidden_size=8)
    xlnet = nlp.model.XLNetModel(30, units=8, hidden_size=16, num_heads=2, use_decoder=False)
    for net, call in (
        (bert, lambda net, n: net(words, nd.zeros((2, 6)), n)[0]),
        (nlp.model.NMTModel(vocab, vocab, *parts, embed_size=8), lambda net, n: net(words, words, n, n)[0]),
        (nlp.model.XLNetClassifier(xlnet, units=8), lambda net, n: net(words, nd.zeros((2, 6)), n)),
        (nlp.model.FastTextClassificationModel(30, 8, 3), lambda net, n: net(words, n)),
    ):
        net.initialize(Uniform(0.5))
        got, want = call(net, lengths).asnumpy(), call(net, lengths.astype("float32")).asnumpy()
        np.testing.assert_array_equal(got, want)


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


@pytest.mark.parametrize("module", [nlp.model, nlp.model.train])
@pytest.mark.parametrize(
    "network, settings", [("AWDRNN", ("gru", 20, 6, 8, 2)), ("StandardRNN", ("lstm", 20, 6, 6, 2, 0.5, True))]
)
def test_language_models_hybridize_and_share_parameters(module, network, settings):
    class_ = getattr(module, network)
    net = class_(*settings)
    other = class_(*settings, params=net.collect_params())  # the decoder's bias, too
    net.initialize()
    words = nd.arange(12).reshape((4, 3))
    states = net.begin_state(batch_size=3)
    expected = other(words, states)
    net.hybridize()
    got = net(words, states)
    assert len(got) == len(expected)
    np.testing.assert_allclose(got[0].asnumpy(), expected[0].asnumpy(), rtol=1e-5, atol=1e-6)
    for a, b in zip(_flat(got[1]), _flat(expected[1]), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)


def _flat(states):
    return [array for s in states for array in _flat(s)] if isinstance(states, (list, tuple)) else [states]


def test_translation_trains_in_parallel():
    """The loss is that of the pieces that count, over the batch; float64 formula of smoothed cross-entropy."""
    vocab = nlp.Vocab(nlp.data.count_tokens("abcdef"))
    parts = nlp.model.transformer.get_transformer_encoder_decoder(
        num_layers=1, units=8, hidden_size=16, num_heads=2, dropout=0, max_src_length=10, max_tgt_length=10
    )
    net = nlp.model.NMTModel(vocab, vocab, *parts, embed_size=8)
    net.initialize(Uniform(0.5))
    words, lengths = nd.array([[4, 5, 6, 3, 1], [7, 8, 3, 1, 1]]), nd.array([4, 3])
    smoothing = nlp.loss.LabelSmoothing(epsilon=0.1, units=len(vocab))
    job = nlp.model.ParallelTransformer(net, smoothing, nlp.loss.MaskedSoftmaxCELoss(sparse_label=False), 10.0)
    parallel = nlp.utils.Parallel(1, job)
    parallel.put(((words, words, lengths, lengths), 6))
    loss = float(parallel.get().asscalar())
    scores = net(words, words[:, :-1], lengths, lengths - 1)[0].asnumpy().astype("float64")
    logarithms = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    expected = 0.0
    for row, length in ((0, 3), (1, 2)):
        for step in range(length):
            label = int(words[row, step + 1].asscalar())
            expected -= 0.9 * logarithms[row, step, label] + 0.1 * logarithms[row, step].mean()
    assert abs(loss - expected / 60) < 1e-5
    assert all(float(p.grad().norm().asscalar()) > 0 for p in net.collect_params(".*ffn_1_weight").values())


def test_transformer_encoders_take_no_masks_in_a_list():
    encoder = nlp.model.TransformerEncoder(num_layers=1, units=4, hidden_size=4, num_heads=2, max_length=3)
    encoder.initialize()
    x = nd.random.normal(shape=(1, 3, 4))
    np.testing.assert_array_equal(encoder(x, [])[0].asnumpy(), encoder(x)[0].asnumpy())
    with pytest.raises(NotImplementedError, match="multi_head"):  # the class of GluonNLP's error
        nlp.model.TransformerEncoder(attention_cell="nosuch")


def test_sampled_layers_show_themselves_as_in_gluonnlp():
    assert repr(nlp.model.NCEDense(10, 4, 5)) == "NCEDense(5 -> 10, with 4 samples)"
    sparse = "SparseISDense(5 -> 10, num_sampled = 4, remove_accidental_hits = True)"
    assert repr(nlp.model.SparseISDense(10, 4, 5)) == sparse


def test_nothing_of_xlnet_is_dropped_unless_asked_for():
    words, types = nd.array(np.arange(12).reshape(2, 6)), nd.zeros((2, 6))
    for dropped in ({}, {"dropout": 0.5}, {"attention_dropout": 0.5}):
        net = nlp.model.XLNetModel(20, num_layers=1, units=8, hidden_size=16, num_heads=2, **dropped)
        net.initialize(Uniform(0.5))
        want = net(words, types)[0].asnumpy()
        with autograd.train_mode():
            found = net(words, types)[0].asnumpy()
        assert np.allclose(found, want, rtol=1e-5, atol=1e-6) is not bool(dropped)

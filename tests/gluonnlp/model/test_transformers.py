"""Networks of transformers here and back: BERT, RoBERTa, DistilBERT, GPT-2 and XLNet with random numbers."""

import json

import numpy as np
import pytest

import gluonnlp as nlp
from core import nd
from core.base import MXNetError
from core.files import read_safetensors
from gluon.store import DownloadError
from tests.gluon.hub_server import NOWHERE

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24, "vocab_size": 40}
# type -> class there, its configuration
KINDS = {
    "bert": ("BertForPreTraining", {**SIZES, "max_position_embeddings": 20, "hidden_act": "gelu"}),
    "roberta": ("RobertaForMaskedLM", {**SIZES, "max_position_embeddings": 22, "pad_token_id": 1, "type_vocab_size": 1}),
    "distilbert": ("DistilBertModel", {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24, "vocab_size": 40,
                                       "max_position_embeddings": 20}),
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 20, "vocab_size": 40}),
    "xlnet": ("XLNetLMHeadModel", {"d_model": 16, "n_layer": 2, "n_head": 4, "d_inner": 24, "vocab_size": 40}),
}  # fmt: skip
WORDS = np.random.RandomState(0).randint(5, 40, (2, 9))


def texts(folder, kind):
    """The files of a tokenizer of forty words."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    if kind in ("bert", "distilbert"):
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = special + [chr(65 + i) for i in range(35)]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\nA B\n")
    if kind == "xlnet":
        spm = pytest.importorskip("sentencepiece")
        lines = iter([" ".join(chr(97 + (i * k) % 26) * 3 for i in range(9)) for k in range(1, 99)])
        with open(folder / "spiece.model", "wb") as file:
            spm.SentencePieceTrainer.train(
                sentence_iterator=lines, model_writer=file, vocab_size=40, hard_vocab_limit=False, minloglevel=2
            )


def network(kind):
    """A small network of ours."""
    if kind == "gpt2":
        return nlp.model.GPT2Model(vocab_size=40, num_layers=2, units=16, num_heads=4, max_length=20)
    if kind == "xlnet":
        return nlp.model.XLNetModel(
            vocab_size=40, num_layers=2, units=16, hidden_size=24, num_heads=4, activation="gelu"
        )
    encoder = nlp.model.BERTEncoder(
        num_layers=2, units=16, hidden_size=24, num_heads=4, max_length=20, activation="gelu"
    )
    class_ = {"bert": nlp.model.BERTModel, "roberta": nlp.model.RoBERTaModel, "distilbert": nlp.model.DistilBERTModel}[
        kind
    ]
    return class_(
        encoder, vocab_size=40, units=16, embed_size=16, **({"token_type_vocab_size": 2} if kind == "bert" else {})
    )


def scores(net, kind):
    words = nd.array(WORDS)
    if kind == "xlnet":
        return net(words, nd.zeros(WORDS.shape))[0].asnumpy()
    if kind == "gpt2":
        return net(words)[0].asnumpy()
    if kind == "distilbert":
        return net(words, nd.full((2,), 9)).asnumpy()
    if kind == "roberta":
        places = nd.array(np.tile(np.arange(9), (2, 1)))
        return net(words, nd.full((2,), 9), places)[1].asnumpy()
    return net(words, nd.zeros(WORDS.shape), nd.full((2,), 9))[0].asnumpy()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_comes_back_bit_for_bit(kind, tmp_path):
    net = network(kind)
    net.initialize()
    net(*([nd.array(WORDS), nd.zeros(WORDS.shape)] if kind in ("bert", "xlnet") else [nd.array(WORDS)]))
    texts(tmp_path, kind)
    nlp.model.save_huggingface(net, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["model_type"] == kind and config["vocab_size"] == 40
    back = nlp.model.load_huggingface(tmp_path)[0]
    ours, theirs = net._collect_params_with_prefix(), back._collect_params_with_prefix()
    assert ours.keys() == theirs.keys()
    for name, parameter in ours.items():
        np.testing.assert_array_equal(theirs[name].data().asnumpy(), parameter.data().asnumpy(), err_msg=name)
    assert read_safetensors(tmp_path / "model.safetensors")[1] == {"format": "pt"}


def test_words_are_written_too_and_other_networks_refused(tmp_path):
    net = network("bert")
    with pytest.raises(MXNetError, match="call the network once"):
        nlp.model.save_huggingface(net, tmp_path)
    net.initialize()
    vocab = nlp.vocab.BERTVocab({word: 1 for word in "ABC"})
    nlp.model.save_huggingface(net, tmp_path, vocab)
    assert (tmp_path / "vocab.txt").read_text().split("\n")[:-1] == vocab.idx_to_token
    with pytest.raises(MXNetError, match="a StandardRNN has no counterpart in transformers; there are"):
        nlp.model.save_huggingface(nlp.model.StandardRNN("lstm", 9, 4, 4, 1, 0, False), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_and_bits_against_transformers(kind, tmp_path):
    transformers = pytest.importorskip(
        "transformers", reason="transformers is not installed, whose networks are compared"
    )
    torch = pytest.importorskip("torch")
    class_, config = KINDS[kind]
    torch.manual_seed(0)
    class_ = getattr(transformers, class_)
    theirs = class_(class_.config_class(**config)).eval()
    with torch.no_grad():
        for name, value in theirs.named_parameters():
            value.normal_(float("norm" in name.lower() and name.endswith("weight")), 0.3)
        token_types = {"bert": "bert", "roberta": "roberta"}.get(kind)
        if token_types == "roberta":
            theirs.roberta.embeddings.token_type_embeddings.weight.zero_()
            theirs.roberta.embeddings.position_embeddings.weight[:2] = 0
    theirs.save_pretrained(tmp_path)
    texts(tmp_path, kind)
    net = nlp.model.load_huggingface(tmp_path, ignore_extra=kind == "roberta")[0]
    with torch.no_grad():
        output = theirs(torch.tensor(WORDS), output_hidden_states=True)
    want = output.logits if kind in ("gpt2", "xlnet", "roberta") else output.hidden_states[-1]
    got = scores(net, kind)
    assert np.abs(got - want.numpy()).max() <= 1e-4 * np.abs(want.numpy()).max()
    folder = tmp_path / "back"
    nlp.model.save_huggingface(net, folder)
    back = class_.from_pretrained(folder).state_dict()
    for name, value in theirs.state_dict().items():
        assert torch.equal(back[name], value), name


def test_published_networks_come_from_their_authors(hub_server, monkeypatch, tmp_path, capsys):
    """The server of the test of the hub, asked by name and in place of MXNet's."""
    net = network("gpt2")
    net.initialize()
    net(nd.array(WORDS))
    texts(tmp_path, "gpt2")
    nlp.model.save_huggingface(net, tmp_path)
    names = ("config.json", "model.safetensors", "vocab.json", "merges.txt")
    hub_server.files["openai-community/gpt2"] = {name: (tmp_path / name).read_bytes() for name in names}
    for source in (True, "hf://openai-community/gpt2", tmp_path):
        found, vocab = nlp.model.get_model("gpt2_117m", dataset_name="openai_webtext", pretrained=source)[:2]
        np.testing.assert_array_equal(found._embed.weight.data().asnumpy(), net._embed.weight.data().asnumpy())
        assert vocab["B"] == 6
    assert "hf://openai-community/gpt2" in capsys.readouterr().err
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    with pytest.raises(
        DownloadError, match=r"Tried: .*127\.0\.0\.1:9.*bert-base-uncased.*HF_ENDPOINT.*Or put config\.json"
    ):
        nlp.model.get_model("bert_12_768_12", dataset_name="book_corpus_wiki_en_uncased", pretrained=True)

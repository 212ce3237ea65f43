"""Tokenizers, vocabularies and vectors of words by name, from a hub on this machine."""

import json
import time

import numpy as np
import pytest

import gluonnlp as nlp
from core.base import MXNetError
from gluon.store import DownloadError
from gluonnlp.data import GPT2BPETokenizer, get_tokenizer, load_tokenizer
from gluonnlp.data.utils import _load_pretrained_vocab
from tests.gluon.hub_server import NOWHERE

PIECES = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nplay\n##ing\n##ed\nKeep\n"
BYTE_PAIRS = json.dumps(
    {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "l": 4, "o": 5, "w": 6, "lo": 7, "low": 8}
).encode()
VECTORS = "the 1 2 3\ncat 4 5 6.5\n"


@pytest.fixture
def server(hub_server):
    hub_server.files |= {
        "some/bert": {
            "vocab.txt": PIECES,
            "tokenizer_config.json": b'{"do_lower_case": false}',
            "weights.bin": b"x",
        },
        "some/roberta": {"vocab.json": BYTE_PAIRS, "merges.txt": b"#version: 0.2\nl o\nlo w\n"},
        "some/vectors": {"small.txt": VECTORS.encode(), "small.bin": word2vec()},
        "some/empty": {"README.md": b"nothing"},
        "openai-community/gpt2": {"merges.txt": "#version: 0.2\n\u0120 t\n\u0120t h\n".encode()},
    }
    return hub_server


def word2vec():
    rows = {"the": [1, 2, 3], "cat": [4, 5, 6.5]}
    return b"2 3\n" + b"".join(w.encode() + b" " + np.array(v, "<f4").tobytes() + b"\n" for w, v in rows.items())


def test_word_pieces(server):
    tokenizer, vocab = load_tokenizer("hf://some/bert")
    assert tokenizer("Keep playing") == ["Keep", "play", "##ing"]
    assert vocab[["[CLS]", "##ed"]] == [2, 7]
    assert not [path for path in server.requests if "weights" in str(path)]
    assert get_tokenizer("bert_12_768_12", "hf://some/bert")("played") == ["play", "##ed"]
    assert _load_pretrained_vocab("hf://some/bert", None)["play"] == 5


def test_byte_pairs(server):
    tokenizer, vocab = load_tokenizer("hf://some/roberta@main")
    assert tokenizer("low") == ["low"] and vocab["low"] == 8
    assert (vocab.bos_token, vocab.eos_token, vocab.padding_token) == ("<s>", "</s>", "<pad>")


def test_a_folder(tmp_path):
    (tmp_path / "vocab.txt").write_bytes(PIECES)
    tokenizer, _ = load_tokenizer(tmp_path)
    assert tokenizer("PLAYING") == ["play", "##ing"]  # lower case unless it is said
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"type": "Unigram", "vocab": []}}))
    with pytest.raises(MXNetError, match="a tokenizer of Unigram; known are WordPiece"):
        load_tokenizer(tmp_path)
    with pytest.raises(MXNetError, match="no folder, and no hf://"):
        load_tokenizer(tmp_path / "nothing")


def test_vectors_of_words(server):
    for table in (
        nlp.embedding.create("glove", source="hf://some/vectors:small.txt"),
        nlp.embedding.create("word2vec", source="hf://some/vectors:small.bin"),
        nlp.embedding.TokenEmbedding.from_file("hf://some/vectors:small.txt"),
    ):
        assert table["cat"].asnumpy().tolist() == [4, 5, 6.5] and "the" in table
        assert table["dog"].asnumpy().tolist() == [0, 0, 0]
    with pytest.raises(MXNetError, match="names no file of vectors"):
        nlp.embedding.create("glove", source="hf://some/vectors")
    with pytest.raises(KeyError, match=r"no source 'glove\.7B'"):
        nlp.embedding.create("glove", source="glove.7B")


def test_byte_pairs_of_gpt2_come_from_their_authors_where_the_server_is_gone(server, capsys):
    assert GPT2BPETokenizer()(" the") == ["\u0120th", "e"]
    assert "hf://openai-community/gpt2:merges.txt" in capsys.readouterr().err


def test_what_is_not_there_is_named(server):
    with pytest.raises(DownloadError, match=r"some/empty has no tokenizer: none of tokenizer\.json"):
        load_tokenizer("hf://some/empty")
    with pytest.raises(DownloadError, match=r"some/nothing"):
        load_tokenizer("hf://some/nothing")
    with pytest.raises(DownloadError, match=r"other\.txt"):
        nlp.embedding.create("glove", source="hf://some/vectors:other.txt")


def test_a_server_that_answers_without_the_file_is_no_dead_end(server, monkeypatch):
    monkeypatch.setenv("MXNET_GLUON_REPO", server.url)
    with pytest.raises(DownloadError, match=r"404.*Put the file there, or name a mirror with MXNET_GLUON_REPO"):
        nlp.embedding.create("glove", source="glove.6B.50d")


def test_with_no_network_it_ends_soon_and_says_what_helps(server, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    begun = time.monotonic()
    for what, facts in (
        (GPT2BPETokenizer, (NOWHERE, "gpt2", "MXNET_GLUON_REPO", str(tmp_path / "home"))),
        (lambda: load_tokenizer("hf://some/bert"), (NOWHERE, "some/bert", "HF_ENDPOINT")),
        (lambda: nlp.embedding.create("glove", source="glove.6B.50d"), (NOWHERE, "glove.6B.50d", "MXNET_GLUON_REPO")),
        (
            lambda: _load_pretrained_vocab("book_corpus_wiki_en_uncased", str(tmp_path)),
            (NOWHERE, "book_corpus_wiki_en_uncased", "MXNET_GLUON_REPO"),
        ),
    ):
        with pytest.raises(DownloadError) as error:
            what()
        for fact in facts:
            assert fact in str(error.value)
    assert time.monotonic() - begun < 10

"""Vocabularies: places of tokens, JSON of all versions, subwords against published hashes."""

import json
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gluonnlp as nlp
from core import nd

WORDS = st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=3), max_size=40)


@settings(max_examples=50, deadline=None)
@given(WORDS, st.integers(0, 5), st.integers(1, 3), st.sampled_from([None, "<unk>", "a"]))
def test_places_follow_frequency_then_token(words, max_size, min_freq, unknown):
    counter = nlp.data.count_tokens(words)
    vocab = nlp.Vocab(counter, max_size=max_size, min_freq=min_freq, unknown_token=unknown)
    special = ([unknown] if unknown else []) + ["<pad>", "<bos>", "<eos>"]
    wanted = sorted((w for w in counter if w not in special and counter[w] >= min_freq), key=lambda w: (-counter[w], w))
    assert vocab.idx_to_token == special + (wanted[:max_size] if max_size else wanted)
    assert [vocab[t] for t in vocab.idx_to_token] == list(range(len(vocab)))
    assert list(vocab) == vocab.idx_to_token
    again = nlp.Vocab.from_json(vocab.to_json())
    assert (again.idx_to_token, again.token_to_idx) == (vocab.idx_to_token, vocab.token_to_idx)
    assert again.reserved_tokens == vocab.reserved_tokens and again.padding_token == "<pad>"


def test_unknown_tokens():
    assert nlp.Vocab({"a": 1})["zebra"] == 0
    assert nlp.Vocab({"a": 1}, token_to_idx={"<unk>": 4, "a": 0})["zebra"] == 4
    with pytest.raises(KeyError):
        nlp.Vocab({"a": 1}, unknown_token=None)["zebra"]


def test_looking_up_adds_nothing():
    vocab = nlp.Vocab({"a": 1})
    vocab[["zebra", "a"]]
    assert "zebra" not in vocab and len(vocab.token_to_idx) == len(vocab)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"reserved_tokens": ["<unk>"]}, "unknown"),
        ({"reserved_tokens": ["x", "x"]}, "repeats"),
        ({"min_freq": 0}, "min_freq"),
        ({"token_to_idx": {"nope": 1}}, "nope"),
        ({"token_to_idx": {"a": 1, "<pad>": 1}}, "same index"),
        ({"token_to_idx": {"a": 9}}, "outside"),
        ({"colour": "red"}, "_token"),
    ],
)
def test_errors_say_what_was_wrong(arguments, word):
    with pytest.raises(ValueError, match=word):
        nlp.Vocab({"a": 1}, **arguments)


def test_json_of_versions_before_0_7():
    """Special tokens at the top level, and one token at two indices."""
    old = {
        "idx_to_token": ["<unk>", "<p>", "<p>", "a"],
        "token_to_idx": {"<unk>": 0, "<p>": 2, "a": 3},
        "reserved_tokens": ["<p>", "<p>"],
        "unknown_token": "<unk>",
        "padding_token": "<p>",
        "bos_token": None,
        "eos_token": "<p>",
    }
    with pytest.warns(UserWarning, match="several indices"):
        vocab = nlp.Vocab.from_json(json.dumps(old))
    assert (vocab.idx_to_token, vocab["<p>"], vocab["zebra"]) == (old["idx_to_token"], 2, 0)
    old["token_to_idx"]["a"] = 1
    with pytest.raises(ValueError, match="contradict"):
        nlp.Vocab.from_json(json.dumps(old))


def test_attached_embedding_follows_the_vocabulary():
    vocab = nlp.Vocab({"cat": 2, "sat": 1}, padding_token=None, bos_token=None, eos_token=None)
    make = nlp.embedding.TokenEmbedding
    first = make(idx_to_token=["<unk>", "cat"], idx_to_vec=nd.array([[9, 9], [1, 2]]))
    second = make(idx_to_token=["<unk>", "sat"], idx_to_vec=nd.array([[-1], [5]]))
    vocab.set_embedding(first, second)
    np.testing.assert_array_equal(vocab.embedding.idx_to_vec.asnumpy(), [[9, 9, -1], [1, 2, -1], [9, 9, 5]])
    with pytest.raises(ValueError, match="unknown"):
        vocab.set_embedding(first, make(unknown_token=None, idx_to_token=["a"], idx_to_vec=nd.array([[1]])))


def test_fnv_hash():
    """Test vectors of the 32-bit FNV-1a hash (Fowler, Noll and Vo, draft-eastlake-fnv)."""
    fnv = nlp.vocab.NGramHashes.fasttext_hash_asbytes
    assert [fnv(s) for s in ("", "a", "foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]


def test_ngrams_are_those_of_fasttext():
    """fastText's n-grams of "where" with n = 3: <wh, whe, her, ere, re> (Bojanowski et al., 2017)."""
    subwords = nlp.vocab.NGramHashes(2**31, ngrams=(3,))
    fnv = nlp.vocab.NGramHashes.fasttext_hash_asbytes
    assert subwords(["where"]) == [[fnv(s) % 2**31 for s in ("<wh", "whe", "her", "ere", "re>")]]


def test_elmo_rows_have_fifty_numbers():
    rows = nlp.vocab.ELMoCharVocab()(["<bos>", "é", "x" * 60])
    assert [len(row) for row in rows] == [50] * 3
    assert rows[0][:4] == [258, 256, 259, 260]
    assert rows[1][:5] == [258, *"é".encode(), 259, 260]
    assert rows[2] == [258, *[120] * 48, 259]


def test_a_list_of_tokens_is_no_counter():
    with pytest.raises(ValueError, match=r"counter maps tokens to their frequencies, .* given list"):
        nlp.Vocab(["a", "b"])


def test_elmo_spells_words_alone():
    with pytest.raises(TypeError):
        nlp.vocab.ELMoCharVocab()[3]


@pytest.mark.parametrize("counts", [{"a": 1, 'quote " \\ \n': 2, "ü€😀": 3}, {1: 2, 2: 1}])
def test_the_text_is_that_of_the_json_module(counts):
    vocab = nlp.Vocab(counts, unknown_token=None, padding_token=None, bos_token=None, eos_token=None)
    text = vocab.to_json()
    assert text == json.dumps(json.loads(text))
    assert json.loads(text)["token_to_idx"] == {str(token): i for i, token in enumerate(vocab.idx_to_token)}

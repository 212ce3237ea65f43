"""Classifiers of one's own texts, from a table to a folder."""

import csv
import json

import numpy as np
import pytest

import gluonnlp as nlp
from core import nd, random
from core.base import MXNetError
from gluon.finetune import Recipe
from gluonnlp.finetune import Reader, TextClassifier, default_recipe, read_table, train_classifier

THINGS = {"fruit": "apple pear plum cherry", "tool": "hammer saw drill wrench"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Sentences about fruits and tools, with commas, quotation marks and lines of more than one row."""
    path, numbers = tmp_path_factory.mktemp("texts") / "things.csv", np.random.RandomState(0)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["number", "what", "sentence"])
        for k in range(80):
            label = sorted(THINGS)[k % 2]
            one, other = numbers.choice(THINGS[label].split(), 2)
            rows.writerow([k, label, f'I have a "{one}",\nand you <b>have</b> a {other}.'])
    return path


@pytest.fixture(scope="module")
def trained(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    recipe = default_recipe("textcnn", epochs=4, rate=0.005)
    return out, *train_classifier(table, "sentence", "what", folder=out, recipe=recipe)


def test_a_table_becomes_a_classifier(trained):
    out, classifier, result = trained
    assert classifier.classes == ("fruit", "tool") and result.accuracy > 0.9
    again = TextClassifier.load(out)
    texts = ['I have a "pear", and you have a plum.', "I have a saw, and you have a drill.", "?"]
    assert [row[0][0] for row in again.predict(texts)][:2] == ["fruit", "tool"]
    np.testing.assert_allclose(again.probabilities(texts), classifier.probabilities(texts), atol=1e-6)
    assert "&lt;b&gt;" in classifier.shown("<b>")
    assert json.loads((out / "report.json").read_text())["validation"]["samples"] == 16


def test_a_bert_is_fine_tuned_and_loaded_again(table, tmp_path):
    """A tiny BERT in a folder as transformers writes it; the saved one gives the same for texts of any length."""
    words = '[PAD] [UNK] [CLS] [SEP] [MASK] i have a and you , . " < > / b'.split() + " ".join(THINGS.values()).split()
    vocab = nlp.vocab.BERTVocab({w: 1 for w in words}, padding_token="[PAD]", unknown_token="[UNK]", cls_token="[CLS]",
                                sep_token="[SEP]", mask_token="[MASK]", bos_token=None, eos_token=None)  # fmt: skip
    random.seed(0)
    encoder = nlp.model.BERTEncoder(num_layers=1, units=16, hidden_size=32, num_heads=2, max_length=40)
    bert = nlp.model.BERTModel(encoder, len(vocab), 2, 16, 16, use_pooler=True, use_decoder=False, use_classifier=False)
    bert.initialize()
    ids = np.arange(8, dtype="int32")[None]
    bert(nd.array(ids, dtype="int32"), nd.zeros((1, 8), dtype="int32"), nd.array([8]))
    nlp.model.save_huggingface(bert, tmp_path / "start", vocab)
    recipe = default_recipe("bert_12_768_12", epochs=6, rate=0.01, batch_size=4)
    classifier, result = train_classifier(
        table, "sentence", "what", "bert_12_768_12", tmp_path / "out", pretrained=tmp_path / "start", recipe=recipe
    )
    assert result.accuracy > 0.9
    again = TextClassifier.load(tmp_path / "out")
    texts = ["pear", "i have a hammer and a saw and a drill and a wrench , and you have a saw ."]
    np.testing.assert_allclose(again.probabilities(texts), classifier.probabilities(texts), atol=1e-6)
    alone = np.concatenate([again.probabilities([text]) for text in texts])
    np.testing.assert_allclose(again.probabilities(texts), alone, atol=1e-5)
    with pytest.raises(MXNetError, match="has a BERTModel, which is no 'distilbert_6_768_12'"):
        train_classifier(table, "sentence", "what", "distilbert_6_768_12", pretrained=tmp_path / "start")


def test_byte_pairs_and_word_pieces_are_read_with_their_marks():
    vocab = nlp.Vocab({"a": 1, "b": 1, "ab": 1}, bos_token="<s>", eos_token="</s>", padding_token="<pad>")
    reader = Reader("byte pairs", vocab, 4, merges=["a b"])
    assert [vocab.idx_to_token[i] for i in reader.numbers("ababab")] == ["<s>", "ab", "ab", "</s>"]
    padded, lengths, labels = reader.batch([(reader.numbers("ab"), 1.0), (reader.numbers("abab"), 0.0)])
    assert padded.shape == (2, 8) and lengths.asnumpy().tolist() == [3, 4] and labels.asnumpy().tolist() == [1, 0]
    with pytest.raises(MXNetError, match="read as words, word pieces or byte pairs"):
        Reader("letters", vocab, 4)


def test_tables_are_read_by_names_of_columns(tmp_path):
    path = tmp_path / "mails.tsv"
    path.write_text("body\tkind\nhello, you\ta\n\tb\nbye\t b \nlost\t\n", encoding="utf-8-sig")
    assert read_table(path, "body", "kind") == [("hello, you", "a"), ("bye", "b")]
    with pytest.raises(MXNetError, match="no column 'text'; its columns are body, kind"):
        read_table(path, "text", "kind")
    with pytest.raises(MXNetError, match="there is no file"):
        read_table(tmp_path / "nothing.csv", "a", "b")
    path.write_bytes(b"body\tkind\n\xff\xfe\ta\n")
    with pytest.raises(MXNetError, match="the table is damaged"):
        read_table(path, "body", "kind")


def test_other_networks_are_refused(table, tmp_path):
    with pytest.raises(MXNetError, match="by textcnn and by networks called bert_"):
        train_classifier(table, "sentence", "what", "gpt2_117m")
    with pytest.raises(MXNetError, match="no folder of transformers, and no hf://"):
        train_classifier(table, "sentence", "what", "bert_12_768_12", pretrained=str(tmp_path / "x"))
    assert default_recipe("textcnn").body_rate == 1 and isinstance(default_recipe("bert_12_768_12"), Recipe)

"""Tags of words: chunks as in the CoNLL shared tasks, pieces of words, and the programs for slots and names."""

import gzip

import numpy as np
import pytest

from gluonnlp.data import BERTTokenizer
from scripts.bert import tagging
from scripts.intent_cls_slot_labeling import finetune_icsl
from scripts.ner import finetune_bert, predict_ner, tagger

# By hand, from the rules of the evaluation of CoNLL-2000: tags, chunks.
CHUNKS = [
    ("B-A I-A O", {("A", 0, 2)}),
    ("B-A B-A I-A", {("A", 0, 1), ("A", 1, 3)}),
    ("I-A I-A I-B", {("A", 0, 2), ("B", 2, 3)}),
    ("O I-A B-A", {("A", 1, 2), ("A", 2, 3)}),
    ("B-A E-A I-A S-B", {("A", 0, 2), ("A", 2, 3), ("B", 3, 4)}),
    ("NOUN NOUN O", {("NOUN", 0, 1), ("NOUN", 1, 2)}),
    ("O O", set()),
]


@pytest.mark.parametrize(("tags", "chunks"), CHUNKS)
def test_chunks(tags, chunks):
    assert tagging.chunks(tags.split()) == chunks


def test_quality_by_hand():
    wanted = [["B-A", "I-A", "O"], ["B-B", "O"]]
    found = [["B-A", "O", "O"], ["B-B"]]  # the last word was cut off
    assert tagging.quality(found, wanted) == {"tag_accuracy": 4 / 5, "f1": 1 / 2}
    assert tagging.quality([["O"]], [["O"]]) == {"tag_accuracy": 1.0, "f1": 1.0}


def test_tags_are_at_first_pieces(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##able", "to", "##day"]))
    tokenizer = BERTTokenizer.from_file(str(path))
    words = ["unable", "\u200d", "today", "to"]
    sentence = tagging.sentence(words, tokenizer, 20)
    assert tokenizer.vocab.to_tokens(sentence.tokens) == "[CLS] un ##able [UNK] to ##day to [SEP]".split()
    assert sentence.firsts == [1, 3, 4, 6]
    tags, mask = tagging.placed(sentence, [4, 5, 6, 7])
    assert tags.tolist() == [0, 4, 0, 5, 6, 0, 7, 0] and mask.tolist() == [0, 1, 0, 1, 1, 0, 1, 0]
    # The last word does not fit.
    assert tagging.sentence(words, tokenizer, 7).firsts == [1, 3, 4]


def test_intents_and_slots_are_learned_and_kept(data, programs, minilm, tmp_path):
    arguments = ["--data-dir", data, "--dataset", "atis", "--checkpoint", minilm, "--samples", 12, "--batch_size", 4]
    arguments += ["--lr", 5e-4, "--epochs", 2]
    final = programs(finetune_icsl.main, *arguments, "--output_dir", tmp_path / "model")
    rows = programs.record()["epochs"]
    assert rows[1]["loss"] < rows[0]["loss"]
    assert (tmp_path / "model" / "model.json").exists()
    assert 0 <= final["test_slot_f1"] <= 1 and 0 <= final["test_intent_accuracy"] <= 1


def test_a_tagger_is_learned_and_tags_files(data, programs, minilm, tmp_path, capsys):
    path = treebank(data, tmp_path / "ewt.txt", 24)
    arguments = [f"--{part}-path={path}" for part in ("train", "dev", "test")]
    arguments += ["--checkpoint", minilm, "--batch-size", 4, "--learning-rate", 5e-4, "--num-epochs", 2]
    final = programs(finetune_bert.main, *arguments, "--output_dir", tmp_path / "model")
    assert final["test_tag_accuracy"] > 0.4  # of 17 parts of speech
    capsys.readouterr()
    again = predict_ner.main(["--output_dir", str(tmp_path / "model"), "--test-path", str(path)])
    assert again["f1"] == pytest.approx(final["test_f1"])
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines() if line]
    sentences = tagger.read(path)
    assert [row[:2] for row in rows] == [[w, t] for words, tags in sentences for w, t in zip(words, tags, strict=True)]
    assert np.mean([wanted == found for _, wanted, found in rows]) == pytest.approx(final["test_tag_accuracy"])


def treebank(data, path, count: int):
    """The first sentences of the English Web Treebank as a file of words and parts of speech."""
    with gzip.open(data / "ud_english_ewt" / "en_ewt-ud-train.conllu.gz", "rt", encoding="utf8") as lines:
        sentences = lines.read().split("\n\n")[:count]
    rows = [
        "\n".join(f"{c[1]} - {c[3]}" for c in (row.split("\t") for row in s.splitlines()) if c[0].isdigit())
        for s in sentences
    ]
    path.write_text("-DOCSTART- - O\n\n" + "\n\n".join(rows) + "\n", encoding="utf8")
    return path

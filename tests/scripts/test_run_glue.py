"""XLNet on sentences of the Stanford sentiment treebank, small and from random weights."""

import io

import pytest

from core import cpu
from scripts.language_model.run_glue import main
from scripts.language_model.xlnet_classifier import XLNetTextClassifier, vocabulary


@pytest.fixture
def pieces(data, tmp_path):
    """A sentencepiece model with XLNet's marks, learned from the treebank."""
    sentencepiece = pytest.importorskip("sentencepiece")
    lines = (data / "sst" / "stsa.binary.dev").read_text(encoding="utf8").splitlines()
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=300, num_threads=1, minloglevel=2,
        unk_id=0, bos_id=1, eos_id=2, control_symbols=["<cls>", "<sep>", "<pad>", "<mask>"],
    )  # fmt: skip
    path = tmp_path / "spiece.model"
    path.write_bytes(model.getvalue())
    return path


def test_an_xlnet_is_tuned_kept_and_tested_again(data, programs, pieces, tmp_path):
    arguments = ["--task_name", "SST", "--data-dir", data / "sst", "--sentencepiece", pieces, "--random_weights"]
    arguments += ["--num_layers", 1, "--units", 16, "--hidden_size", 16, "--num_heads", 2, "--samples", 24]
    arguments += ["--batch_size", 8, "--max_len", 24, "--epochs", 2, "--lr", 0.01, "--output_dir", tmp_path / "model"]
    final = programs(main, *arguments, into="whole")
    whole = programs.record("whole")
    assert 0 <= final["test_accuracy"] <= 1 and whole["epochs"][1]["loss"] < 1
    programs.interrupted(main, *arguments, rows=2, into="again")
    programs(main, *arguments, "--resume", into="again")
    assert programs.record("again") == whole
    again = main([*map(str, arguments), "--only_inference"])
    assert again["test_accuracy"] == pytest.approx(final["test_accuracy"])
    classifier = XLNetTextClassifier.load(tmp_path / "model", cpu())
    tokens, length, segments = classifier.inputs([("a fine film", "it is " * 40)])[0]
    marks = classifier.vocab.to_tokens(tokens)
    assert length == len(tokens) == len(segments) == 24 and marks[-2:] == ["<sep>", "<cls>"]
    assert segments == [0] * (marks.index("<sep>") + 1) + [1] * (23 - marks.index("<sep>"))


def test_pieces_are_at_their_own_places(pieces):
    vocab = vocabulary(pieces)
    assert vocab.to_tokens(list(range(7))) == ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"]
    assert len(vocab) == 300

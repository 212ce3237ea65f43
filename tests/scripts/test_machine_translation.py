"""The Transformer on captions: pieces, buckets, training, translation."""

import pytest

import gluonnlp as nlp
from scripts.machine_translation import parallel_text, train_gnmt, train_transformer
from scripts.machine_translation.experiment import bleu


def test_buckets_keep_padding_under_five_percent(data):
    text = nlp.data.Multi30k("train", "de", "en", root=str(data / "multi30k"))
    samples = [(range(len(source.split()) + 1), range(len(target.split()) + 2)) for source, target in text]
    sampler = parallel_text.sampler(samples, 1024, shuffle=True)
    assert parallel_text.padding_share(samples, sampler) < 0.05
    assert sorted(i for batch in sampler for i in batch) == list(range(29000))


TRANSFORMER = ["--num_units", 16, "--hidden_size", 16, "--num_layers", 1, "--num_heads", 2, "--warmup_steps", 2]
GNMT = ["--num_hidden", 8, "--batch_size", 10, "--num_buckets", 2, "--bucket_ratio", 0.5, "--lr", 0.01]


AVERAGED = ["--average_checkpoint", "--num_averages", 2, "--log_interval", 1]


@pytest.mark.parametrize(
    ("main", "more"),
    [
        (train_transformer.main, TRANSFORMER),
        (train_transformer.main, [*TRANSFORMER, *AVERAGED]),
        (train_gnmt.main, [*GNMT, "--validate_on_test_data", 1]),
    ],
)
def test_a_run_translates_and_goes_on_to_the_same_numbers(data, programs, main, more):
    for package in ("sentencepiece", "sacrebleu"):
        pytest.importorskip(package)
    arguments = ["--data-dir", data / "multi30k", "--samples", 60, "--vocab_size", 120, "--epochs", 2, *more]
    arguments += ["--max_len", 60, "--beam_size", 2]
    programs(main, *arguments, into="whole")
    whole = programs.record("whole")
    assert whole["epochs"][1]["dev_perplexity"] < whole["epochs"][0]["dev_perplexity"]
    assert 0 <= whole["final"]["bleu"] < 100
    if main is train_gnmt.main:
        assert whole["epochs"][-1]["test_bleu"] == whole["final"]["bleu"]
    programs.interrupted(main, *arguments, rows=2, into="again")
    programs(main, *arguments, "--resume", into="again")
    assert programs.record("again") == whole


def test_pieces_come_together_to_the_text(data, tmp_path):
    pytest.importorskip("sentencepiece")
    text = nlp.data.Multi30k("val", "de", "en", root=str(data / "multi30k"))
    sentences = [sentence for pair in list(text)[:200] for sentence in pair]
    subwords = parallel_text.Subwords(sentences, 500, tmp_path / "pieces.model")
    for sentence in sentences[:50]:
        numbers = subwords.numbers(sentence, bos=True)
        assert subwords.text([*numbers, -1, -1]) == " ".join(sentence.split())


def test_bleu_of_the_reference_itself_is_100():
    pytest.importorskip("sacrebleu")
    assert bleu(["A man is riding a bike ."], ["A man is riding a bike ."]) == pytest.approx(100)

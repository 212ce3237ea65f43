"""The word language model program on the first words of real texts."""

import json
import math

import pytest

from scripts.language_model import cache_language_model, large_word_language_model
from scripts.language_model.text import corpora
from scripts.language_model.word_language_model import main
from scripts.text_generation import sequence_sampling

TINY = ["--words", 800, "--emsize", 8, "--nhid", 8, "--batch_size", 4, "--bptt", 10, "--epochs", 2]


@pytest.mark.parametrize("more", [["--dataset", "sherlockholmes"], ["--weight_dropout", 0.5, "--tied"]])
def test_runs_go_on_to_the_same_perplexity(data, programs, more):
    arguments = ["--data-dir", data, *TINY, *more, "--output_dir", programs.folder / "model"]
    final = programs(main, *arguments, into="whole")
    whole = programs.record("whole")
    # Better than words at random, from the first epoch on.
    assert 1 < final["test_perplexity"] < whole["vocabulary"]
    assert final["dev_perplexity"] == whole["epochs"][-1]["dev_perplexity"]
    assert whole["epochs"][1]["loss"] < whole["epochs"][0]["loss"] < math.log(whole["vocabulary"]) + 0.1
    programs.interrupted(main, *arguments, rows=2, into="again")
    programs(main, *arguments, "--resume", into="again")
    assert programs.record("again") == whole


def test_a_kept_model_is_read_with_a_cache_and_writes(data, programs, tmp_path, capsys):
    arguments = ["--data-dir", data, *TINY, "--epochs", 1, "--output_dir", tmp_path / "model"]
    trained = programs(main, *arguments)
    model = ["--output_dir", str(tmp_path / "model")]
    settings = ["--data-dir", str(data), "--words", "400", "--window", "50", "--lambdas", "0.3", "--bptt", "64", *model]
    found = cache_language_model.main([*settings, "--run", "cache", "--log-dir", str(tmp_path / "logs")])
    # Texts repeat their words, which an untrained model does not know.
    assert found["test_cache_perplexity"] < 0.9 * found["test_perplexity"]
    assert found["test_perplexity"] < 2 * trained["test_perplexity"]
    assert json.loads((tmp_path / "logs" / "language_model" / "cache.json").read_text())["final"] == found
    text = ["--bos", "the first of", "--max-length", "9", "--beam-size", "4", *model]
    drawn = sequence_sampling.main(["random-sample", "--temperature", "0.7", *text])
    assert drawn == sequence_sampling.main(["random-sample", "--temperature", "0.7", *text])
    best = sequence_sampling.main(["beam-search", "--alpha", "0", *text])
    for texts in (drawn, best):
        assert len(texts) == 4 and all(t.startswith("the first of ") and len(t.split()) <= 10 for t, _ in texts)
        assert [score for _, score in texts] == sorted((score for _, score in texts), reverse=True)
    # What beam search finds is likelier than what is drawn, as long as both are as long.
    assert best[0][1] > drawn[0][1]


def test_a_large_vocabulary_is_learned_from_drawn_words(data, programs, tmp_path):
    arguments = ["--data-dir", data, "--dataset", "sherlockholmes", "--words", 1500, "--emsize", 8, "--nhid", 12]
    arguments += ["--nproj", 8, "--k", 40, "--batch-size", 4, "--bptt", 10, "--epochs", 3, "--lr", 0.5, "--eps", 0.01]
    arguments += ["--output_dir", tmp_path / "model"]
    final = programs(large_word_language_model.main, *arguments, into="whole")
    whole = programs.record("whole")
    assert 1 < final["dev_perplexity"] < 0.9 * whole["vocabulary"]
    assert whole["epochs"][2]["sampled_loss"] < whole["epochs"][0]["sampled_loss"]
    programs.interrupted(large_word_language_model.main, *arguments, rows=2, into="again")
    programs(large_word_language_model.main, *arguments, "--resume", into="again")
    assert programs.record("again") == whole
    best = min(row["dev_perplexity"] for row in whole["epochs"])
    again = large_word_language_model.main([*map(str, arguments), "--eval-only"])
    assert again["dev_perplexity"] == pytest.approx(best, rel=1e-5)


def test_the_parts_are_those_that_are_there(data):
    parts, files = corpora(data, "wikitext-2")
    assert [f.name for f in files] == ["wiki.valid.tokens", "wiki.test.tokens"]
    # The published counts, less the lines without words.
    assert len(parts["test"]) == 245569 - empty_lines(data, "wiki.test.tokens")
    assert len(parts["train"]) + len(parts["dev"]) == 217646 - empty_lines(data, "wiki.valid.tokens")
    parts, _ = corpora(data, "sherlockholmes")
    assert set(parts) == {"train", "dev", "test"}


def empty_lines(data, name: str) -> int:
    return sum(not line.strip() for line in (data / "wikitext-2" / name).read_text(encoding="utf8").splitlines())

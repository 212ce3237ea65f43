"""The word language model program on the first words of real texts."""

import math

import pytest

from scripts.language_model.word_language_model import corpora, main

TINY = ["--words", 800, "--emsize", 8, "--nhid", 8, "--batch_size", 4, "--bptt", 10, "--epochs", 2]


@pytest.mark.parametrize("more", [["--dataset", "sherlockholmes"], ["--weight_dropout", 0.5, "--tied"]])
def test_runs_go_on_to_the_same_perplexity(data, programs, more):
    arguments = ["--data-dir", data, *TINY, *more]
    final = programs(main, *arguments, into="whole")
    whole = programs.record("whole")
    # Better than words at random, from the first epoch on.
    assert 1 < final["test_perplexity"] < whole["vocabulary"]
    assert final["dev_perplexity"] == whole["epochs"][-1]["dev_perplexity"]
    assert whole["epochs"][1]["loss"] < whole["epochs"][0]["loss"] < math.log(whole["vocabulary"]) + 0.1
    programs.interrupted(main, *arguments, rows=2, into="again")
    programs(main, *arguments, "--resume", into="again")
    assert programs.record("again") == whole


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

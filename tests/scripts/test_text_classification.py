"""fastText's classifier on the first lines of real files, with two classes and with six."""

import pytest

from scripts.text_classification.fasttext_word_ngram import grams, main, read


@pytest.mark.parametrize("more", [["--no-hybridize"], ["--ngrams", 2]])
def test_questions_are_learned_and_a_run_goes_on(data, programs, tmp_path, more):
    arguments = ["--input", data / "trec" / "TREC.train.all", "--validation", data / "trec" / "TREC.test.all"]
    arguments += ["--encoding", "latin1", "--samples", 300, "--epochs", 3, "--emsize", 8, *more]
    final = programs(main, *arguments, "--output", tmp_path / "model", into="whole")
    assert final["validation_accuracy"] > 0.5  # the largest class has 28 % of the test questions
    assert (tmp_path / "model" / "net.params").exists()
    programs.interrupted(main, *arguments, rows=2, into="again")
    programs(main, *arguments, "--resume", into="again")
    assert programs.record("again") == programs.record("whole")


def test_two_classes_have_one_score(programs, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("__label__bad dull film\n__label__good moving film\n\n__label__bad\n" * 20)
    assert len(read(texts, "utf8", 1)) == 40
    final = programs(main, "--input", texts, "--validation", texts, "--epochs", 5, "--emsize", 4)
    assert final["validation_accuracy"] == 1


def test_word_ngrams():
    assert grams(["a", "b", "c"], 2) == ["a", "b", "c", "a b", "b c"]
    assert grams(["a"], 3) == ["a"]

"""Inference on sentences made by a rule, in either format of files."""

import random

import pytest

from scripts.natural_language_inference import dataset
from scripts.natural_language_inference.main import main

ANIMALS, DEEDS = ("dog", "cat", "horse", "bird"), ("sleeps", "runs", "eats", "sings")


def lines(count: int, seed: int) -> list[tuple[str, str, str]]:
    """A deed again, another deed of the same animal, and the deed of another animal."""
    rng, found = random.Random(seed), []
    for _ in range(count):
        (animal, other), (deed, another) = rng.sample(ANIMALS, 2), rng.sample(DEEDS, 2)
        said = f"The {animal} {deed} ."
        second = {"entailment": (animal, deed), "contradiction": (animal, another), "neutral": (other, deed)}
        label = rng.choice(list(second))
        found.append((said, "The {} {} .".format(*second[label]), label))
    return found


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / name for name in ("train.txt", "test.txt")]
    for path, count, seed in zip(paths, (240, 60), (0, 1), strict=True):
        path.write_text("".join("\t".join(line) + "\n" for line in lines(count, seed)))
    return [f"--train-file={paths[0]}", f"--test-file={paths[1]}"]


def test_files_of_snli_and_of_three_columns(tmp_path):
    path = tmp_path / "snli.txt"
    head = "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence1"
    rows = ["entailment\t( ( A man ) sleeps )\t( Someone sleeps )\t(ROOT x)\tA man sleeps", "-\t( a )\t( b )\tx\ty"]
    path.write_text("\n".join([head, *rows]) + "\n")
    assert dataset.read(path, None) == [(["a", "man", "sleeps"], ["someone", "sleeps"], 2)]
    path.write_text('A "man"\tsleeps\tneutral\nx\ty\tcontradiction\n')
    assert dataset.read(path, 1) == [(["a", '"man"'], ["sleeps"], 0)]
    path.write_text("A man\tsleeps\n")
    with pytest.raises(SystemExit, match="has 2 columns"):
        dataset.read(path, None)


@pytest.mark.parametrize(
    "more",
    [["--model", "da", "--intra-attention", "--optimizer", "adam"], ["--model", "esim", "--optimizer", "adam"]],
)
def test_a_rule_is_learned_and_the_network_kept(programs, files, tmp_path, more):
    arguments = [*files, *more, "--embedding-size", 16, "--hidden-size", 16, "--lr", 0.01, "--init-scale", 0.3]
    arguments += ["--epochs", 12, "--output-dir", tmp_path / "model"]
    final = programs(main, *arguments, into="whole")
    whole = programs.record("whole")
    assert final["test_accuracy"] > 0.6  # of three labels
    programs.interrupted(main, *arguments, rows=2, into="again")
    programs(main, *arguments, "--resume", into="again")
    assert programs.record("again") == whole
    judged = main([*map(str, files), "--model", "da", "--mode", "test", "--model-dir", str(tmp_path / "model")])
    assert judged == final


def test_vectors_of_a_file_are_kept_as_they_are(programs, files, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("dog 1 2 3\nruns 4 5 6\n")
    arguments = [*files, "--model", "da", "--embedding", vectors, "--fix-embedding", "--hidden-size", 8]
    programs(main, *arguments, "--epochs", 1, "--output-dir", tmp_path / "model")
    from scripts.common.kept import kept
    from scripts.natural_language_inference.main import network

    settings, vocab, parameters = kept(tmp_path / "model")
    net = network(len(vocab), **settings)
    net.load_parameters(parameters)
    assert net.word_emb.weight.data()[vocab["dog"]].asnumpy().tolist() == [1, 2, 3]

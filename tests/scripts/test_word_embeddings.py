"""Word vectors: what is counted and drawn, and the programs on small texts."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

import gluonnlp as nlp
from scripts.word_embeddings import cooccur, data, evaluate_pretrained, train_glove, train_sg_cbow
from scripts.word_embeddings.evaluation import ranks
from scripts.word_embeddings.model import Subwords

JUDGED = ["--similarity-datasets", "WordSim353", "--analogy-datasets"]


@pytest.fixture
def text(tmp_path):
    """Two kinds of sentences, whose words are near words of their own kind alone."""
    words = [["cat", "dog", "horse", "cow"], ["bread", "wine", "cake", "milk"]]
    rng = np.random.RandomState(0)
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(rng.choice(words[i % 2], 8)) for i in range(300)) + "\n")
    return path


def test_pairs_against_counting():
    texts = [np.array([0, 1, 2, 1]), np.array([2, 2])]
    row, col, counts = cooccur.pairs(texts, 3, window=2)
    wanted = np.zeros((3, 3))
    for numbers in texts:
        for i, a in enumerate(numbers):
            for j, b in enumerate(numbers):
                wanted[a, b] += 1 / abs(i - j) if 0 < abs(i - j) <= 2 else 0
    found = np.zeros((3, 3))
    found[row, col] = counts
    np.testing.assert_allclose(found, wanted)


def test_frequent_words_are_passed_over(monkeypatch):
    np.random.seed(0)
    texts, counts = [np.array([0] * 9 + [1])] * 2000, np.array([18000.0, 2000.0])
    kept = np.concatenate(data.subsampled(texts, counts, 0.025))
    # sqrt(0.025 / 0.9) and sqrt(0.025 / 0.1) stay, but for the sentences that are left with one word.
    assert (kept == 0).mean() == pytest.approx(9 * 0.1667 / (9 * 0.1667 + 0.5), abs=0.03)
    assert data.subsampled(texts, counts, 0) is texts


def test_ranks_as_scipy():
    rng = np.random.RandomState(0)
    x, y = rng.randint(0, 9, 40), rng.standard_normal(40)
    assert np.corrcoef(ranks(x), ranks(y))[0, 1] == pytest.approx(spearmanr(x, y).statistic)


def test_inputs_are_means_of_words_and_ngrams():
    vocab = nlp.Vocab({"ab": 2, "abc": 1}, unknown_token=None, padding_token=None, bos_token=None, eos_token=None)
    subwords = Subwords(vocab, [3], 50)
    matrix = subwords.inputs(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0]), 2).asnumpy()
    assert matrix.shape == (2, 52)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-6)
    # <ab> has the n-grams <ab and ab>, <abc> has <ab, abc and bc>.
    assert matrix[1, 1] == 0.25 and matrix[0, 0] == pytest.approx(0.5 / 3) and (matrix[0] > 0).sum() == 6


@pytest.mark.parametrize(
    "more", [["--model", "skipgram", "--ngram-buckets", 0], ["--model", "cbow", "--ngram-buckets", 60]]
)
def test_words_of_a_kind_get_similar_vectors(programs, text, tmp_path, data, more):
    arguments = ["--data", text, "--emsize", 8, "--epochs", 3, "--frequent-token-subsampling", 0, "--batch-size", 64]
    arguments += ["--window", 2, *more, "--lr", 0.2, "--eval-dir", data, *JUDGED]
    programs(train_sg_cbow.main, *arguments, "--output", tmp_path / "v.npz", into="whole")
    whole = programs.record("whole")
    assert whole["epochs"][-1]["loss"] < whole["epochs"][0]["loss"]
    assert kinds_are_apart(tmp_path / "v.npz")
    programs.interrupted(train_sg_cbow.main, *arguments, "--output", tmp_path / "w.npz", rows=2, into="again")
    programs(train_sg_cbow.main, *arguments, "--output", tmp_path / "w.npz", "--resume", into="again")
    assert programs.record("again") == whole


def test_the_toy_is_the_first_sentence_and_analogies_can_be_left_out(monkeypatch):
    monkeypatch.setattr(nlp.data, "Text8", lambda: [["a", "b", "a"], ["c"]])
    args = train_sg_cbow.parse_args(["--data", "toy", "--model", "CBOW", "--no-eval-analogy"])
    assert data.sentences(args) == [["a", "b", "a"]]
    assert args.model == "cbow" and args.analogy_datasets == []


def test_glove_from_counts(programs, text, tmp_path, data):
    counts, vocab = tmp_path / "counts.npz", tmp_path / "vocab.txt"
    cooccur.main(["--data", str(text), "--window", "3", "--output", str(counts), "--vocab", str(vocab)])
    assert sum(int(line.split()[1]) for line in vocab.read_text().splitlines()) == 300 * 8
    arguments = [counts, vocab, "--emsize", 4, "--epochs", 30, "--batch-size", 16, "--eval-dir", data, *JUDGED]
    programs(train_glove.main, *arguments, "--output", tmp_path / "v.npz")
    rows = programs.record()["epochs"]
    assert rows[-1]["loss"] < 0.2 * rows[0]["loss"]
    assert kinds_are_apart(tmp_path / "v.npz")


def test_vectors_are_judged(tmp_path, data, capsys):
    """Vectors that answer every question they are asked; where no word is known, there is no score."""
    judged = list(nlp.data.WordSim353(root=str(data / "word_similarity")))
    score = {word: i for i, word in enumerate(sorted({w for pair in judged for w in pair[:2]}))}
    embedding = nlp.embedding.TokenEmbedding(
        unknown_token=None, idx_to_token=list(score), idx_to_vec=nlp_vectors(len(score))
    )
    embedding.serialize(str(tmp_path / "v.npz"))
    arguments = ["--embedding-path", str(tmp_path / "v.npz"), "--eval-dir", str(data), "--output"]
    rows = evaluate_pretrained.main([*arguments, str(tmp_path / "rows.json")])
    assert json.loads((tmp_path / "rows.json").read_text()) == rows
    by_name = {row["dataset"]: row for row in rows}
    assert by_name["WordSim353"]["known"] == by_name["WordSim353"]["questions"] == len(judged)
    vectors = embedding.idx_to_vec.asnumpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = [vectors[score[a]] @ vectors[score[b]] for a, b, _ in judged]
    assert by_name["WordSim353"]["correlation"] == pytest.approx(
        spearmanr(found, [s for *_, s in judged]).statistic, abs=1e-3
    )
    assert by_name["SimVerb3500"]["known"] < 3500
    assert "GoogleAnalogyTestSet" in capsys.readouterr().out


def kinds_are_apart(path) -> bool:
    """Whether words are nearer to those of their own kind."""
    embedding = nlp.embedding.TokenEmbedding.deserialize(str(path))
    vectors = embedding[["cat", "dog", "horse", "cow", "bread", "wine", "cake", "milk"]].asnumpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = vectors @ vectors.T
    return likeness[:4, :4].mean() > likeness[:4, 4:].mean() + 0.2


def nlp_vectors(count: int):
    from core import nd

    return nd.array(np.random.RandomState(1).standard_normal((count, 5)))

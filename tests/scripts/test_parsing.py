"""The dependency parser: files of trees, batches, learning on real sentences, and what is kept."""

import gzip

import numpy as np
import pytest

from scripts.parsing import dep_parser, parse
from scripts.parsing.treebank import Batches, ParserVocabulary, Sentence, read

SMALL = ["--lstm_layers", 1, "--lstm_hiddens", 32, "--word_dims", 16, "--tag_dims", 16, "--mlp_arc_size", 32]
SMALL += ["--mlp_rel_size", 16, "--train_batch_size", 200, "--num_buckets_train", 4, "--learning_rate", 0.01]


@pytest.fixture
def treebank(data, tmp_path):
    """The path of the first sentences of the English Web Treebank."""
    path = tmp_path / "ewt.conllu"
    with gzip.open(data / "ud_english_ewt" / "en_ewt-ud-train.conllu.gz", "rt", encoding="utf8") as lines:
        path.write_text("\n\n".join(lines.read().split("\n\n")[:30]) + "\n\n", encoding="utf8")
    return path


def test_files_of_trees(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(
        "# text = vámonos\n1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_\n"
        "2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_\n\n1\tyes\t_\tINTJ\t_\t0\troot\t_\n"
    )
    assert read(path) == [
        Sentence(["vamos", "nos"], ["VERB", "PRON"], [0, 1], ["root", "obj"]),
        Sentence(["yes"], ["INTJ"], [0], ["root"]),
    ]
    path.write_text("1\tyes\tINTJ\n")
    with pytest.raises(SystemExit, match="has 3 columns"):
        read(path)


def test_numbers_and_batches_hold_every_sentence_once(treebank):
    sentences = read(treebank)
    vocab = ParserVocabulary.of(sentences, min_occur_count=1)
    samples = [vocab.numbers(sentence) for sentence in sentences]
    assert vocab.words.to_tokens([0, 1, 2]) == ["<pad>", "<root>", "<unk>"] and vocab.relations[1] == "root"
    assert (samples[0][0] == [1, 1, 0, 1]).all() and samples[0][1:, 2].tolist() == sentences[0].heads
    assert [vocab.relations[i] for i in samples[0][1:, 3]] == sentences[0].relations
    batches = Batches(samples, 4, 150, shuffle=True)
    seen = {}
    for places, numbers in batches:
        for column, place in enumerate(places):
            rows = numbers[:, column]
            np.testing.assert_array_equal(rows[: len(samples[place])], samples[place])
            assert not rows[len(samples[place]) :].any()
            seen[place] = seen.get(place, 0) + 1
    assert seen == dict.fromkeys(range(len(samples)), 1) and len(batches) == sum(1 for _ in batches)


def test_a_parser_learns_and_is_kept(programs, treebank, tmp_path, capsys):
    files = [f"--{part}_file={treebank}" for part in ("train", "dev", "test")]
    arguments = [*files, *SMALL, "--epochs", 3, "--output_dir", tmp_path / "model"]
    final = programs(dep_parser.main, *arguments, into="whole")
    whole = programs.record("whole")
    rows = whole["epochs"]
    assert rows[2]["loss"] < rows[0]["loss"] and rows[2]["dev_las"] > rows[0]["dev_las"]
    assert final["test_uas"] > 0.15 and final["test_las"] <= final["test_uas"]
    programs.interrupted(dep_parser.main, *arguments, rows=2, into="again")
    programs(dep_parser.main, *arguments, "--resume", into="again")
    assert programs.record("again") == whole
    capsys.readouterr()
    model = ["--output_dir", str(tmp_path / "model")]
    assert parse.main(["--test_file", str(treebank), *model]) == pytest.approx(
        {name.removeprefix("test_"): value for name, value in final.items()}
    )
    out = capsys.readouterr().out
    (tmp_path / "found.conll").write_text(out, encoding="utf8")
    assert [s.words for s in read(tmp_path / "found.conll")] == [s.words for s in read(treebank)]
    parse.main(["--sentence", "This/PRON works/VERB ./PUNCT", *model])
    heads = [int(line.split("\t")[6]) for line in capsys.readouterr().out.splitlines() if line]
    assert len(heads) == 3 and heads.count(0) == 1
    with pytest.raises(SystemExit, match="works"):
        parse.main(["--sentence", "works", *model])

"""Data sets: published counts on real files, their formats on small ones, checksums, and errors offline."""

import gzip
import hashlib
import json
import tarfile
import zipfile

import numpy as np
import pytest

import gluonnlp as nlp
from core.base import MXNetError
from core.files.archives import Archive
from gluonnlp import published

D = nlp.data

# Name, arguments, folder of the shared data, published number of samples, first sample (or None).
REAL = [
    ("TREC", {"segment": "train"}, "trec", 5452, ["How did serfdom develop in and then leave Russia ?", 0]),
    ("TREC", {"segment": "test"}, "trec", 500, ["How far is it from Denver to Aspen ?", 5]),
    ("MR", {}, "mr", 10662, None),
    ("SUBJ", {}, "subj", 10000, None),
    ("CR", {}, "cr", 3775, None),
    ("MPQA", {}, "mpqa", 10606, None),
    ("SST_2", {"segment": "dev"}, "sst", 872, ["one long string of cliches .", 0]),
    ("SST_2", {"segment": "test"}, "sst", 1821, None),
    ("SST_1", {"segment": "dev"}, "sst", 1101, None),
    ("SST_1", {"segment": "train"}, "sst", 156817, ["the", 2]),
    ("SST_2", {"segment": "train"}, "sst", 76961, None),
    ("GlueCoLA", {"segment": "train"}, "cola", 8551, None),
    ("GlueCoLA", {"segment": "dev"}, "cola", 1043, ["The sailors rode the breeze clear of the rocks.", "1"]),
    ("ATISDataset", {"segment": "train"}, "atis", 4478, None),
    ("ATISDataset", {"segment": "dev"}, "atis", 500, None),
    ("ATISDataset", {"segment": "test"}, "atis", 893, None),
    ("SNIPSDataset", {"segment": "train"}, "snips", 13084, None),
    ("SNIPSDataset", {"segment": "dev"}, "snips", 700, None),
    ("WikiText2", {"segment": "val"}, "wikitext-2", 216347, "="),
    ("WikiText2", {"segment": "val", "flatten": False}, "wikitext-2", 2461, ["=", "Homarus", "gammarus", "=", "<eos>"]),
    ("WikiText2", {"segment": "val", "flatten": False, "skip_empty": False}, "wikitext-2", 3760, ["<eos>"]),
    ("WikiText2", {"segment": "test", "skip_empty": False}, "wikitext-2", 245569, "<eos>"),
    ("WordSim353", {"segment": "similarity"}, "word_similarity", 203, None),
    ("WordSim353", {"segment": "relatedness"}, "word_similarity", 252, None),
    ("MEN", {"segment": "full"}, "word_similarity", 3000, ["sun", "sunlight", 50.0]),
    ("RadinskyMTurk", {}, "word_similarity", 287, None),
    ("RareWords", {}, "word_similarity", 2034, None),
    ("SimLex999", {}, "word_similarity", 999, ["old", "new", 1.58]),
    ("SimVerb3500", {}, "word_similarity", 3500, ["take", "remove", 6.81]),
    ("YangPowersVerb130", {}, "word_similarity", 130, ["brag", "boast", 4.0]),
    ("GoogleAnalogyTestSet", {}, "word_analogy", 19544, ["athens", "greece", "baghdad", "iraq"]),
    ("GoogleAnalogyTestSet", {"group": "syntactic"}, "word_analogy", 10675, None),
    ("GoogleAnalogyTestSet", {"category": "family", "lowercase": False}, "word_analogy", 506, None),
    ("Multi30k", {"segment": "train"}, "multi30k", 29000, None),
    ("Multi30k", {"segment": ["val", "test_2016_flickr"], "src_lang": "cs", "tgt_lang": "fr"}, "multi30k", 2014, None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "folder", "count", "first"), REAL)
def test_real_data(data, name, arguments, folder, count, first):
    dataset = getattr(D, name)(**arguments, root=str(data / folder))
    assert len(dataset) == count
    if first is not None:
        # WikiText's first line is empty apart from a blank.
        assert (first if name != "WikiText2" or first != ["<eos>"] else ["<eos>"]) == dataset[0]


def test_intents_and_slots(data):
    dataset = D.ATISDataset("test", root=str(data / "atis"))
    for words, tags, intents in dataset:
        assert len(words) == len(tags) and intents.dtype == np.int32 and len(intents) >= 1
    flight_and_fare = next(names for _, _, names in dataset if len(names) == 2)
    assert dataset.intent_vocab.to_tokens(flight_and_fare.tolist()) == ["atis_flight", "atis_airfare"]
    assert dataset.slot_vocab["O"] == 0


def test_every_word_has_its_own_slot(data):
    """The released sentences have two blanks where others were left out, their tags do not."""
    found = list(zip(*D.SNIPSDataset("dev", root=str(data / "snips")), strict=True))
    assert all(len(words) == len(tags) and all(words) for words, tags in zip(*found[:2], strict=True))
    words, tags = next((w, t) for w, t in zip(*found[:2], strict=True) if w[:3] == ["to", "the", "travelling"])
    assert words[3:8] == ["playlist", "please", "add", "this", "david"] and tags[7:] == [
        "B-artist",
        "I-artist",
        "B-music_item",
    ]


# --------------------------------------------------------------- formats, on small files

TSV = {
    "GlueSST2": ("train", "sentence\tlabel\nfine film\t1\n", ["fine film", "1"]),
    "GlueSTSB": ("dev", "h\n" + "\t".join("0123456") + "\tone\ttwo\t3.5\n", ["one", "two", "3.5"]),
    "GlueRTE": ("test", "index\ts1\ts2\n0\tone\ttwo\n", ["one", "two"]),
    "GlueQNLI": ("train", "index\tq\ts\tlabel\n0\twhy\tso\tentailment\n", ["why", "so", "entailment"]),
    "GlueWNLI": ("dev", "index\ts1\ts2\tlabel\n0\tone\ttwo\t1\n", ["one", "two", "1"]),
    "GlueCoLA": ("train", "gj04\t1\t\tOne more.\n", ["One more.", "1"]),
    "GlueMNLI": ("dev_matched", "h\n" + "\t".join("01234567") + "\tp\th\tx\tx\tx\tx\tx\tneutral\n", ["p", "h", "neutral"]),
}  # fmt: skip


@pytest.fixture
def as_they_are(monkeypatch):
    """Reads files in `root` whatever their checksum."""
    monkeypatch.setenv("GLUONNLP_VERIFY", "0")
    monkeypatch.setenv("MXNET_OFFLINE", "1")


@pytest.mark.parametrize("name", TSV)
def test_glue_files(tmp_path, as_they_are, name):
    segment, text, sample = TSV[name]
    (tmp_path / f"{segment}.tsv").write_text(text)
    assert list(getattr(D, name)(segment, root=str(tmp_path))) == [sample]


def test_broken_questions_are_left_out(tmp_path, as_they_are):
    (tmp_path / "train.tsv").write_text("h\n1\t2\t3\twhy\twhat for\t1\nbroken\t2\n")
    with pytest.warns(UserWarning, match="1 samples lack"):
        assert list(D.GlueQQP(root=str(tmp_path))) == [["why", "what for", "1"]]
    (tmp_path / "train.tsv").write_text("sentence\tlabel\nno label\n")
    with pytest.raises(IndexError, match="no label"):
        D.GlueSST2(root=str(tmp_path))


def test_paraphrases_are_split_by_the_published_ids(tmp_path, as_they_are):
    rows = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t10\t11\tOne .\tUno .\n0\t12\t13\tTwo .\tDue .\n"
    (tmp_path / "msr_paraphrase_train.txt").write_text(rows, encoding="utf8")
    (tmp_path / "msr_paraphrase_test.txt").write_text(rows, encoding="utf8")
    (tmp_path / "dev_ids.tsv").write_text("12\t13\n")
    assert list(D.GlueMRPC("train", str(tmp_path))) == [["One .", "Uno .", "1"]]
    assert list(D.GlueMRPC("dev", str(tmp_path))) == [["Two .", "Due .", "0"]]
    assert list(D.GlueMRPC("test", str(tmp_path))) == [["One .", "Uno ."], ["Two .", "Due ."]]


def test_super_glue_lines(tmp_path, as_they_are):
    (tmp_path / "val.jsonl").write_text('{"premise": "p", "hypothesis": "h", "label": true, "idx": 0}\n')
    assert D.SuperGlueCB("val", str(tmp_path))[0] == {"premise": "p", "hypothesis": "h", "label": True, "idx": 0}
    text = "<b>Sent 1: </b>One.<br><b>Sent 2: </b>Two.<br>"
    (tmp_path / "train.jsonl").write_text(json.dumps({"idx": 0, "paragraph": {"text": text, "questions": [1]}}) + "\n")
    assert D.SuperGlueMultiRC("train", str(tmp_path))[0] == {"text": ["One.", "Two."], "questions": [1]}
    (tmp_path / "AX-b.jsonl").write_text('{"sentence1": "s"}\n')
    assert D.SuperGlueAXb(str(tmp_path))[0]["sentence1"] == "s"


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_squad_records(tmp_path, as_they_are, version):
    question = {"id": "q1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 4}]}
    if version == "2.0":
        question["is_impossible"] = False
    paragraph = {"context": "Yes Ann did.", "qas": [question]}
    content = {"version": version, "data": [{"title": "t", "paragraphs": [paragraph]}]}
    (tmp_path / f"dev-v{version}.json").write_text(json.dumps(content))
    record = (0, "q1", "Who?", "Yes Ann did.", ["Ann"], [4]) + ((False,) if version == "2.0" else ())
    assert list(D.SQuAD("dev", version, str(tmp_path))) == [record]


def test_phrases_of_the_treebank(tmp_path):
    trees = tmp_path / "trees" / "train.txt"
    trees.parent.mkdir()
    trees.write_text("(4 (2 (2 A) (2 Film)) (3 fine))\n(0 (3 a) (1 bore))\n")
    (tmp_path / "stsa.fine.dev").write_text("1 a bore\n")
    fine = [["a", 2], ["film", 2], ["a film", 2], ["fine", 3], ["a film fine", 4], ["bore", 1], ["a bore", 0]]
    assert list(D.SST_1("train", root=str(tmp_path))) == fine
    assert list(D.SST_2("train", root=str(tmp_path))) == [["fine", 1], ["a film fine", 1], ["bore", 0], ["a bore", 0]]
    assert list(D.SST_1("dev", root=str(tmp_path))) == [["a bore", 1]]
    for broken in ["(4 (2 a)\n", "(2 a))\n"]:
        trees.write_text(broken)
        with pytest.raises(ValueError, match="line 1"):
            D.SST_1("train", root=str(tmp_path))
    trees.unlink()
    (tmp_path / "stsa.fine.train").write_text("3 fine\n")
    assert list(D.SST_1("train", root=str(tmp_path))) == [["fine", 3]]


def test_sentiment_json(tmp_path, as_they_are):
    (tmp_path / "all-7606efec.json").write_text('[["good", 1], ["bad", 0]]')
    assert list(D.MR(root=str(tmp_path))) == [["good", 1], ["bad", 0]]
    (tmp_path / "unsup.json").write_text('[["so so", 0]]')
    assert list(D.IMDB("unsup", str(tmp_path))) == [["so so", 0]]


def test_conll_columns(tmp_path, as_they_are):
    with gzip.open(tmp_path / "train.txt.gz", "wt") as file:
        file.write("He PRP B-NP\nran VBD B-VP\n\nGo VB B-VP\n")
    assert list(D.CoNLL2000(root=str(tmp_path))) == [
        [["He", "ran"], ["PRP", "VBD"], ["B-NP", "B-VP"]],
        [["Go"], ["VB"], ["B-VP"]],
    ]
    (tmp_path / "testa2").write_text("He PRP B-NP X\n")
    assert D.CoNLL2001(2, "testa", str(tmp_path))[0] == [["He"], ["PRP"], ["B-NP"], ["X"]]
    with gzip.open(tmp_path / "esp.testb.gz", "wt", encoding="latin1") as file:
        file.write("España B-LOC\n")
    assert D.CoNLL2002("esp", "testb", str(tmp_path))[0] == [["España"], ["B-LOC"]]
    for name, row in (("words", "He"), ("synt", "PRP B-NP *"), ("ne", "O"), ("props", "- *")):
        with gzip.open(tmp_path / f"{name}.dev{'.pred' if name in ('synt', 'ne') else ''}.gz", "wt") as file:
            file.write(row + "\n")
    assert D.CoNLL2004("dev", str(tmp_path))[0] == [["He"], ["PRP"], ["B-NP"], ["*"], ["O"], ["-"], ["*"]]


def test_universal_dependencies(data, tmp_path, as_they_are):
    name = published.dataset_file("UniversalDependencies21", "dev_en").name
    with gzip.open(data / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz") as file:
        (tmp_path / name).write_bytes(file.read())
    dataset = D.UniversalDependencies21("en", "dev", str(tmp_path))
    assert len(dataset) == 2001 and {len(sentence) for sentence in dataset} == {10}
    with pytest.raises(ValueError, match="segment='train'"):
        D.UniversalDependencies21("ar_pud", "train", str(tmp_path))


# Name, arguments, archive, the file in it, its text, the first sample.
VERB = "word1\tword2" + "\tx" * 10 + "\t0.35\n"
PARAGRAPH = {"title": "t", "paragraphs": [{"context": "Ann is here.", "qas": []}]}
PARAGRAPH["paragraphs"][0]["qas"] = [
    {"id": "q", "question": "Who?", "is_impossible": False, "answers": [{"text": "Ann", "answer_start": 0}]}
]
ARCHIVES = [
    ("WikiText103", {"segment": "test"}, "wikitext-103-v1.zip", "wikitext-103/wiki.test.tokens", " = A = \n", "="),
    ("WikiText103Raw", {"segment": "val"}, "wikitext-103-raw-v1.zip", "wikitext-103-raw/wiki.valid.raw", "Aé\n", ord("A")),
    ("WikiText2", {"segment": "test"}, "wikitext-2-v1.zip", "wikitext-2/wiki.test.tokens", " = A = \n", "="),
    ("SQuAD", {"segment": "train", "version": "2.0"}, "train-v2.0.zip", "train-v2.0.json",
     json.dumps({"data": [PARAGRAPH]}), (0, "q", "Who?", "Ann is here.", ["Ann"], [0], False)),
    ("SuperGlueRTE", {"segment": "train"}, "train-", "train.jsonl", '{"premise": "p", "label": "entailment"}', {"premise": "p", "label": "entailment"}),
    ("SuperGlueWSC", {"segment": "val"}, "val-", "val.jsonl", '{"text": "t", "target": {"span1_index": 0}}', {"text": "t", "target": {"span1_index": 0}}),
    ("SuperGlueWiC", {"segment": "test"}, "test-", "test.jsonl", '{"word": "place", "idx": 0}', {"word": "place", "idx": 0}),
    ("SuperGlueCOPA", {"segment": "val"}, "val-", "val.jsonl", '{"premise": "p", "choice1": "a"}', {"premise": "p", "choice1": "a"}),
    ("SuperGlueBoolQ", {"segment": "train"}, "train-", "train.jsonl", '{"question": "q", "label": true}', {"question": "q", "label": True}),
    ("SuperGlueReCoRD", {"segment": "test"}, "test-", "test.jsonl", '{"passage": {"text": "t"}, "qas": []}', {"passage": {"text": "t"}, "qas": []}),
    ("SuperGlueAXg", {}, "AX-g-", "AX-g.jsonl", '{"premise": "p", "hypothesis": "h"}', {"premise": "p", "hypothesis": "h"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "archive", "member", "text", "first"), ARCHIVES)
def test_original_archives_are_read(tmp_path, as_they_are, name, arguments, archive, member, text, first):
    if archive.endswith("-"):  # names of these archives end with a part of their sums
        parts = (published.dataset_file(name, part) for part in published.dataset_parts(name))
        archive = next(f.archive for f in parts if f.archive.rpartition("/")[2].startswith(archive)).rpartition("/")[2]
    with zipfile.ZipFile(tmp_path / archive, "w") as file:
        file.writestr(member, text)
    assert getattr(D, name)(**arguments, root=str(tmp_path))[0] == first


def test_an_archive_has_both_languages(tmp_path, as_they_are):
    with zipfile.ZipFile(tmp_path / "iwslt15.zip", "w") as file:
        file.writestr("iwslt2015/train.en", "one\ntwo\n")
        file.writestr("iwslt2015/train.vi", "một\nhai\n")
    pairs = D.IWSLT2015("train", src_lang="en", tgt_lang="vi", root=str(tmp_path))
    assert list(pairs) == [("one", "một"), ("two", "hai")]
    for name, archive, part in (
        ("WMT2014BPE", "wmt2014bpe_de_en-ace8f41c.zip", "newstest2013.tok.bpe.32000"),
        ("WMT2016BPE", "", "newstest2013.tok.bpe.32000"),
    ):
        root = tmp_path / name
        file = published.dataset_file(name, "newstest2013_en")
        assert file.name == f"{part}.en" and (not archive or file.archive.endswith(archive))
        (root / "de_en").mkdir(parents=True)
        with zipfile.ZipFile(root / "de_en" / file.archive.rpartition("/")[2], "w") as made:
            made.writestr(f"{part}.en", "a t@@ ea\n")
            made.writestr(f"{part}.de", "ein T@@ ee\n")
        assert list(getattr(D, name)("newstest2013", root=str(root))) == [("a t@@ ea", "ein T@@ ee")]


def test_every_dataset_is_read_here(request):
    """No class of GluonNLP 0.10 is left out of this file."""
    text = request.path.read_text(encoding="utf8")
    # Data sets are listed by their names in lower case.
    missing = [
        name
        for name in D.list_datasets()
        if f"{name}(" not in text.lower() and f'("{name}"' not in text.lower() and f'"{name}":' not in text.lower()
    ]
    assert missing == []


def test_translation_pairs(tmp_path, as_they_are):
    (tmp_path / "tst2012.en").write_text("one\n\nthree\n")
    (tmp_path / "tst2012.vi").write_text("một\nhai\nba\n", encoding="utf8")
    assert list(D.IWSLT2015("val", root=str(tmp_path))) == [("one", "một"), ("three", "ba")]
    assert D.IWSLT2015("val", "vi", "en", root=str(tmp_path))[0] == ("một", "one")
    (tmp_path / "vocab.vi.json").write_text(nlp.Vocab({"một": 1}).to_json())
    assert "một" in D.IWSLT2015("val", root=str(tmp_path)).tgt_vocab
    (tmp_path / "de_en").mkdir()
    for direction, (en, de) in {
        "": ("src.en", "ref.de"),
        "r": ("ref.en", "src.de"),
        "f": ("full.en", "full.de"),
    }.items():
        (tmp_path / "de_en" / f"newstest2014.{en}").write_text(f"en{direction}\n")
        (tmp_path / "de_en" / f"newstest2014.{de}").write_text(f"de{direction}\n")
    root = str(tmp_path)
    assert list(D.WMT2014("newstest2014", root=root)) == [("en", "de")]
    assert list(D.WMT2014("newstest2014", "de", "en", root=root)) == [("der", "enr")]
    assert list(D.WMT2014("newstest2014", full=True, root=root)) == [("enf", "def")]
    with pytest.raises(ValueError, match="language='fr'"):
        D.WMT2016("train", "fr", "en", root=root)


def test_large_texts_are_cut_into_sentences(tmp_path, as_they_are):
    (tmp_path / "text8").write_text(" ".join("abcde"))
    assert list(D.Text8(str(tmp_path), max_sentence_length=2)) == [["a", "b"], ["c", "d"], ["e"]]
    (tmp_path / "wiki.test.raw").write_text(" = A =\n", encoding="utf8")
    assert list(D.WikiText2Raw("test", root=str(tmp_path))) == list(b"= A =")


def test_word_evaluation_files(tmp_path, as_they_are):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("MEN/MEN_dataset_lemma_form.dev", "sun-n shine-v 42.0\n")
    assert list(D.MEN("dev", str(tmp_path))) == [["sun", "shine", 42.0]]
    write("Mtruk.csv", "episcopal,russia,2.75\n")
    assert list(D.RadinskyMTurk(str(tmp_path))) == [["episcopal", "russia", 2.75]]
    write("verb_similarity dataset.txt", VERB)
    assert list(D.BakerVerb143(str(tmp_path))) == [["word1", "word2", 0.35]]
    write("SimLex-999/SimLex-999.txt", "word1\tword2\tPOS\tSimLex999\nold\tnew\tA\t1.58\n")
    assert list(D.SimLex999(str(tmp_path))) == [["old", "new", 1.58]]
    where = "SemEval17-Task2/trial/subtask1-monolingual"
    write(f"{where}/data/en.trial.data.txt", "dog\tcat\n")
    write(f"{where}/keys/en.trial.gold.txt", "1.5\n")
    assert list(D.SemEval17Task2(root=str(tmp_path))) == [["dog", "cat", 1.5]]
    write("BATS_3.0/1_Inflectional_morphology/I01 [noun - plural_reg].txt", "dog\tdogs/hounds\ncat\tcats\n")
    bats = D.BiggerAnalogyTestSet("I01", root=str(tmp_path))
    assert list(bats) == [["dog", "dogs", "cat", "cats"], ["cat", "cats", "dog", "dogs"]]
    pairs = D.BiggerAnalogyTestSet("I01", False, False, str(tmp_path))
    assert list(pairs) == [["dog", ["dogs", "hounds"]], ["cat", ["cats"]]]


def test_gbw_streams_its_files(tmp_path, as_they_are, monkeypatch):
    release = "1-billion-word-language-modeling-benchmark-r13output"
    folder = tmp_path / "made" / release / "training-monolingual.tokenized.shuffled"
    folder.mkdir(parents=True)
    for i in range(1, 4):
        (folder / f"news.en-0000{i}-of-00100").write_text(f"line {i}\n")
    with tarfile.open(tmp_path / f"{release}.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "made" / release, release)

    def end_early(archive, total, limit):
        if total > len("line 1\n"):
            raise KeyboardInterrupt  # before the second file

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Archive, "_check_total", end_early)
        D.GBWStream("train", root=str(tmp_path))
    # The folder of an unpacking that was interrupted would pass for a corpus of one file.
    lines = [dataset[0] for dataset in D.GBWStream("train", root=str(tmp_path))]
    assert sorted(lines) == [["line", str(i), "<eos>"] for i in range(1, 4)]


# --------------------------------------------------------------- fetching


def sha1(content):
    return hashlib.sha1(content).hexdigest()


def mirror(folder, monkeypatch, member="train.tsv", content=b"sentence\tlabel\nfine\t1\n"):
    """A repository on disk with one archive, whose sums the table knows."""
    path = folder / "gluon" / "archive.zip"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("some/folder/" + member, content)
        archive.writestr("../outside.txt", "not extracted")
    file = published.File(member, sha1(content), "gluon/archive.zip", sha1(path.read_bytes()))
    monkeypatch.setattr(published, "_datasets", lambda: {"GlueSST2": {"train": file}})
    monkeypatch.setenv("MXNET_GLUON_REPO", folder.as_uri())
    return path


def test_archives_are_fetched_checked_and_unpacked_once(tmp_path, monkeypatch):
    archive = mirror(tmp_path / "repo", monkeypatch)
    root = tmp_path / "root"
    assert list(D.GlueSST2(root=str(root))) == [["fine", "1"]]
    archive.unlink()
    assert list(D.GlueSST2(root=str(root))) == [["fine", "1"]]
    assert not (tmp_path / "outside.txt").exists()
    # A damaged file comes again out of the archive that was kept.
    (root / "train.tsv").write_text("damaged")
    assert list(D.GlueSST2(root=str(root))) == [["fine", "1"]]


@pytest.mark.filterwarnings("ignore:file")
def test_a_wrong_archive_is_refused(tmp_path, monkeypatch):
    archive = mirror(tmp_path / "repo", monkeypatch)
    archive.write_bytes(archive.read_bytes() + b"x")
    monkeypatch.setattr("gluon.store.time.sleep", lambda seconds: None)
    with pytest.raises(MXNetError, match="SHA-1"):
        published.fetch(
            published.dataset_file("GlueSST2", "train")._replace(archive="gluon/archive.zip"), str(tmp_path / "r")
        )
    assert not (tmp_path / "r" / "train.tsv").exists()


def test_offline_errors_name_the_file_and_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_OFFLINE", "1")
    for make, name in (
        (lambda: D.SQuAD("train", "2.0", root=str(tmp_path)), r"train-v2\.0\.json"),
        (lambda: D.IWSLT2015("train", root=str(tmp_path)), r"train\.en"),
        (lambda: D.WikiText103("test", root=str(tmp_path)), r"wiki\.test\.tokens"),
    ):
        with pytest.raises(MXNetError, match=f"{name} does not exist.*MXNET_OFFLINE"):
            make()
    (tmp_path / "wiki.test.tokens").write_text("something else")
    with pytest.raises(MXNetError, match="is not the published file"):
        D.WikiText103("test", root=str(tmp_path))


def test_misspelt_arguments_get_a_hint():
    with pytest.raises(ValueError, match="Did you mean 'test'"):
        D.TREC("tset")
    with pytest.raises(KeyError, match="Did you mean 'wikitext2'"):
        D.create("wikitxt2")


def test_every_dataset_is_registered_with_real_arguments():
    listed = D.list_datasets()
    assert len(listed) == 56
    assert D.list_datasets("CoNLL2001") == {"segment": ["train", "testa", "testb"], "part": [1, 2, 3]}
    with pytest.raises(RuntimeError, match="no argument"):
        D.register(colour=["red"])(D.TREC)


def test_tasks():
    task = D.get_task("MRPC")
    assert (task.class_labels, task.is_pair, len(task.metrics.metrics)) == (["0", "1"], True, 2)
    assert D.get_task("sts-b").class_labels is None
    assert D.get_task("xnli").label_alias == {"contradictory": "contradiction"}
    with pytest.raises(ValueError, match="Did you mean 'cola'"):
        D.get_task("colla")


def test_ernie_tables(tmp_path, as_they_are):
    folder = tmp_path / "task_data" / "xnli"
    folder.mkdir(parents=True)
    (folder / "dev.tsv").write_text("premise\thypo\tlabel\n他\t她\tneutral\n", encoding="utf8")
    assert list(D.BaiduErnieXNLI("dev", str(tmp_path))) == [["他", "她", "neutral"]]
    (tmp_path / "test.tsv").write_text("a\tb\tlabel\n一\t二\t1\n", encoding="utf8")
    assert list(D.BaiduErnieLCQMC(str(tmp_path / "test.tsv"), "test")) == [["一", "二"]]
    folder = tmp_path / "task_data" / "chnsenticorp"
    folder.mkdir()
    (folder / "train.tsv").write_text("label\ttext_a\n1\t好\n", encoding="utf8")
    assert list(D.BaiduErnieChnSentiCorp(root=str(tmp_path))) == [["好", "1"]]


@pytest.mark.parametrize("name", ["WikiText2", "SST_2", "GlueCoLA", "SQuAD", "CoNLL2000", "WMT2014"])
def test_segments_that_do_not_exist_are_looked_up_in_vain(name):
    with pytest.raises(KeyError, match=r"\w+='nope' is not one of"):
        nlp.data.create(name, segment="nope")


@pytest.mark.parametrize("name", ["GoogleAnalogyTestSet", "BiggerAnalogyTestSet"])
def test_groups_of_analogies_that_do_not_exist_are_named(name):
    with pytest.raises(AssertionError, match="'nope' is not one of"):
        getattr(nlp.data, name)("nope")

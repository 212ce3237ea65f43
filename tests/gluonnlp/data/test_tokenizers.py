"""Tokenizers against the programs that define them, where those are installed, and against published examples."""

import gzip
import json
import pickle
import unicodedata

import numpy as np
import pytest

import gluonnlp as nlp
from gluonnlp.data import BERTBasicTokenizer, BERTTokenizer

UNUSUAL = [
    "",
    "  ",
    "a\u00a0b\u200bc\ufffdd\0e",
    "漢字 and かな 한국어",
    "don’t “quote” — dash…",
    "\u2028x\u0085y",
    "x" * 300,
    "𝒜 😀",
]


def real_lines(data, count):
    lines = list(UNUSUAL)
    for name in ("train.en", "train.de", "train.fr", "train.cs"):
        with gzip.open(data / "multi30k" / f"{name}.gz", "rt", encoding="utf8") as file:
            lines += [line.rstrip("\n") for line in file][: count // 8]
    lines += (data / "wikitext-2" / "wiki.valid.tokens").read_text("utf8").split("\n")[: count // 2]
    return lines


def word_pieces(lines):
    counts = nlp.data.Counter()
    for line in lines:
        for word in BERTBasicTokenizer()(line):
            counts.update([word, word[:2], word[:1], "##" + word[1:], "##" + word[2:]])
            counts.update("##" + c for c in word)
    return nlp.vocab.BERTVocab(counts, max_size=4000)


@pytest.fixture(scope="module")
def vocab(data):
    return word_pieces(real_lines(data, 2000))


def test_word_pieces_token_for_token_as_tokenizers(data, vocab):
    """Hugging Face's Rust implementation of BERT's tokenizer."""
    tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    theirs = tokenizers.BertWordPieceTokenizer(dict(vocab.token_to_idx), lowercase=True)
    theirs._tokenizer.model = tokenizers.models.WordPiece(
        dict(vocab.token_to_idx), unk_token="[UNK]", max_input_chars_per_word=200
    )
    ours = BERTTokenizer(vocab)
    for line in real_lines(data, 6000):
        assert ours(line) == theirs.encode(line, add_special_tokens=False).tokens, line


@pytest.mark.parametrize("name", ["vocab.txt", "tokenizer.json"])
def test_tokenizer_of_a_real_checkpoint(weights, minilm, name):
    """all-MiniLM-L6-v2: the indices that its own tokenizer gave for 64 sentences."""
    tokenizer = BERTTokenizer.from_file(str(minilm / name))
    transform = nlp.data.BERTSentenceTransform(tokenizer, 53, pair=False)
    with np.load(weights / "minilm.expected.npz") as expected:
        for text, ids, mask in zip(expected["sentences"], expected["input_ids"], expected["attention_mask"]):
            got, length, _ = transform((str(text),))
            np.testing.assert_array_equal(got, ids)
            assert length == mask.sum()


def test_ten_thousand_lines_token_for_token_as_tokenizers(data, minilm):
    tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    theirs = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    theirs.no_truncation()
    theirs.no_padding()
    ours = BERTTokenizer.from_file(str(minilm / "tokenizer.json"))
    lines = real_lines(data, 20000)
    assert len(lines) > 10000
    for line in lines:
        wanted = theirs.encode(line, add_special_tokens=False)
        tokens = ours(line)
        assert (tokens, ours.convert_tokens_to_ids(tokens)) == (wanted.tokens, wanted.ids), line


@pytest.mark.parametrize("accents", [None, True, False])
def test_case_and_accents_as_the_file_says(data, minilm, tmp_path, accents):
    tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    content = json.loads((minilm / "tokenizer.json").read_text(encoding="utf8"))
    content["normalizer"] |= {"lowercase": accents is False, "strip_accents": accents}
    pieces = content["model"]["vocab"]
    for piece in ("É", "é", "##é", "##É", "C", "##o", "ü", "##ü"):
        pieces.setdefault(piece, len(pieces))
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf8")
    theirs = tokenizers.Tokenizer.from_file(str(path))
    theirs.no_truncation()
    theirs.no_padding()
    ours = BERTTokenizer.from_file(str(path))
    for line in [*real_lines(data, 500), "Éé résumé Où ist Müller?  CO² e\u0301"]:
        assert ours(line) == theirs.encode(line, add_special_tokens=False).tokens, line


def test_basic_tokenizer_by_its_definition(data):
    """Character by character, as google-research/bert describes it."""

    def defined(text):
        text = "".join(
            c for c in text if c not in "\0\ufffd" and (c in "\t\n\r" or unicodedata.category(c) not in ("Cc", "Cf"))
        )
        text = "".join(f" {c} " if "\u4e00" <= c <= "\u9fff" else c for c in text).lower()
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        ascii_signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
        return "".join(f" {c} " if c in ascii_signs or unicodedata.category(c)[0] == "P" else c for c in text).split()

    tokenizer = BERTBasicTokenizer()
    for line in real_lines(data, 1000):
        assert tokenizer(line) == defined(line)


def test_tokenizers_travel_to_worker_processes(vocab):
    tokenizer = pickle.loads(pickle.dumps(BERTTokenizer(vocab)))
    assert tokenizer("hello, world") == BERTTokenizer(vocab)("hello, world")


@pytest.mark.parametrize("pad", [True, False])
def test_sentence_transform_layout(vocab, pad):
    transform = nlp.data.BERTSentenceTransform(BERTTokenizer(vocab), 16, pad=pad)
    ids, length, segments = transform(("a man in a hat", "a dog " * 20))
    tokens = vocab.to_tokens(ids.tolist())
    assert len(ids) == length == 16 and tokens[0] == "[CLS]" and tokens[-1] == "[SEP]"
    assert [i for i, t in enumerate(tokens) if t == "[SEP]"] == [int(np.argmax(segments)) - 1, 15]
    ids, length, segments = transform(("a man", "a dog"))
    assert len(ids) == (16 if pad else length) and (ids[length:] == vocab["[PAD]"]).all()
    assert ids.dtype == length.dtype == segments.dtype == np.int32


def test_moses_as_sacremoses(data):
    """The Python port of Moses that GluonNLP used."""
    sacremoses = pytest.importorskip("sacremoses", reason="the package sacremoses is not installed")
    theirs, back = sacremoses.MosesTokenizer(), sacremoses.MosesDetokenizer()
    ours, ours_back = nlp.data.SacreMosesTokenizer(), nlp.data.SacreMosesDetokenizer()
    for line in real_lines(data, 4000):
        tokens = theirs.tokenize(line)
        assert ours(line) == tokens, line
        assert ours_back(tokens) == back.detokenize(tokens), line


def test_moses_examples():
    """Behaviour that the Moses manual describes: abbreviations, numbers, ellipses, escaped characters."""
    moses = nlp.data.SacreMosesTokenizer()
    assert moses("Mr. Smith paid $3,000.50 (No. 5) ... didn't he?") == [
        "Mr.", "Smith", "paid", "$", "3,000.50", "(", "No.", "5", ")", "...", "didn", "&apos;t", "he", "?"
    ]  # fmt: skip
    text = "He said \"yes\" & left - it's the Jones' house."
    assert nlp.data.SacreMosesDetokenizer()(moses(text)) == text


def byte_pairs(folder, merges):
    import hashlib

    path = folder / "ranks.json"
    path.write_text(merges, encoding="utf8")

    class Tokenizer(nlp.data.GPT2BPETokenizer):
        bpe_ranks_file_hash = (path.name, hashlib.sha1(path.read_bytes()).hexdigest())

    return Tokenizer(root=str(folder))


def test_byte_pairs_restore_every_text(data, tmp_path):
    tokenizer = byte_pairs(tmp_path, "#version\nĠ t\nĠt h\nĠth e\nh e\na n\n")
    detokenizer = nlp.data.GPT2BPEDetokenizer()
    for line in real_lines(data, 400):
        assert detokenizer(tokenizer(line)) == line


def test_gpt2_words_as_regex(data):
    """The expression of openai/gpt-2, encoder.py, run by the package regex."""
    regex = pytest.importorskip("regex", reason="the package regex is not installed")
    from gluonnlp.data.gpt2_tokenizer import _word_pattern

    pattern = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    for line in [*real_lines(data, 2000), "a\x1cb  c", "12½ Ⅳ x² 𝟘", "\n\n x \t"]:
        assert _word_pattern(line.isascii()).findall(line) == pattern.findall(line)


def test_sentencepiece_round_trip(reference):
    pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    path = str(reference / "out" / "gluonnlp_data" / "tiny.spiece")
    tokenizer, back = nlp.data.SentencepieceTokenizer(path), nlp.data.SentencepieceDetokenizer(path)
    assert back(tokenizer("hello world")) == "hello world"
    vocab = nlp.vocab.BERTVocab.from_sentencepiece(path)
    assert [vocab[t] for t in tokenizer.tokens] == list(range(len(tokenizer)))
    assert json.loads(vocab.to_json())["unknown_token"] == "<unk>"
    with pytest.raises(FileNotFoundError, match=r"nope\.spiece"):
        nlp.data.SentencepieceTokenizer("nope.spiece")


@pytest.mark.parametrize(("name", "package"), [("SpacyTokenizer", "spacy"), ("JiebaTokenizer", "jieba")])
def test_absent_packages_are_named(name, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        getattr(nlp.data, name)()


def test_tokenizer_of_a_model(vocab):
    tokenizer = nlp.data.get_tokenizer("bert_12_768_12", "book_corpus_wiki_en_cased", vocab)
    assert tokenizer.basic_tokenizer.lower is False
    with pytest.raises(ValueError, match="Did you mean"):
        nlp.data.get_tokenizer("bert_12_768_12", "book_corpus_wiki_en_uncase", vocab)

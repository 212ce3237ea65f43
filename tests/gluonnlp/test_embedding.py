"""Files of word vectors as other programs write them, and what a loader must refuse."""

import hashlib
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

import gluonnlp as nlp
from core import nd
from core.base import MXNetError
from gluonnlp.embedding.fasttext_binary import read_fasttext_binary

TokenEmbedding = nlp.embedding.TokenEmbedding


def small(**kwargs):
    return TokenEmbedding(idx_to_token=["a", "b"], idx_to_vec=nd.array([[1, 2], [3, 4]]), **kwargs)


def test_glove_text_and_word2vec_text_agree(tmp_path):
    lines = ["the 0.5 -1.25", "of 2 3e-2"]
    (tmp_path / "glove.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "w2v.txt").write_text("\n".join(["2 2", *lines]) + "\n")
    glove = TokenEmbedding.from_file(str(tmp_path / "glove.txt"))
    with pytest.warns(UserWarning, match="header"):
        assert TokenEmbedding.from_file(str(tmp_path / "w2v.txt")).idx_to_token == glove.idx_to_token
    assert glove.idx_to_token == ["<unk>", "the", "of"]
    np.testing.assert_array_equal(glove.idx_to_vec.asnumpy(), np.float32([[0, 0], [0.5, -1.25], [2, 0.03]]))


def test_lines_that_are_no_text_are_skipped(tmp_path):
    (tmp_path / "e.txt").write_bytes(b"a 1 2\n\xff\xfe 3 4\nb 5 6\na 7 8\n")
    with pytest.warns(UserWarning) as warned:
        e = TokenEmbedding.from_file(str(tmp_path / "e.txt"))
    assert e.idx_to_token == ["<unk>", "a", "b"]
    assert ["line 1" in str(w.message) or "line 3" in str(w.message) for w in warned] == [True, True]


def test_ragged_text_names_the_line(tmp_path):
    (tmp_path / "e.txt").write_text("a 1 2\nb 3 4 5\n")
    with pytest.raises(ValueError, match=r"line 1.*3 numbers for 'b', 2 expected"):
        TokenEmbedding.from_file(str(tmp_path / "e.txt"))


def binary(words, width=2, count=None):
    header = f"{len(words) if count is None else count} {width}\n".encode()
    return header + b"".join(
        w + b" " + struct.pack(f"<{width}f", *range(i, i + width)) + b"\n" for i, w in enumerate(words)
    )


def test_word2vec_binary(tmp_path):
    path = tmp_path / "w.bin"
    path.write_bytes(binary([b"one", "zwölf".encode(), b"one"]))
    with pytest.warns(UserWarning, match="occurred before"):
        e = nlp.embedding.Word2Vec.from_w2v_binary(str(path))
    assert e.idx_to_token == ["<unk>", "one", "zwölf"]
    np.testing.assert_array_equal(e[["zwölf", "one", "?"]].asnumpy(), [[1, 2], [0, 1], [0, 0]])


def test_a_file_without_vectors_is_refused(tmp_path):
    path = tmp_path / "empty.vec"
    path.write_text("0 300\n")
    with pytest.warns(UserWarning, match="header"), pytest.raises(ValueError, match="no vectors"):
        nlp.embedding.TokenEmbedding.from_file(str(path))


@pytest.mark.parametrize("damage", ["header", "count", "cut"])
def test_damaged_word2vec_binary(tmp_path, damage):
    content = {"header": b"no header\n", "count": binary([b"a"], count=10**12), "cut": binary([b"a", b"b"])[:-6]}[
        damage
    ]
    (tmp_path / "w.bin").write_bytes(content)
    with pytest.raises((ValueError, EOFError), match=r"w\.bin"):
        nlp.embedding.Word2Vec.from_w2v_binary(str(tmp_path / "w.bin"))


@pytest.mark.parametrize("compress", [True, False])
def test_npz_round_trip_without_pickle(tmp_path, compress):
    path = str(tmp_path / "e.npz")
    e = small()
    e.serialize(path, compress=compress)
    assert TokenEmbedding.deserialize(path) == e
    umask = os.umask(0)
    os.umask(umask)
    assert os.stat(path).st_mode & 0o777 == 0o666 & ~umask  # others may read it too, as with any file
    with np.load(path) as content:  # NumPy refuses pickled arrays by default
        assert content["idx_to_token"].tolist() == ["<unk>", "a", "b"]


def test_npz_with_pickled_tokens_as_gluonnlp_wrote_them(tmp_path):
    path = str(tmp_path / "e.npz")
    np.savez(
        path,
        unknown_token=np.array(""),
        idx_to_token=np.array(["a", "b"], dtype="O"),
        idx_to_vec=np.eye(2, dtype="float32"),
    )
    e = TokenEmbedding.from_file(path, unknown_token="b")
    assert e.idx_to_token == ["b", "a"]
    np.testing.assert_array_equal(e.idx_to_vec.asnumpy(), [[0, 1], [1, 0]])


class Harmful:
    def __reduce__(self):
        return print, ("executed",)


def test_loading_never_executes(tmp_path, capsys):
    path = str(tmp_path / "e.npz")
    np.savez(path, unknown_token=np.array(""), idx_to_vec=np.eye(1, dtype="float32"))
    with zipfile.ZipFile(path, "a") as archive, archive.open("idx_to_token.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": (1,)})
        file.write(pickle.dumps(Harmful()))
    with pytest.raises(MXNetError, match=r"e\.npz.*builtins\.print.*refused"):
        TokenEmbedding.deserialize(path)
    assert capsys.readouterr().out == ""


def test_assignment():
    e = small(allow_extend=True)
    e[["new", "a", "newer"]] = nd.array([[7, 8], [9, 10], [11, 12]])
    assert e.idx_to_token == ["<unk>", "a", "b", "new", "newer"]
    np.testing.assert_array_equal(e[["newer", "a", "?"]].asnumpy(), [[11, 12], [9, 10], [0, 0]])
    with pytest.raises(KeyError, match="allow_extend"):
        small()["new"] = nd.array([1, 2])
    with pytest.raises(ValueError, match=r"\(1, 2\), not \(1, 3\)"):
        small()["a"] = nd.array([1, 2, 3])


def test_sources_are_listed_and_misspelt_ones_refused():
    sources = nlp.embedding.list_sources()
    assert {name: len(s) for name, s in sources.items()} == {"glove": 10, "fasttext": 486, "word2vec": 3}
    with pytest.raises(KeyError, match=r"glove\.6B\.50d"):
        nlp.embedding.create("glove", source="glove.6B.51d")
    with pytest.raises(KeyError, match=r"^There is no .*Did you mean 'glove'") as found:
        nlp.embedding.create("glov")
    assert isinstance(found.value, AssertionError)  # which GluonNLP raises


def test_cosine_similarity_against_numpy():
    x, y = np.random.RandomState(0).randn(2, 5, 7)
    wanted = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    got = nlp.embedding.evaluation.CosineSimilarity()(nd.array(x), nd.array(y))
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", ["ThreeCosAdd", "ThreeCosMul"])
def test_analogies_against_numpy(function):
    """Formulas (1) and (4) of Levy and Goldberg (2014)."""
    table = np.random.RandomState(1).randn(30, 6)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    a, b, c = np.arange(5), np.arange(5, 10), np.arange(10, 15)
    cos = [unit[w] @ unit.T for w in (a, b, c)]
    if function == "ThreeCosMul":
        cos = [(x + 1) / 2 for x in cos]
        score = cos[1] * cos[2] / (cos[0] + 1e-10)
    else:
        score = cos[1] + cos[2] - cos[0]
    for words in (a, b, c):
        score[np.arange(5), words] = 0
    net = nlp.embedding.evaluation.WordEmbeddingAnalogy(nd.array(table), function, k=3)
    net.initialize()
    got = net(nd.array(a), nd.array(b), nd.array(c)).asnumpy()
    np.testing.assert_array_equal(got, np.argsort(-score, axis=1)[:, :3])


def fasttext_model(words, values, tagged=True, quantized=False):
    """As fastText's Args::save, Dictionary::save and Matrix::save write it."""
    rows, width = values.shape
    settings = [width, 5, 5, 1, 5, 1, 1, 2, rows - len(words), 3, 6, 100]
    parts = [struct.pack("<2i", 793712314, 12)] if tagged else []
    parts += [struct.pack("<12id", *settings, 1e-4), struct.pack("<3iq", len(words), len(words), 0, 99)]
    parts += [struct.pack("<q", 0)] if tagged else []
    parts += [word.encode() + b"\0" + struct.pack("<qb", 7, 0) for word in words]
    parts += [struct.pack("<?", quantized)] if tagged else []
    return b"".join(parts) + struct.pack("<2q", rows, width) + values.astype("<f4").tobytes()


@pytest.mark.parametrize("tagged", [True, False])
def test_fasttext_binary(tmp_path, tagged):
    values = np.random.RandomState(0).randn(12, 3).astype("float32")
    (tmp_path / "m.bin").write_bytes(fasttext_model(["</s>", "zwölf"], values, tagged))
    model = read_fasttext_binary(tmp_path / "m.bin")
    assert model[:4] == (["</s>", "zwölf"], 10, 3, 6)
    np.testing.assert_array_equal(model.values, values)


@pytest.mark.parametrize("keep", [4, 40, 90, 120, -1])
def test_fasttext_binary_that_ends_early(tmp_path, keep):
    whole = fasttext_model(["a", "b"], np.ones((5, 2)))
    (tmp_path / "m.bin").write_bytes(whole[:keep])
    with pytest.raises(ValueError, match=r"m\.bin"):
        read_fasttext_binary(tmp_path / "m.bin")


def test_fasttext_model_gives_unseen_words_the_mean_of_their_ngrams(tmp_path):
    values = np.random.RandomState(0).randn(12, 3).astype("float32")
    (tmp_path / "m.bin").write_bytes(fasttext_model(["</s>", "zwölf"], values))
    model = nlp.model.train.FasttextEmbeddingModel.load_fasttext_format(str(tmp_path / "m.bin"))
    hashes = nlp.vocab.create_subword_function("NGramHashes", num_subwords=10, ngrams=[3, 4, 5, 6])
    known, unseen = ([2 + int(i) for i in rows] for rows in hashes(["zwölf", "elf"]))
    want = [values[[1, *known]].mean(0), values[unseen].mean(0)]
    np.testing.assert_allclose(model[["zwölf", "elf"]].asnumpy(), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model["elf"].asnumpy(), want[1], rtol=1e-5, atol=1e-6)
    assert "elf" in model
    plain = nlp.model.train.CSREmbeddingModel({"a": 0, "b": 1}, 3)
    plain.initialize()
    assert "a" in plain and "c" not in plain
    with pytest.raises(KeyError, match="c"):
        plain["c"]


def test_wrong_vectors_raise_what_gluonnlp_asserts():
    """Programs catch GluonNLP's AssertionError; the message says what is wrong."""
    embedding = nlp.embedding.TokenEmbedding(allow_extend=True)
    for vectors in (nd.zeros((1, 5)), nd.zeros((5,))):
        with pytest.raises(AssertionError, match=r"\(2, 5\)"):
            embedding[["hello", "world"]] = vectors
    with pytest.raises(AssertionError, match="without vectors"):
        nlp.Vocab({"a": 1}).set_embedding(nlp.embedding.TokenEmbedding())


def test_no_token_is_a_token(tmp_path):
    embedding = nlp.embedding.TokenEmbedding(None, allow_extend=True, idx_to_token=["None"], idx_to_vec=nd.ones((1, 2)))
    embedding[None] = nd.array([3, 4])
    embedding.serialize(tmp_path / "vectors.npz")
    assert nlp.embedding.TokenEmbedding.deserialize(tmp_path / "vectors.npz") == embedding


def test_embeddings_of_users(tmp_path):
    """A class that loads a published file as GluonNLP's own do."""

    @nlp.embedding.register
    class OfMine(nlp.embedding.TokenEmbedding):
        sources = {"small": ("small.vec", hashlib.sha1(b"Hello 1 2\n").hexdigest())}

        def __init__(self, source="small", embedding_root=None):
            self._check_source(self.sources, source)
            path = self._get_file_path(self.sources, embedding_root, source)
            tokens, vectors, unknown = self._load_embedding(path, " ", "<unk>", nd.zeros)
            super().__init__(unknown, None, idx_to_token=tokens, idx_to_vec=vectors)

    (tmp_path / "ofmine").mkdir()
    (tmp_path / "ofmine" / "small.vec").write_bytes(b"Hello 1 2\n")
    assert nlp.embedding.create("ofmine", embedding_root=str(tmp_path))["Hello"].asnumpy().tolist() == [1, 2]
    with pytest.raises(KeyError, match="small"):
        nlp.embedding.create("ofmine", source="large")


def test_nothing_where_something_is_needed_is_the_error_of_gluonnlp(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(TypeError, match="holds no vectors"):
        nlp.embedding.TokenEmbedding.from_file(str(tmp_path / "empty.txt"))
    with pytest.raises(TypeError, match="both or neither"):
        nlp.embedding.TokenEmbedding(idx_to_vec=nd.ones((2, 2)))
    with pytest.raises(KeyError):  # there are no vectors either
        nlp.embedding.TokenEmbedding(unknown_token=None)["a"]


def test_the_first_line_may_be_that_of_the_unknown_token(tmp_path):
    (tmp_path / "e.txt").write_text("a 1\nb 2\n")
    embedding = nlp.embedding.TokenEmbedding.from_file(str(tmp_path / "e.txt"), unknown_token="a")
    assert embedding.idx_to_token == ["a", "b"]  # GluonNLP 0.10; another token is taken for a header
    assert embedding.idx_to_vec.asnumpy().tolist() == [[1], [2]]

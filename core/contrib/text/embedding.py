"""Word vectors: published tables (GloVe, fastText), files of users, several side by side."""

from __future__ import annotations

import csv
import functools
import logging
import os
import warnings

import numpy as np

from core import ndarray as nd
from core import registry, store
from core.base import MXNetError, data_dir, nearest
from core.contrib.text.vocab import UNKNOWN, Vocabulary
from core.files.archives import Archive
from core.files.reader import DamagedFile
from core.files.text import reading
from core.util import is_np_array


class DamagedLine(DamagedFile, AssertionError):
    """A line that is no token and numbers, for which MXNet asserts."""


class _TokenEmbedding(Vocabulary):
    """Base of embeddings: a vocabulary with a vector for each token.

    Subclasses load their file with `_load_embedding`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._vec_len, self._idx_to_vec = 0, None

    @property
    def vec_len(self):
        """The length of the vectors."""
        return self._vec_len

    @property
    def idx_to_vec(self):
        """The vectors by number, (tokens, vec_len)."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens, lower_case_backup=False):
        """The vector of a token, or of each in a list; that of the unknown token where it is not there.

        lower_case_backup: look for the token in lower case then.
        """
        many = isinstance(tokens, list)
        numbers = []
        for token in tokens if many else [tokens]:
            number = self._token_to_idx.get(token)
            if number is None:
                number = self._token_to_idx.get(token.lower(), UNKNOWN) if lower_case_backup else UNKNOWN
            numbers.append(number)
        vectors = self._idx_to_vec[_array(numbers, "int32")]
        return vectors if many else vectors[0]

    def update_token_vectors(self, tokens, new_vectors):
        """Sets the vectors of tokens (one, or a list). ValueError for tokens that are not there."""
        tokens = tokens if isinstance(tokens, list) else [tokens]
        if not isinstance(new_vectors, nd.NDArray):
            raise AssertionError(f"new_vectors is an array, got {type(new_vectors).__name__}")
        if len(new_vectors.shape) == 1 and len(tokens) == 1:
            new_vectors = new_vectors.reshape((1, -1))
        if tuple(new_vectors.shape) != (len(tokens), self._vec_len):
            raise AssertionError(
                f"vectors of shape {(len(tokens), self._vec_len)} are needed, given {new_vectors.shape}"
            )
        for token in tokens:
            if token not in self._token_to_idx:
                raise ValueError(
                    f"token {token!r} is unknown; to set the vector of unknown tokens, name "
                    f"{self._idx_to_token[UNKNOWN]!r}"
                )
        self._idx_to_vec[_array([self._token_to_idx[t] for t in tokens], "int32")] = new_vectors

    pretrained_file_name_sha1: dict[str, str] = {}  # of an embedding whose files are published

    @classmethod
    def _check_pretrained_file_names(cls, name):
        """Raises KeyError unless a file of this name is published."""
        known, embedding = cls.pretrained_file_name_sha1, cls.__name__.lower()
        if name not in known:
            raise KeyError(
                f"{embedding} has no file {name!r}.{nearest(name, known)} get_pretrained_file_names({embedding!r}) "
                "lists them"
            )

    @classmethod
    def _archive(cls, name):
        """(name, SHA-1) of what is downloaded for a file: itself, or an archive that holds it."""
        row = _files(cls.__name__.lower()).get(name)
        return (row["archive"], row["archive_sha1"]) if row else (name, cls.pretrained_file_name_sha1[name])

    @classmethod
    def _get_pretrained_file(cls, embedding_root, name):
        """The path of a published file, downloaded and unpacked where it is absent; its checksum is right."""
        embedding, wanted = cls.__name__.lower(), cls.pretrained_file_name_sha1[name]
        folder = os.path.join(os.path.expanduser(embedding_root), embedding)
        path, (source, source_sha1) = os.path.join(folder, name), cls._archive(name)
        if os.path.isfile(path) and store.check_sha1(path, wanted):
            return path
        os.makedirs(folder, exist_ok=True)
        archive = os.path.join(folder, source)
        store.download(store.repo_file_url(f"gluon/embeddings/{embedding}", source), archive, sha1_hash=source_sha1)
        if archive != path:
            with Archive(archive).open(name) as member:
                store.write_checked(member, path, wanted)
        elif not store.check_sha1(path, wanted):
            raise MXNetError(f"{path!r} does not have the SHA-1 {wanted}")
        return path

    def _load_embedding(self, pretrained_file_path, elem_delim, init_unknown_vec, encoding="utf8"):
        """Reads lines of a token and its numbers.

        The first line for a token counts, a line with one number is a head.
        """
        path = os.path.expanduser(pretrained_file_path)
        if not os.path.isfile(path):
            raise ValueError(f"there is no file {path!r} with token vectors")
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        rows, unknown, width = [], None, None
        with open(path, encoding=encoding) as file, reading(path):
            for number, line in enumerate(file, 1):
                token, *values = line.rstrip().split(elem_delim)
                if not values:
                    raise DamagedLine(f"line {number} of {path!r} is not a token and numbers: {line[:40]!r}")
                try:
                    vector = np.array(values, dtype=np.float32)
                except ValueError:
                    raise MXNetError(
                        f"line {number} of {path!r}: the vector of {token!r} is not made of numbers"
                    ) from None
                if token == self._unknown_token and unknown is None:
                    unknown = vector
                elif token in self._token_to_idx:
                    warnings.warn(f"line {number} of {path!r}: {token!r} has a vector already; this one is skipped")
                elif len(vector) == 1:
                    warnings.warn(
                        f"line {number} of {path!r}: {token!r} with one number is taken for a head and skipped"
                    )
                else:
                    width = width or len(vector)
                    if len(vector) != width:
                        raise DamagedLine(
                            f"line {number} of {path!r}: {token!r} has {len(vector)} numbers, those before have {width}"
                        )
                    rows.append(vector)
                    self._token_to_idx[token] = len(self._idx_to_token)
                    self._idx_to_token.append(token)
        if width is None:
            raise MXNetError(f"{path!r} holds no vectors")
        if unknown is not None and len(unknown) != width:
            raise DamagedLine(
                f"{path!r}: {self._unknown_token!r} has {len(unknown)} numbers, other tokens have {width}"
            )
        first = len(self._idx_to_token) - len(rows)
        vectors = np.zeros((len(self._idx_to_token), width), np.float32)
        vectors[first:] = rows
        self._vec_len = width
        if unknown is None:
            unknown = init_unknown_vec(shape=width)
            unknown = unknown.asnumpy() if isinstance(unknown, nd.NDArray) else unknown
        vectors[UNKNOWN] = unknown
        self._idx_to_vec = _array(vectors)

    def _build_embedding_for_vocabulary(self, vocabulary):
        """Keeps the vectors of a vocabulary's tokens, in its order."""
        if vocabulary is None:
            return
        _check_vocabulary(vocabulary)
        self._take(vocabulary, [self])

    def _take(self, vocabulary, embeddings):
        tokens = vocabulary.idx_to_token
        parts = []
        for embedding in embeddings:
            vectors = embedding.get_vecs_by_tokens(list(tokens)).asnumpy()
            vectors[UNKNOWN] = embedding.idx_to_vec[UNKNOWN].asnumpy()
            parts.append(vectors)
        self._idx_to_vec = _array(np.concatenate(parts, axis=1))
        self._vec_len = self._idx_to_vec.shape[1]
        self._token_to_idx, self._idx_to_token = dict(vocabulary.token_to_idx), list(tokens)
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = vocabulary.reserved_tokens and list(vocabulary.reserved_tokens)


register = registry.get_register_func(_TokenEmbedding, "token embedding")
create = registry.get_create_func(_TokenEmbedding, "token embedding")


def get_pretrained_file_names(embedding_name=None):
    """The published files of an embedding, or of all by name. KeyError for an unknown embedding."""
    known = registry.get_registry(_TokenEmbedding)
    if embedding_name is None:
        return {name: list(kind.pretrained_file_name_sha1) for name, kind in known.items()}
    if embedding_name not in known:
        raise KeyError(f"there is no embedding {embedding_name!r}; known are {', '.join(sorted(known))}")
    return list(known[embedding_name].pretrained_file_name_sha1)


class _Published(_TokenEmbedding):
    """An embedding whose files are downloaded, to `embedding_root`."""

    def __init__(self, pretrained_file_name, embedding_root=None, init_unknown_vec=nd.zeros, vocabulary=None, **kwargs):
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        root = os.path.join(data_dir(), "embeddings") if embedding_root is None else embedding_root
        self._load_embedding(self._get_pretrained_file(root, pretrained_file_name), " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


@functools.cache
def _files(embedding: str) -> dict[str, dict[str, str]]:
    """File names and checksums of an embedding, by file."""
    with open(os.path.join(os.path.dirname(__file__), "published.tsv"), encoding="utf-8", newline="") as table:
        return {row["file"]: row for row in csv.DictReader(table, delimiter="\t") if row["embedding"] == embedding}


@register
class GloVe(_Published):
    """Vectors of Pennington, Socher and Manning (2014)."""

    pretrained_file_name_sha1 = {name: row["sha1"] for name, row in _files("glove").items()}

    def __init__(self, pretrained_file_name="glove.840B.300d.txt", **kwargs):
        super().__init__(pretrained_file_name, **kwargs)


@register
class FastText(_Published):
    """Vectors of Bojanowski, Grave, Joulin and Mikolov (2017), of 294 languages."""

    pretrained_file_name_sha1 = {name: row["sha1"] for name, row in _files("fasttext").items()}

    def __init__(self, pretrained_file_name="wiki.simple.vec", **kwargs):
        super().__init__(pretrained_file_name, **kwargs)


class CustomEmbedding(_TokenEmbedding):
    """Vectors of a text file: a token and its numbers on each line, `elem_delim` between them."""

    def __init__(self, pretrained_file_path, elem_delim=" ", encoding="utf8", init_unknown_vec=nd.zeros,
                 vocabulary=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """Vectors of several embeddings, one behind the other, for the tokens of a vocabulary."""

    def __init__(self, vocabulary, token_embeddings):
        super().__init__()
        _check_vocabulary(vocabulary)
        embeddings = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        for embedding in embeddings:
            if not isinstance(embedding, _TokenEmbedding):
                raise AssertionError(f"token_embeddings are embeddings, got {type(embedding).__name__}")
        self._take(vocabulary, embeddings)


def _check_vocabulary(vocabulary):
    if not isinstance(vocabulary, Vocabulary):
        raise AssertionError(f"vocabulary is a mx.contrib.text.vocab.Vocabulary, got {type(vocabulary).__name__}")


def _array(values, dtype="float32"):
    if is_np_array():
        from core import numpy

        return numpy.array(values, dtype=dtype)
    return nd.array(values, dtype=dtype)

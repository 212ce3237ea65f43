"""Token embeddings: a table of vectors with a name for each row, and the published tables."""

from __future__ import annotations

import os
import warnings

import numpy as np

from core import nd
from core.base import MXNetError
from gluon import hub

from .. import _constants as C
from ..base import InvalidArgument, MissingArgument, kept_in
from ..data.utils import DefaultLookupDict
from ..published import File, embedding_files, fetch
from ..registry import Registry
from .files import DamagedVectors, Vectors, read_text, read_word2vec_binary, read_zip, write_zip

__all__ = ["register", "create", "list_sources", "TokenEmbedding", "GloVe", "FastText", "Word2Vec"]


class TokenEmbedding:
    """Vectors for tokens.

    `idx_to_token` names the rows of `idx_to_vec`, an NDArray of shape (tokens, dimensions).  Tokens
    that are not there get the vector of `unknown_token`, which `init_unknown_vec(shape)` makes (row 0)
    when the table has none; with `unknown_token=None` their lookup is a KeyError.  `unknown_lookup`,
    when given, is asked first: it answers `token in unknown_lookup` and `unknown_lookup[token]`.
    `allow_extend` lets `embedding[tokens] = vectors` add tokens.

    Raises ValueError when tokens and vectors do not fit each other.

    >>> embedding = gluonnlp.embedding.TokenEmbedding(unknown_token=None, idx_to_token=["a", "b"], idx_to_vec=nd.array([[1, 2], [3, 4]]))
    >>> embedding["b"]
    [3. 4.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(
        self,
        unknown_token=C.UNK_TOKEN,
        init_unknown_vec=nd.zeros,
        allow_extend=False,
        unknown_lookup=None,
        idx_to_token=None,
        idx_to_vec=None,
    ):
        if (idx_to_token is None) != (idx_to_vec is None):
            raise MissingArgument("idx_to_token and idx_to_vec go together: give both or neither.")
        if idx_to_token is None:
            idx_to_token = [unknown_token] if unknown_token else []
        elif len(idx_to_token) != idx_to_vec.shape[0]:
            raise ValueError(
                f"{len(idx_to_token)} tokens in idx_to_token, but {idx_to_vec.shape[0]} rows in idx_to_vec."
            )
        elif unknown_token is not None and unknown_token not in idx_to_token:
            if init_unknown_vec is None:
                raise ValueError(
                    f"No vector for unknown_token={unknown_token!r}: idx_to_vec has none and init_unknown_vec is None."
                )
            idx_to_token = [unknown_token, *idx_to_token]
            idx_to_vec = nd.concat(init_unknown_vec((1, idx_to_vec.shape[1])), idx_to_vec, dim=0)
        else:
            idx_to_token = list(idx_to_token)
        self._unknown_token = unknown_token
        self._init_unknown_vec = init_unknown_vec
        self._allow_extend = allow_extend
        self._unknown_lookup = unknown_lookup
        self._idx_to_token = idx_to_token
        self._idx_to_vec = idx_to_vec
        self._token_to_idx = DefaultLookupDict(idx_to_token.index(unknown_token)) if unknown_token else {}
        self._token_to_idx.update((token, i) for i, token in enumerate(idx_to_token))

    @property
    def idx_to_token(self) -> list:
        """The token of each row."""
        return self._idx_to_token

    @property
    def token_to_idx(self) -> dict:
        """The row of each token; unknown tokens give the row of the unknown token."""
        return self._token_to_idx

    @property
    def idx_to_vec(self):
        """The vectors, an NDArray of shape (tokens, dimensions); None while there are none."""
        return self._idx_to_vec

    @property
    def unknown_token(self):
        """What stands for all unknown tokens, or None."""
        return self._unknown_token

    @property
    def allow_extend(self) -> bool:
        """Whether assignment may add tokens."""
        return self._allow_extend

    @property
    def unknown_lookup(self):
        """Where vectors of unknown tokens come from (such as a fastText n-gram model), or None."""
        return self._unknown_lookup

    @unknown_lookup.setter
    def unknown_lookup(self, lookup):
        self._unknown_lookup = lookup

    def __contains__(self, token) -> bool:
        return token in self._token_to_idx

    def __eq__(self, other):
        if not isinstance(other, TokenEmbedding):
            return NotImplemented
        return (
            self.unknown_token == other.unknown_token
            and self.idx_to_token == other.idx_to_token
            and self._token_to_idx == other._token_to_idx
            and np.array_equal(_as_numpy(self.idx_to_vec), _as_numpy(other.idx_to_vec))
        )

    __hash__ = None

    def __getitem__(self, tokens):
        """The vector of a token, shape (dimensions,), or of a list or tuple of tokens, shape (tokens, dimensions)."""
        single = not isinstance(tokens, (list, tuple))
        tokens = [tokens] if single else tokens
        if not tokens:
            raise ValueError("There are no tokens to look up.")
        if self._unknown_lookup is None:
            rows = [self._token_to_idx[t] for t in tokens]
            vectors = self._idx_to_vec.take(nd.array(rows, dtype="int64"))
        elif self._idx_to_vec is None:
            vectors = self._unknown_lookup[list(tokens)]
        else:
            vectors = nd.stack(*[self._look_up(t) for t in tokens], axis=0)
        return vectors[0] if single else vectors

    def _look_up(self, token):
        if token not in self._token_to_idx and token in self._unknown_lookup:
            return self._unknown_lookup[token]
        return self._idx_to_vec[self._token_to_idx[token]]

    def __setitem__(self, tokens, new_embedding):
        """Sets the vectors of one token (1-D or 2-D NDArray) or of several (2-D), adding tokens if allowed.

        KeyError for an unknown token without `allow_extend`; ValueError for vectors of another shape.
        """
        tokens = list(tokens) if isinstance(tokens, (list, tuple)) else [tokens]
        if not isinstance(new_embedding, nd.NDArray):
            raise InvalidArgument(f"New vectors are an NDArray, not a {type(new_embedding).__name__}.")
        vectors = new_embedding.asnumpy()
        if vectors.ndim == 1 and len(tokens) == 1:
            vectors = vectors[None]
        values = self._values_for(tokens, vectors.shape[-1])
        if vectors.shape != (len(tokens), values.shape[1]):
            raise InvalidArgument(
                f"{len(tokens)} token(s) need vectors of shape {(len(tokens), values.shape[1])}, not {vectors.shape}."
            )
        self._add_missing(tokens)
        new_rows = np.zeros((len(self._idx_to_token) - len(values), values.shape[1]), values.dtype)
        values = np.concatenate([values, new_rows])
        values[[self._token_to_idx[t] for t in tokens]] = vectors
        if self._idx_to_vec is not None and not len(new_rows):
            self._idx_to_vec[:] = nd.array(values, dtype=values.dtype)
        else:
            self._idx_to_vec = nd.array(values, dtype=values.dtype)

    def _values_for(self, tokens, width):
        """The present vectors; where there are none, those of the tokens without vectors."""
        if self._idx_to_vec is not None:
            return self._idx_to_vec.asnumpy()
        if not self._allow_extend and not all(t in self for t in tokens):
            raise InvalidArgument("This embedding has no vectors yet; set the vector of its unknown token first.")
        rows = len(self._idx_to_token)
        return self._init_unknown_vec((rows, width)).asnumpy() if rows else np.empty((0, width), "float32")

    def _add_missing(self, tokens):
        missing = [t for t in dict.fromkeys(tokens) if t not in self._token_to_idx]
        if missing and not self._allow_extend:
            way_out = f"name {self.unknown_token!r} to change the unknown vector, or " if self.unknown_token else ""
            raise KeyError(f"Token {missing[0]!r} is unknown; {way_out}build the embedding with allow_extend=True.")
        if len(missing) == 1:
            warnings.warn(
                "Adding tokens one by one copies the whole table each time; add several at once.", stacklevel=3
            )
        for token in missing:
            self._token_to_idx[token] = len(self._idx_to_token)
            self._idx_to_token.append(token)

    @staticmethod
    def from_file(file_path, elem_delim=" ", encoding="utf8", **kwargs):
        """A token embedding from a text file (a token and its numbers per line) or an `.npz` of `serialize`.

        file_path: a path, or a file of the Hugging Face hub, `hf://OWNER/NAME[@REVISION]:FILE`.
        A first line of two fields is taken for a header; of a repeated token the first vector
        counts.  The other arguments are those of TokenEmbedding.
        """
        unknown_token = kwargs.pop("unknown_token", C.UNK_TOKEN)
        init_unknown_vec = kwargs.pop("init_unknown_vec", nd.zeros)
        vectors = _read(_local(file_path), elem_delim, unknown_token, init_unknown_vec, encoding)
        return TokenEmbedding(
            unknown_token, None, idx_to_token=vectors.tokens, idx_to_vec=nd.array(vectors.values), **kwargs
        )

    # What classes call that users derive for tables of their own, published as {source: (file, SHA-1)}.

    @classmethod
    def _check_source(cls, source_file_hash, source):
        """KeyError where the class has no such source."""
        if source not in source_file_hash:
            known = ", ".join(source_file_hash)
            raise KeyError(f"Embedding {cls.__name__.lower()} has no source {source!r}. Its sources are: {known}")

    @classmethod
    def _get_file_path(cls, source_file_hash, embedding_root, source) -> str:
        """The file of a source below `embedding_root`, downloaded when it is not there yet."""
        (file, sha1), name = source_file_hash[source], cls.__name__.lower()
        published = File(file, sha1, f"gluon/embeddings/{name}/{file}", sha1)
        return fetch(published, os.path.join(kept_in(embedding_root, "embedding"), name))

    @staticmethod
    def _load_embedding(pretrained_file_path, elem_delim, unknown_token, init_unknown_vec, encoding="utf8"):
        """Tokens, vectors and unknown token of a file, as the constructor takes them."""
        vectors = _read(pretrained_file_path, elem_delim, unknown_token, init_unknown_vec, encoding)
        return vectors.tokens, nd.array(vectors.values), unknown_token

    def serialize(self, file_path, compress=True):
        """Writes tokens and vectors to an `.npz` file; an `unknown_lookup` is left out."""
        if self._unknown_lookup is not None:
            warnings.warn("serialize leaves out unknown_lookup; save it separately.")
        write_zip(file_path, Vectors(self._idx_to_token, self._idx_to_vec.asnumpy()), self._unknown_token, compress)

    @staticmethod
    def deserialize(file_path, **kwargs):
        """The embedding that `serialize` wrote; other arguments (such as unknown_lookup) go to TokenEmbedding."""
        vectors, unknown_token = read_zip(file_path)
        return TokenEmbedding(
            unknown_token, None, idx_to_token=vectors.tokens, idx_to_vec=nd.array(vectors.values), **kwargs
        )


_embeddings = Registry("token embedding", TokenEmbedding)


def register(embedding_cls):
    """Decorator: makes a TokenEmbedding subclass known to `create`.

    >>> @gluonnlp.embedding.register
    ... class Numbers(gluonnlp.embedding.TokenEmbedding):
    ...     source_file_hash = {}
    >>> "numbers" in gluonnlp.embedding.list_sources()
    True
    """
    return _embeddings.register(embedding_cls)


def create(embedding_name, **kwargs):
    """A published embedding: `create('glove', source='glove.6B.50d')`; `list_sources` knows the sources.

    source: a file of vectors on the Hugging Face hub, too, `hf://OWNER/NAME[@REVISION]:FILE`.
    """
    return _embeddings.create(embedding_name, **kwargs)


def list_sources(embedding_name=None):
    """The published sources of one embedding, or of all: {embedding: [source, ...]}.

    >>> "glove.6B.50d" in gluonnlp.embedding.list_sources("GloVe")
    True
    """
    if embedding_name is None:
        return {name: list(class_.source_file_hash) for name, class_ in _embeddings.items()}
    return list(_embeddings.find(embedding_name).source_file_hash)


def _local(path):
    """The path of a file, which is fetched from the hub if it is there; MXNetError where no file of it is named."""
    path = os.fspath(path)
    if not path.startswith(hub.SCHEME):
        return path
    place = hub.parse(path)
    if place.file is None:
        raise MXNetError(f"{path} names no file of vectors: {path}:FILE does")
    return hub.fetch(place)


class _Published(TokenEmbedding):
    """Loads a table of the source `source`, downloaded to `embedding_root/NAME` when it is not there yet;
    by default that is below $MXNET_HOME/embedding."""

    def __init__(self, source, embedding_root, **kwargs):
        unknown_token = kwargs.pop("unknown_token", C.UNK_TOKEN)
        init_unknown_vec = kwargs.pop("init_unknown_vec", nd.zeros)
        encoding = kwargs.pop("encoding", "utf8")
        vectors = self._load(source, embedding_root, unknown_token, init_unknown_vec, encoding)
        super().__init__(
            unknown_token, None, idx_to_token=vectors.tokens, idx_to_vec=nd.array(vectors.values), **kwargs
        )

    def _load(self, source, root, unknown_token, init_unknown_vec, encoding) -> Vectors:
        return _read(self._fetch(self.source_file_hash, root, source), " ", unknown_token, init_unknown_vec, encoding)

    @classmethod
    def _fetch(cls, source_file_hash, root, source) -> str:
        if source.startswith(hub.SCHEME):
            return _local(source)
        cls._check_source(source_file_hash, source)
        return cls._get_file_path(source_file_hash, root, source)


@register
class GloVe(_Published):
    """Global vectors for word representation (Pennington, Socher and Manning, 2014).

    >>> len(gluonnlp.embedding.list_sources("GloVe")) > 1
    True
    """

    source_file_hash = embedding_files("glove")

    def __init__(self, source="glove.6B.50d", embedding_root=None, **kwargs):
        super().__init__(source, embedding_root, **kwargs)


@register
class FastText(_Published):
    """fastText vectors (Bojanowski et al., 2017; Joulin et al., 2017).

    `load_ngrams` also loads the binary model with its n-gram vectors (gigabytes) as
    `unknown_lookup`, which gives unseen words a vector; KeyError where none was published.

    >>> len(gluonnlp.embedding.list_sources("FastText")) > 1
    True
    """

    source_file_hash = embedding_files("fasttext")
    source_bin_file_hash = embedding_files("fasttext", "ngram_")

    def __init__(
        self,
        source="wiki.simple",
        embedding_root=None,
        load_ngrams=False,
        ctx=None,
        **kwargs,
    ):
        if load_ngrams:
            from ..model.train import FasttextEmbeddingModel

            path = self._fetch(self.source_bin_file_hash, embedding_root, source)
            kwargs["unknown_lookup"] = FasttextEmbeddingModel.load_fasttext_format(path, ctx=ctx)
        super().__init__(source, embedding_root, **kwargs)


@register
class Word2Vec(_Published):
    """word2vec vectors (Mikolov et al., 2013); `source` may also be the path of a binary `.bin` file.

    >>> len(gluonnlp.embedding.list_sources("Word2Vec")) > 1
    True
    """

    source_file_hash = embedding_files("word2vec")

    def __init__(
        self,
        source="GoogleNews-vectors-negative300",
        embedding_root=None,
        encoding="utf8",
        **kwargs,
    ):
        super().__init__(source, embedding_root, encoding=encoding, **kwargs)

    def _load(self, source, root, unknown_token, init_unknown_vec, encoding):
        if not source.endswith(".bin"):
            return super()._load(source, root, unknown_token, init_unknown_vec, encoding)
        vectors = read_word2vec_binary(os.path.expanduser(_local(source)), encoding)
        return _with_unknown(vectors, unknown_token, init_unknown_vec)

    @classmethod
    def from_w2v_binary(cls, pretrained_file_path, encoding="utf8"):
        """The vectors of a file in word2vec's binary format (name ending in `.bin`)."""
        return cls(source=pretrained_file_path, encoding=encoding)


def _read(path, delimiter, unknown_token, init_unknown_vec, encoding) -> Vectors:
    """The table in a file, its row 0 the unknown token's unless that is None."""
    path = os.path.expanduser(path)
    if not os.path.isfile(path):
        raise InvalidArgument(f"{path} is not a file.")
    if not path.endswith(".npz"):
        return _with_unknown(read_text(path, delimiter, encoding, unknown_token), unknown_token, init_unknown_vec)
    (tokens, values), stored = read_zip(path)
    if len(set(tokens)) != len(tokens):
        raise DamagedVectors(f"{path} repeats a token.")
    if stored is not None and stored not in tokens:
        raise DamagedVectors(f"{path}: the unknown token {stored[:50]!r} is none of its tokens.")
    if stored is None:
        return _with_unknown(Vectors(tokens, values), unknown_token, init_unknown_vec, swap=True)
    place = tokens.index(stored)
    if unknown_token:
        tokens[place] = unknown_token
        return Vectors(tokens, values)
    return Vectors(tokens[:place] + tokens[place + 1 :], np.delete(values, place, axis=0))


def _with_unknown(vectors: Vectors, unknown_token, init_unknown_vec, swap=False) -> Vectors:
    """Puts the unknown token in row 0: its own vector when the table has it, else `init_unknown_vec`'s."""
    if not unknown_token:
        return vectors
    tokens, values = vectors
    if unknown_token not in tokens:
        first = init_unknown_vec((values.shape[1],)).asnumpy()
        return Vectors([unknown_token, *tokens], np.concatenate([first[None].astype(values.dtype), values]))
    place, order = tokens.index(unknown_token), list(range(len(tokens)))
    if swap:
        order[0], order[place] = place, 0
    else:
        order.insert(0, order.pop(place))
    return Vectors([tokens[i] for i in order], values[order])


def _as_numpy(array):
    return None if array is None else array.asnumpy()

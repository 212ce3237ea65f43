"""The vocabulary: a two-way map between tokens and their indices."""

from __future__ import annotations

import json
import warnings
from collections.abc import Hashable

from core import nd
from core.files.reader import DamagedFile
from core.files.text import reading

from .. import _constants as C
from ..base import InvalidArgument
from ..data.utils import DefaultLookupDict
from ..embedding import TokenEmbedding

__all__ = ["Vocab"]

_NOT_GIVEN = object()


class Vocab:
    """Indices for the tokens of `counter` (token to frequency), most frequent first, ties in token order.

    The unknown token comes first, then the special tokens, then `reserved_tokens`, then the counted
    tokens: those with at least `min_freq` occurrences, at most `max_size` of them.  Every keyword
    `xxx_token` declares a special token and becomes an attribute.  `unknown_token=None` makes the
    lookup of unknown tokens a KeyError.  `token_to_idx` fixes the positions of some tokens, which
    change positions with the tokens that had them.

    Raises ValueError for inconsistent special tokens, names or indices.

    >>> vocab = gluonnlp.Vocab(gluonnlp.data.count_tokens(["a", "b", "a"]))
    >>> vocab["a"], vocab["never seen"], vocab.to_tokens([4])
    (4, 0, ['a'])
    """

    def __init__(
        self,
        counter=None,
        max_size: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable | None = C.UNK_TOKEN,
        deprecated_padding_token=_NOT_GIVEN,
        deprecated_bos_token=_NOT_GIVEN,
        deprecated_eos_token=_NOT_GIVEN,
        reserved_tokens: list[Hashable] | None = None,
        token_to_idx: dict[Hashable, int] | None = None,
        *,
        padding_token: Hashable | None = C.PAD_TOKEN,
        bos_token: Hashable | None = C.BOS_TOKEN,
        eos_token: Hashable | None = C.EOS_TOKEN,
        **kwargs,
    ):
        if counter and not hasattr(counter, "items"):
            raise InvalidArgument(
                f"counter maps tokens to their frequencies, as count_tokens makes it, given {type(counter).__name__}."
            )
        if min_freq < 1:
            raise InvalidArgument(f"min_freq must be 1 or more, not {min_freq}.")
        special = dict(kwargs)
        for name, by_position, by_name in (
            ("padding_token", deprecated_padding_token, padding_token),
            ("bos_token", deprecated_bos_token, bos_token),
            ("eos_token", deprecated_eos_token, eos_token),
        ):
            if by_position is not _NOT_GIVEN:
                warnings.warn(f"Vocab: give {name} as a keyword argument.", DeprecationWarning, stacklevel=2)
            special[name] = by_name if by_position is _NOT_GIVEN else by_position
        self._set_up(unknown_token, special, reserved_tokens)
        if counter:
            self._index_counted(counter, max_size or len(counter), min_freq)
        self._expose(special)
        if token_to_idx:
            self._move(token_to_idx)

    def _set_up(self, unknown_token, special: dict, reserved_tokens) -> None:
        for name in special:
            if not name.endswith("_token"):
                raise ValueError(f"Vocab has no argument {name!r}; keywords that declare special tokens end in _token.")
        declared = list(dict.fromkeys(token for token in special.values() if token is not None))
        first = declared + list(reserved_tokens or [])
        if reserved_tokens is not None:
            if unknown_token and unknown_token in first:
                raise InvalidArgument(
                    f"reserved_tokens and special tokens may not hold the unknown token {unknown_token!r}."
                )
            if len(set(first)) != len(first):
                raise InvalidArgument(f"reserved_tokens {reserved_tokens} repeats a reserved or special token.")
        self._unknown_token = unknown_token
        self._reserved_tokens = first or None
        self._idx_to_token = ([unknown_token] if unknown_token else []) + first
        self._token_to_idx = DefaultLookupDict(C.UNK_IDX) if unknown_token else {}
        self._token_to_idx.update((token, i) for i, token in enumerate(self._idx_to_token))
        self._embedding = None

    def _index_counted(self, counter, limit: int, min_freq: int) -> None:
        taken = set(self._idx_to_token)
        limit += len(taken)
        alike: dict = {}  # tokens by frequency
        for token, frequency in counter.items():
            if frequency >= min_freq:
                alike.setdefault(frequency, []).append(token)
        tokens, held = self._idx_to_token, len(taken)
        for frequency in sorted(alike, reverse=True):
            tokens += [token for token in sorted(alike[frequency]) if token not in taken]
            if len(tokens) >= limit:
                del tokens[max(limit, held) :]
                break
        self._token_to_idx.update(zip(tokens[held:], range(held, len(tokens))))

    def _expose(self, special: dict) -> None:
        self._identifiers_to_tokens = special
        for name, token in special.items():
            if token is not None and token not in self:
                raise InvalidArgument(f"{name}={token!r} is not part of the vocabulary.")
            if name.startswith("_"):
                raise ValueError(f"{name!r} starts with an underscore: such names are internal.")
            if hasattr(self, name):
                raise ValueError(f"Vocab has an attribute {name!r} already; choose another name for {token!r}.")
            setattr(self, name, token)

    def _move(self, token_to_idx: dict) -> None:
        strange = [token for token in token_to_idx if token not in self._token_to_idx]
        if strange:
            raise ValueError(f"token_to_idx names tokens that are not part of the vocabulary: {strange[:10]}.")
        if len(set(token_to_idx.values())) != len(token_to_idx):
            raise ValueError("token_to_idx gives the same index to several tokens.")
        if not all(0 <= i < len(self) for i in token_to_idx.values()):
            raise ValueError(f"token_to_idx has indices outside of 0 to {len(self) - 1}.")
        for token, new in token_to_idx.items():
            old, ousted = self._token_to_idx[token], self._idx_to_token[new]
            self._token_to_idx[token], self._token_to_idx[ousted] = new, old
            self._idx_to_token[old], self._idx_to_token[new] = ousted, token
        if self._unknown_token:
            self._token_to_idx.default = self._token_to_idx[self._unknown_token]

    @property
    def embedding(self) -> TokenEmbedding | None:
        """The embedding attached by `set_embedding`, row i for token i."""
        return self._embedding

    @property
    def idx_to_token(self) -> list:
        """All tokens, in the order of their indices."""
        return self._idx_to_token

    @property
    def reserved_tokens(self) -> list | None:
        """Special and reserved tokens; None when there are none."""
        return self._reserved_tokens

    @property
    def token_to_idx(self) -> dict:
        """The index of each token; unknown tokens give the unknown token's index."""
        return self._token_to_idx

    @property
    def unknown_token(self):
        """What stands for all unknown tokens, or None."""
        return self._unknown_token

    def __contains__(self, token) -> bool:
        return token in self._token_to_idx

    def __getitem__(self, tokens):
        """The index of a token, or the list of indices of a list or tuple of tokens."""
        if isinstance(tokens, (list, tuple)):
            lookup = self._token_to_idx
            return [lookup[token] for token in tokens]
        return self._token_to_idx[tokens]

    def __len__(self) -> int:
        return len(self._idx_to_token)

    def __iter__(self):
        return iter(self._idx_to_token)

    def __call__(self, tokens):
        return self[tokens]

    def to_indices(self, tokens):
        """The same as `vocab[tokens]`."""
        return self[tokens]

    def to_tokens(self, indices):
        """The token of an index, or the list of tokens of a list or tuple of indices; ValueError beyond the end."""
        if isinstance(indices, (list, tuple)):
            return [self._token_at(i) for i in indices]
        return self._token_at(indices)

    def _token_at(self, index: int):
        if not isinstance(index, int) or index >= len(self):
            raise ValueError(f"{index!r} is no index of this vocabulary; indices are integers below {len(self)}.")
        return self._idx_to_token[index]

    def set_embedding(self, *embeddings) -> None:
        """Attaches token embeddings; several are joined along the vector.  None detaches.

        Tokens that an embedding lacks get its unknown vector.  Raises ValueError for embeddings
        without vectors, or when only some of them know an unknown token.
        """
        if len(embeddings) == 1 and embeddings[0] is None:
            self._embedding = None
            return
        for e in embeddings:
            if not isinstance(e, TokenEmbedding):
                raise InvalidArgument(f"set_embedding takes TokenEmbedding objects, not {type(e).__name__}.")
            if e.idx_to_vec is None:
                raise InvalidArgument(
                    "An embedding without vectors cannot be attached; set emb[emb.unknown_token] first."
                )
        if len({bool(e.unknown_token) for e in embeddings}) > 1:
            raise InvalidArgument("Either all or none of the embeddings must have an unknown token.")
        # Row 0 is each embedding's own first row: there sits the unknown vector.
        rest = self._idx_to_token[1:]
        parts = [nd.concat(e.idx_to_vec[0:1], e[rest], dim=0) if rest else e.idx_to_vec[0:1] for e in embeddings]
        self._embedding = TokenEmbedding(
            self.unknown_token,
            init_unknown_vec=None,
            idx_to_token=self._idx_to_token,
            idx_to_vec=nd.concat(*parts, dim=1) if len(parts) > 1 else parts[0],
        )

    def __repr__(self) -> str:
        quoted = [f'"{x}"' if x else "None" for x in (self._unknown_token, self._reserved_tokens)]
        return f"Vocab(size={len(self)}, unk={quoted[0]}, reserved={quoted[1]})"

    def to_json(self) -> str:
        """The vocabulary as JSON, without an attached embedding."""
        if self._embedding:
            warnings.warn("to_json leaves out the attached embedding; save it with vocab.embedding.serialize.")
        rest = {
            "reserved_tokens": self._reserved_tokens,
            "unknown_token": self._unknown_token,
            "identifiers_to_tokens": self._identifiers_to_tokens,
        }
        if set(map(type, self._idx_to_token)) - {str}:
            return json.dumps({"idx_to_token": self._idx_to_token, "token_to_idx": self._token_to_idx} | rest)
        # Each token is escaped once: what follows is what json.dumps gives, in a quarter of the time.
        tokens = list(map(json.encoder.encode_basestring_ascii, self._idx_to_token))
        numbers = ", ".join([f"{tokens[i]}: {i}" for i in self._token_to_idx.values()])
        listed = ", ".join(tokens)
        return f'{{"idx_to_token": [{listed}], "token_to_idx": {{{numbers}}}, {json.dumps(rest)[1:]}'

    @classmethod
    def from_json(cls, json_str: str) -> Vocab:
        """The vocabulary that `to_json` wrote, in this or an older version of GluonNLP.

        Before 0.7 special tokens stood at the top level, and a token that served two purposes
        occurred twice in the index: its last position counts, as it did then.  MXNetError for a text that is damaged.
        """
        with reading("the JSON text", "the vocabulary"):
            return cls._from_content(json.loads(json_str))

    @classmethod
    def _from_content(cls, content):
        special = dict(content.get("identifiers_to_tokens", {}))
        for name in cls._once_top_level:
            if name in content:
                if name in special:
                    raise InvalidArgument(f"Invalid vocabulary: {name} is given twice.")
                special[name] = content[name]
        declared = set(special.values()) | {content.get("unknown_token")}
        reserved = content.get("reserved_tokens")
        if reserved is not None:
            reserved = [t for t in reserved if t not in declared]
        vocab = cls.__new__(cls)
        vocab._set_up(content.get("unknown_token"), special, reserved)
        idx_to_token, token_to_idx = content["idx_to_token"], content["token_to_idx"]
        if list(token_to_idx) != idx_to_token or list(token_to_idx.values()) != list(range(len(idx_to_token))):
            wrong = [t for t, i in token_to_idx.items() if not 0 <= i < len(idx_to_token) or idx_to_token[i] != t]
            if wrong or set(token_to_idx) != set(idx_to_token):
                raise DamagedFile("Invalid vocabulary: idx_to_token and token_to_idx contradict each other.")
        if len(idx_to_token) > len(token_to_idx):
            warnings.warn("This vocabulary has one token at several indices, as GluonNLP before 0.7 wrote them.")
        vocab._idx_to_token = idx_to_token
        vocab._token_to_idx.clear()
        vocab._token_to_idx.update(token_to_idx)
        if vocab._unknown_token:
            vocab._token_to_idx.default = token_to_idx[vocab._unknown_token]
        vocab._expose(special)
        return vocab

    _once_top_level = ("padding_token", "bos_token", "eos_token")

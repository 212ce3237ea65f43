"""`Vocabulary`: numbers for tokens."""

from __future__ import annotations

import collections

UNKNOWN = 0  # the number of the unknown token


class Vocabulary:
    """Tokens by number, and numbers by token.

    First come the unknown token and the reserved ones, then those of `counter` that occur at least `min_freq` times,
    the most frequent first (equal ones in alphabetical order), `most_freq_count` at most.
    """

    def __init__(self, counter=None, most_freq_count=None, min_freq=1, unknown_token="<unk>", reserved_tokens=None):
        if min_freq <= 0:
            raise AssertionError(f"min_freq is positive, got {min_freq}")
        special = [unknown_token, *(reserved_tokens or ())]
        if len(set(special)) != len(special):
            raise AssertionError(f"the unknown and the reserved tokens are to differ, got {special}")
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else list(reserved_tokens)
        self._idx_to_token = special
        if counter is not None:
            if not isinstance(counter, collections.Counter):
                raise AssertionError(f"counter is a collections.Counter, got {type(counter).__name__}")
            known = set(special)
            limit = len(special) + (len(counter) if most_freq_count is None else most_freq_count)
            for token, count in sorted(counter.items(), key=lambda item: (-item[1], item[0])):
                if count < min_freq or len(special) == limit:
                    break
                if token not in known:
                    special.append(token)
        self._token_to_idx = {token: i for i, token in enumerate(self._idx_to_token)}

    def __len__(self):
        return len(self._idx_to_token)

    @property
    def token_to_idx(self):
        """Numbers by token."""
        return self._token_to_idx

    @property
    def idx_to_token(self):
        """Tokens by number."""
        return self._idx_to_token

    @property
    def unknown_token(self):
        """What stands for tokens that are not there."""
        return self._unknown_token

    @property
    def reserved_tokens(self):
        """Tokens that are there whether they occur or not, or None."""
        return self._reserved_tokens

    def to_indices(self, tokens):
        """The number of a token, or of each in a list; that of the unknown token where it is not there."""
        if not isinstance(tokens, list):
            return self._token_to_idx.get(tokens, UNKNOWN)
        return [self._token_to_idx.get(token, UNKNOWN) for token in tokens]

    def to_tokens(self, indices):
        """The token of a number, or of each in a list. ValueError for numbers beyond the last."""
        found = []
        for i in indices if isinstance(indices, list) else [indices]:
            if not isinstance(i, int) or not 0 <= i < len(self):
                raise ValueError(f"token index {i!r} is not one of 0 to {len(self) - 1}")
            found.append(self._idx_to_token[i])
        return found if isinstance(indices, list) else found[0]

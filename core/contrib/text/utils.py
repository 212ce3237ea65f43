"""Counting tokens."""

from __future__ import annotations

import collections
import re


def count_tokens_from_str(source_str, token_delim=" ", seq_delim="\n", to_lower=False, counter_to_update=None):
    """How often each token of a text occurs, as a Counter: a new one, or the one given.

    token_delim, seq_delim: regular expressions of what stands between tokens and between sentences.
    """
    tokens = filter(None, re.split(f"{token_delim}|{seq_delim}", source_str))
    counter = collections.Counter() if counter_to_update is None else counter_to_update
    counter.update(token.lower() if to_lower else token for token in tokens)
    return counter

"""Byte-level byte pair encoding, as GPT-2 and RoBERTa use it (Radford et al., 2019)."""

from __future__ import annotations

import functools
import itertools
import os
import re
import sys
import unicodedata

from core.files.reader import DamagedFile
from core.files.text import read_json, reading
from gluon import hub
from gluon.store import DownloadError

from ..base import kept_in
from ..published import File, fetch

__all__ = ["GPT2BPETokenizer", "GPT2BPEDetokenizer"]

OF_AUTHORS = "hf://openai-community/gpt2:merges.txt"


class _GPT2BPE:
    """The printable character that stands for each byte: itself, or one from U+0100 on for what does not print."""

    def __init__(self):
        printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
        self._byte_encoder = {code: chr(code) for code in printable}
        for code in range(256):
            if code not in self._byte_encoder:
                self._byte_encoder[code] = chr(256 + len(self._byte_encoder) - len(printable))


class GPT2BPETokenizer(_GPT2BPE):
    """Text to subwords, by the merge ranks of GPT-2 (a published file, kept in `root`, by default $MXNET_HOME/models).

    Where neither MXNet's server nor a mirror answers, the same ranks are taken from GPT-2's repository on the Hugging
    Face hub. Every text can be encoded; a blank before a word belongs to the word and shows as `Ġ`.  merges: pairs of
    subwords in place of the file's, those to be joined first in front.
    """

    bpe_ranks_file_hash = ("openai_webtext_bpe_ranks-396d4d8e.json", "396d4d8ec90cb02f4d56e049e0e4add868bcd943")
    bpe_ranks_archive_hash = ("openai_webtext_bpe_ranks-396d4d8e.zip", "1a770728fd102bc9dc332f322e6bfb294767a685")

    def __init__(self, root=None, merges=None):
        super().__init__()
        if merges is None:
            merges = _read_merges(self._published(kept_in(root, "models")))
        self._ranks = {merge: rank for rank, merge in enumerate(merges)}
        self._cache = {}

    def _published(self, root):
        """The path of the published ranks, or of the same ones as GPT-2's authors have them."""
        archive, archive_sha1 = self.bpe_ranks_archive_hash
        file = File(*self.bpe_ranks_file_hash, f"gluon/dataset/vocab/{archive}", archive_sha1)
        try:
            return fetch(file, root)
        except DownloadError as error:
            try:
                path = hub.fetch(hub.parse(OF_AUTHORS))
            except DownloadError as second:
                raise DownloadError(f"{error}; {second}") from second
            print(f"merges of GPT-2's byte pairs: {OF_AUTHORS}", file=sys.stderr)
            return path

    @property
    def merges(self) -> list[tuple[str, str]]:
        """The pairs of subwords that are joined, those to be joined first in front."""
        return list(self._ranks)

    @classmethod
    def from_file(cls, path):
        """The tokenizer of a `tokenizer.json` (of byte-level pairs: ValueError for others) or of a `merges.txt`."""
        path = os.path.expanduser(path)
        if not path.endswith(".json"):
            return cls(merges=_read_merges(path))
        content = read_json(path)
        with reading(path):
            kinds = content["model"].get("type"), (content.get("pre_tokenizer") or {}).get("type")
            if kinds != ("BPE", "ByteLevel"):
                raise DamagedFile(
                    f"{path} describes a tokenizer of {kinds[0]} on {kinds[1]}; BPE on ByteLevel is expected."
                )
            merges = content["model"]["merges"]
            return cls(merges=_pairs(path, (m.split(" ") if isinstance(m, str) else m for m in merges)))

    def __call__(self, sample):
        encoder, subwords = self._byte_encoder, []
        for word in _word_pattern(sample.isascii()).findall(sample):
            subwords += self.get_bpe_subword("".join([encoder[byte] for byte in word.encode("utf8")]))
        return subwords

    def get_bpe_subword(self, token):
        """The subwords of one word whose bytes were already replaced by characters."""
        if token not in self._cache:
            self._cache[token] = self._merge(list(token))
        return self._cache[token]

    def _merge(self, parts):
        """Joins the neighbours of the lowest rank, everywhere, until no pair has a rank."""
        never = len(self._ranks)
        while len(parts) > 1:
            best = min(itertools.pairwise(parts), key=lambda pair: self._ranks.get(pair, never))
            if best not in self._ranks:
                break
            merged, i = [], 0
            while i < len(parts):
                both = tuple(parts[i : i + 2]) == best
                merged.append("".join(best) if both else parts[i])
                i += 2 if both else 1
            parts = merged
        return parts


def _read_merges(path):
    with open(path, encoding="utf8") as file, reading(path):
        return _pairs(path, map(str.split, file.read().split("\n")[1:-1]))  # the first line is a version


def _pairs(path, merges):
    merges = [tuple(merge) for merge in merges]
    for number, merge in enumerate(merges):
        if len(merge) != 2 or not all(isinstance(part, str) for part in merge):
            raise DamagedFile(f"{path}: merge {number} is {str(merge)[:80]}; two subwords are expected.")
    return merges


class GPT2BPEDetokenizer(_GPT2BPE):
    """The text of a list of subwords; bytes that are no UTF-8 become U+FFFD.

    >>> gluonnlp.data.GPT2BPEDetokenizer()(["Hello", "Ġworld"])
    'Hello world'
    """

    def __init__(self):
        super().__init__()
        self._byte_decoder = {char: code for code, char in self._byte_encoder.items()}

    def __call__(self, sample):
        return bytes(self._byte_decoder[char] for char in "".join(sample)).decode("utf8", errors="replace")


@functools.cache
def _word_pattern(ascii_only):
    """GPT-2's words: contractions; runs of letters, digits or other signs, each with a blank before; white space."""
    # Python's `re` takes an order of magnitude longer for classes that reach beyond ASCII.
    letter, number = ("a-zA-Z", "0-9") if ascii_only else (_class_of("L"), _class_of("N"))
    other = f" ?[^{_WHITE}{letter}{number}]+"
    return re.compile(
        f"'s|'t|'re|'ve|'m|'ll|'d| ?[{letter}]+| ?[{number}]+|{other}|[{_WHITE}]+(?![^{_WHITE}])|[{_WHITE}]+"
    )


def _class_of(category):
    """The characters of a Unicode general category as ranges of a regular expression."""
    ranges = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] == category:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


# Unicode's White_Space, without U+001C to U+001F, which Python's \s has in addition.
_WHITE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

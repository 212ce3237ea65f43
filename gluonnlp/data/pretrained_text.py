"""Tokenizers and vocabularies of others: a folder of transformers, or a repository of the Hugging Face hub."""

from __future__ import annotations

import os

from core.base import MXNetError
from core.files.text import read_json, reading
from gluon import hub
from gluon.store import DownloadError

from .bert_tokenizer import BERTTokenizer
from .gpt2_tokenizer import GPT2BPETokenizer
from .transforms import SentencepieceTokenizer

__all__ = ["load_tokenizer"]

# What a folder may have: kind of tokenizer -> files, of which the first that is there is read.
FILES = {
    "SentencePiece": ("spiece.model",),
    "WordPiece": ("tokenizer.json", "vocab.txt"),
    "BPE": ("tokenizer.json", "merges.txt"),
}
EVERY_FILE = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt", "spiece.model")
# Special words of byte pairs, of those networks whose words they are among.
OF_ROBERTA = {
    "unknown_token": "<unk>", "padding_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "mask_token": "<mask>",
}  # fmt: skip
OF_GPT2 = {"eos_token": "<|endoftext|>"}


def load_tokenizer(source):
    """(tokenizer, vocabulary) of a folder as transformers writes it, or of a repository, `hf://OWNER/NAME[@REVISION]`.

    It has tokenizer.json; or vocab.txt, for word pieces; or vocab.json and merges.txt, for byte pairs; or
    spiece.model. Nothing else of the repository is fetched. DownloadError where it has none of them, or cannot be had.

    >>> tokenizer, vocab = load_tokenizer("hf://google-bert/bert-base-uncased")  # doctest: +SKIP
    """
    source = os.fspath(source)
    folder = fetched(source) if source.startswith(hub.SCHEME) else os.path.expanduser(source)
    if not os.path.isdir(folder):
        raise MXNetError(f"{source} is no folder, and no hf://OWNER/NAME")
    return read_tokenizer(folder, _kind(folder))


def read_tokenizer(folder: str, kind: str, special_tokens: dict[str, str] | None = None):
    """(tokenizer, vocabulary) of a folder; kind: "WordPiece", "BPE" or "SentencePiece".

    special_tokens: those of byte pairs, as far as they are among the words; by default those of RoBERTa or GPT-2.
    """
    from ..vocab import BERTVocab, Vocab

    file = _first(folder, *FILES[kind])
    if kind == "SentencePiece":
        return SentencepieceTokenizer(file), BERTVocab.from_sentencepiece(file)
    if kind == "WordPiece":
        settings = os.path.join(folder, "tokenizer_config.json")
        lower = read_json(settings).get("do_lower_case", True) if os.path.exists(settings) else True
        tokenizer = BERTTokenizer.from_file(file, lower)
        return tokenizer, tokenizer.vocab
    if file.endswith(".json"):
        with reading(file):
            subwords = read_json(file)["model"]["vocab"]
    else:
        subwords = read_json(_first(folder, "vocab.json"))
    special_tokens = special_tokens or (OF_ROBERTA if "<s>" in subwords else OF_GPT2)
    known = {name: token for name, token in special_tokens.items() if token in subwords}
    known = {"unknown_token": None, "padding_token": None, "bos_token": None, "eos_token": None, **known}
    return GPT2BPETokenizer.from_file(file), Vocab(dict.fromkeys(subwords, 1), token_to_idx=subwords, **known)


def fetched(source: str) -> str:
    """The local folder with the files of a tokenizer that a repository has; DownloadError where there are none."""
    place, folder, missing = hub.parse(source), None, None
    for file in EVERY_FILE:
        try:
            folder = os.path.dirname(hub.fetch(place._replace(file=file)))
        except hub.Missing as error:
            missing = error
    if folder is None:
        raise DownloadError(f"{source} has no tokenizer: none of {', '.join(EVERY_FILE)}") from missing
    return folder


def _kind(folder):
    if os.path.exists(os.path.join(folder, "spiece.model")):
        return "SentencePiece"
    file = _first(folder, *EVERY_FILE)
    if os.path.basename(file) == "tokenizer.json":
        with reading(file):
            kind = read_json(file)["model"]["type"]
        if kind in ("WordPiece", "BPE"):
            return kind
        raise MXNetError(f"{file} describes a tokenizer of {kind}; known are WordPiece, BPE and SentencePiece")
    return "WordPiece" if os.path.exists(os.path.join(folder, "vocab.txt")) else "BPE"


def _first(folder, *names):
    for name in names:
        if os.path.exists(path := os.path.join(folder, name)):
            return path
    raise MXNetError(f"{folder} has no tokenizer: none of {', '.join(names)}")

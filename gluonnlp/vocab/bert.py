"""The vocabulary of BERT and its relatives."""

from __future__ import annotations

import json
import os

from core.files.reader import DamagedFile
from core.files.text import reading

from ..base import InvalidArgument
from .vocab import Vocab

__all__ = ["BERTVocab"]

UNKNOWN_TOKEN = "[UNK]"
PADDING_TOKEN = "[PAD]"
MASK_TOKEN = "[MASK]"
SEP_TOKEN = "[SEP]"
CLS_TOKEN = "[CLS]"


_SPECIAL = {
    "unknown_token": UNKNOWN_TOKEN,
    "padding_token": PADDING_TOKEN,
    "mask_token": MASK_TOKEN,
    "sep_token": SEP_TOKEN,
    "cls_token": CLS_TOKEN,
}


class BERTVocab(Vocab):
    """A `Vocab` with the special tokens of BERT (Devlin et al., 2019): [UNK] [CLS] [SEP] [MASK] [PAD].

    >>> vocab = gluonnlp.vocab.BERTVocab(gluonnlp.data.count_tokens(["a"]))
    >>> vocab.cls_token, vocab.sep_token, len(vocab)
    ('[CLS]', '[SEP]', 6)
    """

    def __init__(
        self,
        counter=None,
        max_size=None,
        min_freq=1,
        unknown_token=UNKNOWN_TOKEN,
        padding_token=PADDING_TOKEN,
        bos_token=None,
        eos_token=None,
        mask_token=MASK_TOKEN,
        sep_token=SEP_TOKEN,
        cls_token=CLS_TOKEN,
        reserved_tokens=None,
        token_to_idx=None,
    ):
        super().__init__(
            counter,
            max_size,
            min_freq,
            unknown_token,
            reserved_tokens=reserved_tokens,
            token_to_idx=token_to_idx,
            cls_token=cls_token,
            sep_token=sep_token,
            mask_token=mask_token,
            padding_token=padding_token,
            bos_token=bos_token,
            eos_token=eos_token,
        )

    @classmethod
    def from_sentencepiece(
        cls,
        path,
        mask_token=MASK_TOKEN,
        sep_token=SEP_TOKEN,
        cls_token=CLS_TOKEN,
        unknown_token=None,
        padding_token=None,
        bos_token=None,
        eos_token=None,
        reserved_tokens=None,
    ):
        """The pieces of a sentencepiece model, at their own indices.

        Tokens that the model defines itself (unknown, beginning, end, padding) are taken from it;
        ValueError when another name was given for one of them.
        """
        from ..data.transforms import SentencepieceTokenizer

        model = SentencepieceTokenizer(os.path.expanduser(path))
        pieces, own = model.tokens, model.special_ids()

        def agreed(name, given):
            if own[name] < 0:
                return given
            piece = pieces[own[name]]
            if given and given != piece:
                raise InvalidArgument(f"{name} is {piece!r} in {path}, not {given!r}.")
            return piece

        return cls(
            dict.fromkeys(pieces, 1),
            unknown_token=agreed("unknown_token", unknown_token),
            padding_token=agreed("padding_token", padding_token),
            bos_token=agreed("bos_token", bos_token),
            eos_token=agreed("eos_token", eos_token),
            mask_token=mask_token,
            sep_token=sep_token,
            cls_token=cls_token,
            reserved_tokens=reserved_tokens,
            token_to_idx={piece: i for i, piece in enumerate(pieces)},
        )

    @classmethod
    def from_word_pieces(cls, path):
        """The word pieces of a published BERT, at their own indices: a `vocab.txt` or a `tokenizer.json`.

        Special tokens that the file lacks are None.  ValueError for a tokenizer that is not WordPiece.
        """
        path = os.path.expanduser(path)
        with reading(path):
            pieces = _read_word_pieces(path)
            known = {name: token if token in pieces else None for name, token in _SPECIAL.items()}
            return cls(dict.fromkeys(pieces, 1), token_to_idx=pieces, **known)

    _once_top_level = Vocab._once_top_level + ("mask_token", "sep_token", "cls_token")


def _read_word_pieces(path):
    """{piece: index}"""
    with open(path, encoding="utf8") as file:
        if not path.endswith(".json"):
            return {line.rstrip("\n"): i for i, line in enumerate(file)}
        model = json.load(file)["model"]
    if model.get("type", "WordPiece") != "WordPiece":
        raise DamagedFile(f"{path} describes a {str(model['type'])[:40]} tokenizer; WordPiece is expected.")
    if not isinstance(model["vocab"], dict) or not all(type(index) is int for index in model["vocab"].values()):
        raise DamagedFile(f"{path}: an index by word piece is expected in its vocabulary.")
    return model["vocab"]

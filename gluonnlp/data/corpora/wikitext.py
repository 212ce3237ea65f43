"""WikiText (Merity et al., 2017): good and featured articles of Wikipedia."""

from __future__ import annotations

from ..._constants import EOS_TOKEN
from ..dataset import CorpusDataset
from ..hosted import Hosted
from ..registry import register
from ..utils import whitespace_splitter

__all__ = ["WikiText2", "WikiText103", "WikiText2Raw", "WikiText103Raw"]

_SEGMENTS = ["train", "val", "test"]


def _to_bytes(line):
    return line.encode("utf8")


class _WikiText(Hosted, CorpusDataset):
    """Tokens of all lines in one list, or with `flatten=False` a list for each line.

    segment: 'train', 'val' or 'test'.  The other arguments are those of CorpusDataset.
    """

    def __init__(
        self,
        segment="train",
        flatten=True,
        skip_empty=True,
        tokenizer=whitespace_splitter,
        bos=None,
        eos=EOS_TOKEN,
        root=None,
        **kwargs,
    ):
        self._check("segment", segment, _SEGMENTS)
        super().__init__(
            self._find(segment, root),
            flatten=flatten,
            skip_empty=skip_empty,
            tokenizer=tokenizer,
            bos=bos,
            eos=eos,
            **kwargs,
        )


@register(segment=_SEGMENTS)
class WikiText2(_WikiText):
    """2 million words with a vocabulary of 33,278.

    >>> gluonnlp.data.list_datasets("WikiText2")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "wikitext-2"


@register(segment=_SEGMENTS)
class WikiText103(_WikiText):
    """103 million words with a vocabulary of 267,735.

    >>> gluonnlp.data.list_datasets("WikiText103")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "wikitext-103"


@register(segment=_SEGMENTS)
class WikiText2Raw(_WikiText):
    """WikiText-2 as it was, without `<unk>`; tokens are the UTF-8 bytes of a line unless a tokenizer is given.

    >>> gluonnlp.data.list_datasets("WikiText2Raw")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "wikitext-2"

    # Arguments in GluonNLP's order, which is not that of the other three.
    def __init__(
        self,
        segment="train",
        flatten=True,
        skip_empty=True,
        bos=None,
        eos=None,
        tokenizer=_to_bytes,
        root=None,
        **kwargs,
    ):
        super().__init__(segment, flatten, skip_empty, tokenizer, bos, eos, root, **kwargs)


@register(segment=_SEGMENTS)
class WikiText103Raw(_WikiText):
    """WikiText-103 as it was, without `<unk>`; tokens are the UTF-8 bytes of a line unless a tokenizer is given.

    >>> gluonnlp.data.list_datasets("WikiText103Raw")
    {'segment': ['train', 'val', 'test']}
    """

    folder = "wikitext-103"

    def __init__(
        self,
        segment="train",
        flatten=True,
        skip_empty=True,
        tokenizer=_to_bytes,
        bos=None,
        eos=None,
        root=None,
        **kwargs,
    ):
        super().__init__(segment, flatten, skip_empty, tokenizer, bos, eos, root, **kwargs)

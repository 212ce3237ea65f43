"""Which tokenizer goes with which pretrained model."""

from __future__ import annotations

import os

from core.base import nearest
from gluon.hub import SCHEME

from ..base import InvalidArgument, kept_in
from .pretrained_text import load_tokenizer
from .transforms import BERTTokenizer, GPT2BPETokenizer
from .utils import _load_pretrained_sentencepiece_tokenizer

__all__ = ["get_tokenizer"]

# model_dataset: whether its word pieces are lower-cased.  The two multilingual entries look exchanged;
# they are what the published models have always been used with.
_WORD_PIECES = {
    "bert_12_768_12_book_corpus_wiki_en_cased": False,
    "bert_12_768_12_book_corpus_wiki_en_uncased": True,
    "bert_12_768_12_openwebtext_book_corpus_wiki_en_uncased": True,
    "bert_12_768_12_wiki_multilingual_uncased": False,
    "bert_12_768_12_wiki_multilingual_cased": True,
    "bert_12_768_12_wiki_cn_cased": False,
    "bert_24_1024_16_book_corpus_wiki_en_cased": False,
    "bert_24_1024_16_book_corpus_wiki_en_uncased": True,
    "bert_12_768_12_scibert_scivocab_uncased": True,
    "bert_12_768_12_scibert_scivocab_cased": False,
    "bert_12_768_12_scibert_basevocab_uncased": True,
    "bert_12_768_12_scibert_basevocab_cased": False,
    "bert_12_768_12_biobert_v1.0_pmc_cased": False,
    "bert_12_768_12_biobert_v1.0_pubmed_cased": False,
    "bert_12_768_12_biobert_v1.0_pubmed_pmc_cased": False,
    "bert_12_768_12_biobert_v1.1_pubmed_cased": False,
    "bert_12_768_12_clinicalbert_uncased": True,
    "ernie_12_768_12_baidu_ernie_uncased": True,
}
_BYTE_PAIRS = (
    "roberta_12_768_12_openwebtext_ccnews_stories_books_cased",
    "roberta_24_1024_16_openwebtext_ccnews_stories_books_cased",
)
_SENTENCEPIECE = ("bert_12_768_12_kobert_news_wiki_ko_cased",)


def get_tokenizer(model_name, dataset_name, vocab=None, root=None, **kwargs):
    """The tokenizer that a pretrained model was trained with.

    dataset_name: a folder of transformers or `hf://OWNER/NAME` takes the tokenizer from there, see `load_tokenizer`.
    vocab: the vocabulary, for BERTTokenizer.  root: where files of the others are kept, by default
    $MXNET_HOME/data.  The other arguments go to the tokenizer.  ValueError for unknown pairs of model and data set.

    >>> tokenizer = gluonnlp.data.get_tokenizer("bert_12_768_12", "book_corpus_wiki_en_uncased", vocab=gluonnlp.vocab.BERTVocab({"hug": 1, "##ging": 1, "trees": 1}))
    >>> tokenizer("Hugging trees")
    ['hug', '##ging', 'trees']
    """
    if dataset_name.startswith(SCHEME) or os.path.isdir(dataset_name):
        if kwargs:
            raise InvalidArgument(f"{', '.join(kwargs)}: the settings of the tokenizer are those of {dataset_name}.")
        return load_tokenizer(dataset_name)[0]
    name = f"{model_name}_{dataset_name}".lower()
    if name in _WORD_PIECES:
        if vocab is None:
            raise InvalidArgument(f"The tokenizer of {name} needs its vocabulary: get_tokenizer(..., vocab=vocab).")
        return BERTTokenizer(vocab, **{"lower": _WORD_PIECES[name], **kwargs})
    if name in _BYTE_PAIRS:
        return GPT2BPETokenizer(root=kept_in(root, "data"))
    if name in _SENTENCEPIECE:
        return _load_pretrained_sentencepiece_tokenizer(dataset_name.lower(), kept_in(root, "data"), **kwargs)
    known = [*_WORD_PIECES, *_BYTE_PAIRS, *_SENTENCEPIECE]
    raise ValueError(f"There is no tokenizer for {name!r}.{nearest(name, known)} There are: {', '.join(known)}.")

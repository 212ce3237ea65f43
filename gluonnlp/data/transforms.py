"""Transforms of sequences, and tokenizers built on other packages."""

from __future__ import annotations

import os
import shutil
import warnings

import numpy as np

from core import nd
from core.files.archives import Archive

from ..base import kept_in
from ..published import File, fetch
from .bert_tokenizer import BERTBasicTokenizer, BERTSentenceTransform, BERTSPTokenizer, BERTTokenizer
from .gpt2_tokenizer import GPT2BPEDetokenizer, GPT2BPETokenizer
from .moses import SacreMosesDetokenizer, SacreMosesTokenizer

__all__ = [
    "ClipSequence",
    "PadSequence",
    "SacreMosesTokenizer",
    "SpacyTokenizer",
    "SacreMosesDetokenizer",
    "JiebaTokenizer",
    "NLTKStanfordSegmenter",
    "SentencepieceTokenizer",
    "SentencepieceDetokenizer",
    "BERTBasicTokenizer",
    "BERTTokenizer",
    "BERTSentenceTransform",
    "BERTSPTokenizer",
    "GPT2BPETokenizer",
    "GPT2BPEDetokenizer",
]


class ClipSequence:
    """At most the first `length` items of a sequence.

    >>> gluonnlp.data.ClipSequence(2)([1, 2, 3])
    [1, 2]
    """

    def __init__(self, length):
        self._length = length

    def __call__(self, sample):
        return sample[: min(len(sample), self._length)]


class PadSequence:
    """A list, NumPy array or NDArray padded with `pad_val` along axis 0 to `length` items.

    What is longer is cut, unless `clip` is False.  NotImplementedError for other types.

    >>> gluonnlp.data.PadSequence(4, pad_val=-1)([1, 2])
    [1, 2, -1, -1]
    """

    def __init__(self, length, pad_val=0, clip=True):
        self._length = length
        self._pad_val = pad_val
        self._clip = clip

    def __call__(self, sample):
        missing = self._length - len(sample)
        if missing <= 0:
            return sample[: self._length] if missing < 0 and self._clip else sample
        if isinstance(sample, list):
            return sample + [self._pad_val] * missing
        if isinstance(sample, np.ndarray):
            return np.pad(sample, [(0, missing)] + [(0, 0)] * (sample.ndim - 1), constant_values=self._pad_val)
        if isinstance(sample, nd.NDArray):
            rest = nd.full((missing, *sample.shape[1:]), self._pad_val, ctx=sample.context, dtype=sample.dtype)
            return nd.concat(sample, rest, dim=0)
        raise NotImplementedError(f"PadSequence takes a list, NumPy array or NDArray, not a {type(sample).__name__}.")


class SpacyTokenizer:
    """The word tokenizer of spaCy; ImportError without the package, OSError without the model `lang`."""

    def __init__(self, lang="en_core_web_sm"):
        try:
            import spacy
        except ImportError as error:
            raise ImportError("SpacyTokenizer needs spaCy 2 or newer: pip install spacy") from error
        try:
            self._nlp = spacy.load(lang, disable=["parser", "tagger", "ner"])
        except OSError as error:
            raise OSError(f"spaCy has no model {lang!r}: python -m spacy download {lang}") from error

    def __call__(self, sample):
        return [token.text for token in self._nlp(sample)]


class JiebaTokenizer:
    """Chinese word segmentation by jieba, without blanks; ImportError without the package."""

    def __init__(self):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of jieba's own imports
                import jieba
        except ImportError as error:
            raise ImportError("JiebaTokenizer needs jieba: pip install jieba") from error
        self._tokenizer = jieba

    def __call__(self, sample):
        return [token for token in self._tokenizer.cut(sample) if token not in (" ", "")]


class NLTKStanfordSegmenter:
    """Chinese word segmentation by the Stanford segmenter through NLTK; needs Java 8, downloads the segmenter.

    ImportError without NLTK, RuntimeError without Java.
    """

    _segmenter = File(
        "stanford-segmenter-2018-02-27.zip",
        "aa27a6433704b7b4c6a14be1c126cb4b14b8f57b",
        "https://nlp.stanford.edu/software/stanford-segmenter-2018-02-27.zip",
        "aa27a6433704b7b4c6a14be1c126cb4b14b8f57b",
    )
    _slf4j = File(
        "slf4j-1.7.25.zip",
        "89ea41ad6ebe1b190139421bb7c8d981e9df1625",
        "https://www.slf4j.org/dist/slf4j-1.7.25.zip",
        "89ea41ad6ebe1b190139421bb7c8d981e9df1625",
    )

    def __init__(
        self,
        segmenter_root=None,
        slf4j_root=None,
        java_class="edu.stanford.nlp.ie.crf.CRFClassifier",
    ):
        if shutil.which("java") is None:
            raise RuntimeError("NLTKStanfordSegmenter needs Java 8; there is no java on the path.")
        try:
            from nltk.tokenize import StanfordSegmenter
        except ImportError as error:
            raise ImportError("NLTKStanfordSegmenter needs NLTK: pip install nltk") from error
        folder = os.path.join(
            _unpacked(self._segmenter, kept_in(segmenter_root, "stanford-segmenter")), "stanford-segmenter-2018-02-27"
        )
        logging = os.path.join(
            _unpacked(self._slf4j, kept_in(slf4j_root, "slf4j")), "slf4j-1.7.25", "slf4j-api-1.7.25.jar"
        )
        data = os.path.join(folder, "data")
        self._tokenizer = StanfordSegmenter(
            java_class=java_class,
            path_to_jar=os.path.join(folder, "stanford-segmenter-3.9.1.jar"),
            path_to_slf4j=logging,
            path_to_dict=os.path.join(data, "dict-chris6.ser.gz"),
            path_to_sihan_corpora_dict=data,
            path_to_model=os.path.join(data, "pku.gz"),
        )

    def __call__(self, sample):
        return self._tokenizer.segment(sample).strip().split()


def _unpacked(file, root):
    """Fetches a zip archive into `root` and unpacks it there."""
    archive = fetch(file, root)
    if not os.path.isdir(archive.removesuffix(".zip")):
        Archive(archive).extract(root)
    return root


class _SentencepieceProcessor:
    def __init__(self, path):
        try:
            import sentencepiece
        except ImportError as error:
            raise ImportError("Sentencepiece models need sentencepiece: pip install sentencepiece") from error
        if not os.path.isfile(path):
            raise FileNotFoundError(f"There is no sentencepiece model {path}.")
        self._processor = sentencepiece.SentencePieceProcessor()
        self._processor.Load(path)

    def __len__(self):
        return len(self._processor)

    @property
    def tokens(self):
        """All pieces, in the order of their indices."""
        return [self._processor.IdToPiece(i) for i in range(len(self))]

    def special_ids(self):
        """The indices of the model's own special tokens, -1 for those it does not have."""
        p = self._processor
        return {
            "unknown_token": p.unk_id(),
            "padding_token": p.pad_id(),
            "bos_token": p.bos_id(),
            "eos_token": p.eos_id(),
        }


class SentencepieceTokenizer(_SentencepieceProcessor):
    """The pieces of a text by a sentencepiece model (Kudo and Richardson, 2018).

    num_best: 0 or 1 for the best segmentation, n > 1 to draw one of the n best, -1 of all, with
    smoothing `alpha`.  ImportError without the package, FileNotFoundError without the model.
    """

    def __init__(self, path, num_best=0, alpha=1.0):
        super().__init__(path)
        self._num_best = num_best
        self._alpha = alpha

    def __call__(self, sample):
        if self._num_best in (0, 1):
            return self._processor.EncodeAsPieces(sample)
        return self._processor.SampleEncodeAsPieces(sample, self._num_best, self._alpha)


class SentencepieceDetokenizer(_SentencepieceProcessor):
    """The text of a list of pieces."""

    def __call__(self, sample):
        return self._processor.DecodePieces(sample)

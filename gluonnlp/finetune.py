"""Classifiers of one's own texts: a network with a new last layer, and a table of texts and labels."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from core import nd
from core.base import MXNetError
from core.context import Context
from core.files.atomic import write_bytes
from core.files.text import reading
from core.initializer import Normal, Xavier
from gluon import HybridBlock, hub
from gluon.data import DataLoader, SimpleDataset
from gluon.finetune import Classifier, Evaluation, Recipe, held_out
from gluon.finetune.report import fit_and_report

from .data.batchify import Pad
from .data.bert_tokenizer import BERTTokenizer
from .data.gpt2_tokenizer import GPT2BPETokenizer
from .data.sampler import SortedBucketSampler
from .model.bert import BERTClassifier, RoBERTaClassifier, RoBERTaModel
from .model.huggingface import load_huggingface
from .model.registry import get_model
from .model.text_cnn import TextCNN
from .vocab import BERTVocab, Vocab

__all__ = ["Reader", "TextClassifier", "default_recipe", "read_table", "train_classifier"]

# Which published vocabulary and weights a name means, where it is not said.
DATASETS = {
    "bert": "book_corpus_wiki_en_uncased",
    "roberta": "openwebtext_ccnews_stories_books_cased",
    "distilbert": "distilbert_book_corpus_wiki_en_uncased",
}
# The heads of a published network that a classifier of texts leaves out.
HEADS = {"bert": ("use_decoder", "use_classifier"), "roberta": ("use_decoder",), "distilbert": ()}
TEXTCNN = "textcnn"
# A filter of TextCNN spans so many words.
SHORTEST = 5


def train_classifier(
    table: str | os.PathLike,
    text: str,
    label: str,
    model: str = TEXTCNN,
    folder: str | os.PathLike | None = None,
    *,
    pretrained: Any = True,
    recipe: Recipe | None = None,
    max_length: int = 128,
    validation: float = 0.2,
    context: Context | list[Context] | None = None,
    say: Callable[[str], None] = lambda line: None,
    bar: bool = False,
) -> tuple[TextClassifier, Evaluation]:
    """A classifier of the texts in a table, and how it does on those that were held out.

    table: a .csv or .tsv file whose first line names the columns; text, label: names of two of them. model: "textcnn",
    which learns from nothing with the words of the table; a BERT or RoBERTa by name, with weights as `get_model` takes
    them: True, a folder of transformers or "hf://OWNER/NAME". folder: where to write the classifier
    (`TextClassifier.load`), report.html, report.json and checkpoints; None: nowhere. max_length: words or pieces of a
    text that are read. validation: the part of each class that is held out. say, bar: as in `Classifier.fit`.
    recipe: by default `default_recipe(model)`.
    MXNetError for other columns and for fewer than two classes.

    >>> net, result = train_classifier("mails.csv", "body", "folder", folder="out")  # doctest: +SKIP
    >>> net.predict(["Win a prize now!"])[0][0]                                      # doctest: +SKIP
    ('spam', 0.97)
    """
    recipe = recipe or default_recipe(model)
    rows = read_table(table, text, label)
    classes = sorted({row[1] for row in rows})
    samples = [(row[0], classes.index(row[1])) for row in rows]
    train, held = held_out(samples, validation, recipe.seed)
    if model == TEXTCNN:
        classifier = TextClassifier.of_words([sample[0] for sample in train], classes, max_length, context)
    else:
        classifier = TextClassifier.of_pretrained(model, classes, pretrained, max_length, context)
    return classifier, fit_and_report(classifier, train, held, recipe, model, table, folder, say, bar)


def default_recipe(model: str, **settings: Any) -> Recipe:
    """How a network for texts learns unless said otherwise: all of it at one rate, which for transformers is small.

    settings: of `Recipe`, in place of the default ones.
    """
    usual = {"body_rate": 1.0} if model == TEXTCNN else {"body_rate": 1.0, "rate": 1e-4, "epochs": 4, "ema": 0.0}
    return Recipe(**(usual | settings))


def read_table(table: str | os.PathLike, text: str, label: str) -> list[tuple[str, str]]:
    """(text, label) of each row of a .csv or .tsv file in UTF-8 that has neither empty; MXNetError for other columns."""
    path = Path(table).expanduser()
    if not path.is_file():
        raise MXNetError(f"there is no file {path}")
    with reading(path, "the table"), open(path, newline="", encoding="utf-8-sig") as file:
        lines = csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        columns = list(lines.fieldnames or ())
        for column in (text, label):
            if column not in columns:
                raise MXNetError(f"{path} has no column {column!r}; its columns are {', '.join(columns) or 'none'}")
        rows = [(row[text], row[label].strip()) for row in lines if row[text] and (row[label] or "").strip()]
    if not rows:
        raise MXNetError(f"{path} has no row with a text in {text!r} and a label in {label!r}")
    return rows


class Reader:
    """From texts to the inputs of a network.

    kind: "words", lower-case words and signs; "word pieces"; "byte pairs". lower: whether word pieces are cut from
    lower case. merges: those of the byte pairs, "a b". segments: whether the network is called with the segments of its
    pieces, too. MXNetError for other kinds.
    """

    def __init__(
        self, kind: str, vocab: Vocab, max_length: int, lower: bool = True, merges: Sequence[str] = (),
        segments: bool = False,
    ):  # fmt: skip
        self.kind, self.vocab, self.max_length, self.lower = kind, vocab, max_length, lower
        self.merges, self.segments = tuple(merges), segments
        if kind == "words":
            self._cut, self._marks = words, []
        elif kind == "word pieces":
            self._cut, self._marks = BERTTokenizer(vocab, lower=lower), [vocab.cls_token, vocab.sep_token]
        elif kind == "byte pairs":
            self._cut = GPT2BPETokenizer(merges=[tuple(merge.split(" ")) for merge in merges])
            self._marks = [vocab.bos_token, vocab.eos_token]
        else:
            raise MXNetError(f"texts are read as words, word pieces or byte pairs, got {kind!r}")

    def numbers(self, text: str) -> list[int]:
        """The numbers of a text's words or pieces, with what a network has around them."""
        if not self._marks:
            found = self.vocab[self._cut(text)[: self.max_length]]
            return found + [self.vocab[self.vocab.padding_token]] * (SHORTEST - len(found))
        begin, end = self._marks
        return self.vocab[[begin, *self._cut(text)[: self.max_length - 2], end]]

    def batch(self, samples: Sequence[tuple[list[int], float]]) -> list[nd.NDArray]:
        """Inputs of the network and labels."""
        numbers = [np.asarray(sample[0], "int32") for sample in samples]
        padded = Pad(pad_val=self.vocab[self.vocab.padding_token], dtype="int32", round_to=8)(numbers)
        inputs = [padded]
        if self.segments:
            inputs.append(nd.zeros(padded.shape, dtype="int32"))
        if self._marks:
            inputs.append(nd.array([len(row) for row in numbers]))
        return [*inputs, nd.array([sample[1] for sample in samples])]

    def settings(self) -> dict:
        """What makes it again, besides the vocabulary, for JSON."""
        return {name: getattr(self, name) for name in ("kind", "max_length", "lower", "merges", "segments")}


class TextClassifier(Classifier):
    """A network for texts; a sample is (text, number of its class). reader: how texts become inputs."""

    kind = "texts"

    def __init__(self, net, classes: Sequence[str], reader: Reader, head=None, context=None):
        super().__init__(net, classes, head, context)
        self.reader = reader

    @classmethod
    def of_words(cls, texts: Sequence[str], classes: Sequence[str], max_length: int = 128, context=None):
        """A TextCNN (Kim, 2014) with random numbers for the words of texts that occur twice or more in them."""
        counts = Counter(word for text in texts for word in words(text))
        vocab = Vocab(counts, min_freq=2, bos_token=None, eos_token=None)
        net = BatchFirst(TextCNN(embed_size=128, vocab_size=len(vocab), output_size=len(classes), model_mode="rand"))
        net.initialize(Xavier(), ctx=context)
        net.hybridize()
        return cls(net, classes, Reader("words", vocab, max_length), context=context)

    @classmethod
    def of_pretrained(
        cls, model: str, classes: Sequence[str], pretrained: Any = True, max_length: int = 128, context=None
    ):
        """A BERT, RoBERTa or DistilBERT with a new last layer for `classes`; arguments as in `train_classifier`."""
        family = model.split("_")[0]
        if family not in DATASETS:
            raise MXNetError(
                f"texts are classified by {TEXTCNN} and by networks called {'_..., '.join(DATASETS)}_..., not by {model!r}"
            )
        heads, source = dict.fromkeys(HEADS[family], False), model
        if pretrained is True:
            body, vocab = get_model(model, DATASETS[family], pretrained=True, ctx=context, **heads)
            tokenizer = GPT2BPETokenizer() if family == "roberta" else BERTTokenizer(vocab)
        else:
            source = os.fspath(pretrained)
            if not source.startswith(hub.SCHEME) and not os.path.isdir(source):
                raise MXNetError(f"pretrained={source!r} is no folder of transformers, and no hf://OWNER/NAME")
            body, vocab, tokenizer = load_huggingface(source, context, ignore_extra=True, **heads)
        if type(body).__name__.removesuffix("Model").lower() != family:
            raise MXNetError(f"{source} has a {type(body).__name__}, which is no {model!r}")
        head = RoBERTaClassifier if isinstance(body, RoBERTaModel) else BERTClassifier
        net = head(body, len(classes), dropout=0.1)
        net.classifier.initialize(Normal(0.02), ctx=context)
        net.hybridize()
        cut = {"lower": tokenizer.basic_tokenizer.lower} if family != "roberta" else {}
        if family == "roberta":
            cut["merges"] = [" ".join(merge) for merge in tokenizer.merges]
        kind = "byte pairs" if family == "roberta" else "word pieces"
        room = min(max_length, body.encoder._max_length)
        reader = Reader(kind, vocab, room, segments=family == "bert", **cut)
        found = cls(net, classes, reader, net.classifier, context)
        found.origin = source
        return found

    @classmethod
    def restored(cls, net, classes, folder, context=None, **settings):
        text = (Path(folder) / "vocab.json").read_text(encoding="utf-8")
        vocabulary = BERTVocab if settings["kind"] == "word pieces" else Vocab
        return cls(net, classes, Reader(vocab=vocabulary.from_json(text), **settings), context=context)

    def settings(self):
        return self.reader.settings()

    def save(self, folder):
        super().save(folder)
        write_bytes(str(Path(folder) / "vocab.json"), self.reader.vocab.to_json().encode())

    def loader(self, samples, batch_size, train):
        read = SimpleDataset([(self.reader.numbers(text), float(label)) for text, label in samples])
        if not train:
            return DataLoader(read, batch_size, batchify_fn=self.reader.batch)
        sampler = SortedBucketSampler([len(row[0]) for row in read], batch_size, mult=20, shuffle=True)
        return DataLoader(read, batch_sampler=sampler, batchify_fn=self.reader.batch)

    def shown(self, thing):
        return f"<blockquote>{escape(thing[:600])}{'…' if len(thing) > 600 else ''}</blockquote>"


class BatchFirst(HybridBlock):
    """A network that takes words (length, batch), called with words (batch, length)."""

    def __init__(self, net, **kwargs):
        super().__init__(**kwargs)
        self.net = net

    def hybrid_forward(self, F, data):
        return self.net(F.swapaxes(data, 0, 1))


words = partial(re.findall, r"\w+|[^\w\s]")

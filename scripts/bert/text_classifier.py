"""A BERT or RoBERTa with a classifier, together with what it takes to use it: its vocabulary, its labels, its settings.

On disk it is a folder: `net.params`, `vocab.json`, `model.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import core as mx
import gluonnlp as nlp
from core.files.atomic import write_bytes
from gluon.data import DataLoader
from gluonnlp.data import batchify

# Settings of our networks, and their names in config.json.
SETTINGS = {
    "num_layers": "num_hidden_layers",
    "units": "hidden_size",
    "hidden_size": "intermediate_size",
    "num_heads": "num_attention_heads",
    "max_length": "max_position_embeddings",
    "token_type_vocab_size": "type_vocab_size",
    "layer_norm_eps": "layer_norm_eps",
    "activation": "hidden_act",
}


class TextClassifier:
    """The network, and how texts become its inputs.

    bert: a BERTModel with a pooler and no other head, or a RoBERTaModel without. labels: their names in the order of the
    scores; empty for a regression, which has one score. shapes: what `load` needs to build the same `bert`, see
    `named_bert`. merges: those of the byte pairs that a RoBERTa reads, "a b"; None: word pieces.
    """

    def __init__(self, bert, vocab, *, labels, max_len: int, shapes: dict, dropout: float = 0.0, merges=None):
        self.labels, self.vocab = labels, vocab
        self.description = {"labels": labels, "max_len": max_len, "shapes": shapes, "dropout": dropout}
        self._has_segments = not isinstance(bert, nlp.model.RoBERTaModel)
        head = nlp.model.BERTClassifier if self._has_segments else nlp.model.RoBERTaClassifier
        self.net = head(bert, num_classes=len(labels) or 1, dropout=dropout)
        if merges is None:
            tokenizer = nlp.data.BERTTokenizer(vocab)
        else:
            self.description["merges"] = merges
            tokenizer = nlp.data.GPT2BPETokenizer(merges=[tuple(merge.split(" ")) for merge in merges])
        self._transforms = [
            nlp.data.BERTSentenceTransform(tokenizer, max_len, vocab, pad=False, pair=pair) for pair in (False, True)
        ]

    @classmethod
    def load(cls, folder: Path, ctx: mx.Context) -> TextClassifier:
        """The classifier that `save` wrote."""
        description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        class_ = nlp.Vocab if "merges" in description else nlp.vocab.BERTVocab
        vocab = class_.from_json((folder / "vocab.json").read_text(encoding="utf-8"))
        classifier = cls(named_bert(vocab, **description["shapes"]), vocab, **description)
        classifier.net.load_parameters(str(folder / "net.params"), ctx=ctx)
        return classifier

    def save(self, folder: Path) -> None:
        """Writes the folder; the description comes last, so a folder that has one is whole."""
        folder.mkdir(parents=True, exist_ok=True)
        self.net.save_parameters(str(folder / "net.params"))
        write_bytes(folder / "vocab.json", self.vocab.to_json().encode())
        write_bytes(folder / "model.json", json.dumps(self.description, indent=1).encode())

    def inputs(self, texts: Iterable[Sequence[str]]) -> list[tuple]:
        """Of each text, or pair of texts: token indices, their number, segment indices."""
        return [self._transforms[len(text) == 2](text) for text in texts]

    def batches(self, samples: list[tuple], batch_size: int, *, shuffle: bool) -> DataLoader:
        """Batches of samples `(*inputs, label)`, in which texts of similar length are together."""
        sampler = nlp.data.SortedBucketSampler([len(s[0]) for s in samples], batch_size, mult=20, shuffle=shuffle)
        pad = self.vocab[self.vocab.padding_token]
        together = batchify.Tuple(
            batchify.Pad(pad_val=pad, dtype="int32", round_to=8),
            batchify.Stack("float32"),
            batchify.Pad(pad_val=0, dtype="int32", round_to=8),
            batchify.Stack("float32"),
        )
        return DataLoader(samples, batch_sampler=sampler, batchify_fn=together)

    def scores(self, batch, context: mx.Context):
        """The scores (batch, labels) of a batch's tokens, lengths and segments."""
        tokens, lengths, segments = (field.as_in_context(context) for field in batch)
        return self.net(tokens, segments, lengths) if self._has_segments else self.net(tokens, lengths)


def named_bert(vocab, bert_model: str, **settings):
    """The network called `bert_model`, but for the given settings, such as `num_layers=6`."""
    heads = _heads(bert_model)
    return nlp.model.get_model(bert_model, vocab=vocab, hparam_allow_override=True, **heads, **settings)[0]


def published_bert(folder: Path, bert_model: str, context: mx.Context) -> tuple:
    """The network and the vocabulary in a folder of Hugging Face, what makes `named_bert` build the same, and the merges."""
    bert, vocab, tokenizer = nlp.model.load_huggingface(str(folder), ctx=context, **_heads(bert_model))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    shapes = {ours: config[theirs] for ours, theirs in SETTINGS.items() if theirs in config}
    shapes["embed_size"] = config["hidden_size"]
    merges = None
    if isinstance(bert, nlp.model.RoBERTaModel):
        shapes.pop("token_type_vocab_size", None)
        shapes["max_length"] = bert.encoder._max_length  # the first positions there are for padding
        merges = [" ".join(merge) for merge in tokenizer.merges]
    return bert, vocab, {"bert_model": bert_model} | shapes, merges


def _heads(bert_model: str) -> dict[str, bool]:
    if bert_model.startswith("roberta"):
        return {"use_decoder": False}
    return {"use_pooler": True, "use_decoder": False, "use_classifier": False}

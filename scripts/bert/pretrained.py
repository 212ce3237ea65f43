"""The BERT or RoBERTa that a program begins with: of a published folder, of a file of weights, by name, or random."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import core as mx
import gluonnlp as nlp
from scripts.common.kept import kept
from scripts.common.packaged import checkpoint_folder

MODELS = ("bert_12_768_12", "bert_24_1024_16", "roberta_12_768_12", "roberta_24_1024_16")

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


class Pretrained(NamedTuple):
    """A network without heads, and what it takes to build it again.

    shapes: arguments of `named_bert`. merges: those of the byte pairs that a RoBERTa reads, "a b"; None: word pieces.
    lower: whether texts are read in lower case. pieces: a sentencepiece model that cuts them, in place of word pieces.
    """

    bert: object
    vocab: nlp.Vocab
    shapes: dict
    merges: list[str] | None = None
    lower: bool = True
    pieces: Path | None = None

    def tokenizer(self) -> nlp.data.BERTTokenizer | nlp.data.GPT2BPETokenizer:
        """From a text to its pieces."""
        if self.pieces is not None:
            return nlp.data.BERTSPTokenizer(str(self.pieces), self.vocab, lower=self.lower)
        if self.merges is None:
            return nlp.data.BERTTokenizer(self.vocab, lower=self.lower)
        return nlp.data.GPT2BPETokenizer(merges=[tuple(merge.split(" ")) for merge in self.merges])


def add_bert_arguments(parser: argparse.ArgumentParser, models: tuple[str, ...] = MODELS) -> None:
    """Adds what says which network `pretrained` gives; `settle_bert_arguments` looks at the values."""
    parser.add_argument(
        "--bert_model", "--bert-model", choices=models, default=models[0], help="shapes (default: %(default)s)"
    )
    parser.add_argument(
        "--bert_dataset",
        default="book_corpus_wiki_en_uncased",
        help="whose published weights of --bert_model are downloaded, where nothing else is given (default: %(default)s)",
    )
    parser.add_argument(
        "--checkpoint",
        help="a folder of config.json, model.safetensors and vocab.txt or tokenizer.json, or its name, or run_pretraining.py's",
    )
    parser.add_argument("--vocab", help="vocab.txt of --bert_model, to begin with random weights or those of a file")
    parser.add_argument("--pretrained_bert_parameters", help="a .params file for --bert_model")
    parser.add_argument(
        "--dropout", "--dropout-prob", type=float, default=0.1, help="of new layers (default: %(default)s)"
    )


def settle_bert_arguments(parser: argparse.ArgumentParser, args: argparse.Namespace, data: str) -> None:
    """Names a run that has no name after the network and its data.

    Ends the program where arguments contradict each other.
    """
    args.run = args.run or f"{args.checkpoint or args.bert_model}_{data}".lower().replace("-", "_")


def pretrained(args: argparse.Namespace, context: mx.Context, *, pooler: bool = True) -> Pretrained:
    """The network that the arguments name, with a pooler or without."""
    if args.checkpoint:
        return published_bert(checkpoint_folder(args.checkpoint), args.bert_model, context, pooler=pooler)
    pieces = getattr(args, "sentencepiece", None)
    if args.vocab or pieces:
        if pieces:
            vocab = nlp.vocab.BERTVocab.from_sentencepiece(str(pieces))
        else:
            vocab = nlp.data.BERTTokenizer.from_file(args.vocab).vocab
        shapes = {"bert_model": args.bert_model, "dropout": args.dropout}
        bert = named_bert(vocab, pooler=pooler, **shapes)
        bert.initialize(mx.init.Normal(0.02), ctx=context)
        if args.pretrained_bert_parameters:
            bert.load_parameters(args.pretrained_bert_parameters, ctx=context, ignore_extra=True)
        return Pretrained(bert, vocab, shapes, pieces=pieces)
    # Parameters of the whole network, head and all, replace those of the body anyway.
    whole = bool(getattr(args, "model_parameters", None) or args.pretrained_bert_parameters)
    bert, vocab = nlp.model.get_model(
        args.bert_model, args.bert_dataset, pretrained=not whole, ctx=context, **_heads(args.bert_model, pooler)
    )
    if whole:
        bert.initialize(mx.init.Normal(0.02), ctx=context)
    if args.pretrained_bert_parameters:
        bert.load_parameters(args.pretrained_bert_parameters, ctx=context, ignore_extra=True)
    merges = None
    if args.bert_model.startswith("roberta"):
        merges = [" ".join(merge) for merge in nlp.data.GPT2BPETokenizer().merges]
    return Pretrained(bert, vocab, {"bert_model": args.bert_model}, merges, "uncased" in args.bert_dataset)


def named_bert(vocab: nlp.Vocab, bert_model: str, *, pooler: bool = True, **settings):
    """The network called `bert_model`, but for the given settings, such as `num_layers=6`."""
    heads = _heads(bert_model, pooler)
    return nlp.model.get_model(bert_model, vocab=vocab, hparam_allow_override=True, **heads, **settings)[0]


def published_bert(folder: Path, bert_model: str, context: mx.Context, *, pooler: bool = True) -> Pretrained:
    """The network in a folder of Hugging Face, or of run_pretraining.py; `bert_model` is a name of its kind."""
    if (folder / "model.json").exists():
        description, vocab, parameters = kept(folder)
        bert = named_bert(vocab, pooler=pooler, **description["shapes"])
        bert.load_parameters(parameters, ctx=context, ignore_extra=True)
        return Pretrained(bert, vocab, **description)
    bert, vocab, tokenizer = nlp.model.load_huggingface(str(folder), ctx=context, **_heads(bert_model, pooler))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    shapes = {ours: config[theirs] for ours, theirs in SETTINGS.items() if theirs in config}
    shapes["embed_size"] = config["hidden_size"]
    merges = None
    if isinstance(bert, nlp.model.RoBERTaModel):
        shapes.pop("token_type_vocab_size", None)
        shapes["max_length"] = bert.encoder._max_length  # the first positions there are for padding
        merges = [" ".join(merge) for merge in tokenizer.merges]
    lower = getattr(getattr(tokenizer, "basic_tokenizer", None), "lower", True)
    return Pretrained(bert, vocab, {"bert_model": bert_model} | shapes, merges, lower)


def _heads(bert_model: str, pooler: bool) -> dict[str, bool]:
    if bert_model.startswith("roberta"):
        return {"use_decoder": False}
    return {"use_pooler": pooler, "use_decoder": False, "use_classifier": False}

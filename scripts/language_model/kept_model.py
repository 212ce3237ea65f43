"""A word language model, and how it is kept on disk with its vocabulary."""

from __future__ import annotations

import argparse
from pathlib import Path

import core as mx
import gluonnlp as nlp
from scripts.common.devices import add_list_argument
from scripts.common.kept import kept


def description(args: argparse.Namespace) -> dict:
    """What `network` needs to build the model that the arguments of word_language_model.py ask for."""
    names = ["model", "emsize", "nhid", "nlayers", "tied", "dropout"]
    if args.weight_dropout:
        names += ["weight_dropout", "dropout_h", "dropout_i", "dropout_e"]
    return {name: getattr(args, name) for name in names}


def network(words: int, model, emsize, nhid, nlayers, tied=False, dropout=0.0, weight_dropout=0.0, nproj=0, **drops):
    """The model, which but for "big", that of large_word_language_model.py, also gives what AR and TAR penalise."""
    if model == "big":
        return nlp.model.BigRNN(words, emsize, nhid, nlayers, nproj, dropout, dropout, prefix="big_", **drops)
    sizes = (model, words, emsize, nhid, nlayers)
    if weight_dropout:
        drops = {name.replace("dropout", "drop"): rate for name, rate in drops.items()}
        return nlp.model.train.AWDRNN(*sizes, tied, dropout, weight_dropout, **drops)
    return nlp.model.train.StandardRNN(*sizes, dropout, tied)


def load(folder: Path, context: mx.Context) -> tuple:
    """The model that a training program kept, and its vocabulary."""
    settings, vocab, parameters = kept(folder)
    net = network(len(vocab), **settings)
    net.load_parameters(parameters, ctx=context)
    return net, vocab


def add_model_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Adds which model is read: one that word_language_model.py made, or a published one."""
    parser.add_argument("--output_dir", type=Path, help="that of word_language_model.py (default: a published model)")
    parser.add_argument(
        name, dest="model_name", default="awd_lstm_lm_1150", help="a published model's name (default: %(default)s)"
    )
    add_list_argument(parser, "--gpu")


def chosen(args: argparse.Namespace, context: mx.Context) -> tuple:
    """The model that the arguments name, and its vocabulary; published ones are those for WikiText-2."""
    if args.output_dir:
        return load(args.output_dir, context)
    file = getattr(args, "path_to_params_file", None)
    net, vocab = nlp.model.get_model(args.model_name, "wikitext-2", pretrained=file is None, ctx=context)
    if file:
        net.load_parameters(file, ctx=context)
    return net, vocab

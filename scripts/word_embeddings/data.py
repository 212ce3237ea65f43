"""The texts that word vectors are learned from, their words, and which of them are passed over."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import gluonnlp as nlp
from scripts.common.environment import checksums

NAMED = {"text8": nlp.data.Text8, "fil9": nlp.data.Fil9}
TOY = "toy"  # the first sentence of text8, 10,000 words


def add_text_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds which texts are read, and which of their words get a vector."""
    parser.add_argument(
        "--data",
        nargs="+",
        default=["text8"],
        help=f"{' or '.join(NAMED)} (downloaded), {TOY} (the beginning of text8), or files with a sentence a line "
        "(default: text8)",
    )
    parser.add_argument("--lower", action="store_true", help="all in lower case")
    parser.add_argument("--min-freq", type=int, default=5, help="of words with a vector (default: %(default)s)")
    parser.add_argument("--max-vocab-size", type=int, help="the so many most frequent words only")


def sentences(args: argparse.Namespace) -> list[list[str]]:
    """The words of each sentence."""
    if len(args.data) == 1 and args.data[0].lower() == TOY:
        found = [nlp.data.Text8()[0]]
    elif len(args.data) == 1 and args.data[0] in NAMED:
        found = list(NAMED[args.data[0]]())
    else:
        missing = [path for path in args.data if not Path(path).is_file()]
        if missing:
            raise SystemExit(f"{', '.join(missing)}: neither a file nor one of {', '.join([*NAMED, TOY])}")
        found = [words for path in args.data for words in nlp.data.CorpusDataset(path)]
    return [[word.lower() for word in words] for words in found] if args.lower else found


def files(args: argparse.Namespace) -> dict[str, str]:
    """The checksums of the files that are read."""
    return checksums(path for path in args.data if Path(path).is_file())


def vocabulary(args: argparse.Namespace, texts: list[list[str]]) -> tuple[nlp.Vocab, np.ndarray]:
    """The words by falling frequency, and how often each occurs."""
    counter = nlp.data.count_tokens([word for words in texts for word in words])
    special = {"unknown_token": None, "padding_token": None, "bos_token": None, "eos_token": None}
    vocab = nlp.Vocab(counter, min_freq=args.min_freq, max_size=args.max_vocab_size, **special)
    return vocab, np.array([counter[word] for word in vocab.idx_to_token], "float64")


def numbered(texts: list[list[str]], vocab: nlp.Vocab) -> list[np.ndarray]:
    """The numbers of the known words of each sentence that has two of them."""
    known = vocab.token_to_idx
    found = [np.array([known[word] for word in words if word in known], "int64") for words in texts]
    return [numbers for numbers in found if len(numbers) > 1]


def subsampled(texts: list[np.ndarray], counts: np.ndarray, share: float) -> list[np.ndarray]:
    """Without some of the frequent words: one of the frequency f stays with the probability sqrt(share / f) (Mikolov,
    Sutskever, Chen, Corrado and Dean, 2013). Chance is NumPy's.
    """
    if not share:
        return texts
    stays = np.sqrt(share * counts.sum() / counts)
    found = [numbers[np.random.random_sample(len(numbers)) < stays[numbers]] for numbers in texts]
    return [numbers for numbers in found if len(numbers) > 1]

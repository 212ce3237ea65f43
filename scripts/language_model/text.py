"""The texts that language models read."""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from pathlib import Path

import gluonnlp as nlp
from core.store import home
from scripts.common.program import missing

EOS = "<eos>"


def add_text_arguments(
    parser: argparse.ArgumentParser, data_sets: tuple[str, ...] = ("wikitext-2", "sherlockholmes")
) -> None:
    """Adds where the texts are, which of `data_sets` is read, the first unless it is said, and how much of it."""
    parser.add_argument(
        "--data-dir", type=Path, help="folder that holds the folder of the data set (default: the published one)"
    )
    parser.add_argument(
        "--dataset", choices=data_sets, default=data_sets[0], help="what to read (default: %(default)s)"
    )
    parser.add_argument("--words", type=int, help="use only the first so many words of each part")


def add_test_mode_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --test-mode, which `settle_test_mode` carries out."""
    parser.add_argument("--test-mode", action="store_true", help="run through on little text, as a trial")


def settle_test_mode(args: argparse.Namespace, **smaller) -> None:
    """With --test-mode, 100 words of each column of a batch are read, and `smaller` are the arguments."""
    if args.test_mode:
        args.words = min(args.words or 100 * args.batch_size, 100 * args.batch_size)
        vars(args).update(smaller)


def corpora(folder: Path | None, dataset: str, words: int | None = None) -> tuple[dict[str, list[str]], list[Path]]:
    """The words of the parts "train", "dev" and "test", with <eos> at the end of each line, and the files read.

    The billion words "gbw" have no dev part, their test part is in its place. folder: that which holds the data set; None for WikiText-2 as it is published, empty lines and all, which is
    downloaded where it is not there yet. words: only the first so many of each part.
    """
    if folder is None and dataset == "wikitext-2":
        parts = zip(("train", "dev", "test"), ("train", "val", "test"), strict=True)
        read = {name: nlp.data.WikiText2(segment, skip_empty=False) for name, segment in parts}
        return {name: list(text)[:words] for name, text in read.items()}, []
    if dataset == "gbw":
        test = [
            sys.intern(w) for text in nlp.data.GBWStream("test", root=folder and str(folder / dataset)) for w in text
        ]
        train = (
            sys.intern(w) for text in nlp.data.GBWStream("train", root=folder and str(folder / dataset)) for w in text
        )
        return {"train": list(islice(train, words)), "dev": test[:words], "test": test[:words]}, []
    folder = (folder or Path(home()) / "datasets") / dataset
    if dataset == "sherlockholmes":
        files = [folder / f"sherlockholmes.{part}.txt" for part in ("train", "valid", "test")]
    else:
        files = [folder / f"wiki.{part}.tokens" for part in ("train", "valid", "test")]
    if not any(f.exists() for f in files):
        raise missing(files[0])
    read = [list(nlp.data.CorpusDataset(str(f), flatten=True, eos=EOS)) for f in files if f.exists()]
    if len(read) == 2:
        (text, test), cut = read, len(read[0]) * 9 // 10
        read = [text[:cut], text[cut:], test]
    parts = {part: text[:words] for part, text in zip(("train", "dev", "test"), read, strict=True)}
    return parts, [f for f in files if f.exists()]

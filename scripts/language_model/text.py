"""The texts that language models read."""

from __future__ import annotations

import argparse
from pathlib import Path

import gluonnlp as nlp

EOS = "<eos>"


def add_text_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds where the texts are, which one is read, and how much of it."""
    parser.add_argument("--data-dir", type=Path, required=True, help="folder that holds the folder of the data set")
    parser.add_argument(
        "--dataset", choices=("wikitext-2", "sherlockholmes"), default="wikitext-2", help="what to read"
    )
    parser.add_argument("--words", type=int, help="use only the first so many words of each part")


def corpora(folder: Path, dataset: str, words: int | None = None) -> tuple[dict[str, list[str]], list[Path]]:
    """The words of the parts "train", "dev" and "test", with <eos> at the end of each line, and the files read.

    words: only the first so many of each part.
    """
    folder = folder / dataset
    if dataset == "sherlockholmes":
        files = [folder / f"sherlockholmes.{part}.txt" for part in ("train", "valid", "test")]
    else:
        files = [folder / f"wiki.{part}.tokens" for part in ("train", "valid", "test")]
    read = [list(nlp.data.CorpusDataset(str(f), flatten=True, eos=EOS)) for f in files if f.exists()]
    if len(read) == 2:
        (text, test), cut = read, len(read[0]) * 9 // 10
        read = [text[:cut], text[cut:], test]
    parts = {part: text[:words] for part, text in zip(("train", "dev", "test"), read, strict=True)}
    return parts, [f for f in files if f.exists()]

"""Parses sentences with the parser that dep_parser.py made.

    python scripts/parsing/parse.py --sentence "Is/AUX this/PRON the/DET future/NOUN ?/PUNCT"
    python scripts/parsing/parse.py --test_file ../shared/data/ud_english_ewt/en_ewt-ud-test.conllu.gz

Trees are printed in the ten columns of CoNLL-X; of a file with trees the accuracies follow, on stderr.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.run import ROOT
from scripts.parsing.kept_parser import DepParser
from scripts.parsing.treebank import Sentence, read


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    parser = DepParser.load(args.output_dir)
    sentences = read(args.test_file) if args.test_file else [tagged(args.sentence)]
    for sentence in parser.parse(sentences):
        for number, (word, tag, head, relation) in enumerate(zip(*sentence, strict=True), 1):
            print(number, word, "_", tag, tag, "_", head, relation, "_", "_", sep="\t")
        print()
    if not args.test_file:
        return {}
    found = parser.evaluate(sentences)
    print("  ".join(f"{name} {value:.6g}" for name, value in found.items()), file=sys.stderr)
    return found


def tagged(text: str) -> Sentence:
    """The sentence of words that each have a slash and a tag behind them; SystemExit names one that has not."""
    pairs = [word.rpartition("/")[::2] for word in text.split()]
    if lonely := [tag for word, tag in pairs if not (word and tag)]:
        raise SystemExit(f"{lonely[0]!r} is not a word, a slash and a tag")
    words, tags = map(list, zip(*pairs, strict=True))
    return Sentence(words, tags, [0] * len(words), ["root"] * len(words))


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--sentence", help="words with their tags: word/TAG word/TAG")
    what.add_argument("--test_file", type=Path, help="file in CoNLL-X or CoNLL-U, plain or .gz")
    parser.add_argument(
        "--output_dir",
        type=Path,
        default=ROOT / "checkpoints" / "parsing" / "model",
        help="that of dep_parser.py (default: checkpoints/parsing/model)",
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

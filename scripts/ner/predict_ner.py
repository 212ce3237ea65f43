"""Tags a file with a tagger that finetune_bert.py made, and says how many of its tags are those of the file.

    python scripts/ner/predict_ner.py --output_dir checkpoints/ner/model --test-path eng.testb

One line for each word: the word, its tag in the file, the tag that was found; an empty line between sentences.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bert import tagging
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.ner.tagger import Tagger, read


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    context = context_of(args)
    data = read(args.test_path)
    found = Tagger.load(args.output_dir, context).predict([words for words, _ in data], args.batch_size, context)
    for (words, tags), answers in zip(data, found, strict=True):
        print("\n".join("\t".join(row) for row in zip(words, tags, answers, strict=True)), end="\n\n")
    quality = tagging.quality(found, [tags for _, tags in data])
    print("  ".join(f"{name} {value:.6g}" for name, value in quality.items()), file=sys.stderr)
    return quality


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    parser.add_argument("--output_dir", type=Path, required=True, help="that of finetune_bert.py")
    parser.add_argument("--test-path", type=Path, required=True, help="file to tag, as finetune_bert.py reads them")
    parser.add_argument("--batch-size", type=int, default=32, help="sentences at a time (default: %(default)s)")
    add_gpu_argument(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

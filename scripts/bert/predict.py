"""Labels texts with a classifier that finetune_classifier.py made.

    python scripts/bert/predict.py --output_dir checkpoints/bert/model --sentences "a moving film" "dull and loud"
    python scripts/bert/predict.py --output_dir checkpoints/bert/model --file sentences.txt

One line for each text: its label (or its score, of a regression), the probability of the label, the text. A text of
two sentences has a tab between them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from scripts.bert.text_classifier import TextClassifier
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.flags import Parser
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> list[tuple]:
    args = parse_args(argv)
    context = context_of(args)
    texts = args.sentences or args.file.read_text(encoding="utf-8").splitlines()
    found = predict(TextClassifier.load(args.output_dir, context), texts, args.batch_size, context)
    for text, answer in zip(texts, found, strict=True):
        print("\t".join([*(f"{a:.4f}" if isinstance(a, float) else a for a in answer), text]))
    return found


def predict(classifier: TextClassifier, texts: list[str], batch_size: int, context: mx.Context) -> list[tuple]:
    """`(label, probability)` of each text, `(score,)` where the classifier has no labels."""
    answers: list[tuple] = [()] * len(texts)
    # The place of a text takes the place of its label: batches are in the order of lengths.
    samples = [(*fields, i) for i, fields in enumerate(classifier.inputs(text.split("\t") for text in texts))]
    for *inputs, places in classifier.batches(samples, batch_size, shuffle=False):
        scores = classifier.scores(inputs, context)
        rows = (scores.softmax() if classifier.labels else scores).asnumpy()
        for place, row in zip(places.asnumpy().astype(int), rows, strict=True):
            best = int(row.argmax())
            label = (classifier.labels[best],) if classifier.labels else ()
            answers[place] = (*label, float(row[best]))
    return answers


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    parser.add_argument("--output_dir", type=Path, required=True, help="that of finetune_classifier.py")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--sentences", nargs="+", help="texts")
    what.add_argument("--file", type=Path, help="file with a text a line")
    parser.add_argument("--batch_size", type=int, default=32, help="texts at a time (default: %(default)s)")
    add_gpu_argument(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

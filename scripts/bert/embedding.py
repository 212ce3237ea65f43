"""The vectors that a BERT gives the words of sentences.

    python scripts/bert/embedding.py --sentences "GluonNLP is a toolkit that enables easy text preprocessing."
    python scripts/bert/embedding.py --file sentences.txt --checkpoint all-minilm-l6-v2

Of the pieces of a word the mean is taken, or the sum or the last one, as --oov_way says.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
import gluonnlp as nlp
from gluon.data import DataLoader
from gluonnlp.data import batchify
from scripts.bert.pretrained import Pretrained, add_bert_arguments, pretrained
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.flags import Parser
from scripts.common.program import program

WAYS = {
    "avg": lambda pieces: np.mean(pieces, axis=0),
    "sum": lambda pieces: np.sum(pieces, axis=0),
    "last": lambda p: p[-1],
}


class BertEmbedding:
    """Words of sentences and their vectors, from a network with its vocabulary.

    >>> words, vectors = embedding(["a sentence"])[0]  # doctest: +SKIP
    """

    def __init__(self, start: Pretrained, context: mx.Context, max_seq_length: int = 25, batch_size: int = 256):
        self._bert, self._vocab, self._context, self._batch_size = start.bert, start.vocab, context, batch_size
        self._transform = nlp.data.BERTSentenceTransform(
            start.tokenizer(), max_seq_length, start.vocab, pad=False, pair=False
        )

    def __call__(self, sentences: list[str], oov_way: str = "avg") -> list[tuple[list[str], list[np.ndarray]]]:
        """(words, vectors (units,)) of each sentence; words longer than one piece have vectors by `oov_way`."""
        pad = self._vocab[self._vocab.padding_token]
        together = batchify.Tuple(
            batchify.Pad(pad_val=pad, dtype="int32"), batchify.Stack("float32"), batchify.Pad(pad_val=0, dtype="int32")
        )
        samples = [self._transform((sentence,)) for sentence in sentences]
        found = []
        for batch in DataLoader(samples, self._batch_size, batchify_fn=together):
            tokens, lengths, segments = (field.as_in_context(self._context) for field in batch)
            states = self._bert(tokens, segments, lengths).asnumpy()
            for row, length, state in zip(tokens.asnumpy(), lengths.asnumpy(), states, strict=True):
                found.append(self._words(row[1 : int(length) - 1], state[1 : int(length) - 1], WAYS[oov_way]))
        return found

    def _words(self, tokens: np.ndarray, states: np.ndarray, way) -> tuple[list[str], list[np.ndarray]]:
        words, pieces = [], []
        for token, state in zip(tokens, states, strict=True):
            piece = self._vocab.idx_to_token[int(token)]
            if piece.startswith("##") and words:
                words[-1] += piece[2:]
                pieces[-1].append(state)
            else:
                words.append(piece.removeprefix("##"))
                pieces.append([state])
        return words, [way(parts) for parts in pieces]


@program
def main(argv: list[str] | None = None) -> list[tuple[list[str], list[np.ndarray]]]:
    args = parse_args(argv)
    context = context_of(args)
    sentences = args.sentences or args.file.read_text(encoding="utf-8").splitlines()
    start = pretrained(args, context, pooler=False)
    if args.dtype != "float32":
        start.bert.cast(args.dtype)
    found = BertEmbedding(start, context, args.max_seq_length, args.batch_size)(sentences, args.oov_way)
    with np.printoptions(threshold=5):
        for sentence, (words, vectors) in zip(sentences, found, strict=True):
            print(f"Text: {sentence}")
            for word, vector in zip(words, vectors, strict=True):
                print(f"  {word}: {vector}")
    return found


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--sentences", nargs="+", help="what to read")
    add("--file", type=Path, help="file with a sentence on each line")
    add("--max_seq_length", type=int, default=25, help="pieces of a sentence (default: %(default)s)")
    add("--batch_size", type=int, default=256, help="sentences at a time (default: %(default)s)")
    add("--oov_way", choices=WAYS, default="avg", help="vectors of words of several pieces (default: %(default)s)")
    add("--dtype", choices=("float32", "float16", "bfloat16"), default="float32", help="(default: %(default)s)")
    add("--verbose", action="store_true", default=argparse.SUPPRESS, help="accepted: everything is printed in any case")
    add_bert_arguments(parser)
    # The names of these three in GluonNLP's program
    for flag, own in (
        ("--model", "bert_model"),
        ("--dataset_name", "bert_dataset"),
        ("--params_path", "pretrained_bert_parameters"),
    ):
        add(flag, dest=own, default=argparse.SUPPRESS, help=f"the same as --{own}")
    add_gpu_argument(parser)
    args = parser.parse_args(argv)
    if bool(args.sentences) == bool(args.file):
        parser.error("give --sentences or --file")
    return args


if __name__ == "__main__":
    main()

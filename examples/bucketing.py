"""Sentences of many lengths, one network for each length, and one set of parameters: BucketingModule.

    python examples/bucketing.py --text ../shared/data/sherlockholmes/sherlockholmes.train.txt

Sentences are put into buckets of similar length, so that little of a batch is padding.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import core as mx

BUCKETS = [10, 20, 30, 40]


def main(argv: list[str] | None = None) -> list[float]:
    """Gives the perplexity of a word after each epoch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--text", type=Path, required=True, help="a sentence on each line")
    add("--sentences", type=int, help="use only the first so many")
    add("--epochs", type=int, default=3, help="passes over the text (default: %(default)s)")
    add("--units", type=int, default=100, help="of the LSTM and of word vectors (default: %(default)s)")
    add("--batch-size", type=int, default=16, help="sentences (default: %(default)s)")
    args = parser.parse_args(argv)
    mx.random.seed(0)
    lines = args.text.read_text(encoding="utf-8").splitlines()
    sentences = [line.split() for line in lines if line.strip()][: args.sentences]
    numbers, words = mx.rnn.encode_sentences(sentences, start_label=1, invalid_label=0)
    batches = mx.rnn.BucketSentenceIter(numbers, args.batch_size, buckets=BUCKETS, invalid_label=0)
    cell = mx.rnn.LSTMCell(num_hidden=args.units, prefix="lstm_")

    def network(length: int):
        """Symbol, inputs and labels for sentences of one length."""
        data, label = mx.sym.var("data"), mx.sym.var("softmax_label")
        vectors = mx.sym.Embedding(data, input_dim=len(words) + 1, output_dim=args.units, name="embed")
        cell.reset()
        outputs, _ = cell.unroll(length, inputs=vectors, merge_outputs=True)
        scores = mx.sym.FullyConnected(
            mx.sym.reshape(outputs, shape=(-1, args.units)), num_hidden=len(words) + 1, name="scores"
        )
        out = mx.sym.SoftmaxOutput(
            scores, mx.sym.reshape(label, shape=(-1,)), use_ignore=True, ignore_label=0, normalization="valid",
            name="softmax",
        )  # fmt: skip
        return out, ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(network, default_bucket_key=batches.default_bucket_key, context=mx.cpu())
    found: list[float] = []
    metric = mx.metric.Perplexity(ignore_label=0)
    module.fit(
        batches, eval_metric=metric, num_epoch=args.epochs, initializer=mx.init.Xavier(), optimizer="adam",
        optimizer_params={"learning_rate": 5e-3},
        epoch_end_callback=lambda *_: found.append(metric.get()[1]),
    )  # fmt: skip
    for epoch, perplexity in enumerate(found, 1):
        print(f"epoch {epoch}: perplexity {perplexity:.1f} of {len(words)} words")
    return found


if __name__ == "__main__":
    main()

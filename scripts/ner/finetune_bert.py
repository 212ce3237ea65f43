"""Fine-tunes a BERT to tag words, such as names (Devlin et al., 2019, section 5.3), on files as in CoNLL-2003.

    python scripts/ner/finetune_bert.py --train-path eng.train --dev-path eng.testa --test-path eng.testb \\
        --checkpoint all-minilm-l6-v2

A file has one word per line, its columns set apart by blanks, with the word first and its tag last, and an empty line
between sentences. The tagger of the epoch with the best F1 on the dev part is kept in --output_dir; predict_ner.py
reads it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.bert.pretrained import MODELS, add_bert_arguments, pretrained, settle_bert_arguments
from scripts.bert.tuning import add_tuning_arguments, train, trainer
from scripts.common import parallel
from scripts.common.devices import context_of
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.precision import use_dtype
from scripts.common.program import program
from scripts.common.run import Run
from scripts.ner.tagger import Tagger, read


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    context = context_of(args)
    use_dtype(args.dtype)
    paths = {"train": args.train_path, "dev": args.dev_path, "test": args.test_path}
    run = Run("ner", args, data=checksums(paths.values()))
    data = {part: read(path)[: args.samples] for part, path in paths.items()}
    tags = sorted({tag for part in data.values() for _, tags in part for tag in tags})
    tagger = Tagger(pretrained(args, context, pooler=False), tags=tags, seq_len=args.seq_len, dropout=args.dropout)
    tagger.net.tag_classifier.initialize(mx.init.Normal(0.02), ctx=context)
    if args.hybridize:
        tagger.net.hybridize(static_alloc=True)
    samples = tagger.samples(data["train"])
    learner = trainer(args, tagger.net, len(samples))
    loss_function = SoftmaxCrossEntropyLoss()

    def loss_of(batch):
        """The mean loss of a tag."""
        tokens, lengths, tags, mask, _ = (field.as_in_context(context) for field in batch)
        losses = loss_function(tagger.scores(tokens, lengths), tags, mask.expand_dims(2))
        return (losses * mask.shape[1]).sum() / mask.sum()

    for epoch in run.epochs(args.epochs, tagger.net, learner):
        batches = run.progress(tagger.batches(samples, args.batch_size, shuffle=True), f"epoch {epoch}")
        metrics = train(run, tagger.net, batches, loss_of, learner)
        quality = tagger.evaluate(data["dev"], args.batch_size, context)
        metrics |= {f"dev_{name}": value for name, value in quality.items()}
        run.epoch_done(epoch, metrics, samples=len(samples))
        if max(run.record.facts["epochs"], key=lambda row: row["dev_f1"])["epoch"] == epoch:
            parallel.on_first(tagger.save, args.output_dir)
    quality = Tagger.load(args.output_dir, context).evaluate(data["test"], args.batch_size, context)
    return run.finish(**{f"test_{name}": value for name, value in quality.items()})


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    for part in ("train", "dev", "test"):
        parser.add_argument(f"--{part}-path", type=Path, required=True, help=f"file of the {part} part")
    parser.add_argument("--seq-len", type=int, default=180, help="pieces of a sentence (default: %(default)s)")
    add_bert_arguments(parser, MODELS[:2])
    add_tuning_arguments(parser, "ner/model", lr=5e-5, epochs=4, seed=13531)
    args = parser.parse_args(argv)
    settle_bert_arguments(parser, args, args.train_path.stem)
    return args


if __name__ == "__main__":
    main()

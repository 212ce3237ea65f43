"""Trains Google's recurrent translator with attention (Wu et al., 2016) on the captions of
Multi30k (Elliott et al., 2016).

    python scripts/machine_translation/train_gnmt.py --data-dir ../shared/data/multi30k --src_lang de --tgt_lang en

Both languages share byte-pair pieces that are learned from the training part. The rate falls by --lr_update_factor
after each epoch of the last third. BLEU is that of sacrebleu (the extra `bleu`) on test_2016_flickr, by beam search.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from scripts.common import parallel
from scripts.common.flags import Parser
from scripts.common.precision import use_dtype
from scripts.common.program import program
from scripts.machine_translation.experiment import Experiment, add_experiment_arguments, add_length_arguments, settled

BUCKETS = {
    "constant": nlp.data.ConstWidthBucket,
    "linear": nlp.data.LinearWidthBucket,
    "exp": nlp.data.ExpWidthBucket,
}


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    use_dtype(args.dtype)
    experiment = Experiment(args, network)
    net = network(args, experiment.subwords.vocab, experiment.subwords.source_vocab)
    net.initialize(mx.init.Uniform(0.1), ctx=experiment.context)
    trainer = parallel.trainer(
        args, net.collect_params(), args.optimizer, {"learning_rate": args.lr}, clip_global_norm=args.clip
    )

    def sampler(samples: list, shuffle: bool) -> nlp.data.FixedBucketSampler:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of buckets that stay empty
            return nlp.data.FixedBucketSampler(
                [(len(source), len(target)) for source, target in samples],
                args.batch_size,
                args.num_buckets,
                ratio=args.bucket_ratio,
                shuffle=shuffle,
                bucket_scheme=BUCKETS[args.bucket_scheme](),
            )

    def lower_rate(epoch: int) -> None:
        trainer.set_learning_rate(args.lr * args.lr_update_factor ** max(0, epoch - args.epochs * 2 // 3))

    return experiment.train(net, trainer, sampler, before_epoch=lower_rate)


def network(args: argparse.Namespace, vocab, source=None) -> nlp.model.NMTModel:
    """The translator, with an embedding for each language; source: the vocabulary of the first, where it is another."""
    parts = nlp.model.get_gnmt_encoder_decoder(
        hidden_size=args.num_hidden, dropout=args.dropout, num_layers=args.num_layers, num_bi_layers=args.num_bi_layers
    )
    return nlp.model.NMTModel(source or vocab, vocab, *parts, embed_size=args.num_hidden, prefix="gnmt_")


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--num_hidden", type=int, default=128, help="of word vectors and states (default: %(default)s)")
    add("--num_layers", type=int, default=2, help="of encoder and decoder (default: %(default)s)")
    add("--num_bi_layers", type=int, default=1, help="bidirectional ones among them (default: %(default)s)")
    add("--batch_size", type=int, default=128, help="sentences (default: %(default)s)")
    add("--num_buckets", type=int, default=5, help="(default: %(default)s)")
    add("--bucket_scheme", choices=tuple(BUCKETS), default="constant", help="how wide they are (default: %(default)s)")
    add("--bucket_ratio", type=float, default=0.0, help="how much larger batches of short ones are (default: 0)")
    add_length_arguments(parser, 50)
    add("--lr_update_factor", type=float, default=0.5, help="of the rate, an epoch (default: %(default)s)")
    add("--validate_on_test_data", type=bool, default=False, help="translate the test part after each epoch, too")
    add("--clip", type=float, default=5.0, help="highest norm of the gradients (default: %(default)s)")
    add_experiment_arguments(
        parser, dataset="IWSLT2015", languages=("en", "vi"), lr=1e-3, dropout=0.2, epochs=40, lp_alpha=1.0,
        test_batch_size=32,
    )  # fmt: skip
    return settled(parser, argv, "gnmt", "IWSLT2015", {})


if __name__ == "__main__":
    main()

"""Trains the Transformer (Vaswani et al., 2017) to translate the captions of Multi30k (Elliott et al., 2016).

    python scripts/machine_translation/train_transformer.py --data-dir ../shared/data/multi30k --src_lang de \\
        --tgt_lang en

Both languages share byte-pair pieces that are learned from the training part. BLEU is that of sacrebleu
(the extra `bleu`) on test_2016_flickr, of whole sentences as they are written, by beam search.
"""

from __future__ import annotations

import argparse
import functools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from scripts.common import parallel
from scripts.common.devices import add_list_argument
from scripts.common.flags import Parser
from scripts.common.precision import use_dtype
from scripts.common.program import program
from scripts.machine_translation import parallel_text
from scripts.machine_translation.experiment import Experiment, add_experiment_arguments, add_length_arguments, settled

BUCKETS = {
    "constant": nlp.data.ConstWidthBucket,
    "linear": nlp.data.LinearWidthBucket,
    "exp": nlp.data.ExpWidthBucket,
}
LONGEST = 501  # places of the encoding that networks have at least
# What serves the captions of Multi30k in an hour; the defaults are those published for WMT
SMALL = {
    "num_units": 128, "hidden_size": 256, "num_layers": 2, "num_heads": 4, "warmup_steps": 400, "batch_size": 1024,
    "src_max_len": 100, "tgt_max_len": 100, "schedule": "cosine", "num_buckets": 0, "average_start": 0, "lr": 3e-3,
    "epochs": 10, "test_batch_size": 64,
}  # fmt: skip


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    use_dtype(args.dtype)
    experiment = Experiment(args, network, epsilon=args.epsilon)
    net = network(args, experiment.subwords.vocab, experiment.subwords.source_vocab)
    net.initialize(mx.init.Xavier(magnitude=args.magnitude), ctx=experiment.devices)
    sampler = functools.partial(fixed_buckets if args.num_buckets else by_tokens, args)
    schedule: Callable = Noam(args.lr * args.num_units**-0.5, args.warmup_steps)
    if args.schedule == "cosine":
        steps = args.epochs * len(parallel.shared(sampler(experiment.samples["train"], shuffle=False)))
        schedule = mx.lr_scheduler.CosineScheduler(steps, base_lr=args.lr, final_lr=0, warmup_steps=args.warmup_steps)
    optimizer = {"learning_rate": args.lr, "lr_scheduler": schedule, "beta2": 0.98, "epsilon": 1e-9}
    trainer = parallel.trainer(args, net.collect_params(), args.optimizer, optimizer)
    return experiment.train(net, trainer, sampler)


class Noam:
    """The rate of Vaswani et al. (2017) by step: it rises to `peak` / sqrt(warmup), then falls as the step's root."""

    def __init__(self, peak: float, warmup: int):
        self.base_lr, self._peak, self._warmup = peak, peak, warmup

    def __call__(self, step: int) -> float:
        step = max(step, 1)
        return self._peak * min(step**-0.5, step * self._warmup**-1.5)


def by_tokens(args: argparse.Namespace, samples: list, shuffle: bool):
    """Batches out of as many buckets as serve."""
    return parallel_text.sampler(samples, args.batch_size, shuffle=shuffle)


def fixed_buckets(args: argparse.Namespace, samples: list, shuffle: bool) -> nlp.data.FixedBucketSampler:
    """Batches out of --num_buckets buckets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of buckets that stay empty
        return nlp.data.FixedBucketSampler(
            [(len(source), len(target)) for source, target in samples],
            args.batch_size,
            args.num_buckets,
            ratio=args.bucket_ratio,
            shuffle=shuffle,
            use_average_length=True,
            bucket_scheme=BUCKETS[args.bucket_scheme](),
        )


def network(args: argparse.Namespace, vocab, source=None) -> nlp.model.NMTModel:
    """The Transformer, with one embedding for both languages and the scores of words where their vocabularies agree.

    source: the vocabulary of the first language, where that is another one.
    """
    parts = nlp.model.transformer.get_transformer_encoder_decoder(
        units=args.num_units,
        hidden_size=args.hidden_size,
        dropout=args.dropout,
        num_layers=args.num_layers,
        num_heads=args.num_heads,
        scaled=args.scaled,
        max_src_length=max(args.max_len + 1, LONGEST),
        max_tgt_length=max(args.max_len + 1, LONGEST),
    )
    joint = source is None or source.idx_to_token == vocab.idx_to_token
    return nlp.model.NMTModel(
        source or vocab,
        vocab,
        *parts,
        embed_size=args.num_units,
        embed_initializer=None,
        share_embed=joint,
        tie_weights=joint,
    )


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--num_units", type=int, default=512, help="width of the network (default: %(default)s)")
    add("--hidden_size", type=int, default=2048, help="of position-wise layers (default: %(default)s)")
    add("--num_layers", type=int, default=6, help="of encoder and decoder (default: %(default)s)")
    add("--num_heads", type=int, default=8, help="of attention (default: %(default)s)")
    add("--epsilon", type=float, default=0.1, help="of label smoothing (default: %(default)s)")
    add("--magnitude", type=float, default=3.0, help="of the initial weights (default: %(default)s)")
    add("--warmup_steps", type=int, default=4000, help="until the rate is reached (default: %(default)s)")
    add("--batch_size", type=int, default=2700, help="pieces of a language (default: %(default)s)")
    add("--scaled", action="store_true", default=True, help="scores of attention are scaled, as in any case")
    add("--schedule", choices=("noam", "cosine"), default="noam", help="how the rate falls (default: %(default)s)")
    add("--num_buckets", type=int, default=10, help="0: as many as serve (default: %(default)s)")
    add("--bucket_scheme", choices=tuple(BUCKETS), default="exp", help="how wide they are (default: %(default)s)")
    add("--bucket_ratio", type=float, default=0.0, help="how much larger batches of short ones are (default: 0)")
    add("--num_accumulated", type=int, default=1, help="batches for one step (default: %(default)s)")
    add("--average_start", type=int, default=5, help="last epochs over whose steps parameters are averaged, 0: none")
    add("--average_checkpoint", action="store_true", help="test the mean of what the last epochs ended with instead")
    add("--num_averages", type=int, default=5, help="so many epochs (default: %(default)s)")
    add("--full", action="store_true", help="test on all of newstest2014, not only what was written in --src_lang")
    add("--bleu", choices=("tweaked", "13a", "intl"), help="what cuts texts for BLEU (default: as the data are)")
    add_length_arguments(parser, -1)
    add_list_argument(parser)
    add_experiment_arguments(
        parser, dataset="WMT2016BPE", languages=("en", "de"), lr=1.0, dropout=0.1, epochs=30, lp_alpha=0.6,
        test_batch_size=256, gpu=False,
    )  # fmt: skip
    return settled(parser, argv, "transformer", "WMT2016BPE", SMALL)


if __name__ == "__main__":
    main()

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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from gluon import Trainer
from scripts.common.precision import use_dtype
from scripts.machine_translation import parallel_text
from scripts.machine_translation.experiment import Experiment, add_experiment_arguments, name_run


def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    use_dtype(args.dtype)
    experiment = Experiment(args, epsilon=args.epsilon)
    net = network(args, experiment.subwords.vocab)
    net.initialize(mx.init.Xavier(magnitude=args.magnitude), ctx=experiment.context)
    sampler = functools.partial(parallel_text.sampler, tokens=args.batch_size)
    schedule = mx.lr_scheduler.CosineScheduler(
        args.epochs * len(sampler(experiment.samples["train"], shuffle=False)),
        base_lr=args.lr,
        final_lr=0,
        warmup_steps=args.warmup_steps,
    )
    optimizer = {"learning_rate": args.lr, "lr_scheduler": schedule, "beta2": 0.98, "epsilon": 1e-9}
    return experiment.train(net, Trainer(net.collect_params(), args.optimizer, optimizer), sampler)


def network(args: argparse.Namespace, vocab) -> nlp.model.NMTModel:
    """The Transformer with one embedding for both languages and the scores of words."""
    parts = nlp.model.transformer.get_transformer_encoder_decoder(
        units=args.num_units,
        hidden_size=args.hidden_size,
        dropout=args.dropout,
        num_layers=args.num_layers,
        num_heads=args.num_heads,
        scaled=True,
        max_src_length=args.max_len + 1,
        max_tgt_length=args.max_len + 1,
    )
    return nlp.model.NMTModel(
        vocab, vocab, *parts, embed_size=args.num_units, embed_initializer=None, share_embed=True, tie_weights=True
    )


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--num_units", type=int, default=128, help="width of the network (default: %(default)s)")
    add("--hidden_size", type=int, default=256, help="of position-wise layers (default: %(default)s)")
    add("--num_layers", type=int, default=2, help="of encoder and decoder (default: %(default)s)")
    add("--num_heads", type=int, default=4, help="of attention (default: %(default)s)")
    add("--epsilon", type=float, default=0.1, help="of label smoothing (default: %(default)s)")
    add("--magnitude", type=float, default=3.0, help="of the initial weights (default: %(default)s)")
    add("--warmup_steps", type=int, default=400, help="until the rate is reached (default: %(default)s)")
    add("--batch_size", type=int, default=1024, help="pieces of a language (default: %(default)s)")
    add("--max_len", type=int, default=100, help="pieces of a sentence (default: %(default)s)")
    add_experiment_arguments(parser, lr=3e-3, dropout=0.1, epochs=10, lp_alpha=0.6, test_batch_size=64)
    return name_run(parser.parse_args(argv), "transformer")


if __name__ == "__main__":
    main()

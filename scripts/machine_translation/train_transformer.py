"""Trains the Transformer (Vaswani et al., 2017) to translate the captions of Multi30k (Elliott et al., 2016).

    python scripts/machine_translation/train_transformer.py --data-dir ../shared/data/multi30k --src_lang de --tgt_lang en

Both languages share byte-pair pieces that are learned from the training part. BLEU is that of sacrebleu
(the extra `bleu`) on test_2016_flickr, of whole sentences as they are written, by beam search.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core import autograd
from gluon import Trainer
from scripts.common.environment import checksums
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.run import Run, add_run_arguments
from scripts.machine_translation import parallel_text

PARTS = {"train": "train", "dev": "val", "test": "test_2016_flickr"}


def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    context = mx.gpu(args.gpu) if args.gpu is not None else mx.cpu()
    use_dtype(args.dtype)
    languages = (args.src_lang, args.tgt_lang)
    run = Run(
        "machine_translation",
        args,
        data=checksums(args.data_dir / f"{part}.{language}.gz" for part in PARTS.values() for language in languages),
    )
    text = {name: nlp.data.Multi30k(part, *languages, root=str(args.data_dir)) for name, part in PARTS.items()}
    text = {name: list(data)[: args.samples] for name, data in text.items()}
    subwords = parallel_text.Subwords(
        [sentence for pair in text["train"] for sentence in pair], args.vocab_size, run.folder / "pieces.model"
    )
    samples = {name: parallel_text.pairs(data, subwords, args.max_len) for name, data in text.items()}
    sampler = parallel_text.sampler(samples["train"], args.batch_size, shuffle=False)
    padding = parallel_text.padding_share(samples["train"], sampler)
    run.record.put(vocabulary=len(subwords.vocab), padding=padding)

    net = network(args, subwords.vocab)
    net.initialize(mx.init.Xavier(magnitude=args.magnitude), ctx=context)
    schedule = mx.lr_scheduler.CosineScheduler(
        args.epochs * len(sampler), base_lr=args.lr, final_lr=0, warmup_steps=args.warmup_steps
    )
    optimizer = {"learning_rate": args.lr, "lr_scheduler": schedule, "beta2": 0.98, "epsilon": 1e-9}
    trainer = Trainer(net.collect_params(), args.optimizer, optimizer)

    for epoch in run.epochs(args.epochs, net, trainer):
        batches = parallel_text.batches(samples["train"], subwords.vocab, args.batch_size, shuffle=True)
        metrics = {"loss": train(net, run.progress(batches, f"epoch {epoch}"), trainer, args.epsilon, context)}
        dev = parallel_text.batches(samples["dev"], subwords.vocab, args.batch_size, shuffle=False)
        metrics["dev_perplexity"] = perplexity(net, dev, context)
        run.epoch_done(epoch, metrics, samples=len(samples["train"]))
    translations = translate(net, samples["test"], subwords, args, context)
    for (source, reference), translation in list(zip(text["test"], translations, strict=True))[:3]:
        run.record.say(f"{source} -> {translation} (reference: {reference})")
    return run.finish("dev_perplexity", bleu=bleu(translations, [reference for _, reference in text["test"]]))


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


def train(net, batches, trainer, epsilon: float, context) -> float:
    """One pass of training; the mean loss of a piece, with labels smoothed by `epsilon` (Szegedy et al., 2016)."""
    total = count = 0.0
    for batch in batches:
        with autograd.record():
            losses, pieces = _losses(net, batch, epsilon, context)
            loss = losses.sum() / pieces
        loss.backward()
        trainer.step(1)
        total, count = total + float(loss.asscalar()) * pieces, count + pieces
    return total / count


def perplexity(net, batches, context) -> float:
    """exp of the mean cross-entropy of a piece, <eos> included."""
    total = count = 0.0
    for batch in batches:
        losses, pieces = _losses(net, batch, 0.0, context)
        total, count = total + float(losses.sum().asscalar()), count + pieces
    return math.exp(total / count)


def translate(net, samples: list, subwords: parallel_text.Subwords, args: argparse.Namespace, context) -> list[str]:
    """The translation of each source."""
    scorer = nlp.model.BeamSearchScorer(alpha=args.lp_alpha, K=args.lp_k)
    translator = nlp.model.BeamSearchTranslator(net, args.beam_size, scorer, max_length=args.max_len)
    together = parallel_text.together(subwords.vocab)
    order = sorted(range(len(samples)), key=lambda i: len(samples[i][0]))
    translations = [""] * len(samples)
    for begin in range(0, len(order), args.test_batch_size):
        chosen = order[begin : begin + args.test_batch_size]
        source, lengths, _, _ = together([samples[i] for i in chosen])
        found, _, _ = translator.translate(source.as_in_context(context), lengths.as_in_context(context))
        for i, best in zip(chosen, found[:, 0].asnumpy(), strict=True):
            translations[i] = subwords.text(best)
    return translations


def bleu(translations: list[str], references: list[str]) -> float:
    """BLEU of sacrebleu (Post, 2018), tokenizer 13a, from 0 to 100."""
    import sacrebleu

    return sacrebleu.corpus_bleu(translations, [references]).score


def _losses(net, batch, epsilon: float, context):
    """The loss of each piece of the targets (batch, length), 0 behind their ends, and how many there are."""
    source, source_lengths, target, target_lengths = (field.as_in_context(context) for field in batch)
    lengths = target_lengths - 1
    scores, _ = net(source, target[:, :-1], source_lengths, lengths)
    logarithms = mx.nd.log_softmax(scores)
    losses = (epsilon - 1) * mx.nd.pick(logarithms, target[:, 1:])
    if epsilon:
        losses = losses - epsilon * logarithms.mean(axis=-1)
    masked = mx.nd.SequenceMask(losses, lengths, use_sequence_length=True, axis=1)
    return masked, float(lengths.sum().asscalar())


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with train.de.gz, train.en.gz, ...")
    parser.add_argument("--src_lang", default="de", help="language to read: en, de, fr, cs (default: %(default)s)")
    parser.add_argument("--tgt_lang", default="en", help="language to write (default: %(default)s)")
    parser.add_argument("--vocab_size", type=int, default=4000, help="byte-pair pieces (default: %(default)s)")
    parser.add_argument("--num_units", type=int, default=128, help="width of the network (default: %(default)s)")
    parser.add_argument("--hidden_size", type=int, default=256, help="of position-wise layers (default: %(default)s)")
    parser.add_argument("--num_layers", type=int, default=2, help="of encoder and decoder (default: %(default)s)")
    parser.add_argument("--num_heads", type=int, default=4, help="of attention (default: %(default)s)")
    parser.add_argument("--dropout", type=float, default=0.1, help="(default: %(default)s)")
    parser.add_argument("--epsilon", type=float, default=0.1, help="of label smoothing (default: %(default)s)")
    parser.add_argument("--magnitude", type=float, default=3.0, help="of the initial weights (default: %(default)s)")
    parser.add_argument("--optimizer", default="adam", help="(default: %(default)s)")
    parser.add_argument("--lr", type=float, default=3e-3, help="highest rate (default: %(default)s)")
    parser.add_argument("--warmup_steps", type=int, default=400, help="until it is reached (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the data (default: %(default)s)")
    parser.add_argument("--batch_size", type=int, default=1024, help="pieces of a language (default: %(default)s)")
    parser.add_argument("--max_len", type=int, default=100, help="pieces of a sentence (default: %(default)s)")
    parser.add_argument("--beam_size", type=int, default=4, help="of the search (default: %(default)s)")
    parser.add_argument("--lp_alpha", type=float, default=0.6, help="length penalty (default: %(default)s)")
    parser.add_argument("--lp_k", type=float, default=5, help="length penalty (default: %(default)s)")
    parser.add_argument("--test_batch_size", type=int, default=64, help="sentences at a time (default: %(default)s)")
    parser.add_argument("--samples", type=int, help="use only the first so many of each part")
    parser.add_argument("--gpu", type=int, help="train on this GPU (default: CPU)")
    add_dtype_argument(parser)
    add_run_arguments(parser, run="")
    args = parser.parse_args(argv)
    args.run = args.run or f"transformer_multi30k_{args.src_lang}_{args.tgt_lang}"
    return args


if __name__ == "__main__":
    main()

"""Training and evaluation of a translator, whatever its network: data, beam search, passes over the data, BLEU."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import core as mx
import gluonnlp as nlp
from core import autograd
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.environment import checksums
from scripts.common.precision import add_dtype_argument
from scripts.common.run import Run, add_run_arguments
from scripts.machine_translation import parallel_text

PARTS = {"train": "train", "dev": "val", "test": "test_2016_flickr"}


class Experiment:
    """The captions of Multi30k (Elliott et al., 2016) in two languages, as pieces that both share.

    args: those of `add_experiment_arguments`. text: pairs of sentences by part; samples: their numbers. clip: the
    highest norm of gradients, None for any. epsilon: how much labels are smoothed by (Szegedy et al., 2016).
    """

    def __init__(self, args: argparse.Namespace, *, epsilon: float = 0.0, clip: float | None = None):
        languages = (args.src_lang, args.tgt_lang)
        files = [args.data_dir / f"{part}.{language}.gz" for part in PARTS.values() for language in languages]
        self.args, self._epsilon, self._clip = args, epsilon, clip
        self.context = context_of(args)
        self.run = Run("machine_translation", args, data=checksums(files))
        text = {name: nlp.data.Multi30k(part, *languages, root=str(args.data_dir)) for name, part in PARTS.items()}
        self.text = {name: list(data)[: args.samples] for name, data in text.items()}
        self.subwords = parallel_text.Subwords(
            [sentence for pair in self.text["train"] for sentence in pair],
            args.vocab_size,
            self.run.folder / "pieces.model",
        )
        self.samples = {
            name: parallel_text.pairs(data, self.subwords, args.max_len) for name, data in self.text.items()
        }
        self.run.record.put(vocabulary=len(self.subwords.vocab))

    def train(self, net, trainer, sampler: Callable, before_epoch: Callable = lambda epoch: None) -> dict:
        """Trains, translates the test part and concludes the run.

        sampler(samples, shuffle): batches of a part. before_epoch(epoch): called at the start of each epoch.
        """
        padding = parallel_text.padding_share(self.samples["train"], sampler(self.samples["train"], shuffle=False))
        self.run.record.put(padding=padding)
        vocab, how = self.subwords.vocab, (self.context, self._epsilon, self._clip)
        for epoch in self.run.epochs(self.args.epochs, net, trainer):
            before_epoch(epoch)
            batches, dev = (
                parallel_text.batches(self.samples[part], vocab, sampler(self.samples[part], shuffle=part == "train"))
                for part in ("train", "dev")
            )
            metrics = {"loss": train(net, self.run.progress(batches, f"epoch {epoch}"), trainer, *how)}
            metrics["dev_perplexity"] = perplexity(net, dev, self.context)
            self.run.epoch_done(epoch, metrics, samples=len(self.samples["train"]))
        translations = self._translate(net, self.samples["test"])
        for (source, reference), translation in list(zip(self.text["test"], translations, strict=True))[:3]:
            self.run.record.say(f"{source} -> {translation} (reference: {reference})")
        references = [reference for _, reference in self.text["test"]]
        return self.run.finish("dev_perplexity", bleu=bleu(translations, references))

    def _translate(self, net, samples: list) -> list[str]:
        """The translation of each source."""
        args = self.args
        scorer = nlp.model.BeamSearchScorer(alpha=args.lp_alpha, K=args.lp_k)
        translator = nlp.model.BeamSearchTranslator(net, args.beam_size, scorer, max_length=args.max_len)
        together = parallel_text.together(self.subwords.vocab)
        order = sorted(range(len(samples)), key=lambda i: len(samples[i][0]))
        translations = [""] * len(samples)
        for begin in range(0, len(order), args.test_batch_size):
            chosen = order[begin : begin + args.test_batch_size]
            source, lengths, _, _ = (
                field.as_in_context(self.context) for field in together([samples[i] for i in chosen])
            )
            found, _, _ = translator.translate(source, lengths)
            for i, best in zip(chosen, found[:, 0].asnumpy(), strict=True):
                translations[i] = self.subwords.text(best)
        return translations


def train(net, batches, trainer, context, epsilon: float = 0.0, clip: float | None = None) -> float:
    """One pass of training; the mean loss of a piece. epsilon, clip: as in `Experiment`."""
    parameters = [p for p in net.collect_params().values() if p.grad_req != "null"]
    total = count = 0.0
    for batch in batches:
        with autograd.record():
            losses, pieces = _losses(net, batch, epsilon, context)
            loss = losses.sum() / pieces
        loss.backward()
        if clip is not None:
            nlp.utils.clip_grad_global_norm(parameters, clip)
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


def bleu(translations: list[str], references: list[str]) -> float:
    """BLEU of sacrebleu (Post, 2018), tokenizer 13a, from 0 to 100."""
    import sacrebleu

    return sacrebleu.corpus_bleu(translations, [references]).score


def add_experiment_arguments(
    parser: argparse.ArgumentParser, *, lr: float, dropout: float, epochs: int, lp_alpha: float, test_batch_size: int
) -> None:
    """Adds what an `Experiment` takes, with these defaults, and the arguments of every run."""
    add = parser.add_argument
    add("--data-dir", type=Path, required=True, help="folder with train.de.gz, train.en.gz, ...")
    add("--src_lang", default="de", help="language to read: en, de, fr, cs (default: %(default)s)")
    add("--tgt_lang", default="en", help="language to write (default: %(default)s)")
    add("--vocab_size", type=int, default=4000, help="byte-pair pieces (default: %(default)s)")
    add("--dropout", type=float, default=dropout, help="(default: %(default)s)")
    add("--optimizer", default="adam", help="(default: %(default)s)")
    add("--lr", type=float, default=lr, help="highest rate (default: %(default)s)")
    add("--epochs", type=int, default=epochs, help="passes over the data (default: %(default)s)")
    add("--beam_size", type=int, default=4, help="of the search (default: %(default)s)")
    add("--lp_alpha", type=float, default=lp_alpha, help="length penalty (default: %(default)s)")
    add("--lp_k", type=float, default=5, help="length penalty (default: %(default)s)")
    add("--test_batch_size", type=int, default=test_batch_size, help="sentences at a time (default: %(default)s)")
    add("--samples", type=int, help="use only the first so many of each part")
    add_gpu_argument(parser)
    add_dtype_argument(parser)
    add_run_arguments(parser, run="")


def name_run(args: argparse.Namespace, network: str) -> argparse.Namespace:
    """The arguments, in which the run has a name."""
    args.run = args.run or f"{network}_multi30k_{args.src_lang}_{args.tgt_lang}"
    return args


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

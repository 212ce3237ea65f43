"""Training and evaluation of a translator, whatever its network: data, beam search, passes over the data, BLEU."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import core as mx
import gluonnlp as nlp
from core import autograd
from core.extras import load
from scripts.common import parallel
from scripts.common.averages import Mean
from scripts.common.devices import add_gpu_argument, context_of, contexts, spread
from scripts.common.environment import checksums
from scripts.common.means import Means
from scripts.common.precision import add_dtype_argument
from scripts.common.run import Run, add_run_arguments
from scripts.common.several import Networks
from scripts.machine_translation import parallel_text

NEWS = {"train": "train", "dev": "newstest2013", "test": "newstest2014"}
# name: parts to train on, to look at after epochs, and to test; the last ones are cut into words or pieces already
PARTS = {
    "multi30k": {"train": "train", "dev": "val", "test": "test_2016_flickr"},
    "IWSLT2015": {"train": "train", "dev": "val", "test": "test"},
    "WMT2014": NEWS,
    "WMT2014BPE": NEWS,
    "WMT2016": NEWS,
    "WMT2016BPE": NEWS,
}


class Experiment:
    """The captions of Multi30k (Elliott et al., 2016) in two languages, as pieces that both share, or another data set
    with the vocabularies that it is published with.

    args: those of `add_experiment_arguments`. make: makes the network from these and the pieces. text: pairs of sentences
    by part; samples: their numbers. epsilon: how much labels are smoothed by (Szegedy et al., 2016).
    """

    def __init__(self, args: argparse.Namespace, make: Callable, *, epsilon: float = 0.0):
        self._make = make
        languages = (args.src_lang, args.tgt_lang)
        self.args, self._epsilon = args, epsilon
        self.devices = contexts(args) if "gpus" in args else [context_of(args)]
        self.context = self.devices[0]
        parts, root = PARTS[args.dataset], {"root": str(args.data_dir)} if args.data_dir else {}
        class_ = nlp.data.Multi30k if args.dataset == "multi30k" else getattr(nlp.data, args.dataset)
        text = {name: class_(part, *languages, **self._options(part), **root) for name, part in parts.items()}
        files = args.data_dir.glob("*.gz") if args.data_dir else []
        wanted = [
            file for file in files if file.name.split(".")[0] in parts.values() and file.suffixes[0][1:] in languages
        ]
        self.run = Run("machine_translation", args, data=checksums(sorted(wanted)))
        self.text = {name: list(data)[: args.samples] for name, data in text.items()}
        if args.dataset == "multi30k":
            self.subwords = parallel_text.Subwords(
                [sentence for pair in self.text["train"] for sentence in pair],
                args.vocab_size,
                self.run.folder / "pieces.model",
            )
        else:
            self.subwords = parallel_text.Words(text["train"].src_vocab, text["train"].tgt_vocab)
        longest = args.max_len if args.max_len > 0 else None
        self.samples = {name: parallel_text.pairs(data, self.subwords, longest) for name, data in self.text.items()}
        self.longest = longest or max(len(side) for some in self.samples.values() for pair in some for side in pair)
        self.run.record.put(vocabulary=len(self.subwords.vocab))

    def _options(self, part: str) -> dict[str, bool]:
        full = getattr(self.args, "full", False) and part == "newstest2014" and "2014" in self.args.dataset
        return {"full": True} if full else {}

    def train(self, net, trainer, sampler: Callable, before_epoch: Callable = lambda epoch: None) -> dict:
        """Trains, translates the test part and concludes the run.

        sampler(samples, shuffle): batches of a part. before_epoch(epoch): called at the start of each epoch.
        """
        padding = parallel_text.padding_share(self.samples["train"], sampler(self.samples["train"], shuffle=False))
        self.run.record.put(padding=padding)
        how = (self.devices, self._epsilon, getattr(self.args, "num_accumulated", 1))
        mean = self._mean(net)
        learned = Networks(net=net, mean=mean.net) if mean else net
        for epoch in self.run.epochs(self.args.epochs, learned, trainer):
            before_epoch(epoch)
            made = {part: sampler(self.samples[part], shuffle=part == "train") for part in ("train", "dev")}
            batches, dev = (
                parallel_text.batches(
                    self.samples[part],
                    self.subwords.vocab,
                    parallel.shared(made[part]) if part == "train" else made[part],
                    self.subwords.source_vocab,
                )
                for part in ("train", "dev")
            )
            if mean:  # what a resumed run has averaged already
                averaged = self.args.num_averages if self._averages_epochs else self.args.average_start
                past = max(epoch - 1 - (self.args.epochs - averaged), 0)
                mean.count = past * (1 if self._averages_epochs else -(-len(batches) // self.args.num_accumulated))
            averages = mean and not self._averages_epochs and epoch > self.args.epochs - self.args.average_start
            after_step = mean.add if averages else lambda: None
            shown = self.run.progress(batches, f"epoch {epoch}")
            means = Means(self.run, self.args.log_interval)
            metrics = {"loss": train(net, shown, trainer, *how, after_step, means)}
            if mean and self._averages_epochs and epoch > self.args.epochs - self.args.num_averages:
                mean.add()
            metrics["dev_perplexity"] = perplexity(net, dev, self.context)
            if getattr(self.args, "validate_on_test_data", False):
                metrics["test_bleu"] = self._bleu(self._translate(net, self.samples["test"]))
            self.run.epoch_done(epoch, metrics, samples=len(self.samples["train"]))
        net = mean.net if mean else net
        translations = self._translate(net, self.samples["test"])
        for (source, reference), translation in list(zip(self.text["test"], translations, strict=True))[:3]:
            self.run.record.say(f"{source} -> {translation} (reference: {reference})")
        return self.run.finish("dev_perplexity", bleu=self._bleu(translations))

    @property
    def _averages_epochs(self) -> bool:
        """Whether the test is of the mean of what the last --num_averages epochs ended with."""
        return getattr(self.args, "average_checkpoint", False)

    def _mean(self, net) -> Mean | None:
        """What holds the mean of parameters: of the last --num_averages epochs, or over the steps of the last
        --average_start, where that is asked for.
        """
        if not self._averages_epochs and not getattr(self.args, "average_start", 0):
            return None
        return Mean(net, self._make(self.args, self.subwords.vocab, self.subwords.source_vocab), self.context)

    def _bleu(self, translations: list[str]) -> float:
        """BLEU of translations of the test part."""
        references = [parallel_text.whole(reference) for _, reference in self.text["test"]]
        return bleu(*self._detokenized(translations, references))

    def _detokenized(self, translations: list[str], references: list[str]) -> tuple[list[str], list[str], str]:
        """Both as they are compared, and the tokenizer of BLEU."""
        way = getattr(self.args, "bleu", None) or ("13a" if self.args.dataset == "multi30k" else "tweaked")
        if way == "tweaked":
            return translations, references, "none"
        if self.args.dataset != "multi30k":
            join = nlp.data.SacreMosesDetokenizer()
            translations, references = ([join(text.split()) for text in texts] for texts in (translations, references))
        return translations, references, way

    def _translate(self, net, samples: list) -> list[str]:
        """The translation of each source."""
        args = self.args
        scorer = nlp.model.BeamSearchScorer(alpha=args.lp_alpha, K=args.lp_k)
        translator = nlp.model.BeamSearchTranslator(net, args.beam_size, scorer, max_length=self.longest)
        together = parallel_text.together(self.subwords.vocab, self.subwords.source_vocab)
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


def train(
    net, batches, trainer, devices: mx.Context | list[mx.Context], epsilon: float = 0.0, accumulate: int = 1,
    after_step: Callable[[], None] = lambda: None, means: Means | None = None,
) -> float:  # fmt: skip
    """One pass of training; the mean loss of a piece. epsilon: as in `Experiment`.

    devices: one, or several that share each batch. accumulate: batches for one step. means: says how it goes.
    """
    devices = devices if isinstance(devices, list) else [devices]
    if accumulate > 1:
        net.collect_params().setattr("grad_req", "add")
    total = count = 0.0
    for number, batch in enumerate(batches, 1):
        pieces = float((batch[3] - 1).sum().asscalar())
        with autograd.record():
            parts = [_losses(net, part, epsilon)[0] for part in zip(*(spread(f, devices) for f in batch), strict=True)]
            autograd.backward([losses.sum() / (pieces * accumulate) for losses in parts])
        of_batch = sum(float(losses.sum().asscalar()) for losses in parts)
        total, count = total + of_batch, count + pieces
        if means is not None:
            means.add(loss=of_batch / pieces)
        if number % accumulate and number < len(batches):
            continue
        trainer.step(1)
        after_step()
        if accumulate > 1:
            net.collect_params().zero_grad()
    return total / count


def perplexity(net, batches, context) -> float:
    """exp of the mean cross-entropy of a piece, <eos> included."""
    total = count = 0.0
    for batch in batches:
        losses, pieces = _losses(net, [field.as_in_context(context) for field in batch], 0.0)
        total, count = total + float(losses.sum().asscalar()), count + pieces
    return math.exp(total / count)


def bleu(translations: list[str], references: list[str], tokenizer: str = "13a") -> float:
    """BLEU of sacrebleu (Post, 2018), from 0 to 100; tokenizer: one of its own, "none" for texts that are cut."""
    sacrebleu = load("sacrebleu", "BLEU")

    return sacrebleu.corpus_bleu(translations, [references], tokenize=tokenizer, force=True).score


def add_experiment_arguments(
    parser: argparse.ArgumentParser, *, dataset: str, languages: tuple[str, str], lr: float, dropout: float,
    epochs: int, lp_alpha: float, test_batch_size: int, gpu: bool = True,
) -> None:  # fmt: skip
    """Adds what an `Experiment` takes, with these defaults, and the arguments of every run; gpu: --gpu with a number."""
    add = parser.add_argument
    add("--dataset", choices=PARTS, help=f"(default: {dataset}, multi30k with --data-dir)")
    add("--data-dir", type=Path, help="folder with its files, as train.de.gz of multi30k (default: downloaded)")
    add("--src_lang", default=languages[0], help="language to read (default: %(default)s, de of multi30k)")
    add("--tgt_lang", default=languages[1], help="language to write (default: %(default)s, en of multi30k)")
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
    add("--log_interval", type=int, default=0, metavar="N", help="batches between lines in the log (default: none)")
    if gpu:
        add_gpu_argument(parser)
    add_dtype_argument(parser)
    add_run_arguments(parser, run="")


def settled(
    parser: argparse.ArgumentParser, argv: list[str] | None, network: str, dataset: str, small: dict
) -> argparse.Namespace:
    """The arguments, in which the run has a name and the data set is known; `small`: defaults for multi30k."""
    known, _ = parser.parse_known_args(argv)
    chosen = known.dataset or ("multi30k" if known.data_dir else dataset)
    if chosen == "multi30k":
        parser.set_defaults(src_lang="de", tgt_lang="en", **small)
    parser.set_defaults(dataset=chosen)
    args = parser.parse_args(argv)
    args.max_len = max(args.src_max_len, args.tgt_max_len) if args.max_len is None else args.max_len
    args.run = args.run or f"{network}_{args.dataset.lower()}_{args.src_lang}_{args.tgt_lang}"
    return args


def add_length_arguments(parser: argparse.ArgumentParser, longest: int) -> None:
    """Adds how many pieces of a sentence are read."""
    add = parser.add_argument
    add("--src_max_len", type=int, default=longest, help="pieces of a sentence, -1 for all (default: %(default)s)")
    add("--tgt_max_len", type=int, default=longest, help="of a translation; the larger counts (default: %(default)s)")
    add("--max_len", type=int, help="the same for both")


def _losses(net, batch, epsilon: float):
    """The loss of each piece of the targets (batch, length), 0 behind their ends, and how many there are."""
    source, source_lengths, target, target_lengths = batch
    lengths = target_lengths - 1
    scores, _ = net(source, target[:, :-1], source_lengths, lengths)
    logarithms = mx.nd.log_softmax(scores)
    losses = (epsilon - 1) * mx.nd.pick(logarithms, target[:, 1:])
    if epsilon:
        losses = losses - epsilon * logarithms.mean(axis=-1)
    masked = mx.nd.SequenceMask(losses, lengths, use_sequence_length=True, axis=1)
    return masked, float(lengths.sum().asscalar())

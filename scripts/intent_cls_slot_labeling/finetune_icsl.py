"""Fine-tunes a BERT to tell what an utterance wants and which words say the details: intents and slots together (Chen,
Zhuo and Wang, 2019), on ATIS or SNIPS.

    python scripts/intent_cls_slot_labeling/finetune_icsl.py --data-dir ../shared/data --dataset atis \\
        --checkpoint all-minilm-l6-v2

Of an utterance with several intents the first one is learned and asked for. The model of the epoch that does best on
the dev part, by the mean of intent accuracy and slot F1, is kept in --output_dir and tested.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.bert import tagging
from scripts.bert.pretrained import MODELS, Pretrained, add_bert_arguments, pretrained, settle_bert_arguments
from scripts.bert.tuned import Tuned
from scripts.bert.tuning import add_tuning_arguments, train, trainer
from scripts.common import parallel
from scripts.common.devices import context_of
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.precision import use_dtype
from scripts.common.program import program
from scripts.common.run import Run

DATA_SETS = {"atis": nlp.data.ATISDataset, "snips": nlp.data.SNIPSDataset}


class IntentsAndSlots(Tuned):
    """The network with the names of what it tells."""

    def __init__(self, start: Pretrained, *, intents: list[str], slots: list[str], max_len: int, dropout: float = 0.0):
        net = nlp.model.BERTForICSL(start.bert, len(intents), len(slots), dropout)
        super().__init__(start, net, intents=intents, slots=slots, max_len=max_len, dropout=dropout)
        self.intents, self.slots = intents, slots
        self._tokenizer, self._max_len = start.tokenizer(), max_len

    def samples(self, data) -> list[tuple]:
        """Tokens, tags, mask, the number of the intent and that of the sample, of `(words, tags, intents)`."""
        number = {tag: i for i, tag in enumerate(self.slots)}
        made = []
        for index, (words, tags, intents) in enumerate(data):
            sentence = tagging.sentence(words, self._tokenizer, self._max_len)
            placed = tagging.placed(sentence, [number[tag] for tag in tags])
            made.append((sentence.tokens, *placed, int(intents[0]), index))
        return made

    def batches(self, samples: list[tuple], batch_size: int, *, shuffle: bool):
        """Batches of tokens, lengths, tags, mask, intents, and numbers of samples."""
        return tagging.batches(samples, self.vocab[self.vocab.padding_token], batch_size, shuffle=shuffle)


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    context = context_of(args)
    use_dtype(args.dtype)
    folder = args.data_dir / args.dataset if args.data_dir else None
    files = sorted(f for f in folder.rglob("*") if f.is_file()) if folder else []
    run = Run("intent_cls_slot_labeling", args, data=checksums(files, root=folder))
    data = {part: DATA_SETS[args.dataset](part, **root(folder)) for part in ("train", "dev", "test")}
    names = {
        "intents": data["train"].intent_vocab.idx_to_token,
        "slots": data["train"].slot_vocab.idx_to_token,
    }
    model = IntentsAndSlots(pretrained(args, context), **names, max_len=args.max_len, dropout=args.dropout)
    for head in (model.net.intent_classifier, model.net.slot_tagger):
        head.initialize(mx.init.Normal(0.02), ctx=context)
    if args.hybridize:
        model.net.hybridize(static_alloc=True)
    data = {part: list(samples)[: args.samples] for part, samples in data.items()}
    learner = trainer(args, model.net, len(data["train"]))
    samples = model.samples(data["train"])
    loss_function = SoftmaxCrossEntropyLoss()

    def loss_of(batch):
        """The mean loss of the intent and, times --slot-loss-mult, of a tag."""
        tokens, lengths, tags, mask, intent, _ = (field.as_in_context(context) for field in batch)
        of_intent, of_tags = model.net(tokens, lengths)
        slots = (loss_function(of_tags, tags, mask.expand_dims(2)) * mask.shape[1]).sum() / mask.sum()
        return loss_function(of_intent, intent).mean() + args.slot_loss_mult * slots

    for epoch in run.epochs(args.epochs, model.net, learner):
        batches = run.progress(model.batches(samples, args.batch_size, shuffle=True), f"epoch {epoch}")
        metrics = train(run, model.net, batches, loss_of, learner)
        metrics |= evaluate(model, "dev", data["dev"], args.batch_size, context)
        run.epoch_done(epoch, metrics, samples=len(samples))
        rows = run.record.facts["epochs"]
        if max(rows, key=lambda row: row["dev_intent_accuracy"] + row["dev_slot_f1"])["epoch"] == epoch:
            parallel.on_first(model.save, args.output_dir)
    chosen = IntentsAndSlots.load(args.output_dir, context)
    return run.finish(**evaluate(chosen, "test", data["test"], args.batch_size, context))


def root(folder: Path | None) -> dict[str, str]:
    """Where a data set reads its files, if not where it downloads them to."""
    return {"root": str(folder)} if folder else {}


def evaluate(model: IntentsAndSlots, part: str, data: list, batch_size: int, context) -> dict[str, float]:
    """The share of intents that are right, and F1 of slots."""
    known = [
        (words, [tag if tag in model.slots else tagging.OUTSIDE for tag in tags], intents)
        for words, tags, intents in data
    ]
    found, right = [[]] * len(data), 0
    for tokens, lengths, _, mask, intent, index in model.batches(model.samples(known), batch_size, shuffle=False):
        of_intent, of_tags = model.net(tokens.as_in_context(context), lengths.as_in_context(context))
        right += int((of_intent.asnumpy().argmax(axis=1) == intent.asnumpy()).sum())
        for i, tags in zip(index.asnumpy().astype(int), tagging.named(of_tags, mask, model.slots), strict=True):
            found[i] = tags
    quality = tagging.quality(found, [tags for _, tags, _ in data])
    return {f"{part}_intent_accuracy": right / len(data), f"{part}_slot_f1": quality["f1"]}


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder that holds atis and snips (default: downloaded)")
    parser.add_argument("--dataset", choices=tuple(DATA_SETS), default="atis", help="(default: %(default)s)")
    parser.add_argument("--slot-loss-mult", type=float, default=1.0, help="weight of slots (default: %(default)s)")
    parser.add_argument("--max_len", type=int, default=128, help="word pieces of an utterance (default: %(default)s)")
    add_bert_arguments(parser, MODELS[:2])
    add_tuning_arguments(parser, "intent_cls_slot_labeling/model", lr=5e-5, epochs=40, seed=123)
    args = parser.parse_args(argv)
    settle_bert_arguments(parser, args, args.dataset)
    return args


if __name__ == "__main__":
    main()

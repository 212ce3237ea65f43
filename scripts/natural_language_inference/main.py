"""Learns whether a sentence follows from another, contradicts it, or neither: decomposable attention (Parikh et al.,
2016) or ESIM (Chen et al., 2017).

    python scripts/natural_language_inference/main.py --model da --train-file snli_1.0_train.txt \\
        --test-file snli_1.0_dev.txt

Files are those of SNLI (Bowman et al., 2015), or have two sentences, whose words are set apart by blanks, and a label
on each line, in columns set apart by tabs. The network of the epoch that does best on --test-file is kept in
--output-dir; `--mode test` reads it from --model-dir.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.common import parallel
from scripts.common.classify import test, train_epoch
from scripts.common.devices import own_gpus
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.kept import keep, kept
from scripts.common.means import Means
from scripts.common.program import program
from scripts.common.run import ROOT, Run, add_run_arguments
from scripts.natural_language_inference import dataset


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    context = mx.gpu(*own_gpus([args.gpu_id])) if args.gpu_id >= 0 else mx.cpu()
    return train(args, context) if args.mode == "train" else evaluate(args, context)


def train(args: argparse.Namespace, context: mx.Context) -> dict[str, float]:
    """Trains a network, and keeps the best one."""
    run = Run("natural_language_inference", args, data=checksums([args.train_file, args.test_file]))
    pairs = dataset.read(args.train_file, args.max_num_examples)
    vocab = dataset.vocabulary(pairs)
    run.record.put(vocabulary=len(vocab), pairs=len(pairs))
    embedding = None
    if args.embedding:
        embedding = vectors(args, vocab)
    settings = description(args, args.embedding_size if embedding is None else embedding.shape[1])
    net = network(len(vocab), **settings)
    net.initialize(mx.init.Normal(args.init_scale), ctx=context)
    net.hybridize()
    if embedding is not None:
        net.word_emb.weight.set_data(embedding)
    if args.fix_embedding:
        net.word_emb.weight.grad_req = "null"
    optimizer = {"learning_rate": args.lr, "wd": args.weight_decay, "clip_gradient": 5}
    trainer = parallel.trainer(args, net.collect_params(), args.optimizer, optimizer)
    loss = SoftmaxCrossEntropyLoss()
    held_back = dataset.batches(
        dataset.read(args.test_file, args.max_num_examples), vocab, args.batch_size, shuffle=False
    )
    for epoch in run.epochs(args.epochs, net, trainer):
        shuffled = dataset.batches(pairs, vocab, args.batch_size, shuffle=True)
        shown = run.progress(shuffled, f"epoch {epoch}")
        metrics = train_epoch(net, shown, trainer, loss, context, means=Means(run, args.log_interval))
        metrics["test_accuracy"] = test(net, held_back, context)
        run.epoch_done(epoch, metrics, samples=len(pairs))
        if max(run.record.facts["epochs"], key=lambda row: row["test_accuracy"])["epoch"] == epoch:
            parallel.on_first(keep, args.output_dir, net, vocab, settings)
    return run.finish(test_accuracy=max(row["test_accuracy"] for row in run.record.facts["epochs"]))


def evaluate(args: argparse.Namespace, context: mx.Context) -> dict[str, float]:
    """The accuracy of the network in --model-dir."""
    settings, vocab, parameters = kept(args.model_dir)
    net = network(len(vocab), **settings)
    net.load_parameters(parameters, ctx=context)
    pairs = dataset.read(args.test_file, args.max_num_examples)
    found = {"test_accuracy": test(net, dataset.batches(pairs, vocab, args.batch_size, shuffle=False), context)}
    print(f"test_accuracy {found['test_accuracy']:.6g}")
    return found


def vectors(args: argparse.Namespace, vocab: nlp.Vocab) -> mx.nd.NDArray:
    """The vectors of the words, (words, length)."""
    if Path(args.embedding).is_file():
        vocab.set_embedding(nlp.embedding.TokenEmbedding.from_file(args.embedding))
    else:
        vocab.set_embedding(nlp.embedding.create(args.embedding, source=args.embedding_source))
    table = vocab.embedding.idx_to_vec
    vocab.set_embedding(None)  # the network has it from now on
    return table


def description(args: argparse.Namespace, width: int) -> dict:
    """What `network` needs to build the network that the arguments ask for."""
    names = ("model", "hidden_size", "dropout", "intra_attention")
    return {name: getattr(args, name) for name in names} | {"embedding_size": width}


def network(words: int, model: str, embedding_size: int, hidden_size: int, dropout: float, intra_attention: bool):
    """The network for a vocabulary of so many words."""
    if model == "esim":
        return nlp.model.ESIMModel(words, len(dataset.LABELS), embedding_size, hidden_size, hidden_size, dropout)
    return nlp.model.DecomposableAttentionModel(words, embedding_size, hidden_size, dropout, intra_attention)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add, folder = parser.add_argument, ROOT / "checkpoints" / "natural_language_inference" / "model"
    add("--model", choices=("da", "esim"), required=True, help="decomposable attention, or ESIM")
    add("--mode", choices=("train", "test"), default="train", help="(default: %(default)s)")
    add("--train-file", type=Path, default="snli_1.0/snli_1.0_train.txt", help="to learn from (default: %(default)s)")
    add("--test-file", type=Path, default="snli_1.0/snli_1.0_dev.txt", help="for evaluation (default: %(default)s)")
    add("--max-num-examples", type=int, help="use only the first so many pairs of each file")
    add("--batch-size", type=int, default=32, help="pairs (default: %(default)s)")
    add("--optimizer", choices=("adam", "adagrad"), default="adagrad", help="(default: %(default)s)")
    add("--lr", type=float, default=0.025, help="rate (default: %(default)s)")
    add("--weight-decay", type=float, default=0.0, help="(default: %(default)s)")
    add("--epochs", type=int, default=300, help="passes over the data (default: %(default)s)")
    add(
        "--embedding", help="vectors to begin with: a file of them, or glove, fasttext, word2vec (default: random ones)"
    )
    add(
        "--embedding-source",
        default="glove.840B.300d",
        help="which published ones of --embedding (default: %(default)s)",
    )
    add("--embedding-size", type=int, default=300, help="length of random vectors (default: %(default)s)")
    add("--fix-embedding", action="store_true", help="leave the vectors as they are")
    add("--hidden-size", type=int, default=200, help="(default: %(default)s)")
    add("--dropout", type=float, default=0.0, help="(default: %(default)s)")
    add("--intra-attention", action="store_true", help="of da: words also read their own sentence")
    add("--init-scale", type=float, default=0.01, help="standard deviation of initial weights (default: %(default)s)")
    add("--gpu-id", type=int, default=-1, help="use this GPU (default: CPU)")
    add(
        "--output-dir",
        type=Path,
        default=folder,
        help="of the result (default: checkpoints/natural_language_inference/model)",
    )
    add("--model-dir", type=Path, default=folder, help="of the network to test (default: that of --output-dir)")
    add("--print-interval", "--log-interval", dest="log_interval", type=int, default=0, metavar="N",
        help="batches between lines in the log (default: none)")  # fmt: skip
    add_run_arguments(parser, run="")
    args = parser.parse_args(argv)
    args.run = args.run or f"{args.model}_{args.train_file.stem}".replace("-", "_").replace(".", "_")
    return args


if __name__ == "__main__":
    main()

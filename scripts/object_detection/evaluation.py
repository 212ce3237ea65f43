"""Tests of trained detectors: what the programs eval_ssd.py, eval_yolo.py,
eval_center_net.py and eval_faster_rcnn.py share.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from core import autograd
from gluoncv.model_zoo import get_model
from scripts.common.deployment import add_deployment_arguments, instead_of_test, tested_network
from scripts.common.devices import contexts
from scripts.common.flags import Parser
from scripts.common.record import LOGS, Record
from scripts.object_detection.detection import add_data_arguments, data_files, datasets, test_loader, validate


def arguments(
    description: str, prefix: str, network: str, size: int | None, batch_size: int
) -> argparse.ArgumentParser:
    """The flags of all of them; `size` is None for detectors that keep a picture's aspect."""
    parser = Parser(description)
    add = parser.add_argument
    add("--network", default=network, help="name of the body (default: %(default)s)")
    if size is not None:
        add("--data-shape", type=int, default=size, help="pixels of the pictures (default: %(default)s)")
        add_deployment_arguments(parser)
    add("--batch-size", type=int, default=batch_size, help="pictures in a batch (default: %(default)s)")
    add("--pretrained", help="file of weights (default: the published ones)")
    add("--save-prefix", "--run", dest="run", default="", help="name of log files (default: no log)")
    add("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    add_data_arguments(parser)
    # What the training programs' `network` looks at besides.
    parser.set_defaults(prefix=prefix, syncbn=False, pretrained_base=None, no_pretrained_base=True)
    return parser


def detector(args, make: Callable, classes, devices, suffix: str = ""):
    """The published network, or what `make(args, classes, devices)` gives with the weights of --pretrained.

    suffix: at the end of the published network's name.
    """
    if not args.pretrained or suffix:
        published = f"{args.prefix}_{args.network}_{args.dataset}{suffix}"
        net = get_model(published, pretrained=args.pretrained or True)
        net.collect_params().reset_ctx(devices)
        return net
    net = make(args, classes, devices)
    net.load_parameters(args.pretrained, ctx=devices)
    return net


def evaluate(
    args, make: Callable, transform, post_affine=None, prepare: Callable = lambda net: None
) -> dict[str, float]:
    """The mean average precision on the data set's test part, in pictures of one size."""
    devices = contexts(args)
    size = args.data_shape
    _, test_set, metric = datasets(args, (size, size), post_affine)
    net = tested_network(args, lambda suffix: detector(args, make, test_set.classes, devices, suffix), devices[0])
    if not (args.deploy or args.quantized):
        prepare(net)
    batches = test_loader(test_set, transform(size, size), args)
    name = f"{args.prefix}_{args.network}_{args.dataset}"
    with autograd.predict_mode():
        figures = instead_of_test(args, net, batches, (args.batch_size, 3, size, size), devices[0], name)
        if figures:
            return figures
        value = validate(net, batches, metric, devices)
    return report(args, len(test_set), metric, value)


def report(args, count: int, metric, value: float) -> dict[str, float]:
    """Prints each class and the mean, and writes the record where --save-prefix asks for one."""
    names, values = metric.get()
    pairs = zip(names, values, strict=True) if isinstance(names, list) else [(names, values)]
    lines = [f"{name}: {figure}" for name, figure in pairs] + [f"{count} pictures: mAP {value:.4f}"]
    if not args.run:
        print("\n".join(lines))
        return {"mAP": value}
    record = Record("object_detection", args.run, data=data_files(args), folder=args.log_dir)
    record.begin()
    for line in lines:
        record.say(line)
    record.put(epochs=[], final={"mAP": value})
    return {"mAP": value}

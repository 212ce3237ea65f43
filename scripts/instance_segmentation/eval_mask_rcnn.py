"""Tests Mask R-CNN: COCO's average precisions of boxes and of masks.

python scripts/instance_segmentation/eval_mask_rcnn.py --network resnet50_v1b --use-fpn --dataset-root coco
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gluoncv.model_zoo import get_model
from scripts.common import regions
from scripts.common.devices import contexts
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.record import LOGS, Record
from scripts.instance_segmentation.train_mask_rcnn import add_data_arguments, data_files, datasets, validate


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    device = contexts(args)[0]
    files, args.run = (regions.kept_files(args), "") if args.eval_all else ([], args.run)
    _, test_set, metric = datasets(args, args.log_dir)
    if args.pretrained or files:
        net = regions.network(args, "mask_rcnn", test_set.classes, [device])
        if not files:
            net.load_parameters(args.pretrained, ctx=device)
    else:
        name = f"{regions.prefix_of(args, 'mask_rcnn')}_{args.network}_{args.dataset}"
        net = get_model(name, pretrained=True, ctx=device)
    pictures = test_set.take(args.num_samples if args.num_samples > 0 else None)
    if files:
        return regions.tested(net, files, device, lambda: validate(net, pictures, metric, device))
    found = validate(net, pictures, metric, device)
    names, values = metric.get()
    record = Record("instance_segmentation", args.run or "eval", data=data_files(args), folder=args.log_dir)
    if args.run:
        record.begin()
    say = record.say if args.run else print
    for name, value in zip(names, values, strict=True):
        say(f"{name.strip()} {value}")
    if args.run:
        record.put(epochs=[], final=found)
    return found


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_data_arguments(parser)
    add = parser.add_argument
    add("--network", default="resnet50_v1b", help="name of the body (default: %(default)s)")
    add("--pretrained", help="file of weights (default: the published ones)")
    add("--save-prefix", "--run", dest="run", default="", help="name of log files (default: no log)")
    regions.add_test_arguments(parser)
    add("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    regions.add_network_arguments(parser, masks=True)
    parser.set_defaults(batch_size=1, pretrained_base=None, no_pretrained_base=True)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

"""Tests a network that recognises actions: shares of videos whose class is the likeliest, and among the five likeliest.

    python scripts/action_recognition/test_recognizer.py --dataset kinetics400 --data-dir frames --val-list val.txt \\
        --model i3d_resnet50_v1_kinetics400 --use-pretrained --new-length 32 --new-step 2 --num-segments 10 --three-crop
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.action_recognition import videos
from scripts.action_recognition.train_recognizer import test
from scripts.common.deployment import add_deployment_arguments, instead_of_test, tested_network
from scripts.common.devices import contexts
from scripts.common.flags import Parser
from scripts.common.precision import use_dtype
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    dataset = videos.dataset(args, args.data_dir, args.val_list, test=True)
    net = tested_network(args, lambda suffix: videos.network(args, devices, test=True, suffix=suffix), devices[0])
    batches = videos.loader(dataset, args.batch_size * len(devices), args.num_data_workers, prefetch=videos.ahead(args))
    if args.calibration or args.benchmark:
        data, _ = next(iter(batches))
        return instead_of_test(args, net, batches, data.shape, devices[0], args.model)
    scores = test(net, batches, devices, args.use_softmax)
    print(f"{len(dataset)} videos: " + "  ".join(f"{name} {value:.4f}" for name, value in scores.items()))
    return scores


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--dataset", choices=videos.DATASETS, default="ucf101", help="data set (default: %(default)s)")
    add("--data-dir", "--val-data-dir", dest="data_dir", type=Path, required=True, help="folder of the videos")
    add("--val-list", type=Path, required=True, help="list of the videos")
    add("--batch-size", type=int, default=32, help="videos in a batch of a device (default: %(default)s)")
    add(
        "--use-softmax",
        action="store_true",
        help="compare shares of classes, which the order of scores does not change",
    )
    videos.add_video_arguments(parser)
    videos.add_prefetch_argument(parser)
    videos.add_foreign_arguments(parser, test=True)
    add_deployment_arguments(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

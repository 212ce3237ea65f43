"""Tests a network for joints of persons: COCO's average precision, on the boxes of the annotations.

python scripts/pose_estimation/validate.py --data-dir coco --model simple_pose_resnet50_v1b --flip-test
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gluoncv.data import COCOKeyPoints
from gluoncv.model_zoo import get_model
from scripts.common.deployment import add_deployment_arguments, instead_of_test, tested_network
from scripts.common.devices import contexts
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.record import LOGS
from scripts.pose_estimation import evaluation
from scripts.pose_estimation.train_simple_pose import add_picture_arguments, with_dataset


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    device = contexts(args)[0]
    persons = COCOKeyPoints(str(args.data_dir), splits=(f"person_keypoints_{args.val_split}",))
    options = {"num_joints": args.num_joints} if args.num_joints else {}
    weights = {"pretrained": args.params_file or True, "ctx": device}
    net = tested_network(args, lambda suffix: get_model(args.model + suffix, **weights, **options), device)
    net.hybridize()
    batches = evaluation.batches(persons, args)
    figures = instead_of_test(args, net, batches, (args.batch_size, 3, *args.input_size), device, args.model)
    if figures:
        return figures
    figures = evaluation.precisions(net, persons, args, device, args.flip_test, args.score_threshold)
    for name, value in figures.items():
        print(f"{name}: {value:.4f}")
    return figures


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add_picture_arguments(parser, "val2017")
    add("--model", required=True, help="name in the model zoo")
    add("--params-file", help="file, folder or URL of weights (default: the published ones)")
    add("--score-threshold", type=float, default=0, help="least score of a person (default: %(default)s)")
    add_deployment_arguments(parser)
    add("--log-dir", type=Path, default=LOGS, help="folder for what is found, while it is compared (default: logs)")
    return with_dataset(parser.parse_args(argv))


if __name__ == "__main__":
    main()

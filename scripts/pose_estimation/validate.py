"""Tests a network for joints of persons: COCO's average precision, on the boxes of the annotations.

python scripts/pose_estimation/validate.py --data-dir coco --model simple_pose_resnet50_v1b --flip-test
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core import nd
from gluon.data import DataLoader
from gluoncv.data import COCOKeyPoints
from gluoncv.data.transforms.pose import flip_heatmap, get_final_preds, heatmap_to_coord_alpha_pose
from gluoncv.data.transforms.presets.alpha_pose import AlphaPoseDefaultValTransform
from gluoncv.data.transforms.presets.simple_pose import SimplePoseDefaultValTransform
from gluoncv.model_zoo import get_model
from gluoncv.utils.metrics import COCOKeyPointsMetric
from scripts.common.deployment import add_deployment_arguments, instead_of_test, tested_network
from scripts.common.devices import contexts
from scripts.common.record import LOGS
from scripts.pose_estimation.train_simple_pose import add_picture_arguments, is_alpha, with_dataset


def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    device = contexts(args)[0]
    persons = COCOKeyPoints(str(args.data_dir), splits=(f"person_keypoints_{args.val_split}",))
    shared = (persons.num_joints, persons.joint_pairs, args.input_size)
    transform = (
        AlphaPoseDefaultValTransform(*shared)
        if is_alpha(args)
        else SimplePoseDefaultValTransform(*shared, mean=args.mean, std=args.std)
    )
    options = {"num_joints": args.num_joints} if args.num_joints else {}
    weights = {"pretrained": args.params_file or True, "ctx": device}
    net = tested_network(args, lambda suffix: get_model(args.model + suffix, **weights, **options), device)
    net.hybridize()
    metric = COCOKeyPointsMetric(persons, args.log_dir / "joints", use_time=False, cleanup=True)
    batches = DataLoader(
        persons.take(args.samples).transform(transform), args.batch_size, num_workers=args.num_data_workers
    )
    figures = instead_of_test(args, net, batches, (args.batch_size, 3, *args.input_size), device, args.model)
    if figures:
        return figures
    for data, *cut, score, number in batches:
        maps = heat_maps(net, data.as_in_context(device), persons.joint_pairs if args.flip_test else None)
        if is_alpha(args):
            places, peaks = heatmap_to_coord_alpha_pose(maps, cut[0].asnumpy())
        else:
            scale, center = (part.asnumpy() for part in cut)
            places, peaks = get_final_preds(maps, center, scale)
        sure = score.asnumpy().ravel() >= args.score_threshold
        metric.update(places.asnumpy()[sure], peaks.asnumpy()[sure], score.asnumpy()[sure], number.asnumpy()[sure])
    figures, _ = metric.get()
    for name, value in figures.items():
        print(f"{name}: {value:.4f}")
    return {name: float(value) for name, value in figures.items()}


def heat_maps(net, data: nd.NDArray, pairs=None) -> nd.NDArray:
    """The heat maps of persons; with `pairs` of left and right joints the mean of these and
    of those of the mirror images.
    """
    maps = net(data)
    if pairs is None:
        return maps
    mirrored = flip_heatmap(net(nd.flip(data, axis=3)).asnumpy(), pairs, shift=True)
    return (maps + nd.array(np.ascontiguousarray(mirrored), ctx=maps.context)) / 2


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_picture_arguments(parser, "val2017")
    add("--model", required=True, help="name in the model zoo")
    add("--params-file", help="file, folder or URL of weights (default: the published ones)")
    add("--flip-test", action="store_true", help="the mean of pictures and their mirror images")
    add("--score-threshold", type=float, default=0, help="least score of a person (default: %(default)s)")
    add_deployment_arguments(parser)
    add("--log-dir", type=Path, default=LOGS, help="folder for what is found, while it is compared (default: logs)")
    return with_dataset(parser.parse_args(argv))


if __name__ == "__main__":
    main()

"""How well joints are found: COCO's average precision, on the boxes of the annotations."""

from __future__ import annotations

import argparse

import numpy as np

from core import cpu, nd
from gluon.data import DataLoader
from gluoncv.data.transforms.pose import flip_heatmap, get_final_preds, heatmap_to_coord_alpha_pose
from gluoncv.data.transforms.presets.alpha_pose import AlphaPoseDefaultValTransform
from gluoncv.data.transforms.presets.simple_pose import SimplePoseDefaultValTransform
from gluoncv.nn.block import DSNT
from gluoncv.utils.metrics import COCOKeyPointsMetric


def is_alpha(args: argparse.Namespace) -> bool:
    """Whether the network is AlphaPose, which sees persons cut out another way."""
    return args.model.startswith("alpha_pose")


def batches(persons, args: argparse.Namespace) -> DataLoader:
    """Persons cut out of pictures as the flags say."""
    shared = (persons.num_joints, persons.joint_pairs, args.input_size)
    transform = (
        AlphaPoseDefaultValTransform(*shared)
        if is_alpha(args)
        else SimplePoseDefaultValTransform(*shared, mean=args.mean, std=args.std)
    )
    return DataLoader(
        persons.take(args.samples).transform(transform), args.batch_size, num_workers=args.num_data_workers
    )


def precisions(
    net, persons, args: argparse.Namespace, device, mirrored: bool = False, least: float = 0
) -> dict[str, float]:
    """COCO's average precisions and recalls of `persons`, and the mean similarity "OKS" with them, between 0 and 1.

    mirrored: heat maps are those of a picture and of its mirror image; least: score of persons that count. With
    --dsnt joints lie at the means of heat maps, otherwise at their peaks.
    """
    metric = COCOKeyPointsMetric(persons, args.log_dir / "joints", use_time=False, cleanup=True)
    for data, *cut, score, number in batches(persons, args):
        maps = heat_maps(net, data.as_in_context(device), persons.joint_pairs if mirrored else None)
        if is_alpha(args):
            places, peaks = heatmap_to_coord_alpha_pose(maps, cut[0].asnumpy())
        else:
            scale, center = (part.asnumpy() for part in cut)
            places, peaks = (means if args.dsnt else get_final_preds)(maps, center, scale)
        sure = score.asnumpy().ravel() >= least
        metric.update(places.asnumpy()[sure], peaks.asnumpy()[sure], score.asnumpy()[sure], number.asnumpy()[sure])
    figures, _ = metric.get()
    return {name: float(value) for name, value in figures.items()} | {"OKS": metric.similarity}


def means(maps: nd.NDArray, center: np.ndarray, scale: np.ndarray) -> tuple[nd.NDArray, nd.NDArray]:
    """Where joints lie on average under their heat maps (batch, joints, height, width), in the picture: (batch, joints,
    2), each with a confidence of 1 (batch, joints, 1).

    center, scale: (batch, 2), of the persons' boxes in the picture.
    """
    shares, _ = DSNT(size=maps.shape[:1:-1])(maps.as_in_context(cpu()))
    places = (shares.asnumpy() - 0.5) * scale[:, None] + center[:, None]
    return nd.array(places), nd.ones((*places.shape[:2], 1))


def heat_maps(net, data: nd.NDArray, pairs=None) -> nd.NDArray:
    """The heat maps of persons; with `pairs` of left and right joints the mean of these and
    of those of the mirror images.
    """
    maps = net(data)
    if pairs is None:
        return maps
    mirrored = flip_heatmap(net(nd.flip(data, axis=3)).asnumpy(), pairs, shift=True)
    return (maps + nd.array(np.ascontiguousarray(mirrored), ctx=maps.context)) / 2

"""The loss that learns depth from videos: a picture is made again from its neighbours at the predicted depths."""

from __future__ import annotations

import argparse

from core import nd
from gluoncv.model_zoo.monodepthv2.layers import (
    SSIM,
    BackprojectDepth,
    Project3D,
    disp_to_depth,
    get_smooth_loss,
    transformation_from_parameters,
)

# How much likeness of structure counts beside that of brightness.
LIKENESS = 0.85


class Reprojection:
    """How badly the frames around a picture explain it, and how rough its disparities are (Godard et al., 2019).

    args: --height, --width, --scales, --frame_ids (with "s" for the other camera), --min_depth, --max_depth,
    --disparity_smoothness, --v1_multiscale, --avg_reprojection, --disable_automasking and --no_ssim. Batches have
    `batch_size` pictures on `device`.
    """

    def __init__(self, args: argparse.Namespace, batch_size: int, device):
        self._args, self._ssim = args, SSIM()
        self._points, self._places = {}, {}
        for scale in {scale if args.v1_multiscale else 0 for scale in args.scales}:
            size = args.height >> scale, args.width >> scale
            self._points[scale] = BackprojectDepth(batch_size, *size, ctx=device)
            self._places[scale] = Project3D(batch_size, *size)

    def __call__(self, inputs: dict, disparities: dict, motions: dict) -> nd.NDArray:
        """The mean of the losses of all scales.

        inputs: as `MonoDataset` gives them, in batches. disparities: scale -> (B, 1, H, W). motions: frame -> (B, 4,
        4).
        """
        return sum(self._at(scale, disparity, inputs, motions) for scale, disparity in disparities.items()) / len(
            disparities
        )

    def _at(self, scale: int, disparity: nd.NDArray, inputs: dict, motions: dict) -> nd.NDArray:
        args = self._args
        seen_at = scale if args.v1_multiscale else 0
        target = inputs["color", 0, seen_at]
        large = disparity
        if not args.v1_multiscale:
            large = nd.contrib.BilinearResize2D(disparity, height=args.height, width=args.width)
        _, depth = disp_to_depth(large, args.min_depth, args.max_depth)
        points = self._points[seen_at](depth, inputs["inv_K", seen_at])
        made, still = [], []
        for frame, motion in motions.items():
            other = inputs["color", frame, seen_at]
            places = self._places[seen_at](points, inputs["K", seen_at], motion)
            made.append(self._unlike(nd.BilinearSampler(other, places), target))
            still.append(self._unlike(other, target))
        errors = self._together(made)
        if not args.disable_automasking:
            # What looks alike without any motion says nothing; ties are broken by chance.
            still = self._together(still)
            errors = nd.concat(still + nd.random.normal(0, 1e-5, still.shape, ctx=still.context), errors, dim=1)
        relative = disparity / (disparity.mean(axis=(2, 3), keepdims=True) + 1e-7)
        rough = get_smooth_loss(relative, inputs["color", 0, scale])
        return errors.min(axis=1).mean() + args.disparity_smoothness * rough / 2**scale

    def _together(self, errors: list[nd.NDArray]) -> nd.NDArray:
        """Errors (B, frames, H, W), or their mean (B, 1, H, W)."""
        errors = nd.concat(*errors, dim=1)
        return errors.mean(axis=1, keepdims=True) if self._args.avg_reprojection else errors

    def _unlike(self, picture: nd.NDArray, target: nd.NDArray) -> nd.NDArray:
        """How far apart two pictures are at each place, (B, 1, H, W)."""
        apart = nd.abs(target - picture).mean(axis=1, keepdims=True)
        if self._args.no_ssim:
            return apart
        return LIKENESS * self._ssim(picture, target).mean(axis=1, keepdims=True) + (1 - LIKENESS) * apart


def motions(net, inputs: dict, frames: list) -> dict:
    """frame -> (B, 4, 4) from the picture's camera to the frame's: by a network that sees two frames, earlier first."""
    found = {}
    for frame in frames[1:]:
        if frame == "s":
            found[frame] = inputs["stereo_T"]
            continue
        pair = (frame, 0) if frame < 0 else (0, frame)
        turn, move = net(nd.concat(*(inputs["color_aug", k, 0] for k in pair), dim=1))
        found[frame] = transformation_from_parameters(turn[:, 0], move[:, 0], invert=frame < 0)
    return found

"""A detector of SMOT in pictures of any size."""

from __future__ import annotations

import numpy as np

import core as mx
from core import nd
from core.base import MXNetError, nearest
from gluoncv.data.transforms.presets.common import MEAN, STD
from gluoncv.model_zoo.smot.presets import ssd_base_models


def get_net(classes=None, model_name="", use_pretrained=False, param_path="", ctx=None, **kwargs):
    """The network `model_name`, compiled, with its published weights or those in the file `param_path`; MXNetError.

    classes: of a network for classes of one's own.
    """
    if model_name not in ssd_base_models:
        near = nearest(model_name, ssd_base_models)
        raise MXNetError(
            f"no network {model_name!r} follows objects.{near} There are {', '.join(sorted(ssd_base_models))}"
        )
    if not use_pretrained and not param_path:
        raise MXNetError(f"{model_name} needs weights: use_pretrained=True for published ones, or a file as param_path")
    if model_name.endswith("_custom"):
        kwargs["classes"] = classes
    net = ssd_base_models[model_name](pretrained=use_pretrained, pretrained_base=False, ctx=ctx, **kwargs)
    if not use_pretrained:
        net.load_parameters(param_path, ctx=ctx)
    net.hybridize()
    return net


class GeneralDetector:
    """A network of `ssd_base_models` for pictures (H, W, 3) of bytes, red first.

    gpu_id: number of the GPU, None for the CPU. aspect_ratio: width over height of the network's input, whose height is
    `data_shape`. The rest as in `get_net`.
    """

    def __init__(
        self, gpu_id, aspect_ratio=1.0, data_shape=512, model_name="", use_pretrained=False, param_path="", classes=None
    ):
        self.ctx = mx.cpu() if gpu_id is None else mx.gpu(gpu_id)
        self.net = get_net(classes, model_name, use_pretrained, param_path, self.ctx)
        self.ratio, self.data_shape = aspect_ratio, data_shape
        self.anchor_tensor = None
        self._picture_size, self._anchor_num = None, 1
        self.mean_mx, self.std_mx = (nd.array(np.array(part), ctx=self.ctx) for part in (MEAN, STD))

    def run_detection(self, image, tracking_box_indices, tracking_box_weights, tracking_box_classes):
        """Looks for everything, and again for objects of classes (T, 1) where anchors (T, K) are,
        which count by weights (T, K).

        Gives classes (N, 1), scores (N, 1) and corners (N, 4) in pixels of the picture, corners and scores of the
        objects (T, 5), and the anchor of each detection as a NumPy array (N, 1). `anchor_tensor` (A, 4) are corners of
        the anchors.
        """
        data, width, height, border = mxnet_frame_preprocessing(
            image, self.data_shape, self.ratio, self.mean_mx, self.std_mx, self.ctx
        )
        entries = tracking_box_indices + tracking_box_classes * self._anchor_num
        ids, scores, found, sources, followed, anchors = self.net(data, entries, tracking_box_weights)
        place = (width, height, border, self.data_shape, self.ratio)
        if self._picture_size != image.shape[:2]:
            centres, half = anchors[0, :, :2], anchors[0, :, 2:] / 2
            self.anchor_tensor = remap_bboxes(nd.concat(centres - half, centres + half, dim=1), *place)
            self._picture_size, self._anchor_num = image.shape[:2], self.anchor_tensor.shape[0]
        again = remap_bboxes(nd.concat(followed[:, 2:6], followed[:, 1:2], dim=1), *place)
        return ids[0], scores[0], remap_bboxes(found[0], *place), again, sources[0].asnumpy()


def mxnet_frame_preprocessing(image, base_size, ratio, mean, std, ctx):
    """A picture (H, W, 3) of bytes as network's input: normalised,
    put in the middle of zeros of the aspect `ratio`, resized.

    Gives the input (1, 3, base_size, base_size * ratio), width and height of the padded picture, and (left, top, width,
    height) with the widths of the borders.
    """
    height, width = image.shape[:2]
    padded_width, padded_height = int(max(width, height * ratio)), int(max(height, width / ratio))
    left, top = (padded_width - width) // 2, (padded_height - height) // 2
    pixels = nd.array(np.ascontiguousarray(image), ctx=ctx, dtype="uint8").astype("float32") / 255
    normalised = (pixels - mean.reshape((1, 1, 3))) / std.reshape((1, 1, 3))
    padded = nd.zeros((1, 3, padded_height, padded_width), ctx=ctx)
    padded[0, :, top : top + height, left : left + width] = normalised.transpose((2, 0, 1))
    data = nd.contrib.BilinearResize2D(padded, height=int(base_size), width=int(base_size * ratio))
    return data, padded_width, padded_height, (left, top, padded_width, padded_height)


def remap_bboxes(bboxes, padded_w, padded_h, expand, data_shape, ratio):
    """Corners in the first four columns of `bboxes`, from the network's input to the picture; further columns stay."""
    factors, borders = nd.ones((2, bboxes.shape[1]), ctx=bboxes.context)
    factors[:4] = nd.array([padded_w / (data_shape * ratio), padded_h / data_shape] * 2, ctx=bboxes.context)
    borders[:4] = nd.array([*expand[:2]] * 2, ctx=bboxes.context)
    borders[4:] = 0
    return bboxes * factors - borders

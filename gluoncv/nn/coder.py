"""What a detector is taught about the boxes of the truth (encoders), and boxes from what it predicts (decoders)."""

import numpy as np

from gluon.block import HybridBlock
from gluoncv.nn.bbox import BBoxCornerToCenter, NumPyBBoxCornerToCenter
from gluoncv.nn.rows import take_rows

STDS, MEANS = (0.1, 0.1, 0.2, 0.2), (0.0, 0.0, 0.0, 0.0)


# ---------------------------------------------------------------------------------------------- boxes


class NumPyNormalizedBoxCenterEncoder:
    """`NormalizedBoxCenterEncoder` for arrays of NumPy."""

    def __init__(self, stds=STDS, means=MEANS):
        self._stds, self._means = _four(stds, "stds"), _four(means, "means")
        self.corner_to_center = NumPyBBoxCornerToCenter(split=True)

    def __call__(self, samples, matches, anchors, refs):
        truth = np.take_along_axis(refs, np.maximum(matches, 0).astype(np.int64)[..., None], axis=1)
        boxes, anchors = self.corner_to_center(truth), self.corner_to_center(anchors)
        targets = np.concatenate(_offsets(np.log, boxes, anchors, self._means, self._stds), axis=2)
        positive = samples[..., None] > 0.5
        return np.where(positive, targets, 0.0), np.where(positive, np.ones(targets.shape), 0.0)


class NormalizedBoxCenterEncoder(HybridBlock):
    """Offsets of boxes from anchors in parts of these, their size as logarithm, less `means` and over `stds`.

    Called with samples (B, N) of 1 for positive, matches (B, N) in 0 ... M - 1, corners of anchors (B, N, 4) and of
    boxes (B, M, 4); gives targets (B, N, 4) and their mask, both 0 where the sample is not positive.
    """

    def __init__(self, stds=STDS, means=MEANS, **kwargs):
        super().__init__(**kwargs)
        self._stds, self._means = _four(stds, "stds"), _four(means, "means")
        with self.name_scope():
            self.corner_to_center = BBoxCornerToCenter(split=True)

    def hybrid_forward(self, F, samples, matches, anchors, refs):
        boxes = self.corner_to_center(take_rows(F, refs, F.relu(matches)))
        targets = F.concat(*_offsets(F.log, boxes, self.corner_to_center(anchors), self._means, self._stds, F), dim=2)
        positive = F.tile(F.reshape(samples, shape=(0, -1, 1)), reps=(1, 1, 4)) > 0.5
        return F.where(positive, targets, F.zeros_like(targets)), positive


class NormalizedPerClassBoxCenterEncoder(HybridBlock):
    """`NormalizedBoxCenterEncoder` for detectors with a box for each class.

    Called with labels (B, M) or (B, M, 1) too, before the boxes. Gives targets and masks (B, max_pos, num_class, 4) of
    the first `max_pos` anchors when positive ones come first, and the indices (B, max_pos) of these; the mask is 1 for
    positive ones, at their class.
    """

    def __init__(self, num_class, max_pos=128, per_device_batch_size=1, stds=STDS, means=MEANS):
        super().__init__()
        if num_class <= 0:
            raise AssertionError(f"the number of classes is above 0, got {num_class}")
        self._num_class, self._max_pos, self._batch_size = num_class, max_pos, per_device_batch_size
        with self.name_scope():
            self.class_agnostic_encoder = NormalizedBoxCenterEncoder(stds=stds, means=means)

    def hybrid_forward(self, F, samples, matches, anchors, labels, refs):
        targets, masks = self.class_agnostic_encoder(samples, matches, anchors, refs)
        classes = F.reshape(F.arange(self._num_class), shape=(1, 1, -1))
        labels = F.reshape(labels, shape=(0, -1, 1))
        is_class = F.broadcast_equal(take_rows(F, labels, F.relu(matches)), classes)
        first = F.reshape(F.slice_axis(masks, axis=-1, begin=0, end=1), shape=(0, -1))
        indices = F.slice_axis(F.argsort(first, axis=1, is_ascend=False), axis=1, begin=0, end=self._max_pos)
        targets, masks, is_class = (take_rows(F, x, indices) for x in (targets, masks, is_class))
        targets = F.broadcast_axis(F.expand_dims(targets, axis=2), axis=2, size=self._num_class)
        return targets, F.broadcast_mul(F.expand_dims(masks, axis=2), F.expand_dims(is_class, axis=3)), indices


class NormalizedBoxCenterDecoder(HybridBlock):
    """Corners of boxes (B, N, 4) from predicted offsets (B, N, 4) and anchors (1, N, 4).

    convert_anchor: anchors are corners, else centres and sizes. clip: the most that the logarithm of growth may be.
    minimal_opset is accepted as elsewhere: no rare operator is used either way.
    """

    def __init__(self, stds=STDS, convert_anchor=False, clip=None, minimal_opset=False):
        super().__init__()
        self._stds, self._clip = _four(stds, "stds"), clip
        self.corner_to_center = BBoxCornerToCenter(split=True) if convert_anchor else None

    def hybrid_forward(self, F, x, anchors):
        if self.corner_to_center is None:
            x0, y0, width, height = F.split(anchors, axis=-1, num_outputs=4)
        else:
            x0, y0, width, height = self.corner_to_center(anchors)
        dx, dy, dw, dh = (part * std for part, std in zip(F.split(x, axis=-1, num_outputs=4), self._stds, strict=True))
        if self._clip:
            dw, dh = F.minimum(dw, self._clip), F.minimum(dh, self._clip)
        x0, y0 = F.broadcast_add(F.broadcast_mul(dx, width), x0), F.broadcast_add(F.broadcast_mul(dy, height), y0)
        half_width, half_height = F.broadcast_mul(F.exp(dw), width) * 0.5, F.broadcast_mul(F.exp(dh), height) * 0.5
        return F.concat(x0 - half_width, y0 - half_height, x0 + half_width, y0 + half_height, dim=-1)


def _four(values, name):
    if len(values) != 4:
        raise AssertionError(f"{name} has four numbers, got {values!r}")
    return values


def _offsets(log, boxes, anchors, means, stds, F=None):
    """Targets before normalisation are (x - x0) / width, (y - y0) / height and logarithms of growth."""
    minus, over = (F.broadcast_sub, F.broadcast_div) if F else (np.subtract, np.divide)
    raw = [over(minus(boxes[i], anchors[i]), anchors[i + 2]) for i in (0, 1)]
    raw += [log(over(boxes[i], anchors[i])) for i in (2, 3)]
    return [(x - mean) / std for x, mean, std in zip(raw, means, stds, strict=True)]


# ---------------------------------------------------------------------------------------------- classes


class MultiClassEncoder(HybridBlock):
    """Classes (B, N), 0 for the background, `ignore_label` for anchors that are left out.

    Called with samples (B, N) of 1, -1, 0, matches (B, N) and labels (B, M) or (B, M, 1) from 0 on.
    """

    def __init__(self, ignore_label=-1):
        super().__init__()
        self._ignore_label = ignore_label

    def hybrid_forward(self, F, samples, matches, refs):
        label = take_rows(F, F.reshape(refs, shape=(0, -1)), F.relu(matches)) + 1
        target = F.where(samples > 0.5, label, F.ones_like(label) * self._ignore_label)
        return F.where(samples < -0.5, F.zeros_like(target), target)


class MultiClassDecoder(HybridBlock):
    """The best class, from 0 on, and its score, from probabilities with the background first.

    -1 and 0 up to `thresh`.
    """

    def __init__(self, axis=-1, thresh=0.01):
        super().__init__()
        self._axis, self._thresh = axis, thresh

    def hybrid_forward(self, F, x):
        x = F.slice_axis(x, axis=self._axis, begin=1, end=None)
        label = F.argmax(x, axis=self._axis)
        return _above(F, label, F.pick(x, label, axis=self._axis), self._thresh)


class MultiPerClassDecoder(HybridBlock):
    """Classes and scores (B, N, num_class - 1) from probabilities (B, N, num_class) with the background first.

    -1 and 0 for scores up to `thresh`.
    """

    def __init__(self, num_class, axis=-1, thresh=0.01):
        super().__init__()
        self._fg_class, self._axis, self._thresh = num_class - 1, axis, thresh

    def hybrid_forward(self, F, x):
        scores = F.slice_axis(x, axis=self._axis, begin=1, end=None)
        label = F.broadcast_add(
            F.zeros_like(F.slice_axis(x, axis=-1, begin=0, end=1)),
            F.reshape(F.arange(self._fg_class), shape=(1, 1, self._fg_class)),
        )
        return _above(F, label, scores, self._thresh)


class SigmoidClassEncoder:
    """Objects or not: targets 1, 0, and -1 for what is left out, and a mask, from samples 1, -1, 0 in NumPy arrays."""

    def __call__(self, samples):
        counts = np.abs(samples) > 1e-5
        return np.where(counts, (samples + 1) / 2.0, -1), np.where(counts, 1.0, 0.0)


def _above(F, label, score, thresh):
    above = score > thresh
    return F.where(above, label, F.ones_like(label) * -1), F.where(above, score, F.zeros_like(score))


# ---------------------------------------------------------------------------------------------- centres


class CenterNetDecoder(HybridBlock):
    """Classes (B, topk), scores (B, topk) and corners (B, topk, 4) of the highest positions of heat maps.

    Called with heat maps (B, classes, H, W), sizes (B, 2, H, W) of width and height, and offsets (B, 2, H, W) of x and
    y within a place. scale: pixels of the picture a place.
    """

    def __init__(self, topk=100, scale=4.0):
        super().__init__()
        self._topk, self._scale = topk, scale

    def hybrid_forward(self, F, x, wh, reg):
        _, _, height, width = F.split(F.shape_array(x), num_outputs=4, axis=0)
        scores, places = F.topk(F.reshape(x, shape=(0, -1)), k=self._topk, ret_typ="both", dtype="int64")
        area = height * width
        labels = F.cast(F.broadcast_div(places, area), dtype="float32")
        places = F.broadcast_mod(places, area)
        column = F.cast(F.broadcast_mod(places, width), dtype="float32")
        row = F.cast(F.broadcast_div(places, width), dtype="float32")
        places = F.cast(places, dtype="float32")
        size, offset = (
            take_rows(F, F.reshape(F.transpose(m, axes=(0, 2, 3, 1)), shape=(0, -1, 2)), places) for m in (wh, reg)
        )
        centre = F.cast(offset, dtype="float32") + F.stack(column, row, axis=-1)
        half = F.cast(size, dtype="float32") / 2
        return labels, scores, F.concat(centre - half, centre + half, dim=-1) * self._scale

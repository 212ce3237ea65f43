"""Single shot detectors that look again where an object is expected."""

from core import autograd
from gluoncv.model_zoo.ssd import presets, ssd


class SSD(ssd.SSD):
    """Input: a picture (1, 3, H, W), entries of the list of detections (T, K) where each of T objects is expected,
    and their weights (T, K).

    Output: classes (1, N, 1), scores (1, N, 1) and corners (1, N, 4) as of `gluoncv.model_zoo.ssd.SSD`, the anchor of
    each (1, N, 1), what is found of the objects (T, 7) as weighted sums of class, score, corners and anchor, and all
    anchors (1, A, 4) of centres and sizes. Entry c A + a is anchor a of class c.

    return_intermediate_features: in place of a picture come the maps of `forward_features`.
    """

    def __init__(self, *args, return_intermediate_features=False, **kwargs):
        super().__init__(*args, **kwargs)
        self._two_phase_run = return_intermediate_features

    def forward_features(self, F, x):
        """The maps of a picture, and the anchors (1, A, 4)."""
        features = self.features(x)
        return features, F.concat(*[g(f) for f, g in zip(features, self.anchor_generators, strict=True)], dim=1)

    def hybrid_forward(self, F, x, tracking_indices, tracking_weights):
        predicted = self._predicted(F, x if self._two_phase_run else self.features(x))
        if autograd.is_training():
            return list(predicted)

        def numbers(boxes):
            return (F.contrib.arange_like(F.slice_axis(boxes, axis=-1, begin=0, end=1)),)

        entries = self._detections(F, *predicted, further=numbers)
        expected = F.squeeze(F.take(entries, tracking_indices, axis=1), axis=0)
        followed = F.sum(F.broadcast_mul(expected, F.expand_dims(tracking_weights, axis=2)), axis=1)
        result = self._suppressed(F, entries)
        parts = (F.slice_axis(result, axis=2, begin=i, end=k) for i, k in ((0, 1), (1, 2), (2, 6), (6, 7)))
        return (*parts, followed, predicted[2])


def get_ssd(*args, **kwargs):
    """`gluoncv.model_zoo.ssd.get_ssd` of a detector that looks again."""
    return presets.get_ssd(*args, detector=SSD, **kwargs)


def custom_ssd(*args, **kwargs):
    """`gluoncv.model_zoo.ssd.custom_ssd` of a detector that looks again."""
    return presets.custom_ssd(*args, detector=SSD, **kwargs)

"""How many joints heat maps show in their place."""

import numpy as np

from core.metric import EvalMetric, check_label_shapes
from gluoncv.data.transforms.pose import get_max_pred


class HeatmapAccuracy(EvalMetric):
    """The share of peaks, joint by joint, nearer than `threshold` tenths of the map's size to those of the label.

    Labels and predictions are (N, J, H, W), or lists of them. Joints in the first two rows or columns do not count, nor
    do those whose numbers are in `ignore_labels`. hm_type: "gaussian" alone; ValueError for others.

    >>> from gluoncv.utils.metrics import HeatmapAccuracy
    >>> metric = HeatmapAccuracy()
    >>> maps = nd.zeros((1, 1, 8, 8))
    >>> maps[0, 0, 3, 4] = 1
    >>> metric.update([maps], [maps])
    >>> metric.get()
    ('heatmap_accuracy', np.float64(1.0))
    """

    def __init__(
        self, axis=1, name="heatmap_accuracy", hm_type="gaussian", threshold=0.5, output_names=None, label_names=None,
        ignore_labels=None,
    ):  # fmt: skip
        if hm_type != "gaussian":
            raise ValueError(f"hm_type is 'gaussian', given {hm_type!r}")
        self.axis, self.threshold = axis, threshold
        self.ignore_labels = [] if ignore_labels is None else np.ravel(ignore_labels).tolist()
        super().__init__(name, axis=axis, output_names=output_names, label_names=label_names)

    def update(self, labels, preds):
        """Adds arrays, or lists of them."""
        for label, pred in zip(*check_label_shapes(labels, preds, True)):
            size = np.array(pred.shape[2:]) / 10
            pred, label = (get_max_pred(maps)[0].asnumpy() for maps in (pred, label))
            near = np.linalg.norm((pred - label) / size, axis=-1) < self.threshold
            counts = (label > 1).all(axis=-1)
            counts[:, self.ignore_labels] = False
            joints = counts.any(axis=0)
            self.sum_metric += float(((near & counts).sum(axis=0)[joints] / counts.sum(axis=0)[joints]).sum())
            self.num_inst += int(joints.sum())

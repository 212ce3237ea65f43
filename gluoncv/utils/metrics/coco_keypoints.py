"""Average precision of joints, as COCO measures it (Lin et al., 2014)."""

import numpy as np

from gluoncv.utils.metrics import coco
from gluoncv.utils.viz.image import as_numpy

NAMES = ["AP", "Ap .5", "AP .75", "AP (M)", "AP (L)", "AR", "AR .5", "AR .75", "AR (M)", "AR (L)"]


class COCOKeyPointsMetric(coco.COCOMetric):
    """COCO's figures of persons' joints, by pycocotools.

    dataset: has `coco`, the annotations of pycocotools. save_prefix: results are written to this path with .json
    behind, and with the time between if `use_time`; `cleanup` removes the file at the end. in_vis_thresh: surer joints
    make up the score of a person. data_shape: None or (height, width), accepted as in the original and without effect.

    similarity: after `get`, the mean over the annotated persons of COCO's object keypoint similarity with the joints
    that fit them best, between 0 and 1; it shows what precisions, which count similarities above 0.5, do not.
    """

    similarity: float

    def __init__(self, dataset, save_prefix, use_time=True, cleanup=False, in_vis_thresh=0.2, data_shape=None):
        if data_shape and not (isinstance(data_shape, tuple | list) and len(data_shape) == 2):
            raise ValueError(f"data_shape is (height, width) or None, got {data_shape!r}")
        self.dataset, self._cleanup, self._in_vis_thresh = dataset, cleanup, in_vis_thresh
        self._filename = coco.results_path(save_prefix, use_time)
        super().__init__("COCOMeanAP")

    def reset(self):
        """Forgets all persons."""
        self._results = []

    def update(self, preds, maxvals, score, imgid, *args, **kwargs):
        """Adds persons: joints (N, 17, 2), how sure each is (N, 17, 1),
        the persons' scores and numbers of pictures (N,).
        """
        preds, sure, score, imgid = (np.asarray(as_numpy(x)) for x in (preds, maxvals, score, imgid))
        for joints, peaks, factor, number in zip(
            preds, sure.reshape(*preds.shape[:2], 1), score.ravel(), imgid.ravel()
        ):
            seen = peaks[peaks > self._in_vis_thresh]
            self._results.append({
                "image_id": int(number), "category_id": 1, "keypoints": np.hstack([joints, peaks]).ravel().tolist(),
                "score": float(seen.mean(dtype="float64") * factor) if seen.size else 0.0,
            })  # fmt: skip

    def get(self):
        """(figures by name, average precision)."""
        found = coco.evaluation(self.dataset.coco, self._results, "keypoints", self._filename)
        coco.summary(found)
        self.similarity = _similarity(found)
        figures = dict(zip(NAMES, found.stats))
        return figures, figures["AP"]


def _similarity(found) -> float:
    """The mean over annotated persons of the best similarity; 0 for a person where nothing was found."""
    best = []
    for key, table in found.ious.items():
        counted = [i for i, person in enumerate(found._gts[key]) if not person["ignore"]]
        best += [np.max(np.asarray(table)[:, i]) if len(table) else 0.0 for i in counted]
    return float(np.mean(best)) if best else 0.0

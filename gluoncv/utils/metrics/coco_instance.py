"""Average precision of masks, as COCO measures it (Lin et al., 2014)."""

import numpy as np

from core.extras import load
from core.metric import EvalMetric
from gluoncv.utils.metrics import coco
from gluoncv.utils.viz.image import as_numpy


class COCOInstanceMetric(EvalMetric):
    """COCO's figures of boxes and of masks, by pycocotools.

    dataset: has `coco`, the annotations of pycocotools, and `contiguous_id_to_json`. save_prefix: results are written
    to this path with .json behind, and with the time between if `use_time`; not at all with `cleanup`. starting_id:
    place among the sorted numbers of pictures of the first one. score_thresh: what is less sure does not count.
    use_ext: a branch of pycocotools that NVIDIA published; AttributeError without it.
    """

    def __init__(
        self, dataset, save_prefix, use_time=True, cleanup=False, use_ext=False, starting_id=0, score_thresh=1e-3
    ):
        if use_ext:
            raise AttributeError("use_ext needs NVIDIA's branch of pycocotools; leave it off")
        self.dataset, self._starting_id, self._score_thresh = dataset, starting_id, score_thresh
        self._img_ids = sorted(dataset.coco.getImgIds())
        self._filename = None if cleanup else coco.results_path(save_prefix, use_time)
        super().__init__("COCOInstance")

    def reset(self):
        """Forgets all pictures."""
        self._current_id, self._results = self._starting_id, []

    def get_result_buffer(self):
        """The results so far, in COCO's form."""
        return self._results

    def update(self, pred_bboxes, pred_labels, pred_scores, pred_masks, *args, **kwargs):
        """Adds the next picture: corners (N, 4), classes and scores (N,) or (N, 1),
        masks (N, H, W) at the picture's size.
        """
        mask = load("pycocotools.mask", "COCO's metric")

        boxes, labels, scores, masks = map(as_numpy, (pred_bboxes, pred_labels, pred_scores, pred_masks))
        labels, scores = labels.ravel().astype("int32"), scores.ravel().astype("float32")
        number = self._img_ids[self._current_id]
        self._current_id += 1
        for k in np.flatnonzero((labels >= 0) & (scores >= self._score_thresh)):
            category = self.dataset.contiguous_id_to_json.get(int(labels[k]))
            if category is None:
                continue
            box = boxes[k, :4].astype("float32")
            box[2:] -= box[:2]
            shape = mask.encode(np.asfortranarray(masks[k].astype("uint8")))
            self._results.append({
                "image_id": int(number), "category_id": category, "bbox": [float(round(v, 2)) for v in box],
                "score": float(round(scores[k], 3)),
                "segmentation": {"size": list(shape["size"]), "counts": shape["counts"].decode("ascii")},
            })  # fmt: skip

    def get(self):
        """(names, texts): a summary and the mean, of boxes and of masks."""
        names, values = [], []
        for kind in ("bbox", "segm"):
            found = coco.evaluation(self.dataset.coco, self._results, kind, self._filename, self._current_id)
            names += [f"~~~~ Summary {kind} metrics ~~~~\n", f"~~~~ Mean AP for {kind} ~~~~\n"]
            values += [coco.summary(found), coco.per_cent(found.eval["precision"][:, :, :, 0, 2])]
        return names, values

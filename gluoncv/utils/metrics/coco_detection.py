"""Average precision of detections, as COCO measures it (Lin et al., 2014)."""

import numpy as np

from gluoncv.utils.metrics import coco
from gluoncv.utils.metrics.pictures import pictures


class COCODetectionMetric(coco.COCOMetric):
    """Mean of the average precisions at overlaps of 0.5, 0.55, ... 0.95, in per cent, by pycocotools.

    dataset: has `coco`, the annotations of pycocotools, `classes`, and `contiguous_id_to_json`, COCO's number of each
    class.
    save_prefix: detections are written to this path with .json behind, and with the time between if `use_time`;
    `cleanup` removes the file at the end. score_thresh: detections below do not count. data_shape: (height, width) of
    the pictures that were seen, None for those of the data set. post_affine(width, height, data width, data height)
    gives the (2, 3) matrix that maps what was seen to the picture, in place of scaling. ValueError for another
    data_shape.
    """

    def __init__(
        self, dataset, save_prefix, use_time=True, cleanup=False, score_thresh=0.05, data_shape=None, post_affine=None
    ):
        self.dataset = dataset
        self._img_ids = sorted(dataset.coco.getImgIds())
        super().__init__("COCOMeanAP")
        self._cleanup, self._score_thresh = cleanup, score_thresh
        if data_shape is not None and not (isinstance(data_shape, (tuple, list)) and len(data_shape) == 2):
            raise ValueError(f"data_shape is (height, width) or None, got {data_shape!r}")
        if post_affine is not None and data_shape is None:
            raise AssertionError("post_affine needs data_shape")
        self._data_shape, self._post_affine = data_shape, post_affine
        self._filename = coco.results_path(save_prefix, use_time)

    def reset(self):
        """Forgets all pictures."""
        self._current_id, self._results = 0, []

    def update(self, pred_bboxes, pred_labels, pred_scores, *args, **kwargs):
        """Adds the next pictures of the data set, by rising number: corners (B, N, 4), classes and scores (B, N, 1).

        They are arrays or lists of them; a class below 0 is no detection. Further arguments are not looked at.
        """
        rows = zip(*map(pictures, (pred_bboxes, pred_labels, pred_scores)), strict=True)
        for boxes, labels, scores in rows:
            number = self._img_ids[self._current_id]
            self._current_id += 1
            boxes = self._to_picture(np.asarray(boxes, float), number)
            # Right and bottom belong to the box.
            sizes = boxes[:, 2:4] - boxes[:, :2] + 1
            for box, size, label, score in zip(boxes, sizes, np.ravel(labels), np.ravel(scores), strict=True):
                category = self.dataset.contiguous_id_to_json.get(int(label))
                if category is not None and score >= self._score_thresh:
                    corner = [*box[:2].tolist(), *size.tolist()]
                    self._results.append(
                        {"image_id": number, "category_id": category, "bbox": corner, "score": float(score)}
                    )

    def _to_picture(self, boxes, number):
        if self._data_shape is None:
            return boxes
        entry = self.dataset.coco.loadImgs(number)[0]
        height, width = self._data_shape
        if self._post_affine is None:
            x, y = entry["width"] / width, entry["height"] / height
            return boxes[:, :4] * [x, y, x, y]
        matrix = np.asarray(self._post_affine(entry["width"], entry["height"], width, height))
        corners = boxes[:, :4].reshape(-1, 2)
        return (corners @ matrix[:, :2].T + matrix[:, 2]).reshape(-1, 4)

    def get(self):
        """(names, texts): a summary, the figure of each class, and the mean."""
        found = coco.evaluation(self.dataset.coco, self._results, "bbox", self._filename, self._current_id)
        # Overlaps x recalls x classes x sizes of objects x numbers of detections: all sizes, 100 detections.
        precision = found.eval["precision"][:, :, :, 0, 2]
        names, values = ["~~~~ Summary metrics ~~~~\n"], [coco.summary(found)]
        for i, name in enumerate(self.dataset.classes):
            names.append(name)
            values.append(coco.per_cent(precision[:, :, i]))
        names.append("~~~~ MeanAP @ IoU=[0.50,0.95] ~~~~\n")
        values.append(coco.per_cent(precision))
        return names, values

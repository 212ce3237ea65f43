"""Detection data in the records that im2rec writes."""

import numpy as np

from core.files.reader import DamagedFile
from gluon.data.vision import ImageRecordDataset


class RecordFileDetection(ImageRecordDataset):
    """Pictures and boxes of a record file; `coord_normalized`: corners are shares of the picture's sides."""

    def __init__(self, filename, coord_normalized=True):
        super().__init__(filename)
        self._coord_normalized = coord_normalized

    def __getitem__(self, idx):
        img, label = super().__getitem__(idx)
        sides = img.shape[:2] if self._coord_normalized else (None, None)
        return img, detection_label(label, *sides)


def detection_label(label, height=None, width=None):
    """Boxes (M, 5 or more) from a flat label: header length, length of a box, the header's rest,
    boxes of class and corners.

    The class goes behind the corners, which are in pixels where `height` and `width` are given. ValueError for other
    labels.
    """
    label = np.array(label).ravel()
    if label.size < 2:
        raise DamagedFile(f"a detection label begins with the lengths of its header and of a box, given {label}")
    if not np.isfinite(label[:2]).all():
        raise DamagedFile(f"the lengths {label[:2]} of a detection label are no numbers")
    header, length = int(label[0]), int(label[1])
    if length < 5 or header < 2 or (label.size - header) % length:
        raise DamagedFile(
            f"a header of {header} and boxes of {length} numbers do not make up the {label.size} of the label"
        )
    boxes = label[header:].reshape(-1, length)
    order = [1, 2, 3, 4, 0, *range(5, length)]
    boxes = boxes[:, order]
    if width is not None:
        boxes[:, [0, 2]] *= width
    if height is not None:
        boxes[:, [1, 3]] *= height
    return boxes

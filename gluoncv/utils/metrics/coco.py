"""pycocotools' evaluation of results of any kind."""

import contextlib
import io
import json
import os
import time
import warnings

from core.extras import load
from core.files.atomic import write_bytes
from core.metric import EvalMetric


class COCOMetric(EvalMetric):
    """A metric that writes results to the file `_filename`, and removes it at its own end with `_cleanup`."""

    def __del__(self):
        if getattr(self, "_cleanup", False):
            with contextlib.suppress(OSError):
                os.remove(self._filename)


def results_path(save_prefix, use_time):
    """The file that results are written to: the prefix, the time if `use_time`, and .json."""
    stamp = time.strftime("_%Y_%m_%d_%H_%M_%S") if use_time else ""
    return os.path.abspath(os.path.expanduser(os.fspath(save_prefix)) + stamp + ".json")


def evaluation(coco, results, kind, filename=None, seen=None):
    """pycocotools' `COCOeval` of a list of results, "bbox", "segm" or "keypoints".

    They are written to `filename` if given.

    seen: the number of pictures with results; there is a warning for less than all.
    """
    COCOeval = load("pycocotools.cocoeval", "COCO's metric").COCOeval

    if seen is not None and seen != len(coco.getImgIds()):
        warnings.warn(f"{seen} of {len(coco.getImgIds())} pictures were given", stacklevel=3)
    if not results:  # pycocotools needs one result at least
        nothing = {"bbox": [0, 0, 0, 0], "segm": {"size": [1, 1], "counts": "1"}, "keypoints": [0] * 51}
        field = "segmentation" if kind == "segm" else kind
        results = [{"image_id": coco.getImgIds()[0], "category_id": 0, field: nothing[kind], "score": 0}]
    if filename is not None:
        write_bytes(filename, json.dumps(results).encode())
    with contextlib.redirect_stdout(io.StringIO()):
        found = COCOeval(coco, coco.loadRes([dict(result) for result in results]), kind)  # it writes into them
        found.evaluate()
        found.accumulate()
    return found


def summary(found):
    """The table that `COCOeval` prints; fills in its `stats`."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        found.summarize()
    return text.getvalue().strip()


def per_cent(precision):
    """The mean of precisions in per cent, as text; those of -1 do not count."""
    counted = precision[precision > -1]
    return f"{100 * counted.mean():.1f}" if counted.size else "nan"

"""The tracker around SiamRPN: what GluonCV 0.10.5 answers for the same video and the same outputs of the network."""

import numpy as np
import pytest

from core import nd
from gluoncv.model_zoo.siamrpn import SiamRPNTracker
from gluoncv.model_zoo.siamrpn.siamrpn_tracker import get_axis_aligned_bbox

PLACES = 21
# a bright square of 30 pixels that moves by (12, 9) a frame, out of a video of 160 x 120; (box, score) of frames 1 to 4
FOUND = [
    ([92.4471, 9.3, 29.089, 30.3179], 0.98158),
    ([107.4772, 16.9318, 28.4439, 30.8017], 0.98189),
    ([111.9002, 28.9019, 27.8229, 29.9808], 0.9824),
    ([122.1886, 33.4778, 28.8303, 30.5481], 0.98277),
]


class Bright:
    """In place of a network: scores are the first channel where anchors lie, offsets are random."""

    def template(self, picture):
        assert picture.shape == (1, 3, 127, 127) and abs(picture.asnumpy().mean() - 48.24517) < 1e-4

    def track(self, picture):
        picture = picture.asnumpy()[0]
        assert picture.shape == (3, 287, 287)
        random = np.random.RandomState(3)
        places = slice(63, 63 + 8 * PLACES, 8)
        scores = np.zeros((1, 10, PLACES, PLACES), "float32")
        scores[0, 5:] = picture[0, places, places] / 64 + random.rand(5, PLACES, PLACES) * 0.2
        offsets = (random.rand(1, 20, PLACES, PLACES) - 0.5).astype("float32") * 0.3
        return {"cls": nd.array(scores), "loc": nd.array(offsets)}


def test_boxes_and_scores_are_those_of_gluoncv():
    tracker = SiamRPNTracker(Bright())
    assert tracker.anchors.shape == (2205, 4)
    assert tracker.anchors[[0, 1300]].tolist() == [[-80, -80, 104, 32], [72, 72, 64, 64]]
    background = np.random.RandomState(0).randint(0, 60, (120, 160, 3)).astype("uint8")
    for k in range(5):
        frame = background.copy()
        frame[10 + 9 * k : 40 + 9 * k, 90 + 12 * k : 120 + 12 * k, 0] = 250
        if k == 0:
            tracker.init(frame, [90, 10, 30, 30])
            continue
        found, (box, score) = tracker.track(frame), FOUND[k - 1]
        np.testing.assert_allclose(found["bbox"], box, atol=1e-3)
        assert found["best_score"] == pytest.approx(score, abs=1e-4)


def test_boxes_by_their_centres():
    assert get_axis_aligned_bbox(np.array([10, 20, 4, 6])) == (12, 23, 4, 6)

"""Arguments of GluonCV that were taken and not looked at."""

import json

import numpy as np
import pytest

from core import nd
from core.base import NotSupportedError
from core.ops import rnn
from gluon import nn
from gluon.contrib.cnn import DeformableConvolution, ModulatedDeformableConvolution
from gluoncv.data import COCOKeyPoints, VideoClsCustom
from gluoncv.data.transforms import pose
from gluoncv.model_zoo.action_recognition import actionrec, slowfast
from gluoncv.model_zoo.rcnn.rpn import RPNTargetGenerator
from gluoncv.utils.metrics import HeatmapAccuracy


def test_anchors_may_leave_the_picture_by_the_allowed_border():
    boxes = nd.array([[10, 10, 30, 30]])
    anchors = nd.array([[10, 10, 30, 30], [-4, 0, 20, 20], [60, 60, 103, 90], [60, 60, 80, 106]])
    marks = {}
    for border in (0, 5, 1000):
        marks[border] = RPNTargetGenerator(allowed_border=border)(boxes, anchors, 100, 100)[0].tolist()
    assert marks == {0: [1, -1, -1, -1], 5: [1, 0, 0, -1], 1000: [1, 0, 0, 0]}


def test_joints_that_are_ignored():
    label = np.zeros((1, 3, 20, 20), "float32")
    label[0, 0, 10, 10] = label[0, 1, 5, 8] = label[0, 2, 7, 7] = 1
    pred = np.roll(label, 3, axis=3)
    pred[0, 0] = label[0, 0]
    for ignored, share in ((None, 1 / 3), (1, 0.5), ([1, 2], 1.0), (0, 0.0)):
        metric = HeatmapAccuracy(ignore_labels=ignored)
        metric.update([nd.array(label)], [nd.array(pred)])
        assert metric.get()[1] == pytest.approx(share)


def test_pictures_without_persons(tmp_path):
    (tmp_path / "annotations").mkdir()
    (tmp_path / "val2017").mkdir()
    shown = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 20, 20], "area": 400, "iscrowd": 0}
    shown["keypoints"] = [5, 6, 2] * 17
    pictures = [
        {"id": k, "file_name": f"{k}.jpg", "coco_url": f"http://x/val2017/{k}.jpg", "width": 40, "height": 30}
        for k in (1, 2)
    ]
    for picture in pictures:
        (tmp_path / "val2017" / picture["file_name"]).write_bytes(b"")
    persons = [{"id": 1, "name": "person", "keypoints": [], "skeleton": []}]
    given = {"images": pictures, "annotations": [shown], "categories": persons}
    (tmp_path / "annotations" / "person_keypoints_val2017.json").write_text(json.dumps(given))
    assert len(COCOKeyPoints(str(tmp_path))) == 1
    both = COCOKeyPoints(str(tmp_path), skip_empty=False)
    assert len(both) == 2
    assert both._labels[1]["bbox"].tolist() == [-1, -1, 0, 0]
    assert not both._labels[1]["joints_3d"].any()


@pytest.mark.parametrize("argument", [{"is_color": False}, {"modality": "flow"}])
def test_videos_have_three_colours(argument):
    with pytest.raises(NotSupportedError, match=next(iter(argument))):
        VideoClsCustom(root=".", setting="x.txt", lazy_init=True, **argument)


def test_deformable_convolutions_are_of_one_kind():
    DeformableConvolution(3, op_name="DeformableConvolution")
    ModulatedDeformableConvolution(3, op_name="ModulatedDeformableConvolution")
    with pytest.raises(NotSupportedError, match="op_name='Convolution'"):
        DeformableConvolution(3, op_name="Convolution")
    with pytest.raises(NotSupportedError, match="adj="):
        DeformableConvolution(3, adj=(1, 1))


def test_peaks_that_gluoncv_never_defined():
    assert pose.drawGaussian(np.zeros((9, 9)), (4, 4), 1, sig=1).max() == 1
    with pytest.raises(ValueError, match="sig is not below 0"):
        pose.drawGaussian(np.zeros((9, 9)), (4, 4), 1, sig=-1)


@pytest.mark.parametrize(
    "make",
    [
        lambda freeze: actionrec.ActionRecResNetV1b(18, 3, pretrained_base=False, partial_bn=freeze),
        lambda freeze: slowfast.SlowFast(3, layers=(1, 1, 1, 1), partial_bn=freeze),
    ],
)
def test_all_normalisation_but_the_first_may_be_frozen(make):
    for freeze in (False, True):
        frozen = []
        make(freeze).apply(
            lambda b, seen=frozen: isinstance(b, nn.BatchNorm) and seen.append(b._kwargs["use_global_stats"])
        )
        assert sum(not f for f in frozen) == (1 if freeze else len(frozen))


def test_bounded_cells_hold_no_nan():
    weights = (nd.full((8, 2), np.nan), nd.zeros((8, 2)), None, nd.zeros(8), nd.zeros(8))
    state = nd.zeros((1, 2))
    for clip_nan, expected in ((True, -0.5), (False, np.nan)):
        _, _, cell = rnn._one_direction(
            nd.ones((1, 1, 2)), state, state, weights, 1, None, "lstm", (-0.5, 0.5, clip_nan)
        )
        np.testing.assert_array_equal(cell.asnumpy(), np.full((1, 2), expected, "float32"))

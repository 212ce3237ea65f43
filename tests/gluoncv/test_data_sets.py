"""Data sets in small folders of their own; what they give for them was compared with the original's answers."""

import json
import random

import numpy as np
import pytest

import core as mx
from gluoncv import data as gdata
from gluoncv.data.kitti import kitti_utils
from gluoncv.data.kitti.kitti_dataset import KITTIDepthDataset
from gluoncv.data.market1501.data_read import ImageTxtDataset
from gluoncv.data.market1501.label_read import LabelList
from gluoncv.data.tracking_data.track import AnchorTarget, TrkDataset
from gluoncv.data.transforms.track import Corner
from gluoncv.data.transforms.video import VideoGroupValTransform
from gluoncv.utils.metrics.tracking import OPEBenchmark

Image = pytest.importorskip("PIL.Image")


def save(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(array)).save(path)


def picture(height=60, width=80, value=0):
    y, x = np.mgrid[:height, :width]
    return np.stack([x, y, np.full_like(x, value)], -1).astype("uint8")


def test_segmentation_sets_number_their_classes(tmp_path):
    halves = np.zeros((60, 80), "uint8")
    ade = tmp_path / "ade/ADEChallengeData2016"
    halves[:, 40:] = 150
    save(ade / "images/validation/a.jpg", picture())
    save(ade / "images/validation/without.jpg", picture())
    save(ade / "annotations/validation/a.png", halves)
    with pytest.warns(UserWarning, match="is left out"):
        found = gdata.get_segmentation_dataset("ADE20K", root=tmp_path / "ade", split="val", mode="testval")
    img, mask = found[0]
    assert len(found) == 1 and found.pred_offset == 1 and found.num_class == len(found.classes) == 150
    assert img.shape == (60, 80, 3) and mask[0, [0, 79]].asnumpy().tolist() == [-1, 149]

    halves[:, 40:] = 33
    save(tmp_path / "citys/leftImg8bit/val/town/a_leftImg8bit.png", picture())
    save(tmp_path / "citys/gtFine/val/town/a_gtFine_labelIds.png", halves)
    _, mask = gdata.CitySegmentation(tmp_path / "citys", "val", "testval")[0]
    assert mask[0, [0, 79]].asnumpy().tolist() == [-1, 18]

    one, other = np.zeros((60, 80), "uint8"), np.zeros((60, 80), "uint8")
    one[:, :40], other[:, 30:60] = 3, 5
    save(tmp_path / "mhp/images/1.jpg", picture())
    save(tmp_path / "mhp/annotations/1_01.png", one)
    save(tmp_path / "mhp/annotations/1_02.png", other)
    (tmp_path / "mhp/train_list.txt").write_text("1.jpg\n")
    img, mask = gdata.MHPV1Segmentation(tmp_path / "mhp", mode="testval", base_size=120)[0]
    assert img.shape == (120, 160, 3) and mask[0, [0, 70, 100, 150]].asnumpy().tolist() == [3, 3, 5, 0]
    assert gdata.MHPV1Segmentation(tmp_path / "mhp", mode="test")[0][1] == "1.jpg"
    with pytest.raises(KeyError, match="none of the data sets"):
        gdata.get_segmentation_dataset("nowhere")


def test_masks_of_coco_in_classes_of_voc(data, tmp_path):
    pytest.importorskip("pycocotools")
    (tmp_path / "train2017").symlink_to(data / "tiny_coco/train2017")
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations/instances_train2017.json").symlink_to(
        data / "tiny_coco/annotations/instances_train2017.json"
    )
    found = gdata.COCOSegmentation(tmp_path, mode="testval")
    img, mask = found[0]
    assert 0 < len(found) <= 50 and img.shape[:2] == mask.shape and (mask > 0).sum().asscalar() > 1000
    assert gdata.COCOSegmentation(tmp_path).ids == found.ids  # read from the file this time


@pytest.fixture
def videos(tmp_path):
    for k in range(2):
        for number in range(1, 13):
            save(tmp_path / f"video{k}/img_{number:05d}.jpg", picture(48, 64, value=number * 10))
    (tmp_path / "videos.txt").write_text("video0 12 3\nvideo1 12 4\n")
    return {"root": str(tmp_path), "setting": str(tmp_path / "videos.txt"), "new_width": 64, "new_height": 48}


def shown(clip):
    """The numbers of the frames, which their blue says."""
    return np.rint((clip[:, 2].asnumpy().mean((-2, -1)) * 255) / 10).astype(int).tolist()


@pytest.mark.parametrize(
    ("options", "frames"),
    [
        ({}, [[7]]),
        ({"num_segments": 3, "new_length": 2}, [[2, 3], [6, 7], [10, 11]]),
        ({"new_length": 3, "new_step": 3}, [[3, 6, 9]]),
        (
            {"new_length": 8, "slowfast": True, "slow_temporal_stride": 4, "fast_temporal_stride": 2},
            [[4, 6, 8, 10, 6, 10]],
        ),
        ({"new_length": 16, "test_mode": True}, [[*range(1, 12), 11, 11, 11, 11, 11]]),
    ],
)
def test_frames_of_videos(videos, options, frames):
    transform = VideoGroupValTransform(24, [0, 0, 0], [1, 1, 1])
    found = gdata.VideoClsCustom(
        **videos, train=False, target_width=24, target_height=24, transform=transform, **options
    )
    clips, label = found[1]
    assert len(found) == 2 and label == 4
    # A clip that is longer than its video repeats the last frame it reaches.
    assert (shown(clips) if clips.ndim == 5 else [shown(clips)]) == frames
    assert clips.shape[-2:] == (24, 24) and clips.shape[1] == 3


def test_training_frames_and_attributes(videos):
    transform = VideoGroupValTransform(24, [0, 0, 0], [1, 1, 1])
    found = gdata.UCF101(**videos, num_segments=3, new_length=2, target_width=24, target_height=24, transform=transform)
    np.random.seed(0)
    for _ in range(5):
        clips = shown(found[0][0])
        assert all(b == a + 1 for a, b in clips) and clips == sorted(clips)
    assert gdata.UCF101Attr().num_class == 101 and len(gdata.Kinetics700Attr().classes) == 700
    names = gdata.ImageNet1kAttr()
    assert (names.synset[0], names.classes[0], names.classes_long[0]) == ("n01440764", "tench", "tench, Tinca tinca")
    with pytest.raises(TypeError, match="needs the argument root"):
        gdata.VideoClsCustom()
    with pytest.raises(AssertionError, match="multiple"):
        gdata.VideoClsCustom(**videos, slowfast=True, fast_temporal_stride=3)


def test_videos_in_files(data, tmp_path):
    pytest.importorskip("av")
    (tmp_path / "videos.txt").write_text("Woman.mp4 10 0\n")
    transform = VideoGroupValTransform(32, [0, 0, 0], [1, 1, 1])
    options = {"video_loader": True, "new_width": 64, "new_height": 48, "target_width": 32, "target_height": 32}
    found = gdata.VideoClsCustom(
        str(data / "demo"), str(tmp_path / "videos.txt"), train=False, new_length=4, transform=transform, **options
    )
    clips, _ = found[0]
    assert clips.shape == (1, 3, 4, 32, 32) and 0 < np.abs(np.diff(clips.asnumpy(), axis=2)).mean() < 0.2


def test_boxes_from_the_air_and_persons(tmp_path):
    folder = tmp_path / "VisDrone2019-DET-train"
    save(folder / "images/a.jpg", picture())
    (folder / "annotations").mkdir()
    (folder / "annotations/a.txt").write_text("1,2,30,40,1,4,0,0\n5,6,7,8,0,0,0,0\n")
    _, boxes = gdata.VisDroneDetection(tmp_path)[0]
    assert boxes.tolist() == [[1, 2, 31, 42, 3], [5, 6, 12, 14, -1]]
    market = tmp_path / "Market-1501-v15.09.15"
    for k in range(4):
        save(market / f"bounding_box_train/{k}.jpg", picture())
    (market / "train.txt").write_text("".join(f"{k}.jpg {k}\n" for k in range(4)))
    train, valid = LabelList(0.75, tmp_path)
    assert (len(train), len(valid)) == (3, 1) and sorted(n for _, n in train + valid) == [0, 1, 2, 3]
    img, number = ImageTxtDataset(train, transform=lambda x: x.astype("float32"))[0]
    assert img.shape == (60, 80, 3) and img.dtype == np.float32 and number == train[0][1]


def test_videos_with_targets(tmp_path):
    for k in range(3):
        save(tmp_path / f"Jogging-1/img/{k}.jpg", picture())
    boxes = [[10, 10, 20, 20]] * 3
    entry = {"video_dir": "Jogging-1", "init_rect": boxes[0], "img_names": [f"Jogging-1/img/{k}.jpg" for k in range(3)],
             "gt_rect": boxes, "attr": ["fast"]}  # fmt: skip
    (tmp_path / "OTB2015.json").write_text(json.dumps({"Jogging-1": entry}))
    found = gdata.OTBTracking("OTB2015", str(tmp_path))
    (tmp_path / "results/mine").mkdir(parents=True)
    (tmp_path / "results/mine/jogging_1.txt").write_text("10,10,20,20\n" * 3)
    found.set_tracker(str(tmp_path / "results"), ["mine"])
    assert found[0] is found["Jogging-1"] and found.attr["fast"] == ["Jogging-1"] and found[0].width == 80
    frame, box = found[0][1]
    assert frame.shape == (60, 80, 3) and box == boxes[0]
    assert OPEBenchmark(found).eval_success()["mine"]["Jogging-1"][:20].tolist() == [1] * 20


def test_pairs_of_templates_and_regions(tmp_path):
    np.random.seed(0)
    for frame in range(4):
        save(tmp_path / f"crops/video/{frame:06d}.00.x.jpg", picture(511, 511, value=frame))
    boxes = {f"{frame:06d}": [10, 20, 60, 80] for frame in range(4)}
    (tmp_path / "anno.json").write_text(json.dumps({"video": {"00": boxes}, "empty": {"00": {"000000": [1, 1, 1, 1]}}}))
    found = TrkDataset(
        str(tmp_path), ("one",), ("crops",), ("anno.json",), (2,), (-1,), videos_per_epoch=3, train_epoch=2, neg=0
    )
    assert len(found) == 6 and len(found.all_dataset[0]) == 1
    template, search, cls, delta, weight, box = found[0]
    assert template.shape == (3, 127, 127) and search.shape == (3, 255, 255)
    assert cls.shape == weight.shape == (5, 17, 17) and delta.shape == (4, 5, 17, 17) and box.shape == (4,)
    assert (cls == 1).sum() == (weight > 0).sum() and set(np.unique(cls)) <= {-1, 0, 1}

    target = AnchorTarget(8, [1], 255, 17)
    cls, delta, weight, overlap = target(Corner(95, 95, 159, 159), 17)  # an anchor of 64 pixels in the middle
    assert overlap[0, 8, 8] == pytest.approx(1, abs=0.05) and cls[0, 8, 8] == 1 and weight.sum() == pytest.approx(1)
    np.testing.assert_allclose(delta[:, 0, 8, 8], 0, atol=0.05)
    cls, *_ = target(Corner(95, 95, 159, 159), 17, neg=True)
    assert set(np.unique(cls)) == {-1, 0} and (cls == 0).sum() == 16


def test_depth_from_laser_points(tmp_path):
    (tmp_path / "calib_velo_to_cam.txt").write_text("R: 0 -1 0 0 0 -1 1 0 0\nT: 0 0 0\n")
    (tmp_path / "calib_cam_to_cam.txt").write_text(
        "calib_time: now\nS_rect_02: 200 100\nR_rect_00: 1 0 0 0 1 0 0 0 1\nP_rect_02: 100 0 100 0 0 100 50 0 0 0 1 0\n"
    )
    points = np.array([[10, 0, 0, 1], [5, 0, 0, 1], [-5, 0, 0, 1], [10, 1, 1, 1]], "float32")
    points.tofile(tmp_path / "points.bin")
    depth = kitti_utils.generate_depth_map(tmp_path, tmp_path / "points.bin")
    # In front of the camera the nearer of two points counts; what is to the left and up is at a tenth of 100 pixels.
    assert depth.shape == (100, 200) and depth[49, 99] == 5 and depth[39, 89] == 10 and (depth > 0).sum() == 2
    save(tmp_path / "drive/image_02/data/0000000001.jpg", picture(75, 248))
    save(tmp_path / "drive/image_02/data/0000000002.jpg", picture(75, 248))
    save(tmp_path / "drive/proj_depth/groundtruth/image_02/0000000001.png", np.full((75, 248), 2560, "uint16"))
    (tmp_path / "drive/velodyne_points/data").mkdir(parents=True)
    points.tofile(tmp_path / "drive/velodyne_points/data/0000000001.bin")
    found = KITTIDepthDataset(str(tmp_path), ["drive 1 l"], 64, 96, [0, 1], 2)
    sample = found[0]
    assert sample["color", 1, 1].shape == (3, 32, 48) and sample["K", 1][0, 2] == 24
    assert sample["depth_gt"].shape == (1, 375, 1242) and (sample["depth_gt"] == 10).asnumpy().all()
    np.testing.assert_allclose(mx.nd.dot(sample["K", 0], sample["inv_K", 0]).asnumpy(), np.eye(4), atol=1e-4)
    random.seed(2)
    batch = kitti_utils.dict_batchify_fn([sample, found[0]])
    assert batch["color", 0, 0].shape == (2, 3, 64, 96)

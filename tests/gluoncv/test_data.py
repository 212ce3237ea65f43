"""Readers of detection, segmentation and keypoint data against the files of their makers."""

import json
import zipfile

import numpy as np
import pytest

import core as mx
from core import recordio
from gluoncv.data import (
    COCODetection,
    COCOInstance,
    COCOKeyPoints,
    CustomVOCDetection,
    CustomVOCDetectionBase,
    LstDetection,
    MixupDetection,
    RecordFileDetection,
    VOCDetection,
    VOCSegmentation,
    ms_batchify_fn,
)


@pytest.fixture
def coco(data):
    return data / "tiny_coco"


def test_a_folder_of_voc(data, tmp_path):
    with zipfile.ZipFile(data / "demo" / "VOCtemplate.zip") as archive:
        archive.extractall(tmp_path)

    found = VOCDetection(str(tmp_path / "VOCtemplate"), splits=[(2018, "train")])
    img, label = found[0]
    assert len(found) == 1 and img.dtype == np.uint8 and img.shape[2] == 3 and label.shape[1] == 6
    text = (tmp_path / "VOCtemplate/VOC2018/Annotations/000001.xml").read_text()
    corners = [float(text.split(f"<{tag}>")[1].split("<")[0]) - 1 for tag in ("xmin", "ymin", "xmax", "ymax")]
    assert label[0, :4].tolist() == corners
    assert VOCDetection(str(tmp_path / "VOCtemplate"), splits=[(2018, "train")], index_map={"cat": 0})[0][1].shape == (
        0,
        6,
    )
    name = text.split("<name>")[1].split("<")[0].lower()
    own = type("Own", (VOCDetection,), {"CLASSES": [name]})(
        str(tmp_path / "VOCtemplate"), splits=[("VOC2018", "train")]
    )
    assert own.classes == [name] and own[0][1][0].tolist() == [*corners, 0, label[0, 5]]
    for kind, options in (
        (CustomVOCDetection, {"generate_classes": True, "splits": [(2018, "train")]}),
        (CustomVOCDetectionBase, {"classes": [name], "splits": [("VOC2018", "train")]}),
    ):
        custom = kind(root=str(tmp_path / "VOCtemplate"), **options)
        assert name in custom.classes and custom[0][1][0, :4].tolist() == corners
    (tmp_path / "VOCtemplate/VOC2018/Annotations/000001.xml").write_text(text.replace("<xmin>", "<xmin>9"))
    with pytest.warns(UserWarning, match="is not in the picture"):
        VOCDetection(str(tmp_path / "VOCtemplate"), splits=[(2018, "train")])
    assert not len(custom.__class__(root=str(tmp_path / "VOCtemplate"), **options))
    with pytest.raises(OSError, match="there is no folder"):
        VOCDetection(str(tmp_path / "nowhere"))


def test_boxes_of_coco(coco):
    pytest.importorskip("pycocotools")
    found = COCODetection(str(coco), splits="instances_train2017")
    raw = json.loads((coco / "annotations/instances_train2017.json").read_text())
    assert len(found) == 49 and found.num_class == 80
    number = {entry["id"] for entry in raw["images"]}
    assert len(number) == 50 and sum(len(label) for label in found._labels) == 470
    img, label = found[0]
    height, width = img.shape[:2]
    assert (label[:, 2] < width).all() and (label[:, 3] < height).all() and (label[:, 4] < 80).all()
    first = min(number)
    want = [a for a in raw["annotations"] if a["image_id"] == first]
    x, y, w, h = want[0]["bbox"]
    np.testing.assert_allclose(label[0, :4], [x, y, x + w - 1, y + h - 1], atol=1)
    assert len(COCODetection(str(coco), "instances_train2017", skip_empty=False)) == 50
    listed = type("Listed", (COCODetection,), {"CLASSES": list(COCODetection.CLASSES)})
    assert len(listed(str(coco), "instances_train2017")) == 49
    crowds = sum(a["iscrowd"] for a in raw["annotations"])
    few = COCODetection(str(coco), "instances_train2017", use_crowd=False)
    assert sum(len(label) for label in few._labels) == 470 - crowds
    assert few.get_im_aspect_ratio()[0] == pytest.approx(width / height)


def test_masks_and_keypoints_of_coco(coco):
    pytest.importorskip("pycocotools")
    found = COCOInstance(str(coco), "instances_train2017")
    _, label, polygons = found[0]
    assert len(label) == len(polygons) and polygons[0][0].shape[1] == 2
    left, top = polygons[0][0].min(0)
    assert abs(left - label[0, 0]) < 2 and abs(top - label[0, 1]) < 2
    persons = COCOKeyPoints(str(coco), "person_keypoints_train2017")
    assert len(persons) == 57  # the persons with keypoints that the data's description counts
    _, one, number = persons[0]
    assert one["joints_3d"].shape == (17, 3, 2) and set(np.unique(one["joints_3d"][..., 1])) <= {0, 1} and number > 0


def test_segmentation(data, tmp_path):
    folder = tmp_path / "VOC2012"
    for part in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
        (folder / part).mkdir(parents=True)
    names = sorted(p.stem for p in (data / "demo" / "voc_segmentation").glob("*.png"))
    for name in names:
        source = data / "demo" / "voc_segmentation" / name
        (folder / "JPEGImages" / f"{name}.jpg").write_bytes(source.with_suffix(".jpg").read_bytes())
        (folder / "SegmentationClass" / f"{name}.png").write_bytes(source.with_suffix(".png").read_bytes())
    (folder / "ImageSets/Segmentation/trainval.txt").write_text("\n".join(names))
    whole = VOCSegmentation(str(tmp_path), mode="testval")
    assert len(whole) == 6 and whole.num_class == 21
    for img, mask in (whole[k] for k in range(6)):
        assert img.shape[:2] == mask.shape and mask.dtype == np.int32
        assert mask.asnumpy().min() >= -1 and mask.asnumpy().max() < 21
    for mode in ("train", "val"):
        img, mask = VOCSegmentation(str(tmp_path), mode=mode, base_size=130, crop_size=96)[0]
        assert img.shape == (96, 96, 3) and mask.shape == (96, 96)
    pictures, masks = ms_batchify_fn([whole[0], whole[1]])
    assert len(pictures) == len(masks) == 2
    with pytest.raises(RuntimeError, match="train, val or test"):
        VOCSegmentation(str(tmp_path), split="all")


def test_records_and_lists(tmp_path):
    img = (np.arange(40 * 60 * 3) % 255).reshape(40, 60, 3).astype("uint8")
    label = np.array([4, 5, 60, 40, 2, 0.1, 0.2, 0.5, 0.8, 0, 0.0, 0.0, 1.0, 1.0], dtype="float32")
    record = recordio.MXIndexedRecordIO(str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "w")
    record.write_idx(0, recordio.pack_img(recordio.IRHeader(0, label, 0, 0), img, img_fmt=".png"))
    record.close()
    picture, boxes = RecordFileDetection(str(tmp_path / "a.rec"))[0]
    np.testing.assert_allclose(boxes, [[6, 8, 30, 32, 2], [0, 0, 60, 40, 0]], rtol=1e-6)
    assert picture.shape == (40, 60, 3)
    from PIL import Image

    Image.fromarray(img).save(tmp_path / "a.png")
    (tmp_path / "a.lst").write_text("\t".join(["0", *map(str, label), "a.png"]) + "\n")
    picture, boxes = LstDetection(str(tmp_path / "a.lst"), root=str(tmp_path), coord_normalized=False)[0]
    np.testing.assert_allclose(boxes[0], [0.1, 0.2, 0.5, 0.8, 2], rtol=1e-6)
    assert (picture.asnumpy() == img).all()


def test_blends_keep_all_boxes():
    samples = [
        (mx.nd.full((20, 30, 3), 100, dtype="uint8"), np.array([[1.0, 1, 5, 5, 0]])),
        (mx.nd.full((40, 10, 3), 200, dtype="uint8"), np.array([[2.0, 2, 6, 6, 1], [0, 0, 3, 3, 2]])),
    ]
    plain, label = MixupDetection(samples)[0]
    assert plain.shape == (20, 30, 3) and label.tolist() == [[1, 1, 5, 5, 0, 1]]
    blend, label = MixupDetection(samples, lambda: 0.25)[0]
    assert blend.shape == (40, 30, 3) and label[:, -1].tolist() == [0.25, 0.75, 0.75]
    assert blend[0, 0, 0].asscalar() == 175 and blend[30, 5, 0].asscalar() == 150 and blend[0, 20, 0].asscalar() == 25

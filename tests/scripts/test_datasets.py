"""Data sets are brought into the layouts that the programs read."""

import io
import json
import tarfile
from collections import Counter

import numpy as np
import pytest

from scripts.datasets import camera_moves, coco_parts, imagenet, pascal_voc


def test_pictures_of_coco_are_split(data, tmp_path):
    counts = coco_parts.main([str(data / "tiny_coco"), "--target", str(tmp_path), "--categories", "person"])
    train, val = (json.loads((tmp_path / "annotations" / f"instances_{part}2017.json").read_text()) for part in counts)
    pictures = [{image["id"] for image in part["images"]} for part in (train, val)]
    assert [len(ids) for ids in pictures] == list(counts.values()) == [18, 8] and not pictures[0] & pictures[1]
    for ids, part in zip(pictures, (train, val), strict=True):
        assert {a["image_id"] for a in part["annotations"]} == ids
        assert {a["category_id"] for a in part["annotations"]} == {1}
    assert (tmp_path / "val2017" / val["images"][0]["file_name"]).is_file()


def test_pictures_with_many_objects_are_left_out(data, tmp_path):
    given = [str(data / "tiny_coco"), "--target", str(tmp_path), "--categories", "person", "--max-objects", "3"]
    counts = coco_parts.main(given)
    for part in counts:
        chosen = json.loads((tmp_path / "annotations" / f"instances_{part}2017.json").read_text())
        objects = Counter(a["image_id"] for a in chosen["annotations"])
        assert {image["id"] for image in chosen["images"]} == set(objects) and max(objects.values()) <= 3
    assert counts == {"train": 12, "val": 6}


def test_a_missing_annotation_file_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"instances_train2017\.json is missing"):
        coco_parts.main([str(tmp_path), "--target", str(tmp_path / "out")])


def test_camera_moves(data, tmp_path):
    from PIL import Image

    given = [str(data / "tiny_coco" / "train2017"), "--target", str(tmp_path), "--hold-out", "25", "--frames", "3"]
    counts = camera_moves.main([*given, "--size", "32", "--moves", "still", "right", "near"])
    assert counts == {"train": 48 * 3, "val": 2 * 3}
    name, frames, label = (tmp_path / "val.txt").read_text().splitlines()[1].split()
    assert (frames, label) == ("3", "1")
    first, last = (np.asarray(Image.open(tmp_path / name / f"img_0000{k}.jpg"), float) for k in (1, 3))

    def left_columns(shift):
        return abs(first[:, shift:] - last[:, : 32 - shift]).mean()

    several = camera_moves.main([*given[:2], str(tmp_path / "two"), *given[3:], "--moves", "still", "--clips", "2"])
    assert several == {"train": 48 * 2, "val": 2 * 2} and len({*(tmp_path / "two" / "val.txt").open()}) == 4
    assert min(left_columns(shift) for shift in range(8, 31)) < 0.5 * left_columns(0)  # the window went right


def packed(path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def test_archives_of_voc_become_folders(tmp_path, monkeypatch):
    sources = tuple(source._replace(sha1=None) for source in pascal_voc.SOURCES[:3])
    monkeypatch.setattr(pascal_voc, "SOURCES", sources)
    downloads, target = tmp_path / "downloads", tmp_path / "voc"
    downloads.mkdir()
    given = ["--download-dir", str(downloads), "--target-dir", str(target), "--no-download"]
    with pytest.raises(SystemExit, match=r"VOCtrainval_06-Nov-2007\.tar is missing: get it from http"):
        pascal_voc.main(given)
    for source, year, part in zip(sources, (2007, 2007, 2012), ("trainval", "test", "trainval"), strict=True):
        listed = {f"VOCdevkit/VOC{year}/ImageSets/Main/{part}.txt": b"000001\n"}
        packed(downloads / source.url.rsplit("/", 1)[-1], listed)
    assert len(pascal_voc.main(given)) == 3
    assert {p.name for p in (target / "VOC2007" / "ImageSets" / "Main").iterdir()} == {"trainval.txt", "test.txt"}
    assert (target / "VOC2012" / "ImageSets" / "Main" / "trainval.txt").read_text() == "000001\n"


def test_archives_of_imagenet_become_folders_of_classes(tmp_path, monkeypatch):
    monkeypatch.setattr(imagenet, "SOURCES", tuple(source._replace(sha1=None) for source in imagenet.SOURCES))
    inner = tmp_path / "n01.tar"
    packed(inner, {"n01_1.JPEG": b"picture"})
    packed(tmp_path / "ILSVRC2012_img_train.tar", {"n01.tar": inner.read_bytes(), "n02.tar": inner.read_bytes()})
    packed(tmp_path / "ILSVRC2012_img_val.tar", {"val_1.JPEG": b"one", "val_2.JPEG": b"two"})
    given = ["--download-dir", str(tmp_path), "--target-dir", str(tmp_path / "imagenet")]
    with pytest.raises(SystemExit, match=r"val_classes\.txt is missing"):
        imagenet.main(given)
    (tmp_path / "val_classes.txt").write_text("val_1.JPEG n02\nval_2.JPEG n01\n")
    assert imagenet.main(given) == {"train": 2, "val": 2}
    assert (tmp_path / "imagenet" / "val" / "n01" / "val_2.JPEG").read_bytes() == b"two"
    assert (tmp_path / "imagenet" / "train" / "n02" / "n01_1.JPEG").read_bytes() == b"picture"

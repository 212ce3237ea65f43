"""Data sets are brought into the layouts that the programs read."""

import json

import numpy as np
import pytest

from scripts.datasets import camera_moves, coco_parts


def test_pictures_of_coco_are_split(data, tmp_path):
    counts = coco_parts.main([str(data / "tiny_coco"), "--target", str(tmp_path), "--categories", "person"])
    train, val = (json.loads((tmp_path / "annotations" / f"instances_{part}2017.json").read_text()) for part in counts)
    pictures = [{image["id"] for image in part["images"]} for part in (train, val)]
    assert [len(ids) for ids in pictures] == list(counts.values()) == [18, 8] and not pictures[0] & pictures[1]
    for ids, part in zip(pictures, (train, val), strict=True):
        assert {a["image_id"] for a in part["annotations"]} == ids
        assert {a["category_id"] for a in part["annotations"]} == {1}
    assert (tmp_path / "val2017" / val["images"][0]["file_name"]).is_file()


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

    assert min(left_columns(shift) for shift in range(8, 31)) < 0.5 * left_columns(0)  # the window went right

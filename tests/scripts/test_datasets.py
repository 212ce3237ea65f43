"""Data sets are brought into the layouts that the programs read."""

import io
import json
import math
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from core.base import MXNetError
from gluoncv.data.tracking_data.track import SubDataset
from scripts.datasets import (
    camera_moves,
    coco_composed,
    coco_parts,
    coco_tracking,
    hmdb51,
    ilsvrc_det,
    ilsvrc_vid,
    imagenet,
    kinetics400,
    lsun,
    otb2015,
    pascal_context,
    pascal_voc,
    somethingsomethingv2,
    ucf101,
)  # fmt: skip


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


@pytest.fixture(scope="module")
def persons(data, tmp_path_factory):
    """Pictures of persons, those with large ones in two parts."""
    root = tmp_path_factory.mktemp("persons")
    given = ["--categories", "person", "--hold-out", "2", "--least-share", "0.03"]
    assert coco_parts.main([str(data / "tiny_coco"), "--target", str(root), *given]) == {"train": 21, "val": 5}
    return root


def test_pictures_with_small_objects_are_not_held_out(persons):
    held = json.loads((persons / "annotations" / "instances_val2017.json").read_text())
    sizes = {image["id"]: image["width"] * image["height"] for image in held["images"]}
    assert min(a["area"] / sizes[a["image_id"]] for a in held["annotations"]) >= 0.03


def test_composed_pictures_have_the_outlines_and_joints_of_their_objects(persons, data, tmp_path):
    """They are read as COCO, pixels within outlines are those of the objects, and nothing of the part for tests is used."""
    from gluoncv.data import COCOInstance, COCOKeyPoints
    from gluoncv.data.transforms.mask import to_mask

    given = [str(persons), "--backgrounds", str(data / "tiny_coco"), "--count", "20", "--size", "128", "96"]
    counts = coco_composed.main([*given, "--target", str(tmp_path / "one")])
    again = coco_composed.main([*given, "--target", str(tmp_path / "two")])
    given = {path.name for path in (data / "tiny_coco" / "train2017").iterdir()}
    files = {
        root: [path for path in sorted((tmp_path / root / "train2017").iterdir()) if path.name not in given]
        for root in ("one", "two")
    }
    composed = {path.name for path in files["one"]}
    assert counts == again and counts["pictures"] == 20 <= counts["objects"] <= 60
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(*files.values(), strict=True))
    held = {path.name for path in map(Path, COCOInstance(tmp_path / "one", ("instances_val2017",))._items)}
    pictures = COCOInstance(tmp_path / "one", ("instances_train2017",))
    assert len(held) == 5 and not held & {Path(path).name for path in pictures._items} and len(pictures) == 21 + 20
    for index, path in enumerate(map(Path, pictures._items)):
        if path.name not in composed:
            continue
        picture, boxes, outlines = pictures[index]
        assert picture.shape == (96, 128, 3)
        masks = [to_mask(parts, (128, 96)) for parts in outlines]
        assert sum(masks).max() == 1
        for (left, top, right, bottom, _), mask in zip(boxes.astype(int), masks, strict=True):
            assert mask[top:bottom, left:right].sum() == mask.sum()
            assert mask[:, left].any() and mask[top].any() and mask[:, right - 1].any() and mask[bottom - 1].any()
    joints = COCOKeyPoints(tmp_path / "one", ("person_keypoints_train2017",))
    chosen = [k for k, path in enumerate(map(Path, joints._items)) if path.name in composed]
    whole = json.loads((persons / "annotations" / "person_keypoints_train2017.json").read_text())
    sources = [np.reshape(a["keypoints"], (17, 3)) for a in whole["annotations"] if any(a["keypoints"])]
    assert len(chosen) > 10
    found = []
    for k in chosen:
        points = joints[k][1]["joints_3d"]
        seen = points[:, 0, 1] > 0
        x, y = points[seen, :2, 0].T
        assert (x >= 0).all() and (x < 128).all() and (y >= 0).all() and (y < 96).all()
        found.append(min(fits(points[:, :2, 0], seen, source) for source in sources))
    # Joints are those of a person who was turned and resized, or of the mirror image with left and right exchanged.
    assert max(residual for residual, _ in found) < 0.1 and {mirrored for _, mirrored in found} == {False, True}


def fits(points, seen, source) -> tuple[float, bool]:
    """How far joints are from those of `source` under the best similarity, and whether that mirrors."""
    if seen.sum() < 4:
        return 0.0, False
    ways = []
    for mirrored in (False, True):
        order = [0, *(k + (1 if k % 2 else -1) for k in range(1, 17))] if mirrored else list(range(17))
        old = source[order][seen]
        if not (old[:, 2] > 0).all():
            continue
        complexes = (old[:, 0] - 1j * old[:, 1]) if mirrored else (old[:, 0] + 1j * old[:, 1])
        matrix = np.column_stack([complexes, np.ones(len(old))])
        new = points[seen, 0] + 1j * points[seen, 1]
        ways.append((abs(matrix @ np.linalg.lstsq(matrix, new, rcond=None)[0] - new).max(), mirrored))
    return min(ways, default=(math.inf, False))


def test_what_composing_lacks_is_said(persons, data, tmp_path):
    given = [str(persons), "--target", str(tmp_path / "out"), "--backgrounds"]
    with pytest.raises(SystemExit, match=r"instances_train2017\.json is missing"):
        coco_composed.main([*given, str(tmp_path)])
    with pytest.raises(SystemExit, match="no picture without these objects"):
        coco_composed.main([*given, str(persons)])
    with pytest.raises(SystemExit, match=r"no object of 9000\.0 pixels"):
        coco_composed.main([*given, str(data / "tiny_coco"), "--least-height", "9000"])


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

    more = str(data / "imagenet_samples" / "images")
    both = camera_moves.main([more, *given[:1], "--target", str(tmp_path / "both"), *given[3:], "--moves", "up"])
    assert both == {"train": 144, "val": 6}
    camera_moves.main([*given[:2], str(tmp_path / "light"), *given[3:], "--moves", "dawn", "still", "dusk"])
    clips = [tmp_path / "light" / f"{name[:-1]}{label}" for label in range(3)]
    light = [[np.asarray(Image.open(clip / f"img_0000{k}.jpg")).mean() for k in (1, 3)] for clip in clips]
    assert light[0][1] > 1.4 * light[0][0] and light[2][0] > 1.4 * light[2][1]
    assert abs(light[1][1] / light[1][0] - 1) < 0.01
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


def test_archives_of_pascal_context_and_lsun_become_folders(tmp_path, monkeypatch):
    sources = tuple(source._replace(sha1=None) for source in pascal_context.SOURCES)
    monkeypatch.setattr(pascal_context, "SOURCES", sources)
    packed(tmp_path / "VOCtrainval_03-May-2010.tar", {"VOCdevkit/VOC2010/JPEGImages/2008_1.jpg": b"picture"})
    (tmp_path / "trainval_merged.json").write_text("{}")
    given = ["--download-dir", str(tmp_path), "--no-download"]
    pascal_context.main([*given, "--target-dir", str(tmp_path / "context")])
    folder = tmp_path / "context" / "VOCdevkit" / "VOC2010"
    assert {path.name for path in folder.iterdir()} == {"JPEGImages", "trainval_merged.json"}
    for part in ("tower_train", "tower_val", "test"):
        with zipfile.ZipFile(tmp_path / f"{part}_lmdb.zip", "w") as archive:
            archive.writestr(f"{part}_lmdb/data.mdb", part)
    lsun.main([*given, "-c", "tower", "test", "-o", str(tmp_path / "lsun")])
    assert (tmp_path / "lsun" / "tower_val_lmdb" / "data.mdb").read_text() == "tower_val"
    with pytest.raises(SystemExit, match=r"bridge_train_lmdb\.zip is missing"):
        lsun.main([*given, "-c", "bridge", "-o", str(tmp_path / "lsun")])


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


def film(path, frames, size=(48, 32)):
    """A video of so many frames, each of another grey."""
    av = pytest.importorskip("av")
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for k in range(frames):
            picture = np.full((size[1], size[0], 3), 20 * k, "uint8")
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def test_ucf101_becomes_frames_and_lists(tmp_path):
    from PIL import Image

    home = tmp_path / "ucf"
    for name, count in (("Run/v_a", 5), ("Run/v_b", 4), ("Swim/v_c", 3)):
        film(home / "videos" / f"{name}.avi", count)
    (home / "splits").mkdir()
    (home / "splits" / "classInd.txt").write_text("1 Run\n2 Swim\n")
    for k in (1, 2, 3):
        (home / "splits" / f"trainlist0{k}.txt").write_text("Run/v_a.avi 1\nSwim/v_c.avi 2\nRun/v_lost.avi 1\n")
        (home / "splits" / f"testlist0{k}.txt").write_text("Run/v_b.avi\n")
    given = ["--src_dir", home / "videos", "--out_dir", home / "frames", "--frame_path", home / "frames"]
    given += ["--anno_dir", home / "splits", "--out_list_path", home / "splits", "--num_worker", 1, "--new_width", 24]
    given = [*map(str, given), "--no-download"]
    counts = ucf101.main(given)
    assert counts["videos"] == 3 and counts["ucf101_train_split_1_rawframes.txt"] == 2 and len(counts) == 7
    lines = (home / "splits" / "ucf101_train_split_2_rawframes.txt").read_text()
    assert lines == "Run/v_a 5 0\nSwim/v_c 3 1\n"
    assert (home / "splits" / "ucf101_val_split_3_rawframes.txt").read_text() == "Run/v_b 4 0\n"
    with Image.open(home / "frames" / "Run" / "v_a" / "img_00005.jpg") as last:
        assert last.size == (24, 32) and abs(np.asarray(last, float).mean() - 80) < 6
    assert ucf101.main([*given, "--resume"])["videos"] == 0
    listed = ucf101.main([*given, "--no-decode_video", "--format", "videos", "--frame_path", str(home / "videos")])
    assert listed["ucf101_train_split_1_videos.txt"] == 2
    assert (home / "splits" / "ucf101_train_split_1_videos.txt").read_text() == "Run/v_a 0\nSwim/v_c 1\n"
    with pytest.raises(SystemExit, match=r"is missing: get the videos from .*UCF101\.rar"):
        ucf101.main([*given, "--src_dir", str(tmp_path / "none")])


def test_tiny_ucf101_comes_with_its_videos(tmp_path):
    for name in ("a", "b"):
        film(tmp_path / f"{name}.avi", 2)
    with zipfile.ZipFile(tmp_path / "tiny-UCF101.zip", "w") as archive:
        for name in ("a", "b"):
            archive.write(tmp_path / f"{name}.avi", f"UCF-101/Run/{name}.avi")
    with zipfile.ZipFile(tmp_path / ucf101.SPLITS.url.rsplit("/", 1)[-1], "w") as archive:
        archive.writestr("ucfTrainTestlist/classInd.txt", "1 Run")
        for k in (1, 2, 3):
            archive.writestr(f"ucfTrainTestlist/trainlist0{k}.txt", "Run/a.avi 1")
            archive.writestr(f"ucfTrainTestlist/testlist0{k}.txt", "Run/b.avi")
    home = tmp_path / "ucf101"
    given = ["--src_dir", home / "UCF-101", "--out_dir", home / "rawframes", "--frame_path", home / "rawframes"]
    given += ["--anno_dir", home / "ucfTrainTestlist", "--out_list_path", home / "ucfTrainTestlist"]
    counts = ucf101.main([*map(str, given), "--download_dir", str(tmp_path), "--tiny_dataset", "--num_worker", "1"])
    assert counts["videos"] == 2 and counts["ucf101_val_split_3_rawframes.txt"] == 1


def test_optical_flow_is_where_the_window_went(data, tmp_path):
    from PIL import Image

    av = pytest.importorskip("av")
    (tmp_path / "videos").mkdir()
    with (
        av.open(str(tmp_path / "videos" / "a.avi"), "w") as container,
        Image.open(data / "demo" / "giraffe.jpg") as whole,
    ):
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = 96, 64, "yuv420p", 4_000_000
        for k in range(3):  # the window goes 3 pixels left and 2 down in a frame
            box = (140 - 6 * k, 100 + 4 * k, 332 - 6 * k, 228 + 4 * k)
            frame = whole.convert("RGB").resize((96, 64), Image.Resampling.BILINEAR, box=box)
            container.mux(stream.encode(av.VideoFrame.from_image(frame)))
        container.mux(stream.encode())
    given = ["--src_dir", tmp_path / "videos", "--no-download", "--no-build_file_list", "--level", 1, "--flow_type"]
    given = [str(word) for word in given]
    ucf101.main([*given, "tvl1", "--out_dir", str(tmp_path / "flow"), "--flow_y_prefix", "down_"])
    names = {path.name for path in (tmp_path / "flow" / "a").iterdir()}
    assert names == {f"{kind}0000{k}.jpg" for kind in ("img_", "flow_x_", "down_") for k in (1, 2)} | {"img_00003.jpg"}

    def pixels(folder, name):
        grey = np.asarray(Image.open(tmp_path / folder / "a" / name), float)
        return np.median(grey[8:-8, 8:-8]) / 255 * 40 - 20

    assert abs(pixels("flow", "flow_x_00002.jpg") - 3) < 0.3 and abs(pixels("flow", "down_00002.jpg") + 2) < 0.3
    ucf101.main([*given, "warp_tvl1", "--out_dir", str(tmp_path / "warp")])
    assert {path.name[:4] for path in (tmp_path / "warp" / "a").iterdir()} == {"flow"}
    assert abs(pixels("warp", "flow_x_00002.jpg")) < 0.3  # all of it is the camera's


def test_hmdb51_splits_are_numbered_by_their_names(tmp_path):
    for name in ("wave", "clap"):
        for k in (1, 2, 3):
            (tmp_path / f"{name}_test_split{k}.txt").write_text(f"{name}_1.avi 1 \n{name}_2.avi 2 \n{name}_3.avi 0 \n")
    first = hmdb51.splits(tmp_path, 2)[0]
    assert first == {"train": [("clap/clap_1", 0), ("wave/wave_1", 1)], "val": [("clap/clap_2", 0), ("wave/wave_2", 1)]}
    with pytest.raises(SystemExit, match=r"CLASS_test_split1\.txt is missing"):
        hmdb51.main(["--no-decode_video", "--anno_dir", str(tmp_path / "none"), "--frame_path", str(tmp_path)])


def test_kinetics_lists_are_of_the_published_tables(tmp_path):
    head = "label,youtube_id,time_start,time_end,split\n"
    (tmp_path / "kinetics_train.csv").write_text(head + "zumba,abc,1,11,train\nair drumming,def,20,30,train\n")
    (tmp_path / "kinetics_val.csv").write_text(head + "zumba,ghi,3,13,val\n")
    (tmp_path / "kinetics_test.csv").write_text("youtube_id,time_start,time_end,split\njkl,5,15,test\n")
    parts = kinetics400.splits(tmp_path, 2)
    assert parts["train"] == [("zumba/abc_000001_000011", 1), ("air_drumming/def_000020_000030", 0)]
    assert parts["val"] == [("zumba/ghi_000003_000013", 1)] and parts["test"] == [("jkl_000005_000015", -1)]
    folder = tmp_path / "frames" / "zumba" / "abc_000001_000011"
    folder.mkdir(parents=True)
    (folder / "img_00001.jpg").write_bytes(b"")
    given = ["--anno_dir", str(tmp_path), "--out_list_path", str(tmp_path), "--frame_path", str(tmp_path / "frames")]
    assert kinetics400.main([*given, "--build_file_list"]) == {"kinetics400_train_list_rawframes.txt": 1}
    assert (tmp_path / "kinetics400_train_list_rawframes.txt").read_text() == "zumba/abc_000001_000011 1 1\n"


def test_something_something_becomes_frames_and_lists(tmp_path):
    film(tmp_path / "videos" / "7.webm.mp4", 2, (64, 32))
    (tmp_path / "videos" / "7.webm.mp4").rename(tmp_path / "videos" / "7.webm")
    labels = {"Pushing something": "0", "Dropping something": "1"}
    entry = {"id": "7", "template": "Dropping [something]"}
    (tmp_path / "labels").mkdir()
    for name, content in (("labels", labels), ("train", [entry]), ("validation", []), ("test", [{"id": "7"}])):
        (tmp_path / "labels" / f"something-something-v2-{name}.json").write_text(json.dumps(content))
    given = ["--video_root", "videos", "--frame_root", "frames", "--anno_root", "labels", "--num_threads", "1"]
    given = [str(tmp_path / word) if not word.startswith("-") and word != "1" else word for word in given]
    counts = somethingsomethingv2.main(given)
    assert counts == {"videos": 1, "train_videofolder.txt": 1, "val_videofolder.txt": 0, "test_videofolder.txt": 1}
    assert (tmp_path / "labels" / "train_videofolder.txt").read_text() == "7 2 1"
    from PIL import Image

    with Image.open(tmp_path / "frames" / "7" / "000002.jpg") as frame:
        assert frame.size == (512, 256)


def test_sequences_of_otb_have_the_names_of_their_targets(tmp_path, monkeypatch):
    monkeypatch.setattr(otb2015, "SEQUENCES", ["Jogging", "Human4", "Skating2"])
    for name in otb2015.SEQUENCES:
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr(f"{name}/groundtruth_rect.txt", "1,2,3,4")
    given = ["--download-dir", str(tmp_path), "--target-dir", str(tmp_path / "otb"), "--no-download"]
    assert len(otb2015.main(given)) == 3
    for name in ("Jogging-1", "Jogging-2", "Human4-2", "Skating2-2"):
        assert (tmp_path / "otb" / name / "groundtruth_rect.txt").is_file()


def test_objects_of_coco_become_crops_for_trackers(data, tmp_path):
    from PIL import Image

    coco_parts.main([str(data / "tiny_coco"), "--target", str(tmp_path), "--hold-out", "12", "--max-objects", "2"])
    counts = coco_tracking.main(["--target-dir", str(tmp_path), "--instance-size", "255", "--num-threads", "1"])
    boxes = json.loads((tmp_path / "train2017.json").read_text())
    whole = json.loads((tmp_path / "annotations" / "instances_train2017.json").read_text())
    assert counts["train2017"] == len(boxes) == len(whole["images"])
    entry = whole["annotations"][0]
    (name,) = [image["file_name"] for image in whole["images"] if image["id"] == entry["image_id"]]
    left, top, width, height = entry["bbox"]
    video = f"train2017/{name[:-4]}"
    assert boxes[video]["00"] == {"000000": [left, top, left + width, top + height]}
    with Image.open(tmp_path / "crop255" / video / "000000.00.x.jpg") as search:
        assert search.size == (255, 255)
    # What the data set of trackers reads.
    source = SubDataset("COCO", str(tmp_path / "crop255"), str(tmp_path / "train2017.json"), 1, -1, 0)
    path, box = source.get_image_anno(video, "00", 0)
    assert Path(path).is_file() and box == boxes[video]["00"]["000000"]


def annotation(path, objects) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = "".join(
        f"<object>{f'<trackid>{track}</trackid>' if track is not None else ''}<bndbox><xmin>{b[0]}</xmin>"
        f"<ymin>{b[1]}</ymin><xmax>{b[2]}</xmax><ymax>{b[3]}</ymax></bndbox></object>"
        for track, b in objects
    )
    path.write_text(f"<annotation>{entries}</annotation>")


def test_videos_and_pictures_of_imagenet_become_crops_for_trackers(tmp_path):
    from PIL import Image

    def picture(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((40, 50, 3), 90, "uint8")).save(path, "JPEG")

    box, name = (10, 10, 30, 30), "ILSVRC2015_val_00000000"
    for k, tracks in enumerate(([0, 1], [0])):
        annotation(tmp_path / f"vid/ILSVRC2015/Annotations/VID/val/{name}/{k:06d}.xml", [(t, box) for t in tracks])
        picture(tmp_path / f"vid/ILSVRC2015/Data/VID/val/{name}/{k:06d}.JPEG")
    small = ["--num-threads", "1", "--instance-size", "255"]
    assert ilsvrc_vid.main(["--target-dir", str(tmp_path / "vid"), *small]) == {"train": 0, "val": 1}
    boxes = json.loads((tmp_path / "vid" / "val.json").read_text())
    assert boxes == {f"e/{name}": {"00": {"000000": [*map(float, box)], "000001": [*map(float, box)]}}}
    assert (tmp_path / "vid" / "crop255" / "e" / name / "000001.00.z.jpg").is_file()
    for folder, stem in (("train/ILSVRC2013_train/n01", "n01_1"), ("val", "v_1")):
        annotation(tmp_path / f"det/ILSVRC/Annotations/DET/{folder}/{stem}.xml", [(None, box)])
        picture(tmp_path / f"det/ILSVRC/Data/DET/{folder}/{stem}.JPEG")
    assert ilsvrc_det.main(["--target-dir", str(tmp_path / "det"), *small]) == {"train": 1, "val": 1}
    assert set(json.loads((tmp_path / "det" / "train.json").read_text())) == {"a/n01_1"}
    (tmp_path / "det/ILSVRC/Annotations/DET/val/v_1.xml").write_text("<annotation>")
    with pytest.raises(MXNetError, match=r"v_1\.xml.*the annotation is damaged"):
        ilsvrc_det.main(["--target-dir", str(tmp_path / "det"), *small])

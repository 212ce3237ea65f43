"""`scripts/im2rec.py`: from folders to lists to record files that `ImageRecordIter` reads."""

import importlib.util
import sys

import numpy as np
import pytest

import core as mx
from core.image import codec
from core.recordio import MXIndexedRecordIO, unpack, unpack_img
from tests.support import forked


@pytest.fixture
def im2rec(root):
    spec = importlib.util.spec_from_file_location("im2rec", root / "scripts" / "im2rec.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["im2rec"] = module  # the worker processes look their function up by name
    spec.loader.exec_module(module)
    yield module
    del sys.modules["im2rec"]


@pytest.fixture
def images(tmp_path):
    """Two classes of three pictures, each of one colour."""
    for label, name in enumerate(("cat", "dog")):
        (tmp_path / "images" / name).mkdir(parents=True)
        for i in range(3):
            pixels = np.full((20, 30, 3), 40 * i + 100 * label, np.uint8)
            (tmp_path / "images" / name / f"{i}.png").write_bytes(codec.encode(pixels, ".png", 1))
    (tmp_path / "images" / "notes.txt").write_text("no image")
    return tmp_path / "images"


def lines(path):
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_lists(im2rec, images, tmp_path):
    assert im2rec.main(["--list", "--recursive", "--no-shuffle", str(tmp_path / "all"), str(images)]) == 0
    want = [[str(3 * c + i), f"{c:f}", f"{name}/{i}.png"] for c, name in enumerate(("cat", "dog")) for i in range(3)]
    assert lines(tmp_path / "all.lst") == want
    ratios = ["--train-ratio", "0.5", "--test-ratio", "0.2"]
    assert im2rec.main(["--list", "--recursive", *ratios, str(tmp_path / "part"), str(images)]) == 0
    parts = [lines(tmp_path / f"part_{name}.lst") for name in ("test", "train", "val")]
    assert [len(part) for part in parts] == [1, 3, 2] and sorted(entry for part in parts for entry in part) == want


@pytest.mark.parametrize("threads", ["1", "2"])
def test_records(im2rec, images, tmp_path, threads):
    prefix = str(tmp_path / "x")
    im2rec.main(["--list", "--recursive", prefix, str(images)])
    assert im2rec.main(["--resize", "10", "--center-crop", "--num-thread", threads, prefix, str(images)]) == 0
    iterator = mx.io.ImageRecordIter(prefix + ".rec", (3, 10, 10), 6, path_imgidx=prefix + ".idx")
    batch = iterator.next()
    entries = lines(tmp_path / "x.lst")
    assert batch.label[0].asnumpy().tolist() == [float(label) for _, label, _ in entries]
    for image, (_, label, name) in zip(batch.data[0].asnumpy(), entries):
        np.testing.assert_allclose(image, 40 * int(name[-5]) + 100 * float(label), atol=3)


def test_several_labels_pass_through_and_missing_files(im2rec, images, tmp_path, capsys):
    (tmp_path / "x.lst").write_text("7\t1.5\t2.5\tcat/0.png\n8\t0\t0\tabsent.png\n")
    assert im2rec.main(["--pass-through", "--pack-label", str(tmp_path / "x"), str(images)]) == 1
    assert "left out absent.png" in capsys.readouterr().err
    reader = MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "r")
    header, data = unpack(reader.read_idx(7))
    assert reader.keys == [7] and header.label.tolist() == [1.5, 2.5] and header.id == 7
    assert data == (images / "cat" / "0.png").read_bytes()


def test_gray_png(im2rec, images, tmp_path):
    prefix = str(tmp_path / "x")
    im2rec.main(["--list", "--recursive", "--no-shuffle", prefix, str(images)])
    assert im2rec.main(["--color", "0", "--encoding", ".png", "--quality", "3", prefix, str(images)]) == 0
    _, image = unpack_img(MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "r").read_idx(5))
    np.testing.assert_array_equal(image, np.full((20, 30), 180))


def test_help_and_absent_lists(root, tmp_path):
    script = [sys.executable, str(root / "scripts" / "im2rec.py")]
    assert "--pack-label" in forked.run([*script, "--help"], cwd=tmp_path).stdout
    run = forked.run([*script, str(tmp_path / "none"), str(tmp_path)], cwd=tmp_path)
    assert run.returncode == 2 and "--list" in run.stderr

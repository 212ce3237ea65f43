"""The programs that train and test segmentation networks, on pictures so small that seconds do."""

import numpy as np
import pytest

from core import nd
from scripts.semantic_segmentation import datasets, demo, test, train

SMALL = "--model fastscnn --crop-size 64 --base-size 64 --aux".split()
SHORT = "--batch-size 4 --optimizer adam --lr 0.003 --epochs 4 --val-interval 2".split()
RENDERED = "--dataset rendered --num-samples 8".split()


def test_a_run_and_its_resumption(programs):
    whole = programs(train.main, *SMALL, *SHORT, *RENDERED, into="whole")
    record = programs.record("whole")
    losses = [row["loss"] for row in record["epochs"]]
    assert losses[-1] < losses[0] and 0 < whole["mIoU"] <= 1
    assert [sorted(row) for row in record["epochs"]] == [["epoch", "loss"], ["epoch", "loss", "mIoU", "pixAcc"]] * 2
    programs.interrupted(train.main, *SMALL, *SHORT, *RENDERED, rows=3, into="twice")
    assert programs(train.main, *SMALL, *SHORT, *RENDERED, "--resume", into="twice") == whole
    assert programs.record("twice") == record


def test_rendered_pictures_for_validation_are_others():
    args = train.parse_args([*SMALL, *RENDERED])
    seen, held_out = (datasets.data_set(args, split, "val") for split in ("train", "val"))
    assert len(seen) == len(held_out) == 8
    pictures = [[part[k][0].asnumpy() for k in range(8)] for part in (seen, held_out)]
    assert not any((a == b).all() for a in pictures[0] for b in pictures[1])
    assert datasets.data_files(args) == {"rendered": "8 pictures, seed 0; validated on as many others, seed 1"}


@pytest.fixture
def pictures(data):
    return data / "demo" / "voc_segmentation"


def test_a_folder_with_real_pictures(programs, pictures, tmp_path):
    folder = ["--dataset", "folder", "--dataset-root", pictures]
    scores = programs(train.main, *SMALL, *SHORT, *folder, "--batch-size", 3, "--lr", 0.01)
    (best,) = tmp_path.rglob("*-best.params")
    again = programs(train.main, *SMALL, *folder, "--eval", "--resume", best)
    assert again["mIoU"] >= scores["mIoU"] - 0.02
    tested = test.main([*map(str, [*SMALL, *folder, "--resume", best]), "--eval", "--single-scale", "--samples", "2"])
    assert 0 < tested["pixAcc"] <= 1
    drawn = ["--samples", "1", "--save-dir", str(tmp_path / "drawn"), "--workers", "1"]
    test.main([*map(str, [*SMALL, *folder, "--resume", best]), *drawn])
    from PIL import Image

    with Image.open(tmp_path / "drawn" / "00000.png") as shown, Image.open(pictures / "1.jpg") as given:
        assert shown.size == given.size and np.asarray(shown).max() < values_in(pictures)


def values_in(pictures):
    from PIL import Image

    return len({value for path in pictures.glob("*.png") for value in np.unique(np.asarray(Image.open(path)))} - {255})


def test_the_demo_draws(data, tmp_path):
    from gluoncv.model_zoo import get_model

    net = get_model("fastscnn_citys", crop_size=64)
    net.predict(nd.zeros((1, 3, 64, 64)))
    net.save_parameters(str(tmp_path / "net.params"))
    given = ["--model", "fastscnn_citys", "--pretrained", str(tmp_path / "net.params"), "--save-dir", str(tmp_path)]
    (found,) = demo.main([*given, "--input-pic", str(data / "demo" / "voc_segmentation" / "1.jpg")])
    assert sum(found.values()) == pytest.approx(1) and (tmp_path / "1.png").exists()


def test_other_losses_and_families():
    from gluoncv.loss import ICNetLoss, SegmentationMultiLosses

    assert isinstance(train.loss_function(train.parse_args(["--model", "icnet"])), ICNetLoss)
    assert isinstance(train.loss_function(train.parse_args(["--model", "danet"])), SegmentationMultiLosses)

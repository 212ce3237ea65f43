"""Rendered persons are learned, found again in the pictures of another camera, and counted."""

import numpy as np
import pytest
from PIL import Image

from scripts.re_identification import test, train

COLOURS = {1: (220, 40, 40), 2: (40, 200, 60), 3: (50, 60, 210)}


@pytest.fixture
def market(tmp_path):
    """Three persons of three colours; the second camera sees darker."""
    folder = tmp_path / train.FOLDER
    rng = np.random.RandomState(0)
    for part in ("bounding_box_train", "query", "bounding_box_test"):
        (folder / part).mkdir(parents=True)
    lines = []
    for person, colour in COLOURS.items():
        for camera in (1, 2):
            for k in range(2):
                noise = rng.randint(-20, 20, (64, 32, 3))
                picture = np.clip(np.array(colour) * (1.0 if camera == 1 else 0.8) + noise, 0, 255).astype("uint8")
                name = f"{person:04d}_c{camera}s1_{k:06d}_00.jpg"
                for part in ["bounding_box_train", *(["query"] if camera == 1 and k == 0 else ["bounding_box_test"])]:
                    Image.fromarray(picture).save(folder / part / name)
                lines.append(f"{name} {person - 1}")
    Image.fromarray(picture).save(folder / "bounding_box_test" / "-1_c1s1_000000_00.jpg")
    (folder / "train.txt").write_text("\n".join(lines))
    return ["--dataset-root", tmp_path, "--img-height", 64, "--img-width", 32, "--depth", 18]


def test_training_resuming_and_finding_again(programs, market, tmp_path):
    more = ["--batch-size", 6, "--epochs", "1,2,3", "--pad", 2, "--save-interval", 3, "--lr", 0.001, "--no-hybridize"]
    program = [train.main, *market, *more]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    assert len(record["epochs"]) == 3 and record["epochs"][-1]["loss"] < record["epochs"][0]["loss"]
    programs.interrupted(*program, rows=2, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs(*program, "--resume", into="twice") == whole  # when all is done, too
    assert programs.record("twice") == record
    (saved,) = (tmp_path / "whole").rglob("market1501-0003.params")
    found = test.main([*map(str, market), "--pretrained", str(saved)])
    assert set(found) == {"top1", "top5", "top10", "mAP"} and found["top10"] == 1 and 0 < found["mAP"] <= 1


def test_what_counts():
    """Of four places the first is the query's own camera's and does not count; the second and the third are right."""
    gallery = np.eye(4), np.array([7, 7, 8, 7]), np.array([1, 2, 2, 3])
    look = np.array([[0.9, 0.8, 0.7, 0.6]])
    found = test.evaluate((look, np.array([7]), np.array([1])), gallery)
    assert found["top1"] == 1 and found["mAP"] == pytest.approx((1 + (1 / 2 + 2 / 3) / 2) / 2)
    other = test.evaluate((np.array([[0.9, 0.8, 0.7, 0.6]]), np.array([8]), np.array([1])), gallery)
    assert other["top1"] == 0 and other["top5"] == 1 and other["mAP"] == pytest.approx((0 + 1 / 3) / 2)
    rates = train.parse_args(["--epochs", "5,25,50", "--lr", "1"])
    assert [round(train.rate(epoch, rates), 6) for epoch in (0, 2, 4, 5, 25, 49)] == [0.01, 0.505, 1, 1, 0.1, 0.1]

"""SiamRPN is trained on rendered pairs, follows a square through a rendered video, and is judged."""

import json

import numpy as np
import pytest
from PIL import Image

from core import init, nd
from gluoncv.model_zoo import get_model
from scripts.tracking import demo, eval_siamrpn, train_siamrpn


@pytest.mark.parametrize("more", [[], ["--accumulate", 2, "--start-epoch", 1]])
def test_training_and_resuming(programs, tmp_path, more):
    rng = np.random.RandomState(0)
    for k in range(2):
        picture = rng.randint(0, 80, (511, 511, 3)).astype("uint8")
        picture[215:296, 215:296] = 200
        _save(tmp_path / f"det/crop511/video{k}/000000.00.x.jpg", picture)
    boxes = {f"video{k}": {"00": {"000000": [0, 0, 40, 40]}} for k in range(2)}
    (tmp_path / "det/train.json").write_text(json.dumps(boxes))
    given = ["--data-dir", tmp_path, "--sources", "det", "--videos-per-epoch", 1, "--batch-size", 1]
    program = [train_siamrpn.main, *given, "--num-epochs", 2 + len(more) // 4, "--lr", 0.001, "--no-wd", *more]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    assert len(record["epochs"]) == 2 and np.isfinite(whole["loss"])
    programs.interrupted(*program, rows=1, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs.record("twice") == record


@pytest.fixture
def weights(tmp_path):
    net = get_model("siamrpn_alexnet_v2_otb15")
    net.initialize(init.Zero())  # all places score alike: the window keeps the box where it is
    net(nd.zeros((1, 3, 127, 127)), nd.zeros((1, 3, 287, 287)))
    net.save_parameters(str(tmp_path / "siamrpn.params"))
    return str(tmp_path / "siamrpn.params")


def test_the_demo_draws(weights, tmp_path):
    for k in range(3):
        _save(tmp_path / f"video/{k}.png", _frame(k))
    given = ["--video-path", str(tmp_path / "video"), "--gt-bbox", "20,20,24,24", "--model-path", weights]
    boxes = demo.main([*given, "--save-dir", str(tmp_path / "out"), "--gif"])
    assert len(boxes) == 3 and boxes[0] == [20, 20, 24, 24] and all(len(box) == 4 for box in boxes)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"00000.png", "00001.png", "00002.png", "track.gif"}


def test_videos_are_followed_and_judged(weights, tmp_path):
    truth = [[20 + 4 * k, 20, 24, 24] for k in range(3)]
    for k in range(3):
        _save(tmp_path / f"Square/img/{k}.png", _frame(k))
    entry = {"video_dir": "Square", "init_rect": truth[0], "img_names": [f"Square/img/{k}.png" for k in range(3)],
             "gt_rect": truth, "attr": []}  # fmt: skip
    (tmp_path / "OTB2015.json").write_text(json.dumps({"Square": entry}))
    given = ["--dataset-root", str(tmp_path), "--results-path", str(tmp_path / "found"), "--model-path", weights]
    figures = eval_siamrpn.main(given)
    results = tmp_path / "found/OTB2015/siamrpn_alexnet_v2_otb15/Square.txt"
    assert len(results.read_text().splitlines()) == 3 and 1 / 3 <= figures["precision"] <= 1
    results.write_text("".join(",".join(map(str, box)) + "\n" for box in truth))
    assert eval_siamrpn.main([*given, "--results-only"]) == {
        "success": pytest.approx(20 / 21), "precision": 1, "norm_precision": 1
    }  # fmt: skip


def _frame(k):
    frame = np.random.RandomState(0).randint(0, 60, (80, 100, 3)).astype("uint8")
    frame[20:44, 20 + 4 * k : 44 + 4 * k] = (30, 200, 250)
    return frame


def _save(path, picture):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path)

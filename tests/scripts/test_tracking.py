"""SiamRPN is trained on rendered pairs, follows a square through a rendered video, and is judged."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from core import init, nd
from gluoncv.model_zoo import get_model
from scripts import launch
from scripts.tracking import demo, eval_siamrpn, train_siamrpn


def pairs(folder):
    """Two videos of a frame, and what trains on them."""
    rng = np.random.RandomState(0)
    for k in range(2):
        picture = rng.randint(0, 80, (511, 511, 3)).astype("uint8")
        picture[215:296, 215:296] = 200
        _save(folder / f"det/crop511/video{k}/000000.00.x.jpg", picture)
    boxes = {f"video{k}": {"00": {"000000": [0, 0, 40, 40]}} for k in range(2)}
    (folder / "det/train.json").write_text(json.dumps(boxes))
    return ["--data-dir", folder, "--sources", "det", "--batch-size", 1, "--lr", 0.001, "--no-wd"]


@pytest.mark.parametrize("more", [[], ["--accumulate", 2, "--start-epoch", 1]])
def test_training_and_resuming(programs, tmp_path, more):
    given = [*pairs(tmp_path), "--videos-per-epoch", 1]
    program = [train_siamrpn.main, *given, "--num-epochs", 2 + len(more) // 4, *more]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    assert len(record["epochs"]) == 2 and np.isfinite(whole["loss"])
    programs.interrupted(*program, rows=1, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs.record("twice") == record


@pytest.mark.slow
def test_two_processes_train_and_one_goes_on(tmp_path):
    places = ["--log-dir", tmp_path / "logs", "--save-dir", tmp_path / "checkpoints"]
    sizes = ["--videos-per-epoch", 4, "--num-epochs", 2]
    given = [*map(str, [train_siamrpn.__file__, *pairs(tmp_path), *sizes, *places])]
    assert launch.main(["-n", "2", *given]) == 0
    (last,) = (tmp_path / "checkpoints").glob("epoch-0002")
    assert json.loads((last / "state.json").read_text())["processes"] == 2
    shutil.rmtree(last)
    assert launch.main(["-n", "1", *given, "--resume"]) == 0
    assert json.loads((last / "state.json").read_text())["processes"] == 1
    (path,) = (p for p in (tmp_path / "logs").rglob("*.json") if p.with_suffix(".log").exists())
    assert len(json.loads(path.read_text())["epochs"]) == 2


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

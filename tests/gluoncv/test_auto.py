"""Estimators learn what can be learned, are kept in files, and are searched; data sets are read from folders and lists."""

import json
import math
import random

import numpy as np
import pytest

from core import nd
from core.base import MXNetError
from gluoncv import auto, model_zoo
from gluoncv.auto.config import merged
from gluoncv.auto.data import dataset, split

Image = pytest.importorskip("PIL.Image")

COLOURS = {"blue": (40, 40, 200), "green": (40, 200, 40), "red": (200, 40, 40)}
SMALL = {"model": "cifar_resnet20_v1", "use_pretrained": False, "input_size": 32, "crop_ratio": 1.0, "batch_size": 8}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder with train and test, 12 and 4 pictures of each of three colours."""
    root, drawn = tmp_path_factory.mktemp("pictures"), np.random.RandomState(0)
    for part, count in (("train", 12), ("test", 4)):
        for name, colour in COLOURS.items():
            (root / part / name).mkdir(parents=True)
            for k in range(count):
                pixels = np.clip(drawn.normal(colour, 30, (36, 40, 3)), 0, 255).astype("uint8")
                Image.fromarray(pixels).save(root / part / name / f"{k}.png")
    return root


@pytest.fixture(scope="module")
def parts(pictures):
    train, val, test = auto.ImageClassificationDataset.from_folders(pictures)
    assert val is None
    return train, test


@pytest.fixture(scope="module")
def fitted(parts):
    estimator = auto.ImageClassificationEstimator({**SMALL, "epochs": 4, "lr": 0.002, "seed": 1})
    return estimator, estimator.fit(parts[0], random_state=0)


def test_classes_are_learned_and_predicted(fitted, parts, pictures):
    estimator, result = fitted
    assert result["valid_acc"] >= 0.75 and 1 <= result["best_epoch"] <= result["epochs"] == 4
    top1, top5 = estimator.evaluate(parts[1])
    assert top1 >= 0.75 and top5 == 1
    paths = [pictures / "test" / name / "0.png" for name in COLOURS]
    shares = estimator.predict_proba(paths)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    rows = estimator.predict(paths)
    assert [row["id"] for row in rows] == shares.argmax(axis=1).tolist()
    assert [row["class"] for row in rows] == [list(COLOURS)[row["id"]] for row in rows]
    assert [row["image"] for row in rows] == [str(path) for path in paths]
    (alone,) = estimator.predict(np.asarray(Image.open(paths[1])))
    assert alone["score"] == pytest.approx(rows[1]["score"], rel=1e-4) and "image" not in alone


def test_estimators_are_kept_in_files_that_nothing_is_executed_of(fitted, parts, tmp_path):
    estimator, _ = fitted
    estimator.save(tmp_path / "found.safetensors")
    again = auto.ImageClassification.load(tmp_path / "found.safetensors")
    assert again.classes == estimator.classes and again.epoch == estimator.epoch
    np.testing.assert_allclose(again.predict_proba(parts[1]), estimator.predict_proba(parts[1]), rtol=1e-5, atol=1e-6)
    assert again.get_params()["train__early_stop_max_value"] == math.inf
    with pytest.raises(MXNetError, match="holds no SSDEstimator but ImageClassificationEstimator"):
        auto.SSDEstimator.load(tmp_path / "found.safetensors")
    with pytest.raises(MXNetError, match="has no network yet: call fit"):
        auto.ImageClassificationEstimator(SMALL).save(tmp_path / "none.safetensors")


def test_what_was_trained_before_begins_a_transfer(fitted, tmp_path, parts):
    estimator, _ = fitted
    before = estimator.net._collect_params_with_prefix()
    file = str(tmp_path / "net.params")
    estimator.net.save_parameters(file)
    settings = {**SMALL, "use_pretrained": file, "epochs": 1, "lr": 0.0}
    weights = model_zoo.get_model("cifar_resnet20_v1", classes=3)
    weights.load_parameters(file)
    own = auto.ImageClassificationEstimator(settings)
    own.classes = ["a", "b"]
    own._settings["img_cls"]["use_pretrained"] = file

    def get_model(name, pretrained=False, classes=3):
        return weights if pretrained else model_zoo.get_model(name, classes=classes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gluoncv.auto.estimators.image_classification.get_model", get_model)
        net = own._network(restored=False)
    after = net._collect_params_with_prefix()
    fresh = [name for name in after if after[name].shape != before[name].shape]
    assert fresh == ["output.weight", "output.bias"]
    for name, parameter in after.items():
        assert parameter.lr_mult == (0.1 if name in fresh else 0.01)
        if name not in fresh:
            np.testing.assert_array_equal(parameter.data().asnumpy(), before[name].data().asnumpy())


def test_training_ends_early_and_keeps_the_best_epoch(parts, monkeypatch):
    figures = iter([0.5, 0.8, 0.7, 0.6, 0.9])
    monkeypatch.setattr(auto.ImageClassificationEstimator, "evaluate", lambda self, data: (next(figures), 1.0))
    told = []
    config = {**SMALL, "epochs": 5, "early_stop_patience": 2, "batch_size": 36}
    estimator = auto.ImageClassificationEstimator(config, reporter=lambda **facts: told.append(facts))
    kept = []
    monkeypatch.setattr(estimator, "_parameters", lambda real=estimator._parameters: kept.append(real()) or kept[-1])
    result = estimator.fit(*parts)
    assert (result["valid_acc"], result["best_epoch"], result["epochs"]) == (0.8, 2, 4)
    assert told == [{"epoch": k, "value": v} for k, v in enumerate((0.5, 0.8, 0.7, 0.6), 1)]
    held = estimator.net.output.weight.data().asnumpy()
    np.testing.assert_array_equal(held, kept[1]["output.weight"])
    assert (
        auto.ImageClassificationEstimator({**config, "early_stop_patience": -1}).fit(*parts, time_limit=0)["epochs"]
        == 1
    )


def test_settings_are_checked_and_changed():
    defaults = {"net": {"name": "a"}, "train": {"lr": 0.1, "epochs": 3}}
    assert merged(defaults, {"lr": 0.2, "net": {"name": "b"}}) == {
        "net": {"name": "b"},
        "train": {"lr": 0.2, "epochs": 3},
    }
    with pytest.raises(ValueError, match=r"no setting 'epoch'\. Did you mean 'epochs'"):
        merged(defaults, {"epoch": 1})
    with pytest.raises(ValueError, match="'train' is a group of settings"):
        merged(defaults, {"train": 1})
    estimator = auto.ImageClassificationEstimator({"lr": 0.5})
    assert estimator.set_params(train__lr=0.25).get_params()["train__lr"] == 0.25
    copy = pytest.importorskip("sklearn.base").clone(estimator)
    assert copy is not estimator and copy.get_params() == estimator.get_params() and copy.net is None
    with pytest.raises(ValueError, match="no setting 'speed'"):
        auto.ImageClassification({"speed": 1})
    with pytest.raises(ValueError, match="search_strategy is one of random, halving"):
        auto.ImageClassification({"search_strategy": "luck"})


@pytest.fixture
def boxes():
    """32 pictures of 64 pixels, each with a bright square of one of two colours somewhere."""
    drawn, items = np.random.RandomState(0), []
    for k in range(32):
        picture = drawn.randint(0, 60, (64, 64, 3)).astype("uint8")
        side = drawn.randint(24, 40)
        left, top = drawn.randint(0, 64 - side, 2)
        picture[top : top + side, left : left + side, k % 2] = 255
        items.append(
            (nd.array(picture, dtype="uint8"), np.array([[left, top, left + side - 1, top + side - 1, k % 2]]))
        )

    class Squares(list):
        classes = ("red", "green")

        def transform(self, function):
            from gluon.data import SimpleDataset

            return SimpleDataset(list(self)).transform(function)

    return Squares(items)


REGIONS = {
    "rpn_train_pre_nms": 200, "rpn_train_post_nms": 50, "rpn_test_pre_nms": 200, "rpn_test_post_nms": 30,
    "num_sample": 32, "alloc_size": (32, 32), "rpn_channel": 64, "num_fpn_filters": 64,
    "num_box_head_dense_filters": 64,
}  # fmt: skip
SHAPED = {"data_shape": 64, "batch_size": 4, "lr_mode": "cosine"}
# estimator: settings of a small one, epochs, rate
DETECTORS = {
    "ssd": ({"backbone": "mobilenet0.25", **SHAPED}, 24, 0.005),
    "yolo3": ({"backbone": "mobilenet0.25", **SHAPED}, 14, 0.003),
    "center_net": ({"backbone": "resnet18_v1b", **SHAPED}, 8, 0.002),
    "faster_rcnn": (
        {"backbone": "resnet18_v1b", "image_short": 64, "image_max_size": 64, "options": REGIONS, "batch_size": 4},
        9,
        0.03,
    ),
}


@pytest.mark.parametrize("name", DETECTORS)
def test_objects_are_found(name, boxes, tmp_path):
    config, epochs, rate = DETECTORS[name]
    config = {**config, "transfer": None, "pretrained_base": False, "score_thresh": 0.0}
    kind = auto.ObjectDetection.ESTIMATORS[name]
    untrained = kind({**config, "epochs": 1, "lr": 1e-9}).fit(boxes, boxes)["valid_map"]
    told = []
    estimator = kind({**config, "epochs": epochs, "lr": rate}, reporter=lambda epoch, value: told.append(value))
    result = estimator.fit(boxes, boxes)
    assert result["valid_map"] == max(told) > max(4 * untrained, 0.04) and len(told) == epochs
    names, figures = estimator.evaluate(boxes)
    assert names == ["red", "green", "mAP"] and figures[-1] == pytest.approx(np.mean(figures[:2]))
    found = [estimator.predict(boxes[k][0]) for k in range(len(boxes))]
    assert any(found)
    for rows in found:
        assert all(set(row) == {"predict_class", "predict_score", "predict_rois"} for row in rows)
        assert all(0 <= v <= 1 for row in rows for v in row["predict_rois"].values())
        scores = [row["predict_score"] for row in rows]
        assert scores == sorted(scores, reverse=True)
    estimator.save(tmp_path / "boxes.safetensors")
    again = auto.ObjectDetection.load(tmp_path / "boxes.safetensors")
    assert again.evaluate(boxes)[1] == pytest.approx(figures, abs=1e-4)


def test_a_seed_says_all_that_is_drawn(boxes):
    """Also after other networks were made and other numbers drawn."""
    config = {**DETECTORS["yolo3"][0], "transfer": None, "pretrained_base": False, "epochs": 1, "lr": 0.001}
    found = []
    for seed in (3, 3, 4):
        estimator = auto.YOLOv3Estimator({**config, "seed": seed})
        found.append(estimator.fit(boxes, boxes)["train_loss"])
        random.seed(seed)
        np.random.seed(9)
        model_zoo.get_model("cifar_resnet20_v1")
    assert found[1] == pytest.approx(found[0], rel=1e-4) and found[2] != pytest.approx(found[0], rel=1e-4)


def test_a_task_is_told_its_estimator(boxes):
    with pytest.raises(ValueError, match="estimator is one of ssd, yolo3, center_net, faster_rcnn, given 'rcnn'"):
        auto.ObjectDetection({"estimator": "rcnn"})
    with pytest.raises(ValueError, match="there is no setting 'wh_weight'"):
        auto.ObjectDetection({"estimator": "yolo3", "wh_weight": 1})
    config = {"transfer": None, "pretrained_base": False, **DETECTORS["yolo3"][0], "epochs": 1, "nms_topk": 7}
    found = auto.ObjectDetection({"estimator": auto.YOLOv3Estimator, **config}).fit(boxes, boxes)
    assert type(found) is auto.YOLOv3Estimator and found.net.nms_topk == 7


def test_corners_of_wide_pictures_are_shares_of_them():
    estimator = auto.CenterNetEstimator()
    # A picture of 200 x 100 lies in the rows 16 to 48 of an input of 64 x 64.
    assert np.allclose(estimator._shares(np.array([[0, 16, 32, 48]]), (64, 64), (200, 100)), [[0, 0, 0.5, 1]])


def test_data_sets_are_read_from_lists(pictures, tmp_path, data):
    table = tmp_path / "table.csv"
    table.write_text("picture,kind\ntest/red/0.png,b\ntest/blue/1.png,a\n")
    read = auto.ImageClassificationDataset.from_csv(table, pictures, image_column="picture", label_column="kind")
    assert read.classes == ["a", "b"] and read.labels == [1, 0] and read[0][0].shape == (36, 40, 3)
    again = dataset.ImageClassificationDataset(str(table), root=pictures, image_column="picture", label_column="kind")
    assert again.columns == ("image", "label") and again.images == read.images and again.labels == [1, 0]
    with pytest.raises(ValueError, match="has no column image, label"):
        auto.ImageClassificationDataset.from_csv(table)
    with pytest.raises(ValueError, match="has no folders with pictures"):
        auto.ImageClassificationDataset.from_folder(tmp_path)
    root = data / "tiny_coco"
    persons = auto.ObjectDetectionDataset.from_coco(
        root / "annotations" / "instances_train2017.json", root / "train2017", min_object_area=1000
    )
    whole = json.loads((root / "annotations" / "instances_train2017.json").read_text())
    wanted = [a for a in whole["annotations"] if not a["iscrowd"] and a["area"] >= 1000]
    assert sum(map(len, persons.boxes)) == len(wanted) and len(persons.classes) == 80
    first = next(entry for entry in whole["images"] if persons.images[0].endswith(entry["file_name"]))
    left, top, width, height = next(a["bbox"] for a in wanted if a["image_id"] == first["id"])
    np.testing.assert_allclose(persons.boxes[0][0, :4], [left, top, left + width - 1, top + height - 1], rtol=1e-5)
    table.write_text("{}")
    with pytest.raises(MXNetError, match="no file of COCO's annotations"):
        auto.ObjectDetectionDataset.from_coco(table)


def test_parts_are_disjoint_and_the_whole(parts):
    train, val, test = parts[0].random_split(test_size=0.25, val_size=0.25, random_state=3)
    assert [len(part) for part in (train, val, test)] == [18, 9, 9] and train.classes == parts[0].classes
    assert sorted(train._indices + val._indices + test._indices) == list(range(36))
    assert parts[0].random_split(0.25, 0.25, random_state=3)[0]._indices == train._indices
    with pytest.raises(ValueError, match="sum below 1"):
        split(parts[0], 0.5, 0.5)


def test_a_search_keeps_the_best_and_ends_bad_trials_early(parts, monkeypatch):
    pytest.importorskip("optuna")

    def evaluate(self, data):  # as good as its learning rate, and better with each epoch
        self.tested = getattr(self, "tested", 0) + 1
        return self._settings["train"]["lr"] * self.tested, 1.0

    monkeypatch.setattr(auto.ImageClassificationEstimator, "evaluate", evaluate)
    monkeypatch.setattr(auto.ImageClassificationEstimator, "_epoch", lambda self, batches, trainer: 0.0)
    config = {**SMALL, "lr": auto.Real(0.001, 0.1, log=True), "wd": auto.Categorical(0.0, 1e-4), "num_trials": 9}
    task = auto.ImageClassification({**config, "epochs": 9, "reduction_factor": 3, "seed": 1})
    found = task.fit(*parts)
    history, summary = task.fit_history(), task.fit_summary()
    rates = [trial["settings"]["lr"] for trial in history]
    assert len(history) == 9 and any(trial.get("pruned") for trial in history)
    assert found.get_params()["train__lr"] == summary["best_config"]["lr"] == max(rates)
    assert summary["valid_acc"] == pytest.approx(9 * max(rates)) and found.reporter is None
    assert all(0.001 <= rate <= 0.1 for rate in rates)
    enough = auto.ImageClassification({**config, "search_strategy": "random", "epochs": 1, "max_reward": 0.0})
    enough.fit(*parts)
    assert len(enough.fit_history()) == 1


def test_one_trial_needs_no_search(parts):
    task = auto.ImagePrediction({**SMALL, "epochs": 1, "batch_size": 36})
    found = task.fit(parts[0], random_state=0)
    assert task.fit_summary()["trials"] == 1 and found.evaluate(parts[1])[1] == 1

"""Mask R-CNN is trained on real pictures of COCO, tested, and drawn; all of it small."""

import pytest

from core import nd
from scripts.instance_segmentation import demo_mask_rcnn, eval_mask_rcnn, train_mask_rcnn

pytest.importorskip("pycocotools")

NETWORK = """--custom-model --network resnet18_v1b --image-short 64 --image-max-size 96 --anchor-base-size 8 --num-fpn-filters 8
    --rpn-channel 8 --num_box_head_dense_filters 16 --rcnn-num-samples 16 --rpn-train-post-nms 32 --rpn-test-post-nms 8
    --anchor-alloc-size 32,32 --num-mask-head-convs 1 --num-samples 2""".split()


def test_training_resuming_and_evaluation(programs, data, tmp_path):
    given = [*NETWORK, "--dataset-root", data / "tiny_coco", "--coco-splits", "train2017", "train2017"]
    training = "--batch-size 2 --lr 0.02 --lr-warmup 0 --epochs 2 --val-interval 2 --no-pretrained-base".split()
    program = [train_mask_rcnn.main, *given, *training]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    first, second = record["epochs"]
    assert second["mask_loss"] < first["mask_loss"] and second["rpn_class_loss"] < first["rpn_class_loss"]
    programs.interrupted(*program, rows=2, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs.record("twice") == record
    (saved,) = (tmp_path / "whole").rglob("mask_rcnn-0002.params")
    assert eval_mask_rcnn.main([*map(str, given), "--pretrained", str(saved)]) == whole
    everything = eval_mask_rcnn.main([*map(str, given), "--eval-all", "--save-prefix", str(saved)[: -len("2.params")]])
    assert everything[str(saved)] == whole


def test_the_demo_draws(data, tmp_path):
    from gluoncv.model_zoo import get_model

    net = get_model("mask_rcnn_fpn_resnet18_v1b_coco", pretrained_base=False, rpn_test_post_nms=8)
    net.initialize()
    net(nd.zeros((1, 3, 64, 64)))
    net.save_parameters(str(tmp_path / "net.params"))
    given = ["--network", "mask_rcnn_fpn_resnet18_v1b_coco", "--pretrained", str(tmp_path / "net.params")]
    picture = str(data / "demo" / "dog.jpg")
    demo_mask_rcnn.main(
        [*given, "--images", picture, "--short", "64", "--threshold", "0.9", "--save-dir", str(tmp_path)]
    )
    assert (tmp_path / "dog.png").stat().st_size > 1000

"""Table 1 of "GluonCV and GluonNLP" (Guo et al., 2020), row by row: the published command, the figure, what is had here.

`scripts/report.py` writes the page logs/table1.md from these rows and the logs that they name.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from scripts.common.spread import show


class Row(NamedTuple):
    """A row: what is learned on what by which network, and the published command for a program under scripts/.

    paper: the figure, where the paper's is at hand. log: below logs/, without ending. note: what the log is of.
    """

    task: str
    data: str
    network: str
    command: str
    paper: str = "not at hand"
    log: str = ""
    note: str = ""


_IMAGENET = (
    "--use-rec --rec-train train.rec --rec-val val.rec --mode hybrid --lr 0.4 --lr-mode cosine --batch-size 128 "
    "--num-gpus 8 -j 60 --warmup-epochs 5 --dtype float16 --no-wd --label-smoothing"
)
_NO_IMAGENET = "ImageNet is not at hand"
_PERSONS = "persons of 26 pictures, 8 of them held out"
ROWS = (
    Row(
        "image classification", "ImageNet", "ResNet-50",
        f"image_classification/train_imagenet.py --model resnet50_v1d --num-epochs 120 --last-gamma {_IMAGENET}",
        note=_NO_IMAGENET,
    ),
    Row(
        "image classification", "ImageNet", "ResNet-101",
        f"image_classification/train_imagenet.py --model resnet101_v1d --num-epochs 120 --last-gamma {_IMAGENET}",
        note=_NO_IMAGENET,
    ),
    Row(
        "image classification", "ImageNet", "MobileNet 1.0",
        f"image_classification/train_imagenet.py --model mobilenet1.0 --num-epochs 200 --mixup {_IMAGENET}",
        note=_NO_IMAGENET,
    ),
    Row(
        "object detection", "COCO", "Faster R-CNN",
        "object_detection/train_faster_rcnn.py --gpus 0,1,2,3,4,5,6,7 --dataset coco --network resnet50_v1b "
        "--epochs 26 --lr-decay-epoch 17,23 --val-interval 2 --use-fpn",
        log="object_detection/faster_rcnn_tiny_coco", note=_PERSONS,
    ),
    Row(
        "instance segmentation", "COCO", "Mask R-CNN",
        "instance_segmentation/train_mask_rcnn.py --gpus 0,1,2,3,4,5,6,7 --dataset coco --network resnet101_v1d "
        "--epochs 26 --lr-decay-epoch 17,23 --val-interval 2 --use-fpn",
        log="instance_segmentation/mask_rcnn_tiny_coco", note=_PERSONS,
    ),
    Row(
        "pose estimation", "COCO", "Simple Pose",
        "pose_estimation/train_simple_pose.py --model simple_pose_resnet152_v1d --mode hybrid --num-joints 17 "
        "--lr 0.001 --wd 0.0 --lr-decay-epoch 90,120 --num-epochs 140 --batch-size 32 --num-gpus 8 -j 60 "
        "--use-pretrained-base",
        note="no log yet",
    ),
    Row(
        "action recognition", "Kinetics 400", "I3D",
        "action_recognition/train_recognizer.py --dataset kinetics400 --mode hybrid --video-loader --use-decord "
        "--model i3d_resnet50_v1_kinetics400 --num-classes 400 --batch-size 8 --num-gpus 8 --new-length 32 "
        "--new-step 2 --lr 0.01 --lr-decay-epoch 40,80,100 --num-epochs 100",
        note="no log yet",
    ),
    Row(
        "sentiment analysis", "TREC", "textCNN",
        "sentiment_analysis/sentiment_analysis_cnn.py --gpu 0 --batch_size 50 --epochs 200 --dropout 0.5 "
        "--model_mode static --data_name TREC",
        paper="92.8", log="sentiment_analysis/trec_multichannel", note="vectors of all-minilm-l6-v2, multichannel",
    ),
    Row(
        "sentiment analysis", "SST-2", "BERT",
        "bert/finetune_classifier.py --task_name SST --epochs 4 --batch_size 16 --gpu 0 --lr 2e-5 --log_interval 500",
        paper="93.0", log="bert/all_minilm_l6_v2_sst", note="MiniLM of 6 layers, 384 units",
    ),
    Row(
        "question answering", "SQuAD 1.1", "BERT",
        "bert/finetune_squad.py --optimizer adam --batch_size 12 --lr 3e-5 --epochs 2 --gpu",
        note="SQuAD is not at hand",
    ),
    Row(
        "question answering", "SQuAD 2.0", "BERT",
        "bert/finetune_squad.py --bert_model bert_24_1024_16 --optimizer adam --accumulate 8 --batch_size 4 --lr 3e-5 "
        "--epochs 2 --gpu --null_score_diff_threshold -2.0 --version_2",
        note="SQuAD is not at hand",
    ),
)  # fmt: skip


def page(root: Path, records: dict[Path, dict]) -> str:
    """The page, in Markdown; records: the JSON objects below logs/ by their paths."""
    lines = [
        "# Table 1, row by row",
        "",
        "Made from the logs by `scripts/report.py`. Results here are on the small data at hand and do not compare with",
        "the paper's; `untrained` is the same test before the first step. Two rows of the paper are not listed: neither",
        "they nor most of its figures could be looked up where this was written.",
        "",
        "| task | data | network | paper | here | untrained | what it is of | log |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        path = root / "logs" / f"{row.log}.json"
        record = records.get(path, {}) if row.log else {}
        log = f"[{path.stem}]({row.log}.log)" if record else "none"
        cells = (row.task, row.data, row.network, row.paper, _figures(record.get("final")))
        lines.append("| " + " | ".join((*cells, _figures(record.get("untrained")), row.note or "", log)) + " |")
    lines += ["", "The published commands, which run as they are:", ""]
    lines += [f"- {row.network}, {row.data}: `python scripts/{row.command}`" for row in ROWS]
    return "\n".join(lines) + "\n"


def _figures(figures: dict | None) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {show(value)}" for name, value in (figures or {}).items()) or "-"

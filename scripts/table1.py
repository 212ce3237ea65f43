"""Table 1 of "GluonCV and GluonNLP" (Guo et al., 2020), row by row: the published command, the figure, what is had here.

`scripts/report.py` writes the page logs/table1.md from these rows and the logs that they name.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from scripts.common.spread import show


class Row(NamedTuple):
    """A row: what is learned on what by which network, and the published command for a program under scripts/.

    paper, others: the figures of the paper, in percent, of GluonCV and GluonNLP and of other implementations. here: what
    can be had without the data or weights of the paper. logs: below logs/, without ending; with the name of a row where
    they are of several networks. differs: settings of these
    logs that are not those of the command, and why. needs: what the published command needs, and where it goes.
    """

    task: str
    data: str
    network: str
    measure: str
    paper: str
    others: str
    command: str
    here: str
    needs: str
    logs: tuple[str, ...] = ()
    differs: str = ""


_RECORDS = (
    "--rec-train /media/ramdisk/rec/train.rec --rec-train-idx /media/ramdisk/rec/train.idx "
    "--rec-val /media/ramdisk/rec/val.rec --rec-val-idx /media/ramdisk/rec/val.idx"
)
_RATES = "--lr 0.4 --lr-mode cosine --num-epochs {} --batch-size 128 --num-gpus 8 -j 60 --use-rec --dtype float16 --warmup-epochs 5"
_IMAGENET = (
    "ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar (image-net.org, after a registration) into --download-dir of "
    "`scripts/datasets/imagenet.py --with-rec`"
)
_COCO = "train2017.zip, val2017.zip and annotations_trainval2017.zip, which `scripts/datasets/mscoco.py` gets"
_BODY = "the body's published weights"
_GLUE = "{} in ~/.mxnet/datasets/{}, and book_corpus_wiki_en_uncased weights of bert_12_768_12"
_SQUAD = "train-v1.1.json and dev-v1.1.json in ~/.mxnet/datasets/squad, and book_corpus_wiki_en_uncased weights of {}"
_PERSONS = "persons of 26 real pictures: 18 to learn from, 8 others to test on"
_NO_TASK = (
    "no labelled data of the task, and no weights of this network, could be had: nothing to measure. That the program "
    "learns is tested on generated data ({}), that such networks carry over on SST-2 and TREC"
)
_COMPOSED = (
    "21 to learn from, with {} that scripts/datasets/coco_composed.py composes of their persons, 5 others to test on"
)
_SMALL = (
    "{} pictures and a CPU: a small network and small pictures, so anchors, filters and regions are fewer; the learning "
    "rate is that of a small batch, and epochs are those of 10 minutes"
)
ROWS = (
    Row(
        "image classification", "ImageNet", "ResNet-50", "top-1", "79.2", "75.3",
        f"image_classification/train_imagenet.py {_RECORDS} --model resnet50_v1d --mode hybrid {_RATES.format(200)} "
        "--last-gamma --no-wd --label-smoothing --mixup --save-dir params_resnet50_v1d_mixup "
        "--logging-file resnet50_v1d_mixup.log",
        here="no weights of it could be had: its family on CIFAR-10, trained here; a ResNet-50 that others trained "
        "answers as in its own runtime",
        logs=("image_classification/cifar_resnet20_v1", "image_classification/published_by_others: Yahoo open NSFW, ResNet-50 of half the width"),
        needs=_IMAGENET,
        differs="CIFAR ResNet-20 for 32 pixels and an hour of CPU",
    ),
    Row(
        "image classification", "ImageNet", "ResNet-101", "top-1", "80.5", "76.4",
        f"image_classification/train_imagenet.py {_RECORDS} --model resnet101_v1d --mode hybrid {_RATES.format(120)} "
        "--last-gamma --no-wd --label-smoothing --save-dir params_resnet101_v1d --logging-file resnet101_v1d_best.log",
        here="no weights of it could be had: CIFAR ResNet-56 with weights that others trained, picture for picture as "
        "MXNet 1.9.1 answers",
        logs=("image_classification/published_weights: cifar_resnet56_v1",),
        needs=_IMAGENET,
        differs="nothing is trained: depth beyond 50 layers is tested with published weights",
    ),
    Row(
        "image classification", "ImageNet", "MobileNet 1.0", "top-1", "73.3", "70.9",
        f"image_classification/train_imagenet.py {_RECORDS} --model mobilenet1.0 --mode hybrid {_RATES.format(200)} "
        "--no-wd --label-smoothing --mixup --save-dir params_mobilenet1.0_mixup --logging-file mobilenet1.0_mixup.log",
        here="ImageNet weights of google-coral, on 100 pictures of ImageNet, one a tenth class",
        logs=("image_classification/published_by_others: google-coral MobileNet 1.0",),
        needs=_IMAGENET,
        differs="nothing is trained; the pictures are no validation set, so the share says that the network is right, "
        "not how good it is",
    ),
    Row(
        "object detection", "COCO", "Faster R-CNN", "mAP", "40.1", "39.6",
        "object_detection/train_faster_rcnn.py --gpus 0,1,2,3,4,5,6,7 --dataset coco --network resnet101_v1d "
        "--epochs 26 --lr-decay-epoch 17,23 --val-interval 26",
        here=_PERSONS,
        logs=("object_detection/faster_rcnn_tiny_coco",),
        needs=f"{_COCO}; {_BODY}",
        differs=_SMALL.format(18),
    ),
    Row(
        "instance segmentation", "COCO", "Mask R-CNN", "mask AP", "33.1", "32.8",
        "instance_segmentation/train_mask_rcnn.py --gpus 0,1,2,3,4,5,6,7 --dataset coco --network resnet18_v1b "
        "--val-interval 2 -j 8 --verbose --use-fpn",
        here=f"persons of 26 real pictures: {_COMPOSED.format(400)}",
        logs=("instance_segmentation/mask_rcnn_tiny_coco",),
        needs=f"{_COCO}; {_BODY}",
        differs=_SMALL.format(421) + "; its body begins with torchvision's MobileNetV2, the one that could be had, and all "
        "normalisation is trained (--norm-layer syncbn) on four pictures at a time",
    ),
    Row(
        "pose estimation", "COCO", "Simple Pose", "OKS AP, with flips", "74.2", "N.A.",
        "pose_estimation/train_simple_pose.py --model simple_pose_resnet152_v1d --mode hybrid --num-joints 17 "
        "--lr 0.001 --wd 0.0 --lr-mode step --lr-decay-epoch 90,120 --num-epochs 140 --batch-size 32 --num-gpus 8 "
        "-j 60 --dtype float32 --warmup-epochs 0 --use-pretrained-base --save-dir params_simple_pose_resnet152_v1d "
        "--logging-file simple_pose_resnet152_v1d_coco.log --log-interval 100",
        here=f"joints of the persons of 26 real pictures, {_COMPOSED.format('1,000')}; the AP counts similarities above "
        "one half and more, of six persons, so the mean similarity (OKS) is measured as well; loss and heatmap accuracy are "
        "those of training",
        logs=("pose_estimation/mobile_pose_tiny_coco",),
        needs=f"{_COCO}; {_BODY}",
        differs="1,021 pictures and a CPU: the network is MobilePose on torchvision's MobileNetV2, the body that could be had; "
        "persons are cut out at 224 x 160, and learning rate, batch and epochs are those of 20 minutes; pictures are composed "
        "with --size 512 384 --heights 0.5 1.2 --least-height 80 --turn 30",
    ),
    Row(
        "action recognition", "Kinetics400", "I3D ResNet-50", "top-1", "74.0", "72.9",
        "action_recognition/train_recognizer.py --dataset kinetics400 --data-dir /home/ubuntu/data/kinetics400/train_256 "
        "--val-data-dir /home/ubuntu/data/kinetics400/val_256 "
        "--train-list /home/ubuntu/data/kinetics400/k400_train_240618.txt "
        "--val-list /home/ubuntu/data/kinetics400/k400_val_19761_cleanv3.txt --mode hybrid --dtype float32 "
        "--prefetch-ratio 1.0 --video-loader --use-decord --model i3d_resnet50_v1_kinetics400 --num-classes 400 "
        "--batch-size 8 --num-gpus 8 --num-data-workers 32 --input-size 224 --new-height 256 --new-width 340 "
        "--new-length 32 --new-step 2 --lr 0.01 --lr-decay 0.1 --lr-mode step --lr-decay-epoch 40,80,100 "
        "--momentum 0.9 --wd 0.0001 --num-epochs 100 --scale-ratios 1.0,0.8 --save-frequency 20 --log-interval 50 "
        "--logging-file i3d_resnet50_v1_kinetics400.log",
        here="clips rendered by `scripts/datasets/camera_moves.py` over 150 real pictures, 120 to learn from and 30 others "
        "to test on, three classes: a scene keeps its light, dawns or falls dark; top-5 of three classes says nothing",
        logs=("action_recognition/i3d_camera_moves",),
        needs="the videos of Kinetics400 (`scripts/datasets/kinetics400.py`), and their lists",
        differs="360 clips of 16 frames of 48 pixels from random weights on a CPU, of which a network reads every other "
        "frame: batches of 12 at a rate of 0.001 that falls as a cosine, and epochs are those of a quarter of an hour",
    ),
    Row(
        "sentiment analysis", "TREC", "textCNN", "accuracy", "92.8", "92.2",
        "sentiment_analysis/sentiment_analysis_cnn.py --gpu 0 --batch_size 50 --epochs 200 --dropout 0.5 "
        "--model_mode non-static --data_name TREC",
        here="TREC itself; vectors of all-minilm-l6-v2",
        logs=("sentiment_analysis/trec_multichannel", "sentiment_analysis/trec_non_static"),
        needs="word2vec vectors of GoogleNews, which gluonnlp gets where MXNet's server answers",
        differs="vectors of 384 units instead of 300, scaled by a quarter to the size of word2vec's; with them networks "
        "are trained after 4 epochs, and more of them lose accuracy; no part is held out for the choice of an epoch, "
        "for the last one is taken",
    ),
    Row(
        "sentiment analysis", "SST-2", "BERT-base", "accuracy", "93.0", "92.7",
        "bert/finetune_classifier.py --task_name SST --epochs 4 --batch_size 16 --gpu 0 --lr 2e-5 --log_interval 500",
        here="SST-2 itself; MiniLM of 6 layers and 384 units (all-minilm-l6-v2)",
        logs=("bert/all_minilm_l6_v2_sst",),
        needs=_GLUE.format("train.tsv and dev.tsv of SST-2", "glue_sst"),
        differs="a network of a fifth of the parameters takes a higher rate, and two epochs on sentences and 50,000 of "
        "their phrases; tests run in batches as the program's default has them",
    ),
    Row(
        "question answering", "SQuAD 1.1", "BERT-base", "F1/EM", "88.5/81.0", "88.5/80.8",
        "bert/finetune_squad.py --optimizer adam --batch_size 12 --lr 3e-5 --epochs 2 --gpu",
        here=_NO_TASK.format("tests/scripts/test_squad.py"),
        needs=_SQUAD.format("bert_12_768_12"),
    ),
    Row(
        "question answering", "SQuAD 1.1", "BERT-large", "F1/EM", "91.0/84.1", "90.9/84.1",
        "bert/finetune_squad.py --bert_model bert_24_1024_16 --optimizer adam --accumulate 6 --batch_size 4 --lr 3e-5 "
        "--epochs 2 --gpu",
        here=_NO_TASK.format("tests/scripts/test_squad.py"),
        needs=_SQUAD.format("bert_24_1024_16"),
    ),
    Row(
        "natural language inference", "MNLI-m", "BERT-base", "accuracy", "84.6", "84.4",
        "bert/finetune_classifier.py --task_name MNLI --max_len 80 --log_interval 100 --epsilon 1e-8 --gpu 0",
        here=_NO_TASK.format("tests/scripts/test_bert.py"),
        needs=_GLUE.format("train.tsv, dev_matched.tsv and dev_mismatched.tsv of MNLI", "glue_mnli"),
    ),
    Row(
        "paraphrasing", "MRPC", "BERT-base", "accuracy", "88.7", "86.7",
        "bert/finetune_classifier.py --task_name MRPC --batch_size 32 --epochs 3 --gpu 0 --lr 2e-5",
        here=_NO_TASK.format("tests/scripts/test_bert.py"),
        needs=_GLUE.format("msr_paraphrase_train.txt and msr_paraphrase_test.txt", "glue_mrpc"),
    ),
)  # fmt: skip


def page(root: Path, records: dict[Path, dict]) -> str:
    """The page, in Markdown; records: the JSON objects below logs/ by their paths."""
    lines = [
        "# Table 1, row by row",
        "",
        'Of "GluonCV and GluonNLP: Deep Learning in Computer Vision and Natural Language Processing" (Guo et al., 2020), made',
        "by `scripts/report.py` from the logs. `paper` are its figures of GluonCV and GluonNLP, in brackets those of other",
        "implementations, in percent. What is measured here is on the data at hand and does not compare with them:",
        "`untrained` is the same test before the first step, and what was learned is the difference.",
        "",
        "| task | data | network | measure | paper | here | untrained | what it is of | log |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        found = [one for log in row.logs if (one := _record(root, records, log))]
        links = dict.fromkeys(f"[{name.rpartition('/')[2]}]({name}.log)" for name, _ in found)
        cells = (
            row.task, row.data, row.network, row.measure, f"{row.paper} ({row.others})",
            "; ".join(_result(record) for _, record in found) or "not measured",
            "; ".join(_figures(record["untrained"]) for _, record in found if "untrained" in record) or "-",
            row.here, ", ".join(links) or "none, for the reason beside",
        )  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        "## The published commands",
        "",
        "They run as they are, with the data and weights that they need:",
        "",
    ]
    for row in ROWS:
        lines += [f"- {row.network}, {row.data}: needs {row.needs}.", f"  `python scripts/{row.command}`"]
    lines += ["", "## What the logs do otherwise", ""]
    lines += [f"- {row.network}, {row.data}: {row.differs}." for row in ROWS if row.differs]
    return "\n".join(lines) + "\n"


def _record(root: Path, records: dict[Path, dict], log: str) -> tuple[str, dict] | None:
    """The name of a log and its record, or the row of it that is named behind a colon; None where there is none."""
    name, _, part = log.partition(": ")
    record = records.get(root / "logs" / f"{name}.json")
    if record is not None and part:
        record = next((row for row in record["rows"] if row["weights"] == part), None)
    return None if record is None else (name, record)


def _result(record: dict) -> str:
    """What a run ended with; of a row what it has right, or how far it is from the network's own runtime."""
    if "final" in record:
        return _figures(record["final"])
    if isinstance(record["right"], int):
        return f"{record['right']} of {record['pictures']} right"
    return f"probabilities within {show(record['probabilities apart'])} of those of {record['known']}"


def _figures(figures: dict) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {show(value)}" for name, value in figures.items())

"""The training programs of `scripts/`, which a wheel has beside this file: `gluon train TASK FLAGS...` runs them."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
from argparse import Namespace
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from gluon_cli.answer import Answer, columns


class Program(NamedTuple):
    """module: below `scripts`; help: what it trains."""

    module: str
    help: str


PROGRAMS = {
    "detect": Program("object_detection.train_ssd", "a single shot detector"),
    "detect-yolo": Program("object_detection.train_yolo3", "a YOLOv3"),
    "detect-center-net": Program("object_detection.train_center_net", "a CenterNet"),
    "detect-rcnn": Program("object_detection.train_faster_rcnn", "a Faster R-CNN"),
    "segment": Program("semantic_segmentation.train", "a network that gives every pixel its class"),
    "segment-instances": Program("instance_segmentation.train_mask_rcnn", "a Mask R-CNN"),
    "pose": Program("pose_estimation.train_simple_pose", "a network that finds the joints of persons"),
    "action": Program("action_recognition.train_recognizer", "a network that names actions in videos"),
    "depth": Program("depth.train", "a network that tells distances"),
    "track": Program("tracking.train_siamrpn", "a SiamRPN, which follows things in videos"),
    "cifar10": Program("image_classification.train_cifar10", "a classifier on CIFAR-10"),
    "imagenet": Program("image_classification.train_imagenet", "a classifier on ImageNet"),
    "language-model": Program("language_model.word_language_model", "an LSTM that goes on with texts"),
    "bert-classifier": Program("bert.finetune_classifier", "a BERT for a task of GLUE, or for texts"),
    "bert-squad": Program("bert.finetune_squad", "a BERT that finds answers in texts"),
    "entities": Program("ner.finetune_bert", "a BERT that finds names in sentences"),
    "sentiment": Program("sentiment_analysis.sentiment_analysis_cnn", "a TextCNN that classifies reviews"),
    "translation": Program("machine_translation.train_transformer", "a Transformer that translates"),
    "word-vectors": Program("word_embeddings.train_sg_cbow", "vectors of words"),
    "parser": Program("parsing.dep_parser", "a dependency parser"),
}


class Flags(argparse.Action):
    """Leaves the flags of a program to it, but for those that all commands have."""

    def __call__(self, parser, namespace, values, option_string=None):
        shared = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        add_shared_arguments(shared)
        _, namespace.flags = shared.parse_known_args(values, namespace)


def add(tasks) -> None:
    """Enters the tasks."""
    for name, program in PROGRAMS.items():
        # With this prefix no word is a flag to argparse.
        made = tasks.add_parser(name, help=program.help, add_help=False, prefix_chars="\0")
        made.add_argument("flags", nargs="*", action=Flags)
        made.set_defaults(run=run, flags=[], json=False, traceback=False)


def add_shared_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what every command has."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")


def load(module: str) -> ModuleType:
    """A module of `scripts`: of the wheel, or of the checkout."""
    within = Path(__file__).with_name("programs")
    root = within if (within / "scripts").is_dir() else Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(root))
    return importlib.import_module(f"scripts.{module}")


def run(args: Namespace) -> Answer:
    """Trains; the answer has the program's last figures. What it says on the way goes to the standard error, its log and
    its record to the folder logs.
    """
    program = PROGRAMS[args.task]
    asks = {"-h", "--help"} & {*args.flags}
    before, sys.argv = sys.argv, [f"gluon train {args.task}", *args.flags]
    try:
        with contextlib.redirect_stdout(sys.stdout if asks else sys.stderr):
            figures = load(program.module).main(["--log-dir", "logs", *args.flags])
    except SystemExit as end:
        if isinstance(end.code, str):  # a sentence about what was asked for
            raise ValueError(end.code) from None
        raise
    finally:
        sys.argv = before
    return Answer({"task": args.task, "figures": figures}, columns([*figures.items()]) if figures else "done")

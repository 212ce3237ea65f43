"""The command lines that were published beside the original logs are taken as they are, and every value arrives."""

import csv
import importlib
import json
import re
import shlex
from pathlib import Path

import pytest

from scripts import table1
from scripts.common.flags import Parser
from scripts.common.program import sentence

# Where programs are whose folder has another name here
FOLDERS = {"finetune_icsl": "intent_cls_slot_labeling"}
SHELL = ("#", "&>>", ">", "2>&1", "|", "&")


def commands(reference) -> list[tuple[str, list[str]]]:
    """The module and the arguments of each command."""
    with open(reference / "published_commands.tsv", encoding="utf-8") as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    found = []
    for row in rows:
        words = [word for word in shlex.split(row["arguments"]) if word != "\\"]
        ends = [i for i, word in enumerate(words) if word in SHELL]
        folder = FOLDERS.get(row["program"], row["task"])
        found.append((f"scripts.{folder}.{row['program']}", words[: min(ends, default=None)]))
    return found


def test_every_published_command_is_taken_and_every_value_arrives(reference, capsys):
    refused = []
    for module, words in commands(reference):
        try:
            args = importlib.import_module(module).parse_args(words)
        except SystemExit:
            refused.append((module, words, capsys.readouterr().err.splitlines()[-1:]))
            continue
        held = {str(part) for value in vars(args).values() for part in parts(value)}
        lost = [word for word in words if not word.startswith(("-", "—")) and not arrives(word, held)]
        assert not lost, (module, words, lost)
    assert not refused


def test_the_commands_of_table_1_are_taken():
    assert len(table1.ROWS) == 13
    for row in table1.ROWS:
        program, *words = row.command.split()
        module = importlib.import_module("scripts." + program.removesuffix(".py").replace("/", "."))
        module.parse_args(words)


def test_the_page_of_table_1_has_the_papers_figures_and_a_log_or_a_reason(tmp_path):
    given = "79.2 80.5 73.3 40.1 33.1 74.2 74.0 92.8 93.0 88.5/81.0 91.0/84.1 84.6 88.7".split()
    assert [row.paper for row in table1.ROWS] == given  # Guo et al., 2020, table 1
    records = {
        tmp_path / "logs" / f"{name}.json": {"final": {"AP": 0.25}, "untrained": {"AP": 0.125}}
        | {"rows": [{"weights": part, "pictures": 4, "right": 3}]}
        for row in table1.ROWS
        for name, _, part in (log.partition(": ") for log in row.logs)
    }
    page = table1.page(tmp_path, records).splitlines()
    cells = [line.split(" | ") for line in page if line.count(" | ") == 8][2:]
    for row, line in zip(table1.ROWS, cells, strict=True):
        assert line[1:5] == [row.data, row.network, row.measure, f"{row.paper} ({row.others})"]
        if row.logs:
            assert ("AP 0.25" in line[5] and line[6].startswith("AP 0.125")) or "3 of 4 right" in line[5]
            assert row.differs
        else:
            assert line[5] == "not measured" and row.here
        assert row.needs


def test_the_logs_of_table_1_are_there():
    logs = Path(table1.__file__).parents[1] / "logs"
    for log in (log for row in table1.ROWS for log in row.logs):
        name, _, part = log.partition(": ")
        record = json.loads((logs / f"{name}.json").read_text(encoding="utf-8"))
        assert "final" in record or part in {row["weights"] for row in record["rows"]}


def parts(value) -> list:
    """What an argument holds: of a list, and of text with commas, all pieces."""
    if isinstance(value, (list, tuple)):
        return [piece for one in value for piece in parts(one)]
    return [value, *str(value).split(",")]


def arrives(word: str, held: set[str]) -> bool:
    """Whether a word of the command line is among the values, as text, as a number, or as a path.

    The index of records is the file beside them, which the program checks and does not keep.
    """
    return all(
        piece in held
        or re.sub(r"\.idx$", ".rec", piece) in held
        or piece.removesuffix(".log") in held
        or any(same(piece, other) for other in held)
        for piece in word.removeprefix("./").rstrip("/").split(",")
    )


def same(piece: str, other: str) -> bool:
    try:
        return float(piece) == float(other)
    except ValueError:
        return other.endswith(piece) and len(piece) > 3


@pytest.mark.parametrize(
    "words, batch, seed",
    [
        (["--batch_size", "8", "-seed", "3"], 8, 3),
        (["--batch-size=8", "—seed", "3"], 8, 3),
        (["--batch", "8", "--see", "3"], 8, 3),
        (["--batch_size", "-1", "--seed", "-2"], -1, -2),
    ],
)
def test_flags_are_taken_however_they_are_spelled(words, batch, seed):
    parser = Parser("")
    parser.add_argument("--batch-size", "--batch_size", type=int)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args(words)
    assert (args.batch_size, args.seed) == (batch, seed)


def test_unknown_and_ambiguous_flags_are_refused():
    parser = Parser("")
    for name in ("--lr-mode", "--lr-decay"):
        parser.add_argument(name)
    for words in (["--lr", "1"], ["--seed", "1"], ["-x", "1"]):
        with pytest.raises(SystemExit):
            parser.parse_args(words)


@pytest.mark.parametrize(
    "module, words, said",
    [
        ("object_detection.train_ssd", [], "datasets/voc"),
        ("object_detection.train_faster_rcnn", ["--dataset", "coco"], "coco/annotations/instances_train2017.json"),
        ("instance_segmentation.train_mask_rcnn", [], "coco/annotations/instances_"),
        ("pose_estimation.train_simple_pose", [], "person_keypoints_train2017.json"),
        ("image_classification.train_cifar10", [], "cifar"),
        ("image_classification.train_mixup_cifar10", [], "cifar"),
        ("image_classification.train_imagenet", ["--model", "resnet18_v1", "--use-rec"], "rec/train.idx"),
        (
            "image_classification.train_horovod",
            ["--use-rec", "--rec-train", "/nowhere/train.rec"],
            "/nowhere/train.idx",
        ),
        ("semantic_segmentation.train", ["--dataset", "ade20k"], "ade"),
        ("depth.train", [], "kitti/splits"),
        ("sentiment_analysis.sentiment_analysis_cnn", ["--data_name", "TREC"], "trec"),
        ("sentiment_analysis.finetune_lm", [], "imdb"),
        ("language_model.word_language_model", [], "wikitext-2"),
        ("language_model.large_word_language_model", [], "gbw"),
        ("language_model.run_glue", [], "xlnet"),
        ("language_model.run_squad", [], "squad"),
        ("bert.finetune_squad", [], "squad"),
        ("machine_translation.train_gnmt", [], "iwslt2015"),
    ],
)
def test_a_program_without_data_ends_in_one_sentence(module, words, said, tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MXNET_OFFLINE", "1")
    monkeypatch.setattr("gluoncv.data.base.DATASETS", str(tmp_path / "home" / "datasets"))
    monkeypatch.chdir(tmp_path)
    logs = ["--log-dir", str(tmp_path / "logs"), "--save-dir", str(tmp_path / "checkpoints")]
    with pytest.raises(SystemExit) as end:
        importlib.import_module(f"scripts.{module}").main([*words, *logs])
    message = str(end.value.code)
    assert said in message and "\n" not in message
    assert re.search(r"https?://|MXNET_OFFLINE|--help", message), message


def test_the_sentence_about_a_missing_file(tmp_path):
    said = sentence(tmp_path / "coco" / "annotations" / "instances_val2017.json")
    assert said.startswith(str(tmp_path)) and "https://cocodataset.org" in said and "scripts/datasets/mscoco.py" in said

"""Training programs in several processes: what each is given, that all have the flag, and some that really run."""

import ast
import importlib
import json
import random
from pathlib import Path

import numpy as np
import pytest

from core import nd
from scripts import launch
from scripts.common import parallel

ROOT = Path(__file__).resolve().parents[2] / "scripts"
PROGRAMS = sorted(
    path.relative_to(ROOT)
    for pattern in ("train*.py", "finetune*.py")
    for path in ROOT.rglob(pattern)
    if "benchmarks" not in path.parts
)
# Programs that train several networks of their own in one process.
ALONE = {"quickstart.py", "bert/transfer_trec.py", "validate_gpu.py", "common/parallel.py"}


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_every_training_program_says_how_gradients_are_summed(program, capsys):
    main = importlib.import_module(".".join(("scripts", *program.with_suffix("").parts))).main
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0 and "--kv-store" in capsys.readouterr().out


def test_no_program_makes_a_trainer_of_its_own():
    assert len(PROGRAMS) >= 26
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if name in ALONE or name.startswith("benchmarks"):
            continue
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert "Trainer" not in {getattr(f, "id", getattr(f, "attr", "")) for f in calls}, name


class Processes:
    """Several processes, one after the other: what each sums is what all were told to sum."""

    def __init__(self, monkeypatch, count: int):
        self.rank, self.total = 0, None
        monkeypatch.setattr(parallel.processes, "count", lambda: count)
        monkeypatch.setattr(parallel.processes, "rank", lambda: self.rank)
        monkeypatch.setattr(parallel.processes, "sum_statistics", lambda x: x if self.total is None else self.total)

    def each(self, call):
        found = []
        for self.rank in range(parallel.processes.count()):
            found.append(call())
        return found


@pytest.mark.parametrize(("count", "batches"), [(2, 5), (3, 4)])
def test_batches_are_dealt_out_from_one_order(monkeypatch, count, batches):
    world = Processes(monkeypatch, count)
    world.total = nd.array([77.0], dtype="float64")  # the number that the first has drawn
    data = np.arange(40)

    def own():
        np.random.seed(world.rank)  # what else is random differs
        loader = parallel.loader(data, 7 if count == 2 else 8, last_batch="discard")
        passes = [[x.asnumpy().tolist() for x in loader] for _ in range(2)]
        assert len(loader) == len(passes[0]) == batches // count
        return passes, np.random.rand()

    found = world.each(own)
    for number in range(2):
        seen = [i for passes, _ in found for batch in passes[number] for i in batch]
        assert len(seen) == len(set(seen)) == (batches // count) * count * (7 if count == 2 else 8)
    assert len({draw for _, draw in found}) == count


def test_python_draws_alike_and_goes_on(monkeypatch):
    world = Processes(monkeypatch, 2)
    world.total = nd.array([5.0], dtype="float64")

    def own():
        random.seed(world.rank)
        with parallel.drawn_alike():
            inside = random.random()
        return inside, random.random()

    (first, after), (second, behind) = world.each(own)
    assert first == second and after != behind
    random.seed(1)
    assert random.random() == behind


def test_stretches_and_means(monkeypatch):
    world = Processes(monkeypatch, 3)
    assert world.each(lambda: parallel.part(range(11))) == [range(3), range(3, 6), range(6, 9)]
    world.total = nd.array([6.0, 1.5], dtype="float64")
    row = parallel.mean_over_processes({"loss": 9.0, "size": 64, "accuracy": 0.1})
    assert row == {"loss": 2.0, "size": 64, "accuracy": 0.5}


def test_streams_end_together(monkeypatch):
    world = Processes(monkeypatch, 2)
    told = iter([2.0, 2.0, 1.0])
    monkeypatch.setattr(parallel.processes, "sum_statistics", lambda x: nd.array([next(told)], dtype="float64"))
    assert list(parallel.in_step("abc")) == ["a", "b"]
    assert world.rank == 0


def test_too_few_batches_and_stores_that_sum_nothing(monkeypatch):
    Processes(monkeypatch, 3)
    with pytest.raises(SystemExit, match="2 batches are too few for 3 processes"):
        len(parallel.loader(np.arange(4), 2))
    import argparse

    for name, words in (
        ("device", "sums nothing over the 3 processes"),
        ("dist_sharded", "checkpoints hold the whole"),
    ):
        with pytest.raises(SystemExit, match=words):
            parallel.store(argparse.Namespace(kv_store=name))
    assert parallel.store(argparse.Namespace(kv_store="")) == "dist_sync"


TINY = ["--samples", "40", "--batch-size", "10"]
REALLY = [
    ("image_classification/train_mnist.py", ["--data-dir", "mnist", *TINY, "--epochs", "2"], "test_accuracy"),
    pytest.param(
        "image_classification/train_cifar10.py",
        ["--data-dir", "cifar10", *TINY, "--num-epochs", "2", "--mode", "hybrid"],
        "test_accuracy",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "object_detection/train_ssd.py",
        "--dataset rendered --network mobilenet0.25 --data-shape 48 --num-samples 8 --batch-size 2 --lr-decay-epoch 9 "
        "--no-pretrained-base --epochs 2".split(),
        "mAP",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "machine_translation/train_transformer.py",
        "--data-dir multi30k --samples 80 --vocab_size 150 --epochs 2 --max_len 60 --beam_size 2 --num_units 16 "
        "--hidden_size 16 --num_layers 1 --num_heads 2 --warmup_steps 2".split(),
        "bleu",
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("program", "given", "metric"), REALLY)
def test_two_processes_train_and_one_goes_on(data, tmp_path, program, given, metric, request):
    if "transformer" in program:
        pytest.importorskip("sacrebleu")
    given = [str(data / word) if word in ("mnist", "cifar10", "multi30k") else word for word in given]
    places = ["--log-dir", str(tmp_path / "logs"), "--save-dir", str(tmp_path / "checkpoints")]
    assert launch.main(["-n", "2", str(ROOT / program), *given, *places]) == 0
    (record,) = (p for p in (tmp_path / "logs").rglob("*.json") if p.with_suffix(".log").exists())
    facts = json.loads(record.read_text())
    assert len(facts["epochs"]) == 2 and metric in facts["final"]
    (last,) = (tmp_path / "checkpoints").glob("epoch-0002")
    assert len(list(last.glob("random-*.json"))) == 2
    state = json.loads((last / "state.json").read_text())
    assert state["processes"] == 2
    assert launch.main(["-n", "1", str(ROOT / program), *given, *places, "--resume"]) == 0
    assert json.loads(record.read_text())["final"] == facts["final"]

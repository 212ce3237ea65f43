"""A run repeats for one seed, and a killed run resumes to the numbers of an undisturbed one."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.common import checkpoints
from scripts.common.checkpoints import latest
from scripts.common.record import without_times
from tests.support import forked

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("program.py")
MNIST = ROOT / "scripts" / "image_classification" / "train_mnist.py"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Of an interpreter of its own: the others, forked from one process, have another seed of hashes than this one."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert program(folder, start=subprocess.run).returncode == 0
    return folder


def test_two_runs_of_one_seed_have_the_same_logs_but_for_times(undisturbed, tmp_path):
    assert program(tmp_path).returncode == 0
    assert records(tmp_path) == records(undisturbed)


def test_another_seed_gives_other_numbers(undisturbed, tmp_path):
    assert program(tmp_path, "--seed", "1").returncode == 0
    assert records(tmp_path)[1]["final"] != records(undisturbed)[1]["final"]


@pytest.mark.parametrize("death", ["1:3", "3:0", "3:7", "2:checkpoint", "4:checkpoint"])
def test_a_killed_run_resumes_to_the_same_logs_but_for_times(undisturbed, tmp_path, death):
    assert program(tmp_path, "--die", death).returncode == -signal.SIGKILL
    assert "final" not in record(tmp_path)
    assert program(tmp_path, "--resume").returncode == 0
    log, facts = records(tmp_path)
    assert (log, facts) == records(undisturbed)


def test_a_finished_run_resumes_to_the_same_end(undisturbed, tmp_path):
    assert program(tmp_path).returncode == 0
    assert program(tmp_path, "--resume").returncode == 0
    assert records(tmp_path) == records(undisturbed)


def test_a_run_does_not_resume_with_other_arguments(tmp_path):
    assert program(tmp_path, "--die", "2:0").returncode == -signal.SIGKILL
    result = program(tmp_path, "--resume", "--lr", "0.5")
    assert result.returncode == 1
    assert "--lr 0.01, now given 0.5" in result.stderr


def test_a_new_run_leaves_other_files_in_the_checkpoint_folder_alone(tmp_path):
    kept = tmp_path / "checkpoints" / "notes.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    assert program(tmp_path).returncode == 0
    assert kept.read_text() == "mine"
    assert sorted(path.name for path in kept.parent.iterdir()) == ["epoch-0003", "epoch-0004", "notes.txt"]


def test_mnist_killed_from_outside_resumes_to_the_same_numbers(data, tmp_path):
    arguments = ["--data-dir", str(data / "mnist"), "--samples", "1500", "--epochs", "3"]
    for folder in ("whole", "killed"):
        (tmp_path / folder).mkdir()
    assert start(MNIST, tmp_path / "whole", *arguments).wait(timeout=300) == 0

    process = start(MNIST, tmp_path / "killed", *arguments)
    wait_for_epochs(process, tmp_path / "killed", 1)
    process.kill()
    process.wait(timeout=60)
    assert start(MNIST, tmp_path / "killed", *arguments, "--resume").wait(timeout=300) == 0
    assert records(tmp_path / "killed") == records(tmp_path / "whole")


@pytest.fixture(scope="module")
def two_checkpoints(tmp_path_factory):
    """The folder of a run that was killed in its fourth epoch: checkpoints of the second and of the third."""
    folder = tmp_path_factory.mktemp("two")
    assert program(folder, "--die", "4:0").returncode == -signal.SIGKILL
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["epoch-0002", "epoch-0003"]
    return folder


def _flip(name):
    def damage(folder):
        path = folder / "epoch-0003" / name
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)

    return damage


def _half(name):
    def damage(folder):
        path = folder / "epoch-0003" / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return damage


FILES = ("net.params", "trainer.states", "random-0.json", "state.json")
DAMAGE = {
    **{f"a bit of {name} flipped": _flip(name) for name in FILES},
    **{f"half of {name}": _half(name) for name in FILES},
    **{f"no {name}": lambda folder, name=name: (folder / "epoch-0003" / name).unlink() for name in FILES},
    "empty": lambda folder: [path.unlink() for path in (folder / "epoch-0003").iterdir()],
    "no object": lambda folder: (folder / "epoch-0003" / "state.json").write_text("[1]"),
    "a file": lambda folder: (shutil.rmtree(folder / "epoch-0003"), (folder / "epoch-0003").write_text("x")),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_checkpoint_that_is_not_whole_is_passed_over(two_checkpoints, damage, tmp_path, capsys):
    shutil.copytree(two_checkpoints / "checkpoints", tmp_path / "c")
    assert latest(tmp_path / "c") == tmp_path / "c" / "epoch-0003"
    DAMAGE[damage](tmp_path / "c")
    assert latest(tmp_path / "c") == tmp_path / "c" / "epoch-0002"
    assert damage == "a file" or "epoch-0003 is not whole and is passed over" in capsys.readouterr().err


def test_oddly_named_folders_are_no_checkpoints(two_checkpoints, tmp_path):
    shutil.copytree(two_checkpoints / "checkpoints", tmp_path / "c")
    for name in ("epoch-", "epoch-best", "epoch-0009.bak", "epoch--1", "epoch-0_9"):
        (tmp_path / "c" / name).mkdir()
    (tmp_path / "c" / "epoch-0010").mkdir()
    assert latest(tmp_path / "c") == tmp_path / "c" / "epoch-0003"
    checkpoints.forget(tmp_path / "c")
    assert sorted(path.name for path in (tmp_path / "c").iterdir())[0] == "epoch-" and latest(tmp_path / "c") is None
    assert len(list((tmp_path / "c").iterdir())) == 5


def test_a_checkpoint_without_digests_is_read(two_checkpoints, tmp_path):
    """Of an earlier version of the program."""
    shutil.copytree(two_checkpoints / "checkpoints", tmp_path / "c")
    path = tmp_path / "c" / "epoch-0003" / "state.json"
    state = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in state.items() if key not in ("files", "digest")}))
    assert latest(tmp_path / "c") == path.parent
    _half("random-0.json")(tmp_path / "c")
    assert latest(tmp_path / "c") == tmp_path / "c" / "epoch-0002"


def test_a_run_goes_on_from_the_checkpoint_before_a_damaged_one(undisturbed, two_checkpoints, tmp_path):
    shutil.copytree(two_checkpoints, tmp_path / "run")
    _flip("net.params")(tmp_path / "run" / "checkpoints")
    result = program(tmp_path / "run", "--resume")
    assert result.returncode == 0, result.stderr
    assert "resumed after epoch 2" in result.stdout and "net.params was changed" in result.stderr
    assert records(tmp_path / "run") == records(undisturbed)


def test_how_many_checkpoints_are_kept(tmp_path):
    assert program(tmp_path, "--keep", "3").returncode == 0
    assert len(list((tmp_path / "checkpoints").iterdir())) == 3


# ---------------------------------------------------------------- helpers


def program(folder: Path, *arguments: str, start=forked.run) -> subprocess.CompletedProcess:
    command = [sys.executable, PROGRAM, "--log-dir", folder, "--save-dir", folder / "checkpoints", *arguments]
    return start(command, capture_output=True, text=True, timeout=300)


def start(script: Path, folder: Path, *arguments: str) -> forked.Program:
    command = [sys.executable, script, "--log-dir", folder, "--save-dir", folder / "checkpoints", *arguments]
    return forked.Program(command, stdout=subprocess.DEVNULL)


def wait_for_epochs(process: forked.Program, folder: Path, count: int) -> None:
    for _ in range(1200):
        assert process.poll() is None, "the run ended before it could be killed"
        if any(folder.rglob("*.json")) and len(record(folder)["epochs"]) >= count:
            return
        time.sleep(0.05)
    pytest.fail(f"no {count} epochs within a minute")


def record(folder: Path) -> dict:
    (path,) = (path for path in folder.rglob("*.json") if "checkpoints" not in path.parts)
    return json.loads(path.read_text())


def records(folder: Path) -> tuple[str, dict]:
    """The log and the JSON without their times and the command (its folders and --resume differ)."""
    (log,) = folder.rglob("*.log")
    lines = [line for line in without_times(log.read_text()).splitlines() if not line.startswith("command:")]
    facts = without_times(record(folder))
    del facts["command"]
    return "\n".join(lines), facts

"""Two processes: one that is killed ends the other, and both resume to the numbers of an undisturbed run."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from scripts.common.record import without_times

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("program.py")


LAUNCH = [str(ROOT / "scripts" / "launch.py"), "-n", "2"]
TORCHRUN = "-m torch.distributed.run --standalone --nproc-per-node 3 --max-restarts 2 --monitor-interval 0.1".split()


def program(folder, *arguments, launcher=LAUNCH):
    command = [sys.executable, *launcher, str(PROGRAM), "--kv-store", "dist_sync"]
    places = ["--log-dir", str(folder / "logs"), "--save-dir", str(folder / "checkpoints")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, *places, *arguments], capture_output=True, text=True, timeout=250, env=environment
    )  # fmt: skip


def records(folder):
    base = folder / "logs" / "test" / "small"
    log = without_times(base.with_suffix(".log").read_text()).replace(str(folder), "")
    facts = without_times(json.loads(base.with_suffix(".json").read_text()))
    return [line for line in log.splitlines() if "epoch" in line or "final" in line], facts["epochs"], facts["final"]


def test_killed_processes_resume_to_the_numbers_of_undisturbed_ones(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    result = program(whole)
    assert result.returncode == 0, result.stderr[-2000:]
    result = program(broken, "--die", "3:2")
    assert result.returncode == 1
    assert "process 1 of 2 was ended by SIGKILL" in result.stderr
    assert "process 0 of 2 cannot get" in result.stderr and "--resume" in result.stderr
    assert sorted(p.name for p in (broken / "checkpoints" / "epoch-0002").glob("random*")) == [
        "random-0.json",
        "random-1.json",
    ]
    result = program(broken, "--resume")
    assert result.returncode == 0, result.stderr[-2000:]
    assert "resumed after epoch 2" in result.stdout
    assert records(broken) == records(whole)


def test_torchrun_restarts_a_killed_rank_and_all_resume(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder, die in ((whole, []), (broken, ["--die", "3:1"])):
        result = program(folder, "--resume", *die, launcher=TORCHRUN)
        assert result.returncode == 0, result.stderr[-2000:]
        assert ("Signal 9 (SIGKILL)" in result.stderr or "exitcode: -9" in result.stderr) == bool(die)
        assert result.stdout.count("resumed after epoch 2") == bool(die)
    assert records(broken) == records(whole)
    digests = {(f / "checkpoints" / "epoch-0004" / "net.params").read_bytes() for f in (whole, broken)}
    assert len(digests) == 1


def test_processes_do_not_outlive_a_killed_launcher(tmp_path):
    started = tmp_path / "started"
    started.mkdir()
    (tmp_path / "sleep.py").write_text(
        f"import os, time\nopen(os.path.join({str(started)!r}, str(os.getpid())), 'w').close()\ntime.sleep(600)\n"
    )
    launcher = subprocess.Popen([sys.executable, *LAUNCH, str(tmp_path / "sleep.py")])
    children, until = [], time.monotonic() + 30
    while len(children) < 2 and time.monotonic() < until:
        children = [path.name for path in started.iterdir()]
    launcher.kill()
    launcher.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in children) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(children) == 2 and not any(Path(f"/proc/{pid}").exists() for pid in children)

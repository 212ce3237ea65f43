"""Kills training again and again, and looks at what is left: `make chaos`.

    python -m tests.scripts.chaos --kills 50 --output logs/chaos.txt

Three kinds of victims, in turn: a training process, a worker of its loader, and one of three processes under
`torchrun --max-restarts`. Each is killed (SIGKILL) at a random moment, goes on from its newest checkpoint, and is killed
again, until its share of kills is spent; then it may end. What is counted: runs whose parameters, states of the optimizer and
record differ in a bit from those of an undisturbed run, processes that outlive their run, files that are left in shared
memory, temporary files beside the checkpoints.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scripts.common.record import without_times
from scripts.common.run import latest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("program.py")

MARK = "CHAOS_RUN"  # variable of the environment by which processes of a run are known
PATIENCE = 600.0  # seconds for a run without kills


@dataclasses.dataclass
class Counts:
    """What came of the kills of one kind of victim."""

    victim: str
    kills: int = 0
    in_checkpoint: int = 0  # kills while a checkpoint was written
    resumed: int = 0
    runs: int = 0
    differ: int = 0
    orphans: int = 0
    shared: int = 0
    temporary: int = 0
    seconds: float = 0.0

    def faults(self) -> int:
        return self.differ + self.orphans + self.shared + self.temporary + (self.resumed != self.kills)


class Victim:
    """A run of the training program in a folder, which is started again until it ends by itself."""

    def __init__(self, kind: str, folder: Path, epochs: int):
        self.kind, self.folder, self.mark = kind, folder, f"{kind}-{os.getpid()}-{folder.name}"
        python = [sys.executable]
        if kind == "rank":
            torchrun = (
                "-m torch.distributed.run --standalone --nproc-per-node 3 --max-restarts 1000 --monitor-interval 0.1"
            )
            python += torchrun.split()
        self.command = [*python, str(PROGRAM), "--resume", "--epochs", str(epochs), "--pause", "0.05"]
        self.command += ["--log-dir", str(folder / "logs"), "--save-dir", str(folder / "checkpoints")]
        self.command += ["-j", {"training": "0", "worker": "2", "rank": "1"}[kind]]
        if kind == "rank":
            self.command += ["--kv-store", "dist_sync"]
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        environment = {**os.environ, MARK: self.mark, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        self.folder.mkdir(exist_ok=True)
        with open(self.folder / "output.txt", "ab") as output:
            self.process = subprocess.Popen(
                self.command, env=environment, stdout=output, stderr=output, start_new_session=True
            )

    def targets(self) -> list[int]:
        """The processes of which one is to be killed: those that train, or their workers."""
        if self.kind == "rank":
            return [pid for pid in children(self.process.pid) if children(pid)]
        return children(self.process.pid) if self.kind == "worker" else [self.process.pid]

    def epoch(self) -> int:
        """The epochs that its record tells of."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            return len(json.loads((self.folder / "logs" / "test" / "small.json").read_text())["epochs"])
        return -1

    def result(self) -> str:
        """A digest of the last checkpoint and of the record without its times."""
        checkpoint, digest = latest(self.folder / "checkpoints"), hashlib.sha256()
        for name in ("net.params", "trainer.states"):
            digest.update((checkpoint / name).read_bytes())
        facts = without_times(json.loads((self.folder / "logs" / "test" / "small.json").read_text()))
        digest.update(json.dumps([facts["epochs"], facts["final"]]).encode())
        return digest.hexdigest()

    def left(self) -> list[int]:
        """Processes of the run that live."""
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self.mark in environment_of(pid)]

    def temporary(self) -> list[Path]:
        """Files that no reader looks for."""
        return [path for path in self.folder.rglob("*.tmp") if "unfinished" not in path.parts]


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    random.seed(args.seed)
    shares = {"training": args.kills * 2 // 5, "worker": args.kills * 3 // 10}
    shares["rank"] = args.kills - sum(shares.values())
    rows = []
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        for kind, kills in shares.items():
            rows.append(torment(kind, kills, Path(folder), args.epochs))
            print(table(rows, args), flush=True)
    if args.output is not None:
        args.output.write_text(table(rows, args) + "\n")
    return int(any(row.faults() for row in rows) or sum(row.kills for row in rows) != args.kills)


def torment(kind: str, kills: int, folder: Path, epochs: int) -> Counts:
    """Kills victims of a kind that many times."""
    counts, begin = Counts(kind), time.monotonic()
    whole = Victim(kind, folder / f"{kind}-whole", epochs)
    whole.start()
    if wait(whole, PATIENCE) != 0:
        raise SystemExit(f"the undisturbed run failed: {(whole.folder / 'output.txt').read_text()[-2000:]}")
    expected = whole.result()
    while counts.kills < kills:
        victim = Victim(kind, folder / f"{kind}-{counts.runs}", epochs)
        shared = set(os.listdir("/dev/shm"))
        victim.start()
        while counts.kills < kills:
            if not kill_one(victim, counts):
                break  # it ended before
        if wait(victim, PATIENCE) != 0:
            victim.start()
            wait(victim, PATIENCE)
        counts.runs += 1
        counts.resumed = counts.kills if victim.process.returncode == 0 else counts.resumed
        counts.differ += victim.process.returncode != 0 or victim.result() != expected
        counts.orphans += len(left_after(victim, 10))
        counts.shared += len(set(os.listdir("/dev/shm")) - shared)
        counts.temporary += len(victim.temporary())
        shutil.rmtree(victim.folder)
    counts.seconds = time.monotonic() - begin
    return counts


def kill_one(victim: Victim, counts: Counts) -> bool:
    """Kills one process of the victim at a random moment of its next two epochs, and sees that it goes on."""
    before, until = victim.epoch(), time.monotonic() + PATIENCE
    seen = time.monotonic()
    # It is at work when its record grows; now and then it is killed while it still starts.
    early = random.random() < 0.1
    while not early and victim.epoch() <= before and victim.process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(random.uniform(0, 1.2))
    while not (targets := victim.targets()) and victim.process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    if victim.process.poll() is not None or not targets:
        return False
    counts.in_checkpoint += (victim.folder / "checkpoints" / "unfinished").exists()
    with contextlib.suppress(ProcessLookupError):
        os.kill(random.choice(targets), signal.SIGKILL)
        counts.kills += 1
    print(f"kill {counts.kills} of {victim.kind} after {time.monotonic() - seen:.1f} s", flush=True)
    if victim.kind != "rank":  # torchrun starts the processes again, these are started again here
        wait(victim, PATIENCE)
        counts.orphans += len(left_after(victim, 10))
        victim.start()
    return True


def wait(victim: Victim, seconds: float) -> int | None:
    """The exit code of a run; None, and the run is killed, where it does not end."""
    try:
        return victim.process.wait(seconds)
    except subprocess.TimeoutExpired:
        for pid in victim.left():
            os.kill(pid, signal.SIGKILL)
        victim.process.wait()
        return None


def left_after(victim: Victim, seconds: float) -> list[int]:
    """Processes of an ended run that are still there after some time; they are killed."""
    until = time.monotonic() + seconds
    while (left := victim.left()) and time.monotonic() < until:
        time.sleep(0.1)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        tasks = os.listdir(f"/proc/{pid}/task")
        return [int(child) for t in tasks for child in Path(f"/proc/{pid}/task/{t}/children").read_text().split()]
    return []


def environment_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        if "State:\tZ" not in Path(f"/proc/{pid}/status").read_text():
            return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    return ""


def table(rows: list[Counts], args: argparse.Namespace) -> str:
    columns = ["kills", "in_checkpoint", "resumed", "runs", "differ", "orphans", "shared", "temporary"]
    heads = ["kills", "while a checkpoint was written", "went on", "runs", "runs that differ", "orphans"]
    heads += ["left in shared memory", "temporary files left"]
    names = {"training": "training", "worker": "loading worker", "rank": "one of three ranks (torchrun)"}
    total = Counts("all", *[sum(getattr(row, column) for row in rows) for column in columns])
    lines = [f"# {sum(row.kills for row in rows)} kills (SIGKILL at random moments, seed {args.seed}) of training runs"]
    lines += [f"# of {args.epochs} epochs; {sum(row.seconds for row in rows):.0f} s on {os.cpu_count()} cores", ""]
    lines.append("victim".ljust(32) + "  ".join(heads))
    for row in [*rows, total]:
        numbers = [str(getattr(row, column)).rjust(len(head)) for column, head in zip(columns, heads)]
        lines.append(names.get(row.victim, row.victim).ljust(32) + "  ".join(numbers))
    return "\n".join(lines)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="how many processes are killed (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=40, help="epochs of each run (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="file for the table")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())

"""The record of a run: `logs/<task>/<run>.log` for people and `<run>.json` for programs.

Two runs of one seed on one machine give the same record but for times. Therefore times have their own place: in
the log what follows `   time ` on a line, in the JSON the object under "times". Both files are replaced atomically
with every line, so a reader, or a killed process, leaves whole ones.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from core.files.atomic import write_bytes
from core.kvstore import processes
from scripts.common import environment

# Of a checkout its root; a program that came with a wheel writes where it is started.
ROOT = environment.CHECKOUT or Path.cwd()
LOGS = ROOT / "logs"
_TIME = "   time "


class Record:
    """What a run says and measures, on disk after every line.

    `facts` is the JSON object: "task", "run", "command", "commit", "versions", "device", "seed", "data" (SHA-256 of
    each file), then what `put` adds, and "times".
    """

    def __init__(self, task: str, run: str, *, seed: int | None = None, data: dict | None = None, folder: Path = LOGS):
        self.base = Path(folder) / task / run
        self.lines: list[str] = []
        self.leads = processes.rank() == 0  # of several processes, the first one writes
        self._resumed_at, self._started = 0.0, time.perf_counter()
        self.facts = {
            "task": task,
            "run": run,
            "command": environment.command(),
            "commit": environment.commit(),
            "versions": environment.versions(),
            "device": environment.device(),
            "seed": seed,
            "data": data or {},
            "times": {"started": environment.now()},
        }

    def begin(self) -> None:
        """Writes the head of the log."""
        for key in ("command", "commit", "versions", "device", "seed", "data"):
            value = self.facts[key]
            if isinstance(value, dict):
                value = ", ".join(f"{name} {what}" for name, what in value.items())
            if value not in (None, ""):
                self.say(f"{key}: {value}")
        self.say("started", self.facts["times"]["started"])

    def say(self, text: str, times: str = "") -> None:
        """Adds a line to the log and prints it; `times` is whatever differs from run to run."""
        line = text + (_TIME + times if times else "")
        self.lines.append(line)
        if self.leads:
            print(line, flush=True)
        self.write()

    def put(self, **facts) -> None:
        """Adds facts to the JSON, such as `final={"test_accuracy": 0.99}`."""
        self.facts.update(facts)
        self.write()

    def write(self) -> None:
        if not self.leads:
            return
        self.base.parent.mkdir(parents=True, exist_ok=True)
        self.facts["times"]["seconds"] = round(self.seconds(), 3)
        # Times come last, after whatever was added.
        ordered = {key: value for key, value in self.facts.items() if key != "times"} | {"times": self.facts["times"]}
        write_bytes(self.base.with_name(self.base.name + ".log"), ("\n".join(self.lines) + "\n").encode())
        write_bytes(self.base.with_name(self.base.name + ".json"), (json.dumps(ordered, indent=1) + "\n").encode())

    def seconds(self) -> float:
        """Seconds of work so far, those before a resume included."""
        return self._resumed_at + time.perf_counter() - self._started

    def state(self) -> dict:
        """Everything that `restore` needs, for a checkpoint."""
        return {"lines": self.lines, "facts": self.facts, "seconds": self.seconds()}

    def restore(self, state: dict) -> None:
        """Goes on with the record of a checkpoint: its head, its lines and its clock."""
        self.lines, self.facts = list(state["lines"]), dict(state["facts"])
        self._resumed_at, self._started = state["seconds"], time.perf_counter()
        self.facts["times"].setdefault("resumed", []).append(environment.now())


def without_times(record: str | dict) -> str | dict:
    """The part of a log (text) or of a JSON record (object) that repeats from run to run."""
    if isinstance(record, str):
        return re.sub(rf"{_TIME}.*", "", record)
    return {key: value for key, value in record.items() if key != "times"}

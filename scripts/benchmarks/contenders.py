"""Contenders of a benchmark: processes that take turns of a few steps, so that all of them see the same machine.

Nothing here needs this project: an interpreter that has only the original MXNet runs it too.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

# Seconds between turns. Threads of some libraries spin when their work is done (ONNX Runtime's for more than 20 ms), and
# would take the processors from the contender that comes next.
PAUSE = 0.1


class Contender:
    """A process that makes so many steps when asked, and waits in between; it runs `script --contender *arguments`."""

    def __init__(self, python: str, script: str, arguments: list[str], environment: dict[str, str] | None = None):
        self.name = " ".join(arguments)
        self.process = subprocess.Popen(
            [python, script, "--contender", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | (environment or {}),
        )  # fmt: skip

    def steps(self, count: int) -> dict:
        """What `serve` answers for so many steps."""
        self.ask(count)
        return self.answer()

    def ask(self, count: int) -> None:
        """Tells it to make so many steps, and does not wait."""
        try:
            self.process.stdin.write(f"{count}\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # it has ended, as `answer` will find
            pass

    def answer(self) -> dict:
        """What it answers to the earliest question that is open."""
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.name} ended with status {self.process.wait()}")
        return json.loads(answer)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def stop(self) -> None:
        """Ends it, whatever it does."""
        self.process.kill()
        self.process.wait()


def take_turns(contenders: dict[str, Contender], rounds: int, steps: int) -> dict[str, list[dict]]:
    """The answers of each contender, `rounds` of them; then all are closed."""
    turns = {name: [] for name in contenders}
    order = list(contenders)
    for _ in range(rounds):
        for name in order:
            time.sleep(PAUSE)
            turns[name].append(contenders[name].steps(steps))
        order.append(order.pop(0))  # nobody always comes after the same neighbour
    for contender in contenders.values():
        contender.close()
    return turns


def serve(step, parameters: int) -> None:
    """Inside a contender: answers each line "count" on stdin with the measurements of that many steps.

    {"seconds": of each step, "processor": seconds of all threads per step, "faults": page faults per step,
    "peak": the most kB that the process ever held, "parameters": as given}
    """
    for line in sys.stdin:
        count, seconds = int(line), []
        step()  # finds what the others' turns left of caches and tables of pages, and is not timed
        before = resource.getrusage(resource.RUSAGE_SELF)
        for _ in range(count):
            start = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_SELF)
        answer = {
            "seconds": seconds,
            "processor": (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / count,
            "faults": (after.ru_minflt - before.ru_minflt) / count,
            "peak": after.ru_maxrss,
            "parameters": parameters,
        }
        print(json.dumps(answer), flush=True)

"""Mutation testing: puts small faults into a copy of the source and asks the tests whether they notice.

A sample of N faults (`mutation_sites.py` lists the kinds) is drawn by seed from all files of core, gluon, gluoncv and
gluonnlp. For each, the tests of the faulty module (`mutation_tests.py` says which) run in a copy of the checkout, in a
process of their own, until the first fails: the fault is then *killed*. A test that fails without the fault as well
counts for nothing. A fault *survived* when no test failed, and is a *timeout* when a test took far longer than it may.
Survivors are a list of what the tests do not hold, save those that change no result; these are entered, with the reason,
in `mutants_equivalent.tsv`.

    python -m tests.tools.mutants --count 200 --seed 1 --jobs 2 --report logs/mutants.json
    python -m tests.tools.mutants --again --report logs/mutants.json     # those that survived, with better tests
    python -m tests.tools.mutants --only gluon/ --count 20
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from tests.tools import golden, mutation_tests
from tests.tools.mutation_sites import Mutation, of_tree

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("core", "gluon", "gluoncv", "gluonnlp")
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.tsv")
PRELOADED = ("torch", "numpy", "pytest", "hypothesis", "_pytest.assertion.rewrite")
DECIDED = ("killed", "survived", "timeout")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50, help="how many faults to draw (default 50)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default 1)")
    parser.add_argument("--only", default="", metavar="REGEX", help="faults whose line in the report matches")
    parser.add_argument("--budget", type=float, default=60, help="seconds of processor time for a fault (default 60)")
    parser.add_argument("--limit", type=float, default=300, help="seconds that one test may take (default 300)")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with a copy of its own (default 1)")
    parser.add_argument(
        "--report", type=Path, help="results, of faults that are not run again; written (default: printed only)"
    )
    parser.add_argument("--again", action="store_true", help="run those of the report that survived once more")
    parser.add_argument("--list", action="store_true", help="print the faults and their tests, run nothing")
    args = parser.parse_args(argv)

    report = json.loads(args.report.read_text()) if args.report and args.report.exists() else {"mutants": []}
    faults = [fault for fault in of_tree(ROOT, PACKAGES) if re.search(args.only, fault.title)]
    drawn = random.Random(args.seed).sample(faults, min(args.count, len(faults)))
    if args.again:
        drawn = _again(report["mutants"], faults)
    else:  # a run that was cut off goes on
        known = {row["mutant"] for row in report["mutants"]}
        drawn = [fault for fault in drawn if fault.key not in known]
    if args.list:
        for fault in drawn:
            print(fault.title, *mutation_tests.test_files(ROOT, fault), sep="\n    ")
        return 0

    for name in PRELOADED:
        importlib.import_module(name)
    commit = _commit()
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ProcessPoolExecutor(
            args.jobs, multiprocessing.get_context("fork"), _work_in, (Path(folder), args.budget, args.limit)
        ) as workers,
    ):
        tested = {workers.submit(_test, fault): fault for fault in drawn}
        for at, done in enumerate(as_completed(tested), 1):
            fault, row = tested[done], done.result()
            report["mutants"] = [old for old in report["mutants"] if old["mutant"] != row["mutant"]] + [row]
            report |= {"commit": commit, "seed": args.seed, "faults": len(faults)}
            print(f"{at}/{len(drawn)} {row['result']} {fault.title} [{row['by']}] {row['seconds']} s", flush=True)
            if args.report:
                args.report.write_text(json.dumps(report, indent=1) + "\n")
    print(summary(report))
    return 0


def summary(report: dict) -> str:
    """Counts by package, the share of killed, and the survivors."""
    reasons = equivalents()
    rows = report["mutants"]
    lines = [f"{'package':10} {'killed':>8} {'survived':>9} {'timeout':>8}"]
    for package in (*PACKAGES, ""):
        counts = Counter(row["result"] for row in rows if row["mutant"].startswith(f"{package}/" if package else ""))
        lines.append(f"{package or 'all':10} {counts['killed']:8} {counts['survived']:9} {counts['timeout']:8}")
    killed = sum(row["result"] in ("killed", "timeout") for row in rows)
    decided = sum(row["result"] in DECIDED and row["mutant"] not in reasons for row in rows)
    lines.append(f"killed {killed} of {decided} that change a result ({100 * killed / max(decided, 1):.1f} %)")
    for row in rows:
        if row["result"] not in ("killed", "timeout"):
            lines.append(f"{row['result']}: {row['mutant']}; {reasons.get(row['mutant'], row['by'])}")
    return "\n".join(lines)


def equivalents() -> dict[str, str]:
    """Faults that change no result, as `path: text -> text`, and why."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    return dict(line.split("\t") for line in lines if line)


class Copy:
    """A copy of the checkout, in which faults are put and tests are run."""

    def __init__(self, root: Path, budget: float, limit: float):
        self.root, self.budget, self.limit = root, budget, limit
        self.sound: dict[str, bool] = {}  # whether a test passes without a fault
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in filter(None, tracked.stdout.split("\0")):
            if (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, root / name)
        shared = Path(os.environ.get("MXTEST_SHARED", ROOT.parent / "shared"))
        if shared.is_dir():
            (root.parent / "shared").symlink_to(shared)
        subprocess.run([sys.executable, "-m", "compileall", "-q", *PACKAGES, "tests"], cwd=root, check=False)

    def test(self, fault: Mutation) -> dict:
        """Runs the tests of one fault; the row of the report."""
        start = time.monotonic()
        files = mutation_tests.test_files(self.root, fault)
        words = mutation_tests.names(self.root, fault)
        result, by = self._until_decided(fault, files, words)
        if result == "survived":
            case = self._reference(fault, words)
            if case:
                result, by = "killed", case
        seconds = round(time.monotonic() - start)
        return {
            "mutant": fault.key,
            "line": fault.line,
            "kind": fault.kind,
            "result": result,
            "by": by,
            "seconds": seconds,
        }

    def _until_decided(self, fault: Mutation, files: list[str], words: list[str]) -> tuple[str, str]:
        """Runs the tests until one fails that passes without the fault."""
        excluded: list[str] = []
        while files:
            with self._faulty(fault):
                said = self._run(files, words, excluded)
            if said["failed"] is None:
                return (
                    ("timeout", said["at"])
                    if said["late"]
                    else ("survived", f"{said['ran']} tests of {' '.join(files)}")
                )
            if self._is_sound(said["failed"]):
                return ("timeout" if said["late"] else "killed"), said["failed"]
            excluded.append(said["failed"])  # a test, or a file that is not collected
            files = [file for file in files if file not in excluded]
        return "survived", "no test near it"

    def _is_sound(self, test: str) -> bool:
        if test not in self.sound:
            said = self._run([test], [], [])
            self.sound[test] = said["failed"] is None and not said["late"]
        return self.sound[test]

    def _faulty(self, fault: Mutation):
        return _Exchanged(self.root / fault.path, fault)

    def _reference(self, fault: Mutation, words: list[str]) -> str:
        """A recorded answer of the original software that changed, or nothing."""
        runner = golden.folder() / "check.py"
        words = [word for word in words if word not in mutation_tests.COMMON and len(word) > 2]
        if not words or not runner.exists():
            return ""
        pattern = "|".join(rf"(?i:(?<![a-z]){re.escape(word)}(?![a-z]))" for word in words)
        for section in mutation_tests.reference_sections(fault.path):
            with self._faulty(fault):
                broken = self._cases(runner, section, pattern)
            if broken and not set(broken) & set(self._cases(runner, section, f"^{re.escape(broken[0])}$")):
                return f"reference {section} {broken[0]}"
        return ""

    def _cases(self, runner: Path, section: str, pattern: str) -> list[str]:
        report = self.root.parent / "cases.json"
        report.unlink(missing_ok=True)
        command = [
            sys.executable,
            str(runner),
            section,
            "--only",
            pattern,
            "--json",
            str(report),
            "--max-failures",
            "1",
        ]
        environment = {**os.environ, "PROJECT": str(self.root), "PYTHONPATH": str(self.root)}
        try:
            subprocess.run(
                command, env=environment, cwd=report.parent, capture_output=True, timeout=self.limit, check=False
            )
        except subprocess.TimeoutExpired:
            return []
        if not report.exists():
            return []
        return [c["id"] for c in json.loads(report.read_text())["cases"] if c["status"] not in ("passed", "skipped")]

    def _run(self, files: list[str], words: list[str], excluded: list[str]) -> dict:
        """Runs tests in a child, which is ended when one test takes too long or the whole uses up its time."""
        note = self.root.parent / "note.json"
        note.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            os.setsid()
            try:
                _pytest_in_child(self.root, note, files, words, excluded, self.budget)
            finally:
                os._exit(70)
        late = False
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.05)
            if note.exists() and time.time() - note.stat().st_mtime > self.limit:
                late = True
                break
        try:
            os.killpg(child, signal.SIGKILL)  # also what the tests left running
        except ProcessLookupError:
            pass
        if late:
            os.waitpid(child, 0)
        said = (
            json.loads(note.read_text()) if note.exists() else {"at": "start", "ran": 0, "failed": None, "done": False}
        )
        if late or not said["done"]:  # too long, or the process is gone
            said["failed"] = said["at"]
        return said | {"late": late}


def _work_in(folder: Path, budget: float, limit: float) -> None:
    """Gives a worker a copy of its own."""
    global _copy
    _copy = Copy(folder / str(os.getpid()) / "checkout", budget, limit)


def _test(fault: Mutation) -> dict:
    return _copy.test(fault)


class _Exchanged:
    """A file with a fault, for the length of a block; no bytecode of it stays."""

    def __init__(self, path: Path, fault: Mutation):
        self.path, self.fault = path, fault

    def __enter__(self) -> None:
        self.sound = self.path.read_bytes()
        self._write(self.fault.apply(self.sound))

    def __exit__(self, *_) -> None:
        self._write(self.sound)

    def _write(self, source: bytes) -> None:
        for cached in self.path.parent.glob(f"__pycache__/{self.path.stem}.*.pyc"):
            cached.unlink()
        self.path.write_bytes(source)


def _pytest_in_child(
    root: Path, note: Path, files: list[str], words: list[str], excluded: list[str], budget: float
) -> None:
    import pytest

    os.chdir(root)
    sys.path[:] = [str(root), *(path for path in sys.path if path and Path(path).resolve() != ROOT)]
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        del sys.modules[name]
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    log = os.open(note.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    plugin = _Watch(note, words, set(excluded), budget)
    arguments = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
    code = int(pytest.main(arguments, plugins=[plugin]))
    if code in (2, 3, 4) and plugin.said["failed"] is None and not plugin.spent:
        plugin.said["failed"] = files[0]  # not even collected
    plugin.write(done=True)
    os._exit(0)


class _Watch:
    """Puts the tests that mention what is faulty first, and notes which runs, which failed, and when time is up."""

    def __init__(self, note: Path, words: list[str], excluded: set[str], budget: float):
        self.note, self.words, self.excluded, self.budget = note, words, excluded, budget
        self.said: dict = {"at": "collection", "ran": 0, "failed": None, "done": False}
        self.spent = False
        self.write()

    def write(self, **changed) -> None:
        self.said |= changed
        self.note.write_text(json.dumps(self.said))

    def pytest_collection_modifyitems(self, items: list) -> None:
        items[:] = [item for item in items if item.nodeid not in self.excluded]
        files = list(dict.fromkeys(item.path for item in items))
        text = {item: item.nodeid + _source(item) for item in items}
        score = {item: mutation_tests.relevance(text[item], self.words) for item in items}
        items.sort(key=lambda item: (-min(score[item], 1), files.index(item.path), -score[item]))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.write(at=nodeid)

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed and self.said["failed"] is None:
            self.write(failed=report.nodeid)
        if report.when == "call" and report.passed:
            self.said["ran"] += 1

    def pytest_collectreport(self, report) -> None:
        if report.failed and self.said["failed"] is None:
            self.write(failed=report.nodeid)

    def pytest_runtest_protocol(self, item, nextitem):
        used = os.times()
        if used.user + used.system + used.children_user + used.children_system > self.budget:
            self.spent = True
            item.session.shouldstop = "time is up"


def _source(item) -> str:
    import inspect

    try:
        return inspect.getsource(item.function)
    except (OSError, TypeError, AttributeError):
        return ""


def _again(rows: list[dict], faults: list[Mutation]) -> list[Mutation]:
    """The faults of a report that survived and change a result, as they stand in the source now."""
    reasons = equivalents()
    wanted = {
        row["mutant"]: row["line"] for row in rows if row["result"] == "survived" and row["mutant"] not in reasons
    }
    nearest: dict[str, Mutation] = {}
    for fault in faults:
        key = fault.key
        if key in wanted and (
            key not in nearest or abs(fault.line - wanted[key]) < abs(nearest[key].line - wanted[key])
        ):
            nearest[key] = fault
    return [nearest[key] for key in wanted if key in nearest]


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()[:12]


if __name__ == "__main__":
    sys.exit(main())

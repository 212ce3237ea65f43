"""Makes the result tables of docs/results.md, README's of GPUs, and the curves beside the logs, from logs/ alone.

`--check` changes nothing and fails when something differs from what the logs say. A log whose commit is not in the
history of the checkout, or that was made with changes on top of one, is refused: nobody can repeat it. Where it cannot
be made anew either, a line of logs/labels.tsv (log, "commit", text) puts it into the tables with the text beside it;
lines with "note" instead say what else a reader has to know of a figure. Lines that nothing needs are refused, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gluon.finetune.curves import svg
from scripts import gpu_results, table1
from scripts.common.spread import mean_of_repeats, show

BEGIN = "<!-- results:begin (made from logs/ by scripts/report.py) -->"
END = "<!-- results:end -->"
COLUMNS = "run", "result", "published", "data", "epochs", "time", "device"
SHOWN = 3  # files in a row; of more, the first ones
LONG = 50  # rows; tables with more are folded, for readers look for what comes after them


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare, and fail when something differs")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout (default: this one)")
    args = parser.parse_args(argv)

    stale = []
    for path, text in files(args.root).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.relative_to(args.root).as_posix())
            if not args.check:
                from core.files.atomic import write_bytes  # brings torch along, which a check can do without

                write_bytes(path, text.encode())
    if stale and args.check:
        raise SystemExit(f"differ from logs/, run `make report`: {', '.join(stale)}")
    print(f"{'written: ' + ', '.join(stale) if stale else 'everything agrees with logs/'}")


def files(root: Path) -> dict[Path, str]:
    """Everything that the report makes: the page of results and a picture for each run with several epochs."""
    records = {
        path: record
        for path in sorted((root / "logs").rglob("*.json"))
        if "task" in (record := json.loads(path.read_text(encoding="utf-8")))
    }
    labels = _labels(root, records)
    made = {
        path.with_suffix(".svg"): svg(mean_of_repeats(record["epochs"]))
        for path, record in records.items()
        if _count_epochs(record) > 1
    }
    page, readme = root / "docs" / "results.md", root / "README.md"
    made[page] = _between(page, BEGIN, "\n" + tables(root, records, labels), END)
    made[readme] = _between(readme, gpu_results.BEGIN, gpu_results.section(root), gpu_results.END)
    made[root / "logs" / "table1.md"] = table1.page(root, records)
    return made


def _between(page: Path, begin: str, text: str, end: str) -> str:
    """The page with the text between its marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{page} lacks the markers {begin} and {end}")
    return f"{before}{begin}{text}{end}{after}"


def _labels(root: Path, records: dict[Path, dict]) -> dict[Path, str]:
    """What logs/labels.tsv says of logs; SystemExit for a log that cannot be repeated and has no label."""
    path = root / "logs" / "labels.tsv"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [(root / "logs" / log, kind, text) for log, kind, text in (line.split("\t") for line in lines if line)]
    lost = {path for path, record in records.items() if not _is_in_history(root, record.get("commit"))}
    excused = {log for log, kind, _ in rows if kind == "commit"}
    for log, commit in gpu_results.commits(root).items():
        if not _is_in_history(root, commit):
            raise SystemExit(f"{log} was made from {commit}, which is not in this history")
    unknown = sorted(str(log.relative_to(root)) for log, *_ in rows if log not in records)
    if unknown:
        raise SystemExit(f"{path} names logs that are not there: {', '.join(unknown)}")
    for logs, fault in (
        (lost - excused, "were not made from a commit in this history; make them anew, or label them in {path}"),
        (excused - lost, "are labelled in {path} for a commit that is in this history: take the lines out"),
    ):
        if logs:
            names = ", ".join(sorted(f"{log.relative_to(root)} ({records[log].get('commit')})" for log in logs))
            raise SystemExit(f"{names} {fault.format(path=path)}")
    return {log: "; ".join(text for other, _, text in rows if other == log) for log, _, _ in rows}


def _is_in_history(root: Path, commit: str | None) -> bool:
    """Whether a commit, without changes on top, is one that the checkout stands on."""
    if not commit or not commit.isalnum():
        return False
    known = subprocess.run(["git", "merge-base", "--is-ancestor", commit, "HEAD"], cwd=root, capture_output=True)
    if known.returncode in (0, 1):
        return known.returncode == 0
    if not (root / ".git").exists():
        raise SystemExit(f"{root} is no git checkout: whether logs belong to its history cannot be told")
    shallow = subprocess.run(["git", "rev-parse", "--is-shallow-repository"], cwd=root, capture_output=True, text=True)
    if shallow.stdout.strip() == "true":
        raise SystemExit(f"{root} has a part of the history: git fetch --unshallow (in CI: fetch-depth: 0)")
    return False


def tables(root: Path, records: dict[Path, dict], labels: dict[Path, str]) -> str:
    """A table of the finished training runs of each task, then one for each benchmark."""
    text = ""
    runs = {path: record for path, record in records.items() if "final" in record}
    for task in sorted({record["task"] for record in runs.values()}):
        rows = [_run(root, path, record, labels) for path, record in runs.items() if record["task"] == task]
        text += f"\n## {_title(task)}\n\n" + _table(COLUMNS, rows) + _curves(root, runs, task)
    for path, record in records.items():
        if "rows" in record:
            text += f"\n## {_title(record['task'])}: {record['title']}\n\n"
            table = _table(list(record["rows"][0]), [[_cell(v) for v in row.values()] for row in record["rows"]])
            text += _folded(table) if len(record["rows"]) > LONG else table
            label = f" ({labels[path]})" if path in labels else ""
            text += f"\n{_where(record)}{label}; [log]({_link(root, path)}).\n"
    return text + "\n" if text else ""


def _run(root: Path, path: Path, record: dict, labels: dict[Path, str]) -> list[str]:
    result = ", ".join(f"{name.replace('_', ' ')} {show(value)}" for name, value in record["final"].items())
    if path in labels:
        result += f" ({labels[path]})"
    links = f"[{record['run']}]({_link(root, path)})"
    if _count_epochs(record) > 1:
        links += f" ([curves]({_link(root, path, '.svg')}))"
    if path.with_suffix(".png").exists():
        links += f" ([picture]({_link(root, path, '.png')}))"
    minutes = f"{record['times']['seconds'] / 60:.1f} min"
    epochs = str(_count_epochs(record) or record.get("arguments", {}).get("epochs", ""))
    return [links, result, record.get("published", ""), _data(record), epochs, minutes, record["device"]]


def _curves(root: Path, runs: dict[Path, dict], task: str) -> str:
    """Pictures of how the runs of a task went, for those who look rather than read."""
    drawn = [path for path, record in runs.items() if record["task"] == task and _count_epochs(record) > 1]
    pictures = [f"![curves of {runs[path]['run']}]({_link(root, path, '.svg')})\n" for path in drawn]
    return "\n<details>\n<summary>Curves</summary>\n\n" + "\n".join(pictures) + "\n</details>\n" if drawn else ""


def _data(record: dict) -> str:
    """The files that a run read; or what was generated for it, which has a description where files have a checksum."""
    given = record.get("data") or {}
    described = [f"{name}: {what}" for name, what in given.items() if not _is_checksum(what)]
    files = [name for name, what in given.items() if _is_checksum(what)]
    if len(files) > SHOWN:
        files = [*files[: SHOWN - 1], f"{len(files) - SHOWN + 1} more files"]
    return ", ".join(described + files) or "generated"


def _is_checksum(text: str) -> bool:
    return len(text) == 64 and text.isalnum()


def _count_epochs(record: dict) -> int:
    """How often the data were gone through; in each repetition, where there are several."""
    return max((row["epoch"] for row in record.get("epochs", ())), default=0)


def _where(record: dict) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return f"{record['device']}; {libraries}; commit {record['commit']}"


def _link(root: Path, path: Path, suffix: str = ".log") -> str:
    """From the page of results to a file beside a record."""
    return "../" + path.with_suffix(suffix).relative_to(root).as_posix()


def _title(task: str) -> str:
    return task.replace("_", " ").capitalize()


def _cell(value) -> str:
    return show(value) if isinstance(value, float | list) else str(value)


def _folded(table: str) -> str:
    """The table behind a line that opens it."""
    return f"<details>\n<summary>{len(table.splitlines()) - 2} rows</summary>\n\n{table}\n</details>\n"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    main()

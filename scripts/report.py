"""Makes the result tables of README.md, and the curves beside the logs, from logs/ alone.

`--check` changes nothing and fails when something differs from what the logs say.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.common.curves import svg
from scripts.common.spread import mean_of_repeats, show

BEGIN = "<!-- results:begin (made from logs/ by scripts/report.py) -->"
END = "<!-- results:end -->"
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
    """Everything that the report makes: the README and a picture for each run with several epochs."""
    records = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted((root / "logs").rglob("*.json"))}
    made = {
        path.with_suffix(".svg"): svg(mean_of_repeats(record["epochs"]))
        for path, record in records.items()
        if _count_epochs(record) > 1
    }
    readme = root / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{readme} lacks the markers {BEGIN} and {END}")
    made[readme] = f"{before}{BEGIN}\n{tables(root, records)}{END}{after}"
    return made


def tables(root: Path, records: dict[Path, dict]) -> str:
    """A table of the finished training runs of each task, then one for each benchmark."""
    text = ""
    runs = {path: record for path, record in records.items() if "final" in record}
    for task in sorted({record["task"] for record in runs.values()}):
        rows = [_run(root, path, record) for path, record in runs.items() if record["task"] == task]
        text += f"\n### {_title(task)}\n\n" + _table(("run", "result", "published", "epochs", "time", "device"), rows)
    for path, record in records.items():
        if "rows" in record:
            text += f"\n### {_title(record['task'])}: {record['title']}\n\n"
            table = _table(list(record["rows"][0]), [[_cell(v) for v in row.values()] for row in record["rows"]])
            text += _folded(table) if len(record["rows"]) > LONG else table
            text += f"\n{_where(record)}; [log]({_link(root, path)}).\n"
    return text + "\n" if text else ""


def _run(root: Path, path: Path, record: dict) -> list[str]:
    result = ", ".join(f"{name.replace('_', ' ')} {show(value)}" for name, value in record["final"].items())
    links = f"[{record['run']}]({_link(root, path)})"
    if _count_epochs(record) > 1:
        links += f" ([curves]({_link(root, path, '.svg')}))"
    if path.with_suffix(".png").exists():
        links += f" ([picture]({_link(root, path, '.png')}))"
    minutes = f"{record['times']['seconds'] / 60:.1f} min"
    return [links, result, record.get("published", ""), str(_count_epochs(record)), minutes, record["device"]]


def _count_epochs(record: dict) -> int:
    """How often the data were gone through; in each repetition, where there are several."""
    return max((row["epoch"] for row in record.get("epochs", ())), default=0)


def _where(record: dict) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return f"{record['device']}; {libraries}; commit {record['commit']}"


def _link(root: Path, path: Path, suffix: str = ".log") -> str:
    return path.with_suffix(suffix).relative_to(root).as_posix()


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

"""What README says of GPUs, from the results of `scripts/validate_gpu.py` in logs/gpu/NAME: summary.json, bench.jsonl."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path

BEGIN = "<!-- gpu:begin (made from logs/gpu by scripts/report.py) -->\n"
END = "<!-- gpu:end -->"
NONE = "No kernel has run on a GPU yet: [how to find out](docs/validating_on_a_gpu.md) in half an hour.\n"
CONTENDERS = (
    "ours",
    "ours, hybridized",
    "PyTorch",
    "PyTorch, channels-last",
    "torch.compile",
    "torch.compile, CUDA graphs",
)


def section(root: Path) -> str:
    """The text between the marks."""
    folders = sorted(path.parent for path in (root / "logs" / "gpu").glob("*/summary.json"))
    return "".join(map(_device, folders)) or NONE


def commits(root: Path) -> dict[Path, str]:
    """What each of the results was made from; a dry run is none."""
    found = {}
    for path in (root / "logs" / "gpu").glob("*/summary.json"):
        summary = json.loads(path.read_text(encoding="utf-8"))
        found[path] = "a dry run" if summary["dry run"] else summary["commit"]
    return found


def _device(folder: Path) -> str:
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    lines = (folder / "bench.jsonl").read_text(encoding="utf-8").splitlines()
    rows = list({(row["stage"], row["item"]): row for row in map(json.loads, filter(None, lines))}.values())
    facts, peaks = summary["facts"], {name: value for name, value in summary["peaks"].items() if value}
    units = {"bytes": "TB/s", "FLOP": "TFLOP/s"}
    reached = [
        f"{name.partition(',')[0]} {value / 1e12:.3g} {units[name.split()[-3]]}" for name, value in peaks.items()
    ]
    counts = [
        f"{stage} " + ", ".join(f"{count} {what}" for what, count in sorted(found.items()))
        for stage, found in summary["stages"].items()
        if found
    ]
    text = f"""
**{facts.get("gpu", "?")}**, torch {facts.get("torch")}, Triton {facts.get("triton")}, commit {summary["commit"]}: {"; ".join(reached)}.
Items by stage: {"; ".join(counts)}; each is a line of [bench.jsonl](logs/gpu/{folder.name}/bench.jsonl).
"""
    timed = [row for row in rows if row["stage"] == "kernels" and "family" in row]
    kinds = dict.fromkeys((row["family"], row["item"].rpartition(", ")[2]) for row in timed)
    families = [
        _family(*kind, [r for r in timed if (r["family"], r["item"].rpartition(", ")[2]) == kind]) for kind in kinds
    ]
    networks = [
        [row["item"], *(_number(row["ms"].get(name)) for name in CONTENDERS)]
        for row in rows
        if "ms" in row and row["stage"] == "networks"
    ]
    return (
        text
        + _table(("kernels", "type", "cases", "of PyTorch's speed", "least", "of the hardware's", "least"), families)
        + _table(("network, ms", *CONTENDERS), networks)
    )


def _family(name: str, dtype: str, rows: list[dict]) -> list[str]:
    """The speeds of a family in one type, as shares: geometric means and the least."""
    line = [name, dtype, str(len(rows))]
    for of in ("torch", "floor"):
        shares = [share for row in rows if not math.isnan(share := row[f"of {of}"])]
        line += [f"{statistics.geometric_mean(shares):.2f}", f"{min(shares):.2f}"] if shares else ["", ""]
    return line


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.3g}"


def _table(names: tuple[str, ...], rows: list[list[str]]) -> str:
    if not rows:
        return ""
    lines = [names, ["---"] * len(names), *rows]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)

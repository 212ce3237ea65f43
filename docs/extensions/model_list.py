"""Sphinx extension that writes the table of all networks (docs/models.md includes it), from the registries.

Names, tasks, inputs and weights are asked of the zoos, published accuracies and measured times of the files that the
benchmarks keep. How many parameters a network has takes seconds a network to find out, so these numbers are in
docs/model_sizes.tsv, which `python -m docs.extensions.model_list` writes anew.
"""

from __future__ import annotations

import csv
import json
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIZES = ROOT / "docs" / "model_sizes.tsv"
ACCURACIES = ROOT / "scripts" / "benchmarks" / "published_accuracies.tsv"
TIMES = ROOT / "logs" / "benchmarks" / "classification_zoo.json"
COLUMNS = ("network", "task", "input", "parameters", "published top-1 (%)", "pictures/s", "weights")
NUMBERS = {"parameters", "published top-1 (%)", "pictures/s"}
SHOWN = 2  # names of weights in a row
FRAMES = 32  # of a video


def setup(app):
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: _write(Path(app.srcdir) / "api" / "models.html"))
    return {"parallel_read_safe": True}


def rows() -> list[dict[str, str]]:
    """A row for each network of both zoos, by the names of the columns."""
    from gluoncv.model_zoo import get_model_list

    sizes, accuracies, times = sizes_of_networks(), _accuracies(), _times()
    found = [_vision(name, sizes, accuracies, times) for name in sorted(get_model_list())]
    return found + _language()


def sizes_of_networks() -> dict[str, str]:
    """Numbers of parameters by the name of a network; "" where they depend on the input, or on classes to be chosen."""
    with open(SIZES, encoding="utf-8", newline="") as file:
        return {row["network"]: row["parameters"] for row in csv.DictReader(file, delimiter="\t")}


def count_parameters(name: str) -> int | None:
    """How many numbers a network learns or keeps; None where layers cannot tell without real inputs."""
    from core import nd
    from core.base import MXNetError
    from gluon_cli.zoo import count
    from gluoncv.model_zoo import cards, get_model

    size = getattr(cards.preprocessing_of(name), "size", 0) or 512
    try:
        net = get_model(name, pretrained_base=False)
    except TypeError:  # it is made for classes of the user's
        return None
    for shape in ((1, 3, size, size), (1, 3, FRAMES, size, size)):
        if _known(net):
            break
        try:
            net.infer_shape(nd.zeros(shape))
        except (MXNetError, ValueError, TypeError):  # of pictures or of videos, one of which it does not take
            continue
    return count(net) if _known(net) else None


def _known(net) -> bool:
    return all(extent > 0 for p in net.collect_params().values() for extent in p.shape or (0,))


def _vision(name, sizes, accuracies, times) -> dict[str, str]:
    from gluoncv.model_zoo import cards, model_store, sources

    prepared = cards.preprocessing_of(name)
    size = getattr(prepared, "size", 0)
    where = (["MXNet"] if model_store.has_published_weights(name) else []) + list(sources.names(name))
    more = f" and {len(where) - SHOWN} more" if len(where) > SHOWN else ""
    return dict(zip(COLUMNS, (
        name, cards.task_of(name), f"{size}" if isinstance(size, int) and size else "any", sizes.get(name, ""),
        accuracies.get(name, ""), times.get(name, ""), ", ".join(where[:SHOWN]) + more or "none published",
    )))  # fmt: skip


def _language() -> list[dict[str, str]]:
    from gluonnlp.model import registry

    published = list(registry._published_weights())
    found = []
    for family in registry.FAMILIES:
        for name in sorted(family.CONFIGURATIONS):
            data = [row[len(name) + 1 :] for row in published if row.startswith(name + "_")]
            more = f" and {len(data) - SHOWN} more" if len(data) > SHOWN else ""
            weights = f"MXNet: {', '.join(data[:SHOWN])}{more}" if data else "none published"
            found.append(dict(zip(COLUMNS, (name, "language", "words", "", "", "", weights))))
    return found


def _accuracies() -> dict[str, str]:
    with open(ACCURACIES, encoding="utf-8", newline="") as file:
        return {row["network"]: row["top-1"] for row in csv.DictReader(file, delimiter="\t")}


def _times() -> dict[str, str]:
    record = json.loads(TIMES.read_text(encoding="utf-8"))
    return {row["network"]: f"{row['pictures/s']:.1f}" for row in record["rows"]}


def table() -> str:
    """The table as HTML, which static/models.js filters and sorts."""
    head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
    lines = [f'<table class="docutils networks"><thead><tr>{head}</tr></thead><tbody>']
    for row in rows():
        cells = (_cell(column, row[column]) for column in COLUMNS)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</tbody></table>"]) + "\n"


def _cell(column: str, text: str) -> str:
    if column not in NUMBERS:
        return f"<td>{escape(text)}</td>"
    shown = f"{int(text):,}" if text.isdigit() else escape(text)
    return f'<td class="number" data-value="{escape(text)}">{shown}</td>'


def _write(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    text = table()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main() -> None:
    from core.files.atomic import write_bytes
    from gluoncv.model_zoo import get_model_list

    lines = [f"{name}\t{count_parameters(name) or ''}\n" for name in sorted(get_model_list())]
    write_bytes(SIZES, ("network\tparameters\n" + "".join(lines)).encode())


if __name__ == "__main__":
    main()

"""Sphinx extension that writes the table of all networks (docs/models.md includes it), from the registries.

Names, tasks, inputs and weights are asked of the zoos, published accuracies on ImageNet and measured times of the files
that the benchmarks keep; other published scores are in docs/published_scores.tsv. How many parameters a network has
takes seconds a network to find out, so these numbers are in docs/model_sizes.tsv, which
`python -m docs.extensions.model_list` writes anew.
"""

from __future__ import annotations

import contextlib
import csv
import json
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIZES = ROOT / "docs" / "model_sizes.tsv"
SCORES = ROOT / "docs" / "published_scores.tsv"
ACCURACIES = ROOT / "scripts" / "benchmarks" / "published_accuracies.tsv"
TIMES = ROOT / "logs" / "benchmarks" / "classification_zoo.json"
COLUMNS = ("network", "task", "input", "parameters", "published score (%)", "pictures/s", "weights")
NUMBERS = {"parameters", "published score (%)", "pictures/s"}
SHOWN = 2  # names of weights in a row
# Frames of a video that networks take, of SlowFast those of both rates; pictures that stand for a video
FRAMES, PARTS = (32, 36, 40, 80), (3, 7)


def setup(app):
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: _write(Path(app.srcdir) / "api" / "models.html"))
    return {"parallel_read_safe": True}


def rows() -> list[dict[str, str]]:
    """A row for each network of both zoos, by the names of the columns."""
    from gluoncv.model_zoo import get_model_list

    sizes, scores, times = sizes_of_networks(), published_scores(), _times()
    found = [_vision(name, sizes, scores, times) for name in sorted(get_model_list())]
    return found + _language(sizes)


def sizes_of_networks() -> dict[str, tuple[str, str]]:
    """(parameters, those of a word more) by the name of a network; the latter "" where no vocabulary decides."""
    with open(SIZES, encoding="utf-8", newline="") as file:
        return {row["network"]: (row["parameters"], row["a word"]) for row in csv.DictReader(file, delimiter="\t")}


def count_parameters(name: str) -> int | None:
    """How many numbers a network for pictures or videos learns or keeps; of one for classes to be chosen, with VOC's 20.

    None where no input of `_inputs` makes all its shapes known.
    """
    from core import nd
    from core.base import MXNetError
    from gluon_cli.zoo import count
    from gluoncv.data import VOC
    from gluoncv.model_zoo import cards, get_model

    own = {"classes": VOC} if name.endswith("_custom") or name.startswith("custom_") else {}
    net = get_model(name, pretrained_base=False, **own)
    for shapes in _inputs(getattr(cards.preprocessing_of(name), "size", 0) or 512):
        if not _known(net):
            with contextlib.suppress(MXNetError, ValueError, TypeError):  # it takes one of them
                net.infer_shape(*(nd.zeros(shape) for shape in shapes))
        if _known(net):
            return count(net)
    return None


def _inputs(size: int):
    """Shapes of inputs that networks take: of pictures, of the frames of one video at several rates, of parts of videos
    as so many pictures, of a thing that is sought and where.
    """
    yield ((1, 3, size, size),)
    for frames in FRAMES:
        yield ((1, 3, frames, size, size),)
    for parts in PARTS:
        yield ((parts, 3, size, size),)
    yield (1, 3, 127, 127), (1, 3, 287, 287)


def count_of_language(name: str) -> tuple[int, int]:
    """(parameters without words, parameters of each word) of a network for texts, from two vocabularies."""
    from gluonnlp import Vocab
    from gluonnlp.data import count_tokens
    from gluonnlp.model import get_model, registry
    from gluonnlp.vocab import BERTVocab

    family = registry.family_of(name)
    kind = BERTVocab if family in (registry.bert, registry.xlnet) else Vocab
    counts = []
    for words in (100, 200):
        vocab = kind(count_tokens(map(str, range(words))))
        net, *_ = get_model(name, pretrained=False, **dict.fromkeys(family.VOCABULARIES, vocab))
        counts.append((len(vocab), _count_with_text(net, len(family.VOCABULARIES))))
    (few, small), (many, large) = counts
    each = (large - small) // (many - few)
    return small - each * few, each


def _count_with_text(net, texts: int) -> int:
    """Numbers of a network; where it has to be called to know, with a text, and for translations with two."""
    from core import nd
    from gluon_cli.zoo import count

    if not _known(net):
        net.initialize()
        lengths = [nd.array([4])] * 2 if texts == 2 else []
        net(nd.ones((1, 4)), nd.ones((1, 4)), *lengths)
    return count(net)


def _known(net) -> bool:
    return all(extent > 0 for p in net.collect_params().values() for extent in p.shape or (0,))


def _vision(name, sizes, scores, times) -> dict[str, str]:
    from gluoncv.model_zoo import cards, model_store, sources

    prepared = cards.preprocessing_of(name)
    size = getattr(prepared, "size", 0)
    where = (["MXNet"] if model_store.has_published_weights(name) else []) + list(sources.names(name))
    more = f" and {len(where) - SHOWN} more" if len(where) > SHOWN else ""
    return dict(zip(COLUMNS, (
        name, cards.task_of(name), f"{size}" if isinstance(size, int) and size else "any", sizes[name][0],
        scores.get(name, ""), times.get(name, ""), ", ".join(where[:SHOWN]) + more or "none published",
    )))  # fmt: skip


def _language(sizes) -> list[dict[str, str]]:
    from gluonnlp.model import registry

    published = list(registry._published_weights())
    found = []
    for family in registry.FAMILIES:
        for name in sorted(family.CONFIGURATIONS):
            data = [row[len(name) + 1 :] for row in published if row.startswith(name + "_")]
            more = f" and {len(data) - SHOWN} more" if len(data) > SHOWN else ""
            weights = f"MXNet: {', '.join(data[:SHOWN])}{more}" if data else "none published"
            found.append(dict(zip(COLUMNS, (name, "language", "words", _per_word(*sizes[name]), "", "", weights))))
    return found


def _per_word(fixed: str, each: str) -> str:
    return f"{int(fixed):,} + {int(each):,} a word" if int(each) else fixed


def published_scores() -> dict[str, str]:
    """What GluonCV publishes for the weights of each network, with the measure: `37.0 box AP`."""
    with open(ACCURACIES, encoding="utf-8", newline="") as file:
        found = {row["network"]: f"{row['top-1']} top-1" for row in csv.DictReader(file, delimiter="\t")}
    with open(SCORES, encoding="utf-8", newline="") as file:
        return found | {
            row["network"]: f"{row['score']} {row['measure']}" for row in csv.DictReader(file, delimiter="\t")
        }


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
    value = text.partition(" ")[0].replace(",", "")
    return f'<td class="number" data-value="{escape(value)}">{shown}</td>'


def _write(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    text = table()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main() -> None:
    from core.files.atomic import write_bytes
    from gluon_cli.zoo import language_networks
    from gluoncv.model_zoo import get_model_list

    lines = [f"{name}\t{count_parameters(name) or ''}\t\n" for name in sorted(get_model_list())]
    for name in language_networks(False):
        fixed, each = count_of_language(name)
        lines.append(f"{name}\t{fixed}\t{each}\n")
    write_bytes(SIZES, ("network\tparameters\ta word\n" + "".join(lines)).encode())


if __name__ == "__main__":
    main()

"""What came of fine-tuning, as one HTML file that needs no other: curves, confusions, the worst mistakes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from core.files.atomic import write_bytes
from gluon.finetune.classifier import Classifier, Evaluation
from gluon.finetune.curves import svg
from gluon.finetune.recipe import Recipe

STYLE = """
body { font-family: sans-serif; margin: 2em auto; max-width: 60em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 } td, th { padding: .3em .6em; text-align: right }
th { font-weight: normal; color: #555 } .name { text-align: left }
.gallery { display: flex; flex-wrap: wrap; gap: 1em } figure { margin: 0; width: 14em; border: 1px solid #ddd; padding: .5em }
figure img { max-width: 100%; max-height: 14em; image-rendering: auto } figcaption { font-size: .85em; margin-top: .4em }
blockquote { margin: 0; font-size: .95em }
"""


def fit_and_report(
    classifier: Classifier,
    train: Sequence[tuple[Any, int]],
    held: Sequence[tuple[Any, int]],
    recipe: Recipe,
    model: str,
    data: str | os.PathLike,
    folder: str | os.PathLike | None,
    say: Callable[[str], None],
    bar: bool,
) -> Evaluation:
    """Fits a classifier, and writes it, its report and its checkpoints into a folder, where one is given.

    model, data: what the report says was trained on what; the others as in `Classifier.fit`.
    """
    say(f"{len(train)} {classifier.kind} of {len(classifier.classes)} classes to train on, {len(held)} to validate on")
    where = None if folder is None else Path(folder)
    result = classifier.fit(train, held, recipe, where and where / "checkpoints", say, bar)
    if where is not None:
        classifier.save(where)
        facts = {"data": os.fspath(data), "model": model, "weights": classifier.origin, **asdict(recipe)}
        write_report(where, classifier, held, result, f"{model} on {Path(data).name}", facts)
    return result


def write_report(
    folder: str | os.PathLike,
    classifier: Classifier,
    samples: Sequence[tuple[Any, int]],
    evaluation: Evaluation,
    title: str,
    facts: dict[str, Any],
    mistakes: int = 24,
) -> Path:
    """Writes report.html and report.json into a folder, and gives the path of the first.

    samples: those of the evaluation, for the gallery of the worst mistakes, of which there are at most so many.
    facts: what else the reader should know, such as the network and the recipe.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    worst = [
        {
            "sample": str(samples[i][0]), "is": classifier.classes[evaluation.labels[i]],
            "taken_for": classifier.classes[evaluation.predicted[i]],
            "probability_of_truth": float(evaluation.of_truth[i]), "probability": float(evaluation.probabilities[i].max()),
        }
        for i in evaluation.mistakes(mistakes)
    ]  # fmt: skip
    record = {
        "title": title, **facts, "history": classifier.history, "validation": evaluation.facts(), "mistakes": worst,
    }  # fmt: skip
    write_bytes(str(folder / "report.json"), json.dumps(record, indent=1, ensure_ascii=False, default=str).encode())
    shown = [classifier.shown(samples[i][0]) for i in evaluation.mistakes(mistakes)]
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{evaluation.accuracy:.1%} of {len(evaluation.labels)} validation samples right, "
        f"cross entropy {evaluation.loss:.3f}.</p>",
        _table((key, str(value)) for key, value in facts.items()),
        "<h2>Curves</h2>" + svg(classifier.history) if classifier.history else "",
        "<h2>Classes</h2>" + _classes(evaluation),
        "<h2>Confusion</h2><p>A row for each true class, a column for what it was taken for.</p>" + _confusion(evaluation),
        "<h2>Worst mistakes</h2>" + (_gallery(shown, worst) if worst else "<p>There are none.</p>"),
    ]  # fmt: skip
    page = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    page += f"<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    write_bytes(str(folder / "report.html"), page.encode())
    return folder / "report.html"


def _table(rows) -> str:
    cells = (f'<tr><td class="name">{escape(a)}</td><td class="name">{escape(b)}</td></tr>' for a, b in rows)
    return f"<table>{''.join(cells)}</table>"


def _classes(evaluation: Evaluation) -> str:
    rows = [
        f'<tr><td class="name">{escape(name)}</td><td>{row["precision"]:.3f}</td><td>{row["recall"]:.3f}</td>'
        f"<td>{row['f1']:.3f}</td><td>{row['samples']}</td></tr>"
        for name, row in evaluation.facts()["classes"].items()
    ]
    head = "".join(f"<th>{name}</th>" for name in ("", "precision", "recall", "F1", "samples"))
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _confusion(evaluation: Evaluation) -> str:
    counts, rows = evaluation.confusion, []
    for name, row in zip(evaluation.classes, counts, strict=True):
        total = max(int(row.sum()), 1)
        cells = "".join(
            f'<td style="background: rgba(31, 119, 180, {count / total:.2f})">{count or ""}</td>'
            for count in row.tolist()
        )
        rows.append(f'<tr><th class="name">{escape(name)}</th>{cells}</tr>')
    head = "".join(f"<th>{escape(name)}</th>" for name in evaluation.classes)
    return f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>"


def _gallery(shown: list[str], worst: list[dict]) -> str:
    figures = (
        f"<figure>{picture}<figcaption>{escape(row['is'])}, taken for {escape(row['taken_for'])} "
        f"({row['probability']:.0%}; the truth {row['probability_of_truth']:.1%})</figcaption></figure>"
        for picture, row in zip(shown, worst, strict=True)
    )
    return f'<div class="gallery">{"".join(figures)}</div>'

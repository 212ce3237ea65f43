"""Folders that `gluon train classify` wrote."""

from __future__ import annotations

from pathlib import Path


def is_classifier(name: str) -> bool:
    """Whether `name` is a folder with a trained classifier."""
    return (Path(name) / "classifier.json").is_file()


def load(folder: str):
    """The classifier of a folder, of pictures or of texts; MXNetError where it is damaged or of another kind."""
    from core.base import MXNetError
    from core.files.text import read_json

    path = Path(folder) / "classifier.json"
    kind = read_json(str(path)).get("kind")
    if kind == "pictures":
        from gluoncv.finetune import PictureClassifier

        return PictureClassifier.load(folder)
    if kind == "texts":
        from gluonnlp.finetune import TextClassifier

        return TextClassifier.load(folder)
    raise MXNetError(f"{path} has a classifier of {kind!r}; known are pictures and texts")

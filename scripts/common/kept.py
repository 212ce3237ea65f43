"""A trained network for text on disk: a folder with `net.params`, `vocab.json` and `model.json`,
which says how to build it.
"""

from __future__ import annotations

import json
from pathlib import Path

import gluonnlp as nlp
from core.files.atomic import write_bytes


def keep(folder: Path, net, vocab: nlp.Vocab, description: dict) -> None:
    """Writes the folder; the description comes last, so a folder that has one is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    net.save_parameters(str(folder / "net.params"))
    write_bytes(folder / "vocab.json", vocab.to_json().encode())
    write_bytes(folder / "model.json", json.dumps(description, indent=1).encode())


def kept(folder: Path) -> tuple[dict, nlp.Vocab, str]:
    """Description, vocabulary and the path of the parameters that `keep` wrote.

    SystemExit where there is no such folder.
    """
    if not (folder / "model.json").exists():
        raise SystemExit(f"{folder} has no model.json: no finished training has written its result there")
    description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    text = (folder / "vocab.json").read_text(encoding="utf-8")
    class_ = nlp.vocab.BERTVocab if "cls_token" in json.loads(text)["identifiers_to_tokens"] else nlp.Vocab
    return description, class_.from_json(text), str(folder / "net.params")

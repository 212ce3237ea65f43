"""A network on a BERT, together with what it takes to use it: its vocabulary, its labels, its settings.

On disk it is a folder: `net.params`, `vocab.json`, `model.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

import core as mx
import gluonnlp as nlp
from core.files.atomic import write_bytes
from scripts.bert.pretrained import Pretrained, named_bert


class Tuned:
    """The base of what the programs make; derived classes call it with the network and its settings.

    settings: arguments of the derived class behind `start`, which JSON can hold. pooler: whether the BERT has one.
    """

    pooler = True

    def __init__(self, start: Pretrained, net, **settings):
        self.vocab, self.net = start.vocab, net
        self.description = {"shapes": start.shapes, "merges": start.merges, "lower": start.lower, **settings}

    @classmethod
    def load(cls, folder: Path, ctx: mx.Context):
        """What `save` wrote."""
        description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        shapes, merges, lower = (description.pop(name) for name in ("shapes", "merges", "lower"))
        class_ = nlp.vocab.BERTVocab if merges is None else nlp.Vocab
        vocab = class_.from_json((folder / "vocab.json").read_text(encoding="utf-8"))
        bert = named_bert(vocab, pooler=cls.pooler, **shapes)
        tuned = cls(Pretrained(bert, vocab, shapes, merges, lower), **description)
        tuned.net.load_parameters(str(folder / "net.params"), ctx=ctx)
        return tuned

    def save(self, folder: Path) -> None:
        """Writes the folder; the description comes last, so a folder that has one is whole."""
        folder.mkdir(parents=True, exist_ok=True)
        self.net.save_parameters(str(folder / "net.params"))
        write_bytes(folder / "vocab.json", self.vocab.to_json().encode())
        write_bytes(folder / "model.json", json.dumps(self.description, indent=1).encode())

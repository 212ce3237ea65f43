"""A network on a BERT, together with what it takes to use it: its vocabulary, its labels, its settings."""

from __future__ import annotations

from pathlib import Path

import core as mx
from scripts.bert.pretrained import Pretrained, named_bert
from scripts.common.kept import keep, kept


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
        description, vocab, parameters = kept(folder)
        # Folders of earlier versions do not say how texts are read: then it is as word pieces in lower case.
        shapes, merges, lower = (
            description.pop(name, otherwise) for name, otherwise in (("shapes", {}), ("merges", None), ("lower", True))
        )
        bert = named_bert(vocab, pooler=cls.pooler, **shapes)
        tuned = cls(Pretrained(bert, vocab, shapes, merges, lower), **description)
        tuned.net.load_parameters(parameters, ctx=ctx)
        return tuned

    def save(self, folder: Path) -> None:
        """Writes the folder."""
        keep(folder, self.net, self.vocab, self.description)

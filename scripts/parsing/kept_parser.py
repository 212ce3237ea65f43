"""A dependency parser with its vocabulary: how it parses and is judged, and how it is kept on disk."""

from __future__ import annotations

from pathlib import Path

import gluonnlp as nlp
from scripts.common.kept import keep, kept
from scripts.parsing.treebank import Batches, ParserVocabulary, Sentence


class DepParser:
    """A biaffine parser (Dozat and Manning, 2017).

    shape: what `gluonnlp.model.BiaffineParser` takes behind the vocabulary.
    """

    def __init__(self, vocab: ParserVocabulary, shape: dict):
        self.vocab, self._shape = vocab, shape
        self.net = nlp.model.BiaffineParser(vocab, **shape)

    def parse(self, sentences: list[Sentence], buckets: int = 10, tokens: int = 5000) -> list[Sentence]:
        """The sentences with the trees that are found for them."""
        found = list(sentences)
        samples = [self.vocab.numbers(sentence) for sentence in sentences]
        for places, numbers in Batches(samples, buckets, tokens, shuffle=False) if samples else ():
            for place, (heads, relations) in zip(places, self.net(numbers[..., 0], numbers[..., 1]), strict=True):
                names = [self.vocab.relations[int(relation)] for relation in relations]
                found[place] = sentences[place]._replace(heads=[int(head) for head in heads], relations=names)
        return found

    def evaluate(self, sentences: list[Sentence], buckets: int = 10, tokens: int = 5000) -> dict[str, float]:
        """The share of words, punctuation among them, with the right head ("uas"),
        and with the right relation too ("las").
        """
        heads = both = words = 0
        for wanted, found in zip(sentences, self.parse(sentences, buckets, tokens), strict=True):
            of_words = list(zip(wanted.heads, found.heads, wanted.relations, found.relations, strict=True))
            heads += sum(a == b for a, b, _, _ in of_words)
            both += sum(a == b and c == d for a, b, c, d in of_words)
            words += len(of_words)
        return {"uas": heads / words, "las": both / words}

    def save(self, folder: Path) -> None:
        """Writes the parser to a folder."""
        names = {"tags": self.vocab.tags, "relations": self.vocab.relations}
        keep(folder, self.net, self.vocab.words, {"shape": self._shape, **names})

    @classmethod
    def load(cls, folder: Path) -> DepParser:
        """The parser that `save` wrote."""
        description, words, parameters = kept(folder)
        vocab = ParserVocabulary(words, description["tags"], description["relations"])
        parser = cls(vocab, description["shape"])
        parser.net.load(parameters)
        return parser

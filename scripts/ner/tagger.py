"""A BERT that tags words, and the files that it learns from."""

from __future__ import annotations

from pathlib import Path

import gluonnlp as nlp
from scripts.bert import tagging
from scripts.bert.pretrained import Pretrained
from scripts.bert.tuned import Tuned


class Tagger(Tuned):
    """The network with its tags; `seq_len` pieces of a sentence are read, words behind them are outside."""

    pooler = False

    def __init__(self, start: Pretrained, *, tags: list[str], seq_len: int, dropout: float = 0.0):
        net = nlp.model.BERTTagger(start.bert, len(tags), dropout)
        super().__init__(start, net, tags=tags, seq_len=seq_len, dropout=dropout)
        self.tags, self._seq_len, self._tokenizer = tags, seq_len, start.tokenizer()

    def samples(self, data: list[tuple[list[str], list[str]]]) -> list[tuple]:
        """Tokens, tags, mask and number of each sample `(words, tags)`.

        A tag that was not learned counts as the first.
        """
        number = {tag: i for i, tag in enumerate(self.tags)}
        made = []
        for index, (words, tags) in enumerate(data):
            sentence = tagging.sentence(words, self._tokenizer, self._seq_len)
            made.append((sentence.tokens, *tagging.placed(sentence, [number.get(tag, 0) for tag in tags]), index))
        return made

    def batches(self, samples: list[tuple], batch_size: int, *, shuffle: bool):
        """Batches of tokens, lengths, tags, mask, and numbers of samples."""
        return tagging.batches(samples, self.vocab[self.vocab.padding_token], batch_size, shuffle=shuffle)

    def scores(self, tokens, lengths):
        """The scores (batch, length, tags) of each piece."""
        return self.net(tokens, tokens.zeros_like(), lengths)

    def predict(self, sentences: list[list[str]], batch_size: int, context) -> list[list[str]]:
        """The tags of the words of each sentence; words that are not read are outside."""
        samples = self.samples([(words, [self.tags[0]] * len(words)) for words in sentences])
        found: list[list[str]] = [[]] * len(sentences)
        for tokens, lengths, _, mask, index in self.batches(samples, batch_size, shuffle=False):
            scores = self.scores(tokens.as_in_context(context), lengths.as_in_context(context))
            for i, tags in zip(index.asnumpy().astype(int), tagging.named(scores, mask, self.tags), strict=True):
                found[i] = tags + [tagging.OUTSIDE] * (len(sentences[i]) - len(tags))
        return found

    def evaluate(self, data: list[tuple[list[str], list[str]]], batch_size: int, context) -> dict[str, float]:
        """The share of right tags, and F1 of chunks."""
        found = self.predict([words for words, _ in data], batch_size, context)
        return tagging.quality(found, [tags for _, tags in data])


def read(path: Path) -> list[tuple[list[str], list[str]]]:
    """Words and tags, the first and the last column, of each sentence; lines that begin documents are left out."""
    sentences, rows = [], []
    with open(path, encoding="utf-8") as lines:
        for line in [*lines, ""]:
            columns = line.split()
            if columns and columns[0] != "-DOCSTART-":
                rows.append((columns[0], columns[-1]))
            elif rows and not columns:
                words, tags = zip(*rows, strict=True)
                sentences.append((list(words), list(tags)))
                rows = []
    return sentences

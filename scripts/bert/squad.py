"""Questions about paragraphs: windows of text that a BERT reads, answers out of its scores, and how good they are."""

from __future__ import annotations

import collections
import re
import string
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gluonnlp.data.bert import squad

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


class Window(NamedTuple):
    """A question and a part of its paragraph.

    question: its number. tokens, segments: what the network reads. start, end: places of the answer's first and last
    token, that of [CLS] where there is none. spans: of each place the (begin, end) of its characters in the
    paragraph, None for those that no answer begins or ends at. starts: whether an answer may begin at a place, which
    is so in the window that shows most of what is around it.
    """

    question: int
    tokens: list[int]
    segments: list[int]
    start: int
    end: int
    spans: list[tuple[int, int] | None]
    starts: list[bool]


class Layout(NamedTuple):
    """What a network reads of a question and a part of a paragraph.

    tokens, segments: of all. before: tokens in front of the paragraph. none: the place that stands for no answer.
    """

    tokens: list[str]
    segments: list[int]
    before: int
    none: int


def bert_layout(vocab, query: list[str], part: list[str]) -> Layout:
    """[CLS] question [SEP] paragraph [SEP]."""
    before = len(query) + 2
    tokens = [vocab.cls_token, *query, vocab.sep_token, *part, vocab.sep_token]
    return Layout(tokens, [0] * before + [1] * (len(part) + 1), before, 0)


def windows(
    number: int, record: tuple, tokenizer, *, longest: int, stride: int, question: int, training: bool,
    layout=bert_layout,
) -> list:  # fmt: skip
    """The windows of a record of `gluonnlp.data.SQuAD`: `longest` tokens each, `stride` tokens apart.

    question: tokens of the question that are kept. training: with the places of the first answer. layout: called with
    vocabulary, question and paragraph.
    """
    example = squad.convert_squad_examples(record, training)
    vocab = tokenizer.vocab
    query = tokenizer(example.question_text)[:question]
    first, last, tokens, _, words = squad.tokenize_and_align_positions(
        example.doc_tokens, example.start_position, example.end_position, tokenizer
    )
    answered = training and not example.is_impossible
    if answered:
        first, last = squad.improve_answer_span(tokens, first, last, tokenizer, example.orig_answer_text)
    characters = _characters(example.paragraph_text, tokens, words)
    parts, bounds = squad.get_doc_spans(tokens, longest - len(query) - 3, stride)
    made = []
    for i, (part, (begin, end)) in enumerate(zip(parts, bounds, strict=True)):
        read, segments, before, none = layout(vocab, query, part)
        behind = len(read) - before - len(part)
        place = (none, none)
        if answered:
            place = squad.align_position2doc_spans([first, last], (begin, end), offset=before, default_value=none)
        made.append(
            Window(
                number,
                vocab[read],
                segments,
                *place,
                [None] * before + characters[begin:end] + [None] * behind,
                [False] * before
                + [squad.check_is_max_context(bounds, i, p) for p in range(begin, end)]
                + [False] * behind,
            )
        )
    return made


def answer(
    paragraph: str,
    read: Iterable[tuple[Window, np.ndarray]],
    *,
    candidates: int,
    longest: int,
    none_above: float | None,
) -> str:
    """The best answer to a question, from its windows and their scores (length, 2) of each place as start and end.

    candidates: how many best starts and ends are combined. longest: tokens of an answer. none_above: "" where no answer
    (the place of [CLS]) scores higher than the best one by more than this; None: there always is an answer.
    """
    best, text, none = -np.inf, "", np.inf
    for window, scores in read:
        scores = scores[: len(window.tokens)]
        none = min(none, scores[0].sum())
        starts, ends = (np.argsort(-scores[:, side])[:candidates] for side in (0, 1))
        for i in starts:
            for j in ends:
                if (
                    window.spans[i] is None
                    or window.spans[j] is None
                    or not window.starts[i]
                    or not i <= j < i + longest
                ):
                    continue
                if scores[i, 0] + scores[j, 1] > best:
                    best = scores[i, 0] + scores[j, 1]
                    text = paragraph[window.spans[i][0] : window.spans[j][1]]
    return "" if none_above is not None and none - best > none_above else text


def quality(answers: Iterable[str], accepted: Iterable[list[str]]) -> dict[str, float]:
    """Exact matches and F1 of words in percent, as Rajpurkar et al. (2016, 2018): the best over the accepted answers.

    Case, punctuation and articles do not count; a question without accepted answers wants "".
    """
    exact, f1 = [], []
    for found, rights in zip(answers, accepted, strict=True):
        pairs = [(_words(found), _words(right)) for right in rights or [""]]
        exact.append(max(a == b for a, b in pairs))
        f1.append(max(_f1(a, b) for a, b in pairs))
    return {"exact_match": 100 * float(np.mean(exact)), "f1": 100 * float(np.mean(f1))}


def _characters(paragraph: str, tokens: list[str], words: list[int]) -> list[tuple[int, int]]:
    """Where each token stands in the paragraph: its own characters where pieces are as long as their word,
    else the word's.
    """
    places = [match.span() for match in re.finditer(r"\S+", paragraph)]
    lengths = [len(token.removeprefix("##").removeprefix("▁")) for token in tokens]
    whole = collections.Counter()
    for word, length in zip(words, lengths, strict=True):
        whole[word] += length
    spans, at = [], {}
    for word, length in zip(words, lengths, strict=True):
        begin, end = places[word]
        if whole[word] == end - begin:
            begin = at.get(word, begin)
            end = at[word] = begin + length
        spans.append((begin, end))
    return spans


def _words(text: str) -> list[str]:
    return ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split()


def _f1(found: list[str], right: list[str]) -> float:
    if not found or not right:
        return float(found == right)
    common = sum((collections.Counter(found) & collections.Counter(right)).values())
    return 2 * common / (len(found) + len(right))

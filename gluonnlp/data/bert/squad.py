"""From questions, paragraphs and answers to token positions and windows."""

from __future__ import annotations

import collections

__all__ = [
    "tokenize_and_align_positions",
    "get_doc_spans",
    "align_position2doc_spans",
    "improve_answer_span",
    "check_is_max_context",
    "convert_squad_examples",
]

SquadExample = collections.namedtuple(
    "SquadExample",
    [
        "qas_id",
        "question_text",
        "paragraph_text",
        "doc_tokens",
        "example_id",
        "orig_answer_text",
        "start_position",
        "end_position",
        "start_offset",
        "end_offset",
        "is_impossible",
    ],
)


def tokenize_and_align_positions(origin_text, start_position, end_position, tokenizer):
    """Cuts words into tokens and moves a span of words (first, last) to tokens.

    Gives first and last token, the tokens, the first token of each word, and the word of each token.

    >>> first, last, tokens, starts, words = gluonnlp.data.tokenize_and_align_positions(["in", "New-York"], 1, 1, lambda word: word.split("-"))
    >>> (first, last), tokens, starts, words
    ((1, 2), ['in', 'New', 'York'], [0, 1], [0, 1, 1])
    """
    tokens, first_token, word_of_token = [], [], []
    for i, word in enumerate(origin_text):
        first_token.append(len(tokens))
        tokens += tokenizer(word)
        word_of_token += [i] * (len(tokens) - len(word_of_token))
    # The word behind the span: behind -1, as questions without an answer have it, that is the first one.
    behind = end_position + 1
    end = first_token[behind] if behind < len(origin_text) else len(tokens)
    return first_token[start_position], end - 1, tokens, first_token, word_of_token


def get_doc_spans(full_doc, max_length, doc_stride):
    """Windows of at most `max_length` tokens, `doc_stride` apart: their tokens, and their (begin, end).

    >>> gluonnlp.data.get_doc_spans([1, 2, 3, 4, 5], 3, 2)[0]
    ([1, 2, 3], [3, 4, 5])
    """
    spans, begin = [], 0
    while begin < len(full_doc):
        end = min(begin + max_length, len(full_doc))
        spans.append((full_doc[begin:end], (begin, end)))
        if end == len(full_doc):
            break
        begin += min(end - begin, doc_stride)
    return list(zip(*spans))


def align_position2doc_spans(positions, doc_spans_indices, offset=0, default_value=-1, all_in_span=True):
    """Positions in a document as positions in a window (begin, end), plus `offset`.

    Outside of the window they are `default_value`; with `all_in_span` as soon as one is outside.

    >>> window = (10, 20)  # tokens of the document that a window shows
    >>> gluonnlp.data.align_position2doc_spans([12, 15], window, offset=3), gluonnlp.data.align_position2doc_spans([12, 25], window)
    ([5, 8], [-1, -1])
    """
    positions = positions if isinstance(positions, list) else [positions]
    begin, end = doc_spans_indices
    inside = [begin <= p < end for p in positions]
    if all_in_span and not all(inside):
        inside = [False] * len(positions)
    return [p - begin + offset if within else default_value for p, within in zip(positions, inside, strict=True)]


def improve_answer_span(doc_tokens, input_start, input_end, tokenizer, orig_answer_text):
    """The first, longest span of tokens within (input_start, input_end) that is the tokenized answer, else the span.

    "(1895-1943)" is one word, but the answer may be "1895".

    >>> tokens = "the poet ( 1895 - 1943 )".split()
    >>> gluonnlp.data.improve_answer_span(tokens, 2, 6, str.split, "1895")
    (3, 3)
    """
    answer = " ".join(tokenizer(orig_answer_text))
    for start in range(input_start, input_end + 1):
        for end in range(input_end, start - 1, -1):
            if " ".join(doc_tokens[start : end + 1]) == answer:
                return start, end
    return input_start, input_end


def check_is_max_context(doc_spans, cur_span_index, position):
    """Whether, of all windows (begin, end) with a position, the given one has most context on its scarcer side.

    >>> gluonnlp.data.check_is_max_context([(0, 5), (3, 5)], 0, 4)
    True
    """
    scores = {
        i: min(position - begin, end - 1 - position) + 0.01 * (end - begin)
        for i, (begin, end) in enumerate(doc_spans)
        if begin <= position < end
    }
    return bool(scores) and max(scores, key=scores.get) == cur_span_index


def convert_squad_examples(record, is_training):
    """A record of `gluonnlp.data.SQuAD` as a SquadExample, with positions in words when training, else -1.

    >>> context = "Ada Lovelace wrote the first program"
    >>> record = (0, "q1", "Who wrote it?", context, ["Ada Lovelace"], [0], False)
    >>> example = gluonnlp.data.convert_squad_examples(record, is_training=True)
    >>> example.start_position, example.end_position, example.doc_tokens[:2]
    (0, 1, ['Ada', 'Lovelace'])
    """
    example_id, qas_id, question, paragraph, answers, offsets, *impossible = record
    is_impossible = impossible[0] if impossible else False
    answer, offset = answers[0] if answers else "", offsets[0] if offsets else ""
    words, word_of_char = [], []
    in_word = False
    for char in paragraph:
        if char.isspace():
            in_word = False
        elif in_word:
            words[-1] += char
        else:
            words.append(char)
            in_word = True
        word_of_char.append(len(words) - 1)
    start = end = -1
    if is_training and not is_impossible:
        start, end = word_of_char[offset], word_of_char[offset + len(answer) - 1]
    offset = -1 if is_impossible else offset
    return SquadExample(
        qas_id=qas_id,
        question_text=question,
        paragraph_text=paragraph,
        doc_tokens=words,
        example_id=example_id,
        orig_answer_text=answer,
        start_position=start,
        end_position=end,
        start_offset=offset,
        end_offset=offset + len(answer) - 1,
        is_impossible=is_impossible,
    )

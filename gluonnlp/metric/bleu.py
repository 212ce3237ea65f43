"""BLEU, the agreement of translations with references (Papineni et al., 2002), and the tokenizers of mteval."""

from __future__ import annotations

import collections
import functools
import math
import re
import sys
import unicodedata

__all__ = ["compute_bleu"]


def compute_bleu(
    reference_corpus_list,
    translation_corpus,
    tokenized=True,
    tokenizer="13a",
    max_n=4,
    smooth=False,
    lower_case=False,
    bpe=False,
    split_compound_word=False,
):
    """BLEU of a corpus: (score, precisions of 1- to max_n-grams, brevity penalty, reference and translation length).

    reference_corpus_list: one or several lists of reference sentences; translation_corpus: the translations.
    tokenized: whether sentences are lists of tokens; otherwise they are strings, which `tokenizer` splits:
        '13a', 'intl', or None for splitting at white space only.
    smooth: adds 1 to matches and candidates (Lin and Och, 2004).  lower_case: ignores case.
    bpe: joins subwords marked with `@@`.  split_compound_word: splits `rich-text` at the hyphen.
    The score goes from 0 to 1.  Of several references the one of the closest length counts for the brevity penalty.
    ValueError when the numbers of sentences differ; TypeError when sentences are not as `tokenized` says.

    >>> words = "the cat sat on the mat".split()
    >>> gluonnlp.metric.compute_bleu([[words]], [words])[0]
    1.0
    """
    for references in reference_corpus_list:
        if len(references) != len(translation_corpus):
            raise ValueError(f"{len(references)} references for {len(translation_corpus)} translations.")
    kind = (list, tuple) if tokenized else str
    for sentence in (reference_corpus_list[0][0], translation_corpus[0]):
        if not isinstance(sentence, kind):
            wanted = "lists of tokens" if tokenized else "strings"
            raise TypeError(f"With tokenized={tokenized} sentences are {wanted}, not {type(sentence).__name__}.")
    steps = []
    if not tokenized:
        split = {"13a": _tokenize_mteval_13a, "intl": _tokenize_mteval_v14_intl, None: str}[tokenizer]
        steps.append(lambda text: split(text).split())
    if bpe:
        steps.append(_join_subwords)
    if split_compound_word:
        steps.append(lambda tokens: re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", " ".join(tokens)).split())
    if lower_case:
        steps.append(lambda tokens: [token.lower() for token in tokens])

    matches, candidates = [0] * max_n, [0] * max_n
    reference_length = translation_length = 0
    for sentences in zip(*reference_corpus_list, translation_corpus):
        *references, translation = (functools.reduce(lambda x, step: step(x), steps, s) for s in sentences)
        reference_length += min(map(len, references), key=lambda n: (abs(n - len(translation)), n))
        translation_length += len(translation)
        for n in range(1, max_n + 1):
            of_references = functools.reduce(lambda a, b: a | b, (_ngrams(r, n) for r in references))
            matches[n - 1] += sum((_ngrams(translation, n) & of_references).values())
            candidates[n - 1] += max(0, len(translation) - n + 1)
    extra = 1 if smooth else 0
    precisions = [(m + extra) / (c + extra) if c else 0.0 for m, c in zip(matches, candidates)]
    penalty = _brevity_penalty(reference_length, translation_length)
    mean = math.exp(sum(map(math.log, precisions)) / max_n) if min(precisions) > 0 else 0
    return mean * penalty, precisions, penalty, reference_length, translation_length


def _ngrams(tokens, n):
    return collections.Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def _brevity_penalty(reference_length, translation_length):
    if translation_length > reference_length:
        return 1
    return math.exp(1 - reference_length / translation_length) if translation_length else 0


def _join_subwords(tokens, mark="@@"):
    """`a@@ b` to `ab`; a marked subword at the end has nothing to join and is dropped."""
    words, word = [], ""
    for token in tokens:
        if token.endswith(mark):
            word += token.removesuffix(mark)
        else:
            words.append(word + token)
            word = ""
    return words


def _tokenize_mteval_13a(segment):
    """A text with blanks between its tokens, by the rules of mteval-v13a.pl (NIST)."""
    text = segment.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, char in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(entity, char)
    text = re.sub(r"([{-~\[-` -&(-+:-@/])", r" \1 ", f" {text} ")
    text = re.sub(r"([^0-9])([.,])", r"\1 \2 ", text)
    text = re.sub(r"([.,])([^0-9])", r" \1 \2", text)
    text = re.sub(r"([0-9])(-)", r"\1 \2 ", text)
    return re.sub(r"\s+", " ", text).strip()


def _tokenize_mteval_v14_intl(segment):
    """A text with blanks around punctuation (but within numbers) and symbols, by the rules of mteval-v14.pl (NIST)."""
    after_other, before_other, symbol = _international_rules()
    text = after_other.sub(r"\1 \2 ", segment.rstrip())
    text = before_other.sub(r" \1 \2", text)
    return symbol.sub(r" \1 ", text).strip()


@functools.cache
def _international_rules():
    by_category = collections.defaultdict(list)
    for code in range(sys.maxunicode):
        by_category[unicodedata.category(chr(code))[0]].append(chr(code))
    # The backslash was lost in the expression that the scores published so far were made with.
    punctuation = re.escape("".join(c for c in by_category["P"] if c != "\\"))
    symbols = re.escape("".join(by_category["S"]))
    expressions = rf"([^\d])([{punctuation}])", rf"([{punctuation}])([^\d])", f"([{symbols}])"
    return tuple(map(re.compile, expressions))

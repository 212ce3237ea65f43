"""What BERT is pretrained on (Devlin et al., 2019): pairs of passages, of which some words are masked,
made from documents.
"""

from __future__ import annotations

import argparse
import glob
import io
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import gluonnlp as nlp
from core.files.atomic import write_bytes
from core.files.numpy_files import NumpyArchive

# Arrays of a file of instances, a row each: types, and whether a row is as long as the text or as the masked words.
FIELDS = {
    "input_ids": ("int32", "text"),
    "segment_ids": ("int32", "text"),
    "masked_lm_positions": ("int32", "masked"),
    "masked_lm_ids": ("int32", "masked"),
    "masked_lm_weights": ("float32", "masked"),
    "next_sentence_labels": ("int32", ""),
    "valid_lengths": ("int32", ""),
}


class Instance(NamedTuple):
    """tokens: [CLS] A [SEP] B [SEP] as pieces, masked; segments: 0 for A, 1 for B. positions, labels: which pieces were
    masked, and what they were. is_random: whether B does not follow A in its document.
    """

    tokens: list[str]
    segments: list[int]
    positions: list[int]
    labels: list[str]
    is_random: bool


class Settings(NamedTuple):
    """How instances are made; lengths are in pieces, with [CLS] and [SEP]."""

    max_seq_length: int
    max_predictions_per_seq: int
    masked_lm_prob: float = 0.15
    short_seq_prob: float = 0.1
    whole_word_mask: bool = False


def documents(paths: Sequence[Path], tokenizer) -> list[list[list[str]]]:
    """The pieces of each sentence of each document: files have a sentence a line, an empty line between documents."""
    found: list[list[list[str]]] = []
    for path in paths:
        found.append([])
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                pieces = tokenizer(line.strip())
                if pieces:
                    found[-1].append(pieces)
                elif found[-1] and not line.strip():
                    found.append([])
    return [document for document in found if document]


def instances(documents: list, vocab, settings: Settings, rng: random.Random) -> list[Instance]:
    """One pass over the documents, in random order."""
    words = [piece for piece in vocab.idx_to_token if piece not in (vocab.cls_token, vocab.sep_token, vocab.mask_token)]
    made = []
    for index in range(len(documents)):
        for first, second, is_random in _pairs(documents, index, settings, rng):
            tokens = [vocab.cls_token, *first, vocab.sep_token, *second, vocab.sep_token]
            segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
            masked, positions, labels = mask(tokens, vocab, words, settings, rng)
            made.append(Instance(masked, segments, positions, labels, is_random))
    rng.shuffle(made)
    return made


def mask(tokens: list[str], vocab, words: list[str], settings: Settings, rng: random.Random) -> tuple[list, list, list]:
    """The tokens with some masked, their positions in rising order, and what they were.

    Of the chosen ones eight in ten become [MASK], one in ten a random word, and one stays. With whole_word_mask the
    pieces of a word are chosen together.
    """
    groups: list[list[int]] = []
    for place, token in enumerate(tokens):
        if token in (vocab.cls_token, vocab.sep_token):
            continue
        if settings.whole_word_mask and token.startswith("##") and groups and groups[-1][-1] == place - 1:
            groups[-1].append(place)
        else:
            groups.append([place])
    rng.shuffle(groups)
    wanted = min(settings.max_predictions_per_seq, max(1, round(len(tokens) * settings.masked_lm_prob)))
    chosen: list[int] = []
    for group in groups:
        if len(chosen) + len(group) <= wanted:
            chosen += group
    masked = list(tokens)
    for place in chosen:
        chance = rng.random()
        if chance < 0.8:
            masked[place] = vocab.mask_token
        elif chance < 0.9:
            masked[place] = rng.choice(words)
    positions = sorted(chosen)
    return masked, positions, [tokens[place] for place in positions]


def save(path: Path, made: list[Instance], vocab, settings: Settings) -> None:
    """Writes an .npz with the arrays of FIELDS."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays(made, vocab, settings))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, file.getvalue())


def arrays(made: list[Instance], vocab, settings: Settings) -> dict[str, np.ndarray]:
    """The arrays of FIELDS; rows are padded to the longest that `settings` allow."""
    width = {"text": (settings.max_seq_length,), "masked": (settings.max_predictions_per_seq,), "": ()}
    found = {name: np.zeros((len(made), *width[kind]), dtype) for name, (dtype, kind) in FIELDS.items()}
    found["input_ids"][:] = vocab[vocab.padding_token]
    for row, instance in enumerate(made):
        length, count = len(instance.tokens), len(instance.positions)
        found["input_ids"][row, :length] = vocab[instance.tokens]
        found["segment_ids"][row, :length] = instance.segments
        found["masked_lm_positions"][row, :count] = instance.positions
        found["masked_lm_ids"][row, :count] = vocab[instance.labels]
        found["masked_lm_weights"][row, :count] = 1
        found["next_sentence_labels"][row] = instance.is_random
        found["valid_lengths"][row] = length
    return found


def add_instance_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what says how instances are made of texts, the fields of `Settings`."""
    add = parser.add_argument
    add("--max_seq_length", type=int, default=512, help="pieces of an instance (default: %(default)s)")
    add("--max_predictions_per_seq", type=int, default=80, help="masked ones at most (default: %(default)s)")
    add("--masked_lm_prob", type=float, default=0.15, help="share of masked ones (default: %(default)s)")
    add("--short_seq_prob", type=float, default=0.1, help="share of shorter instances (default: %(default)s)")
    add("--whole_word_mask", action="store_true", help="mask the pieces of a word together")


def of_texts(args: argparse.Namespace, paths: Sequence[Path], seed: int) -> dict[str, np.ndarray]:
    """The arrays of one pass over texts; SystemExit for files with too few sentences."""
    cut = tokenizer(args)
    settings = Settings(*(getattr(args, name) for name in Settings._fields))
    made = instances(documents(paths, cut), cut.vocab, settings, random.Random(seed))
    if not made:
        raise SystemExit("the files have too few sentences: an instance needs two passages")
    return arrays(made, cut.vocab, settings)


def add_vocabulary_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what says which word pieces there are, for `tokenizer`."""
    parser.add_argument("--vocab", help="vocab.txt or tokenizer.json of word pieces (default: that of --dataset_name)")
    parser.add_argument(
        "--dataset_name",
        default="book_corpus_wiki_en_uncased",
        help="whose published word pieces are taken without --vocab (default: %(default)s)",
    )
    parser.add_argument("--cased", action="store_true", help="keep case; published word pieces say so by their name")


def tokenizer(args: argparse.Namespace) -> nlp.data.BERTTokenizer:
    """What cuts texts into the word pieces that the arguments name."""
    if args.vocab:
        return nlp.data.BERTTokenizer.from_file(args.vocab, lower=not args.cased)
    folder = nlp.base.kept_in(None, "models")
    vocab = nlp.data.utils._load_pretrained_vocab(args.dataset_name, folder, cls=nlp.vocab.BERTVocab)
    return nlp.data.BERTTokenizer(vocab, lower="uncased" in args.dataset_name)


def matching(patterns: Sequence[str | Path]) -> list[Path]:
    """The files that patterns match, sorted; what matches none is taken for a name. Commas part patterns."""
    split = [part for pattern in patterns for part in str(pattern).split(",")]
    return [Path(name) for pattern in split for name in sorted(glob.glob(pattern)) or [pattern]]


def load(paths: Sequence[Path]) -> dict[str, np.ndarray]:
    """The arrays of files that `save` wrote with the same settings, end to end."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in FIELDS}
    for path in paths:
        file = NumpyArchive(path, max_ratio=0)  # these are padded with zeros, and large
        for name in FIELDS:
            parts[name].append(file[name])
    return {name: np.concatenate(found) for name, found in parts.items()}


def _pairs(documents: list, index: int, settings: Settings, rng: random.Random) -> Iterator[tuple[list, list, bool]]:
    """Passages A and B of a document, and whether B is from another one: as often as not, where there is another."""
    longest = settings.max_seq_length - 3
    document, begin = documents[index], 0
    while begin < len(document):
        target = rng.randint(2, longest) if rng.random() < settings.short_seq_prob else longest
        end, length = begin, 0
        while end < len(document) and (length < target or end == begin):
            length += len(document[end])
            end += 1
        cut = begin + (rng.randint(1, end - begin - 1) if end - begin > 1 else 1)
        first = [piece for sentence in document[begin:cut] for piece in sentence]
        is_random = len(documents) > 1 and (end - begin == 1 or rng.random() < 0.5)
        if is_random:
            other = documents[rng.choice([i for i in range(len(documents)) if i != index])]
            second, source = [], rng.randrange(len(other))
            while source < len(other) and len(second) < target - len(first):
                second += other[source]
                source += 1
            second = second or list(other[-1])
            end = cut  # what was not used comes again
        else:
            second = [piece for sentence in document[cut:end] for piece in sentence]
        _shorten(first, second, longest, rng)
        if first and second:
            yield first, second, is_random
        begin = end


def _shorten(first: list, second: list, longest: int, rng: random.Random) -> None:
    """Takes pieces from the front or the back of the longer passage until both fit."""
    while len(first) + len(second) > longest:
        passage = first if len(first) > len(second) else second
        del passage[0 if rng.random() < 0.5 else -1]

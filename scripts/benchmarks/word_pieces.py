"""BERT's tokenizer against the Rust package `tokenizers` (where installed), one core each, on Multi30k and reviews.

Seconds are those of the processor, so that other programs on the machine hardly count.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import gluonnlp as nlp
from core.files.archives import open_packed
from scripts.benchmarks.table import report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="(default: %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="passes over the text, best counts (default: %(default)s)"
    )
    parser.add_argument("--vocab-size", type=int, default=20000, help="word pieces (default: %(default)s)")
    args = parser.parse_args()

    lines = read(args.data)
    vocab = make_vocab(lines, args.vocab_size)
    ours = nlp.data.BERTTokenizer(vocab)
    programs = {"gluonnlp": lambda: sum(len(ours(line)) for line in lines)}
    try:
        import tokenizers
    except ImportError:
        print("tokenizers is not installed: no comparison (pip install tokenizers)")
    else:
        rust = tokenizers.BertWordPieceTokenizer(dict(vocab.token_to_idx), lowercase=True)
        programs["tokenizers, line by line"] = lambda: sum(
            len(rust.encode(line, add_special_tokens=False)) for line in lines
        )
        programs["tokenizers, in a batch"] = lambda: sum(map(len, rust.encode_batch(lines, add_special_tokens=False)))

    measured = best(programs, args.rounds)
    rows = [
        {
            "tokenizer": name,
            "tokens": tokens,
            "tokens/s": tokens / seconds,
            "gluonnlp's rate over it": seconds / measured["gluonnlp"][1],
        }
        for name, (tokens, seconds) in measured.items()
    ]
    report(
        "word_pieces",
        f"BERT tokenizer, {len(lines)} lines, {len(vocab)} word pieces, processor time, best of {args.rounds}",
        rows,
    )


def read(data: Path) -> list[str]:
    with io.TextIOWrapper(open_packed(data / "multi30k" / "train.en.gz"), encoding="utf8") as file:
        lines = [line.strip() for line in file]
    return lines + [text for text, _ in nlp.data.MR(root=str(data / "mr"))]


def make_vocab(lines: list[str], size: int) -> nlp.vocab.BERTVocab:
    """Frequent words, and their beginnings and rests, as pieces."""
    counts, split = nlp.data.Counter(), nlp.data.BERTBasicTokenizer()
    for line in lines:
        for word in split(line):
            counts.update([word, word[:1], word[:2], "##" + word[1:], "##" + word[2:]])
            counts.update("##" + c for c in word)
    return nlp.vocab.BERTVocab(counts, max_size=size)


def best(programs: dict[str, Callable[[], int]], rounds: int) -> dict[str, tuple[int, float]]:
    """What each program gives, and the processor's seconds of its fastest run; the programs take turns."""
    fastest = dict.fromkeys(programs, float("inf"))
    for _ in range(rounds):
        results = {}
        for name, program in programs.items():
            start = time.process_time()
            results[name] = program()
            fastest[name] = min(fastest[name], time.process_time() - start)
    return {name: (results[name], fastest[name]) for name in programs}


if __name__ == "__main__":
    main()

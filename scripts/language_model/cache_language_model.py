"""The perplexity of a language model with a cache of the words it read lately (Grave, Joulin and Usunier, 2017).

    python scripts/language_model/cache_language_model.py --data-dir ../shared/data --dataset wikitext-2 \\
        --output_dir checkpoints/language_model/model

The model is one that word_language_model.py made, or a published one. The first --window words of a text fill the
cache.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from scripts.common.devices import contexts
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.record import LOGS, Record
from scripts.language_model.kept_model import add_model_arguments, chosen
from scripts.language_model.text import add_text_arguments, corpora


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    context = contexts(args)[0]
    parts, files = corpora(args.data_dir, args.dataset, args.words)
    record = Record("language_model", args.run, data=checksums(files), folder=args.log_dir) if args.run else None
    if record:
        record.begin()
    net, vocab = chosen(args, context)
    found = {}
    for part in ("dev", "test"):
        words = mx.nd.array(vocab[parts[part]], ctx=context).reshape((-1, 1))
        for name, share in (("", 0.0), ("cache_", args.lambdas)):
            cell = nlp.model.train.CacheCell(net, len(vocab), args.window, args.theta, share)
            found[f"{part}_{name}perplexity"] = perplexity(cell, words, args.bptt)
    said = "  ".join(f"{name} {value:.6g}" for name, value in found.items())
    if record:
        settings = {name: getattr(args, name) for name in ("dataset", "window", "theta", "lambdas", "words")}
        record.put(arguments=settings, epochs=[], final=found, published="")
        record.say(said)
    else:
        print(said)
    return found


def perplexity(cell: nlp.model.train.CacheCell, words: mx.nd.NDArray, bptt: int) -> float:
    """exp of the mean of -log p of each word (length, 1) but the first, `bptt` words at a time."""
    total, state, history = 0.0, cell.begin_state(batch_size=1, ctx=words.context), (None, None)
    for begin in range(0, len(words) - 1, bptt):
        end = min(begin + bptt, len(words) - 1)
        p, *history, state = cell(words[begin:end], words[begin + 1 : end + 1], *history, state)
        total -= float(p.log().sum().asscalar())
    return math.exp(total / (len(words) - 1))


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_text_arguments(parser)
    add_model_arguments(parser, "--model_name")
    parser.add_argument("--path_to_params_file", help="parameters for --model_name (default: the published ones)")
    parser.add_argument("--bptt", type=int, default=2000, help="words at a time (default: %(default)s)")
    parser.add_argument("--window", type=int, default=2000, help="words in the cache (default: %(default)s)")
    parser.add_argument("--theta", type=float, default=0.662, help="weight of similarity (default: %(default)s)")
    parser.add_argument("--lambdas", type=float, default=0.1279, help="share of the cache (default: %(default)s)")
    parser.add_argument("--run", help="name of log files (default: none are written)")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

"""Goes on with a text as a language model would: words drawn by their probability,
or the likeliest ones by beam search.

    python scripts/text_generation/sequence_sampling.py random-sample --output_dir checkpoints/language_model/model \\
        --bos "I think this works" --temperature 0.8
    python scripts/text_generation/sequence_sampling.py beam-search --checkpoint FOLDER --bos "I think this works"

The model is one that word_language_model.py made, a GPT-2 in a folder of Hugging Face, or a published one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core import random
from scripts.common.devices import contexts
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.language_model.kept_model import add_model_arguments, chosen


class Writer(NamedTuple):
    """What continues texts: decoder(words (batch,), states) gives scores (batch, vocabulary) and states."""

    decoder: object
    vocab: nlp.Vocab
    split: Callable[[str], list[str]]
    join: Callable[[list[str]], str]
    end: str


class WordDecoder:
    """One step of a language model of words."""

    def __init__(self, net):
        self._net, self.state_info = net, net.state_info

    def __call__(self, words, states):
        scores, states, *_ = self._net(words.expand_dims(0), states)
        return scores[0], states

    def begin(self, count: int, context: mx.Context):
        """The states before the first word."""
        return self._net.begin_state(batch_size=count, ctx=context)


class PieceDecoder:
    """One step of a GPT-2."""

    def __init__(self, net):
        self._net = net

    def __call__(self, words, states):
        scores, states = self._net(words.expand_dims(1), states)
        return scores[:, -1], states

    def begin(self, count: int, context: mx.Context) -> None:
        """The states before the first word: none."""


@program
def main(argv: list[str] | None = None) -> list[tuple[str, float]]:
    args = parse_args(argv)
    context = contexts(args)[0]
    random.seed(args.seed)
    found = continuations(writer(args, context), args, context)
    for text, score in found[: args.print_num]:
        print(f"{score:.4f}\t{text}")
    return found


def writer(args: argparse.Namespace, context: mx.Context) -> Writer:
    """The model that the arguments name, with its way to split and join texts."""
    if not args.checkpoint and not args.model_name.startswith("gpt2"):
        net, vocab = chosen(args, context)
        return Writer(WordDecoder(net), vocab, str.split, " ".join, vocab.eos_token or "<eos>")
    if args.checkpoint:
        net, vocab, tokenizer = nlp.model.load_huggingface(args.checkpoint, ctx=context)
    else:
        net, vocab = nlp.model.get_model(args.model_name, "openai_webtext", pretrained=True, ctx=context)
        tokenizer = nlp.data.GPT2BPETokenizer()
    return Writer(PieceDecoder(net), vocab, tokenizer, nlp.data.GPT2BPEDetokenizer(), vocab.eos_token)


def continuations(writer: Writer, args: argparse.Namespace, context: mx.Context) -> list[tuple[str, float]]:
    """The texts and their scores, best first."""
    numbers = writer.vocab[writer.split(args.bos)]
    if not numbers:
        raise SystemExit("--bos has no words: the model has nothing to go on with")
    states = writer.decoder.begin(1, context)
    for number in numbers[:-1]:
        _, states = writer.decoder(mx.nd.array([number], ctx=context), states)
    settings = {"eos_id": writer.vocab[writer.end], "max_length": args.max_length - len(numbers)}
    if args.how == "beam-search":
        scorer = nlp.model.BeamSearchScorer(alpha=args.alpha, K=args.k, from_logits=False)
        sampler = nlp.model.BeamSearchSampler(args.beam_size, writer.decoder, scorer=scorer, **settings)
    else:
        settings |= {"temperature": args.temperature, "top_k": args.use_top_k}
        sampler = nlp.model.SequenceSampler(args.beam_size, writer.decoder, **settings)
    samples, scores, lengths = (x[0].asnumpy() for x in sampler(mx.nd.array(numbers[-1:], ctx=context), states))
    first = writer.vocab.to_tokens(numbers[:-1])
    texts = [
        (writer.join([*first, *writer.vocab.to_tokens(row[: int(length)].tolist())]), float(score))
        for row, length, score in zip(samples, lengths, scores, strict=True)
    ]
    return sorted(texts, key=lambda text: -text[1])


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    ways = parser.add_subparsers(dest="how", required=True)
    search = ways.add_parser("beam-search", help="the likeliest continuations")
    search.add_argument("--alpha", type=float, default=0.0, help="length penalty (default: %(default)s)")
    search.add_argument("--k", type=float, default=5, help="length penalty (default: %(default)s)")
    draw = ways.add_parser("random-sample", help="continuations drawn by their probability")
    draw.add_argument("--temperature", type=float, default=1.0, help="below 1: likely words (default: %(default)s)")
    draw.add_argument("--use-top-k", type=int, help="draw among so many words only (default: all)")
    for way in (search, draw):
        add_model_arguments(way, "--lm-model")
        way.add_argument("--checkpoint", help="folder of a GPT-2 of Hugging Face")
        way.add_argument("--bos", default="I think this works", help="the text to go on with (default: %(default)s)")
        way.add_argument("--max-length", type=int, default=20, help="words in all (default: %(default)s)")
        way.add_argument("--beam-size", type=int, default=5, help="how many continuations (default: %(default)s)")
        way.add_argument("--print-num", type=int, default=3, help="how many are shown (default: %(default)s)")
        way.add_argument("--seed", type=int, default=0, help="seed of what is drawn (default: %(default)s)")
    args = parser.parse_args(argv)
    if args.max_length <= len(args.bos.split()):
        parser.error(f"--max-length {args.max_length} leaves no room behind the words of --bos")
    return args


if __name__ == "__main__":
    main()

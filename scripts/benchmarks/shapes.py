"""Times networks whose inputs have another length at every call: what one plan for all of them is worth.

- `decode`: GPT-2 with 117M parameters, word by word behind a prompt, hybridized over eager, and over the GPT-2 of
  Hugging Face's transformers with its cache, where that package is installed.
- `bert`: BERT-base at many lengths, the plan for all of them over plans of their own.
- `train`: a language model of LSTMs on random lengths, and a Transformer on buckets: a whole epoch, compiling included,
  hybridized over eager.
- `static`: such epochs under `static_shape=True`, whose promise they break, over plain hybridize.
- `memory`: the most memory that a process takes which does nothing but such an epoch, in MB.

Contenders take turns in one process, but for `memory`: call by call, in epochs batch by batch. Figures are medians, in all
but epochs after calls that are not counted; of epochs, each of a network that was never called, each batch has the
median of what it took in all of them, so that a disturbance of one counts in none. Weights are random.

    python scripts/benchmarks/shapes.py                       # all of them
    python scripts/benchmarks/shapes.py decode --tokens 64 --json logs/benchmarks/shapes.json
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
from core import autograd, nd
from gluon import HybridBlock, Trainer, nn, rnn
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.benchmarks.sparse import peak
from scripts.benchmarks.table import report
from scripts.common.record import LOGS


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="what to time (default: all)")
    parser.add_argument("--tokens", type=int, default=64, help="words that are decoded (default 64)")
    parser.add_argument("--prompt", type=int, default=128, help="words of the prompt (default 128)")
    parser.add_argument("--steps", type=int, default=250, help="batches of an epoch (default 250)")
    parser.add_argument("--epochs", type=int, default=3, help="epochs of each contender (default 3)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender (default 5)")
    parser.add_argument("--small", action="store_true", help="tiny networks, to see that it runs")
    parser.add_argument("--logs", type=Path, default=LOGS, help="folder for the log and the JSON (default: logs)")
    parser.add_argument("--alone", nargs=2, metavar=("CASE", "HOW"), help="print the memory that one epoch takes")
    args = parser.parse_args(argv)
    if args.alone:
        return print(peak_of(args, *args.alone))
    rows = [row for name in args.parts or PARTS for row in PARTS[name](args)]
    report(
        "shapes",
        "Lengths that vary: one plan for all of them; milliseconds (MB of memory), and their ratio",
        rows,
        args.logs,
    )
    return rows


def row(case: str, ours: float, against: str, theirs: float, bar: float, plans: int) -> dict:
    """A line of the table, of seconds; plans: how many the hybridized network made."""
    return {
        "case": case, "ours": 1000 * ours, "against": against, "theirs": 1000 * theirs, "ratio": ours / theirs, "bar": bar,
        "plans": plans,
    }  # fmt: skip


def plans_of(net) -> int:
    """The most plans that one block of a network made."""
    found = []
    net.apply(lambda block: found.append(getattr(block, "_compiled", None)))
    return max(len({id(plan) for plan in compiled._plans.values()}) for compiled in found if compiled is not None)


def turns(contenders: dict, rounds: int) -> dict[str, float]:
    """Median seconds of each contender's call, which take turns; the first turn is not counted."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for k in range(rounds + 1):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            if k:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(t) for name, t in times.items()}


# ---------------------------------------------------------------------------------------------- decoding


def decode(args):
    """GPT-2, one word at a time, with caches that grow and with caches of a fixed capacity."""
    from gluonnlp.model import GPT2Model

    units, layers, heads, words = (32, 2, 2, 100) if args.small else (768, 12, 12, 50257)
    length = args.prompt + args.tokens
    prompt = np.random.RandomState(0).randint(0, words, (1, args.prompt))

    def run(net, fixed):
        states, word = net.begin_cache(1, length) if fixed else None, nd.array(prompt)
        for _ in range(args.tokens):
            scores, states = net(word, states)
            word = scores[:, -1].argmax(axis=-1).reshape((1, 1))
        word.wait_to_read()

    nets, contenders = {}, {}
    for name in (f"{how}, {cache}" for how in ("eager", "hybridized") for cache in ("growing", "fixed")):
        mx.random.seed(0)
        net = nets[name] = GPT2Model(units, words, length + 1, layers, heads)
        net.initialize()
        net.hybridize("hybridized" in name)
        contenders[name] = lambda net=net, name=name: run(net, "fixed" in name)
    if importlib.util.find_spec("transformers") is not None:
        contenders["transformers"] = theirs(units, layers, heads, words, length, prompt, args.tokens)
    seconds = turns(contenders, args.rounds)
    each = {name: t / args.tokens for name, t in seconds.items()}
    for cache in ("growing", "fixed"):
        name = f"hybridized, {cache}"
        case, plans = (
            f"GPT-2 decoding, {cache} cache, a word of {args.tokens} after {args.prompt}",
            plans_of(nets[name]),
        )
        yield row(case, each[name], f"eager, {cache}", each[f"eager, {cache}"], 0.75, plans)
        if "transformers" in each:
            yield row(case, each[name], "transformers", each["transformers"], 0.95, plans)


def theirs(units, layers, heads, words, length, prompt, tokens):
    """The same with transformers."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=words, n_positions=length + 1, n_embd=units, n_layer=layers, n_head=heads)
    model = GPT2LMHeadModel(config).eval()

    @torch.inference_mode()
    def run():
        word, past = torch.tensor(prompt), None
        for _ in range(tokens):
            out = model(word, past_key_values=past, use_cache=True)
            past, word = out.past_key_values, out.logits[:, -1].argmax(-1, keepdim=True)

    return run


# ---------------------------------------------------------------------------------------------- BERT


def bert(args):
    """BERT-base at lengths that vary, over a plan for each."""
    from gluonnlp.model import BERTEncoder, BERTModel

    units, layers, heads, words = (32, 2, 2, 100) if args.small else (768, 12, 12, 30522)
    settings = {"num_layers": layers, "units": units, "hidden_size": 4 * units, "max_length": 512, "num_heads": heads}
    net = BERTModel(BERTEncoder(dropout=0.1, **settings), words, 2, units=units, embed_size=units, use_decoder=False)
    net.initialize()
    random = np.random.RandomState(0)
    lengths = list(range(30, 70))
    random.shuffle(lengths)

    def call(length):
        ids = nd.array(random.randint(0, words, (1, length)))
        types, valid = nd.zeros((1, length)), nd.array([length])

        def run():
            out = net(ids, types, valid)
            out[0].wait_to_read()

        return run

    calls = {n: call(n) for n in lengths}
    net.hybridize()
    for run in calls.values():
        run()
    opened, plans, times = net._compiled, plans_of(net), []
    for n in lengths[2 :: 1 if args.small else 5]:
        net.hybridize()
        fixed = net._compile(net._run_anew, ())

        def using(compiled, run=calls[n]):
            net._compiled = compiled
            run()

        contenders = {"open": lambda: using(opened), "fixed": lambda fixed=fixed: using(fixed)}
        times.append(turns(contenders, 4 * args.rounds))
    times.sort(key=lambda t: t["open"] / t["fixed"])
    for title, t in (("median", times[len(times) // 2]), ("worst", times[-1])):
        yield row(
            f"BERT-base, batch 1, 40 lengths, {title}", t["open"], "a plan for the length", t["fixed"], 1.1, plans
        )


# ---------------------------------------------------------------------------------------------- training


class LanguageModel(HybridBlock):
    """Words (length, batch) to scores of the next ones."""

    def __init__(self, words, units, layers):
        super().__init__()
        with self.name_scope():
            self.embed, self.rnn = nn.Embedding(words, units), rnn.LSTM(units, layers, input_size=units)
            self.scores = nn.Dense(words, flatten=False, in_units=units)

    def hybrid_forward(self, F, x):
        return self.scores(self.rnn(self.embed(x)))


def train(args):
    """An epoch of a language model on random lengths, and of a Transformer on buckets."""
    yield from compared(args, "hybridized", "eager", 0.95)


def static(args):
    """Epochs whose shapes are many, of which static_shape promises that they are few."""
    yield from compared(args, "static_shape", "hybridized", 1.0)


def compared(args, ours: str, theirs: str, bar: float):
    """Seconds of each epoch in two ways (`HOW`): the sum over batches, each the median of what it took in all epochs."""
    for title, prepare in EPOCHS.items():
        make, data = prepare(args)
        times: dict[str, list[list[float]]] = {theirs: [], ours: []}  # of each epoch, by batch
        for _ in range(args.epochs):
            runs, order = {how: Training(make, how) for how in times}, list(times)
            for how in order:
                times[how].append([])
            for batch in data:
                for how in order:
                    times[how][-1].append(runs[how].step(*batch))
                order = order[::-1]
        seconds = {how: sum(map(statistics.median, zip(*epochs, strict=True))) for how, epochs in times.items()}
        yield row(title, seconds[ours], theirs, seconds[theirs], bar, plans_of(runs[ours].net))


def memory(args):
    """The most memory of processes that run one epoch each."""
    given = [f"--steps={args.steps}", *(["--small"] if args.small else [])]
    for title in EPOCHS:
        found = {}
        for how in ("eager", "hybridized"):
            command = [sys.executable, __file__, *given, "--alone", title, how]
            result = subprocess.run(command, capture_output=True, text=True, check=True)
            found[how], plans = map(float, result.stdout.split())
        yield row(f"{title}, memory", found["hybridized"] / 1e3, "eager", found["eager"] / 1e3, 1.1, int(plans))


def peak_of(args, title: str, how: str) -> str:
    """The most MB that this process took when it has run an epoch, and the number of plans."""
    make, data = EPOCHS[title](args)
    training = Training(make, how)
    for batch in data:
        training.step(*batch)
    return f"{peak()} {0 if how == 'eager' else plans_of(training.net)}"


def language_model(args):
    """A language model, and batches of random lengths."""
    random = np.random.RandomState(0)
    words, units, steps = sizes(args)
    batches = [random.randint(0, words, (n + 1, 20)) for n in random.randint(20, 41, steps)]
    return lambda: LanguageModel(words, units, 2), [((nd.array(b[:-1]),), nd.array(b[1:])) for b in batches]


def translation(args):
    """A Transformer, and batches of 20 buckets."""
    random = np.random.RandomState(0)
    words, units, steps = sizes(args)
    buckets = [(random.randint(5, 40), random.randint(5, 40)) for _ in range(20)]
    data = []
    for source, target in (buckets[random.randint(20)] for _ in range(steps)):
        x, y = random.randint(4, words, (16, source)), random.randint(4, words, (16, target + 1))
        lengths = nd.array([source] * 16), nd.array([target] * 16)
        data.append(((nd.array(x), nd.array(y[:, :-1]), *lengths), nd.array(y[:, 1:])))
    return lambda: translator(words, units // 8 * 8), data


def sizes(args) -> tuple[int, int, int]:
    """Words, units, batches."""
    return (50, 16, 12) if args.small else (2000, 200, args.steps)


EPOCHS = {"LSTM LM, an epoch of lengths 20 to 40": language_model, "Transformer, an epoch of 20 buckets": translation}


def translator(words, units):
    """A Transformer of two layers, as `scripts/machine_translation` trains it."""
    from gluonnlp.data import count_tokens
    from gluonnlp.model.transformer import get_transformer_encoder_decoder
    from gluonnlp.model.translation import NMTModel
    from gluonnlp.vocab import Vocab

    vocab = Vocab(count_tokens(map(str, range(words))))
    encoder, decoder, one_step = get_transformer_encoder_decoder(
        units=units, hidden_size=4 * units, num_heads=4, num_layers=2, max_src_length=64, max_tgt_length=64, dropout=0.1
    )
    return NMTModel(vocab, vocab, encoder, decoder, one_step, embed_size=units)


# Arguments of `hybridize`.
HOW = {"eager": {"active": False}, "hybridized": {}, "static_shape": {"static_alloc": True, "static_shape": True}}


class Training:
    """A network that was never called, and how it is trained: in a way of `HOW`."""

    def __init__(self, make, how: str):
        mx.random.seed(0)
        self.net, self.loss = make(), SoftmaxCrossEntropyLoss()
        self.net.initialize()
        self.net.hybridize(**HOW[how])
        self.trainer = Trainer(self.net.collect_params(), "adam", {"learning_rate": 1e-3})

    def step(self, inputs, labels) -> float:
        """Seconds of a batch."""
        start = time.perf_counter()
        with autograd.record():
            out = self.net(*inputs)
            total = self.loss(out[0] if isinstance(out, (list, tuple)) else out, labels)
        total.backward()
        self.trainer.step(labels.shape[0])
        nd.waitall()
        return time.perf_counter() - start


PARTS = {"decode": decode, "bert": bert, "train": train, "static": static, "memory": memory}

if __name__ == "__main__":
    main()

"""Compares a classifier of sentences with itself on codes of eight bits: accuracy on SST-2, and how long a call takes.

    python scripts/bert/finetune_classifier.py --task_name SST --data-dir sst --checkpoint all-minilm-l6-v2 \\
        --output_dir tuned
    python scripts/bert/finetune_classifier.py --task_name SST --data-dir sst --checkpoint all-minilm-l6-v2 \\
        --model_parameters tuned/net.params --output_dir tuned --only_calibration --quantized_dtype auto
    python scripts/bert/compare_eight_bits.py --data-dir sst --output_dir tuned \\
        --model_prefix tuned/model_bert_SST_quantized_customize --calls 50

The networks take turns, so that what else the machine does meets both. Without --calls only accuracy is compared.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from core import metric
from scripts.bert.deployment import INPUTS
from scripts.bert.finetune_classifier import treebank
from scripts.bert.text_classifier import TextClassifier
from scripts.common.deployment import deployed
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.record import LOGS, Record

WARM_UP = 5  # calls before time is taken


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    files = [args.data_dir / f"stsa.binary.{part}" for part in ("dev", "test")]
    weights = [args.output_dir / "net.params", Path(f"{args.model_prefix}-0000.params")]
    record = Record("bert", args.run, data=checksums([*files, *weights]), folder=args.log_dir)
    record.begin()
    whole, codes = (TextClassifier.load(args.output_dir, mx.cpu()) for _ in range(2))
    whole.net.hybridize(static_alloc=True)
    codes.net = deployed(args.model_prefix, INPUTS, mx.cpu())
    nets = {"float32": whole, "int8": codes}
    parts = treebank(args.data_dir, 0)
    final: dict[str, float] = {}
    for part in ("dev", "test"):
        texts = parts[part][: args.samples]
        inputs = whole.inputs((text,) for text, _ in texts)
        samples = [(*fields, whole.labels.index(label)) for fields, (_, label) in zip(inputs, texts, strict=True)]
        for name, classifier in nets.items():
            final[f"{part}_accuracy_{name}"] = accuracy(classifier, samples, args.batch_size)
        record.say("  ".join(f"{name} {value:.4f}" for name, value in final.items() if name.startswith(part)))
    for size in args.sizes if args.calls else ():
        batch = next(iter(whole.batches((samples * size)[:size], size, shuffle=False)))
        times = latencies(nets, batch[:3], args.calls)
        final |= {f"ms_{name}_batch{size}": 1000 * value for name, value in times.items()}
        final[f"ratio_batch{size}"] = times["int8"] / times["float32"]
        record.say(f"batch {size}: int8 takes {final[f'ratio_batch{size}']:.2f} of the time of float32")
    record.put(title="MiniLM on SST-2 in eight bits", final=final, rows=[final])
    return final


def accuracy(classifier: TextClassifier, samples: list[tuple], batch_size: int) -> float:
    """The share of samples that are told right."""
    found = metric.Accuracy()
    for *inputs, label in classifier.batches(samples, batch_size, shuffle=False):
        found.update([label], [classifier.scores(inputs, mx.cpu())])
    return found.get()[1]


def latencies(nets: dict[str, TextClassifier], inputs, calls: int) -> dict[str, float]:
    """The median seconds of a call of each, by turns."""
    seconds: dict[str, list[float]] = {name: [] for name in nets}
    for number in range(WARM_UP + calls):
        for name, classifier in nets.items():
            begin = time.perf_counter()
            classifier.scores(inputs, mx.cpu()).wait_to_read()
            if number >= WARM_UP:
                seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in seconds.items()}


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--data-dir", type=Path, required=True, help="folder with stsa.binary.dev and stsa.binary.test")
    add("--output_dir", type=Path, required=True, help="the tuned network, as finetune_classifier.py writes it")
    add("--model_prefix", required=True, help="the same on codes, as its --only_calibration writes it")
    add("--batch_size", type=int, default=64, help="sentences (default: %(default)s)")
    add("--samples", type=int, help="use only the first so many of each part")
    add("--calls", type=int, default=0, metavar="N", help="calls that are timed, on an idle machine (default: none)")
    add("--sizes", type=int, nargs="+", default=[1, 32], help="sentences in the calls that are timed (default: 1 32)")
    add("--run", default="minilm_sst_eight_bits", help="name of the log files (default: %(default)s)")
    add("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

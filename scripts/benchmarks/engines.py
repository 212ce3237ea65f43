"""Times predictions on a CPU against the engines that serve there: OpenVINO and ONNX Runtime, on our own ONNX export.

Each contender runs in a process of its own; they take turns of a few calls. Where memory comes to lie makes some per
cent of difference between processes of the same work: `--processes` takes the median of several.

Of each network: ours hybridized, in float32, bfloat16 and int8 (`quantize_net_v2`, calibrated on the input), the engines
in float32, OpenVINO in bfloat16 and in int8 (of what ONNX Runtime's static quantization makes of the export, calibrated
on the input), and `net.optimize_for(x, backend="openvino")`, which should cost what OpenVINO alone does. The bars:
float32 over the faster engine, bfloat16 over OpenVINO's, int8 over our own float32 and over OpenVINO's. Weights are
random. Extras: openvino, onnxruntime.

The last row is what a node of a plan for fixed shapes costs besides the work: what a hybridized chain of convolutions
of single pixels takes with 100 more of them, a hundredth of it, their kernels of half a microsecond included. It runs in
one thread: what several take to meet behind each kernel (1 to 2 us on two processors) is no part of the plan.

    python scripts/benchmarks/engines.py
    python scripts/benchmarks/engines.py --only 'MobileNet 1.0' --rounds 5
    python scripts/benchmarks/engines.py --only 'BERT' --rounds 5 --keep  # beside the rows of the call before
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmarks.contenders import Contender, serve, take_turns
from scripts.benchmarks.networks import medians
from scripts.common import environment

OURS, BFLOAT16, INT8 = "ours", "ours, bfloat16", "ours, int8"
OPENVINO, OPENVINO16, OPENVINO8 = "OpenVINO", "OpenVINO, bfloat16", "OpenVINO, int8"
RUNTIME, HANDED = "ONNX Runtime", "optimize_for, OpenVINO"
PACKAGES = {OPENVINO: ["openvino"], OPENVINO16: ["openvino"], HANDED: ["openvino"], RUNTIME: ["onnxruntime"]}
PACKAGES[OPENVINO8] = ["openvino", "onnxruntime"]
# name -> (zoo network, batch, bar of int8 over float32 or None)
CASES = {
    "ResNet-50 v1, batch 1": ("resnet50_v1", 1, 0.45),
    "ResNet-50 v1, batch 8": ("resnet50_v1", 8, 0.45),
    "MobileNet 1.0, batch 1": ("mobilenet1.0", 1, 0.5),
    "MobileNet 1.0, batch 8": ("mobilenet1.0", 8, 0.5),
    "MobileNetV3 large, batch 8": ("mobilenetv3_large", 8, None),
    "DenseNet-121, batch 1": ("densenet121", 1, None),
    "BERT-base classifier, 1 x 128": ("bert", 1, None),
    "BERT-base classifier, 8 x 128": ("bert", 8, 0.5),
}
NODE, NODE_BAR = "a node of a plan", 1.5e-3  # milliseconds
FEW, MANY = 10, 110  # nodes of the chains that are compared


def main(argv: list[str] | None = None) -> list[dict]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="cases such as 'DenseNet-121, batch 1'")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each contender (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=1, help="of each contender, in turn (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each contender (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the log's rows of other cases, made of this commit")
    parser.add_argument("--small", action="store_true", help="small inputs and a small BERT, to see that it runs")
    logs = Path(__file__).resolve().parents[2] / "logs"
    parser.add_argument("--logs", type=Path, default=logs, help="folder for the log and the JSON (default: logs)")
    parser.add_argument("--contender", nargs=3, metavar=("KIND", "CASE", "SMALL"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.contender:
        serve(*step_of(*args.contender))
        return []
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    from scripts.benchmarks.table import report

    names = [name for name in (*CASES, NODE) if re.search(args.only, name)]
    if not names:
        parser.error(f"--only {args.only} fits none of: {'; '.join((*CASES, NODE))}")
    rows = kept(names, args) if args.keep else []
    rows += [row for name in names for row in (node(args) if name == NODE else compare(name, args))]
    rows.sort(key=lambda row: (*CASES, NODE).index(row["network"]))
    title = f"predictions beside engines, {args.threads} threads, medians"
    report("engines", title, rows, args.logs, how=how(args))
    return rows


def how(args: argparse.Namespace) -> dict:
    """What rows must have in common to stand in one log, besides commit, versions and machine."""
    return {"rounds": args.rounds, "threads": args.threads, "small": args.small}


def kept(names: list[str], args: argparse.Namespace) -> list[dict]:
    """The rows of other cases in the log that is there; none where that was made of something else, or otherwise."""
    path = args.logs / "benchmarks" / "engines.json"
    if not path.exists():
        return []
    facts = json.loads(path.read_text())
    now = {"commit": environment.commit(), "versions": environment.versions(), "device": environment.device()}
    others = [key for key, value in {**now, "how": how(args)}.items() if facts.get(key) != value]
    if others:
        print(f"no rows are kept: {path} has another {' and '.join(others)}")
        return []
    return [row for row in facts["rows"] if row["network"] not in names]


def compare(case: str, args: argparse.Namespace) -> list[dict]:
    """A row for each contender of a case."""
    int8_bar = CASES[case][2]
    eight = [INT8, OPENVINO8] if int8_bar is not None else []
    kinds = [OURS, BFLOAT16, *eight, OPENVINO, OPENVINO16, HANDED, RUNTIME]
    present = []
    for kind in kinds:
        absent = [package for package in PACKAGES.get(kind, []) if importlib.util.find_spec(package) is None]
        if absent:
            print(f"{kind} is skipped: pip install 'gluon-triton[{','.join(absent)}]'")
        else:
            present.append(kind)
    turns: dict[str, list[dict]] = {kind: [] for kind in present}
    for _ in range(args.processes):
        contenders = {}
        for kind in present:
            contenders[kind] = Contender(sys.executable, __file__, [kind, case, "small" if args.small else "whole"])
            contenders[kind].steps(2)  # before the next begins: exporting takes several times what predicting does
        for kind, answers in take_turns(contenders, args.rounds, 1 if args.small else 3).items():
            turns[kind] += answers
    times = medians(turns)
    engines = [times[kind] for kind in (OPENVINO, RUNTIME) if kind in times]
    yardsticks = {
        OURS: [("the faster engine", min(engines), 1.0)] if engines else [],
        BFLOAT16: [(OPENVINO16, times.get(OPENVINO16), 1.1)],
        INT8: [(OURS, times[OURS], int8_bar), (OPENVINO8, times.get(OPENVINO8), 1.3)],
        HANDED: [(OPENVINO, times.get(OPENVINO), 1.03)],
    }
    rows = []
    for kind, seconds in times.items():
        row = {"network": case, "contender": kind, "processes": args.processes, "ms": 1000 * seconds}
        over = [(name, yardstick, bar) for name, yardstick, bar in yardsticks.get(kind, []) if yardstick]
        for name, yardstick, bar in over or [("", None, "")]:
            rows.append({**row, "over": name, "ratio": seconds / yardstick if yardstick else "", "bar": bar})
    return rows


def node(args: argparse.Namespace) -> list[dict]:
    """The row for a node of a plan."""
    alone = {"OMP_NUM_THREADS": "1"}
    contenders = {str(n): Contender(sys.executable, __file__, [str(n), NODE, "small"], alone) for n in (FEW, MANY)}
    few, many = medians(take_turns(contenders, args.rounds, 1000)).values()
    ms = 1000 * (many - few) / (MANY - FEW)
    row = {"network": NODE, "contender": OURS, "processes": 1, "ms": ms}
    return [{**row, "over": "1.5 us", "ratio": ms / NODE_BAR, "bar": 1.0}]


# ---------------------------------------------------------------- inside a contender


def step_of(kind: str, case: str, size: str):
    """A call of the network by this contender, and the number of its parameters."""
    import numpy as np

    from core import nd

    if case == NODE:
        return chain(int(kind)), 0
    net, inputs = prepared(case, size == "small")
    count = sum(int(np.prod(p.shape)) for p in net.collect_params().values())
    if kind == INT8:
        from gluon.contrib.quantization import quantize_net_v2

        net = quantize_net_v2(net, calib_mode="naive", calib_data=[inputs], quantize_granularity="channel-wise")
        net.hybridize(static_alloc=True, static_shape=True)
    elif kind == BFLOAT16:
        net.cast("bfloat16")
        inputs = inputs if CASES[case][0] == "bert" else [x.astype("bfloat16") for x in inputs]
    elif kind == HANDED:
        net.optimize_for(*inputs, backend="openvino")
    elif kind != OURS:
        return engine_of(kind, net, [x.asnumpy() for x in inputs]), count

    def step():
        net(*inputs)
        nd.waitall()

    return step, count


def prepared(case: str, small: bool) -> tuple:
    """The network of a case, hybridized and called, and its inputs."""
    import core as mx
    from core import nd

    network, batch, _ = CASES[case]
    net, arrays = build(network, batch, small)
    net.initialize(mx.init.Xavier())
    inputs = [nd.array(x) for x in arrays]
    net.hybridize(static_alloc=True, static_shape=True)
    net(*inputs)
    return net, inputs


def chain(nodes: int):
    """A call of a hybridized network of so many convolutions of single pixels."""
    import core as mx
    from core import nd
    from gluon import nn

    # So little work would stay with ATen, whose dispatcher is no part of the plan.
    importlib.import_module("core.graph.passes.stretches").LEAST = 1
    net = nn.HybridSequential()
    for _ in range(nodes):
        net.add(nn.Conv2D(16, 1, in_channels=16))
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    x = nd.ones((1, 16, 1, 1))
    return lambda: net(x)


def build(network: str, batch: int, small: bool):
    """The network, and its inputs as NumPy arrays."""
    import numpy as np

    random = np.random.RandomState(0)
    if network != "bert":
        from gluoncv.model_zoo import get_model

        side = 64 if small else 224
        return get_model(network), [random.standard_normal((batch, 3, side, side)).astype("float32")]
    from gluonnlp.model import BERTClassifier, BERTEncoder, BERTModel

    units, layers, heads, words, length = (32, 2, 2, 100, 16) if small else (768, 12, 12, 30522, 128)
    encoder = BERTEncoder(num_layers=layers, units=units, hidden_size=4 * units, max_length=length, num_heads=heads)
    bert = BERTModel(encoder, words, 2, units=units, embed_size=units, use_decoder=False, use_classifier=False)
    ids = random.randint(0, words, (batch, length)).astype("float32")
    return BERTClassifier(bert), [ids, np.zeros_like(ids), np.full(batch, length, "float32")]


def engine_of(kind: str, net, arrays: list):
    """A call of the engine alone on our export."""
    from gluon.block.backends import LOADERS

    with tempfile.TemporaryDirectory() as folder:
        path = exported(net, arrays, folder)
        if kind == OPENVINO8:
            path = in_eight_bits(path, arrays)
        options = {"INFERENCE_PRECISION_HINT": "bf16"} if kind == OPENVINO16 else {}
        backend = PACKAGES[kind][0]
        run = LOADERS[backend](__import__(backend), path, options)
    return lambda: run(arrays)


def exported(net, arrays: list, folder: str) -> str:
    """The path of the network as ONNX."""
    from core.contrib.onnx import export_model
    from gluon.block.export import contents

    symbol, arguments, states = contents(net, net._called_with)
    shapes, dtypes = [x.shape for x in arrays], [x.dtype for x in arrays]
    return export_model(symbol, arguments | states, shapes, dtypes, f"{folder}/network.onnx")


def in_eight_bits(path: str, arrays: list) -> str:
    """The network in a file with its products in int8, as ONNX Runtime's static quantization makes it."""
    import onnxruntime
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    folded, made = f"{path}.folded.onnx", f"{path}.int8.onnx"
    quant_pre_process(path, folded, skip_symbolic_shape=True)
    session = onnxruntime.InferenceSession(folded, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]

    class Once(quantization.CalibrationDataReader):
        """The inputs, once."""

        batches = iter([dict(zip(names, arrays, strict=True))])

        def get_next(self):
            return next(self.batches, None)

    quantization.quantize_static(folded, made, Once(), per_channel=True, weight_type=quantization.QuantType.QInt8)
    return made


if __name__ == "__main__":
    main()

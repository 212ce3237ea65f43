"""Takes a network of `engines.py` apart: what its products take in our plan, and in OpenVINO's, layer by layer.

Both libraries time their own layers (oneDNN by ONEDNN_VERBOSE, OpenVINO by PERF_COUNT), which costs either some
microseconds for each. Layers of the same channels and places stand in one row, medians of calls, with what else there is
(reorders, pools, sums) in the last. Extras: onednn, openvino.

    python scripts/benchmarks/engine_layers.py 'ResNet-50 v1, batch 1'
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmarks.engines import CASES, OPENVINO, OURS, exported, prepared
from scripts.benchmarks.table import LOGS, report

MATRICES, OTHERS, BEGIN = "products of matrices", "others", "a call begins"


def main(argv: list[str] | None = None) -> list[dict]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=list(CASES), metavar="CASE", help=f"one of: {'; '.join(CASES)}")
    parser.add_argument("--calls", type=int, default=30, help="that are timed (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of either (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="small inputs, to see that it runs")
    parser.add_argument("--logs", type=Path, default=LOGS, help="folder for the log and the JSON (default: logs)")
    parser.add_argument("--contender", choices=[OURS, OPENVINO], help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.contender:
        CALLS[args.contender](args.case, args.calls, args.small)
        return []
    ours, theirs = (of_lines(lines_of(kind, args)) for kind in (OURS, OPENVINO))
    rows = []
    for layer in sorted({*ours, *theirs}, key=lambda name: (name == OTHERS, -statistics.median(ours.get(name, [0])))):
        mine, other = (statistics.median(times.get(layer, [0.0])) for times in (ours, theirs))
        rows.append({"layer": layer, "ours, ms": mine, "OpenVINO, ms": other, "difference": mine - other})
    name = "engine_layers_" + re.sub(r"\W+", "_", args.case.lower())
    report(name, f"{args.case}: layers, {args.threads} threads, medians", rows, args.logs, calls=args.calls)
    return rows


def lines_of(kind: str, args: argparse.Namespace) -> list[str]:
    """What a contender in a process of its own says of its layers."""
    command = [sys.executable, __file__, args.case, "--contender", kind, "--calls", str(args.calls)]
    environ = os.environ | {"OMP_NUM_THREADS": str(args.threads)}
    if kind == OURS:
        environ["ONEDNN_VERBOSE"] = "profile_exec"
    done = subprocess.run(command + ["--small"] * args.small, env=environ, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{kind} failed:\n{done.stderr}")
    return done.stdout.splitlines()


def of_lines(lines: list[str]) -> dict[str, list[float]]:
    """Milliseconds by layer, call by call."""
    calls: list[dict[str, float]] = []
    for line in lines:
        if line == BEGIN:
            calls.append(defaultdict(float))
        elif calls and (found := described(line)):
            calls[-1][found[0]] += found[1]
    return {layer: [call[layer] for call in calls] for layer in {name for call in calls for name in call}}


def described(line: str) -> tuple[str, float] | None:
    """The layer of a line of either contender, and its milliseconds; None for other lines."""
    if line.startswith(f"{OPENVINO}: "):
        _, layer, ms = line.split(": ")
        return layer, float(ms)
    if not line.startswith("onednn_verbose") or ",exec,cpu," not in line:
        return None
    *_, problem, ms = line.split(",")
    kind = line.split(",exec,cpu,")[1].split(",")[0]
    if kind == "convolution":
        numbers = dict(re.findall(r"(g|ic|oc|ih|oh)(\d+)", problem))
        return named("g" in numbers, *(int(numbers[key]) for key in ("ic", "oc", "ih", "oh"))), float(ms)
    if kind == "inner_product":
        return MATRICES, float(ms)
    return OTHERS, float(ms)


def named(by_channel: bool, inputs: int, outputs: int, read: int, made: int) -> str:
    """A convolution by its channels and places."""
    places = f"{read} x {read}" + (f" to {made} x {made}" if made != read else "")
    return f"conv by channel, {inputs} at {places}" if by_channel else f"conv, {inputs} to {outputs} at {places}"


# ---------------------------------------------------------------- inside a contender


def our_calls(case: str, calls: int, small: bool) -> None:
    """Calls of the hybridized network, of which oneDNN tells."""
    net, inputs = prepared(case, small)
    for _ in range(calls):
        print(BEGIN, flush=True)
        net(*inputs).wait_to_read()


def openvino_calls(case: str, calls: int, small: bool) -> None:
    """Calls of OpenVINO, whose layers are printed."""
    import openvino

    net, inputs = prepared(case, small)
    with tempfile.TemporaryDirectory() as folder:
        path = exported(net, [x.asnumpy() for x in inputs], folder)
        options = {"INFERENCE_PRECISION_HINT": "f32", "PERF_COUNT": True}
        compiled = openvino.Core().compile_model(path, "CPU", options)
    ops = {op.get_friendly_name(): op for op in compiled.get_runtime_model().get_ordered_ops()}
    request = compiled.create_infer_request()
    for _ in range(calls):
        request.infer([x.asnumpy() for x in inputs], share_inputs=True)
        print(BEGIN)
        for run in request.profiling_info:
            print(
                f"{OPENVINO}: {layer_of(run.node_type, ops.get(run.node_name))}: {1000 * run.real_time.total_seconds()}"
            )


def layer_of(kind: str, op) -> str:
    """The layer of a node of OpenVINO's compiled network, of which there is one where it is executed."""
    if kind in ("FullyConnected", "MatMul"):
        return MATRICES
    if op is None or kind not in ("Convolution", "GroupConvolution"):
        return OTHERS
    (_, inputs, read, *_), (_, outputs, made, *_) = op.get_input_shape(0), op.get_output_shape(0)
    return named(kind == "GroupConvolution", inputs, outputs, read, made)


CALLS = {OURS: our_calls, OPENVINO: openvino_calls}


if __name__ == "__main__":
    main()

"""Networks as they leave Python: read from files, put on codes of eight bits, and how fast they are."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import core as mx
from gluon import SymbolBlock
from gluon.contrib.quantization import quantize_net

# Calls before time is taken.
WARM_UP = 5


def add_deployment_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what says which network is tested, and what is done with it in place of a test."""
    add = parser.add_argument
    add("--deploy", action="store_true", help="the network in the files of --model-prefix, not one of the zoo")
    add("--model-prefix", help="network in PREFIX-symbol.json and PREFIX-0000.params, that --calibration writes too")
    add("--quantized", action="store_true", help="the network of the zoo on codes of eight bits")
    add("--calibration", action="store_true", help="find the ranges of such codes, write the network's files, and end")
    add("--num-calib-batches", type=int, default=5, help="batches for --calibration (default: %(default)s)")
    add("--quantized-dtype", choices=("auto", "int8", "uint8"), default="auto", help="codes (default: %(default)s)")
    add("--calib-mode", choices=("none", "naive", "entropy"), default="naive", help="ranges (default: %(default)s)")
    add("--benchmark", action="store_true", help="measure how fast the network is on random input, and end")
    add("--num-iterations", type=int, default=100, help="batches for --benchmark (default: %(default)s)")


def tested_network(args: argparse.Namespace, make: Callable, device):
    """The network in the files, or `make(suffix)`, of the zoo's name with this suffix."""
    if args.deploy:
        return deployed(args.model_prefix, ["data"], device)
    return make("_int8" if args.quantized else "")


def deployed(prefix: str, inputs: list[str], device) -> SymbolBlock:
    """The network in the files of this prefix, hybridized; SystemExit for files that lack."""
    files = [Path(f"{prefix}{end}") for end in ("-symbol.json", "-0000.params")]
    absent = [str(file) for file in files if not file.is_file()]
    if absent:
        raise SystemExit(f"the network is read from two files; there is no {', '.join(absent)}")
    net = SymbolBlock.imports(str(files[0]), inputs, str(files[1]), ctx=device)
    net.hybridize(static_alloc=True)
    return net


def instead_of_test(
    args: argparse.Namespace, net, batches: Iterable, shape: tuple[int, ...], device, name: str
) -> dict[str, float] | None:
    """Does what --calibration or --benchmark ask for and gives figures of it; None where neither is asked for.

    batches: (inputs, labels...), for the ranges. shape: that of a batch. name: of the network's files.
    """
    if args.calibration:
        return {"layers": calibrate(args, net, batches, shape[0], device, name)}
    if args.benchmark:
        speed = samples_per_second(net, mx.nd.random.uniform(shape=shape, ctx=device), args.num_iterations)
        print(f"{name}: {speed:.1f} samples/s in batches of {shape[0]}")
        return {"samples/s": speed}
    return None


def calibrate(args: argparse.Namespace, net, batches: Iterable, batch_size: int, device, name: str) -> int:
    """Writes the network on codes as --model-prefix, or as model/NAME-quantized-MODE.

    Gives the number of layers on codes.
    """
    codes = quantize_net(
        net, args.quantized_dtype, calib_data=batches, calib_mode=args.calib_mode, ctx=device,
        num_calib_examples=batch_size * args.num_calib_batches,
    )  # fmt: skip
    prefix = Path(args.model_prefix or f"model/{name}-quantized-{args.calib_mode}")
    prefix.parent.mkdir(parents=True, exist_ok=True)
    symbol, _ = codes.export(str(prefix))
    layers = sum("quantized_" in node for node in mx.sym.load(symbol).get_internals().list_outputs())
    print(f"{name} on codes, {layers} layers: {prefix}")
    return layers


def samples_per_second(net, x, count: int) -> float:
    """How many samples a second the network computes in batches like `x`, over `count` of them."""
    for _ in range(WARM_UP):
        net(x)
    mx.nd.waitall()
    begin = time.perf_counter()
    for _ in range(count):
        net(x)
    mx.nd.waitall()
    return x.shape[0] * count / (time.perf_counter() - begin)

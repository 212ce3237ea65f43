"""Networks on a BERT as they leave Python, on codes of eight bits."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from gluon.contrib.quantization import quantize_net_v2
from gluonnlp.calibration import BertLayerCollector

INPUTS = ["data0", "data1", "data2"]  # words, segments, lengths


def add_deployment_arguments(parser: argparse.ArgumentParser, batches: int) -> None:
    """Adds what says that a network is calibrated, or read from files; `batches`: for the ranges of codes."""
    add = parser.add_argument
    add("--only_calibration", action="store_true", help="write the network on codes of eight bits, and end")
    add("--num_calib_batches", type=int, default=batches, help="batches for their ranges (default: %(default)s)")
    add("--quantized_dtype", choices=("auto", "int8", "uint8"), default="auto", help="codes (default: %(default)s)")
    add(
        "--calib_mode",
        choices=("none", "naive", "entropy", "customize"),
        default="customize",
        help="ranges; customize: as fits a BERT (default: %(default)s)",
    )
    add(
        "--quantize_granularity", choices=("tensor-wise", "channel-wise"), default="channel-wise",
        help="ranges of weights: one a layer, or one a unit, which errs by a third less (default: %(default)s)",
    )  # fmt: skip
    add("--deploy", action="store_true", help="with --only_inference or --only_predict: read --model_prefix")
    add("--model_prefix", help="network in PREFIX-symbol.json and PREFIX-0000.params, as --only_calibration writes it")
    add("--round_to", type=int, help="lengths of batches are multiples of this (default: 8)")


def check_deployment_arguments(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Ends the program where these arguments contradict each other."""
    if args.deploy and not args.model_prefix:
        parser.error("--deploy reads the files of --model_prefix, which is not given")


def calibrate(args: argparse.Namespace, net, batches: Iterable, batch_size: int, context, name: str) -> Path:
    """Writes `net` on codes below --output_dir as model_bert_NAME_quantized_MODE, and gives that prefix.

    batches: (words, segments, lengths, ...). The ranges of layers are found by --calib_mode.
    """
    collector = BertLayerCollector(clip_min=-50, clip_max=10) if args.calib_mode == "customize" else None
    codes = quantize_net_v2(
        net, args.quantized_dtype, quantize_mode="smart", quantize_granularity=args.quantize_granularity,
        calib_data=None if args.calib_mode == "none" else batches,
        data_shapes=[(name, None) for name in INPUTS], calib_mode=args.calib_mode,
        num_calib_examples=batch_size * args.num_calib_batches, ctx=context, LayerOutputCollector=collector,
    )  # fmt: skip
    prefix = args.output_dir / f"model_bert_{name}_quantized_{args.calib_mode}"
    prefix.parent.mkdir(parents=True, exist_ok=True)
    codes.export(str(prefix))
    print(f"{name} on codes of eight bits: {prefix}-symbol.json, {prefix}-0000.params")
    return prefix

"""Quantization to 8 bits: `quantize_model` for symbols, `quantize_net` for hybrid blocks, and the parts of both.

Parameters keep their float weights; a quantized layer quantizes them itself, with one range for each output channel of
a convolution, and one for a fully connected layer unless quantize_granularity is "channel-wise".
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator

import numpy as np

from core import ndarray
from core.context import Context, cpu
from core.contrib.quantizer import calibrated, quantize_symbol, quantized_outputs
from core.executor import Executor
from core.io import DataIter
from core.ndarray import NDArray, calibration
from core.symbol.symbol import Symbol, load

_HOMES = dict.fromkeys(("quantize_net", "quantize_net_v2"), "gluon.contrib.quantization")  # what takes blocks
DTYPES = ("int8", "uint8", "auto")
QUANTIZE_MODES = ("full", "smart")
GRANULARITIES = ("tensor-wise", "channel-wise")
MODES = ("none", "naive", "entropy", "customize")


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"mx.contrib.quantization has no {name!r}; it offers {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOMES[name]), name)


__all__ = ["calib_graph", "quantize_graph", "quantize_model", "quantize_model_mkldnn", *_HOMES]


def quantize_model(
    sym, arg_params, aux_params, data_names=("data",), label_names=("softmax_label",), ctx=None,
    excluded_sym_names=None, excluded_op_names=None, calib_mode="entropy", calib_data=None, num_calib_examples=None,
    quantized_dtype="int8", quantize_mode="smart", quantize_granularity="tensor-wise", logger=None,
):  # fmt: skip
    """(quantized symbol, arg_params, aux_params) of a network.

    sym and the parameters: objects or file names. calib_mode: where ranges come from: "none": at each call
    from the values; "naive": least and largest value over `calib_data`, a DataIter; "entropy": the cut that loses least
    information on it. After `num_calib_examples` samples it is enough. excluded_sym_names, excluded_op_names: layers
    and operators that stay on numbers. quantized_dtype: int8, uint8 or auto, what the inputs of layers become.
    quantize_granularity: one range for the weights of a fully connected layer ("tensor-wise") or one for each output
    ("channel-wise"); those of convolutions have one for each channel. quantize_mode: "smart" or "full", both leave on
    numbers what gains nothing in eight bits. ValueError for other arguments, and for uint8 where an input of a layer has
    negative numbers, which these quantized values do not hold.
    """
    if calib_mode == "customize":
        raise ValueError("quantize_model takes the calib_mode 'none', 'naive' or 'entropy', given 'customize'")
    sym = load(sym) if isinstance(sym, str) else sym
    arg_params, aux_params = _parameters(arg_params), _parameters(aux_params)
    quantized, _, _, collector = quantize_graph(
        sym, arg_params, aux_params, ctx, excluded_sym_names, excluded_op_names, calib_mode, quantized_dtype,
        quantize_mode, quantize_granularity, logger=logger,
    )  # fmt: skip
    if collector is None:
        return quantized, arg_params, aux_params
    if not isinstance(calib_data, DataIter):
        raise ValueError(f"calib_mode {calib_mode!r} takes calib_data, a DataIter, given {type(calib_data).__name__}")
    batches = (dict(zip(data_names, batch.data, strict=True)) for batch in calib_data)
    collect(sym, arg_params, aux_params, batches, collector, ctx, num_calib_examples)
    return calib_graph(quantized, arg_params, aux_params, collector, calib_mode, quantized_dtype, logger)


def quantize_model_mkldnn(sym, arg_params, aux_params, *args, **kwargs):
    """`quantize_model`, under the name of the backend that MXNet fuses layers for."""
    return quantize_model(sym, arg_params, aux_params, *args, **kwargs)


def quantize_graph(
    sym, arg_params, aux_params, ctx=None, excluded_sym_names=None, excluded_op_names=None, calib_mode="entropy",
    quantized_dtype="int8", quantize_mode="full", quantize_granularity="tensor-wise", LayerOutputCollector=None,
    logger=None,
):  # fmt: skip
    """(quantized symbol, arg_params, aux_params, collector) without ranges yet; arguments as of `quantize_model`.

    `collector.collect(name, array)` is for `Executor.set_monitor_callback(..., monitor_all=True)` of the original
    network; `calib_graph` takes the ranges over. With calib_mode "customize" it is `LayerOutputCollector`, which has
    `collect` and then `min_max_dict`; None with "none".
    """
    _check("quantized_dtype", quantized_dtype, DTYPES)
    _check("quantize_granularity", quantize_granularity, GRANULARITIES)
    _check("quantize_mode", quantize_mode, QUANTIZE_MODES)
    calib_mode = calib_mode or "none"
    _check("calib_mode", calib_mode, MODES)
    if (calib_mode, quantized_dtype) == ("none", "uint8"):
        raise ValueError("quantized_dtype 'uint8' takes a calib_mode, which finds out that no number is negative")
    excluded = [_names("excluded_sym_names", excluded_sym_names), _names("excluded_op_names", excluded_op_names)]
    quantized = quantize_symbol(sym, excluded[0] + excluded[1], quantized_dtype, quantize_granularity == "channel-wise")
    wanted = quantized_outputs(quantized)
    if logger:
        logger.info("%d outputs of the network stand on quantized values", len(wanted))
    if calib_mode == "customize" and LayerOutputCollector is None:
        raise ValueError("calib_mode 'customize' takes a LayerOutputCollector")
    collectors = {
        "none": lambda: None,
        "naive": lambda: _LayerOutputMinMaxCollector(quantized_dtype, wanted, logger),
        "entropy": lambda: _LayerHistogramCollector(include_layer=wanted, logger=logger),
    }
    return quantized, arg_params, aux_params, collectors.get(calib_mode, lambda: LayerOutputCollector)()


def calib_graph(qsym, arg_params, aux_params, collector, calib_mode="entropy", quantized_dtype="int8", logger=None):
    """(quantized symbol, arg_params, aux_params) with the ranges that a collector found."""
    _check("calib_mode", calib_mode, MODES[1:])
    if calib_mode == "entropy":
        found = _get_optimal_thresholds(collector.hist_dict, quantized_dtype, logger=logger)
    else:
        found = collector.min_max_dict
    return _calibrate_quantized_sym(qsym, found), arg_params, aux_params


class _LayerOutputMinMaxCollector:
    """Collects the least and the largest value of outputs: `min_max_dict` by name."""

    def __init__(self, quantized_dtype: str, include_layer: Iterable[str] = (), logger=None):
        self.quantized_dtype, self.include_layer, self.logger = quantized_dtype, include_layer, logger
        self.min_max_dict = {}

    def collect(self, name: str, array: NDArray) -> None:
        if name in self.include_layer:
            low, high = array.min().asscalar(), array.max().asscalar()
            before = self.min_max_dict.get(name, (low, high))
            self.min_max_dict[name] = min(low, before[0]), max(high, before[1])


class _LayerHistogramCollector:
    """Collects how often values of outputs occur: `hist_dict` by name, (counts, edges, least, largest, reach)."""

    def __init__(self, num_bins: int = 8001, include_layer: Iterable[str] = (), logger=None):
        self.num_bins, self.include_layer, self.logger, self.hist_dict = num_bins, include_layer, logger, {}

    def collect(self, name: str, array: NDArray) -> None:
        if name not in self.include_layer:
            return
        values = array.asnumpy()
        low, high = values.min(), values.max()
        reach = max(abs(low), abs(high))
        if name in self.hist_dict:
            self.hist_dict[name] = combine_histogram(self.hist_dict[name], values, low, high, reach)
        else:
            counts, edges = np.histogram(values, bins=self.num_bins, range=(-reach, reach))
            self.hist_dict[name] = counts, edges, low, high, reach


def combine_histogram(old_hist, arr, new_min, new_max, new_th):
    """A histogram (counts, edges, least, largest, reach) with further values, whose least, largest and reach are given.

    Where they reach further it grows by bins of the same width on each side.
    """
    before, _, least, largest, reach = old_hist
    more = 0
    if reach == 0:  # zeros alone, which lie in the middle bin whatever its width
        reach = new_th
    elif new_th > reach:
        width = 2 * reach / len(before)
        more = int((new_th - reach) // width + 1)
        reach += more * width
    counts, edges = np.histogram(arr, bins=len(before) + 2 * more, range=(-reach, reach))
    counts[more : more + len(before)] += before
    return counts, edges, min(least, new_min), max(largest, new_max), reach


def _get_optimal_threshold(hist_data, quantized_dtype: str, num_quantized_bins: int = 255):
    """(least, largest, threshold, divergence) of a histogram (counts, edges, least, largest, reach): the cut whose values,
    quantized, lose least information, as NumPy arrays of one number.
    """
    counts, edges, low, high, _ = hist_data
    if _upward(low, quantized_dtype):
        num_quantized_bins = 2 * num_quantized_bins + 1  # half of the bins of values from 0 on are empty
    cut, lost = ndarray.contrib.calibrate_entropy(
        ndarray.array(counts), ndarray.array(edges), num_quantized_bins=num_quantized_bins
    )
    return low, high, cut.asnumpy(), lost.asnumpy()


def _upward(low: float, quantized_dtype: str) -> bool:
    """Whether quantized values start at 0: nothing lies below."""
    return low >= 0 and quantized_dtype in ("auto", "uint8")


def _get_optimal_thresholds(hist_dict: dict, quantized_dtype: str, num_quantized_bins: int = 255, logger=None) -> dict:
    """The range (least, largest) of each histogram by name, from its optimal threshold."""
    found = {}
    for name, histogram in hist_dict.items():
        low, _, cut, lost = _get_optimal_threshold(histogram, quantized_dtype, num_quantized_bins)
        found[name] = (0 if _upward(low, quantized_dtype) else -cut), cut
        if logger:
            logger.debug("%s: cut at %g, divergence %g", name, cut.item(), lost.item())
    return found


def _smooth_distribution(p, eps: float = 0.0001) -> np.ndarray:
    """Counts, float32, where the empty ones got eps, taken off the others; ValueError where those have too little."""
    smoothed = calibration.smoothed(np.asarray(p), eps)
    if smoothed is None:
        raise ValueError(f"there is too little to move to the empty places of {p!r}")
    return smoothed.astype("float32")


def _quantize_symbol(
    sym, ctx=None, excluded_symbols=None, excluded_operators=None, offline_params=None, quantized_dtype="int8",
    quantize_mode="smart", quantize_granularity="tensor-wise",
):  # fmt: skip
    """(quantized symbol, names of the outputs whose ranges it takes); see `quantize_graph`.

    offline_params changes nothing: layers quantize their own parameters.
    """
    quantized = quantize_graph(
        sym, {}, {}, ctx, excluded_symbols, excluded_operators, "none", quantized_dtype, quantize_mode,
        quantize_granularity,
    )[0]  # fmt: skip
    return quantized, quantized_outputs(quantized)


def _quantize_params(qsym, params: dict, th_dict: dict) -> dict:
    """Those parameters that a symbol on quantized values has; they stay numbers."""
    return {name: params[name] for name in qsym.list_arguments() if name in params}


def _calibrate_quantized_sym(qsym, th_dict: dict):
    """The symbol on quantized values with ranges (least, largest) by the name of an output."""
    return calibrated(qsym, {name: tuple(np.asarray(end).item() for end in ends) for name, ends in th_dict.items()})


def collect(sym: Symbol, arg_params, aux_params, batches: Iterator[dict], collector, ctx, enough: int | None) -> None:
    """Shows a collector every output of a network over batches, {name of an input: array},
    of at least `enough` samples.
    """
    if ctx is not None and not isinstance(ctx, Context):
        raise ValueError(f"ranges are found on one context, given {ctx!r}")
    executor, seen, bound = None, 0, None
    for batch in batches:
        shapes = {name: array.shape for name, array in batch.items()}
        if shapes != bound:  # the last batch may be smaller
            executor, bound = _executor(sym, arg_params, aux_params, shapes, ctx), shapes
            executor.set_monitor_callback(collector.collect, monitor_all=True)
        executor.forward(is_train=False, **batch)
        seen += len(next(iter(batch.values())))
        if enough is not None and seen >= enough:
            break
    if executor is None:
        raise ValueError("calib_data is empty: at least one batch is needed to find ranges")


def _executor(sym: Symbol, arg_params, aux_params, shapes: dict, ctx) -> Executor:
    executor = sym.simple_bind(ctx or cpu(), grad_req="null", **shapes)
    executor.copy_params_from(arg_params, aux_params, allow_extra_params=True)
    return executor


def _parameters(given) -> dict[str, NDArray]:
    """Parameters, or those of a file without the words arg and aux in front of their names."""
    if not isinstance(given, str):
        return given
    return {name.partition(":")[2] or name: array for name, array in ndarray.load(given).items()}


def _names(what: str, given) -> list[str]:
    if given is not None and not isinstance(given, list):
        raise ValueError(f"{what} is a list of names, given {type(given).__name__}")
    return given or []


def _check(what: str, given, accepted: tuple[str, ...]) -> None:
    if given not in accepted:
        raise ValueError(f"unknown {what} {given!r}; {', '.join(accepted)} are accepted")

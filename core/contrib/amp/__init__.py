"""Automatic mixed precision: matrix products in float16 or bfloat16, what needs range or precision in float32.

    amp.init("bfloat16")
    amp.init_trainer(trainer)           # float16: gradients are scaled so that they do not vanish
    with autograd.record():
        with amp.scale_loss(loss, trainer) as scaled:
            autograd.backward(scaled)
    trainer.step(batch_size)

Which operator runs in which type is data, `lists.json`, after the lists of MXNet 1.9.1 for float16; operators that are
not named run in the type of their inputs. They serve for bfloat16 as well, whose range is wider: MXNet's own lists for
it keep what its CPU library could not compute then, recurrent layers and transposes among them, in float32. Parameters
stay float32 and are converted where they are used.
"""

from __future__ import annotations

import contextlib
import importlib
import json
from functools import cache
from importlib.resources import files

from core import dtypes, graph
from core.base import MXNetError
from core.contrib.amp.convert import convert_bucketing_module, convert_hybrid_block, convert_model, convert_symbol
from core.contrib.amp.loss_scaler import LossScaler
from core.dtypes import bfloat16
from core.ops.registry import TABLE, F

__all__ = [
    "LossScaler", "bfloat16", "convert_bucketing_module", "convert_hybrid_block", "convert_model", "convert_symbol",
    "init", "init_trainer", "list_conditional_fp32_ops", "list_fp32_ops", "list_loss_output_functions",
    "list_lp16_fp32_ops", "list_lp16_ops", "list_lp16_use_fp32_params", "list_widest_type_cast", "scale_loss",
    "unscale",
]  # fmt: skip

TARGETS = ("float16", "bfloat16")
_target: str | None = None


def init(
    target_dtype="float16", target_precision_ops=None, conditional_fp32_ops=None, fp32_ops=None,
    layout_optimization=False
) -> None:  # fmt: skip
    """Switches mixed precision on for the process; a second call does nothing.

    target_dtype: "float16" or "bfloat16". target_precision_ops, fp32_ops: names of the operators that run in it, or in
    float32, instead of the listed ones. conditional_fp32_ops: (operator, attribute, [values]) for those that run in
    float32 under some attributes.
    layout_optimization: accepted as in MXNet 2; convolutions have the layout that they like in any case.
    MXNetError for unknown names, ValueError for other types.
    """
    global _target
    target = target_name(target_dtype)
    if _target is not None:
        return
    rules = rules_of(target, target_precision_ops, conditional_fp32_ops, fp32_ops)
    for name, rule in rules.items():
        TABLE[name].cast(_caster(rule))
    graph.rules_changed()
    _target = target


def init_trainer(optimizer_or_trainer) -> None:
    """Lets a `Trainer` skip steps whose gradients overflow, with a loss scale of its own; TypeError for others."""
    if _target is None:
        raise AssertionError("amp.init() comes before amp.init_trainer()")
    trainer = optimizer_or_trainer
    if not hasattr(trainer, "allreduce_grads"):
        raise TypeError(f"amp.init_trainer takes a gluon.Trainer, given {type(trainer).__name__}")
    if _target == "float16":  # the range of bfloat16 is that of float32
        trainer._amp_loss_scaler = LossScaler()
        trainer._amp_original_scale = trainer._scale


@contextlib.contextmanager
def scale_loss(loss, optimizer_or_trainer):
    """The loss (or list of losses) times the trainer's loss scale, for `backward`; `step` divides by it again."""
    trainer = optimizer_or_trainer
    scaler = getattr(trainer, "_amp_loss_scaler", None)
    if _target is None:
        raise AssertionError("amp.init() comes before amp.scale_loss()")
    if scaler is None:
        yield loss
        return
    trainer._scale = trainer._amp_original_scale / scaler.loss_scale
    yield [part * scaler.loss_scale for part in loss] if isinstance(loss, (list, tuple)) else loss * scaler.loss_scale


def unscale(optimizer_or_trainer) -> None:
    """Divides the gradients by the loss scale now, for programs that look at them before `step`."""
    trainer = optimizer_or_trainer
    scaler = getattr(trainer, "_amp_loss_scaler", None)
    if scaler is not None:
        for parameter in trainer._params:
            for gradient in parameter._grad or ():
                gradient *= 1.0 / scaler.loss_scale
        trainer._scale = trainer._amp_original_scale


def list_lp16_ops(target_dtype="float16") -> list[str]:
    """Operators that run in `target_dtype`."""
    return list(_listed(target_dtype)["low"])


def list_fp32_ops(target_dtype="float16") -> list[str]:
    """Operators that run in float32."""
    return list(_listed(target_dtype)["float32"])


def list_lp16_fp32_ops(target_dtype="float16") -> list[str]:
    """Operators that run in the type of their inputs: all that no other list names."""
    lists = _listed(target_dtype)
    named = {*lists["low"], *lists["float32"], *lists["widest"], *lists["loss"], *(c[0] for c in lists["conditional"])}
    return sorted(TABLE.keys() - named)


def list_conditional_fp32_ops(target_dtype="float16") -> list[tuple]:
    """(operator, attribute, values): operators that run in float32 where the attribute has one of the values."""
    return [tuple(rule) for rule in _listed(target_dtype)["conditional"]]


def list_widest_type_cast(target_dtype="float16") -> list[str]:
    """Operators whose inputs are all converted to the widest type among them."""
    return list(_listed(target_dtype)["widest"])


def list_loss_output_functions(target_dtype="float16") -> list[str]:
    """Operators that are losses, which run in float32."""
    return list(_listed(target_dtype)["loss"])


def list_lp16_use_fp32_params(target_dtype="float16") -> dict[str, list[str]]:
    """By operator that computes in the type of its data with parameters in float32: its inputs, "" for the data."""
    target_name(target_dtype)
    return {name: ["", "gamma", "beta", "moving_mean", "moving_var"] for name in ("BatchNorm", "BatchNormWithReLU")}


def __getattr__(name: str):
    if name == "_amp_initialized":  # programs ask this of MXNet's amp
        return _target is not None
    if name == "lists":
        return importlib.import_module("core.contrib.amp.lists")
    raise AttributeError(f"mx.contrib.amp has no {name!r}")


# ------------------------------------------------------------------ rules


def target_name(dtype) -> str:
    """The name of a type that mixed precision can aim at; ValueError for others."""
    name = dtypes.dtype_name(dtype)
    if name not in TARGETS:
        raise ValueError(f"mixed precision aims at {' or '.join(TARGETS)}, given {dtype!r}")
    return name


def rules_of(target: str, low=None, conditional=None, fp32=None) -> dict:
    """What becomes of the inputs of operators, by name: a type, "widest", or (attribute, its values for float32).

    Operators that are given take the place of the listed ones of their kind.
    """
    lists = _listed(target)
    low = lists["low"] if low is None else low
    fp32 = lists["float32"] if fp32 is None else fp32
    conditional = lists["conditional"] if conditional is None else conditional
    rules: dict = dict.fromkeys(lists["widest"], "widest")
    for name, rule in [
        *((name, "float32") for name in fp32),
        *((name, target) for name in low),
        *((name, (attribute, tuple(values))) for name, attribute, values in conditional),
    ]:
        if rules.get(name, rule) != rule:
            raise AssertionError(f"mixed precision: {name} follows one rule only, given {rules[name]!r}, {rule!r}")
        rules[name] = rule
    unknown = [name for name in rules if name not in TABLE]
    if unknown:
        raise MXNetError(f"mixed precision: there is no operator {', '.join(unknown)}")
    return rules


def wanted(rule, attrs: dict) -> str | None:
    """The type, or "widest", that a rule asks for under these attributes; None for the inputs' own."""
    if isinstance(rule, str):
        return rule
    attribute, values = rule
    return "float32" if attrs.get(attribute) in values else None


def _caster(rule):
    """A function of (inputs, attributes) that gives the inputs in the types which `rule` asks for."""

    def cast(inputs: list, attrs: dict) -> list:
        dtype = wanted(rule, attrs)
        if dtype == "widest":
            kinds = {dtypes.dtype_name(x.dtype) for x in inputs if x is not None}
            dtype = "float32" if "float32" in kinds and kinds & set(TARGETS) else None
        if dtype is None:
            return inputs
        other = {"float32", *TARGETS} - {dtype}
        return [
            F.amp_cast(x, dtype=dtype) if x is not None and dtypes.dtype_name(x.dtype) in other else x for x in inputs
        ]

    return cast


@cache
def _lists() -> dict:
    return json.loads(files("core.contrib.amp").joinpath("lists.json").read_text(encoding="utf-8"))


def _listed(target_dtype) -> dict:
    target_name(target_dtype)
    return _lists()

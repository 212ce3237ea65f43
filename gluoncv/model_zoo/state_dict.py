"""Weights of the networks of PyTorch's vision library and of timm, in `.safetensors` or `.pth` files,
for the networks here.

state_dict.json says which layer there is which here, for each class of networks. In it `{n}` stands for any number,
`{a*n+b}` for one from which `n` follows, `{a*n+b:c}` for that with n below c; a negative number counts from the end. A
value is a name there, or a name and a table of the parts that a block has.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from importlib.resources import files

import numpy as np

from core import nd
from core.base import MXNetError
from core.files import read_safetensors, read_torch

# Endings of files that hold a state_dict; others are taken for MXNet's.
ENDINGS = (".safetensors", ".pth", ".pt", ".bin", ".th")
# Parameters that are called otherwise there.
RENAMED = {"gamma": "weight", "beta": "bias"}
# Keys under which training programs keep the state_dict in what they save.
WRAPPERS = ("state_dict", "model", "model_state_dict", "net")


def is_state_dict(path):
    """Whether the file's name says that it holds a state_dict."""
    return os.fspath(path).lower().endswith(ENDINGS)


def load_state_dict(net, source, ctx=None):
    """Gives a network the weights of the same network of PyTorch's vision library or timm.

    source: a file, which is read without executing any of it, or a dictionary of NumPy arrays. Parameters are converted
    to float32. Statistics that MXNet does not keep and auxiliary classifiers are left out. MXNetError for networks
    that have no map of names, for parameters that are missing, have another shape, or have no place.
    """
    where = "the dictionary" if isinstance(source, dict) else os.fspath(source)
    values = _arrays(source)
    styles = _styles(net)
    parameters = net._collect_params_with_prefix()
    candidates = {style: {name: _theirs(name, rules, net) for name in parameters} for style, rules in styles.items()}
    missing = {style: [n for n in names.values() if n not in values] for style, names in candidates.items()}
    style = min(missing, key=lambda style: len(missing[style]))
    if missing[style]:
        raise MXNetError(
            f"{where} lacks {len(missing[style])} parameters of {type(net).__name__}: {_some(missing[style])}"
        )
    names = candidates[style]
    extra = set(values) - set(names.values())
    extra = sorted(name for name in extra if not any(re.search(rule, name) for rule in _table()["left out"]))
    if extra:
        raise MXNetError(
            f"{where} has {len(extra)} parameters that {type(net).__name__} has no place for: {_some(extra)}"
        )
    arrays = {name: _fitted(values[key], parameters[name], name, where) for name, key in names.items()}
    net.load_dict({name: nd.array(value) for name, value in arrays.items()}, ctx=ctx)


def keywords(name, path):
    """Further keywords with which a network takes the weights of a file:
    MobileNets have a bias there that they lack here.
    """
    for pattern, key, settings in _table()["keywords"]:
        if re.fullmatch(pattern, name) and any(re.fullmatch(key, other) for other in _arrays(path)):
            return settings
    return {}


@cache
def _table():
    return json.loads(files("gluoncv.model_zoo").joinpath("state_dict.json").read_text(encoding="utf-8"))


def _styles(net):
    for cls in type(net).__mro__:
        if cls.__name__ in _table()["networks"]:
            return _table()["networks"][cls.__name__]
    known = ", ".join(_table()["networks"])
    raise MXNetError(f"there is no map of names for {type(net).__name__}; there are maps for {known}")


def _arrays(source):
    """{name: float32 array}, without the names of wrappers."""
    if not isinstance(source, dict):
        path = os.fspath(source)
        source = read_safetensors(path)[0] if path.lower().endswith(".safetensors") else read_torch(path)
    for key in WRAPPERS:
        if isinstance(source.get(key), dict):
            source = source[key]
            break
    source = {name: value for name, value in source.items() if getattr(value, "dtype", None) is not None}
    if source and all(name.startswith("module.") for name in source):
        source = {name.removeprefix("module."): value for name, value in source.items()}
    return {_modern(name): _float32(value) for name, value in source.items()}


def _modern(name):
    """DenseNets were saved as denselayer1.norm.1 before they were as denselayer1.norm1."""
    return re.sub(r"(denselayer\d+\.(?:norm|conv))\.(\d)", r"\1\2", name)


def _float32(value):
    data = getattr(value, "data", value) if not isinstance(value, np.ndarray) else value
    if str(value.dtype) == "bfloat16":
        return (data.view("uint16").astype("uint32") << 16).view("float32")
    return np.asarray(data, "float32")


def _theirs(name, rules, net):
    """The name of a parameter there; its own name where no rule says another."""
    module, _, part = name.rpartition(".")
    for key in (module, _from_the_end(module, net)):
        for pattern, value in rules.items():
            prefix, parts = (value, {"": ""}) if isinstance(value, str) else (value[0], _table()["parts"][value[1]])
            for ours, theirs in parts.items():
                found = _matched(f"{pattern}{ours}", key)
                if found is not None:
                    return f"{_filled(prefix + theirs, found)}.{RENAMED.get(part, part)}"
    return f"{module}.{RENAMED.get(part, part)}"


def _from_the_end(module, net):
    first, _, index = module.partition(".")
    if not index.isdigit() or not hasattr(net, first):
        return module
    return f"{first}.{int(index) - len(getattr(net, first))}"


_HOLE = re.compile(r"\{(?:(\d+)\*)?([a-z])([+-]\d+)?(?::(\d+))?\}")


def _matched(pattern, text):
    """The numbers in `text` by letter, or None."""
    holes = list(_HOLE.finditer(pattern))
    found = re.fullmatch("(\\d+)".join(map(re.escape, _HOLE.split(pattern)[:: _HOLE.groups + 1])), text)
    if found is None:
        return None
    numbers = {}
    for hole, digits in zip(holes, found.groups(), strict=True):
        factor, letter, offset, limit = hole.groups()
        number, rest = divmod(int(digits) - int(offset or 0), int(factor or 1))
        if rest or number < 0 or (limit is not None and number >= int(limit)):
            return None
        numbers[letter] = number
    return numbers


def _filled(template, numbers):
    def number(hole):
        factor, letter, offset, _ = hole.groups()
        return str(int(factor or 1) * numbers[letter] + int(offset or 0))

    return _HOLE.sub(number, template)


def _fitted(value, parameter, name, where):
    """The value with as many axes as the parameter: a 1x1 convolution and a dense layer have the same numbers."""
    rank = len(parameter.shape)
    if value.ndim > rank:
        value = value.reshape(*value.shape[: rank - 1], -1)
    value = value.reshape(value.shape + (1,) * (rank - value.ndim))
    if any(a not in (0, b) for a, b in zip(parameter.shape, value.shape, strict=True)):
        raise MXNetError(f"{where}: {name} has the shape {parameter.shape} here and {value.shape} there")
    return value


def _some(names):
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")

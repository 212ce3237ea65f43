"""Weights of torchvision, timm and authors' own programs for the networks here, and weights of these networks for them.

state_dict.json has the rules of names for each class of networks (the grammar is that of `gluon.model_zoo.names`), one
entry a library and variant, or the name of the class whose entries serve:

- `names`: whose names; `has`, `also`, `lacks`: what is found in the names of a network if the entry is its own;
- `rules`; `sets` are those that several entries share;
- `folded`: biases that they have not there, and the mean of the normalisation behind that takes them;
- `zero there`: arrays that we have not, which are zero, beside those from which their names and lengths follow;
- `twice there`: names under which they keep arrays once more;
- `kept`: parameters that the files have not, which stay as they are;
- `differences`: what changes numbers, see `gluoncv.model_zoo.differences`.

without_twin.json says of all other networks of the zoo why they have no rules.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from functools import cache
from importlib.resources import files

import numpy as np

from core import nd
from core.base import MXNetError
from core.files import read_safetensors, read_torch, write_safetensors
from gluon.model_zoo.names import counterparts, filled, matched, to_ours, to_theirs
from gluoncv.model_zoo import differences

# Endings of files that hold a state_dict; others are taken for MXNet's.
ENDINGS = (".safetensors", ".pth", ".pt", ".bin", ".th")
# Keys under which training programs keep the state_dict in what they save.
WRAPPERS = ("state_dict", "model", "model_state_dict", "net")


def is_state_dict(path):
    """Whether the file's name says that it holds a state_dict."""
    return os.fspath(path).lower().endswith(ENDINGS)


def load_state_dict(net, source, ctx=None, names=None):
    """Gives a network the weights of the same network of torchvision, of timm or of its authors' program.

    source: a file, which is read without executing any of it, or a dictionary of NumPy arrays. names: whose names they
    have, "timm" or "torchvision"; by default those that fit best. Parameters are converted to float32. Statistics that
    MXNet does not keep and auxiliary classifiers are left out. Where that library computes otherwise, as with another
    epsilon, the network does so from now on. MXNetError for networks that have no map of names, for parameters that are
    missing, have another shape, or have no place.

    >>> load_state_dict(get_model("resnet50_v1d"), "resnet50d.safetensors")  # doctest: +SKIP
    """
    where = "the dictionary" if isinstance(source, dict) else os.fspath(source)
    values = _arrays(source)
    parameters = _parameters(net)
    maps = [_Map(entry, net, parameters) for entry in _entries(net, names)]
    best = min(maps, key=lambda m: len(m.missing(values)))
    missing = best.missing(values)
    if missing:
        raise MXNetError(f"{where} lacks {len(missing)} parameters of {type(net).__name__}: {_some(missing)}")
    extra = best.extra(values)
    if extra:
        raise MXNetError(
            f"{where} has {len(extra)} parameters that {type(net).__name__} has no place for: {_some(extra)}"
        )
    arrays = best.ours(values, parameters, where)
    for name in best.kept:
        if parameters[name]._data is None:
            parameters[name].initialize(ctx=ctx)
    first = {id(parameter): name for name, parameter in parameters.items()}
    given = {name: first[id(parameter)] for name, parameter in net._collect_params_with_prefix().items()}
    net.load_dict(
        {name: nd.array(arrays[one]) for name, one in given.items() if one in arrays},
        ctx=ctx,
        allow_missing=bool(best.kept),
    )
    differences.make(net, best.differences)


def save_state_dict(net, path, names):
    """Writes the weights of a network to a `.safetensors` file with the names of another library.

    names: "timm", "torchvision", or "authors" for the names of its authors' program. What a counterpart there computes
    otherwise than the network, such as another epsilon, is named in a warning. MXNetError for networks that have no map
    of names for that library, and for other kinds of files.

    >>> save_state_dict(net, "resnet50d.safetensors", names="timm")  # doctest: +SKIP
    """
    if not os.fspath(path).lower().endswith(".safetensors"):
        raise MXNetError(f"{path}: weights for other libraries are written to .safetensors files")
    arrays, differing = state_dict(net, names)
    if differing:
        warnings.warn(f"{path}: {names} computes otherwise in {differing}; set it there, or load with load_state_dict")
    write_safetensors(path, arrays, {"format": "pt"})


def state_dict(net, names):
    """({name there: array} of a network, what its twin there computes otherwise as text or ""), as `save_state_dict`."""
    parameters = _parameters(net)
    entries = _entries(net, names)
    best = _Map(entries[0], net, parameters)
    for name, parameter in parameters.items():
        if name not in best.kept and (parameter._data is None or 0 in parameter.shape):
            raise MXNetError(f"{name} has no value yet: call the network once before its weights are saved")
    values = {name: parameter.data().asnumpy() for name, parameter in parameters.items() if name not in best.kept}
    return best.theirs(values), differences.text(net, best.differences)


def libraries(net):
    """Whose names there is a map for, such as ["torchvision", "timm"], for this network; [] for none."""
    found = [entry["names"].split(",")[0].split(" and ") for entry in _fitting(net, None)]
    return sorted({name for names in found for name in names})


def keywords(name, path):
    """Further keywords with which a network takes the weights of a file:
    MobileNets have a bias there that they lack here.
    """
    for pattern, key, settings in _table()["keywords"]:
        if re.fullmatch(pattern, name) and any(re.fullmatch(key, other) for other in _arrays(path)):
            return settings
    return {}


class _Map:
    """The parameters of a network by the rules of one entry."""

    def __init__(self, entry, net, parameters):
        lengths = {name: len(child) for name, child in net._children.items() if hasattr(child, "__len__")}
        kept, self._folded = entry.get("kept"), {}
        self.kept = {name for name in parameters if kept and re.search(kept, name)}
        self.differences = entry.get("differences", {})
        for pattern, target in entry.get("folded", {}).items():
            for name in parameters:
                found = matched(pattern, name)
                if found:
                    self._folded[name] = filled(target, found[0])
        names = [name for name in parameters if name not in self.kept and name not in self._folded]
        self.names = counterparts(names, entry["rules"], _table()["sets"], lengths)
        self._zeros = self._beside(entry.get("zero there", {}))
        self._copies = self._beside(entry.get("twice there", {}))

    def _beside(self, rules):
        """{further name there: the one that it follows from}"""
        found = {}
        for pattern, target in rules.items():
            for place in self.names.values():
                if match := matched(pattern, place.name):
                    values, rest = match
                    found[".".join(filter(None, (filled(target, values), rest)))] = place.name
        return found

    def missing(self, values):
        """Names there that the values lack."""
        return [place.name for place in self.names.values() if place.name not in values]

    def extra(self, values):
        """Names there of values that have no place here."""
        known = {place.name for place in self.names.values()} | set(self._copies)
        known |= {name for name in self._zeros if name in values and not values[name].any()}
        return sorted(
            name for name in set(values) - known if not any(re.search(rule, name) for rule in _table()["left out"])
        )

    def ours(self, values, parameters, where):
        """{name here: array}"""
        arrays = {}
        for name, place in self.names.items():
            try:
                arrays[name] = to_ours(values[place.name], place.layout, parameters[name].shape)
            except MXNetError as error:
                raise MXNetError(f"{where}: {name} {error}") from error
        for name, mean in self._folded.items():
            arrays[name] = np.zeros_like(arrays[mean])
        return arrays

    def theirs(self, values):
        """{name there: array}"""
        values = dict(values)
        for name, mean in self._folded.items():
            values[mean] = values[mean] - values[name]
        arrays = {place.name: to_theirs(values[name], place.layout) if place.layout else values[name]
                  for name, place in self.names.items()}  # fmt: skip
        for name, beside in self._zeros.items():
            arrays[name] = np.zeros(len(arrays[beside]), "float32")
        return arrays | {name: arrays[other].copy() for name, other in self._copies.items()}


@cache
def _table():
    return json.loads(files("gluoncv.model_zoo").joinpath("state_dict.json").read_text(encoding="utf-8"))


def _entries(net, library):
    """The entries for a network, of one library if it is given; MXNetError when there is none."""
    found = _fitting(net, library)
    if found:
        return found
    of = f" of {library}" if library else ""
    have = libraries(net)
    known = (
        f"its names in {' and '.join(have)} are known"
        if have
        else f"there are maps for {', '.join(_table()['networks'])}"
    )
    card = getattr(net, "card", None)
    why = reason(card.name) if card is not None else None
    raise MXNetError(
        f"there is no map of names{of} for {type(net).__name__}; {known}" + (f". {card.name}: {why}" if why else "")
    )


def reason(name: str) -> str | None:
    """Why a network of the zoo has no map of names; None for those that have one."""
    return next((why for pattern, why in _without_twin().items() if re.fullmatch(pattern, name)), None)


@cache
def _without_twin() -> dict[str, str]:
    return json.loads(files("gluoncv.model_zoo").joinpath("without_twin.json").read_text(encoding="utf-8"))


def _fitting(net, library):
    for cls in type(net).__mro__:
        entries = _table()["networks"].get(cls.__name__)
        if entries:
            entries = [
                e for entry in entries for e in (_table()["networks"][entry] if isinstance(entry, str) else [entry])
            ]
            names = "\n".join(_parameters(net))
            return [
                entry for entry in entries
                if (library is None or library in re.split(" and |, ", entry["names"]))
                and all(re.search(entry[key], names, re.M) for key in ("has", "also") if key in entry)
                and ("lacks" not in entry or not re.search(entry["lacks"], names, re.M))
            ]  # fmt: skip
    return []


def _parameters(net):
    """Parameters by structural name, each under its first one."""
    seen, found = set(), {}
    for name, parameter in net._collect_params_with_prefix().items():
        if id(parameter) not in seen:
            seen.add(id(parameter))
            found[name] = parameter
    return found


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


def _some(names):
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")

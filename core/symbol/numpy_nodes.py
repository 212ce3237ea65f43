"""Nodes that MXNet writes for NumPy's functions, as operators of the table.

A network that was exported in NumPy mode holds them: `_npi_exp`, `_npi_concatenate`, `_np_transpose`. Where an older
operator does the same it takes their place; others become nodes that run the function of `np`.
"""

from __future__ import annotations

import numbers

from core.symbol.graph import literal

__all__ = ["translated", "written"]


def translated(kind: str, texts: dict[str, str], inputs: int) -> tuple[str, dict[str, str]]:
    """The operator and its attributes in the words of the table, for a node of so many inputs; others as they are."""
    if kind.startswith("_npi_") and kind.endswith("_scalar"):
        return kind, _scalar(texts)
    if kind in _OPERATORS and not (kind == "_np_transpose" and "-" in texts.get("axes", "")):
        return _OPERATORS[kind], {key: text for key, text in texts.items() if text != "None"}
    call = _call(kind, {key: literal(text) for key, text in texts.items()}, [{"$": i} for i in range(inputs)])
    return (kind, texts) if call is None else ("_np_function", {"function": call[0], "given": repr(call[1:])})


def written(node) -> tuple[str, dict[str, str]]:
    """The operator and its attributes in MXNet's words, which `translated` reads; what MXNet does not have as it is."""
    kind, texts = node.op.name, node.texts
    if kind.startswith("_npi_") and kind.endswith("_scalar"):
        number = node.attrs["scalar"]
        return kind, {**texts, "scalar": str(float(number)), "is_int": str(isinstance(number, numbers.Integral))}
    if kind == "_np_function":
        found = _told(node.attrs["function"], *node.attrs["given"])
        if found is not None:
            hidden = {key: text for key, text in texts.items() if key.startswith("__")}
            return found[0], {key: str(value) for key, value in found[1].items()} | hidden
    if kind == "_matmul" and not (node.attrs["transpose_a"] or node.attrs["transpose_b"]):
        return "_npi_matmul", {key: text for key, text in texts.items() if not key.startswith("transpose")}
    if kind == "_npi_rot90":
        return kind, {key: str(value) for key, value in node.attrs.items()} | texts
    if kind == "_split_v2":  # MXNet has no default for its places
        return kind, {"indices": "()", **texts}
    return _WRITTEN.get(kind, kind), texts


def _told(function: str, args: tuple, kwargs: dict) -> tuple[str, dict] | None:
    """MXNet's operator for a function of `np`, and its attributes; None where it has none for these arguments."""
    if function in _JOINS.values():
        return (f"_npi_{function}", {"num_args": len(args[0])}) if len(args) == 1 and not kwargs else None
    if function == "einsum":
        attrs = {"subscripts": args[0], "num_args": len(args) - 1, "optimize": 0}
        return None if kwargs else ("_npi_einsum", attrs)
    if function not in _PARAMETERS:
        return None
    kind, names, defaults = _PARAMETERS[function]
    given = {**defaults, **dict(zip(names, args)), **kwargs}
    data = [value for value in given.values() if isinstance(value, dict)]
    attrs = {key: value for key, value in given.items() if not isinstance(value, dict)}
    if len(args) > len(names) or not given.keys() <= {*names, *defaults} or "{'$'" in repr(attrs):
        return None
    if data != [{"$": i} for i in range(len(data))]:
        return None
    return kind(attrs) if callable(kind) else (kind, attrs)


def _tensordot(attrs: dict) -> tuple[str, dict]:
    if isinstance(attrs["axes"], int):
        return "_npi_tensordot_int_axes", attrs
    a, b = ((axes,) if isinstance(axes, int) else tuple(axes) for axes in attrs["axes"])
    return "_npi_tensordot", {"a_axes_summed": a, "b_axes_summed": b}


def _norm(attrs: dict) -> tuple[str, dict] | None:
    if attrs["axis"] is None and attrs["ord"] is None:  # of all elements
        return "_npi_norm", {**attrs, "ord": 2, "flag": -2}
    if not isinstance(attrs["axis"], int) or attrs["ord"] not in (None, 2):
        return None
    return "_npi_norm", {**attrs, "axis": (attrs["axis"],), "ord": 2, "flag": 1}


def _average(attrs: dict) -> tuple[str, dict] | None:
    if attrs.pop("weights") is not None or attrs["returned"]:
        return None
    return "_npi_average", {**attrs, "weighted": False}


def _pad(attrs: dict) -> tuple[str, dict] | None:
    value = attrs.pop("constant_values")
    if attrs["mode"] != "constant" or not isinstance(value, numbers.Number):
        return None
    return "_npi_pad", {**attrs, "constant_value": value}


def _scalar(texts: dict[str, str]) -> dict[str, str]:
    """`scalar` in the type that `is_int` tells: it is written as a fraction always."""
    texts = dict(texts)
    if texts.pop("is_int", "False") in ("True", "1") and float(texts.get("scalar", "nan")).is_integer():
        texts["scalar"] = str(int(float(texts["scalar"])))
    return texts


def _call(kind: str, given: dict, data: list) -> tuple[str, tuple, dict] | None:
    """The function of `np`, its arguments and keywords; `data` are the marks of the inputs.

    None for other operators.
    """
    given = {key: value for key, value in given.items() if key not in ("ctx", "num_args") and value is not None}
    if kind in _JOINS:
        return _JOINS[kind], (data,), given
    if kind == "_npi_concatenate":
        return "concatenate", (data,), {"axis": given.get("axis")}
    if kind in _FUNCTIONS:
        return _FUNCTIONS[kind], tuple(data), given
    if kind == "_npi_around" and "decimals" in given:  # the table's has a scale
        return "around", tuple(data), given
    if kind == "_npi_einsum":
        return "einsum", (given["subscripts"], *data), {}
    if kind == "_npi_tensordot":
        return "tensordot", tuple(data), {"axes": (given["a_axes_summed"], given["b_axes_summed"])}
    if kind == "_npi_pad" and given.get("mode") == "constant":
        return "pad", (*data, given["pad_width"]), {"constant_values": given.get("constant_value", 0)}
    if kind == "_npi_average" and not given.get("weighted"):
        return "average", tuple(data), {"axis": given.get("axis")}
    if kind == "_npi_norm" and given.get("flag") == -2 and "axis" not in given:
        return "linalg.norm", tuple(data), {"keepdims": bool(given.get("keepdims"))}
    if kind == "_npi_norm" and len(given.get("axis", ())) == 1:
        return "linalg.norm", (*data, given.get("ord"), given["axis"][0]), {"keepdims": bool(given.get("keepdims"))}
    if kind == "_npi_where_scalar2":
        return "where", (*data, given["x"], given["y"]), {}
    return None


_ALIKE = (
    "arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees exp expm1 fix floor log log10 log1p log2 "
    "radians reciprocal rint sign sin sinh sqrt square stack tan tanh trunc"
)
_OPERATORS = {
    **{f"_npi_{name}": name for name in _ALIKE.split()},
    **{f"_npi_{name}": f"_{name}" for name in ("arange", "eye", "ones", "zeros")},
    "_np_all": "_npi_all", "_np_any": "_npi_any", "_np_copy": "_copy", "_np_squeeze": "squeeze",
    "_np_transpose": "transpose", "_npi_full_like": "full_like", "_npx_relu": "relu", "_npx_sigmoid": "sigmoid",
}  # fmt: skip
_JOINS = {f"_npi_{name}": name for name in ("column_stack", "dstack", "hstack", "vstack")}
_WRITTEN = {"_npi_all": "_np_all", "_npi_any": "_np_any", "full_like": "_npi_full_like"}
# function of np -> operator (or what tells it and its attributes from these), arguments in order, defaults
# that are told
_PARAMETERS = {
    **{f"atleast_{n}d": (f"_np_atleast_{n}d", ("a",), {"num_args": 1}) for n in (1, 2, 3)},
    "argsort": ("argsort", ("a", "axis"), {"axis": -1, "is_ascend": True, "dtype": "int64"}),
    "around": ("_npi_around", ("x", "decimals"), {"decimals": 0}),
    "average": (_average, ("a", "axis", "weights", "returned"), {"axis": None, "weights": None, "returned": False}),
    "diag": ("_np_diag", ("v", "k"), {}),
    "diff": ("_npi_diff", ("a", "n", "axis"), {}),
    "dot": ("_np_dot", ("a", "b"), {}),
    "eye": ("_npi_eye", ("N", "M", "k", "dtype"), {"M": None, "k": 0, "dtype": "float32"}),
    "inner": ("_npi_tensordot", ("a", "b"), {"a_axes_summed": (-1,), "b_axes_summed": (-1,)}),
    "linalg.norm": (_norm, ("x", "ord", "axis", "keepdims"), {"ord": None, "axis": None, "keepdims": False}),
    "moveaxis": ("_np_moveaxis", ("a", "source", "destination"), {}),
    "nan_to_num": ("_npi_nan_to_num", ("x", "copy", "nan", "posinf", "neginf"), {}),
    "pad": (_pad, ("x", "pad_width", "mode", "constant_values"), {"mode": "constant", "constant_values": 0}),
    "ravel": ("_npi_reshape", ("x",), {"newshape": (-1,)}),
    "roll": ("_np_roll", ("a", "shift", "axis"), {}),
    "sort": ("sort", ("a", "axis"), {"axis": -1, "is_ascend": True}),
    "tensordot": (_tensordot, ("a", "b", "axes"), {"axes": 2}),
    "trace": ("_np_trace", ("a", "offset", "axis1", "axis2"), {}),
    "tril": ("_npi_tril", ("m", "k"), {}),
}
# operator -> function of np: those that are written under their own names, but for `_npi_around`, which the table has
# with another argument; and more that are read
_FUNCTIONS = {
    **{k: n for n, (k, *_) in _PARAMETERS.items() if k in (f"_np_{n}", f"_npi_{n}") and n != "around"},
    **{f"_npi_{name}": name for name in ("broadcast_to", "flip", "polyval")},
    "_npi_cholesky": "linalg.cholesky",
    "_npi_tensordot_int_axes": "tensordot",
}

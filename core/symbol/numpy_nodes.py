"""Nodes that MXNet writes for NumPy's functions, as operators of the table.

A network that was exported in NumPy mode holds them: `_npi_exp`, `_npi_concatenate`, `_np_transpose`. Where an older
operator does the same it takes their place; others become nodes that run the function of `np`.
"""

from __future__ import annotations

import ast

__all__ = ["translated"]


def translated(kind: str, texts: dict[str, str], inputs: int) -> tuple[str, dict[str, str]]:
    """The operator and its attributes in the words of the table, for a node of so many inputs; others as they are."""
    if kind.startswith("_npi_") and kind.endswith("_scalar"):
        return kind, _scalar(texts)
    if kind in _OPERATORS:
        return _OPERATORS[kind], {key: text for key, text in texts.items() if text != "None"}
    call = _call(kind, {key: _value(text) for key, text in texts.items()}, [{"$": i} for i in range(inputs)])
    return (kind, texts) if call is None else ("_np_function", {"function": call[0], "given": repr(call[1:])})


def _scalar(texts: dict[str, str]) -> dict[str, str]:
    """`scalar` in the type that `is_int` tells: it is written as a fraction always."""
    texts = dict(texts)
    if texts.pop("is_int", "False") in ("True", "1") and float(texts.get("scalar", "nan")).is_integer():
        texts["scalar"] = str(int(float(texts["scalar"])))
    return texts


def _call(kind: str, given: dict, data: list) -> tuple[str, tuple, dict] | None:
    """The function of `np`, its arguments and keywords; `data` are the marks of the inputs. None for other operators."""
    given = {key: value for key, value in given.items() if key not in ("ctx", "num_args") and value is not None}
    if kind in _JOINS:
        return _JOINS[kind], (data,), given
    if kind == "_npi_concatenate":
        return "concatenate", (data,), {"axis": given.get("axis")}
    if kind in _FUNCTIONS:
        return _FUNCTIONS[kind], tuple(data), given
    if kind == "_npi_einsum":
        return "einsum", (given["subscripts"], *data), {}
    if kind == "_npi_tensordot":
        return "tensordot", tuple(data), {"axes": (given["a_axes_summed"], given["b_axes_summed"])}
    if kind == "_npi_pad" and given.get("mode") == "constant":
        return "pad", (*data, given["pad_width"]), {"constant_values": given.get("constant_value", 0)}
    if kind == "_npi_average" and not given.get("weighted"):
        return "average", tuple(data), {"axis": given.get("axis")}
    if kind == "_npi_norm" and len(given.get("axis", ())) == 1:
        return "linalg.norm", (*data, given.get("ord"), given["axis"][0]), {"keepdims": bool(given.get("keepdims"))}
    if kind == "_npi_where_scalar2":
        return "where", (*data, given["x"], given["y"]), {}
    return None


def _value(text: str):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


_OPERATORS = {
    **{
        f"_npi_{name}": name
        for name in (
            "arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees exp expm1 fix floor log log10 log1p "
            "log2 radians reciprocal rint sign sin sinh sqrt square stack tan tanh trunc"
        ).split()
    },
    **{f"_npi_{name}": f"_{name}" for name in ("arange", "eye", "ones", "zeros")},
    "_np_all": "_npi_all",
    "_np_any": "_npi_any",
    "_np_copy": "_copy",
    "_np_squeeze": "squeeze",
    "_np_transpose": "transpose",
    "_npi_full_like": "full_like",
    "_npx_relu": "relu",
    "_npx_sigmoid": "sigmoid",
}
_JOINS = {f"_npi_{name}": name for name in ("column_stack", "dstack", "hstack", "vstack")}
_FUNCTIONS = {
    **{
        f"_np_{name}": name
        for name in ("atleast_1d", "atleast_2d", "atleast_3d", "diag", "dot", "moveaxis", "roll", "trace")
    },
    **{f"_npi_{name}": name for name in ("broadcast_to", "diff", "flip", "nan_to_num", "polyval", "tril")},
    "_npi_cholesky": "linalg.cholesky",
    "_npi_tensordot_int_axes": "tensordot",
}

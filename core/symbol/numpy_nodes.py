"""Nodes that MXNet writes for NumPy's functions, as operators of the table that do the same.

A network that was exported in NumPy mode holds them: `_npi_exp`, `_npi_concatenate`, `_np_transpose`.
"""

from __future__ import annotations

__all__ = ["translated"]


def translated(kind: str, texts: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The operator and its attributes in the words of the table; nodes of other operators as they are."""
    if kind.startswith("_npi_") and kind.endswith("_scalar"):
        return kind, _scalar(texts)
    if kind not in _OPERATORS or (kind == "_npi_concatenate" and texts.get("axis") == "None"):
        return kind, texts
    words = _ATTRIBUTES.get(kind, {})
    kept = {key: text for key, text in texts.items() if text != "None" and key != "ctx"}
    return _OPERATORS[kind], {words.get(key, key): text for key, text in kept.items()}


def _scalar(texts: dict[str, str]) -> dict[str, str]:
    """`scalar` in the type that `is_int` tells: it is written as a fraction always."""
    texts = dict(texts)
    if texts.pop("is_int", "False") in ("True", "1") and float(texts.get("scalar", "nan")).is_integer():
        texts["scalar"] = str(int(float(texts["scalar"])))
    return texts


_OPERATORS = {
    **{
        f"_npi_{name}": name
        for name in (
            "arccos arccosh arcsin arcsinh arctan arctanh broadcast_to cbrt ceil cos cosh degrees exp expm1 fix floor log "
            "log10 log1p log2 radians reciprocal rint sign sin sinh sqrt square stack tan tanh trunc"
        ).split()
    },
    **{f"_npi_{name}": f"_{name}" for name in ("arange", "eye", "ones", "zeros")},
    "_np_copy": "_copy",
    "_np_diag": "diag",
    "_np_dot": "dot",
    "_np_squeeze": "squeeze",
    "_np_transpose": "transpose",
    "_npi_concatenate": "Concat",
    "_npi_flip": "reverse",
    "_npx_relu": "relu",
    "_npx_sigmoid": "sigmoid",
}

_ATTRIBUTES = {"_npi_concatenate": {"axis": "dim"}}

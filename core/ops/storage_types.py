"""Which operators keep sparse arrays sparse (the tables in the documentation of `mx.nd.sparse`)."""

from __future__ import annotations

# The numbers of storage types in symbol files (`__storage_type__`).
NUMBERS = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}

# Operators of one array that leave zeros alone, so that they act on the stored values.
KEEPS_ZERO = frozenset(
    {
        "abs", "sign", "negative", "square", "sqrt", "cbrt", "sin", "tan", "arcsin", "arctan", "sinh", "tanh",
        "arcsinh", "arctanh", "expm1", "log1p", "relu", "rint", "ceil", "floor", "trunc", "fix", "round", "degrees",
        "radians", "_mul_scalar", "_div_scalar", "zeros_like", "_copy", "clip", "_contrib_quadratic",
        "_scatter_plus_scalar", "_scatter_minus_scalar", "_plus_scalar", "_minus_scalar", "_equal_scalar",
        "_not_equal_scalar", "_greater_scalar", "_greater_equal_scalar", "_lesser_scalar", "_lesser_equal_scalar",
    }
)  # fmt: skip
# Of these, those that do so under some attributes alone.
_KEEP_ZERO_IF = {
    "_contrib_quadratic": lambda attrs: not attrs["c"],
    "clip": lambda attrs: attrs["a_min"] <= 0 <= attrs["a_max"],
    **dict.fromkeys(("_plus_scalar", "_minus_scalar", "_not_equal_scalar"), lambda attrs: attrs["scalar"] == 0),
    "_equal_scalar": lambda attrs: attrs["scalar"] != 0,
    "_greater_scalar": lambda attrs: attrs["scalar"] >= 0,
    "_greater_equal_scalar": lambda attrs: attrs["scalar"] > 0,
    "_lesser_scalar": lambda attrs: attrs["scalar"] <= 0,
    "_lesser_equal_scalar": lambda attrs: attrs["scalar"] < 0,
}
# Operators that keep the storage type which all their inputs have, and for which types they do.
SAME_STYPE = {
    "elemwise_add": ({"csr"}, {"row_sparse"}), "elemwise_sub": ({"csr"}, {"row_sparse"}), "add_n": ({"row_sparse"},),
    "Concat": ({"csr"},), "_maximum": ({"csr"}, {"row_sparse"}), "_minimum": ({"csr"}, {"row_sparse"}),
    "_hypot": ({"csr"}, {"row_sparse"}),
}  # fmt: skip
FIRST_CSR = frozenset({"slice", "broadcast_mul", "broadcast_div"})
# Optimizer steps that change the rows of a row-sparse gradient alone; the value says whether only if `lazy_update`.
ROW_UPDATES = {
    "sgd_update": True, "sgd_mom_update": True, "adam_update": True, "_contrib_group_adagrad_update": False,
}  # fmt: skip


# Operators whose result may be stored otherwise than as a dense array.
NAMES = frozenset({*KEEPS_ZERO, *SAME_STYPE, *FIRST_CSR, *ROW_UPDATES, "dot", "elemwise_mul", "cast_storage",
                   "_sparse_retain", "square_sum", "_scatter_elemwise_div", "take"})  # fmt: skip


def of_variables(attrs: dict[str, dict]) -> dict[str, str]:
    """The storage types that variables were made with, from their attributes by name."""
    names = {str(number): name for name, number in NUMBERS.items()}
    given = {name: a.get("__storage_type__") for name, a in attrs.items()}
    return {name: names[number] for name, number in given.items() if number in names}


def keeps_zero(name: str, attrs: dict) -> bool:
    """Whether an operator of KEEPS_ZERO does so under these attributes."""
    return name not in _KEEP_ZERO_IF or _KEEP_ZERO_IF[name](attrs)


def result_stype(name: str, stypes: list, attrs: dict) -> str:
    """The storage type that MXNet gives (the tables in the documentation of `mx.nd.sparse`)."""
    sparse = {stype for stype in stypes if stype != "default"}
    if name in KEEPS_ZERO and len(stypes) == 1 and keeps_zero(name, attrs):
        return stypes[0]
    if name == "cast_storage":
        return attrs["stype"]
    if name == "square_sum":
        return (
            "row_sparse" if stypes == ["row_sparse"] and attrs["keepdims"] and attrs["axis"] in (1, (1,)) else "default"
        )
    if name in ("_sparse_retain", "_scatter_elemwise_div"):
        return stypes[0]
    if name == "dot":
        if attrs.get("forward_stype"):
            return attrs["forward_stype"]
        if stypes[0] == "csr" and stypes[1] != "csr" and attrs["transpose_a"] and not attrs["transpose_b"]:
            return "row_sparse"
        return "csr" if stypes == ["default", "csr"] and not attrs["transpose_a"] else "default"
    if name in SAME_STYPE and attrs.get("dim", 0) == 0:
        return stypes[0] if set(stypes) in SAME_STYPE[name] else "default"
    if name in FIRST_CSR:
        return "csr" if stypes[0] == "csr" and "row_sparse" not in stypes else "default"
    if name == "take":
        return "csr" if stypes[0] == "csr" and attrs["axis"] == 0 and attrs["mode"] != "raise" else "default"
    if name in ("elemwise_mul", "zeros_like") and len(sparse) == 1:
        return min(sparse)
    return "default"

"""Comparisons of arrays, with the tolerances that MXNet's tests use for each dtype."""

from __future__ import annotations

import json
import numbers

import numpy as np

from core import ndarray as nd
from core import random
from core.context import current_context
from core.dtypes import dtype_name
from core.ndarray import NDArray

_EXACT = dict.fromkeys(map(np.dtype, "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()), 0)


def _of_floats(half: float, single: float, double: float) -> dict:
    return dict(zip(map(np.dtype, ("float16", "float32", "float64")), (half, single, double)))


def default_dtype():
    """The dtype that tests use unless they say otherwise."""
    return np.float32


def default_rtols() -> dict:
    """Relative tolerances by dtype."""
    return _of_floats(1e-2, 1e-4, 1e-5) | _EXACT


def default_atols() -> dict:
    """Absolute tolerances by dtype."""
    return _of_floats(1e-1, 1e-3, 1e-20) | _EXACT


def default_numeric_eps() -> dict:
    """Steps of finite differences by dtype: powers of two, which add to a number without rounding it."""
    return _of_floats(2.0**-6, 2.0**-9, 2.0**-14)


def effective_dtype(dat) -> np.dtype:
    """The dtype whose tolerance suits an array; bfloat16 counts as float16."""
    name = dtype_name(dat.dtype)
    return np.dtype("float16" if name == "bfloat16" else name)


def get_tolerance(dat, tol, default_tol):
    """A tolerance for an array: a number, or from a dictionary by dtype."""
    if isinstance(tol, numbers.Number):
        return tol
    kind = effective_dtype(dat)
    return (tol or {}).get(kind, default_tol[kind])


def get_tols(x, y, rtol, atol):
    """(relative, absolute) tolerance for two arrays: the larger ones where none is given."""
    pair = [np.array(v) if isinstance(v, numbers.Number) else v for v in (x, y)]
    return tuple(
        max(get_tolerance(v, given, default) for v in pair)
        for given, default in ((rtol, default_rtols()), (atol, default_atols()))
    )


def get_atol(atol=None, dtype="float64"):
    """An absolute tolerance."""
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_rtol(rtol=None, dtype="float64"):
    """A relative tolerance."""
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_etol(etol=None):
    """The share of elements that may be wrong."""
    return 0 if etol is None else etol


def same(a, b) -> bool:
    """Whether two arrays are equal."""
    return np.array_equal(_numpy(a), _numpy(b))


def same_array(array1, array2) -> bool:
    """Whether two arrays have the same memory: what is added to one appears in the other."""
    array1[:] += 1
    shared = same(array1, array2)
    array1[:] -= 1
    return shared and same(array1, array2)


def checkShapes(a, b):
    """Raises AssertionError where shapes differ."""
    if a.shape != b.shape:
        raise AssertionError(f"the shapes {a.shape} and {b.shape} differ")


def almost_equal(a, b, rtol=None, atol=None, equal_nan=False, use_broadcast=True) -> bool:
    """Whether |a - b| <= atol + rtol * |b| everywhere; by default the tolerances of float64."""
    a, b = _numpy(a), _numpy(b)
    if not use_broadcast:
        checkShapes(a, b)
    return np.allclose(a, b, rtol=get_rtol(rtol), atol=get_atol(atol), equal_nan=equal_nan)


def locationError(a, b, index, names, maxError=False) -> str:
    """A sentence about one position where arrays differ."""
    kind = "maximum error" if maxError else "error"
    return f"Location of {kind}: {index}, {names[0]}={a[index]:.8f}, {names[1]}={b[index]:.8f}"


def assert_almost_equal(a, b, rtol=None, atol=None, names=("a", "b"), equal_nan=False, use_broadcast=True,
                        mismatches=(10, 10)):  # fmt: skip
    """Raises AssertionError unless |a - b| <= atol + rtol * |b| everywhere.

    rtol, atol: numbers or dictionaries by dtype; by default those of the less exact of both dtypes. names: what the
    message calls the arrays. mismatches[0]: how many positions it names.
    """
    if not use_broadcast:
        checkShapes(a, b)
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _numpy(a), _numpy(b)
    if getattr(a, "dtype", None) == np.bool_ == getattr(b, "dtype", None):
        np.testing.assert_equal(a, b)
    elif not almost_equal(a, b, rtol, atol, equal_nan):
        _raise(a, b, rtol, atol, names, equal_nan, mismatches[0])


def assert_allclose(a, b, rtol=1e-07, atol=0, equal_nan=True):
    """`assert_almost_equal` with NumPy's tolerances."""
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(a, b, rtol=None, atol=None, etol=None, names=("a", "b"), equal_nan=False,
                                 mismatches=(10, 10)):  # fmt: skip
    """`assert_almost_equal`, but the share `etol` of the elements may be wrong."""
    if not get_etol(etol) > 0:
        assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)
        return
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _numpy(a), _numpy(b)
    if 1 - np.isclose(a, b, rtol, atol, equal_nan).mean() > etol:
        _raise(a, b, rtol, atol, names, equal_nan, mismatches[0])


def assert_almost_equal_ignore_nan(a, b, rtol=None, atol=None, names=("a", "b")):
    """`assert_almost_equal` where neither array is nan."""
    a, b = np.copy(_numpy(a)), np.copy(_numpy(b))
    missing = np.isnan(a) | np.isnan(b)
    a[missing] = b[missing] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def assert_exception(f, exception_type, *args, **kwargs):
    """Raises AssertionError unless `f(*args, **kwargs)` raises `exception_type`."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{f} raised no {exception_type.__name__}")


def compare_ndarray_tuple(t1, t2, rtol=None, atol=None):
    """Compares arrays, or tuples (of tuples) of arrays; None fits everything."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, (tuple, list)):
        for first, second in zip(t1, t2):
            compare_ndarray_tuple(first, second, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)


def compare_optimizer(opt1, opt2, shape, dtype, w_stype="default", g_stype="default", rtol=1e-4, atol=1e-5,
                      compare_states=True, ntensors=1):  # fmt: skip
    """Compares one update of two optimizers on random weights and gradients.

    The second one gets arrays of the storage types; with a list of shapes it gets all weights in one call.
    """
    shapes = shape if isinstance(shape, list) else [shape]
    second = {"w": [_random(s, w_stype, dtype, 1) for s in shapes], "g": [_random(s, g_stype, dtype) for s in shapes]}
    first = {key: [v.tostype("default").copy() for v in values] for key, values in second.items()}
    states1 = [opt1.create_state_multi_precision(i, w) for i, w in enumerate(first["w"])]
    states2 = [opt2.create_state_multi_precision(i, w) for i, w in enumerate(second["w"])]
    if compare_states:
        compare_ndarray_tuple(states1, states2)
    for i, rows in enumerate(zip(first["w"], first["g"], states1)):
        opt1.update_multi_precision(i, *rows)
    if len(shapes) == 1:
        opt2.update_multi_precision(0, second["w"][0], second["g"][0], states2[0])
    else:
        opt2.update_multi_precision(list(range(len(shapes))), second["w"], second["g"], states2)
    if compare_states:
        compare_ndarray_tuple(states1, states2, rtol, atol)
    compare_ndarray_tuple(first["w"], second["w"], rtol, atol)


def compare_optimizer_noise_seeded(opt1, opt2, shapes, dtype, noise_seed, w_stype="default", g_stype="default",
                                   rtol=1e-4, atol=1e-5, compare_states=True):  # fmt: skip
    """`compare_optimizer` for optimizers that add noise: both draw it from the same seed."""

    class Seeded:
        def __init__(self, optimizer):
            self.create_state_multi_precision = optimizer.create_state_multi_precision
            self._update = optimizer.update_multi_precision

        def update_multi_precision(self, *rows):
            random.seed(noise_seed)
            self._update(*rows)

    for shape in shapes:
        compare_optimizer(Seeded(opt1), Seeded(opt2), shape, dtype, w_stype, g_stype, rtol, atol, compare_states)


def same_symbol_structure(sym1, sym2) -> bool:
    """Whether two symbols have the same operators in the same order."""
    first, second = ([node["op"] for node in json.loads(s.tojson())["nodes"]] for s in (sym1, sym2))
    return all(a == b for a, b in zip(first, second))


def _random(shape, stype, dtype, density=None):
    from core.test_utils.arrays import rand_ndarray

    if stype == "default":
        return nd.random.uniform(shape=shape, ctx=current_context(), dtype=dtype)
    return rand_ndarray(shape, stype, density=density, dtype=dtype)


def _numpy(array):
    return array.asnumpy() if isinstance(array, NDArray) else array


def _raise(a, b, rtol, atol, names, equal_nan, count):
    a, b = np.broadcast_arrays(a, b)
    wide = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = np.abs(wide[0] - wide[1]) / (atol + rtol * np.abs(wide[1]) + 1e-20)
    wrong = ~np.isclose(*wide, rtol=rtol, atol=atol, equal_nan=equal_nan)
    excess = np.where(wrong, np.nan_to_num(excess, nan=np.inf, posinf=np.inf), 0)
    worst = np.argsort(-excess, axis=None)[: max(1, min(count, int(wrong.sum())))]
    places = [np.unravel_index(int(i), a.shape) for i in worst]
    lines = [locationError(wide[0], wide[1], tuple(map(int, place)), names, i == 0) for i, place in enumerate(places)]
    raise AssertionError(
        f"{names[0]} and {names[1]} differ at {int(wrong.sum())} of {wrong.size} places: error {excess.max():.6g} "
        "times the "
        f"tolerance rtol={rtol:e}, atol={atol:e}\n" + "\n".join(lines)
    )

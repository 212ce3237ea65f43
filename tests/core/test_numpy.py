"""The np face against NumPy itself: functions, promotion, zero dimensions, indexing, random numbers."""

import numpy as onp
import pytest

import core as mx
from core import autograd, np, npx
from gluon import HybridBlock

RS = onp.random.RandomState(0)
A, B = RS.rand(3, 4).astype("float32") + 0.5, RS.rand(3, 4).astype("float32") + 0.5
V = RS.randint(0, 5, (6,)).astype("int64")
SPD = (lambda m: m @ m.T + onp.eye(3))(RS.rand(3, 3)).astype("float32")

EXPRESSIONS = """
abs(a - b); np.sqrt(a); np.exp(a); np.log1p(a); np.arctan2(a, b); np.hypot(a, b); np.fmod(a, b); np.copysign(a, b - 1)
a + b; a - 1; 2 / a; a % b; a ** b; a > b; a == a; (a > 1) & (b > 1); ~(a > 1)
np.sum(a); np.sum(a, axis=0); np.mean(a, axis=(0, 1), keepdims=True); np.max(a, axis=-1); np.min(a); np.prod(a, axis=1)
np.var(a); np.std(a, axis=0, ddof=1); np.argmax(a, axis=1); np.argmin(a); np.cumsum(a, axis=1); np.all(a > 0); np.any(a > 9)
np.sort(a, axis=0); np.argsort(a); np.unique(v); np.where(a > b, a, b); np.clip(a, 0.6, 1.0); np.around(a, 1); np.diff(a)
np.reshape(a, (4, -1)); np.transpose(a); np.moveaxis(a, 0, 1); np.expand_dims(a, (0, 2)); np.squeeze(a[:1]); np.flip(a, 0)
np.roll(a, 3); np.roll(a, -1, axis=1); np.rot90(a, 3); np.tile(a, (2, 1)); np.repeat(a, 2, axis=0); np.pad(a, ((1, 2), (0, 1)))
np.pad(a, ((1, 1), (2, 0)), mode='edge'); np.pad(a, ((2, 1), (3, 0)), mode='reflect'); np.pad(a, ((2, 1), (3, 0)), mode='symmetric')
np.concatenate([a, b], axis=1); np.stack([a, b]); np.vstack([a, b]); np.hstack([a, b]); np.dstack([a, b]); np.append(a, b)
np.column_stack([a[0], b[0]]); np.diag(a); np.diag(a[0]); np.trace(a); np.tril(a); np.triu(a, 1); np.diagonal(a, 1)
np.delete(a, 1, axis=0); np.insert(a, 1, np.array([5.0]), axis=1); np.take(a, np.array([0, 2]), axis=1); np.bincount(v)
np.dot(a, b.T); np.matmul(a, b.T); np.outer(a[0], b[0]); np.tensordot(a, b, axes=([0, 1], [0, 1])); np.inner(a, b); np.vdot(a, b)
np.einsum('ij,kj->ik', a, b); np.einsum('ij->j', a); np.einsum('ij,ij->', a, b); np.kron(a[:2, :2], b[:2, :2]); np.cross(a[:, :3], b[:, :3])
np.linalg.inv(s); np.linalg.det(s); np.linalg.cholesky(s); np.linalg.norm(a); np.linalg.norm(a, ord=1, axis=0); np.linalg.norm(a, 'nuc')
np.linalg.solve(s, s[0]); np.linalg.eigvalsh(s); np.linalg.slogdet(s)[1]; np.percentile(a, 30); np.polyval(np.array([1., 2, 3]), a)
np.zeros((2, 0)); np.eye(3, 4, 1); np.tri(3); np.arange(2, 8, 2); np.linspace(0, 1, 5); np.identity(2); np.full((2,), 3.0)
np.meshgrid(a[0], b[:, 0])[1]; np.atleast_3d(a); np.broadcast_to(a[:1], (3, 4)); np.interp(a, np.array([0., 2]), np.array([1., 5]))
a[1]; a[1, 2]; a[:, ::2]; a[::-1]; a[..., None]; a[[0, 2]]; a[a > 1]; a[np.array([0, 1]), np.array([2, 3])]; a[0][1]
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS if e.strip()])
def test_equals_numpy(expression):
    want = eval(expression, {"np": onp, "a": A, "b": B, "v": V, "s": SPD})
    got = eval(expression, {"np": np, "a": np.array(A), "b": np.array(B), "v": np.array(V), "s": np.array(SPD)})
    values = got.asnumpy() if isinstance(got, np.ndarray) else onp.asarray(got)
    assert values.shape == onp.shape(want)
    onp.testing.assert_allclose(values.astype("float64"), onp.asarray(want, dtype="float64"), rtol=2e-5, atol=1e-6)


def test_zero_dimensions_and_truth_values():
    x = np.array(2.5)
    assert x.shape == () and x.ndim == 0 and float(x) == 2.5 and isinstance(np.ones(3).sum(), np.ndarray)
    assert (np.ones(2) > 0).dtype == onp.bool_ and bool(np.array(True))
    with pytest.raises(TypeError):
        len(x)


def test_promotion():
    half, single, double = (np.ones(2, dtype=d) for d in ("float16", "float32", "float64"))
    whole, small, truth = np.ones(2, dtype="int64"), np.ones(2, dtype="int8"), np.array([True, False], dtype="bool")
    assert (half + single).dtype == onp.float32 and (single * double).dtype == onp.float64
    assert (
        (single + whole).dtype == onp.float32
        and (small + whole).dtype == onp.int64
        and (whole / 2).dtype == onp.float32
    )
    assert (whole + 1.7).asnumpy().tolist() == [2, 2] and (truth + True).dtype == onp.int64
    for operation in (lambda: small + np.ones(2, dtype="uint8"), lambda: small - whole, lambda: half / single):
        with pytest.raises(mx.MXNetError, match="astype"):
            operation()


def test_faces_do_not_mix_but_share_memory():
    x = np.ones((2, 2))
    with pytest.raises(TypeError, match="as_np_ndarray"):
        x + mx.nd.ones((2, 2))
    with pytest.raises(TypeError):
        x + onp.ones((2, 2), dtype="float32")
    y = x.as_nd_ndarray()
    y[:] = 3
    assert type(y) is mx.nd.NDArray and x.asnumpy().tolist() == [[3, 3], [3, 3]]


def test_gradients_flow_through_np_functions():
    a, b = np.array(A), np.array(B)
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        y = (np.einsum("ij,kj->ik", a, b) * np.tril(np.ones((3, 3)))).sum() + np.where(a > b, a, b * b).mean()
    y.backward()
    mask = onp.tril(onp.ones((3, 3)))
    onp.testing.assert_allclose(a.grad.asnumpy(), mask @ B + (A > B) / 12, rtol=1e-5)
    onp.testing.assert_allclose(b.grad.asnumpy(), mask.T @ A + (A <= B) * 2 * B / 12, rtol=1e-5)


def test_masks_select_and_set():
    x = np.array(A)
    x[x > 1] = 0
    want = A.copy()
    want[want > 1] = 0
    assert (x.asnumpy() == want).all()


def test_random_numbers_repeat_and_have_their_shapes():
    np.random.seed(4)
    first = np.random.normal(size=(2, 3)).asnumpy()
    np.random.seed(4)
    assert (np.random.normal(size=(2, 3)).asnumpy() == first).all()
    assert np.random.uniform().shape == () and np.random.choice(5, 3, replace=False).shape == (3,)
    counts = np.random.multinomial(1000, [0.2, 0.8]).asnumpy()
    assert counts.sum() == 1000 and abs(counts[0] - 200) < 65
    assert sorted(np.random.permutation(10).asnumpy().tolist()) == list(range(10))


def test_reshape_codes_of_npx():
    x = np.ones((2, 3, 4))
    assert npx.reshape(x, (-2, -5)).shape == (2, 12) and npx.reshape(x, (-6, 1, 2, -4)).shape == (1, 2, 3, 4)


def test_missing_functions_are_named():
    with pytest.raises(AttributeError, match="concatenate"):
        _ = np.concatenat


@pytest.mark.parametrize("name", ["maximum", "arctan2", "copysign"])
def test_operations_that_need_operands_of_one_type(name):
    x, y = np.ones((2,), dtype="float32"), np.ones((2,), dtype="float64")
    with pytest.raises(mx.MXNetError, match="do not go together"):
        getattr(np, name)(x, y)
    assert getattr(np, name)(x, x).dtype in (onp.float32, onp.bool_)


def test_axes_that_repeat_or_are_not_there():
    x = np.ones((2, 3))
    with pytest.raises(ValueError):
        np.transpose(x, (0, 0))
    for call in (lambda: np.diff(x, axis=5), lambda: np.cumsum(x, axis=-1), lambda: np.rot90(x, axes=(1, 1))):
        with pytest.raises(mx.MXNetError):
            call()


def test_bounds_of_the_method_clip_are_called_min_and_max():
    x = np.array([-1.0, 0.5, 2.0])
    assert x.clip(min=0).asnumpy().tolist() == [0, 0.5, 2]
    assert x.clip(max=1).asnumpy().tolist() == [-1, 0.5, 1]
    assert x.clip(0, 1).asnumpy().tolist() == [0, 0.5, 1]


def test_ranges_are_start_plus_k_steps_in_the_type_of_the_result():
    k = onp.arange(160)
    single = onp.float32(-8) + k.astype("float32") * onp.float32(0.1)
    assert (mx.np.arange(-8, 8, 0.1).asnumpy() == single).all() and single[80] == 0
    assert (mx.np.arange(-8, 8, 0.1, dtype="float64").asnumpy() == -8 + k * 0.1).all()
    assert (mx.np.linspace(-8, 8, 160, endpoint=False, dtype="float64").asnumpy() == -8 + k * 0.1).all()
    assert (mx.np.linspace(0, 1, 7, dtype="float64").asnumpy() == onp.linspace(0, 1, 7)).all()


def test_masks_among_other_indices():
    values = onp.arange(24.0, dtype="float32").reshape(2, 3, 4)
    given, mask = np.array(values), onp.array([True, False, True])
    for pick in (
        lambda a, m: a[:, m],
        lambda a, m: a[1, m],
        lambda a, m: a[:, m, 1:3],
        lambda a, m: a[:, m][:, 0],
    ):
        onp.testing.assert_array_equal(pick(given, np.array(mask)).asnumpy(), pick(values, mask))
    given[:, np.array(mask)] = 0
    values[:, mask] = 0
    onp.testing.assert_array_equal(given.asnumpy(), values)


EACH, LAST, BACK = slice(None), onp.array(-1), slice(None, None, -1)
PAIR, SQUARE, TRUE = onp.array([2, 0]), onp.array([[1, 0], [2, 1]]), onp.array([True, False, True])
KEYS = {
    "a position parts the arrays": (LAST, EACH, PAIR),
    "a number parts them": (1, EACH, PAIR),
    "an Ellipsis between": (LAST, ..., PAIR),
    "a new axis between": (LAST, None, SQUARE),
    "at the end": (EACH, PAIR, EACH, LAST),
    "beside each other": (EACH, LAST, SQUARE, EACH),
    "positions alone": (LAST, EACH, onp.array(1)),
    "beside a mask": (onp.array(0), EACH, TRUE),
    "backwards beside a position": (BACK, LAST),
    "backwards beside an array": (EACH, PAIR, BACK),
    "backwards and parted": (onp.array(1), BACK, PAIR),
}
VALUES = onp.arange(81.0, dtype="float32").reshape(3, 3, 3, 3)


class Written(HybridBlock):
    """x with a value at a key, whose arrays are inputs."""

    def __init__(self, key):
        super().__init__()
        self._key = key

    def forward(self, x, value, *arrays):
        rest, x = iter(arrays), x.copy()
        x[tuple(next(rest) if isinstance(k, onp.ndarray) else k for k in self._key)] = value
        return x


def _own(key):
    return tuple(np.array(k, dtype=k.dtype) if isinstance(k, onp.ndarray) else k for k in key)


@pytest.mark.parametrize("name", KEYS)
def test_index_arrays_and_positions(name):
    """NumPy puts the axes of index arrays in front where something parts them; what is written has their order."""
    key, own = KEYS[name], _own(KEYS[name])
    given = np.array(VALUES)
    assert given[own].shape == VALUES[key].shape and (given[own].asnumpy() == VALUES[key]).all()
    written, want = -VALUES[key] - 1, VALUES.copy()
    want[key] = written
    for value in (written, written[None]):  # leading axes of one are left out
        given = np.array(VALUES)
        given[own] = np.array(value)
        onp.testing.assert_array_equal(given.asnumpy(), want)


@pytest.mark.parametrize("make", [np.array, mx.nd.array], ids=["np", "nd"])
@pytest.mark.parametrize("hybridize", [False, True])
def test_an_ellipsis_of_no_axis_parts_no_index_arrays(make, hybridize):
    """In MXNet 1.9.1, of both namespaces; NumPy puts (5,) in front of (2,) here."""
    values, rows, columns = onp.arange(24.0).reshape(2, 3, 4), onp.array([0, 1, 2, 0, 1]), onp.array([1, 2, 3, 0, 0])
    key = slice(None), make(rows, dtype="int64"), ..., make(columns, dtype="int64")
    assert (make(values)[key].asnumpy() == values[:, rows, columns]).all()
    want = values.copy()
    want[:, rows, columns] = written = -values[:, rows, columns] - 1
    if hybridize:
        block = Written((slice(None), rows, ..., columns))
        block.hybridize()
        found = block(make(values), make(written), key[1], key[3])
    else:
        found = make(values)
        found[key] = make(written)
    assert (found.asnumpy() == want).all()


@pytest.mark.parametrize("name", [name for name in KEYS if "mask" not in name])  # whose places depend on values
def test_writes_to_index_arrays_and_positions_in_a_plan(name, numpy_semantics):
    key, own = KEYS[name], _own(KEYS[name])
    block = Written(key)
    block.hybridize()
    written, want = -VALUES[key] - 1, VALUES.copy()
    want[key] = written
    result = block(np.array(VALUES), np.array(written), *(k for k in own if isinstance(k, np.ndarray)))
    onp.testing.assert_array_equal(result.asnumpy(), want)


def test_different_integers_are_subtracted_where_shapes_differ():
    """As in MXNet 1.9.1, which has no rule for arrays of one shape."""
    for a, b, kind in (("int64", "int32", "int64"), ("bool", "uint8", "uint8"), ("int8", "int32", "int32")):
        x, y = np.array([[2], [1]], dtype=a), np.array([1, 0, 1], dtype=b)
        expected = x.asnumpy().astype(kind) - y.asnumpy().astype(kind)
        assert (x - y).dtype == kind and ((x - y).asnumpy() == expected).all()
        assert (np.mod(y + 1, x).asnumpy() == ((y.asnumpy() + 1) % x.asnumpy().astype(kind))).all()
        with pytest.raises(mx.base.MXNetError, match="do not go together"):
            x - np.ones((2, 1), dtype=b)
    with pytest.raises(mx.base.MXNetError, match="int8 and uint8"):
        np.ones((2, 1), dtype="int8") - np.ones(3, dtype="uint8")


def test_powers_that_are_no_integers_of_the_type_are_cut():
    """1e10 is the least integer of 32 bits, as C converts it: all powers but those of 1 are 0."""
    assert (np.array([1, 5, 7], dtype="int32") ** 1e10).asnumpy().tolist() == [1, 0, 0]
    assert (np.array([1, 5, 7], dtype="int32") ** -0.5).asnumpy().tolist() == [1, 1, 1]


def test_no_parts_are_refused():
    with pytest.raises(mx.base.MXNetError, match="from one on, given 0"):
        np.hsplit(np.ones((2, 6, 4)), 0)

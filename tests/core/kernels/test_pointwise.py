"""Every formula of the operator table on the CPU, and its derivative, against float64 and central differences."""

import math

import pytest
import torch

from core import ops
from core.kernels import formula as f
from core.kernels.cpu._steps import SCOPE
from core.kernels.cpu.inline import inline
from core.kernels.cpu.pointwise import FAST, _source, pointwise
from core.kernels.formula import GRADIENT, OUT, Formula, compose

FORMULAS = {op.formula.name: op.formula for op in ops.TABLE.values() if op.formula is not None}
# where the derivative of a formula is not defined by its values (a jump, an integer argument), or is MXNet's by decree
NOT_SMOOTH = {"nextafter", "npi_ldexp", "npi_ldexp_scalar", "npi_rldexp_scalar", "npi_copysign", "npi_rcopysign_scalar"}
OF_INTEGERS = ("bitwise", "shift", "gcd", "lcm", "is", "mod")
SMOOTH = sorted(
    name for name in FORMULAS.keys() - NOT_SMOOTH if "_grad" not in name and not any(w in name for w in OF_INTEGERS)
)


def operands(formula: Formula, dtype=torch.float64, seed=0):
    """Numbers away from the edges of every function's domain."""
    generator = torch.Generator().manual_seed(seed)
    base = 2.0 if formula.name == "arccosh" else 0.0
    return [
        (torch.rand((5, 7), generator=generator, dtype=torch.float64) * 0.8 + 0.1 + base).to(dtype)
        for _ in formula.inputs
    ]


def test_source_is_a_chain_of_aten_calls():
    text = _source(Formula.of(lambda x, *, a: f.exp(x) * a + 1.0, name="demo"))
    assert text.splitlines()[0] == "def formula(x0, attr_a):"
    assert "torch.exp(x0)" in text


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_match_central_differences(name):
    formula = FORMULAS[name]
    inputs, attrs = operands(formula), [0.3] * len(formula.attrs)
    value = pointwise(formula, inputs, attrs, torch.float64)
    head = torch.rand(value.shape, dtype=torch.float64) + 0.5
    step = 1e-6
    for k in range(len(inputs)):
        moved = [[x + s * step if i == k else x for i, x in enumerate(inputs)] for s in (1, -1)]
        high, low = (pointwise(formula, m, attrs, torch.float64) for m in moved)
        numeric = head * (high - low) / (2 * step)
        found = formula.gradient(k)
        if found is None:
            assert numeric.abs().max() < 1e-6
            continue
        derivative, reads = found
        read = [head if r == GRADIENT else value if r == OUT else inputs[r] for r in reads]
        given = [attrs[formula.attrs.index(a)] for a in derivative.attrs]
        analytic = pointwise(derivative, read, given, torch.float64).expand(numeric.shape)
        assert (analytic - numeric).norm() <= 1e-6 * (1 + numeric.norm()), derivative


@pytest.mark.parametrize("name", sorted(FAST.keys() & FORMULAS.keys()))
def test_aten_fast_path_equals_the_formula(name):
    formula = FORMULAS[name]
    scope = dict(SCOPE)
    exec(_source(formula), scope)
    inputs = [x - 0.5 for x in operands(formula)]
    attrs = [0.3] * len(formula.attrs)
    assert torch.allclose(FAST[name](*inputs, *attrs), scope["formula"](*inputs, *attrs), rtol=1e-8, atol=1e-8)


def test_half_precision_chains_round_once():
    gelu = FORMULAS["gelu"]
    x = torch.linspace(-3, 3, 1001)
    exact = pointwise(gelu, [x.double()], [], torch.float64)
    for dtype, bound in ((torch.float16, 2**-11), (torch.bfloat16, 2**-8)):
        half = x.to(dtype)
        exact = pointwise(gelu, [half.double()], [], torch.float64)
        got = pointwise(gelu, [half], [], dtype).double()
        assert ((got - exact).abs() <= 1.01 * bound * exact.abs() + 1e-7).all()


def test_compose_substitutes_one_operand():
    outer = Formula.of(lambda a, b: a * b, name="outer")
    inner = Formula.of(lambda x: f.exp(x), name="inner")
    both = compose(outer, 1, inner, "both")
    a, x = torch.rand(4, dtype=torch.float64), torch.rand(4, dtype=torch.float64)
    assert torch.allclose(pointwise(both, [a, x], [], torch.float64), a * x.exp())


def test_constants_fold_and_infinities_survive():
    formula = Formula.of(lambda x: f.where(x > 2.0 * 3.0, math.inf, x), name="folded")
    assert formula.root.args[0].args[1].args[0] == 6.0
    assert pointwise(formula, [torch.tensor([1.0, 7.0])], [], torch.float32).tolist() == [1.0, math.inf]


def test_a_formula_cannot_branch_in_python():
    with pytest.raises(TypeError, match="where"):
        Formula.of(lambda x: x if x > 0 else -x, name="branch")


@pytest.mark.parametrize(("name", "attrs"), [("erf", []), ("_minus_scalar", [2.0]), ("_rminus_scalar", [2.0])])
@pytest.mark.parametrize("free", [True, False])
def test_lines_of_a_plan_write_to_free_memory_where_aten_can(name, attrs, free):
    formula = ops.TABLE[name].formula
    lines, scope, _, place = inline(formula, [("x", torch.empty(3, device="meta"), free)], attrs, torch.float32, "t")
    names = {"x": torch.tensor([0.1, 0.5, 2.0]), **scope}
    want, before = pointwise(formula, [names["x"]], attrs, torch.float32), names["x"].clone()
    exec("\n".join(lines), names)
    inside = free and name != "_rminus_scalar"  # whose first operand is the number
    assert torch.equal(names["t"], want) and place == ("x" if inside else None)
    assert (names["t"].data_ptr() == names["x"].data_ptr()) is inside and torch.equal(names["x"], before) is not inside

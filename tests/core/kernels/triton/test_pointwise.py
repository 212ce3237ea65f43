"""Generated pointwise kernels against the CPU backend, over all formulas, layouts and types."""

import pytest
import torch

from core import ops
from core.kernels.cpu import pointwise as cpu
from core.kernels.triton import pointwise as triton

FORMULAS = {op.formula.name: op.formula for op in ops.TABLE.values() if op.formula is not None}
INTEGER_ONLY = ("bitwise", "shift", "gcd", "lcm")


def operands(formula, dtype, shapes=((3, 5), (1, 5), (3, 1))):
    generator = torch.Generator().manual_seed(len(formula.inputs))
    made = []
    for i in range(len(formula.inputs)):
        shape = shapes[i % len(shapes)]
        if dtype.is_floating_point:
            base = 2.0 if formula.name.startswith("arccosh") else 0.0
            made.append((torch.rand(shape, generator=generator) * 0.8 + 0.1 + base).to(dtype))
        else:
            made.append(torch.randint(1, 6, shape, generator=generator).to(dtype))
    return made


def error(got, want):
    return float((got.double() - want.double()).norm() / (want.double().norm() + 1e-30))


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_formula_and_gradients(name):
    formula = FORMULAS[name]
    every = [formula] + [found[0] for k in range(len(formula.inputs)) if (found := formula.gradient(k))]
    dtypes = [torch.int32] if any(w in name for w in INTEGER_ONLY) else [torch.float32, torch.float64]
    for one in every:
        for dtype in dtypes:
            shapes = ((3, 5),) if one.name in cpu.FAST else ((3, 5), (1, 5), (3, 1))  # ATen's own take one shape
            inputs, attrs = operands(one, dtype, shapes), [2 if dtype is torch.int32 else 0.3] * len(one.attrs)
            want = cpu.pointwise(one, inputs, attrs, dtype)
            got = triton.pointwise(one, inputs, attrs, dtype)
            bound = 1e-5 if dtype is not torch.float64 else 1e-9
            assert got.dtype is dtype
            assert torch.equal(got, want) or error(got, want.expand(got.shape)) < bound, one


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int64, torch.uint8])
def test_types_and_awkward_layouts(dtype):
    add = FORMULAS["broadcast_add"]
    base = torch.randint(0, 9, (2, 3, 5, 7)).to(dtype)
    layouts = [
        (base, base),
        (base.transpose(1, 3), base.transpose(1, 3)),
        (base, base[:, :1, :, :1]),
        (base[:, 1:2], base),
        (base[..., ::2], base[..., 1:5]),
        (base.to(memory_format=torch.channels_last), base),
        (base[0, 0, 0, 0], base),
        (base[:0], base[:0]),
        (torch.ones(1, dtype=dtype), torch.ones((), dtype=dtype)),
    ]
    for a, b in layouts:
        want = (a.double() + b.double()).to(dtype)
        got = triton.pointwise(add, [a, b], [], dtype)
        assert got.shape == want.shape and torch.equal(got, want)


def test_dense_layouts_are_kept():
    relu = FORMULAS["relu"]
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert triton.pointwise(relu, [x], [], x.dtype).is_contiguous(memory_format=torch.channels_last)


def test_truth_values():
    less = FORMULAS["npi_less"]
    a, b = torch.tensor([1.0, 2.0, float("nan")]), torch.tensor([2.0, 2.0, 0.0])
    assert triton.pointwise(less, [a, b], [], torch.bool).tolist() == [True, False, False]
    as_number = FORMULAS["broadcast_lesser"]
    assert triton.pointwise(as_number, [a, b], [], torch.float32).tolist() == [1.0, 0.0, 0.0]


def test_results_lie_as_their_operands_do():
    """A sum with one number per channel stays channels-last; any order of axes is walked as one run of memory."""
    add, x = FORMULAS["broadcast_add"], torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for a, b in [
        (x, torch.randn(3, 1, 1)),
        (torch.randn(2, 1, 1, 1), x),
        (x.permute(3, 0, 2, 1), x.permute(3, 0, 2, 1)),
    ]:
        got = triton.pointwise(add, [a, b], [], torch.float32)
        assert torch.equal(got, a + b) and got.stride() == (a + b).stride()
    assert triton._layout([x, x], torch.float32)[1:] == ([120], [[1], [1]])


def test_nan_passes_through_maximum():
    maximum = FORMULAS["broadcast_maximum"]
    got = triton.pointwise(maximum, [torch.tensor([float("nan"), 1.0]), torch.tensor([0.0, 2.0])], [], torch.float32)
    assert got.isnan().tolist() == [True, False]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32, torch.int64])
@pytest.mark.parametrize("name, rest", [("broadcast_mod", [0, 0, 0, 1, -2]), ("npi_fmod", [0, 0, 0, 1, 1])])
def test_remainders_of_a_division_by_zero_are_zero(name, rest, dtype):
    """The remainders that MXNet 1.9.1 and 2.0 give, fractions and whole numbers alike."""
    a, b = torch.tensor([5, -5, 0, 3, 7], dtype=dtype), torch.tensor([0, 0, 0, 2, -3], dtype=dtype)
    for backend in (cpu, triton):
        assert backend.pointwise(FORMULAS[name], [a, b], [], dtype).tolist() == rest


def test_offsets_beyond_32_bits_are_computed_in_64():
    text = triton._source(FORMULAS["broadcast_add"], 2, "fp32", large=True)
    assert "tl.program_id(0).to(tl.int64)" in text


SAMPLES = [
    lambda: triton.pointwise(FORMULAS["gelu"], [torch.zeros(7)], [], torch.float32),
    lambda: triton.pointwise(FORMULAS["broadcast_add"], [torch.zeros(2, 3), torch.zeros(3)], [], torch.float32),
    lambda: triton.pointwise(FORMULAS["clip"], [torch.zeros(3)], [0.0, 1.0], torch.float32),
    lambda: triton.pointwise(FORMULAS["clip"], [torch.zeros(3, dtype=torch.float64)], [0.1, 1.0], torch.float64),
]

"""Row programs in Triton against the CPU backend in float64: shapes of rows, layouts of operands, types, and NaN."""

import pytest
import torch

from core.kernels import formula as fx
from core.kernels.cpu import pointwise as cpu
from core.kernels.formula import CONSTRUCTORS, Expr
from core.kernels.row_program import Result, RowProgram, kept
from core.kernels.triton import _row_kernels, pointwise

# The interpreter computes what lies outside of a tile, too.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

X, Y, Z = (Expr("input", i) for i in range(3))
TOTAL, MEAN, LARGEST, SMALLEST, TOP = (CONSTRUCTORS[f"row_{n}"] for n in ("sum", "mean", "max", "min", "fmax"))
EXPONENTIALS = fx.exp(X * 0.5 + Y - TOP(X * 0.5 + Y))
LIMITS = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1e-2, torch.float64: 1e-12}


def program(shape, axes, dtype=torch.float32):
    """All kinds of results and reductions, of three operands."""
    kind, row, columns = str(dtype).removeprefix("torch."), kept(shape, axes), shape[len(shape) - axes :]
    results = [
        Result(EXPONENTIALS / TOTAL(EXPONENTIALS) * Z, "whole", shape, kind),
        Result(LARGEST(X) + MEAN(Y) * SMALLEST(X - Z), "row", row, "float32" if kind == "float16" else kind),
        Result(TOTAL(Y), "row", shape[: len(shape) - axes], kind),
        Result(EXPONENTIALS * X, "column", columns, kind),
        Result(Z, "column", (1, *columns), kind),
    ]
    return RowProgram(tuple(results), shape, axes)


def compare(shape, axes, operands, dtype=torch.float32):
    rows = program(shape, axes, dtype)
    expected = cpu.pointwise_rows(rows, [t.double() for t in operands])
    for result, want, got in zip(rows.results, expected, pointwise.pointwise_rows(rows, operands), strict=True):
        assert tuple(got.shape) == result.shape and str(got.dtype) == f"torch.{result.dtype}"
        assert (got.double() - want.double()).norm() <= LIMITS[dtype] * want.double().norm(), result


def draw(*shape, dtype=torch.float32, device="cpu"):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(device, dtype)


SHAPES = [
    ((4, 7), 1, [(4, 7), (4, 1), (7,)]),
    ((2, 3, 4, 7), 1, [(2, 3, 4, 7), (2, 1, 1, 7), (7,)]),  # the mask of an attention: rows in two groups of axes
    ((2, 3, 4, 7), 2, [(2, 3, 4, 7), (2, 1, 1, 7), (4, 7)]),
    ((2, 3, 4, 7), 3, [(3, 4, 7), (2, 3, 1, 7), (1,)]),
    ((3, 5), 2, [(3, 5), (3, 1), (5,)]),  # one row
    ((700, 3), 1, [(700, 3), (3,), (700, 1)]),
    ((5, 1200), 1, [(5, 1200), (1,), (5, 1)]),
]


@pytest.mark.parametrize("shape, axes, shapes", SHAPES)
def test_shapes(shape, axes, shapes, device):
    compare(shape, axes, [draw(*s, device=device) for s in shapes])


@pytest.mark.parametrize("dtype", LIMITS)
def test_types(dtype, device):
    compare((3, 70), 1, [draw(*s, dtype=dtype, device=device) for s in ((3, 70), (70,), (3, 1))], dtype)


def test_layouts(device):
    x = draw(4, 6, 5, device=device)
    compare((6, 4, 5), 1, [x.transpose(0, 1), x.transpose(0, 1), draw(5, device=device)])
    compare((4, 3, 5), 1, [x[:, ::2], x[:, 1::2], x[:, :1]])
    compare((4, 5, 6), 2, [x.transpose(1, 2), x.transpose(1, 2), draw(6, device=device)])  # axes of a row apart
    compare((4, 5, 6), 1, [x.transpose(1, 2), x.reshape(4, 5, 6), x[0].T])


def test_nan_passes_through_extrema_and_not_through_the_top(device):
    x = torch.tensor([[1.0, torch.nan, 3.0], [1.0, 2.0, -torch.inf]], device=device)
    results = [Result(reduce(X), "row", (2, 1), "float32") for reduce in (LARGEST, SMALLEST, TOP)]
    for backend in (cpu, pointwise):
        largest, smallest, top = (
            t.flatten().tolist() for t in backend.pointwise_rows(RowProgram((*results,), (2, 3), 1), [x])
        )
        assert largest[0] != largest[0] and smallest[0] != smallest[0] and top == [3.0, 2.0]
        assert largest[1] == 2.0 and smallest[1] == -torch.inf


def test_kernels_are_made_once_for_all_shapes():
    made = len(_row_kernels._kernels)
    for n in (3, 9):
        pointwise.pointwise_rows(program((n, n), 1), [torch.ones(n, n), torch.ones(n), torch.ones(n, 1)])
    assert len(_row_kernels._kernels) <= made + 1


SAMPLES = [
    lambda case=case, dtype=dtype: pointwise.pointwise_rows(
        program(*case[:2], dtype), [torch.ones(shape, dtype=dtype) for shape in case[2]]
    )
    for case, dtype in [
        (SHAPES[0], torch.float32), (SHAPES[1], torch.float16), (SHAPES[2], torch.float64), (SHAPES[4], torch.float32),
    ]
]  # fmt: skip

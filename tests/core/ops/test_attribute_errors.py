"""A wrong attribute, given to any operator on any face: errors name operator, word and nearest, and list the rest."""

import importlib

import pytest

import core.mxnet  # noqa: F401  (every family of operators is in the table)
from core import nd, sym
from core.base import MXNetError
from core.ops.registry import TABLE, Operator

FACES = ("core.ndarray", "core.symbol", "core.numpy_extension")


def fronts(face):
    """(name, function, operator) of the functions of a face that have attributes."""
    module = importlib.import_module(face)
    for name in sorted({*dir(module), *TABLE}):
        function = getattr(module, name, None)
        op = getattr(function, "operator", None)
        if isinstance(op, Operator) and op.attrs:
            yield name, function, op


@pytest.mark.parametrize("face", FACES)
def test_a_wrong_word_is_named_with_the_nearest_right_one_and_the_rest(face):
    checked = 0
    for name, function, op in fronts(face):
        right = max(op.attrs, key=len)
        wrong = right[:-1] + "_" + right[-1]
        operand = sym.var("x") if face == "core.symbol" else nd.ones((1,))
        with pytest.raises(MXNetError) as error:
            function(*[operand] * bool(op.inputs), **{wrong: 1})
        said = str(error.value)
        assert said.startswith(f"{op.name} has no attribute {wrong!r}."), (name, said)
        assert len(right) < 3 or " Did you mean " in said, (name, said)
        assert said.endswith(f"attributes: {', '.join(op.attrs)}"), (name, said)
        checked += 1
    assert checked > 150


def test_calls_of_expressions_and_graphs_say_it_too():
    for call in (
        lambda: nd.Convolution(nd.ones((1, 1, 3, 3)), kernal=(3, 3)),
        lambda: sym.Convolution(sym.var("x"), kernal=(3, 3)),
        lambda: TABLE["Convolution"](nd.ones((1, 1, 3, 3)), kernal=(3, 3)),
    ):
        with pytest.raises(
            MXNetError, match=r"Convolution has no attribute 'kernal'\. Did you mean 'kernel'\? .*num_filter"
        ):
            call()


def test_sums_of_any_number_of_operands_know_their_words():
    """As in MXNet 1.9.1, where their number is an attribute.

    `relu`, which has none, takes every word there; here only `axis`, which programs give it.
    """
    for module, operand in ((nd, nd.ones((2, 2))), (sym, sym.var("x"))):
        for name in ("add_n", "khatri_rao"):
            with pytest.raises(MXNetError, match=f"{name} has no attribute 'row_wise'"):
                getattr(module, name)(operand, operand, row_wise=True)
        module.add_n(operand, operand, num_args=2)
        module.relu(operand, axis=1)
        with pytest.raises(MXNetError, match="relu has no attribute 'row_wise'"):
            module.relu(operand, row_wise=True)

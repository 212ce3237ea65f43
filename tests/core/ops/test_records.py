"""Facts about operators stand in their records: nothing outside of core/ops asks which operator it has before it."""

import ast
from pathlib import Path

import pytest

import core.symbol.numpy_functions  # noqa: F401  (every function of np)
from core.ops.registry import TABLE, Operator

ROOT = Path(__file__).parents[3]
PACKAGES = ("core", "gluon", "gluoncv", "gluonnlp")
# Files of others name operators; these read and write such files.
CONVERTERS = (
    "core/contrib/onnx/", "core/symbol/serialization.py", "core/symbol/numpy_nodes.py", "core/symbol/portable.py",
    "core/symbol/traced.py",
)  # fmt: skip
# Scalar functions of formulas have names of their own, which some operators share.
FORMULAS = ("core/kernels/",)
# Which operators a class of arrays or a namespace shows, and under which names.
NAMESPACES = (
    "core/ndarray/ndarray.py", "core/numpy/multiarray.py", "core/numpy/functions.py", "core/symbol/symbol.py",
    "core/symbol/numpy.py",
)  # fmt: skip
SOURCES = [
    path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if not path.relative_to(ROOT).as_posix().startswith(("core/ops/", *CONVERTERS, *FORMULAS))
]


def _is_operator(e: ast.expr) -> bool:
    return (isinstance(e, ast.Name) and e.id in ("op", "operator")) or (
        isinstance(e, ast.Attribute) and e.attr in ("op", "operator")
    )


def _is_name(e: ast.expr) -> bool:
    """`op.name` and its like."""
    return isinstance(e, ast.Attribute) and e.attr == "name" and _is_operator(e.value)


def _is_entry(e: ast.expr) -> bool:
    """`F.relu`, `TABLE["relu"]`, or a tuple that holds one."""
    if isinstance(e, (ast.Tuple, ast.Set, ast.List)):
        return any(map(_is_entry, e.elts))
    if isinstance(e, ast.Subscript):
        return isinstance(e.value, ast.Name) and e.value.id == "TABLE"
    return isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name) and e.value.id == "F"


def _strings(e: ast.AST) -> list[str]:
    """The strings that a collection holds, or a text that is split into them."""
    if isinstance(e, (ast.Set, ast.List, ast.Tuple)):
        items = e.elts
    elif isinstance(e, ast.Dict):
        items = e.keys
    elif isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and e.func.attr == "split":
        text = e.func.value
        return text.value.split() if isinstance(text, ast.Constant) and isinstance(text.value, str) else []
    else:
        return []
    return [i.value for i in items if isinstance(i, ast.Constant) and isinstance(i.value, str)]


def found_in(source: str, names: set[str], tables: bool = True) -> list[tuple[int, str]]:
    """(line, what) of every place that asks for an operator's identity, or lists three operators and more."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_name, sides)) or any(map(_is_entry, sides)):
                found.append((node.lineno, "a comparison"))
            elif any(isinstance(s, ast.Attribute) and s.attr == "__module__" and _of_operator(s) for s in sides):
                found.append((node.lineno, "a question for the module"))
        elif isinstance(node, ast.Subscript) and (_is_name(node.slice) or _is_operator(node.slice)):
            if not (isinstance(node.value, ast.Name) and node.value.id == "TABLE"):
                found.append((node.lineno, "a table by operator"))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            by_operator = node.func.attr == "get" and any(_is_name(a) or _is_operator(a) for a in node.args)
            by_word = node.func.attr in ("startswith", "endswith") and _is_name(node.func.value)
            if by_operator or by_word:
                found.append((node.lineno, "a table by operator"))
        elif isinstance(node, ast.Assign) and _is_name(node.value) and isinstance(node.targets[0], ast.Name):
            found.append((node.lineno, "a name that is kept"))
        words = _strings(node) if tables else []
        if len(words) >= 3 and sum(w in names for w in words) > 0.7 * len(words):
            found.append((node.lineno, "a table of names"))
    return found


def _of_operator(e: ast.Attribute) -> bool:
    return any(_is_operator(n) for n in ast.walk(e) if isinstance(n, ast.expr))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_module_but_converters_asks_which_operator_it_has(path):
    names = {n for n in TABLE if not n.startswith("_backward")}
    tables = path.relative_to(ROOT).as_posix() not in NAMESPACES
    assert not found_in(path.read_text(encoding="utf-8"), names, tables)


@pytest.mark.parametrize(
    "source",
    [
        "x = node.op.name == 'relu'", "x = op is F.relu", "x = node.op in (F.relu, F.exp)", "x = RULES[node.op]",
        "x = RULES.get(op.name)", "x = op.function.__module__ in VIEWS", "kind = node.op.name",
        "NAMES = frozenset('relu exp log sqrt'.split())", "x = node.op.name.startswith('_contrib')",
        "NAMES = {'relu': 1, 'exp': 2, 'log': 3}", "x = op == TABLE['relu']",
    ],
)  # fmt: skip
def test_the_search_finds_what_it_is_for(source):
    assert found_in(source, set(TABLE))


def test_a_record_takes_no_fact_that_there_is_not():
    with pytest.raises(TypeError, match="colour"):
        Operator("_test", lambda data: data, colour="red")


def test_every_fact_names_inputs_and_attributes_that_the_operator_has():
    for op in {id(op): op for op in TABLE.values()}.values():
        for name, (attribute, _) in op.when.items():
            assert name in op.optional and attribute in op.attrs, op
        assert set(op.initial) <= set(op.inputs) or op.variadic, op
        assert set(op.words.values()) <= set(op.inputs), op
        for attribute in (op.target and op.target.attribute, op.index, op.fills if isinstance(op.fills, str) else None):
            assert attribute is None or attribute in op.attrs, op
        for other in (op.in_parts, op.quantized.operator):
            assert not other or other in TABLE, op
        assert op.auxiliary <= op.mutates <= set(op.inputs), op

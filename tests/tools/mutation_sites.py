"""Small faults that can be put into a Python file: where, which text, and what it becomes.

The faults are the customary ones of mutation testing (Offutt et al., 1996): a comparison, an arithmetic or boolean
operator is replaced, a condition negated, a constant changed, a statement dropped, a result withheld. Text that
decides nothing is left alone: annotations, docstrings, messages of errors and of logs, `__repr__`.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip
SILENT_CALLS = {"warn", "warning", "info", "debug", "print", "log", "TypeVar"}
SILENT_FUNCTIONS = {"__repr__", "__str__"}
# These hold `+` where it joins text or sequences: any other operator fails at once and says nothing about the tests.
JOINED = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)


@dataclass(frozen=True)
class Mutation:
    """One fault: `before`, the text of a file from byte `start` to byte `end`, becomes `after`."""

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str
    kind: str
    scope: tuple[str, ...]  # the classes and functions around it, outermost first
    nth: int  # which of those alike in this scope, from 1

    def apply(self, source: bytes) -> bytes:
        """The file's bytes with the fault."""
        assert source[self.start : self.end].decode() == self.before
        return source[: self.start] + self.after.encode() + source[self.end :]

    @property
    def key(self) -> str:
        """The fault without its line, which moves when others edit the file."""
        alike = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.path} {'.'.join(self.scope)}: {self._change}{alike}"

    @property
    def title(self) -> str:
        """The fault in one line."""
        return f"{self.path}:{self.line} {self._change}"

    @property
    def _change(self) -> str:
        return f"{' '.join(self.before.split())} -> {' '.join(self.after.split())}"


def mutations(path: str, text: str) -> list[Mutation]:
    """Every fault that can be put into a file, in the order of its syntax tree.

    >>> [m.after for m in mutations("a.py", "def f(a, b):\\n    return a < b\\n")]
    ['return None', '(a <= b)']
    """
    finder = _Finder(path, text)
    finder.visit(ast.parse(text))
    return finder.found


def of_tree(root: Path, packages: tuple[str, ...]) -> list[Mutation]:
    """The faults of all files of some packages."""
    found: list[Mutation] = []
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            found += mutations(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    return found


class _Finder(ast.NodeVisitor):
    """Goes through a file and enters the faults of each node."""

    def __init__(self, path: str, text: str):
        self.path = path
        self.source = text.encode()
        self.starts = [0]
        for line in self.source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.scope: tuple[str, ...] = ()
        self.found: list[Mutation] = []
        self.alike: Counter = Counter()

    def visit(self, node: ast.AST) -> None:
        for replaced, kind, after in _faults(node):
            self._enter(replaced, kind, after)
        for child in _children(node):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                around, self.scope = self.scope, (*self.scope, node.name)
                self.visit(child)
                self.scope = around
            else:
                self.visit(child)

    def _enter(self, node: ast.AST, kind: str, after: str) -> None:
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        before = self.source[start:end].decode()
        self.alike[self.scope, before, after] += 1
        nth = self.alike[self.scope, before, after]
        self.found.append(Mutation(self.path, node.lineno, start, end, before, after, kind, self.scope, nth))  # type: ignore[attr-defined]


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that decide something."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert | ast.match_case):
        if isinstance(node, ast.match_case):
            yield from node.body
        return
    if isinstance(node, ast.FunctionDef) and node.name in SILENT_FUNCTIONS:
        return
    if isinstance(node, ast.Call) and _name(node.func) in SILENT_CALLS:
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__", "__slots__"):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "ctx", "format_spec"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if (
                isinstance(child, ast.AST)
                and hasattr(child, "lineno" if not isinstance(child, ast.arguments) else "args")
            ) or isinstance(child, ast.comprehension | ast.withitem | ast.match_case):
                yield child


def _faults(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    """What may become of a node: the part that is replaced, the kind of the fault, the new text."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            yield node, "comparison", _with(node, ops=[SWAPPED[type(op)]()])
        case ast.BoolOp():
            yield node, "boolean operator", _with(node, op=SWAPPED[type(node.op)]())
        case ast.BinOp() if type(node.op) in SWAPPED and not _joins(node):
            yield node, "arithmetic operator", _with(node, op=SWAPPED[type(node.op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, "sign", f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool()):
            yield node, "constant", str(not node.value)
        case ast.Constant(value=int() | float()):
            yield node, "constant", f"({node.value + 1!r})"
        case ast.Return(value=ast.AST() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield node, "result", "return None"
        case ast.Expr(value=ast.Call() as call) if _name(call.func) not in SILENT_CALLS:
            yield node, "statement", "pass"
        case ast.AugAssign() | ast.Delete() | ast.Break() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "statement", "pass"
        case ast.If() | ast.While() | ast.IfExp() if isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
            yield node.test, "condition", f"(not {ast.unparse(node.test)})"


def _with(node: ast.expr, **fields) -> str:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return f"({ast.unparse(changed)})"


def _joins(node: ast.BinOp) -> bool:
    """Whether an operator joins or formats text or sequences."""
    return any(
        isinstance(side, JOINED) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")

"""Type stubs of the modules that users import: `python packaging/stubs.py` writes them, `--check` compares them.

Operators are made on first use, names are imported on first use, and layers hand their keywords on to their bases: none
of that can a type checker or an editor see. A stub (PEP 484) beside the source spells it out, with defaults as values.
The stubs are committed, so that a wheel is built without importing the project; `make lint` checks them.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import keyword
import pkgutil
import subprocess
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from core.ndarray.ndarray import NDArray  # noqa: E402
from core.numpy.multiarray import ndarray  # noqa: E402
from core.ops.registry import REQUIRED, Operator  # noqa: E402
from core.signatures import spelled_out  # noqa: E402
from core.symbol.symbol import Symbol  # noqa: E402

# Namespaces of operators -> the class of what their functions give.
OPERATORS = {
    "core.ndarray": NDArray, "core.ndarray.contrib": NDArray, "core.ndarray.image": NDArray,
    "core.ndarray.linalg": NDArray, "core.ndarray.random": NDArray, "core.ndarray.sparse": NDArray,
    "core.symbol": Symbol, "core.numpy": ndarray, "core.numpy.linalg": ndarray, "core.numpy.random": ndarray,
    "core.numpy_extension": ndarray,
}  # fmt: skip
# Other modules of core that users import or whose classes they use.
OF_CORE = (
    "core core.ndarray.ndarray core.ndarray.functions core.ndarray.sparse_arrays core.numpy.multiarray core.symbol.symbol "
    "core.initializer core.metric core.lr_scheduler core.callback core.io core.image core.optimizer core.optimizer.optimizer core.optimizer.sgd "
    "core.optimizer.adam core.optimizer.adagrad core.optimizer.contrib core.optimizer.updater"
).split()
# Below these every module, below those every package.
WHOLE, PACKAGES = ("gluon",), ("gluoncv", "gluonnlp")
OURS = ("core", "gluon", "gluoncv", "gluonnlp")
# Modules that `core` shows under a short name, or that lie elsewhere.
SHOWN = {"contrib", "gluon", "image", "linalg", "np", "npx", "op", "random", "sparse"}
# Signatures that the source cannot say.
ARITHMETIC = {
    f"__{side}{name}__": "(self, other: Any) -> Self"
    for side in ("", "r", "i")
    for name in "add sub mul truediv mod pow floordiv matmul and or xor lshift rshift".split()
} | {
    **{f"__{name}__": "(self, other: Any) -> Self" for name in "eq ne lt le gt ge".split()},
    **{f"__{name}__": "(self) -> Self" for name in "neg pos abs invert".split()},
    "__len__": "(self) -> int", "__iter__": "(self) -> Iterator[Self]", "__getitem__": "(self, key: Any) -> Self",
    "__setitem__": "(self, key: Any, value: Any) -> None", "__bool__": "(self) -> bool", "__int__": "(self) -> int",
    "__float__": "(self) -> float", "__index__": "(self) -> int", "__array__": "(self, *args: Any) -> onp.ndarray",
    "asnumpy": "(self) -> onp.ndarray", "asscalar": "(self) -> Any", "shape": "tuple[int, ...]", "ndim": "int",
    "size": "int", "grad": "Self | None", "T": "Self", "copy": "(self) -> Self", "detach": "(self) -> Self",
    "reshape": "(self, *shape: Any, **kwargs: Any) -> Self", "context": "Context", "ctx": "Context",
    "astype": "(self, dtype: Any, copy: bool = True) -> Self", "as_in_context": "(self, context: Context) -> Self",
    "backward": "(self, out_grad: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None",
}  # fmt: skip
# A call gives what `forward` is annotated with.
CALLS = """
_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)

class _Forward(Protocol[_P, _R]):
    def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

"""
WRITTEN = {
    **{(kind, name): text for kind in (NDArray, ndarray, Symbol) for name, text in ARITHMETIC.items()},
}


# ------------------------------------------------------------------------------------------ files


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a stub is not what it would be")
    check = parser.parse_args(argv).check
    wanted = all_stubs()
    listed = subprocess.run(["git", "ls-files", "*.pyi"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    gone = [path for path in map(ROOT.joinpath, listed.split()) if path not in wanted and path.exists()]
    if check:
        if stale or gone:
            names = ", ".join(str(path.relative_to(ROOT)) for path in stale + gone)
            raise SystemExit(f"stubs differ from the source: {names}. `make stubs` writes them")
        return
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
    for path in gone:
        path.unlink()
    print(f"{len(wanted)} stubs, {len(stale)} written, {len(gone)} removed")


@cache
def modules() -> list[str]:
    """The modules that have a stub."""
    found = {*OPERATORS, *OF_CORE}
    for name in (*WHOLE, *PACKAGES):
        package = importlib.import_module(name)
        for info in pkgutil.walk_packages(package.__path__, f"{name}."):
            private = any(part.startswith("_") for part in info.name.split("."))
            if not private and (info.ispkg or name in WHOLE):
                found.add(info.name)
        found.add(name)
    # A name under which another module of ours is found has its stub there.
    return sorted(name for name in found if importlib.import_module(name).__name__ == name)


def all_stubs() -> dict[Path, str]:
    """The stub of each module, formatted, by its file."""
    made = {}
    for name in modules():
        source = Path(importlib.import_module(name).__file__)
        path = source.with_suffix(".pyi")
        made[path] = formatted(text(name))
    return made


def formatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", "stub.pyi", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


# ------------------------------------------------------------------------------------------ a module


def text(module: str) -> str:
    """The stub of a module: imports, then what it defines."""
    owner = importlib.import_module(module)
    stub = _Stub(module)
    bodies = []
    for name in names(owner):
        try:
            value = getattr(owner, name)
        except (ImportError, AttributeError):
            continue
        bodies += stub.entry(name, value)
    bodies = stub.private_bases() + bodies
    for value in vars(owner).values():  # bases of classes of other modules
        if isinstance(value, type) and value.__module__ == module and value.__name__.startswith("_"):
            bodies += stub.class_(value)
    if any("Literal[" in body for body in bodies):
        stub.imports.add("from typing import Literal")
    head = f'"""Generated by packaging/stubs.py."""\n\nfrom typing import Any\n\n{_lines(sorted(stub.imports))}\n'
    extra = CALLS if "_Forward" in stub.uses else ""
    if module == "gluon.block.block":
        head = head.replace("from typing import Any", "from typing import Any, ParamSpec, Protocol, TypeVar")
    return head + extra + _lines(bodies)


def names(owner: types.ModuleType) -> list[str]:
    """What a module offers to its users."""
    lazy = getattr(owner, "_MODULES", {}) if owner.__name__ == "core" else {}
    shown = []
    for name in sorted({*dir(owner)}):
        if name.startswith("_") or not name.isidentifier() or keyword.iskeyword(name) or name == "annotations":
            continue
        try:
            value = getattr(owner, name)
        except (ImportError, AttributeError):
            continue
        if isinstance(value, types.ModuleType):
            own = value.__name__ == f"{owner.__name__}.{name}"
            if not (
                name in lazy
                or (name in SHOWN and owner.__name__ in OPERATORS)
                or (own and owner.__name__.partition(".")[0] != "core")
            ):
                continue
        elif _imported(owner, name, value):
            continue
        shown.append(name)
    return shown


def _imported(owner: types.ModuleType, name: str, value: object) -> bool:
    """Whether a name is there only because the module itself uses it."""
    home = getattr(value, "__module__", None)
    if owner.__name__ in OPERATORS and isinstance(value, (dict, list, tuple, set, frozenset)):
        return True
    is_package = hasattr(owner, "__path__")
    if isinstance(getattr(value, "operator", None), Operator) or home == owner.__name__:
        return False
    if name in getattr(owner, "__all__", ()):
        return False
    if not isinstance(home, str):
        return False
    if home.partition(".")[0] not in OURS:
        return callable(value)
    return not is_package


class _Stub:
    """What is found out while the stub of a module is made."""

    def __init__(self, module: str):
        self.module, self.imports, self.uses = module, set(), set()
        self.done: set[type] = set()
        self.classes: list[type] = []

    def entry(self, name: str, value: object) -> list[str]:
        """The lines for a name of the module."""
        kind = OPERATORS.get(self.module)
        if isinstance(getattr(value, "operator", None), Operator):
            self.refer(kind or NDArray)
            return [operator_function(name, value.operator, (kind or NDArray).__name__)]
        if isinstance(value, types.ModuleType) and not getattr(value, "__file__", None):
            return [f"{name}: Any"]  # a namespace of operators that is no file
        if isinstance(value, types.ModuleType):
            package, _, last = value.__name__.rpartition(".")
            package = "." if package == self.module else package
            self.imports.add(f"from {package} import {last} as {name}" if package else f"import {last} as {name}")
            return []
        if isinstance(value, type) and value.__module__ == self.module:
            if value.__name__ != name:
                return [f"{name} = {value.__name__}"]
            return self.class_(value)
        home = _home(value, name, self.module)
        if home:
            self.imports.add(home)
            return []
        if callable(value) and not isinstance(value, type):
            return [f"def {name}{self.signature(value)}: ..."]
        return [f"{name}: {self.type_of(value)}"]

    def refer(self, kind: type) -> str:
        """The name of a class in this stub, which is imported where it is of another module."""
        if kind.__module__ not in ("builtins", self.module):
            self.imports.add(f"from {kind.__module__} import {kind.__name__} as {kind.__name__}")
        return kind.__name__

    def private_bases(self) -> list[str]:
        """Classes that those of the stub are built on, and users never name."""
        lines: list[str] = []
        pending = list(self.classes)
        while pending:
            for base in pending.pop().__bases__:
                if base.__module__ == self.module and base not in self.done:
                    lines = self.class_(base) + lines
                    pending.append(base)
        return lines

    def class_(self, kind: type) -> list[str]:
        """A class with its methods, and the attributes that its methods set."""
        if kind in self.done:
            return []
        self.done.add(kind)
        self.classes.append(kind)
        before: list[str] = []
        bases = []
        for base in kind.__bases__:
            if base.__module__ == self.module and base.__name__.startswith("_"):
                before += self.class_(base)
            if base is not object and base.__qualname__.isidentifier():
                bases.append(self.refer(base))
        body = [*self.members(kind)]
        ending = f"({', '.join(bases)})" if bases else ""
        return [*before, f"class {kind.__name__}{ending}:\n" + textwrap.indent("\n".join(body) or "...", "    ")]

    def members(self, kind: type) -> Iterator[str]:
        known = set()
        for name, value in sorted(vars(kind).items(), key=lambda item: (item[0] != "__init__", item[0])):
            public = not name.startswith("_") or (name.startswith("__") and name in _DUNDERS)
            if not public or not name.isidentifier() or keyword.iskeyword(name) or name == "__init__":
                continue
            known.add(name)
            if name == "__call__" and issubclass(kind, _block()):
                continue
            yield self.member(kind, name, value)
        if "__init__" in vars(kind) or not kind.__name__.startswith("_"):
            if any(inspect.isfunction(vars(base).get("__init__")) for base in kind.__mro__) and issubclass(
                type(kind), type
            ):
                yield f"def __init__({', '.join(['self', *self.parameters(spelled_out(kind), {})])}) -> None: ..."
        inherited = {name for base in kind.__mro__[1:] for name in vars(base)}
        for name in sorted(_attributes(kind) - known - inherited):
            yield f"{name}: Any"
        if kind is _block():
            self.uses.add("_Forward")
            yield "def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ..."

    def member(self, kind: type, name: str, value: object) -> str:
        written = next((WRITTEN[base, name] for base in kind.__mro__ if (base, name) in WRITTEN), None)
        if written:
            for word, line in _NEEDED.items():
                if word in written:
                    self.imports.add(line)
            if written.startswith("("):
                # Python's own give a bool; arrays and symbols compare by element.
                ending = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
                return f"def {name}{written}: ...{ending}"
            return f"@property\ndef {name}(self) -> {written}: ..."
        if name in ("forward", "hybrid_forward") and kind.__module__ == "gluon.block." + (
            "block" if kind is _block() else "hybrid_block"
        ):
            first = "F: Any, " if name == "hybrid_forward" else ""
            return f"def {name}(self, {first}*args: Any, **kwargs: Any) -> Any: ..."
        if isinstance(getattr(value, "operator", None), Operator):
            self.imports.add("from typing import Self")
            return operator_function(name, value.operator, "Self", method=True)
        decorators = {staticmethod: "staticmethod", classmethod: "classmethod"}
        for decorator, word in decorators.items():
            if isinstance(value, decorator):
                return f"@{word}\ndef {name}{self.signature(value.__func__)}: ..."
        if isinstance(value, property):
            line = f"@property\ndef {name}(self) -> {self.returns(value.fget)}: ..."
            return line + (f"\n@{name}.setter\ndef {name}(self, value: Any) -> None: ..." if value.fset else "")
        if inspect.isfunction(value):
            return f"def {name}{self.signature(value)}: ..."
        return f"{name}: {self.type_of(value)}"

    def signature(self, value: Callable) -> str:
        """The parameters of a function, and its result where it is annotated."""
        try:
            found = inspect.signature(value)
        except (TypeError, ValueError):
            return "(*args: Any, **kwargs: Any) -> Any"
        scope = getattr(inspect.unwrap(value), "__globals__", {})
        parts = self.parameters(found.parameters.values(), scope)
        return f"({', '.join(parts)}) -> {self.returns(value)}"

    def parameters(self, given, scope: dict) -> list[str]:
        """Parameters as they stand in a `def`."""
        parts, starred = [], False
        for p in given:
            if p.kind is p.KEYWORD_ONLY and not starred:
                parts.append("*")
                starred = True
            if p.kind is p.VAR_POSITIONAL:
                starred = True
            stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            hint = "" if p.name in ("self", "cls") else f": {self.annotation(p.annotation, scope)}"
            default = "" if p.default is p.empty else f" = {p.default!r}" if _literal(p.default) else " = ..."
            if p.default is None and hint not in ("", ": Any") and "None" not in hint:
                hint += " | None"
            parts.append(f"{stars}{p.name}{hint}{default}")
            if p.kind is p.POSITIONAL_ONLY and p.name == "self":
                parts.append("/")
        return parts

    def returns(self, function: Callable | None) -> str:
        annotation = getattr(function, "__annotations__", {}).get("return", inspect.Parameter.empty)
        return self.annotation(annotation, getattr(function, "__globals__", {}))

    def annotation(self, given: object, scope: dict) -> str:
        """An annotation whose names this stub can import, or Any."""
        if given is inspect.Parameter.empty:
            return "Any"
        if given is None:
            return "None"
        source = given if isinstance(given, str) else given.__name__ if isinstance(given, type) else None
        if source is None:
            return "Any"
        try:
            tree = ast.parse(source, mode="eval")
        except SyntaxError:
            return "Any"
        if not isinstance(given, str):
            scope = {source: given}
        source = ast.unparse(_Parametrized().visit(tree))
        lines = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                return "Any"
            if isinstance(node, ast.Name) and not hasattr(__import__("builtins"), node.id):
                line = self.import_of(node.id, scope.get(node.id))
                if line is None:
                    return "Any"
                lines.add(line)
        self.imports |= lines - {""}
        return source

    def import_of(self, name: str, value: object) -> str | None:
        home = getattr(value, "__module__", None)
        if name == "Any":
            return ""
        if isinstance(value, type) and value.__name__ == name and home:
            if home == self.module:
                return ""
            if home.partition(".")[0] in OURS or home in ("collections.abc", "pathlib"):
                return f"from {home} import {name}"
        if home == "typing" or getattr(typing, name, None) is value is not None:
            return f"from typing import {name}"
        return None

    def type_of(self, value: object) -> str:
        kind = type(value).__name__
        return _PARAMETRIZED.get(kind, kind) if kind in ("bool", "int", "float", "str", *_PARAMETRIZED) else "Any"


_PARAMETRIZED = {"list": "list[Any]", "dict": "dict[Any, Any]", "tuple": "tuple[Any, ...]"}


class _Parametrized(ast.NodeTransformer):
    """Lists, dictionaries and tuples that say nothing of what they hold, as holding anything."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        node.slice = self.visit(node.slice)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(_PARAMETRIZED.get(node.id, node.id), mode="eval").body


def _block() -> type:
    return importlib.import_module("gluon.block.block").Block


_NEEDED = {
    "Self": "from typing import Self",
    "Iterator": "from collections.abc import Iterator",
    "onp": "import numpy as onp",
    "Context": "from core.context import Context",
}
_DUNDERS = {
    *(name for name in ARITHMETIC if name.startswith("__")), "__call__", "__enter__", "__exit__", "__contains__",
    "__getitem__", "__setitem__", "__iter__", "__next__", "__len__", "__getattr__",
} - {"__array__"}  # fmt: skip


def _attributes(kind: type) -> set[str]:
    """Public attributes that methods of a class set."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return set()
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and not node.attr.startswith("_")
    }


def _home(value: object, name: str, module: str) -> str | None:
    """The import of something that another module defines under a name of its own."""
    owner, own_name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not owner or not own_name or owner == module or "." in own_name or owner == "builtins":
        return None
    try:
        found = getattr(importlib.import_module(owner), own_name, None)
    except ImportError:
        return None
    return f"from {owner} import {own_name} as {name}" if found is value else None


# ------------------------------------------------------------------------------------------ operators


def operator_function(name: str, op: Operator, kind: str, method: bool = False) -> str:
    """`def name(...)` of an operator: inputs, attributes with types and defaults, and what every namespace takes."""
    inputs = []
    for i in op.inputs:
        if op.variadic and i == op.inputs[-1]:
            inputs.append(f"*{i}: {kind} | list[{kind}]")
        else:
            inputs.append(f"{i}: {kind} | None = None")
    if method:
        inputs = ["self", *inputs[1:]]
    attrs = [
        f"{n}: {attribute.hint}"
        + (" | None" if default is None and "None" not in attribute.hint else "")
        + (" = ..." if default is REQUIRED else f" = {default!r}" if _literal(default) else " = ...")
        for n, (attribute, default) in op.attrs.items()
    ]
    ending = [f"{p}: {kind if p == 'out' else 'str'} | None = None" for p in ("out", "name") if p not in op.inputs]
    if not op.inputs and "ctx" not in op.attrs:
        ending.append("ctx: Any = None")
    single = op.outputs == 1 or op.visible == 1 or callable(op.outputs) or callable(op.visible)
    result = ("Any" if callable(op.outputs) or callable(op.visible) else kind) if single else f"list[{kind}]"
    line = " ".join(op.doc.partition("\n\n")[0].split()).replace("\\", "\\\\").replace('"""', "'''")
    doc = "..." if method else f'\n    """{line}"""'
    return f"def {name}({', '.join(inputs + attrs + ending)}) -> {result}: {doc}"


def _literal(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_literal, value))
    return value is None or (isinstance(value, (bool, int, float, str)) and repr(value) not in ("inf", "-inf", "nan"))


def _lines(parts: list[str]) -> str:
    return "".join(part + "\n" for part in parts)


if __name__ == "__main__":
    main()

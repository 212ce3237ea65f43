"""Sphinx extension that writes the pages of the API reference: a page a namespace, a page a family of operators.

What is written in Python (classes, functions) goes through autodoc. Operators are data: their entries are made from
their records (`core.ops.registry`), which know more than a signature shows: types and defaults of attributes, which inputs
are optional, dtype and storage type of the result, names under which the operator can be called.
"""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from pathlib import Path
from types import ModuleType

from docs.extensions.docstrings import prose, table, to_rst
from docs.extensions.namespaces import CHAPTERS, FAMILIES, NAMESPACES, OPERATOR_NAMESPACES

LONGEST_FORMULA = 120
ATOM = 9
INFIX = {
    "add": ("+", 3), "sub": ("-", 3), "mul": ("*", 4), "div": ("/", 4), "pow": ("**", 5),
    "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1), "eq": ("==", 1), "ne": ("!=", 1),
}  # fmt: skip
OURS = ("core", "gluon", "gluoncv", "gluonnlp")


def setup(app):
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "api"))
    app.connect("autodoc-process-docstring", _convert)
    app.connect("autodoc-process-bases", _show_public_bases)
    return {"parallel_read_safe": True}


def _convert(app, what, name, thing, options, lines):
    lines[:] = to_rst(lines)


def write(folder: Path) -> None:
    """Writes all pages; files that would not change are left alone, so that a second build is quick."""
    pages = {f"{page}.rst": text for page, text in pages_of_reference().items()}
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def pages_of_reference() -> dict[str, str]:
    """The text of each page by its name."""
    pages = {f"operators_{family}": _family_page(family, group) for family, group in operators_by_family().items()}
    homes: dict[int, str] = {}
    chapters = defaultdict(list)
    for chapter, module, title, about in NAMESPACES:
        pages[_page_name(module)] = _namespace_page(module, title, about, homes)
        chapters[chapter].append(_page_name(module))
    chapters["operators"] = [f"operators_{family}" for family in FAMILIES if f"operators_{family}" in pages]
    return pages | {name: _chapter(title, text, chapters[name]) for name, (title, text) in CHAPTERS.items()}


# --------------------------------------------------------------------------------------------
# Namespaces


def public(module: ModuleType) -> dict[str, object]:
    """What a namespace offers to users: `__all__`, or what is defined in it and below it and not private."""
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    found = {name: getattr(module, name) for name in sorted(names) if hasattr(module, name)}
    if not hasattr(module, "__all__"):
        package = module.__name__.split(".")[0] if module.__name__ in OURS else module.__name__
        found = {name: value for name, value in found.items() if _belongs(value, package)}
    return {name: value for name, value in found.items() if callable(value) and not inspect.ismodule(value)}


def _belongs(value, package: str) -> bool:
    home = getattr(value, "__module__", None) or ""
    return home == package or home.startswith(package + ".") or operator_of(value) is not None


def operator_of(value):
    """The record of a function that stands for an operator; None of others."""
    from core.ops.registry import Operator

    record = getattr(value, "operator", None)
    return record if isinstance(record, Operator) and callable(value) else None


def resolve(path: str) -> ModuleType:
    """The module that users call `path`, which may be an alias of one with another name (`core.nd`)."""
    root, *rest = path.split(".")
    module = importlib.import_module(root)
    for name in rest:
        if not hasattr(module, name):
            importlib.import_module(f"{module.__name__}.{name}")
        module = getattr(module, name)
    return module


def _namespace_page(path: str, title: str, about: str, homes: dict[int, str]) -> str:
    module = resolve(path)
    shown = path.replace("core", "mx", 1) if path.split(".")[0] == "core" else path
    lines = [*_heading(f"{shown}: {title}"), ""]
    doc = inspect.getdoc(module) or ""
    lines += to_rst(about.splitlines() or doc.split("\n\n")[0].splitlines())
    own, operators, elsewhere = [], [], []
    for name, value in public(module).items():
        record = operator_of(value)
        if record is not None:
            operators.append((name, record))
        elif id(value) in homes:
            elsewhere.append((name, homes[id(value)]))
        else:
            homes[id(value)] = f"{path}.{name}"
            own.append((name, value))
    generated = [(n, v) for n, v in own if _is_configuration(v)]
    own = [(n, v) for n, v in own if not _is_configuration(v)]
    for kind, directive, rubric in ((True, "autoclass", "Classes"), (False, "autofunction", "Functions")):
        members = [(name, value) for name, value in own if inspect.isclass(value) is kind]
        if members:
            lines += [rubric, "-" * len(rubric), ""]
        for name, value in members:
            options = ["   :members:"] * kind + ["   :show-inheritance:"] * (kind and _public_base(value) is not None)
            lines += [f".. {directive}:: {path}.{name}", *options, ""]
    if generated:
        lines += ["Networks by name", "----------------", ""]
        lines += ["These make the network that they are named after; :doc:`/models` says what is known of each.", ""]
        lines += [", ".join(f"``{name}``" for name, _ in generated), ""]
    if operators:
        lines += [
            "Operators",
            "---------",
            "",
            *table(["name", "what it computes"], [_row(n, r) for n, r in operators]),
            "",
        ]
    if elsewhere:
        lines += ["Documented elsewhere", "--------------------", ""]
        lines += [", ".join(f":py:obj:`{name} <{home}>`" for name, home in elsewhere), ""]
    return "\n".join(lines) + "\n"


def _public_base(cls: type) -> type | None:
    """The nearest class that it is made from which is ours and has a public name."""
    return next((c for c in cls.__mro__[1:] if c.__module__.split(".")[0] in OURS and c.__name__[0] != "_"), None)


def _show_public_bases(app, name, cls, options, bases):
    bases[:] = [_public_base(cls)]


def _is_configuration(value) -> bool:
    """Whether a function is one of those that registries make, a name for a row of a table of configurations."""
    return (
        inspect.isfunction(value) and value.__qualname__.count("<locals>") > 0 and value.__module__.find("model") >= 0
    )


def _row(name: str, record) -> list[str]:
    return [f":ref:`{name} <operator-{record.name}>`", prose(_summary(record.doc))]


def _summary(doc: str) -> str:
    return " ".join(doc.split("\n\n")[0].split())


# --------------------------------------------------------------------------------------------
# Operators


def operator_names() -> dict[str, list[str]]:
    """The names under which users call each operator (by the name of its record), the first of them the usual one."""
    found = defaultdict(list)
    for shown, path in OPERATOR_NAMESPACES:
        module = resolve(path)
        for name in dir(module):
            record = operator_of(getattr(module, name)) if not name.startswith("_") else None
            if record is not None:
                found[record.name].append(f"{shown}.{name}")
    return {name: sorted(names, key=lambda full: _rank(full, name)) for name, names in found.items()}


def _rank(full: str, name: str) -> tuple:
    """Namespaces in the order of the table; in each, the record's own name before its aliases."""
    space, _, last = full.rpartition(".")
    return [shown for shown, _ in OPERATOR_NAMESPACES].index(space), not name.endswith(last), last


def operators_by_family() -> dict[str, list]:
    """The records that users can call, by the family that they are shown with."""
    from core.ops.registry import TABLE

    groups = defaultdict(list)
    for name in sorted(operator_names(), key=str.lower):
        module = getattr(TABLE[name].function, "__module__", None) or ""
        family = module.rpartition(".")[2]
        groups[family if family in FAMILIES else "elementwise"].append(TABLE[name])
    return {family: groups[family] for family in FAMILIES if groups[family]}


def _family_page(family: str, records: list) -> str:
    names = operator_names()
    lines = [*_heading(f"Operators: {FAMILIES[family]}"), ""]
    for record in records:
        lines += [*entry(record, names[record.name]), ""]
    return "\n".join(lines) + "\n"


def entry(record, names: list[str]) -> list[str]:
    """One operator: its call, its text, its attributes, and what its record says of results."""
    first = names[0]
    lines = [f".. _operator-{record.name}:", "", f".. py:function:: {first}({_arguments(record)})", ""]
    body = to_rst(_without_signature(record).splitlines())
    expression = formula(record)
    if expression:
        body += [f"Formula: ``{expression}``", ""]
    if record.attrs:
        rows = [[f"``{n}``", f"``{kind.hint}``", _default(default)] for n, (kind, default) in record.attrs.items()]
        body += [*table(["attribute", "type", "default"], rows), ""]
    body += [line for name, text in facts(record, names) for line in (f":{name}: {text}",)]
    return lines + ["   " + line if line else "" for line in body]


def facts(record, names: list[str]) -> list[tuple[str, str]]:
    """What the record says, in words."""
    from core.ops.registry import REQUIRED

    inputs = [f"``{name}``{' (optional)' if name in record.optional else ''}" for name in record.inputs]
    inputs = [
        text + " (any number)" if record.variadic and k == len(inputs) - 1 else text for k, text in enumerate(inputs)
    ]
    conditional = [f"``{name}`` under ``{attr}={value!r}`` alone" for name, (attr, value) in record.when.items()]
    written = [f"``{name}`` is written to" for name in sorted(record.mutates)]
    says = [("Inputs", "; ".join([", ".join(inputs) or "none", *conditional, *written]))]
    if callable(record.outputs) or record.outputs != 1:
        count = "as many as the attributes say" if callable(record.outputs) or callable(record.visible) else None
        says.append(("Outputs", count or str(record.visible or record.outputs)))
    dtype = record.attrs.get("dtype")
    if record.dtype:
        says.append(("Result dtype", record.dtype))
    elif dtype and dtype[1] is not REQUIRED:
        says.append(("Result dtype", "the attribute ``dtype``" + (f", by default {dtype[1]}" if dtype[1] else "")))
    else:
        says.append(("Result dtype", "that of the first input" if record.inputs else "float32"))
    says.append(("Storage", _storage(record)))
    says.append(("Gradient", "yes" if record.differentiable else "none"))
    if record.rng:
        says.append(("Random", "yes, repeatable with ``mx.random.seed``"))
    says.append(("Names", ", ".join(f"``{name}``" for name in names)))
    return says


def _storage(record) -> str:
    from core.ops.registry import REQUIRED
    from core.ops.storage_types import DENSE, DenseOnly

    attrs = {name: default for name, (_, default) in record.attrs.items()}
    if record.storage is DENSE or isinstance(record.storage, DenseOnly):
        return "dense results"
    if record.storage.rows_alone(attrs):
        return "updates only the rows that a row_sparse gradient has"
    if REQUIRED in attrs.values():
        return "of the result as the attributes have it"
    kinds = ("csr", "row_sparse")
    kept = [kind for kind in kinds if record.storage.result([kind] * max(len(record.inputs), 1), attrs) == kind]
    return f"{' and '.join(kept)} stay as they are" if kept else "dense results"


def formula(record) -> str:
    """What a pointwise operator computes of each element, where a reader can take that in; else nothing."""
    if record.formula is None:
        return ""
    text = _infix(record.formula.root, record.formula.inputs)[0]
    return text if len(text) < LONGEST_FORMULA and text not in record.formula.inputs else ""


def _infix(node, inputs) -> tuple[str, int]:
    """A node as an expression, and how tightly it binds."""
    if node.op == "input":
        return inputs[node.args[0]], ATOM
    if node.op in ("attr", "const"):
        return str(node.args[0]), ATOM
    if node.op in INFIX:
        sign, rank = INFIX[node.op]
        (left, left_rank), (right, right_rank) = (_infix(arg, inputs) for arg in node.args)
        left = left if left_rank >= rank else f"({left})"
        return f"{left} {sign} {right if right_rank > rank else f'({right})'}", rank
    args = [_infix(arg, inputs)[0] if hasattr(arg, "op") else str(arg) for arg in node.args]
    return (f"-({args[0]})" if node.op == "neg" else f"{node.op}({', '.join(args)})"), ATOM


def _without_signature(record) -> str:
    """The text of the record; docstrings of functions made from it end with their call, which is above already."""
    return record.doc.replace(record.signature(), "").strip()


def _arguments(record) -> str:
    from core.ops.registry import REQUIRED

    inputs = []
    for name in record.inputs:
        star = record.variadic and name == record.inputs[-1]
        inputs.append(f"*{name}" if star else f"{name}=None" if name in record.optional else name)
    attrs = [name if default is REQUIRED else f"{name}={default!r}" for name, (_, default) in record.attrs.items()]
    return ", ".join([*inputs, *attrs, "out=None"])


def _default(default) -> str:
    from core.ops.registry import REQUIRED

    return "required" if default is REQUIRED else f"``{default!r}``"


# --------------------------------------------------------------------------------------------


def _chapter(title: str, text: str, pages: list[str]) -> str:
    return "\n".join(
        [*_heading(title), "", text, "", ".. toctree::", "   :maxdepth: 1", "", *(f"   {p}" for p in pages), ""]
    )


def _heading(text: str) -> list[str]:
    return [text, "=" * len(text)]


def _page_name(module: str) -> str:
    return "namespace_" + module.replace(".", "_")

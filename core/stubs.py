"""Type stubs for the faces of the operator table, so that editors complete and check calls:
`python -m core.stubs FOLDER`.

Operators are made on first use, which no editor can see; a stub (PEP 484) spells out each with its signature and one
line of documentation. Wheels contain them (see `packaging/backend.py`); the repository does not.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import keyword
from collections.abc import Iterator
from pathlib import Path

from core.files.atomic import write_bytes
from core.ops.registry import REQUIRED, Operator

# Module of a face -> (where the class of its values is, the class).
FACES = {
    "core.ndarray": ("core.ndarray.ndarray", "NDArray"),
    "core.ndarray.contrib": ("core.ndarray.ndarray", "NDArray"),
    "core.ndarray.image": ("core.ndarray.ndarray", "NDArray"),
    "core.ndarray.linalg": ("core.ndarray.ndarray", "NDArray"),
    "core.ndarray.random": ("core.ndarray.ndarray", "NDArray"),
    "core.ndarray.sparse": ("core.ndarray.ndarray", "NDArray"),
    "core.symbol": ("core.symbol.symbol", "Symbol"),
    "core.numpy": ("core.numpy.multiarray", "ndarray"),
    "core.numpy.linalg": ("core.numpy.multiarray", "ndarray"),
    "core.numpy.random": ("core.numpy.multiarray", "ndarray"),
    "core.numpy_extension": ("core.numpy.multiarray", "ndarray"),
}
# Of the modules that a face holds, those that users know; the rest is how it is made.
NAMESPACES = ("contrib", "image", "linalg", "op", "random", "sparse", "np", "npx")


def write(folder: Path) -> list[Path]:
    """Writes the stub of every face below `folder`, as packages lie in a source tree; returns the files."""
    files = []
    for module in FACES:
        source = Path(importlib.import_module(module).__file__)
        package = Path(*module.split("."))
        files.append(
            folder / (package / "__init__.pyi" if source.name == "__init__.py" else package.with_suffix(".pyi"))
        )
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        write_bytes(files[-1], text(module).encode())
    return files


def text(module: str) -> str:
    """The stub of one face: imports first, then a function for each operator."""
    where, kind = FACES[module]
    face = importlib.import_module(module)
    imports, bodies = {f"from {where} import {kind} as {kind}"}, []
    for name in names(face):
        value = getattr(face, name)
        if isinstance(getattr(value, "operator", None), Operator):
            bodies.append(function(name, value.operator, kind))
        elif inspect.ismodule(value):
            package, _, last = value.__name__.rpartition(".")
            imports.add(f"from {package} import {last} as {name}" if package else f"import {last} as {name}")
        elif home := _home(value, name, module):
            imports.add(home)
        elif callable(value) and not isinstance(value, type):
            bodies.append(f"def {name}{_signature(value)}: ...")
        else:
            bodies.append(f"{name}: {_type_name(value)}")
    header = f'"""Generated from the operator table by core.stubs."""\n\nfrom typing import Any\n\n{_lines(sorted(imports))}\n'
    return header + _lines(bodies)


def function(name: str, op: Operator, kind: str) -> str:
    """`def name(...)` of an operator: inputs, attributes with types and defaults, and what every front takes."""
    inputs = []
    for i in op.inputs:
        if op.variadic and i == op.inputs[-1]:
            inputs.append(f"*{i}: {kind} | list[{kind}]")
        else:
            inputs.append(f"{i}: {kind} | None = None")
    attrs = [
        f"{n}: {attribute.hint}"
        + (" = ..." if default is REQUIRED else f" = {default!r}" if _literal(default) else " = ...")
        for n, (attribute, default) in op.attrs.items()
    ]
    ending = [f"out: {kind} | None = None", "name: str | None = None", "**kwargs: Any"]
    result = kind if op.outputs == 1 or op.visible == 1 else f"{kind} | list[{kind}]"
    line = " ".join(op.doc.partition("\n\n")[0].split()).replace("\\", "\\\\").replace('"""', "'''")
    return f'def {name}({", ".join(inputs + attrs + ending)}) -> {result}:\n    """{line}"""'


def names(face) -> list[str]:
    """What a face offers to its users."""
    shown = (n for n in dir(face) if n.isidentifier() and not n.startswith("_") and not keyword.iskeyword(n))
    return sorted(
        n for n in shown if n != "annotations" and (n in NAMESPACES or not inspect.ismodule(getattr(face, n)))
    )


def _home(value, name: str, module: str) -> str | None:
    """The import of something that another module defines under a name of its own."""
    owner, own_name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not owner or not own_name or owner == module or "." in own_name or owner == "builtins":
        return None
    try:
        found = getattr(importlib.import_module(owner), own_name, None)
    except ImportError:
        return None
    return f"from {owner} import {own_name} as {name}" if found is value else None


def _signature(value) -> str:
    """The parameters of a function made at run time, without defaults that are no literals."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(*args: Any, **kwargs: Any) -> Any"
    shown: list[inspect.Parameter] = []
    for p in signature.parameters.values():
        default = p.default if p.default is p.empty or _literal(p.default) else None
        shown.append(p.replace(annotation=p.empty, default=default))
    return f"{inspect.Signature(shown)} -> Any"


def _literal(value) -> bool:
    if isinstance(value, tuple):
        return all(map(_literal, value))
    return value is None or (isinstance(value, (bool, int, float, str)) and repr(value) not in ("inf", "-inf", "nan"))


def _type_name(value) -> str:
    return type(value).__name__ if type(value).__module__ == "builtins" and value is not None else "Any"


def _lines(parts: Iterator[str] | list[str]) -> str:
    return "".join(part + "\n" for part in parts)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "folder", type=Path, help="the stubs are written below it, as the packages lie in a source tree"
    )
    for path in write(parser.parse_args(argv).folder):
        print(path)


if __name__ == "__main__":
    main()

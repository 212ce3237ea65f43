"""The floors of DESIGN and what may pass between them, read from the sources.

Imports go down only; torch lends memory and kernels to a few modules and nothing else to anyone; heavy libraries are
imported on first use; both backends implement the contracts of the kernels.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import tomllib
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from core import kernels
from core.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("core", "gluon", "gluoncv", "gluonnlp")

# What the sources of a package may import among ours.
FLOORS = {
    "core": {"core"},
    "gluon": {"core", "gluon"},
    "gluoncv": {"core", "gluon", "gluoncv"},
    "gluonnlp": {"core", "gluon", "gluonnlp"},
    "gluon_cli": {"core", "gluon", "gluoncv", "gluonnlp", "gluon_cli"},
    "scripts": {"core", "gluon", "gluoncv", "gluonnlp", "scripts"},
}
# The one door that looks up: it lends the names of the original packages to existing programs.
LOOKS_UP = {"core/mxnet.py"}

TORCH_MODULES = ("core/kernels/", "core/storage.py", "core/symbolic.py", "core/random.py")
TORCH_YARDSTICK = "scripts/benchmarks/"
TORCH_REFUSED = (
    "torch.nn", "torch.autograd", "torch.optim", "torch.utils.data", "torch.jit", "torch.compile", "torch.fx",
    "torch.func", "torch.vmap", "torch.export", "torch._dynamo", "torch._inductor", "torchvision", "torchaudio",
    "functorch",
)  # fmt: skip

LAZY = ("triton", "matplotlib", "PIL", "sentencepiece", "scipy", "sklearn", "onnx", "onnxruntime", "pandas")

# Kernels of core.kernels.ON_CPU_ONLY, which are computed on the CPU with a warning. The list only shrinks.
ON_CPU_ONLY = {"linalg.eig", "linalg.lstsq", "linalg.pinv", "linalg.svd"}

# Import names of the distributions in the extras, where they differ.
IMPORT_NAMES = {"pillow": "PIL", "scikit-learn": "sklearn", "opencv-python": "cv2"}


# ---------------------------------------------------------------- floors


@pytest.mark.parametrize("package", FLOORS)
def test_imports_go_down_only(package):
    wrong = [
        f"{where}: imports {name}"
        for path in sources(package)
        if relative(path) not in LOOKS_UP
        for name, where in imports(path)
        if name.split(".")[0] in FLOORS and name.split(".")[0] not in FLOORS[package]
    ]
    assert not wrong, "\n".join(wrong)


# The layers inside of core, bottom to top; a module belongs to the longest prefix that it has here.
CORE_LAYERS = (
    # what everything stands on
    "base context current device dtypes error extents extras files heap html late_names libinfo log name attribute placement random_keys registry "
    "resample runtime signatures storage symbolic threads tracebacks util",
    "kernels",
    "ops documentation",
    "tape backward",
    "dispatch operand_errors writes",
    "ndarray numpy numpy_extension random autograd serialization np_arrays",
    "graph",
    "symbol cached_op executor operator python_operator",
)
# Everything else is for programs of MXNet 1, and stands above; `core` itself enters names (core.late_names).
TOP = len(CORE_LAYERS)


def core_layer(module: str) -> int:
    """The number of a module's layer, from the bottom."""
    part = module.split(".")[1]
    return next((k for k, names in enumerate(CORE_LAYERS) if part in names.split()), TOP)


def test_imports_inside_core_go_down_only_also_those_inside_of_functions():
    wrong = [
        f"{where}: imports {name}"
        for path in sources("core")
        if path.name != "__init__.py" or path.parent.name != "core"
        for name, where in imports(path)
        if name.startswith("core.")
        and core_layer(name) > core_layer(".".join(path.relative_to(ROOT).with_suffix("").parts))
        and not is_value_of_core(name)
    ]
    assert not wrong, "\n".join(wrong)


def is_value_of_core(name: str) -> bool:
    """Whether `from core import NAME` names a value, such as MXNetError, no module."""
    return not any((ROOT / "core" / f"{name.split('.')[1]}{end}").exists() for end in (".py", "/__init__.py"))


def test_kernels_know_nothing_above_them():
    allowed = tuple(f"core.{name}" for name in "kernels base dtypes extents placement storage symbolic threads".split())
    wrong = [
        f"{where}: imports {name}"
        for path in sources("core/kernels")
        for name, where in imports(path)
        if name.split(".")[0] == "core" and not under(name, allowed)
    ]
    assert not wrong, "\n".join(wrong)


def test_packages_of_extras_are_loaded_by_what_names_the_extra():
    """gluon/hub.py asks whether its package is there before it imports names of it."""
    wrong = [
        f"{where}: imports {name}, see core.extras.load"
        for package in FLOORS
        for path in sources(package)
        if not relative(path).startswith(("gluon/hub.py", "scripts/benchmarks/"))
        for name, where in imports(path)
        if name.split(".")[0] in EXTRAS
    ]
    assert not wrong, "\n".join(wrong)


def test_a_package_that_is_missing_is_named_with_its_extra():
    code = """
        from core import nd
        from gluoncv.utils.viz import plot_image
        for call in (lambda: plot_image(nd.zeros((2, 2, 3))), nd.sparse.zeros("csr", (2, 2)).asscipy):
            try:
                call()
            except ImportError as error:
                print(error)
    """
    assert python(code, blocked=set(EXTRAS), check=True).stdout.splitlines() == [
        "drawing needs the package matplotlib: pip install 'gluon-triton[cv]'",
        "asscipy needs the package scipy: pip install 'gluon-triton[cv]'",
    ]


@pytest.mark.parametrize(
    "package, shadowed", [("gluon", "core"), ("gluoncv", "core"), ("gluoncv", "gluon"), ("gluonnlp", "gluon")]
)
def test_a_shadowed_package_is_refused(package, shadowed, tmp_path):
    (tmp_path / f"{shadowed}.py").write_text("raise SystemExit('ran the other one')\n")
    result = python(f"import {package}", path=[tmp_path, ROOT])
    assert result.returncode == 1
    assert f"ImportError: {package} needs its own package `{shadowed}`" in result.stderr
    assert str(tmp_path / f"{shadowed}.py") in result.stderr
    assert "rename it" in result.stderr


# ---------------------------------------------------------------- torch


def test_torch_stays_in_its_modules():
    wrong = [
        f"{where}: imports {name}"
        for package in FLOORS
        for path in sources(package)
        if not relative(path).startswith((*TORCH_MODULES, TORCH_YARDSTICK))
        for name, where in imports(path)
        if name.split(".")[0] in ("torch", "torchvision", "torchaudio", "functorch")
    ]
    assert not wrong, "\n".join(wrong)


def test_torch_lends_no_network_gradient_or_compiler():
    wrong = [
        f"{where}: {name}"
        for package in FLOORS
        for path in sources(package)
        if not relative(path).startswith(TORCH_YARDSTICK)
        for name, where in (*imports(path), *dotted_names(path))
        if under(name, TORCH_REFUSED)
    ]
    assert not wrong, "\n".join(wrong)


def test_torch_never_differentiates():
    wrong = [
        f"{relative(path)}:{node.lineno}"
        for path in sources("core/kernels")
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Attribute) and node.attr in ("requires_grad", "requires_grad_", "grad_fn"))
        or (isinstance(node, ast.keyword) and node.arg == "requires_grad")
    ]
    assert not wrong, "\n".join(wrong)


# ---------------------------------------------------------------- what an import costs


@pytest.mark.parametrize("package", ["core", "gluon", "gluoncv", "gluonnlp"])
def test_heavy_libraries_wait_for_their_first_use(package):
    loaded = python(f"import sys, {package}; print(*sorted(sys.modules))", check=True).stdout.split()
    assert package in loaded
    assert not sorted(set(LAZY) & set(loaded))


@pytest.mark.parametrize(("package", "absent"), [("gluoncv", "nlp"), ("gluonnlp", "cv")])
def test_every_module_of_a_toolkit_imports_without_the_extras_of_the_other(package, absent):
    result = python(
        f"""
        import pkgutil, {package}
        for module in pkgutil.walk_packages({package}.__path__, {package}.__name__ + "."):
            if not module.name.endswith("__main__"):
                __import__(module.name)
        """,
        blocked=extra(absent) - extra("cv" if absent == "nlp" else "nlp"),
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_imports_with_no_extra_at_all(package):
    result = python(f"import {package}", blocked=extra("cv") | extra("nlp") | extra("onnx") | {"sklearn"})
    assert result.returncode == 0, result.stderr


# ---------------------------------------------------------------- contracts and backends of kernels


@pytest.mark.parametrize("backend", kernels.BACKENDS)
@pytest.mark.parametrize("family", kernels.FAMILIES)
def test_backends_implement_the_contracts(family, backend):
    declared = functions(getattr(kernels, family))
    if backend == "triton":
        declared = {name: f for name, f in declared.items() if f"{family}.{name}" not in ON_CPU_ONLY}
    implemented = functions(importlib.import_module(f"core.kernels.{backend}.{family}"))
    assert implemented.keys() == declared.keys()
    wrong = [
        f"{family}.{name}: declared {parameters(declared[name])}; {backend} {parameters(implemented[name])}"
        for name in declared
        if parameters(implemented[name]) != parameters(declared[name])
    ]
    assert not wrong, "\n".join(wrong)
    assert not [name for name, f in implemented.items() if f.__doc__], "documentation stands in the contract"
    assert all(f.__doc__ for f in declared.values())


def test_kernels_on_the_cpu_alone_grow_no_more():
    assert set(kernels.ON_CPU_ONLY) == ON_CPU_ONLY


def functions(module) -> dict[str, types.FunctionType]:
    """Public functions that a module defines; what Triton compiles is none."""
    return {
        name: f
        for name, f in vars(module).items()
        if isinstance(f, types.FunctionType) and f.__module__ == module.__name__ and not name.startswith("_")
    }


def parameters(function) -> list[tuple]:
    """Names, kinds and defaults, for annotations stand in the contract."""
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


# ---------------------------------------------------------------- helpers: reading sources


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def under(name: str, roots: tuple[str, ...]) -> bool:
    return any(name == root or name.startswith(root + ".") for root in roots)


@cache
def imports(path: Path) -> list[tuple[str, str]]:
    """Full names of everything imported anywhere in a file, also inside functions and through importlib."""
    package = list(path.relative_to(ROOT).with_suffix("").parts[:-1])
    found = []
    for node in ast.walk(tree(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            # `from torch import nn` names torch.nn; `from core import MXNetError` names core.MXNetError.
            names = [f"{module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = getattr(node.func, "id", getattr(node.func, "attr", None))
            if function in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                names = [node.args[0].value]
        found += [(name, f"{relative(path)}:{node.lineno}") for name in names]
    return found


def dotted_names(path: Path) -> Iterator[tuple[str, str]]:
    """Names such as torch.nn.functional that an expression spells out."""
    for node in ast.walk(tree(path)):
        parts, inner = [], node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name):
            yield ".".join([inner.id, *reversed(parts)]), f"{relative(path)}:{node.lineno}"


# ---------------------------------------------------------------- helpers: fresh interpreters

BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}} (blocked by the test)", name=name)
sys.meta_path.insert(0, Blocker())
"""


def python(code: str, *, blocked: set[str] = frozenset(), path=(ROOT,), check=False) -> subprocess.CompletedProcess:
    """Runs `code` in a fresh interpreter with `path` first on sys.path and the modules in `blocked` absent."""
    prelude = f"import sys; sys.path[:0] = {[str(folder) for folder in path]!r}\n" + BLOCKER.format(names=set(blocked))
    return subprocess.run(
        [sys.executable, "-c", prelude + textwrap.dedent(code)],
        cwd="/", capture_output=True, text=True, timeout=300, check=check,
    )  # fmt: skip


def extra(name: str) -> set[str]:
    """Import names of the distributions of one extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[^\w.-]", requirement)[0] for requirement in project["optional-dependencies"][name]}
    return {IMPORT_NAMES.get(distribution, distribution) for distribution in names}

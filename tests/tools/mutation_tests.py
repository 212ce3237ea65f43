"""Which tests belong to a place in the source.

A test file is near to a fault when it imports the faulty module or what re-exports it, carries its name (or, of a
module with an underscore, the name of one beside it that imports it), lies in the folder of the same name, or mentions what the fault is in: the function, its class, the operators that the function is
entered for, or the functions of the module that call it. Within the chosen files, tests that mention these names run
first. The recorded answers of the original software (`tests/test_reference.py`) are asked last, those cases alone whose
name mentions one of them.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path, PurePosixPath

from tests.tools.mutation_sites import Mutation

LEFT_OUT = ("tests/gpu/", "tests/tools/", "tests/test_architecture.py", "tests/test_reference.py", "tests/test_stubs.py", "tests/test_readme.py")  # fmt: skip
# Tests of whole programs: they import next to nothing of what they run.
ANY = {
    "core/contrib/onnx/": """tests/core/contrib/test_onnx_nodes.py tests/core/contrib/test_onnx_operators.py
        tests/core/contrib/test_onnx.py tests/core/contrib/test_onnx_exporters.py
        tests/core/contrib/test_onnx_detection.py tests/core/contrib/test_onnx_blocks.py""",
    "core/graph/": """tests/gluon/test_hybridize.py tests/core/graph/test_random_programs.py
        tests/core/graph/test_random_networks.py""",
    "core/kernels/cpu/inline.py": """tests/core/kernels/test_pointwise.py tests/core/graph/test_fusion.py tests/core/graph/test_passes.py
        tests/core/graph/test_random_programs.py tests/gluon/test_hybridize.py""",
    "core/kernels/contracts/": "tests/core/kernels/test_meta.py tests/core/test_symbol_shapes.py",
    "core/kernels/": "tests/core/ops/test_sweep.py tests/core/ops/test_variations.py",
    "core/kvstore/": "tests/core/test_kvstore.py tests/core/distributed/test_processes.py tests/gluon/test_trainer.py",
    "core/module/": "tests/core/test_module.py tests/core/test_rnn.py tests/core/test_programs.py",
    "core/ndarray/": """tests/core/test_ndarray.py tests/core/test_sparse.py tests/core/test_array_calls.py
        tests/core/test_autograd.py tests/core/test_symbol_control_flow.py""",
    "core/numpy/": "tests/core/test_numpy_2.py tests/core/test_numpy.py tests/core/test_names_of_2.py",
    "core/ops/storage_types.py": "tests/core/test_sparse.py tests/core/test_executor.py tests/core/test_optimizer.py",
    "core/ops/rnn.py": """tests/core/graph/test_passes.py tests/core/test_rnn.py tests/core/ops/test_sweep.py
        tests/core/ops/test_variations.py""",
    "core/ops/relations.py": "tests/core/test_symbol_shapes.py tests/core/test_symbol.py",
    "core/ops/": "tests/core/ops/test_sweep.py tests/core/ops/test_variations.py tests/core/test_symbol_shapes.py",
    "core/optimizer/": "tests/gluon/test_trainer.py tests/core/test_optimizer.py tests/core/test_programs.py",
    "core/symbol/recorded.py": "tests/gluon/test_hybridize.py tests/gluon/test_usage.py",
    "core/symbol/": """tests/core/test_symbol.py tests/core/test_symbol_export.py tests/core/test_symbol_shapes.py
        tests/core/test_symbol_control_flow.py tests/core/test_executor.py""",
    "core/": "tests/core/test_programs.py tests/core/test_ndarray.py tests/core/test_module.py tests/gluon/test_usage.py",
    "gluoncv/model_zoo/": """tests/gluoncv/test_parameter_names.py tests/gluoncv/test_model_zoo.py
        tests/gluoncv/test_state_dict.py""",
    "gluon/contrib/data/vision/": """tests/gluon/data/vision/test_bbox.py
        tests/gluon/data/vision/test_image_data_loader.py""",
    "gluon/model_zoo/": "tests/gluon/test_model_zoo.py",
    "gluon/": "tests/gluon/test_usage.py tests/gluon/test_trainer.py",
    "gluonnlp/": "tests/gluonnlp/model/test_models.py tests/gluonnlp/test_toolbox.py",
}
# By the name of what the fault is in: what no other test calls.
BY_NAME = {
    r"^(AOT$|_aot|_case$)": "tests/core/kernels/triton/test_aot.py",  # compiled ahead of time
    r"^Arena$": "tests/gluon/test_trainer.py",
    r"_rows$": "tests/core/graph/test_fusion.py",  # formulas along rows
}
DEFAULTS = "tests/test_defaults.py"  # of all packages, a test for each name
SECTIONS = {
    "core/contrib/": (), "core/": ("ops", "gluon", "files"), "gluon/": ("gluon",), "gluoncv/": ("gluoncv",),
    "gluonnlp/": ("gluonnlp_data", "gluonnlp_zoo"),
}  # fmt: skip
COMMON = {"run", "forward", "hybrid_forward", "update", "step", "call", "convert", "body", "shape", "reset", "get", "read", "write"}  # fmt: skip


def names(root: Path, mutation: Mutation) -> list[str]:
    """What a test of this place would mention, the nearest first."""
    module = _module(root / mutation.path)
    found: dict[str, None] = {}
    for scope in reversed(mutation.scope):
        found |= dict.fromkeys([scope, *module.entered.get(scope, ())])
    if not mutation.scope:  # a table or a default of the whole module
        found |= dict.fromkeys(module.at_line(mutation.line))
    for name in list(found):
        for caller in module.callers(name):
            found |= dict.fromkeys([caller, *module.entered.get(caller, ())])
    return [name for name in found if not name.startswith("_") or name.startswith(("_contrib", "_np"))]


def test_files(root: Path, mutation: Mutation, limit: int = 7) -> list[str]:
    """The files of tests nearest to a place, the nearest first."""
    words = names(root, mutation)
    modules = [PurePosixPath(mutation.path), *_users(root, mutation.path)]
    scores = {path: max(_score(path, text, m, words) for m in modules) for path, text in _tests(root).items()}
    chosen = sorted((path for path, score in scores.items() if score >= 3), key=lambda path: -scores[path])[:limit]
    for pattern, path in BY_NAME.items():
        if (root / path).exists() and any(re.search(pattern, word) for word in (*words, *mutation.scope)):
            chosen = [path, *(other for other in chosen if other != path)]
    more = next((files for start, files in ANY.items() if mutation.path.startswith(start)), "")
    return chosen + [path for path in (*more.split(), DEFAULTS) if path not in chosen and (root / path).exists()]


def reference_sections(path: str) -> tuple[str, ...]:
    """The sections of recorded answers that a module may have a part in."""
    return next((sections for start, sections in SECTIONS.items() if path.startswith(start)), ())


def relevance(text: str, words: list[str]) -> int:
    """How much a test has to do with some names."""
    return sum(2 if word not in COMMON else 1 for word in words[:12] if re.search(rf"\b{re.escape(word)}\b", text))


def _users(root: Path, path: str) -> list[PurePosixPath]:
    """The modules beside a private one that import it."""
    module = PurePosixPath(path)
    if not re.match("_[a-z]", module.stem):
        return []
    beside = sorted(other for other in (root / path).parent.glob("*.py") if other.stem != module.stem)
    imports = re.compile(rf"(?m)^from \S+(\.{module.stem} import| import .*\b{module.stem}\b)")
    return [module.with_name(other.name) for other in beside if imports.search(other.read_text(encoding="utf-8"))]


def _score(test: str, text: str, module: PurePosixPath, words: list[str]) -> float:
    parts = [part for part in module.with_suffix("").parts if part != "__init__"]
    stem = PurePosixPath(test).stem.removeprefix("test_")
    dotted = ".".join(parts)
    score = 0.0
    if re.search(rf"\b{re.escape(dotted)}\b", text) or (
        len(parts) > 1
        and re.search(rf"from {re.escape('.'.join(parts[:-1]))} import [^\n]*\b{re.escape(parts[-1])}\b", text)
    ):
        score += 6
    if stem in (parts[-1], parts[-1].lstrip("_")) or (len(parts) > 2 and stem == parts[-2]):
        score += 5
    elif stem in parts[-1] or parts[-1].lstrip("_") in stem:
        score += 2
    inside = PurePosixPath(test).parts[1:-1]
    score += sum(1 for mine, its in zip(parts, inside) if mine == its)
    if inside and inside[-1] not in parts:
        score -= 2
    for at, word in enumerate(words[:12]):
        if times := len(re.findall(rf"\b{re.escape(word)}\b", text)):
            score += (1 if word in COMMON else 4 + min(times, 8) / 4) / (1 + at / 4)
    return score


@cache
def _tests(root: Path) -> dict[str, str]:
    found = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(LEFT_OUT):
            found[name] = path.read_text(encoding="utf-8")
    return found


@cache
def _module(path: Path) -> _Module:
    return _Module(ast.parse(path.read_text(encoding="utf-8")))


class _Module:
    """Who calls whom within a file, and under which names its functions are entered in tables."""

    def __init__(self, tree: ast.Module):
        self.tree = tree
        self.entered: dict[str, list[str]] = {}
        self.uses: dict[str, set[str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found = self.entered.setdefault(node.name, [])
                for part in (part for decorator in node.decorator_list for part in ast.walk(decorator)):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
                        found.append(part.value)
                    elif isinstance(part, ast.Name) and part.id in self.entered:  # `@gradient(softmax)`
                        found += [part.id, *self.entered[part.id]]
                used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                used |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
                self.uses.setdefault(node.name, set()).update(used - {node.name})

    def callers(self, name: str) -> list[str]:
        """The functions and classes that use one, directly or through others."""
        found, fresh = [], [name]
        while fresh and len(found) < 12:
            callee = fresh.pop(0)
            callers = [user for user, used in self.uses.items() if callee in used and user not in found]
            found += callers
            fresh += callers
        return found

    def at_line(self, line: int) -> list[str]:
        """The names of the top-level statement at a line: those that it assigns, and texts in it on that line."""
        for node in self.tree.body:
            if node.lineno <= line <= (node.end_lineno or line):
                texts = [
                    part.value
                    for part in ast.walk(node)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str) and abs(part.lineno - line) <= 1
                ]
                targets = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
                named = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
                return [*named, *(text for text in texts if text.isidentifier()), *targets]
        return []

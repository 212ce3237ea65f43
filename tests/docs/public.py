"""What users call: every public callable of the namespaces that they import. `python -m tests.docs.public` counts the
words and examples of their docstrings.
"""

from __future__ import annotations

import importlib
import inspect
import statistics
import types
from collections.abc import Iterator
from functools import cache

# Namespace -> where what it offers is defined (by default in itself).
NAMESPACES = {
    "core.ndarray": "", "core.ndarray.random": "", "core.ndarray.linalg": "", "core.ndarray.image": "",
    "core.ndarray.contrib": "", "core.ndarray.sparse": "", "core.numpy": "", "core.numpy.linalg": "",
    "core.numpy.random": "", "core.numpy_extension": "", "core.numpy_extension.random": "",
    "core.numpy_extension.image": "", "core.symbol": "", "core.symbol.random": "", "core.autograd": "", "core.random": "",
    "core.image": "", "core.io": "", "core.recordio": "", "core.metric": "", "core.optimizer": "",
    "core.lr_scheduler": "", "core.initializer": "",
    "gluon": "", "gluon.nn": "", "gluon.rnn": "", "gluon.loss": "", "gluon.data": "", "gluon.data.vision": "",
    "gluon.data.vision.transforms": "", "gluon.metric": "", "gluon.utils": "",
    "gluon.contrib.nn": "", "gluon.contrib.rnn": "", "gluon.contrib.data": "", "gluon.contrib.estimator": "",
    "gluon.model_zoo.vision": "", "gluoncv.data": "", "gluoncv.data.transforms": "", "gluoncv.data.batchify": "",
    "gluoncv.nn": "", "gluoncv.loss": "", "gluoncv.utils": "", "gluoncv.utils.metrics": "", "gluoncv.utils.viz": "",
    "gluoncv.model_zoo": "", "gluonnlp.data": "", "gluonnlp.data.batchify": "", "gluonnlp.vocab": "",
    "gluonnlp.embedding": "", "gluonnlp.model": "", "gluonnlp.loss": "", "gluonnlp.metric": "", "gluonnlp.optimizer": "",
}  # fmt: skip


def offered(namespace: str) -> Iterator[tuple[str, object]]:
    """The callables that a namespace offers to users, by name: not what its modules import for themselves."""
    module = importlib.import_module(namespace)
    homes = (namespace, NAMESPACES[namespace] or namespace)
    listed = getattr(module, "__all__", ())
    for name in sorted({*dir(module), *listed}):
        if name.startswith("_"):
            continue
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) or not callable(value):
            continue
        if isinstance(value, type) and issubclass(value, BaseException):
            continue
        defined = getattr(value, "__module__", None) or ""
        if hasattr(value, "operator") or defined.startswith(homes):
            yield name, value


@cache
def documented() -> dict[str, str]:
    """The docstrings of all public callables, by the name under which they come first; aliases count once."""
    found: dict[int, tuple[str, str]] = {}
    for namespace in NAMESPACES:
        for name, value in offered(namespace):
            operator = getattr(value, "operator", None)
            key = id(value if operator is None else operator)  # `nd`, `npx` and `sym` share the text of an operator
            found.setdefault(key, (f"{namespace}.{name}", inspect.getdoc(value) or ""))
    return dict(found.values())


def words(docstring: str) -> int:
    """Words outside of examples."""
    return len([word for line in docstring.split("\n") if not line.startswith((">>>", "...")) for word in line.split()])


def has_example(docstring: str) -> bool:
    return ">>> " in docstring


def median(docstrings) -> float:
    return statistics.median(map(words, docstrings))


def share(docstrings) -> float:
    """How many have an example."""
    return sum(map(has_example, docstrings)) / len(docstrings)


def table() -> str:
    """A line for each namespace: callables, median of words, examples; those without an example behind it."""
    lines = []
    for namespace in NAMESPACES:
        mine = {n: d for n, d in documented().items() if n.rpartition(".")[0] == namespace}
        if mine:
            without = [n.rpartition(".")[2] for n, d in mine.items() if not has_example(d)]
            lines.append(
                f"{namespace:32} {len(mine):4} callables, {median(mine.values()):5.1f} words, "
                f"{len(mine) - len(without):4} examples  {' '.join(without)}"
            )
    every = list(documented().values())
    return "\n".join(
        [*lines, f"{'all':32} {len(every):4} callables, {median(every):5.1f} words, {share(every):.1%} examples"]
    )


if __name__ == "__main__":
    print(table())

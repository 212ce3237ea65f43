"""How examples in docstrings are run: the names that they may use, and when a printed result is the written one."""

from __future__ import annotations

import contextlib
import doctest
import re

import numpy as onp

import core as mx
import gluon
import gluoncv
import gluonnlp
from core import autograd, image, init, lr_scheduler, metric, nd, np, npx, optimizer, recordio, sym
from gluon import nn, rnn
from gluon.data.vision import transforms
from gluonnlp.data import registry as data_registry
from gluonnlp.embedding import token_embedding
from gluonnlp.vocab import subwords

_REGISTRIES = data_registry._datasets, data_registry._arguments, subwords._functions, token_embedding._embeddings
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?")

_SCALAR = re.compile(r"np\.\w+\(([^()]*)\)")  # how NumPy 2 shows a scalar that NumPy 1 shows bare


class Checker(doctest.OutputChecker):
    """Text has to agree but for white space; numbers with a fraction to the four digits that they are printed with."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        want, got = _SCALAR.sub(r"\1", want), _SCALAR.sub(r"\1", got)
        if super().check_output(want, got, optionflags):
            return True
        numbers = [_NUMBER.findall(text) for text in (want, got)]
        if not all(numbers) or len(numbers[0]) != len(numbers[1]):
            return False
        texts = [" ".join(_NUMBER.sub("#", text).split()).replace("[ ", "[") for text in (want, got)]
        return texts[0] == texts[1] and all(_close(a, b) for a, b in zip(*numbers, strict=True))


def _close(a: str, b: str) -> bool:
    if a.isdigit() and b.isdigit():
        return a == b
    return abs(float(a) - float(b)) <= 2e-4 + 1e-3 * abs(float(a))


def names() -> dict:
    """What an example need not import."""
    return {
        "mx": mx, "nd": nd, "np": np, "npx": npx, "sym": sym, "onp": onp, "autograd": autograd, "gluon": gluon, "nn": nn,
        "rnn": rnn, "gluoncv": gluoncv, "gluonnlp": gluonnlp, "init": init, "lr_scheduler": lr_scheduler,
        "metric": metric, "optimizer": optimizer, "image": image, "recordio": recordio, "transforms": transforms,
    }  # fmt: skip


@contextlib.contextmanager
def _registries_kept():
    """What an example registers is gone behind it: other tests count what there is."""
    before = [(registry, dict(registry)) for registry in _REGISTRIES]
    yield
    for registry, known in before:
        registry.clear()
        registry.update(known)


def failures(name: str, docstring: str) -> str:
    """What the examples of a docstring print that they should not; empty where all is well."""
    test = doctest.DocTestParser().get_doctest(docstring, names(), name, None, None)
    said: list[str] = []
    mx.random.seed(0)
    onp.random.seed(0)
    runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=FLAGS)
    with onp.printoptions(precision=4, suppress=True), _registries_kept():
        runner.run(test, out=said.append, clear_globs=True)
    return "".join(said)

"""The type stubs are those of the source, and say what the operator table and the classes say."""

import ast
import importlib.util
import inspect
from pathlib import Path

import pytest

from core import nd

ROOT = Path(__file__).resolve().parents[1]


def read(module):
    source = Path(importlib.import_module(module).__file__)
    return ast.parse(source.with_suffix(".pyi").read_text(encoding="utf-8"))


def defined(tree):
    """Every name that a stub offers, with its function or class where it spells one out."""
    names = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname: None for alias in node.names if alias.asname}
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = None
    return names


@pytest.mark.parametrize(
    ("module", "least"),
    [("core.ndarray", 250), ("core.symbol", 250), ("core.numpy_extension", 250), ("core.ndarray.linalg", 10)],
)  # fmt: skip
def test_signatures_are_those_of_the_table(module, least):
    namespace = importlib.import_module(module)
    compared = 0
    for name, node in defined(read(module)).items():
        op = getattr(getattr(namespace, name, None), "operator", None)
        if op is None:
            continue
        given = [a.arg for a in node.args.args + node.args.kwonlyargs] + (
            [node.args.vararg.arg] if node.args.vararg else []
        )
        assert {*op.inputs, *op.attrs, "out", "name"} <= {*given} <= {*op.inputs, *op.attrs, "out", "name", "ctx"}, name
        defaults = dict(zip(reversed([a.arg for a in node.args.args]), reversed(node.args.defaults)))
        defaults |= {a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None}
        for attribute, (_, default) in op.attrs.items():
            spelt = ast.literal_eval(defaults[attribute])
            assert spelt is ... or spelt == default, (name, attribute)
        assert " ".join(ast.get_docstring(node).split()) == " ".join(op.doc.split("\n\n")[0].split()), name
        compared += 1
    assert compared >= least


def test_a_stub_accepts_what_users_write():
    node = defined(read("core.ndarray"))["Convolution"]
    scope = {"Any": object, "NDArray": nd.NDArray}
    exec(ast.unparse(node), scope)
    call = inspect.signature(scope["Convolution"])
    call.bind(None, None, kernel=(3, 3), num_filter=8, pad=(1, 1), no_bias=True)
    assert call.parameters["no_bias"].default is False
    with pytest.raises(TypeError):
        call.bind(None, None, nothing=1)


def test_keywords_of_bases_are_spelled_out():
    (init,) = (
        n for n in defined(read("gluon.nn.basic_layers"))["Dense"].body if getattr(n, "name", None) == "__init__"
    )
    assert init.args.kwarg is None
    names = [a.arg for a in init.args.args + init.args.kwonlyargs]
    assert names[:3] == ["self", "units", "activation"] and names[-2:] == ["prefix", "params"]
    (init,) = (
        n for n in defined(read("gluon.nn.conv_layers"))["Conv2D"].body if getattr(n, "name", None) == "__init__"
    )
    defaults = dict(zip(reversed([a.arg for a in init.args.args]), reversed(init.args.defaults)))
    assert ast.literal_eval(defaults["strides"]) == 1 and ast.literal_eval(defaults["use_bias"]) is True


NAMESPACES = (
    "core core.ndarray core.symbol core.numpy core.numpy_extension core.optimizer gluon gluon.nn gluon.rnn gluon.data "
    "gluon.data.vision gluoncv gluoncv.model_zoo gluonnlp gluonnlp.data"
).split()
# Modules of which `dir` is asked alone: they are read as they are, without a stub, or have one of other names.
ASKED = (
    "autograd callback image initializer io lr_scheduler metric ndarray.random optimizer random recordio test_utils util "
    "visualization"
).split()


@pytest.mark.parametrize("module", NAMESPACES)
def test_completion_offers_neither_private_nor_imported_names(module):
    namespace = importlib.import_module(module)
    offered = set(defined(read(module)))
    assert not [name for name in offered if name.startswith("_")]
    for name in offered - vars(namespace).keys():  # a part that nobody imported yet
        if importlib.util.find_spec(f"{module}.{name}") is not None:
            importlib.import_module(f"{module}.{name}")
    foreign = [name for name in offered if is_foreign(getattr(namespace, name))]
    assert not foreign
    if "__dir__" in vars(namespace):
        assert not [name for name in dir(namespace) if name[0] == "_" and name[:2] != "__"]
        assert not [name for name in dir(namespace) if is_foreign(getattr(namespace, name, None))]


@pytest.mark.parametrize("module", [f"core.{name}" for name in ASKED] + ["gluon.loss", "gluon.rnn", "gluoncv.utils"])
def test_dir_shows_what_users_use(module):
    namespace = importlib.import_module(module)
    shown = [name for name in dir(namespace) if name[:2] != "__"]
    assert shown and all(getattr(namespace, name, None) is not None for name in shown)
    assert not [name for name in shown if name[0] == "_" or is_foreign(getattr(namespace, name))]


def is_foreign(value):
    """Whether a value is a module of another project, or one of its functions."""
    home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
    others = {"importlib", "typing", "torch", "os", "sys", *["numpy"] * inspect.ismodule(value)}
    return isinstance(home, str) and home.split(".")[0] in others

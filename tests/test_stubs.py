"""The generated type stubs say what the operator table says."""

import ast
import inspect
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from core import nd, stubs

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module", params=sorted(stubs.FACES))
def stub(request):
    return request.param, ast.parse(stubs.text(request.param))


def defined(tree):
    """Every name that a stub offers, with its function where it spells one out."""
    names = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names[node.name] = node
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name: None for alias in node.names}
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = None
    return names


def test_every_name_of_a_face_is_in_its_stub(stub):
    module, tree = stub
    assert not set(stubs.names(sys.modules[module])) - set(defined(tree))


def test_signatures_are_those_of_the_table(stub):
    module, tree = stub
    face = sys.modules[module]
    compared = 0
    for name, node in defined(tree).items():
        op = getattr(getattr(face, name, None), "operator", None)
        if op is None:
            continue
        given = [a.arg for a in node.args.args + node.args.kwonlyargs] + (
            [node.args.vararg.arg] if node.args.vararg else []
        )
        assert sorted(given) == sorted([*op.inputs, *op.attrs, "out", "name"]), name
        defaults = dict(zip(reversed([a.arg for a in node.args.args]), reversed(node.args.defaults)))
        defaults |= {a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None}
        for attribute, (_, default) in op.attrs.items():
            spelt = ast.literal_eval(defaults[attribute])
            assert spelt is ... or spelt == default, (name, attribute)
        assert ast.get_docstring(node) == " ".join(op.doc.split("\n\n")[0].split()), name
        compared += 1
    if module in ("core.ndarray", "core.symbol", "core.numpy_extension"):
        assert compared > 250


def test_a_stub_accepts_what_users_write():
    node = defined(ast.parse(stubs.text("core.ndarray")))["Convolution"]
    scope = {"Any": object, "NDArray": nd.NDArray}
    exec(ast.unparse(node), scope)
    call = inspect.signature(scope["Convolution"])
    call.bind(None, None, kernel=(3, 3), num_filter=8, pad=(1, 1), no_bias=True)
    assert call.parameters["no_bias"].default is False
    with pytest.raises(TypeError):
        call.bind(
            None, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None
        )


@pytest.mark.slow
def test_a_wheel_carries_the_stubs_and_the_checkout_does_not(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"core/ndarray/__init__.pyi", "core/symbol/__init__.pyi", "core/numpy/__init__.pyi"} <= names
    assert not list(ROOT.glob("core/**/*.pyi"))

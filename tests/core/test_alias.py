"""Programs that say `import mxnet` run on this project."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import torch

import core as mx

PROGRAM = """
import multiprocessing
import sys
import mxnet as mx

assert multiprocessing.pool  # sockeye counts on it that MXNet imports it
assert {"mxnet.ndarray", "mxnet.symbol", "mxnet.gluon"} <= set(sys.modules)  # where programs look for an array's library
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.data.vision import transforms
import mxnet.ndarray as F

net = nn.HybridSequential()
net.add(nn.Dense(3))
net.initialize(mx.init.One())
assert mx.nd is nd and F is nd and isinstance(net(nd.ones((2, 4))), mx.nd.NDArray)
print(sys.argv[1:], net(nd.ones((2, 4))).asnumpy().tolist())
"""
MISSING = "import mxnet\nfrom mxnet import sparkles\n"


def run(tmp_path, root, text, *arguments, **variables):
    script = tmp_path / "program.py"
    script.write_text(text)
    command = [sys.executable, "-m", "core.mxnet", str(script), *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, env={**os.environ, **variables})


def test_a_program_runs_unmodified(tmp_path, root):
    result = run(tmp_path, root, PROGRAM, "--flag", "1")
    assert result.stdout == "['--flag', '1'] [[4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]\n", result.stderr


def test_the_name_can_be_installed(tmp_path, root):
    """The second distribution holds the module that makes `python SCRIPT` find this project, and asks for the first one."""
    folder = root / "packaging" / "mxnet"
    about = tomllib.loads((folder / "pyproject.toml").read_text())
    module = (folder / about["tool"]["setuptools"]["package-dir"]["mxnet"]).resolve()
    first = tomllib.loads((root / "pyproject.toml").read_text())
    assert about["project"]["dependencies"] == [first["project"]["name"]]
    assert about["project"]["version"].startswith(mx.__version__)
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    path = os.pathsep.join([str(root), str(module.parent)])
    result = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert result.stdout == "[] [[4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]\n", result.stderr


LATE = """
import os
import mxnet as mx

try:
    mx.nd.random.normal(0, -1, (2, 2))
except mx.MXNetError:
    print(os.environ["MXNET_ENGINE_TYPE"])
"""


def test_errors_are_raised_by_the_call_and_the_environment_says_so(tmp_path, root, monkeypatch):
    monkeypatch.delenv("MXNET_ENGINE_TYPE", raising=False)
    result = run(tmp_path, root, LATE)
    assert result.stdout == "NaiveEngine\n", result.stderr


def test_programs_for_mxnet_2_begin_in_numpy_mode(tmp_path, root):
    script = tmp_path / "program.py"
    script.write_text(
        "import sys, mxnet as mx; mx.npx.reset_np(); print(mx.util.is_np_array(), mx.util.is_np_shape(), sys.argv[1:])"
    )
    command = [sys.executable, "-m", "core.mxnet", "--numpy", str(script), "--numpy"]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert result.stdout == "True True ['--numpy']\n", result.stderr


def test_a_suite_of_tests_runs_unmodified(tmp_path, root):
    (tmp_path / "test_theirs.py").write_text("def test(): import mxnet; assert mxnet.nd.ones(2).sum().asscalar() == 2")
    command = [sys.executable, "-m", "core.mxnet", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_theirs.py"]
    result = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert result.returncode == 0 and "1 passed" in result.stdout, result.stdout + result.stderr


def test_nothing_to_run_is_told(root):
    for arguments in ([], ["-m"]):
        result = subprocess.run(
            [sys.executable, "-m", "core.mxnet", *arguments], cwd=root, capture_output=True, text=True
        )
        assert result.returncode == 1 and result.stderr.startswith("usage: "), result.stderr


def test_a_module_given_for_a_script_is_told(root):
    result = subprocess.run(
        [sys.executable, "-m", "core.mxnet", "pytest", "tests"], cwd=root, capture_output=True, text=True
    )
    assert result.returncode == 1 and result.stderr.splitlines() == [
        "python -m core.mxnet: there is no script 'pytest'; a module is run by -m pytest"
    ]


def test_what_is_missing_is_named(tmp_path, root):
    result = run(tmp_path, root, MISSING)
    assert result.returncode == 1 and "sparkles" in result.stderr.splitlines()[-1]


ASK = """
import mxnet

for line in open("lines.txt"):
    try:
        exec(line)
    except Exception as error:
        print(error)
"""


def test_every_missing_name_says_where_it_is_missing(tmp_path, root):
    lines = {
        "mxnet.sparkle": "mxnet has no part 'sparkle'",
        "import mxnet.gluon.sparkle": "mxnet.gluon.sparkle is not part of this project",
        "from mxnet.sparkle import glitter": "mxnet.sparkle is not part of this project",
        "mxnet.nd.softmx": "nd has no function 'softmx'. Did you mean 'softmax'?",
        "mxnet.rtc.CudaModule": "Triton",
        "mxnet.operator.NumpyOps": "mx.operator has no 'NumpyOps'",
    }
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    answers = run(tmp_path, root, ASK.replace("lines.txt", str(tmp_path / "lines.txt"))).stdout.splitlines()
    assert len(answers) == len(lines)
    for answer, expected in zip(answers, lines.values()):
        assert expected in answer


PLACES = """
import mxnet as mx
from mxnet.contrib.amp import amp
from mxnet.gluon.block import SymbolBlock
from mxnet.gluon.data.dataloader import DataLoader, ForkingPickler, _as_in_context, _MultiWorkerIter
from mxnet.gluon.nn.basic_layers import BatchNorm, HybridSequential
from mxnet.gluon.nn.conv_layers import Conv2D, MaxPool2D
from mxnet.image.image import ImageIter, _get_interp_method, imresize
from mxnet.image import image
from mxnet.io import io
from mxnet.ndarray.ndarray import NDArray, ones
from mxnet.optimizer.optimizer import Adam, Optimizer
from mxnet.rnn.rnn_cell import LSTMCell
from mxnet.symbol.contrib import SyncBatchNorm
from mxnet.symbol.symbol import Symbol, Variable

assert amp.list_fp32_ops() and mx.contrib.amp.lists.symbol_fp16.FP16_FUNCS  # which a file beside the module holds
assert amp.init is mx.contrib.amp.init and io.NDArrayIter is mx.io.NDArrayIter
assert image.imresize is mx.image.imresize and Adam is mx.optimizer.Adam and ones is mx.nd.ones
assert isinstance(SyncBatchNorm(Variable("x"), key="k"), Symbol)
try:
    from mxnet.gluon.nn.basic_layers import Sparkle
except ImportError as error:
    print("Sparkle" in str(error))
"""


def test_modules_of_mxnet_hold_what_they_hold_there(tmp_path, root):
    result = run(tmp_path, root, PLACES)
    assert result.stdout == "True\n", result.stderr


def test_a_toolkit_of_the_program_comes_before_ours(tmp_path, root):
    text = "import gluoncv, gluonnlp\nprint(gluoncv.__doc__, hasattr(gluonnlp, 'Vocab'))"
    assert run(tmp_path, root, text).stdout.endswith(" True\n")
    other = tmp_path / "other" / "gluoncv"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("'theirs'")
    assert run(tmp_path, root, text, PYTHONPATH=str(other.parent)).stdout == "theirs True\n"


def test_modules_that_mxnet_imports_with_their_packages(tmp_path, root):
    program = (
        "import mxnet as mx\n"
        "assert mx.image.image.imread is mx.image.imread and mx.io.io.DataDesc is mx.io.DataDesc\n"
        "assert mx.symbol.symbol.Symbol is mx.sym.Symbol and mx.rnn.rnn_cell.LSTMCell is mx.rnn.LSTMCell\n"
    )
    assert run(tmp_path, root, program).stderr == ""


STARTER = """
import multiprocessing, subprocess, sys

assert "mxnet" not in sys.modules  # programs act before they import it


def work(queue):
    import mxnet as mx
    from mxnet.gluon import nn

    queue.put((float(mx.nd.ones(3).sum().asscalar()), nn.Dense.__name__))


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    print(queue.get(timeout=120))
    child.join()
    ask = "import mxnet, core, mxnet.gluon; from mxnet import nd; print(mxnet is core, nd.ones(2).asnumpy())"
    print(subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True).stdout, end="")
"""


def test_processes_that_a_program_starts_find_mxnet(tmp_path, root):
    result = run(tmp_path, root, STARTER)
    assert result.stdout == "(3.0, 'Dense')\nTrue [1. 1.]\n", result.stderr


OWN = {
    "core/__init__.py": "",
    "core/model.py": "import mxnet as mx\nfrom . import helper\nfrom core.helper import double\nimport core\n"
    "assert core.helper is helper\n\ndef get():\n    return double(mx.nd.ones((2,)))\n",
    "core/helper.py": "def double(x):\n    return x * 2\n",
    "core/plain.py": "",
    "gluon/block.py": "MINE = 1\n",
    "train.py": "{first}import mxnet as mx\nfrom core.model import get\nimport core.model, gluon.block as block\n"
    "from mxnet.gluon import nn\nimport mxnet.gluon.loss\n"
    "mx.metric.Accuracy()\nnet = nn.Dense(1, use_bias=False)\nnet.initialize(mx.init.One())\n"
    "print(get().asnumpy().tolist(), block.MINE, core.model.__file__, net(mx.nd.ones((1, 3))).asscalar())\n",
}


def write_own(folder, first=""):
    for name, text in OWN.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text.replace("{first}", first))
    return folder / "train.py", f"[2.0, 2.0] 1 {folder / 'core' / 'model.py'} 3.0\n"


def test_a_program_may_have_packages_core_and_gluon_of_its_own(tmp_path, root):
    """As upstream's neural collaborative filtering has."""
    script, expected = write_own(tmp_path)
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    by_name = {**plain, "PYTHONPATH": os.pathsep.join([str(root), str(root / "core" / "started")])}
    for command, folder, environment in (
        ([sys.executable, "-m", "core.mxnet", str(script)], root, plain),
        ([sys.executable, "-P", "-m", "core.mxnet", "train.py"], tmp_path, {**plain, "PYTHONPATH": str(root)}),
        ([sys.executable, "train.py"], tmp_path, by_name),
    ):
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert result.stdout == expected, result.stderr
    write_own(tmp_path, first="import core.plain\n")
    result = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, env=by_name, capture_output=True, text=True)
    assert result.stdout == expected, result.stderr
    write_own(tmp_path, first="import core.model\n")
    result = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, env=by_name, capture_output=True, text=True)
    assert "import mxnet before it" in result.stderr.splitlines()[-1]


@pytest.mark.slow
def test_such_a_program_runs_in_its_folder_from_an_installed_wheel(tmp_path, root):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path, root]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    for part in Path(torch.__file__).parents[1].iterdir():
        if not (packages / part.name).exists() and not part.name.startswith("__editable__"):
            (packages / part.name).symlink_to(part)
    script, expected = write_own(tmp_path)
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [tmp_path / "venv" / "bin" / "python", "-m", "core.mxnet", "train.py"]
    result = subprocess.run(command, cwd=tmp_path, env=plain, capture_output=True, text=True)
    assert result.stdout == expected, result.stderr


REMOVED = """
import math
import numpy as np
import mxnet as mx

print(np.int is int, np.float is float, np.object is object, np.dtype(np.bool) == bool, np.str is str)
print(np.fromstring(b"\\0\\0\\x80\\x3f", dtype="float32").tolist(), np.fromstring("1 2", sep=" ").tolist())
x = mx.nd.full((1, 1), 2.5).asnumpy()
print(int(x), float(x), "%d %.1f" % (x, x), math.sqrt(np.ones(1)), int(np.array(3)))
for wrong in (np.ones(2), np.array(["x"])):
    try:
        print(int(wrong))
    except (TypeError, ValueError) as error:
        print(type(error).__name__)
ragged = np.array([[1], [1, 2]])
print(ragged.dtype, ragged.shape, [len(row) for row in np.array([np.zeros(2), np.zeros(3)])], np.array([1, 2], "int8"))
rows = [(mx.nd.ones((1,)), mx.nd.ones((1,)) * 2, 3)] * 2  # as a program for transformers counts words
one, two, three = np.sum(rows, axis=0)
print(one.asscalar(), two.asscalar(), three)
print(np.Inf == np.inf, np.product([2, 3]), hasattr(np, "no_such_name"))
odd = np.array([4.0, 1.0, np.nan])
print(np.quantile(odd[:2], 0.4, interpolation="lower"), np.percentile(odd[:2], 40, interpolation="higher"),
      np.nanquantile(odd, 0.5, interpolation="midpoint"), np.nanpercentile(odd, 50))
print(np.msort([[2, 1], [0, 3]]).tolist(), np.asscalar(np.ones((1, 1))))
"""


def test_what_numpy_removed_is_restored_for_the_program_with_one_warning(tmp_path, root):
    """As upstream's train_mnist.py needs it."""
    result = run(tmp_path, root, REMOVED)
    assert result.stdout.splitlines() == [
        "True True True True True",
        "[1.0] [1.0, 2.0]",
        "2 2.5 2 2.5 1.0 3",
        "TypeError",
        "ValueError",
        "object (2,) [2, 3] [1 2]",
        "2.0 4.0 6",
        "True 6 False",
        "1.0 4.0 2.5 2.5",
        "[[0, 1], [2, 3]] 1.0",
    ], result.stderr
    assert result.stderr.count("Warning") == 1 and "np.int" in result.stderr

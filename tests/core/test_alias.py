"""Programs that say `import mxnet` run on this project."""

import subprocess
import sys

PROGRAM = """
import sys
import mxnet as mx
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


def run(tmp_path, root, text, *arguments):
    script = tmp_path / "program.py"
    script.write_text(text)
    command = [sys.executable, "-m", "core.mxnet", str(script), *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True)


def test_a_program_runs_unmodified(tmp_path, root):
    result = run(tmp_path, root, PROGRAM, "--flag", "1")
    assert result.stdout == "['--flag', '1'] [[4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]\n", result.stderr


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
        "mxnet.sparkle": "mxnet has no 'sparkle'",
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

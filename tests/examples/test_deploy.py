"""An exported network with published weights, outside of Python: the same five best classes as in MXNet 1.9.1.

The programs need the npm packages of examples/deploy (`npm install` there), or MXTEST_NODE_MODULES, a node_modules
folder.
"""

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


@pytest.fixture(scope="module")
def example(root):
    return root / "examples" / "deploy"


@pytest.fixture(scope="module")
def exported(example, weights, tmp_path_factory):
    """(folder that export.py's function made of the recorded inputs, the recorded best classes)."""
    from gluoncv.model_zoo import get_model

    spec = importlib.util.spec_from_file_location("deploy_export", example / "export.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    record = np.load(weights / "mobilenetv2_1.0_coral.expected.npz")
    net = get_model("mobilenetv2_1.0")
    net.load_parameters(str(weights / "mobilenetv2_1.0_coral.params"))
    folder = tmp_path_factory.mktemp("deploy")
    pictures = [picture[None] for picture in record["input"]]
    module.export(net, pictures, [str(k) for k in range(len(pictures))], [], folder)
    return folder, record["top5"][: len(pictures)], record["logits"][: len(pictures)]


@pytest.fixture(scope="module")
def programs(example, tmp_path_factory):
    """A folder with the programs beside the npm packages."""
    modules = Path(os.environ.get("MXTEST_NODE_MODULES") or example / "node_modules")
    missing = [name for name in ("onnxruntime-web", "nbb") if not (modules / name).is_dir()]
    if missing:
        pytest.skip(
            f"needs the npm packages {', '.join(missing)}: npm install in examples/deploy, or MXTEST_NODE_MODULES"
        )
    folder = tmp_path_factory.mktemp("programs")
    for name in ("package.json", "classify.mjs", "classify.cljs"):
        shutil.copy(example / name, folder)
    (folder / "node_modules").symlink_to(modules.resolve())
    return folder


def test_onnxruntime_gives_the_recorded_answers(exported):
    folder, top5, logits = exported
    about = json.loads((folder / "model.json").read_text())
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    for picture, best, expected in zip(about["pictures"], top5, logits, strict=True):
        x = np.fromfile(folder / picture["tensor"], "<f4").reshape(about["shape"])
        np.testing.assert_allclose(session.run(None, {about["input"]: x})[0][0], expected, rtol=1e-3, atol=1e-3)
        assert picture["top5"] == best.tolist()


@pytest.mark.node
@pytest.mark.parametrize(
    "command", [["classify.mjs"], ["node_modules/nbb/cli.js", "classify.cljs"]], ids=["node", "clojure"]
)
def test_programs_give_the_same_best_classes(exported, programs, command):
    folder, top5, _ = exported
    done = subprocess.run(["node", *command, str(folder)], capture_output=True, text=True, cwd=programs, timeout=300)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [a["top5"] for a in answers] == top5.tolist()
    assert all(1 >= a["probabilities"][0] >= a["probabilities"][-1] >= 0 for a in answers)


@pytest.mark.node
def test_programs_say_how_they_are_called(programs):
    done = subprocess.run(["node", "classify.mjs"], capture_output=True, text=True, cwd=programs, timeout=60)
    assert done.returncode == 2 and "usage: node classify.mjs FOLDER" in done.stderr

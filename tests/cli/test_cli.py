"""The command `gluon`: answers, JSON, exit codes."""

import csv
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

from core import nd
from core.extras import EXTRAS
from gluon_cli import programs
from gluon_cli.main import main, parser
from gluoncv.data.classes import names
from gluoncv.data.transforms.presets import ssd
from gluoncv.model_zoo import get_model, save_state_dict

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def answer(capsys, *arguments, code=0):
    """What a command prints with --json."""
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_wheel_installs_it(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["gluon"] == "gluon_cli.main:main"


def test_help_imports_nothing_heavy():
    code = "import sys; from gluon_cli.main import parser; parser().format_help(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "torch", "core", "gluon", "gluoncv", "gluonnlp"} & set(run.stdout.split())


def test_list(capsys):
    rows = answer(capsys, "list", "resnet50_v1?")
    assert {"name": "resnet50_v1b", "task": "classification"} in rows and all("resnet50" in r["name"] for r in rows)
    assert answer(capsys, "list", "--task", "depth")[0]["name"].startswith("monodepth2")
    assert {"bert_12_768_12", "gpt2_117m"} <= {row["name"] for row in answer(capsys, "list", "--task", "language")}
    assert main(["list", "resnet18_v1"]) == 0
    assert capsys.readouterr().out == "resnet18_v1  classification\n"
    assert "no task 'cooking'" in answer(capsys, "list", "--task", "cooking", code=1)["error"]


def test_info(capsys):
    facts = answer(capsys, "info", "resnet18_v1b")
    # torchvision names 11,689,512; 4,800 channels are normalised by a mean and a variance each
    assert facts["parameters"] == 11_689_512 + 2 * 4800 and facts["task"] == "classification"
    assert {"True", "torchvision/resnet18"} <= {name.partition(".")[0] for name in facts["pretrained"]}
    assert facts["names of"] == ["timm", "torchvision"]
    assert answer(capsys, "info", "shufflenet_v1")["names of"].startswith(
        "no other library: torchvision has the second"
    )
    assert answer(capsys, "info", "bert_12_768_12")["settings"]["units"] == 768
    assert answer(capsys, "info", "mobilenet1.0_int8")["task"] == "classification"
    assert "Did you mean 'resnet50_v1'" in answer(capsys, "info", "resnet50", code=1)["error"]


def test_predict_by_weights_of_ones_own(capsys, weights, data):
    """The network of Coral's file names what is in a picture."""
    picture = next((data / "imagenet_samples" / "images").glob("n04264628*"))
    file = str(weights / "mobilenetv2_1.0_coral.params")
    (row,) = answer(capsys, "predict", "mobilenetv2_1.0", str(picture), "--weights", file, "--top", "2")
    assert {c["name"] for c in row["classes"]} == {"typewriter keyboard", "space bar"}
    assert main(["predict", "mobilenetv2_1.0", str(picture), "--weights", file, "--top", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == str(picture)


def test_predict_names_classes_of_cifar_and_takes_the_whole_picture(capsys, tmp_path):
    net = get_model("cifar_resnet20_v1")
    net.initialize()
    net(nd.zeros((1, 3, 32, 32)))
    net.save_parameters(str(tmp_path / "net.params"))
    pixels = np.zeros((320, 320, 3), "uint8")
    pixels[:, :160] = 255
    Image.fromarray(pixels).save(tmp_path / "half.png")
    arguments = ["predict", "cifar_resnet20_v1", str(tmp_path / "half.png"), "--weights", str(tmp_path / "net.params")]
    (row,) = answer(capsys, *arguments, "--top", "10")
    assert {c["name"] for c in row["classes"]} == set(names("cifar10"))
    shown = get_model("cifar_resnet20_v1").preprocess(str(tmp_path / "half.png"))
    assert shown.shape == (1, 3, 32, 32)
    assert (shown[0, 0, :, 0] > 1).asnumpy().all() and (shown[0, 0, :, 31] < 0).asnumpy().all()


def test_predict_by_weights_of_the_hub(capsys, hub_server, tmp_path):
    net = get_model("resnet18_v1b")
    net.initialize()
    net(nd.zeros((1, 3, 32, 32)))
    save_state_dict(net, tmp_path / "model.safetensors", names="timm")
    Image.fromarray(np.zeros((64, 64, 3), "uint8")).save(tmp_path / "black.png")
    arguments = ["predict", "resnet18_v1b", str(tmp_path / "black.png"), "--weights", "hf://some/net", "--top", "3"]
    hub_server.files["some/net"] = {"model.safetensors": (tmp_path / "model.safetensors").read_bytes()}
    (row,) = answer(capsys, *arguments)
    assert len(row["classes"]) == 3
    hub_server.files.clear()
    arguments[4] = "hf://some/other"
    assert "some/other" in answer(capsys, *arguments, code=1)["error"]


def test_what_cannot_be_done_ends_with_one_line(capsys, tmp_path):
    assert main(["predict", "mobilenetv2_1.0", str(tmp_path / "no.jpg")]) == 1
    assert capsys.readouterr().err == f"gluon predict: there is no file {tmp_path / 'no.jpg'}\n"
    picture, other = tmp_path / "black.png", tmp_path / "other.params"
    Image.fromarray(np.zeros((8, 8, 3), "uint8")).save(picture)
    nd.save(str(other), {"weight": nd.ones((2,))})
    assert main(["predict", "mobilenetv2_1.0", str(picture), "--weights", str(other)]) == 1
    assert capsys.readouterr().err.startswith("gluon predict: parameter 'features_conv0_weight' is missing in file")
    with pytest.raises(SystemExit) as error:
        main(["predict", "mobilenetv2_1.0"])
    assert error.value.code == 2
    with pytest.raises(FileNotFoundError):
        main(["predict", "mobilenetv2_1.0", str(tmp_path / "no.jpg"), "--traceback"])
    assert "is a network for segmentation" in answer(
        capsys, "predict", "fcn_resnet50_voc", __file__, code=1
    )["error"]  # fmt: skip


def test_pictures_from_a_folder_to_onnx(capsys, tmp_path):
    numbers, data, out = np.random.RandomState(0), tmp_path / "data", tmp_path / "out"
    for name, level in (("dark", 20), ("light", 200)):
        (data / name).mkdir(parents=True)
        for k in range(8):
            Image.fromarray((numbers.randint(0, 40, (32, 32, 3)) + level).astype("uint8")).save(
                data / name / f"{k}.png"
            )
    result = answer(
        capsys, "train", "classify", "--data", str(data), "--model", "cifar_resnet20_v1", "--weights", "none",
        "--size", "16", "--epochs", "4", "--rate", "0.01", "--batch-size", "4", "--ema", "0.5",
        "--class-weights", "balanced", "--folder", str(out), "--quiet",
    )  # fmt: skip
    assert result["samples"] == 4 and Path(result["report"]).read_text().startswith("<!doctype html>")
    (row,) = answer(capsys, "predict", str(out), str(data / "dark" / "0.png"))
    assert {c["name"] for c in row["classes"]} == {"dark", "light"}
    assert answer(capsys, "info", str(out))["classes"] == ["dark", "light"]
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pair = answer(capsys, "export", str(out), "--output", str(tmp_path / "net"))["files"]
    (file,) = answer(capsys, "export", str(out), "--onnx", "--output", str(tmp_path / "net"))["files"]
    assert all(Path(path).is_file() for path in pair)  # an ONNX file beside them leaves them alone
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    assert session.run(None, {name: np.zeros((3, 3, 16, 16), "float32")})[0].shape == (3, 2)


def test_train_runs_the_programs_of_scripts(capsys, tmp_path, monkeypatch):
    """What it says goes to the standard error, figures to the standard output, the record into the user's folder."""
    monkeypatch.chdir(tmp_path)
    flags = (
        "--dataset rendered --network mobilenet0.25 --data-shape 48 --num-samples 2 --batch-size 2 --epochs 1 "
        "--no-pretrained-base --save-dir kept"
    ).split()
    found = answer(capsys, "train", "detect", *flags)
    record = json.loads((tmp_path / "logs" / "object_detection" / "ssd.json").read_text())
    assert found == {"task": "detect", "figures": record["final"]} and list(found["figures"]) == ["mAP"]
    assert record["command"].startswith("gluon train detect --dataset rendered")
    assert main(["train", "detect", *flags, "--resume"]) == 0
    shown = capsys.readouterr()
    assert shown.out.split() == ["mAP", str(found["figures"]["mAP"])] and "resumed after epoch 1" in shown.err
    assert "is missing" in answer(capsys, "train", "segment", "--dataset-root", "no", code=1)["error"]
    with pytest.raises(SystemExit) as error:
        main(["train", "detect", "--epochz", "1"])
    assert error.value.code == 2 and "gluon train detect: error" in capsys.readouterr().err


@pytest.mark.parametrize("task", programs.PROGRAMS)
def test_each_training_program_explains_itself_and_logs_where_it_is_told(capsys, task):
    with pytest.raises(SystemExit) as error:
        main(["train", task, "--help"])
    shown = capsys.readouterr().out
    assert error.value.code == 0 and f"usage: gluon train {task}" in shown and "--log-dir" in shown


def test_texts_from_a_table(capsys, tmp_path):
    with open(tmp_path / "t.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        rows.writerows([["red green blue", "colour"], ["one two three", "number"]] * 10)
    arguments = ["train", "classify", "--csv", str(tmp_path / "t.csv"), "--folder", str(tmp_path / "out"), "--quiet"]
    assert "goes with --text COLUMN and --label COLUMN" in answer(capsys, *arguments, code=1)["error"]
    result = answer(capsys, *arguments, "--text", "text", "--label", "label", "--epochs", "3", "--rate", "0.01")
    assert result["accuracy"] == 1
    (row,) = answer(capsys, "predict", str(tmp_path / "out"), "two three", "--top", "1")
    assert row["classes"][0]["name"] == "number"


def test_doctor(capsys, monkeypatch, tmp_path):
    rows = {row["check"]: row for row in answer(capsys, "doctor")}
    assert rows["core"]["state"] == rows["torch"]["state"] == "ok"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "file" / "below"))
    rows = {row["check"]: row for row in answer(capsys, "doctor", code=1)}
    assert rows["weights' folder"]["state"] == "wrong" and "MXNET_HOME" in rows["weights' folder"]["found"]


def test_a_program_that_is_missing_names_its_extra(monkeypatch, capsys):
    from gluon_cli import doctor

    found = doctor.version

    def version(name):
        if name in ("av", "onednn-cpu-gomp"):
            raise PackageNotFoundError
        return found(name)

    monkeypatch.setattr(doctor, "version", version)
    rows = {row["check"]: row for row in answer(capsys, "doctor")}
    for package, advice in (
        ("av", "for reading videos: pip install 'gluon-triton[video]'"),
        ("onednn-cpu-gomp", "for faster predictions on x86 processors: pip install 'gluon-triton[onednn]'"),
    ):
        assert rows[package] == {"check": package, "state": "missing", "found": advice}


def test_doctor_knows_every_extra(root, capsys):
    """`test` installs all of them: nothing of what the extras name is left out."""
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    by_extra = {extra: {re.match("[a-z_-]+", line)[0] for line in lines} for extra, lines in extras.items()}
    for extra in ("cv", "video", "bleu", "onnx", "openvino", "onnxruntime", "onednn", "plot", "auto", "hub"):
        assert by_extra[extra] <= set(EXTRAS), extra
    for package, (extra, _) in EXTRAS.items():
        assert package in by_extra[extra] or package == "sklearn", package  # whose distribution is scikit-learn
    assert {row["check"] for row in answer(capsys, "doctor")} >= set(EXTRAS)


def test_every_command_explains_itself(capsys):
    for name in ("list", "info", "predict", "train", "export", "doctor", "train classify"):
        with pytest.raises(SystemExit) as error:
            parser().parse_args([*name.split(), "--help"])
        assert error.value.code == 0
    assert "balanced" in capsys.readouterr().out


def test_version_and_help_of_all_commands(capsys):
    from gluon import __version__

    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"gluon {__version__}\n"
    for command in "list info predict detect segment classify-text generate train export convert bench doctor".split():
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])
        assert "--json" in capsys.readouterr().out


def black(folder, height=48, width=96):
    Image.fromarray(np.zeros((height, width, 3), "uint8")).save(folder / "black.png")
    return str(folder / "black.png")


def test_detect_gives_boxes_in_pixels_of_the_file(capsys, tmp_path):
    net = get_model("ssd_300_vgg16_atrous_voc", pretrained_base=False)
    net.initialize()
    net(nd.zeros((1, 3, 300, 300)))
    net.save_parameters(str(tmp_path / "ssd.params"))
    arguments = ["detect", "ssd_300_vgg16_atrous_voc", black(tmp_path), "--weights", str(tmp_path / "ssd.params")]
    (row,) = answer(capsys, *arguments, "--size", "300", "--threshold", "0.01", "--output", str(tmp_path / "shown"))
    assert row["things"] and all(thing["class"] in net.classes for thing in row["things"])
    boxes = net(ssd.load_test(str(tmp_path / "black.png"), short=300)[0])[2][0, 0].asnumpy()
    np.testing.assert_allclose(row["things"][0]["box"], boxes * 96 / 600, atol=0.1)
    assert Image.open(tmp_path / "shown" / "black.png").size == (600, 300)
    (row,) = answer(capsys, *arguments, "--size", "300", "--threshold", "1.1")
    assert row["things"] == []
    assert "network for classification" in answer(capsys, "detect", "resnet18_v1", black(tmp_path), code=1)["error"]


def test_segment_gives_parts_that_sum_to_one(capsys, tmp_path):
    net = get_model("fcn_resnet50_voc", pretrained_base=False)
    net.initialize()
    net(nd.zeros((1, 3, 480, 480)))
    net.save_parameters(str(tmp_path / "fcn.params"))
    weights = str(tmp_path / "fcn.params")
    arguments = ["segment", "fcn_resnet50_voc", black(tmp_path), "--weights", weights, "--output", str(tmp_path)]
    (row,) = answer(capsys, *arguments)
    assert sum(part["part"] for part in row["classes"]) == pytest.approx(1)
    assert Image.open(tmp_path / "black.png").size == (96, 48)


def test_convert_there_and_back(capsys, tmp_path):
    net = get_model("resnet18_v1b")
    net.initialize()
    x = nd.random.uniform(shape=(1, 3, 32, 32))
    wanted = net(x).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    there = [str(tmp_path / "net.params"), str(tmp_path / "timm.safetensors"), "--names", "timm"]
    assert answer(capsys, "convert", *there, "--network", "resnet18_v1b") == {"files": [there[1]]}
    back = [there[1], str(tmp_path / "again.params"), "--network", "resnet18_v1b"]
    answer(capsys, "convert", *back)
    again = get_model("resnet18_v1b", pretrained=back[1])
    np.testing.assert_array_equal(again(x).asnumpy(), wanted)
    assert "goes with --network" in answer(capsys, "convert", *there, code=1)["error"]


def test_bench(capsys):
    found = answer(capsys, "bench", "cifar_resnet20_v1", "--runs", "2", "--batch", "2")
    assert found["input"] == [2, 3, 32, 32] and 0 < found["fastest_ms"] <= found["median_ms"]
    assert "at least 1" in answer(capsys, "bench", "cifar_resnet20_v1", "--runs", "0", code=1)["error"]


def test_generate_refuses_what_writes_no_texts(capsys, tmp_path):
    assert "there is no folder" in answer(capsys, "generate", str(tmp_path / "none"), "Once", code=1)["error"]
    assert "--temperature" in answer(capsys, "generate", "gpt2_117m", "Once", "--temperature", "0", code=1)["error"]
    assert "no folder of a classifier" in answer(capsys, "classify-text", str(tmp_path), "Good", code=1)["error"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_commands_and_options(capsys, shell):
    text = answer(capsys, "completion", shell)["text"]
    assert "classify-text" in text and "threshold" in text


def test_completion_completes_in_bash(capsys):
    assert main(["completion", "bash"]) == 0
    program = capsys.readouterr().out + "COMP_WORDS=(gluon be); COMP_CWORD=1; _gluon; echo ${COMPREPLY[@]}\n"
    program += "COMP_WORDS=(gluon bench --ru); COMP_CWORD=2; _gluon; echo ${COMPREPLY[@]}\n"
    program += "COMP_WORDS=(gluon train detect-r); COMP_CWORD=2; _gluon; echo ${COMPREPLY[@]}\n"
    program += "COMP_WORDS=(gluon train classify --cl); COMP_CWORD=3; _gluon; echo ${COMPREPLY[@]}\n"
    result = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["bench", "--runs", "detect-rcnn", "--class-weights"]


def test_help_of_the_program_that_stands_for_mxnet():
    result = subprocess.run([sys.executable, "-m", "core.mxnet", "--help"], capture_output=True, text=True, check=True)
    assert "--numpy" in result.stdout and "usage: python -m core.mxnet" in result.stdout


def test_version_and_doctor_work_where_torch_is_not_installed(root, tmp_path):
    program = (
        "import sys\nsys.modules['torch'] = None\nimport importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
        "from gluon_cli.main import main\nsys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program]
    doctor = subprocess.run([*command, "doctor", "--json"], cwd=root, capture_output=True, text=True)
    assert doctor.returncode in (0, 1) and "python" in {row["check"] for row in json.loads(doctor.stdout)}
    version = subprocess.run([*command, "--version"], cwd=root, capture_output=True, text=True)
    assert version.stdout.startswith("gluon ") and version.returncode == 0, version.stderr

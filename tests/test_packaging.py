"""The whole and its parts as wheels: each is complete, holds what is its own, and asks for no more than it needs."""

import ast
import email
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest

import core
import gluon

PARTS = {"core": ("core", "gluon"), "cv": ("gluoncv",), "nlp": ("gluonnlp",)}
PROGRAMS = {
    "core": "import core as mx; print((mx.nd.ones((2, 3)) * 2).sum().asscalar())",
    "cv": """
import gluoncv, core as mx
net = gluoncv.model_zoo.get_model("cifar_resnet20_v1")
net.initialize()
print(net(mx.nd.zeros((1, 3, 32, 32))).shape)
""",
    "nlp": """
import gluonnlp
counter = gluonnlp.data.count_tokens("a b a c".split())
print(gluonnlp.Vocab(counter)[["a", "b", "c"]])
""",
}
SHOWN = {"core": "12.0", "cv": "(1, 10)", "nlp": "[4, 5, 6]"}
# Python without the finder of an editable install, which would give what is not in the wheels.
ALONE = "import sys; sys.meta_path = [f for f in sys.meta_path if '__editable__' not in getattr(f, '__module__', '')]\n"


def about(root, part=""):
    return tomllib.loads(
        (root / "packaging" / part / "pyproject.toml" if part else root / "pyproject.toml").read_text()
    )


def test_parts_are_of_the_same_version_and_need_what_the_whole_needs(root):
    whole = about(root)["project"]
    base, cv, nlp = (about(root, part)["project"] for part in PARTS)
    assert all(project["dynamic"] == ["version"] for project in (whole, base, cv, nlp))
    assert [*base["dependencies"], "sentencepiece"] == whole["dependencies"]
    extras = whole["optional-dependencies"]
    own = f"gluon-triton-core=={gluon.__version__}"
    assert {*cv["dependencies"]} | {*cv["optional-dependencies"]["coco"]} == {own, *extras["cv"]}
    assert all(cv["optional-dependencies"][name] == extras[name] for name in ("video", "auto"))
    assert nlp["dependencies"] == [own, "sentencepiece"]


def test_versions_agree():
    assert importlib.metadata.version("gluon-triton") == gluon.__version__
    assert core.__version__ == "1.9.1"


def test_building_takes_setuptools_alone(root):
    for part in ("", *PARTS):
        assert about(root, part)["build-system"]["requires"] == ["setuptools>=77"]
    tree = ast.parse((root / "packaging" / "wheels.py").read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert {name.split(".")[0] for name in imported} - sys.stdlib_module_names == {"setuptools"}


@pytest.fixture(scope="module")
def wheels(root, tmp_path_factory):
    """The wheels of the whole ("") and of each part, built in a copy of the checkout."""
    folder, copy = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("copy") / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0")[:-1]:
        if not name.startswith(("tests/", "logs/", "docs/")) and (root / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, copy / name, follow_symlinks=False)
    found = {}
    for part in ("", *PARTS):
        source = copy / "packaging" / part if part else copy
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w"]
        built = subprocess.run([*command, str(folder / part), str(source)], capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        (found[part],) = (folder / part).glob("*.whl")
    return found


def members(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def needed(wheel):
    """Names of the packages that are installed along with a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = email.message_from_bytes(archive.read(name)).get_all("Requires-Dist", [])
        assert any(name.endswith("/LICENSE") for name in archive.namelist())
    return {
        "".join(c if c.isalnum() or c in "-_" else " " for c in line).split()[0]
        for line in lines
        if "extra" not in line
    }


@pytest.mark.slow
def test_each_wheel_holds_its_packages_and_all_of_them_are_the_whole(wheels):
    parts = {part: members(wheels[part]) for part in PARTS}
    for part, packages in PARTS.items():
        assert {name.split("/")[0] for name in parts[part]} == set(packages)
    assert sum(map(len, parts.values())) == len(set().union(*parts.values()))
    command = {name for name in members(wheels[""]) if name.startswith(("gluon_cli/", "gluon_triton.pth"))}
    assert set().union(*parts.values()) == members(wheels[""]) - command and command
    assert any(name.endswith(".pyi") for name in parts["core"])


@pytest.mark.slow
def test_the_wheel_has_the_programs_that_its_command_runs(wheels, root, tmp_path):
    """In an empty folder, from the wheel alone."""
    listed = {
        f"gluon_cli/programs/{path.relative_to(root).as_posix()}"
        for path in (root / "scripts").rglob("*.py")
        if "benchmarks" not in path.parts
    }
    assert {name for name in members(wheels[""]) if name.startswith("gluon_cli/programs/")} == listed
    with zipfile.ZipFile(wheels[""]) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "empty").mkdir()
    program = "from gluon_cli.main import main; sys.exit(main(sys.argv[1:]))"
    flags = "train detect --dataset rendered --network mobilenet0.25 --data-shape 48 --num-samples 2 --batch-size 2"
    flags += " --epochs 1 --no-pretrained-base --json"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-c", ALONE + program, *flags.split()]
    result = subprocess.run(command, cwd=tmp_path / "empty", env=environment, capture_output=True, text=True)
    assert json.loads(result.stdout)["task"] == "detect", result.stderr
    assert {path.name for path in (tmp_path / "empty").iterdir()} == {"logs", "checkpoints"}
    assert json.loads((tmp_path / "empty/logs/object_detection/ssd.json").read_text())["commit"] is None


@pytest.mark.slow
def test_no_wheel_brings_what_only_another_needs(wheels):
    base = {"torch", "triton", "numpy", "tqdm", "pillow"}
    assert needed(wheels["core"]) == base and needed(wheels[""]) == {*base, "sentencepiece"}
    assert needed(wheels["cv"]) == {"gluon-triton-core", "matplotlib", "scipy"}
    assert needed(wheels["nlp"]) == {"gluon-triton-core", "sentencepiece"}
    assert all(f"-{gluon.__version__}-" in wheel.name for wheel in wheels.values())


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_a_part_works_where_the_others_are_not(part, wheels, tmp_path):
    used = ["core", part] if part != "core" else ["core"]
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path / "site")]
    subprocess.run([*command, *(str(wheels[name]) for name in used)], check=True, capture_output=True)
    absent = [package for name in PARTS if name not in used for package in PARTS[name]]
    text = f"{ALONE}import importlib.util\nassert not any(map(importlib.util.find_spec, {absent}))\n{PROGRAMS[part]}"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    result = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.stdout.strip() == SHOWN[part], result.stderr

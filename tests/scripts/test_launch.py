"""The launchers of several machines, with programs in the place of ssh, mpirun and srun that run their commands here."""

import os
import subprocess
import sys

import pytest

from scripts import launch

SCRIPTS = {
    "ssh": 'shift; exec sh -c "$1"',
    "mpirun": 'while [ "$1" != --host ]; do shift; done; shift 2; exec "$@"',
    "srun": 'while [ "${1#--n}" != "$1" ]; do shift; done; exec "$@"',
    "scontrol": "echo localhost",
}


@pytest.fixture
def machines(tmp_path, monkeypatch):
    for name, script in SCRIPTS.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    (tmp_path / "hosts").write_text("# ours\nlocalhost slots=2\n")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "localhost")
    return tmp_path


@pytest.mark.parametrize("launcher", ["ssh", "mpi", "slurm"])
def test_processes_are_started(launcher, machines, root):
    program = machines / "program.py"
    program.write_text(
        "import os, pathlib, sys\n"
        "name = pathlib.Path(sys.argv[1]) / ('rank' + os.environ['RANK'])\n"
        "name.write_text(os.environ['WORLD_SIZE'] + os.environ['LOCAL_RANK'] + sys.argv[2])\n"
    )
    command = [sys.executable, str(root / "scripts" / "launch.py"), "-n", "2", "-s", "1", "--launcher", launcher]
    command += ["--port", str(launch.free_port())]
    command += [] if launcher == "slurm" else ["-H", str(machines / "hosts")]
    result = subprocess.run([*command, str(program), str(machines), "a b"], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "no servers are started" in result.stderr
    assert [(machines / f"rank{k}").read_text() for k in range(2)] == ["20a b", "21a b"]


def test_commands_of_two_machines(tmp_path):
    (tmp_path / "hosts").write_text("one\ntwo\n")
    args = launch.parse_args(["-n", "8", "--launcher", "ssh", "-H", str(tmp_path / "hosts"), "train.py"])
    first, second = launch.remote_commands(args, {})
    assert first[:2] == ["ssh", "one"] and second[:2] == ["ssh", "two"]
    for k, (*_, line) in enumerate((first, second)):
        assert f"--nnodes=2 --nproc-per-node=4 --node-rank={k} --master-addr=one --master-port=29500 train.py" in line


@pytest.mark.parametrize(
    ("given", "text"),
    [(["-n", "2", "--launcher", "mpi"], "needs machines"), (["-n", "3", "--launcher", "ssh"], "3 processes")],
)
def test_machines_that_do_not_fit(given, text, tmp_path):
    (tmp_path / "hosts").write_text("one\ntwo\n")
    hosts = ["-H", str(tmp_path / "hosts")] if "ssh" in given else []
    with pytest.raises(SystemExit, match=text):
        launch.remote_commands(launch.parse_args([*given, *hosts, "train.py"]), {})

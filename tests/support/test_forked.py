"""Programs that are forked do what programs do that an interpreter begins with."""

import os
import signal
import subprocess
import sys

import pytest

from tests.support import forked

PROGRAM = """
import borrowed, json, os, sys
facts = [__name__, sys.argv, os.getcwd(), os.environ.get("GIVEN"), sys.path[0], sys.modules["__main__"].__file__]
print(json.dumps(facts))
sys.exit(sys.stdin.read() + "said")
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


@pytest.mark.parametrize("module", [False, True])
def test_a_program_sees_what_it_is_given(module, script):
    (script.parent / "lent").mkdir()
    (script.parent / "lent" / "borrowed.py").write_text("")
    facts = {"cwd": script.parent, "env": {**os.environ, "GIVEN": "there", "PYTHONPATH": str(script.parent / "lent")}}
    command = [sys.executable, *(["-m", "program"] if module else [script]), "a b", "--flag"]
    wanted = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **facts)
    found = forked.run(command, **facts)
    assert (found.returncode, found.stdout, found.stderr) == (1, wanted.stdout, wanted.stderr)
    assert '"a b", "--flag"' in found.stdout and '"there"' in found.stdout and found.stderr == "said\n"


def test_pipes_and_an_end_from_outside(tmp_path):
    (tmp_path / "echo.py").write_text("import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    one, other = (forked.Program([sys.executable, tmp_path / "echo.py"], **pipes) for _ in range(2))
    for program in (one, other):
        program.stdin.write("word\n")
        program.stdin.flush()
        assert program.stdout.readline() == "WORD\n" and program.poll() is None
    one.stdin.close()
    assert one.wait(timeout=60) == 0 and one.stdout.read() == ""
    with pytest.raises(subprocess.TimeoutExpired):
        other.wait(timeout=0.01)
    other.kill()
    assert other.wait(timeout=60) == other.poll() == -signal.SIGKILL


def test_errors_are_printed_and_random_numbers_are_its_own(tmp_path):
    (tmp_path / "program.py").write_text("import random, numpy\nraise ValueError(random.random(), numpy.random.rand())")
    one, other = (forked.run([sys.executable, tmp_path / "program.py"]) for _ in range(2))
    assert one.returncode == other.returncode == 1 and "ValueError" in one.stderr
    first, second = (result.stderr.splitlines()[-1].split(", ") for result in (one, other))
    assert first[0] != second[0] and first[1] != second[1]


def test_threads_are_those_of_its_environment(tmp_path):
    (tmp_path / "program.py").write_text("import torch\nprint(torch.get_num_threads())")
    command = [sys.executable, tmp_path / "program.py"]
    found = [forked.run(command, env={**os.environ, "OMP_NUM_THREADS": count}).stdout for count in ("1", "2", "1")]
    assert found == ["1\n", "2\n", "1\n"]

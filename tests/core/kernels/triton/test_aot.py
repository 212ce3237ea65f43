"""Every tuned configuration compiles ahead of time: no spills, shared memory within the limit, the instructions of
tensor cores and of copies that are expected.

The compiler runs in another process, for this one interprets. One case of every kernel module is compiled for sm_90; `slow`
compiles all of them, for sm_80, sm_100 and gfx942 as well. Some products are compiled for AMD each time.
"""

import json
import os
import re
import subprocess
import sys

import pytest


def test_tuned_configurations_compile(root):
    check(root, "--target", "cuda:90", "--at-most", "1")


def test_products_compile_for_amd(root):
    """For its matrix cores, without spills."""
    modules = ["attention", "linear_loss", "matmul"]
    rows = check(root, "--target", "hip:gfx942", "--at-most", "1", "--module", *modules)
    assert [(row["module"], row["tensor_core"], row["spills"]) for row in rows] == [(m, "mfma", 0) for m in modules]


@pytest.mark.slow
def test_tuned_configurations_compile_everywhere(root):
    check(root, "--target", "cuda:80", "cuda:90", "cuda:100", "hip:gfx942")


def test_a_killed_run_goes_on(root, tmp_path):
    kept = tmp_path / "kept"
    first = run(root, "--module", "tiles", "--kept", str(kept)).stdout
    kept.write_text(kept.read_text() + '\n{"of": "0", "regis')
    before = kept.read_text()
    assert run(root, "--module", "tiles", "--kept", str(kept)).stdout == first and len(first.splitlines()) == 3
    assert kept.read_text() == before


def check(root, *arguments):
    result = run(root, *arguments)
    rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert rows, result.stderr[-2000:]
    wrong = [
        f"{row['target']} {row['module']}: {row['case']}: {'; '.join(row['wrong'])}" for row in rows if row["wrong"]
    ]
    assert not wrong, "\n".join(wrong)
    assert result.returncode == 0, result.stderr[-2000:]
    return rows


def run(root, *arguments):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    script = root / "scripts/benchmarks/kernel_resources.py"
    return subprocess.run(
        [sys.executable, script, "--json", *arguments], capture_output=True, text=True, env=environment, cwd=root
    )


def assembly(root, module, form, wanted, target) -> str:
    """What Triton makes, in this form, of the first case of a module for which `wanted` holds."""
    program = (
        f"import sys, triton; from core.kernels.triton import {module}, aot, targets; compile = triton.compile\n"
        f"def shown(*args, **options):\n    made = compile(*args, **options); sys.stderr.write(made.asm['{form}']); return made\n"
        f"aot.triton.compile = shown; target = targets.TARGETS['{target}']\n"
        f"aot.compile_case(next(case for case in {module}.AOT if {wanted}), target)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root, check=True).stderr


def test_attention_does_not_wait_for_its_second_product(root):
    """On Hopper p v of one block is under way during the softmax of the next: each loop hands it on unfinished."""
    shown = assembly(root, "attention", "ttgir", "case.constexprs.get('DESCRIBED')", "cuda:90")
    products = re.findall(r"(%\w+) = ttng\.warp_group_dot ", shown)
    ends = [set(re.findall(r"%\w+(?![\w#])", line.partition(":")[0])) for line in re.findall(r"scf\.yield (.*)", shown)]
    assert len(products) == 6 and [len(end.intersection(products)) for end in ends] == [1, 1]


def test_programs_of_amd_tell_others_of_finished_stores_alone(root):
    """A barrier does not wait there for what waves store."""
    shown = assembly(root, "_lstm", "amdgcn", "case.meant_for(target)", "hip:gfx942")
    before = shown.rpartition("buffer_wbl2")[0]
    waits = before.rpartition("ASMSTART")[2]
    assert "s_waitcnt vmcnt(0)" in waits and "s_barrier" in waits and "global_store" not in waits

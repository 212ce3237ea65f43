"""Docstrings of what users call: they are there, and their examples print what they say."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import core as mx
from core import documentation
from core.ops.registry import TABLE
from tests.docs import examples, public

# What is reached; the bars only rise.
MEDIAN_WORDS = 60
SHARE_WITH_EXAMPLE = 0.97


def test_median_of_words():
    assert public.median(public.documented().values()) >= MEDIAN_WORDS, public.table().splitlines()[-1]


def test_they_speak_the_words_of_the_field(root):
    """Words that the code once had of its own, for barriers, proxies, donated buffers, output gradients, kernel modules."""
    own = r"\b(twins?|vacated?|take_over|head gradients?|hangs? on|somebody|the long way|put aside|kernel rooms?)\b"
    pages = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "docs" / "tutorials").glob("*.py")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in pages} | public.documented()
    assert not {name: found for name, text in texts.items() if (found := re.findall(own, text))}
    assert "| room |" not in texts["results.md"]


def test_share_with_an_example():
    assert public.share(public.documented().values()) >= SHARE_WITH_EXAMPLE, public.table().splitlines()[-1]


@pytest.mark.parametrize("namespace", public.NAMESPACES)
def test_examples_print_what_they_say(namespace):
    found = {n: d for n, d in public.documented().items() if n.rpartition(".")[0] == namespace}
    said = [examples.failures(name, text) for name, text in found.items() if public.has_example(text)]
    assert not any(said), "\n".join(filter(None, said))


def test_a_wrong_example_is_found():
    assert examples.failures("f", ">>> nd.array([1, 2]) * 2\n[2. 4.]\n<NDArray 2 @cpu(0)>") == ""
    assert "Expected" in examples.failures("f", ">>> nd.array([1, 2]) * 2\n[2. 5.]\n<NDArray 2 @cpu(0)>")
    assert "Expected" in examples.failures("f", ">>> nd.array([1, 2]).shape\n(3,)")
    assert "ZeroDivisionError" in examples.failures("f", ">>> 1 / 0\n1")


def test_texts_speak_of_what_records_have():
    wrong = []
    for name, section in documentation.sections().items():
        op = TABLE.get(name)
        if op is not None:
            wrong += [f"{name}: {p}" for p in section.parameters if p not in (*op.inputs, *op.attrs)]
        elif "*" not in name:
            function = mx
            for part in name.split("."):
                function = getattr(function, part)
            given = inspect.signature(function).parameters
            wrong += [f"{name}: {p}" for p in section.parameters if p not in given]
    assert not wrong


def test_records_are_rendered():
    text = mx.nd.softmax.__doc__
    assert text.startswith("``exp(x_i / temperature)")
    assert "axis : int, default -1" in text and "length : array, with use_length=True alone" in text
    assert mx.sym.softmax.__doc__ == mx.npx.softmax.__doc__ == text
    assert "weight : array, optional" not in mx.nd.FullyConnected.__doc__
    assert "moving_mean : array, written to" in mx.nd.BatchNorm.__doc__
    assert "one of 'indices', " not in mx.nd.relu.__doc__ and "one of 'value'" in mx.nd.topk.__doc__


def test_arguments_of_classes_are_spelled_out():
    text = mx.optimizer.Adam.__doc__
    assert "beta1 : default 0.9" in text and "use_fused_step : keyword only, default None" in text
    assert "clip_gradient : keyword only, default None\n    rescaled gradients are clipped to" in text
    assert text.index("Parameters\n") < text.index("Examples\n") < text.index(">>> ")


def test_docstrings_of_users_classes_stay_as_they_are():
    class Mine(mx.metric.Accuracy):
        """Mine."""

    class Bare(mx.metric.Accuracy):
        pass

    assert Mine.__doc__ == "Mine." and Bare.__doc__ is None


def test_importing_reads_no_text():
    asked = "import core, gluon; from core import documentation; print(documentation.sections.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout == "0\n"

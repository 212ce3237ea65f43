"""What notebooks show: HTML of arrays, networks, parameters, data sets and results, also in a real notebook."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from core import nd
from core import np as mxnp
from core.html import curves
from gluon import nn
from gluon.data import ArrayDataset, SimpleDataset
from gluon.finetune.classifier import Evaluation


def parsed(thing):
    """The HTML of a thing, which is well-formed."""
    return ElementTree.fromstring(f"<div>{thing._repr_html_()}</div>".replace("<br>", "<br/>").replace(" open>", ">"))


def text(tree):
    return " ".join(" ".join(tree.itertext()).split())


def network():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.Dense(2))
    net.initialize()
    net(nd.zeros((1, 3, 8, 8)))
    return net


def test_an_array_shows_values_facts_and_a_histogram():
    tree = parsed(nd.array([[0, 1, 2], [3, 4, 9]]))
    assert "NDArray (2, 3) float32 @cpu(0)" in text(tree) and "0 to 9, mean 3.167" in text(tree)
    bars = tree.findall(".//rect")
    assert len(bars) == 24 and [float(b.get("height")) > 0 for b in bars].count(True) == 6
    assert "1 not finite" in text(parsed(nd.array([1, 2, np.nan])))
    assert "ndarray () float32" in text(parsed(mxnp.array(3)))
    assert "(0, 2)" in text(parsed(mxnp.zeros((0, 2))))
    assert "(1000, 1000)" in text(parsed(nd.zeros((1000, 1000))))


def test_a_network_is_a_tree_with_shapes_and_counts():
    tree = parsed(network())
    assert text(tree.find(".//summary")) == "HybridSequential 402 numbers"
    assert len(tree.findall(".//details")) == 3
    assert "weight (4, 3, 3, 3) float32" in text(tree) and "0: Conv2D(3 -> 4" in text(tree)


def test_parameters_print_their_types_by_name():
    parameters = network().collect_params()
    assert "dtype=float32)" in repr(parameters) and "class" not in repr(parameters)
    assert len(parsed(parameters).findall(".//tr")) == 5


def test_data_sets_and_results():
    data = ArrayDataset(nd.zeros((5, 2)), nd.arange(5))
    assert "ArrayDataset of 5 samples" in text(parsed(data)) and "(2,) float32" in text(parsed(data))
    assert "SimpleDataset of 0 samples" in text(parsed(SimpleDataset([])))
    result = Evaluation(("cat", "<dog>"), np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]))
    assert "66.7% of 3 samples right" in text(parsed(result)) and "dog> 2 50.0%" in text(parsed(result))


def test_curves_go_from_the_least_to_the_greatest_value():
    tree = ElementTree.fromstring(curves({"loss": [3, 2, 1], "accuracy": [0.5, 0.5, 0.5]}).replace("<br>", "<br/>"))
    first, second = tree.findall(".//polyline")
    assert first.get("points") == "0.0,5.0 150.0,50.0 300.0,95.0"
    assert second.get("points") == "0.0,95.0 150.0,95.0 300.0,95.0"


def test_a_real_notebook_shows_them(root, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install nbclient ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install nbclient ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(root))
    cells = (
        "import core as mx\nfrom core import nd\nfrom gluon import nn\nnet = nn.Dense(2, in_units=7)\nnet.initialize()",
        "nd.arange(6).reshape((2, 3))",
        "net",
        "net.collect_params()",
        "def mine(x):\n    return net(x)\nmine(nd.ones((2, 5)))",
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3", allow_errors=True).execute(cwd=str(tmp_path))
    _, array, net, parameters, error = (cell["outputs"] for cell in book["cells"])
    assert "histogram" in array[0]["data"]["text/html"]
    assert "Dense(7 -&gt; 2, linear)" in net[0]["data"]["text/html"]
    assert "dense0_weight" in parameters[0]["data"]["text/html"]
    (failed,) = (output for output in error if output["output_type"] == "error")
    shown = "\n".join(failed["traceback"])
    assert "block.py" not in shown and "mine" in shown and "data of shape (2, 5) needs weight" in shown

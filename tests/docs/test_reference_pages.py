"""The API reference says of operators what their records say, and docstrings survive being set as pages."""

import re

import pytest

from core.ops.registry import TABLE
from docs.extensions import api_reference
from docs.extensions.docstrings import prose, to_rst


@pytest.fixture(scope="module")
def pages():
    return api_reference.pages_of_reference()


def test_every_operator_that_users_can_call_has_one_entry(pages):
    families = "\n".join(text for name, text in pages.items() if name.startswith("operators_"))
    for name in api_reference.operator_names():
        assert families.count(f".. _operator-{name}:\n") == 1, name


def test_an_entry_shows_types_defaults_and_names():
    names = api_reference.operator_names()["Convolution"]
    assert names[0] == "mx.nd.Convolution" and "mx.sym.Convolution" in names
    text = "\n".join(api_reference.entry(TABLE["Convolution"], names))
    assert re.search(r"\* - ``num_group``\n +- ``int``\n +- ``1``\n", text)
    assert re.search(r"\* - ``kernel``\n +- ``int \| tuple\[int, \.\.\.\]``\n +- required\n", text)
    assert ":Inputs: ``data``, ``weight``, ``bias`` (optional); ``bias`` under ``no_bias=False`` alone" in text
    assert "<default>" not in text


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("relu", ("Storage", "csr and row_sparse stay as they are")),
        ("sgd_update", ("Storage", "updates only the rows that a row_sparse gradient has")),
        ("argmax", ("Gradient", "none")),
        ("dot", ("Gradient", "yes")),
        ("_random_uniform", ("Random", "yes, repeatable with ``mx.random.seed``")),
    ],
)
def test_facts_of_a_record(name, fact):
    assert fact in api_reference.facts(TABLE[name], [])


def test_formulas_of_pointwise_operators_are_shown():
    assert api_reference.formula(TABLE["square"]) == "data * data"
    assert api_reference.formula(TABLE["silu"]) == "data * sigmoid(data)"
    assert api_reference.formula(TABLE["Convolution"]) == ""


def test_networks_by_name_are_a_list_and_classes_are_entries(pages):
    page = pages["namespace_gluoncv_model_zoo"]
    assert ".. autoclass:: gluoncv.model_zoo.SSD\n" in page
    assert ".. autofunction:: gluoncv.model_zoo.get_model\n" in page


@pytest.mark.parametrize(
    ("text", "set_as"),
    [
        ("(N, *space) | 0", r"(N, \*space) \| 0"),
        ("`x`^2 of `a + b`", r":py:obj:`x`\ ^2 of ``a + b``"),
        ("weight_ is", r"weight\_ is"),
        ("a::b", r"a:\ :b"),
        ("``x * y``", "``x * y``"),
    ],
)
def test_prose_is_not_taken_for_markup(text, set_as):
    assert prose(text) == set_as


def test_blocks_keep_what_they_are():
    lines = ["Two parts:", "- one `x`", "  goes on", "- two", "", "    kept * as | is", "", "Then:", ">>> 1 + 1", "2"]
    assert to_rst(lines) == [
        "Two parts:", "", "- one :py:obj:`x` goes on", "- two", "", "::", "", "       kept * as | is", "",
        "Then:", "", ">>> 1 + 1", "2", "",
    ]  # fmt: skip

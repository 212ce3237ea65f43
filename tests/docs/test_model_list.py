"""The list of networks has every network of the registries, with what these and the logs say."""

import pytest

from docs.extensions import model_list
from gluoncv.model_zoo import get_model_list
from gluonnlp.model import registry


@pytest.fixture(scope="module")
def rows():
    return {row["network"]: row for row in model_list.rows()}


def test_every_network_is_listed(rows):
    language = {name for family in registry.FAMILIES for name in family.CONFIGURATIONS}
    assert set(rows) == {*get_model_list(), *language}


def test_sizes_are_of_the_networks_that_there_are():
    assert set(model_list.sizes_of_networks()) == set(get_model_list())


# Figures that are not ours: torchvision's and the papers' counts of parameters, with the running statistics that
# batch normalisations keep (two numbers for each channel).
@pytest.mark.parametrize(("name", "parameters"), [("alexnet", 61_100_840), ("vgg16", 138_357_544)])
def test_sizes_agree_with_published_ones(rows, name, parameters):
    assert int(rows[name]["parameters"]) == parameters


@pytest.mark.parametrize("name", ["cifar_resnet20_v1", "mobilenet0.25", "squeezenet1.1"])
def test_sizes_are_counted_as_written(rows, name):
    assert model_list.count_parameters(name) == int(rows[name]["parameters"])


def test_what_is_known_of_a_network_is_in_its_row(rows):
    row = rows["mobilenet0.25"]
    assert (row["task"], row["input"], row["published top-1 (%)"]) == ("classification", "224", "52.91")
    assert float(row["pictures/s"]) > 0 and row["weights"].startswith("MXNet")
    assert rows["ssd_512_resnet50_v1_coco"]["task"] == "detection"


def test_the_table_marks_what_is_sorted_as_numbers():
    text = model_list.table()
    assert '<td class="number" data-value="61100840">61,100,840</td>' in text
    assert text.count("<tr>") == 1 + len(model_list.rows())

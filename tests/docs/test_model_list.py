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


def test_sizes_are_of_the_networks_that_there_are(rows):
    assert set(model_list.sizes_of_networks()) == set(rows)
    assert [n for n, row in rows.items() if not row["parameters"]] == ["custom_faster_rcnn_fpn", "custom_mask_rcnn_fpn"]


# Figures that are not ours: torchvision's and the papers' counts of parameters, with the running statistics that
# batch normalisations keep (two numbers for each channel).
@pytest.mark.parametrize(("name", "parameters"), [("alexnet", 61_100_840), ("vgg16", 138_357_544)])
def test_sizes_agree_with_published_ones(rows, name, parameters):
    assert int(rows[name]["parameters"]) == parameters


# transformers' counts of BertForPreTraining and of the small GPT-2
@pytest.mark.parametrize(
    ("name", "words", "parameters"), [("bert_12_768_12", 30522, 110_106_428), ("gpt2_117m", 50257, 124_439_808)]
)
def test_sizes_of_networks_for_words_agree_with_published_ones(rows, name, words, parameters):
    fixed, each = model_list.count_of_language(name)
    assert fixed + each * words == parameters
    assert rows[name]["parameters"] == f"{fixed:,} + {each} a word"
    assert f'data-value="{fixed}"' in model_list.table()


@pytest.mark.parametrize(
    "name", ["cifar_resnet20_v1", "mobilenet0.25", "squeezenet1.1", "yolo3_mobilenet0.25_custom", "vgg16_ucf101_int8"]
)
def test_sizes_are_counted_as_written(rows, name):
    assert model_list.count_parameters(name) == int(rows[name]["parameters"])


def test_what_is_known_of_a_network_is_in_its_row(rows):
    row = rows["mobilenet0.25"]
    assert (row["task"], row["input"], row["published score (%)"]) == ("classification", "224", "52.91 top-1")
    assert float(row["pictures/s"]) > 0 and row["weights"].startswith("MXNet")
    assert rows["ssd_512_resnet50_v1_coco"]["task"] == "detection"
    assert rows["ssd_512_resnet50_v1_coco"]["published score (%)"] == "30.6 box AP"


def test_published_scores_are_of_networks_of_the_list(rows):
    scored = {name for name, row in rows.items() if row["published score (%)"]}
    assert set(model_list.published_scores()) == scored


def test_the_table_marks_what_is_sorted_as_numbers():
    text = model_list.table()
    assert '<td class="number" data-value="61100840">61,100,840</td>' in text
    assert text.count("<tr>") == 1 + len(model_list.rows())

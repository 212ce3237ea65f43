"""Special tokens and numbers that several modules agree on."""

from __future__ import annotations

import numbers

UNK_TOKEN = "<unk>"
BOS_TOKEN = "<bos>"
EOS_TOKEN = "<eos>"
PAD_TOKEN = "<pad>"

UNK_IDX = 0  # where a vocabulary without other wishes keeps its unknown token

LARGE_POSITIVE_FLOAT = 1e18
LARGE_NEGATIVE_FLOAT = -LARGE_POSITIVE_FLOAT

INT_TYPES = (numbers.Integral,)

S3_PREFIX = "s3://"

GOOGLEANALOGY_CATEGORIES = [
    "capital-common-countries",
    "capital-world",
    "currency",
    "city-in-state",
    "family",
    "gram1-adjective-to-adverb",
    "gram2-opposite",
    "gram3-comparative",
    "gram4-superlative",
    "gram5-present-participle",
    "gram6-nationality-adjective",
    "gram7-past-tense",
    "gram8-plural",
    "gram9-plural-verbs",
]

BATS_CATEGORIES = {
    "I01": "[noun - plural_reg]",
    "I02": "[noun - plural_irreg]",
    "I03": "[adj - comparative]",
    "I04": "[adj - superlative]",
    "I05": "[verb_inf - 3pSg]",
    "I06": "[verb_inf - Ving]",
    "I07": "[verb_inf - Ved]",
    "I08": "[verb_Ving - 3pSg]",
    "I09": "[verb_Ving - Ved]",
    "I10": "[verb_3pSg - Ved]",
    "D01": "[noun+less_reg]",
    "D02": "[un+adj_reg]",
    "D03": "[adj+ly_reg]",
    "D04": "[over+adj_reg]",
    "D05": "[adj+ness_reg]",
    "D06": "[re+verb_reg]",
    "D07": "[verb+able_reg]",
    "D08": "[verb+er_irreg]",
    "D09": "[verb+tion_irreg]",
    "D10": "[verb+ment_irreg]",
    "E01": "[country - capital]",
    "E02": "[country - language]",
    "E03": "[UK_city - county]",
    "E04": "[name - nationality]",
    "E05": "[name - occupation]",
    "E06": "[animal - young]",
    "E07": "[animal - sound]",
    "E08": "[animal - shelter]",
    "E09": "[things - color]",
    "E10": "[male - female]",
    "L01": "[hypernyms - animals]",
    "L02": "[hypernyms - misc]",
    "L03": "[hyponyms - misc]",
    "L04": "[meronyms - substance]",
    "L05": "[meronyms - member]",
    "L06": "[meronyms - part]",
    "L07": "[synonyms - intensity]",
    "L08": "[synonyms - exact]",
    "L09": "[antonyms - gradable]",
    "L10": "[antonyms - binary]",
}

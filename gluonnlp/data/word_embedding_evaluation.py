"""Word pairs with a similarity, and word analogies, to judge word vectors by.

`faruqui` names below are those of the collection https://github.com/mfaruqui/eval-word-vectors
(Faruqui and Dyer, 2014), whose files, two words and a score per line, are read as well.
"""

from __future__ import annotations

from gluon.data import SimpleDataset

from .. import _constants as C
from ..published import dataset_parts, table
from .dataset import CorpusDataset
from .hosted import Hosted
from .registry import register

base_datasets = ["WordSimilarityEvaluationDataset", "WordAnalogyEvaluationDataset"]
word_similarity_datasets = [
    "WordSim353",
    "MEN",
    "RadinskyMTurk",
    "RareWords",
    "SimLex999",
    "SimVerb3500",
    "SemEval17Task2",
    "BakerVerb143",
    "YangPowersVerb130",
]
word_analogy_datasets = ["GoogleAnalogyTestSet", "BiggerAnalogyTestSet"]
__all__ = base_datasets + word_similarity_datasets + word_analogy_datasets


class WordSimilarityEvaluationDataset(Hosted, SimpleDataset):
    """Lists of two words and a score between `min` and `max`.

    >>> issubclass(gluonnlp.data.SimLex999, gluonnlp.data.WordSimilarityEvaluationDataset), gluonnlp.data.SimLex999.min, gluonnlp.data.SimLex999.max
    (True, 0, 10)
    """

    min: float
    max: float

    def __init__(self, root=None):
        super().__init__([[first, second, float(score)] for first, second, score in self._rows(root)])

    def _rows(self, root):
        """Two words and a score each."""
        raise NotImplementedError

    def _table(self, root, part, columns=(0, 1, 2), faruqui=None, separator=None):
        """The chosen columns of a file with one row per line."""
        released = self._original(root, faruqui) if faruqui else None
        path, columns = (released[0], (0, 1, 2)) if released else (self._find(part, root), columns)
        rows = CorpusDataset(path, tokenizer=None if released else (lambda line: line.split(separator)))
        return [[(row.split() if released else row)[c] for c in columns] for row in rows]


class WordAnalogyEvaluationDataset(Hosted, SimpleDataset):
    """Lists of four words a, b, c, d with a : b = c : d."""

    def __init__(self, root=None):
        super().__init__(self._rows(root))

    def _rows(self, root):
        """Four words each."""
        raise NotImplementedError


@register(segment=["all", "similarity", "relatedness"])
class WordSim353(WordSimilarityEvaluationDataset):
    """WordSim-353 (Finkelstein et al., 2002), split into similarity and relatedness by Agirre et al. (2009).

    >>> gluonnlp.data.list_datasets("WordSim353")
    {'segment': ['all', 'similarity', 'relatedness']}
    """

    folder = "wordsim353"
    min, max = 0, 10

    def __init__(self, segment="all", root=None):
        self._check("segment", segment, ("all", "similarity", "relatedness"))
        self.segment = segment
        super().__init__(root)

    def _rows(self, root):
        kinds = ("relatedness", "similarity") if self.segment == "all" else (self.segment,)
        rows = set()
        for kind in kinds:
            part, faruqui = f"wordsim_{kind}_goldstandard.txt", f"EN-WS-353-{kind[:3].upper()}.txt"
            rows |= set(map(tuple, self._table(root, part, faruqui=faruqui)))
        return sorted(rows)


@register(segment=["full", "dev", "test"])
class MEN(WordSimilarityEvaluationDataset):
    """MEN (Bruni, Tran and Baroni, 2014): 3,000 pairs, 2,000 of them 'dev', 1,000 'test'.

    >>> gluonnlp.data.list_datasets("MEN")
    {'segment': ['full', 'dev', 'test']}
    """

    folder = "men"
    min, max = 0, 50
    _files = {
        "full": "MEN_dataset_lemma_form_full",
        "dev": "MEN_dataset_lemma_form.dev",
        "test": "MEN_dataset_lemma_form.test",
    }

    def __init__(self, segment="dev", root=None):
        self._check("segment", segment, self._files)
        self.segment = segment
        super().__init__(root)

    def _rows(self, root):
        if self.segment == "full" and (released := self._original(root, "EN-MEN-TR-3k.txt")):
            return CorpusDataset(released[0])
        # "sun-n sunlight-n 50.0": the part of speech stands behind each word
        return [
            [first[:-2], second[:-2], score] for first, second, score in self._table(root, self._files[self.segment])
        ]


@register
class RadinskyMTurk(WordSimilarityEvaluationDataset):
    """MTurk-287 (Radinsky et al., 2011).

    >>> gluonnlp.data.list_datasets("RadinskyMTurk")
    {}
    """

    folder = "radinskymturk"
    min, max = 1, 5

    def _rows(self, root):
        return self._table(root, "Mtruk.csv", faruqui="EN-MTurk-287.txt", separator=",")


@register
class RareWords(WordSimilarityEvaluationDataset):
    """Rare words (Luong, Socher and Manning, 2013): 2,034 pairs.

    >>> gluonnlp.data.list_datasets("RareWords")
    {}
    """

    folder = "rarewords"
    min, max = 0, 10

    def _rows(self, root):
        return self._table(root, "rw.txt", faruqui="EN-RW-STANFORD.txt")


@register
class SimLex999(WordSimilarityEvaluationDataset):
    """SimLex-999 (Hill, Reichart and Korhonen, 2015).

    >>> gluonnlp.data.list_datasets("SimLex999")
    {}
    """

    folder = "simlex999"
    min, max = 0, 10

    def _rows(self, root):
        rows = self._table(root, "SimLex-999.txt", (0, 1, 3), faruqui="EN-SIMLEX-999.txt")
        return rows[1:] if rows[0][0] == "word1" else rows


@register
class SimVerb3500(WordSimilarityEvaluationDataset):
    """SimVerb-3500 (Gerz et al., 2016): verbs, 500 pairs of them 'dev', 3,000 'test'.

    >>> gluonnlp.data.list_datasets("SimVerb3500")
    {}
    """

    folder = "simverb3500"
    min, max = 0, 10
    _files = {"full": "SimVerb-3500.txt", "test": "SimVerb-3000-test.txt", "dev": "SimVerb-500-dev.txt"}

    def __init__(self, segment="full", root=None):
        self._check("segment", segment, self._files)
        self.segment = segment
        super().__init__(root)

    def _rows(self, root):
        faruqui = "EN-SimVerb-3500.txt" if self.segment == "full" else None
        return self._table(root, self._files[self.segment], (0, 1, 3), faruqui)


@register(segment=["trial", "test"])
class SemEval17Task2(WordSimilarityEvaluationDataset):
    """Task 2 of SemEval 2017 (Camacho-Collados et al., 2017); language: 'en', 'es', 'de', 'it' or 'fa'.

    >>> gluonnlp.data.list_datasets("SemEval17Task2")
    {'segment': ['trial', 'test']}
    """

    folder = "semeval17task2"
    min, max = 0, 5
    segments = ("trial", "test")
    languages = ("en", "es", "de", "it", "fa")

    def __init__(self, segment="trial", language="en", root=None):
        self._check("segment", segment, self.segments)
        self._check("language", language, self.languages)
        self.segment, self.language = segment, language
        super().__init__(root)

    def _rows(self, root):
        where, name = f"SemEval17-Task2/{self.segment}/subtask1-monolingual", f"{self.language}.{self.segment}"
        pairs = self._table(root, f"{where}/data/{name}.data.txt", (0, 1))
        scores = self._table(root, f"{where}/keys/{name}.gold.txt", (0,))
        return [[*pair, *score] for pair, score in zip(pairs, scores, strict=True)]


@register
class BakerVerb143(WordSimilarityEvaluationDataset):
    """Verbs (Baker, Reichart and Korhonen, 2014): 143 pairs.

    >>> gluonnlp.data.list_datasets("BakerVerb143")
    {}
    """

    folder = "verb143"
    min, max = 0, 1

    def _rows(self, root):
        return self._table(root, "verb_similarity dataset.txt", (0, 1, 12), faruqui="EN-VERB-143.txt")


@register
class YangPowersVerb130(WordSimilarityEvaluationDataset):
    """Verbs (Yang and Powers, 2006): 130 pairs, which come with this package.

    >>> gluonnlp.data.list_datasets("YangPowersVerb130")
    {}
    """

    folder = "verb130"
    min, max = 0, 4

    def _rows(self, root):
        return [[row["word1"], row["word2"], row["score"]] for row in table("verb130")]


@register(category=C.GOOGLEANALOGY_CATEGORIES)
class GoogleAnalogyTestSet(WordAnalogyEvaluationDataset):
    """Mikolov et al. (2013): 19,544 analogies in 14 categories.

    group: 'syntactic' or 'semantic' only.  category: one of `categories` only.

    >>> gluonnlp.data.list_datasets("GoogleAnalogyTestSet")["category"][:2]
    ['capital-common-countries', 'capital-world']
    """

    folder = "google_analogy"
    groups = ["syntactic", "semantic"]
    categories = C.GOOGLEANALOGY_CATEGORIES

    def __init__(self, group=None, category=None, lowercase=True, root=None):
        self._check("group", group, [None, *self.groups])
        self._check("category", category, [None, *self.categories])
        self.group, self.category, self.lowercase = group, category, lowercase
        super().__init__(root)

    def _rows(self, root):
        rows, wanted = [], False
        with open(self._find("questions-words.txt", root), encoding="utf8") as lines:
            for line in lines:
                if line.startswith(":"):
                    category = line.split()[1]
                    group = "syntactic" if "gram" in category else "semantic"
                    wanted = self.group in (None, group) and self.category in (None, category)
                elif wanted:
                    rows.append((line.lower() if self.lowercase else line).split())
        return rows


@register(category=list(C.BATS_CATEGORIES))
class BiggerAnalogyTestSet(WordAnalogyEvaluationDataset):
    """BATS (Gladkova, Drozd and Matsuoka, 2016): 40 categories of 50 word pairs.

    category: one of them, such as 'I01', or all.
    form_analogy_pairs: gives all pairs of two different pairs of a category; otherwise the word pairs.
    drop_alternative_solutions: keeps the first of several words that solve an analogy; otherwise the
        second word of a pair is a list.

    >>> len(gluonnlp.data.list_datasets("BiggerAnalogyTestSet")["category"])
    40
    """

    folder = "bigger_analogy"

    def __init__(self, category=None, form_analogy_pairs=True, drop_alternative_solutions=True, root=None):
        self._check("category", category, [None, *C.BATS_CATEGORIES])
        self.category = category
        self.form_analogy_pairs = form_analogy_pairs
        self.drop_alternative_solutions = drop_alternative_solutions
        super().__init__(root)

    def _rows(self, root):
        rows = []
        for part in sorted(dataset_parts(type(self).__name__)):
            if not part.startswith(self.category or ""):
                continue
            pairs = [[words[0], words[1].split("/")] for words in CorpusDataset(self._find(part, root))]
            if self.drop_alternative_solutions:
                pairs = [[first, seconds[0]] for first, seconds in pairs]
            rows += [a + b for a in pairs for b in pairs if a != b] if self.form_analogy_pairs else pairs
        return rows

"""Words' vectors of a BERT."""

import numpy as np

from scripts.bert.embedding import main as embedding


def test_words_of_sentences_have_vectors(minilm, tmp_path):

    (tmp_path / "lines.txt").write_text("the unaffable cat\ncats\n")
    found = embedding(["--file", str(tmp_path / "lines.txt"), "--checkpoint", minilm])
    (words, vectors), (others, _) = found
    assert words == ["the", "una", "##ffable", "cat"] or words == ["the", "unaffable", "cat"]
    assert others == ["cats"] and all(vector.shape == (384,) for vector in vectors)
    summed = embedding(["--sentences", "the unaffable cat", "--checkpoint", minilm, "--oov_way", "sum"])
    place = words.index("unaffable")
    ratio = summed[0][1][place] / vectors[place]
    assert np.allclose(ratio, ratio[0], rtol=1e-3) and round(float(ratio[0])) >= 2

"""Words' vectors of a BERT, and a tuned BERT on codes of eight bits."""

import numpy as np
from torch.utils._python_dispatch import TorchDispatchMode

import core as mx
from core.kernels.cpu import onednn
from scripts.bert import compare_eight_bits
from scripts.bert.deployment import INPUTS
from scripts.bert.embedding import main as embedding
from scripts.bert.finetune_classifier import main, treebank
from scripts.bert.text_classifier import TextClassifier
from scripts.common.deployment import deployed as deployed_net


class Called(TorchDispatchMode):
    """Collects the names of the functions of ATen that are called within."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(function.name().partition(".")[0])
        return function(*args, **(kwargs or {}))


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


def test_a_tuned_network_is_put_on_codes_and_deployed(data, programs, minilm, tmp_path):
    given = ["--task_name", "SST", "--data-dir", data / "sst", "--checkpoint", minilm, "--samples", 16, "--max_len", 24]
    programs(main, *given, "--epochs", 1, "--batch_size", 8, "--output_dir", tmp_path / "model")
    tested = [*given, "--model_parameters", tmp_path / "model" / "net.params", "--dev_batch_size", 8]
    plain = programs(main, *tested, "--only_inference", into="plain")
    made = programs(
        main, *tested, "--only_calibration", "--num_calib_batches", 1, "--output_dir", tmp_path, into="codes"
    )
    assert made["model_prefix"].endswith("model_bert_SST_quantized_customize")
    deployed = ["--only_inference", "--deploy", "--model_prefix", made["model_prefix"], "--round_to", 8]
    codes = programs(main, *tested, *deployed, into="deployed")
    assert codes.keys() == plain.keys()
    assert all(abs(codes[name] - plain[name]) <= 0.3 for name in plain)
    folders = ["--data-dir", data / "sst", "--output_dir", tmp_path / "model", "--log-dir", tmp_path / "logs"]
    compared = ["--model_prefix", made["model_prefix"], "--samples", 4, "--calls", 1, "--sizes", 2]
    found = compare_eight_bits.main([str(a) for a in (*folders, *compared)])
    assert found.keys() >= {"dev_accuracy_float32", "test_accuracy_int8", "ratio_batch2"}

    # Weights with a range for each unit, the default, err less than those with one for a layer.
    layers = ["--only_calibration", "--num_calib_batches", 1, "--quantize_granularity", "tensor-wise"]
    coarse = programs(main, *tested, *layers, "--output_dir", tmp_path / "coarse", into="coarse")
    classifier = TextClassifier.load(tmp_path / "model", mx.cpu())
    texts = treebank(data / "sst", 0)["dev"][:16]
    samples = [(*fields, 0) for fields in classifier.inputs((text,) for text, _ in texts)]
    (batch,) = classifier.batches(samples, 16, shuffle=False)
    true = classifier.scores(batch[:3], mx.cpu()).asnumpy()
    errors = []
    for prefix in (made["model_prefix"], coarse["model_prefix"]):
        classifier.net = deployed_net(prefix, INPUTS, mx.cpu())
        errors.append(np.abs(classifier.scores(batch[:3], mx.cpu()).asnumpy() - true).mean())
        # The first call has put the weights, of which it looked for the largest, on codes and packed them.
        with Called() as again:
            classifier.scores(batch[:3], mx.cpu())
        assert ("aten::native_layer_norm" if onednn.loaded() is None else "aten::_softmax") in again.names
        assert not {"aten::abs", "onednn::qlinear_prepack"} & again.names
    assert 0 < errors[0] < 0.9 * errors[1]

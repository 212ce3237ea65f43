"""Networks for text in both backends of kernels: outputs and gradients of Triton (interpreted) are those of ATen."""

import os
import subprocess
import sys

import pytest

STEPS = """
import sys
import numpy as np
import gluonnlp as nlp
from core import autograd, kernels, nd
from core.initializer import Uniform

words, lengths = nd.array(np.arange(8).reshape(2, 4)), nd.array([2, 4])
small = {"num_layers": 1, "units": 8, "hidden_size": 8, "num_heads": 2}


def bert():
    encoder = nlp.model.BERTEncoder(max_length=10, **small)
    net = nlp.model.BERTModel(encoder, 12, 2, units=8, embed_size=8)
    return net, lambda: net(words, nd.zeros_like(words), lengths, nd.array([[0], [1]]))[3]


def translation():
    vocab = nlp.Vocab({f"w{i}": 1 for i in range(8)})
    net = nlp.model.NMTModel(vocab, vocab, *nlp.model.get_transformer_encoder_decoder(**small), embed_size=8)
    return net, lambda: net(words, words, lengths, lengths)[0]


def transformer_xl():
    net = nlp.model.TransformerXL(12, 8, embed_cutoffs=[4, 8], embed_div_val=2, **small)
    return net, lambda: net(words, words, net.begin_mems(2, 2, words.context))[0]


net, call = globals()[sys.argv[1]]()
net.initialize(Uniform(0.5))


def step():
    with autograd.record():
        outputs = call()
        loss = (outputs * outputs).sum()
    loss.backward()
    learning = {name: p for name, p in net.collect_params().items() if p.grad_req != "null"}
    return {"outputs": outputs.asnumpy(), **{name: p.grad().asnumpy() for name, p in learning.items()}}


cpu = step()
with kernels.using("triton"):
    triton = step()
for name in cpu:
    np.testing.assert_allclose(triton[name], cpu[name], rtol=1e-4, atol=1e-4, err_msg=name)
"""


@pytest.mark.interpreter
@pytest.mark.parametrize("network", ["bert", "translation", "transformer_xl"])
def test_both_backends_agree(root, network):
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", STEPS, network]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]

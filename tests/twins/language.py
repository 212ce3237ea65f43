"""Transformer-XL of transformers (to 4.46) and ELMo of AllenNLP, with random weights, and ours: outputs, and back.

    ALLENNLP=FOLDER python -m tests.twins.language [--log logs/conversion/twins_language.log]

ALLENNLP names the folder that holds `allennlp` 2.10.1 (`pip install --no-deps --target FOLDER allennlp`); its recurrent
and highway layers are used as they are, and what they import for other purposes is not. The layers around them, which
read files of weights where they are made, are built again with their names.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from torch import nn

import gluonnlp as nlp
from core import nd
from gluonnlp.model.state_dict import load_state_dict, state_dict
from scripts.common import environment

TOLERANCE = 1e-4


def transformer_xl(cutoffs, div_val, shared, mem_len):
    """A row: how far log-likelihoods, last states and memories of two segments are apart, of the largest."""
    from transformers.models.deprecated.transfo_xl import TransfoXLConfig
    from transformers.models.deprecated.transfo_xl.modeling_transfo_xl import TransfoXLLMHeadModel

    config = TransfoXLConfig(
        vocab_size=60, cutoffs=cutoffs, div_val=div_val, d_model=32, d_embed=32, n_head=4, d_head=8, d_inner=48, n_layer=3,
        mem_len=mem_len, clamp_len=-1, same_length=True, proj_share_all_but_first=shared,
    )  # fmt: skip
    # transformers passes a keyword here that torch has no more.
    of_type = torch.Tensor.type_as
    torch.Tensor.type_as = lambda x, other=None, dtype=None: of_type(x, other) if dtype is None else x.to(dtype)
    theirs = TransfoXLLMHeadModel(config).eval()
    _randomise(theirs)
    values = {name: value.numpy().copy() for name, value in theirs.state_dict().items()}
    net = nlp.model.TransformerXL(
        60, 32, cutoffs or None, div_val, 3, 32, 48, 4, tie_input_output_embeddings=True, project_same_dim=div_val != 1,
        tie_input_output_projections=list(config.tie_projs) if cutoffs else None,
    )  # fmt: skip
    load_state_dict(net, values)
    words = np.random.RandomState(0).randint(0, 60, (2, 2, mem_len))
    mems, ours, got, want = None, net.begin_mems(2, mem_len, None), [], []
    for segment in words:
        with torch.no_grad():
            out = theirs(torch.tensor(segment), mems=mems)
        mems = out.mems
        loss, ours, last = net(nd.array(segment), nd.array(np.roll(segment, 1, 1)), ours)
        picked = np.take_along_axis(out.prediction_scores.numpy(), np.roll(segment, 1, 1)[..., None], 2)[..., 0]
        got += [loss.asnumpy(), *(m.asnumpy() for m in ours)]
        want += [-picked, *(m.numpy().transpose(1, 0, 2) for m in mems)]
    what = f"transformers TransfoXLLMHeadModel, cutoffs {cutoffs}, div_val {div_val}, projections shared {shared}"
    return _row(what, got, want, values, state_dict(net), {"transformer.pos_emb.inv_freq"})


def original(module):
    """A module of AllenNLP whose imports of what it does not need here are empty."""
    folder = Path(os.environ["ALLENNLP"]) / "allennlp"
    for name in ("allennlp", "allennlp.modules", "allennlp.nn", "allennlp.common"):
        sys.modules.setdefault(name, ModuleType(name)).__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
    for name, values in {
        "allennlp.common.checks": {"ConfigurationError": ValueError},
        "allennlp.common.file_utils": {"cached_path": str},
        "allennlp.nn.util": dict.fromkeys(("get_lengths_from_binary_sequence_mask", "sort_batch_by_length"))
        | {"get_dropout_mask": lambda *_: None},
        "allennlp.nn.initializers": {"block_orthogonal": lambda *_: None},
    }.items():
        sys.modules.setdefault(name, ModuleType(name)).__dict__.update(values)
    sys.modules.setdefault("h5py", ModuleType("h5py"))
    return importlib.import_module(f"allennlp.modules.{module}")


class CharacterEncoder(nn.Module):
    """Characters to words, with AllenNLP's names and highway."""

    def __init__(self, filters, chars, width, highways, output):
        super().__init__()
        self._char_embedding_weights = nn.Parameter(torch.empty(chars, width))
        for i, (size, count) in enumerate(filters):
            self.add_module(f"char_conv_{i}", nn.Conv1d(width, count, size))
        total = sum(count for _, count in filters)
        self._highways = original("highway").Highway(total, highways, activation=torch.relu)
        self._projection, self._count = nn.Linear(total, output), len(filters)

    def forward(self, characters):
        x = self._char_embedding_weights[characters.reshape(-1, characters.shape[-1])].transpose(1, 2)
        found = [torch.relu(getattr(self, f"char_conv_{i}")(x).max(2)[0]) for i in range(self._count)]
        return self._projection(self._highways(torch.cat(found, 1))).reshape(*characters.shape[:2], -1)


class Elmo(nn.Module):
    """AllenNLP's _ElmoBiLm without the marks around sentences, which ours leaves to its user, too."""

    def __init__(self, filters, chars, width, highways, size, hidden, layers):
        super().__init__()
        self._token_embedder = CharacterEncoder(filters, chars, width, highways, size)
        self._elmo_lstm = original("elmo_lstm").ElmoLstm(
            input_size=size, hidden_size=size, cell_size=hidden, num_layers=layers,
            memory_cell_clip_value=3, state_projection_clip_value=3,
        )  # fmt: skip

    def forward(self, characters):
        words = self._token_embedder(characters)
        packed = nn.utils.rnn.pack_padded_sequence(words, [words.shape[1]] * len(words), batch_first=True)
        return torch.cat([words, words], -1), *self._elmo_lstm._lstm_forward(packed)[0]


def elmo():
    """A row: how far all layers are apart for some random words."""
    filters = [[1, 8], [2, 8], [3, 16]]
    theirs = Elmo(filters, 40, 6, 2, 12, 20, 2).eval()
    _randomise(theirs)
    values = {name: value.numpy().copy() for name, value in theirs.state_dict().items()}
    net = nlp.model.ELMoBiLM("lstmpc", 12, filters, 6, 40, 2, "relu", 9, 12, 20, 12, 2, 3, 3)
    load_state_dict(net, values)
    characters = np.random.RandomState(0).randint(0, 40, (3, 7, 9))
    with torch.no_grad():
        want = [layer.numpy() for layer in theirs(torch.tensor(characters))]
    got = [layer.asnumpy() for layer in net(nd.array(characters))[0]]
    return _row("AllenNLP's ElmoLstm and Highway", got, want, values, state_dict(net), set())


def _randomise(net):
    torch.manual_seed(0)
    for name, value in net.state_dict().items():
        if value.is_floating_point() and not name.endswith("inv_freq"):
            value.normal_(float(name.endswith("layer_norm.weight")), 0.3)
    if hasattr(net, "tie_weights"):
        net.tie_weights()


def _row(what, got, want, values, back, computed):
    assert [g.shape for g in got] == [w.shape for w in want]
    apart = max(float(np.abs(g - w).max() / np.abs(w).max()) for g, w in zip(got, want, strict=True))
    lost = [k for k, v in values.items() if k not in computed and not np.array_equal(back.get(k), v)]
    lost += sorted(set(back) - set(values))
    spread = min(float(w.std()) for w in want)
    good = apart <= TOLERANCE and spread > 0 and not lost
    return good, f"{what}: apart {apart:.1e} of the largest, spread {spread:.1e}" + f", lost {lost[:4]}" * bool(lost)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, help="file for the rows")
    args = parser.parse_args()
    lines = [
        f"command: {shlex.join(['python', '-m', 'tests.twins.language', *sys.argv[1:]])}",
        f"commit: {environment.commit()}",
        f"versions: torch {version('torch')}, transformers {version('transformers')}, allennlp 2.10.1",
    ]
    rows = [
        transformer_xl([20, 40], 2, True, 6), transformer_xl([20, 40], 2, False, 6), transformer_xl([], 1, False, 6), elmo()
    ]  # fmt: skip
    lines += [("ok   " if good else "BAD  ") + text for good, text in rows]
    print("\n".join(lines))
    if args.log:
        args.log.write_text("\n".join(lines) + "\n")
    sys.exit(not all(good for good, _ in rows))


if __name__ == "__main__":
    main()

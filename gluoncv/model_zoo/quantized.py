"""Networks whose convolutions compute on codes of eight bits,
with the ranges that GluonCV calibrated (`quantized.json`).
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from core import symbol
from core.contrib.quantizer import quantize_symbol, ranged
from core.name import NameManager
from core.symbol.graph import order
from gluon import SymbolBlock
from gluoncv.model_zoo.model_zoo import MODELS, get_model

NETWORKS: dict[str, dict] = json.loads(Path(__file__).with_suffix(".json").read_text())
# Parameters have the names that they had when the networks were calibrated: in the heads of segmentation networks each
# sequence of layers counted for itself.
NAMES = [
    (r"^(fcn0|pspnet0|deeplabv30)_fcnhead(\d)_", r"\1__fcnhead\2_hybridsequential0_"),
    (r"^pspnet0_psphead0_", "pspnet0__psphead0_"),
    (r"^pspnet0_pyramidpooling0_(conv|batchnorm)(\d)_", r"pspnet0__pyramidpooling0_hybridsequential\2_\g<1>0_"),
    (r"^deeplabv30_deeplabhead0_hybridconcurrent0_(conv|batchnorm)(\d)_",
     r"deeplabv30__deeplabhead0_hybridsequential\2_\g<1>0_"),
    (r"^deeplabv30_deeplabhead0_(conv|batchnorm)0_", r"deeplabv30__deeplabhead0_hybridsequential5_\g<1>0_"),
    (r"^deeplabv30_deeplabhead0_(conv|batchnorm)1_", r"deeplabv30__deeplabhead0_\g<1>0_"),
    (r"^deeplabv30_deeplabhead0_conv2_", "deeplabv30__deeplabhead0_conv1_"),
    (r"^actionrecresnetv1b0_resnetv1b_", "resnetv1b_"),
]  # fmt: skip


def _quantized(name: str):
    row = NETWORKS[name]

    def build(pretrained=False, root=None, ctx=None, **kwargs):
        with NameManager():  # names do not depend on the networks that were made before
            net = get_model(
                row["network"], pretrained=pretrained, root=root, ctx=ctx, **row.get("options", {}), **kwargs
            )
            outputs = net(symbol.var("data"))
        outputs = symbol.Group(outputs) if isinstance(outputs, (list, tuple)) else outputs
        codes = quantize_symbol(outputs, ["FullyConnected", *row["excluded"]])
        outputs = ranged(codes, row["inputs"], row["layers"])
        for node in order(outputs._entries):
            if node.op is None:
                node.name = _renamed(node.name)
        block = SymbolBlock(outputs, symbol.var("data"))
        block.classes = getattr(net, "classes", [])
        block.card = replace(net.card, name=name)
        if block.card.preprocessing is not None:
            block.preprocess = block.card.preprocessing
        numbers = {_renamed(parameter.name): parameter for parameter in net.collect_params().values()}
        for parameter in block.collect_params().values():
            parameter.init = numbers[parameter.name].init
            if pretrained:
                parameter._load_init(numbers[parameter.name].data(), ctx)
        return block

    MODELS[name] = build
    build.__name__ = build.__qualname__ = name.replace(".", "_")
    build.__doc__ = f"The network {row['network']} on codes of eight bits; `pretrained` weights are that network's."
    return build


def _renamed(name: str) -> str:
    for pattern, replacement in NAMES:
        name = re.sub(pattern, replacement, name)
    return name


for _name in NETWORKS:
    _quantized(_name)

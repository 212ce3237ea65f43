"""The networks of nsfwjs (npm, MIT) from its files, which are JavaScript: read as text, not run.

    npm pack nsfwjs@4.4.0 && tar xzf nsfwjs-4.4.0.tgz
    python scripts/image_classification/nsfwjs.py --models package/dist/models --tfjs node_modules \\
        --data-dir ../shared/data/imagenet_samples

MobileNetV2 and Inception V3, each with three layers on top, tell five kinds of pictures. Weights are min + scale * q of
bytes. TensorFlow pads MobileNet's strided convolutions at the end, so its filters and pictures are turned; Inception
does not pad where it strides, and its averages leave the border out. With --tfjs, a folder with @tensorflow/tfjs, node
computes the same pictures, and the record says how far probabilities are apart.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core import nd
from core.base import MXNetError
from gluon import nn
from gluoncv.model_zoo import differences, get_model
from gluoncv.model_zoo.cards import Preprocessing
from scripts.common.environment import checksums
from scripts.common.record import LOGS, Record
from scripts.image_classification.validate_others import listed, told

PLAIN = {"mean": (0.0,) * 3, "deviation": (1.0,) * 3}  # pixels between 0 and 1
NUMBER = r"(-?[\d.e+-]+)"
WEIGHT = re.compile(
    r'\{name:"([^"]+)",shape:\[([\d,]*)\],dtype:"float32",quantization:\{min:'
    + NUMBER
    + ",scale:"
    + NUMBER
    + r',dtype:"uint8"\}\}'
)
RUNTIME = """
const tf = require(process.argv[1]), path = require('path'), folder = process.argv[2], fs = require('fs');
const model = require(path.join(folder, 'model.min.js'));
const shards = fs.readdirSync(folder).filter(name => name.startsWith('group1-shard')).sort();
const bytes = Uint8Array.from(Buffer.concat(shards.map(name => Buffer.from(require(path.join(folder, name)), 'base64'))));
const specs = model.weightsManifest.flatMap(group => group.weights);
tf.loadLayersModel(tf.io.fromMemory({modelTopology: model.modelTopology, weightSpecs: specs, weightData: bytes.buffer}))
  .then(net => {
    const raw = fs.readFileSync(process.argv[3]);
    const x = new Float32Array(raw.buffer, raw.byteOffset, raw.length / 4);
    const size = Number(process.argv[4]);
    const y = net.predict(tf.tensor(x, [x.length / (size * size * 3), size, size, 3]));
    console.log(JSON.stringify(Array.from((Array.isArray(y) ? y[0] : y).dataSync())));
  });
"""


def main(argv: list[str] | None = None) -> list[dict]:
    args = parse_args(argv)
    folders = [args.models / name for name in NETWORKS]
    files = [file for folder in folders for file in sorted(folder.glob("*.js"))]
    record = Record("image_classification", args.run, data=checksums(files, args.models), folder=args.log_dir)
    record.begin()
    pictures, rows = [path for path, _ in listed(args.data_dir)[:: args.step]], []
    for folder in folders:
        make, size, turned, name = NETWORKS[folder.name]
        net, prepared = make(weights_of(folder)), Preprocessing(size, math.ceil(size / 0.875), **PLAIN)
        x = nd.concat(*[prepared(path) for path in pictures], dim=0)
        got = nd.softmax(net(x[:, :, ::-1, ::-1] if turned else x)).asnumpy()
        row = {"weights": f"nsfwjs {name}, uint8", "pictures": len(pictures), "highest": float(got.max())}
        if args.tfjs:
            want = runtime(args.tfjs, folder, x.asnumpy().transpose(0, 2, 3, 1))
            row |= {"probabilities apart": float(np.abs(got - want).max()), "known": "tfjs"}
        record.say(told(row))
        rows.append(row)
    record.put(title="published with nsfwjs", rows=rows)
    return rows


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    """{name: float32 array} of a folder; MXNetError where it is not what nsfwjs has."""
    shards = sorted(folder.glob("group1-shard*.min.js"))
    texts = [re.findall(r'"([A-Za-z0-9+/=]{1000,})"', shard.read_text()) for shard in shards]
    if not texts or any(len(text) != 1 for text in texts):
        raise MXNetError(f"{folder} has no weights of nsfwjs: each group1-shard*.min.js holds one text of base64")
    model = (folder / "model.min.js").read_text()
    data, place, found = b"".join(base64.b64decode(text) for (text,) in texts), 0, {}
    for name, shape, low, scale in WEIGHT.findall(model):
        shape = tuple(int(size) for size in shape.split(",") if size)
        size = int(np.prod(shape))
        codes = np.frombuffer(data, "uint8", size, place).reshape(shape)
        found[name] = (codes.astype("float32") * np.float32(float(scale)) + np.float32(float(low))).astype("float32")
        place += size
    if place != len(data):
        raise MXNetError(f"{folder}: {len(data)} bytes of weights, of which model.min.js names {place}")
    return found


def mobilenet(weights: dict[str, np.ndarray]):
    """MobileNetV2 with the layers of nsfwjs on top: scores (batch, 5)."""
    net = get_model("mobilenetv2_1.0")
    convolutions, norms = with_top(net, 224)
    names = ["Conv1", "expanded_conv_depthwise", "expanded_conv_project"]
    names += [f"block_{i}_{part}" for i in range(1, 17) for part in ("expand", "depthwise", "project")] + ["Conv_1"]
    for name, conv, norm in zip(names, convolutions, norms, strict=True):
        depthwise = name.endswith("depthwise")
        kernel = weights[f"{name}/{'depthwise_' * depthwise}kernel"].transpose(
            (2, 3, 0, 1) if depthwise else (3, 2, 0, 1)
        )
        conv.weight.set_data(nd.array(np.ascontiguousarray(kernel[:, :, ::-1, ::-1])))
        behind = {"Conv1": "bn_Conv1", "Conv_1": "Conv_1_bn"}.get(name, f"{name}_BN")
        for parameter, key in (
            ("gamma", "gamma"),
            ("beta", "beta"),
            ("running_mean", "moving_mean"),
            ("running_var", "moving_variance"),
        ):
            getattr(norm, parameter).set_data(nd.array(weights[f"{behind}/{key}"]))
    return fill_top(net, weights)


def inception(weights: dict[str, np.ndarray]):
    """Inception V3 with the layers of nsfwjs on top: scores (batch, 5)."""
    net = get_model("inceptionv3")
    convolutions, norms = with_top(net, 299)
    net.features.apply(
        lambda block: block._kwargs.update(count_include_pad=False) if isinstance(block, nn.AvgPool2D) else None
    )
    for k, (conv, norm) in enumerate(zip(convolutions, norms, strict=True), 1):
        kernel = weights[f"conv2d_{k}/kernel"].transpose(3, 2, 0, 1)
        conv.weight.set_data(nd.array(np.ascontiguousarray(kernel)))
        for parameter, key in (("beta", "beta"), ("running_mean", "moving_mean"), ("running_var", "moving_variance")):
            getattr(norm, parameter).set_data(nd.array(weights[f"batch_normalization_{k}/{key}"]))
    return fill_top(net, weights)


def with_top(net, size: int) -> tuple[list, list]:
    """Puts three layers on a network of the zoo; its convolutions and its normalisations, in order."""
    differences.replace_child(net, "output", nn.HybridSequential())
    net.output.add(nn.Flatten(), nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(5))
    net.initialize()
    differences.make(net, {"epsilon": 0.001})
    net(nd.zeros((1, 3, size, size)))
    convolutions, norms = [], []
    net.features.apply(lambda block: (convolutions if isinstance(block, nn.Conv2D) else norms).append(block)
                       if isinstance(block, (nn.Conv2D, nn.BatchNorm)) else None)  # fmt: skip
    return convolutions, norms


def fill_top(net, weights):
    """Gives the layers on top their numbers, and the network back."""
    for i in (1, 2, 3):
        net.output[i].weight.set_data(nd.array(weights[f"dense_{i}/kernel"].T.copy()))
        net.output[i].bias.set_data(nd.array(weights[f"dense_{i}/bias"]))
    return net


# Folder -> (what makes it, size of its pictures, whether they are turned, name)
NETWORKS = {
    "mobilenet_v2": (mobilenet, 224, True, "MobileNetV2"),
    "inception_v3": (inception, 299, False, "Inception V3"),
}


def runtime(tfjs: Path, folder: Path, x: np.ndarray) -> np.ndarray:
    """What nsfwjs' own runtime makes of (batch, size, size, 3)."""
    with tempfile.NamedTemporaryFile(suffix=".f32") as file:
        file.write(np.ascontiguousarray(x, "float32").tobytes())
        file.flush()
        package = str((tfjs / "@tensorflow" / "tfjs").resolve())
        command = ["node", "-e", RUNTIME, package, str(folder.resolve()), file.name, str(x.shape[1])]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return np.array(json.loads(out.strip().splitlines()[-1]), "float32").reshape(len(x), -1)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder of mobilenet_v2 and inception_v3")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of pictures and samples.lst")
    parser.add_argument("--tfjs", type=Path, help="node_modules with @tensorflow/tfjs, to compare with")
    parser.add_argument("--step", type=int, default=10, help="take every so many pictures (default: %(default)s)")
    parser.add_argument("--run", default="published_by_nsfwjs", help="name of the log files (default: %(default)s)")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

"""The networks of nsfwjs (npm, MIT) from its files, which are JavaScript: read as text, not run.

    npm pack nsfwjs@4.4.0 && tar xzf nsfwjs-4.4.0.tgz
    python scripts/image_classification/nsfwjs.py --folder package/dist/models/mobilenet_v2 --tfjs node_modules \\
        --data-dir ../shared/data/imagenet_samples

MobileNetV2 with three layers on top tells five kinds of pictures. Weights are min + scale * q of bytes. TensorFlow pads
strided convolutions at the end, so filters and pictures are turned. With --tfjs, a folder with @tensorflow/tfjs, node
computes the same pictures, and the record says how far probabilities are apart.
"""

from __future__ import annotations

import argparse
import base64
import json
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

# Pixels between 0 and 1.
PLAIN = Preprocessing(224, 256, mean=(0.0,) * 3, deviation=(1.0,) * 3)
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
const shard = require(path.join(folder, 'group1-shard1of1.min.js'));
const bytes = Uint8Array.from(Buffer.from(shard, 'base64'));
const specs = model.weightsManifest.flatMap(group => group.weights);
tf.loadLayersModel(tf.io.fromMemory({modelTopology: model.modelTopology, weightSpecs: specs, weightData: bytes.buffer}))
  .then(net => {
    const raw = fs.readFileSync(process.argv[3]);
    const x = new Float32Array(raw.buffer, raw.byteOffset, raw.length / 4);
    const y = net.predict(tf.tensor(x, [x.length / (224 * 224 * 3), 224, 224, 3]));
    console.log(JSON.stringify(Array.from((Array.isArray(y) ? y[0] : y).dataSync())));
  });
"""


def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    files = sorted(args.folder.glob("*.js"))
    record = Record("image_classification", args.run, data=checksums(files), folder=args.log_dir)
    record.begin()
    net = mobilenet(weights_of(args.folder))
    pictures = [path for path, _ in listed(args.data_dir)[:: args.step]]
    x = nd.concat(*[PLAIN(path) for path in pictures], dim=0)
    got = nd.softmax(net(x[:, :, ::-1, ::-1])).asnumpy()
    row = {"weights": "nsfwjs MobileNetV2, uint8", "pictures": len(pictures), "highest": float(got.max())}
    if args.tfjs:
        want = runtime(args.tfjs, args.folder, x.asnumpy().transpose(0, 2, 3, 1))
        row |= {"probabilities apart": float(np.abs(got - want).max()), "known": "tfjs"}
    record.say(told(row))
    record.put(title="published with nsfwjs", rows=[row])
    return row


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    """{name: float32 array} of a folder; MXNetError where it is not what nsfwjs has."""
    model = (folder / "model.min.js").read_text()
    shards = sorted(folder.glob("group1-shard*.min.js"))
    texts = [re.findall(r'"([A-Za-z0-9+/=]{1000,})"', shard.read_text()) for shard in shards]
    if not texts or any(len(text) != 1 for text in texts):
        raise MXNetError(f"{folder} has no weights of nsfwjs: each group1-shard*.min.js holds one text of base64")
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
    net.output = nn.HybridSequential()
    net.output.add(nn.Flatten(), nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(5))
    net.initialize()
    differences.make(net, {"epsilon": 0.001})
    net(nd.zeros((1, 3, 224, 224)))
    convolutions, norms = [], []
    net.features.apply(lambda block: (convolutions if isinstance(block, nn.Conv2D) else norms).append(block)
                       if isinstance(block, (nn.Conv2D, nn.BatchNorm)) else None)  # fmt: skip
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
    for i in (1, 2, 3):
        net.output[i].weight.set_data(nd.array(weights[f"dense_{i}/kernel"].T.copy()))
        net.output[i].bias.set_data(nd.array(weights[f"dense_{i}/bias"]))
    return net


def runtime(tfjs: Path, folder: Path, x: np.ndarray) -> np.ndarray:
    """What nsfwjs' own runtime makes of (batch, 224, 224, 3)."""
    with tempfile.NamedTemporaryFile(suffix=".f32") as file:
        file.write(np.ascontiguousarray(x, "float32").tobytes())
        file.flush()
        package = str((tfjs / "@tensorflow" / "tfjs").resolve())
        command = ["node", "-e", RUNTIME, package, str(folder.resolve()), file.name]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return np.array(json.loads(out.strip().splitlines()[-1]), "float32").reshape(len(x), -1)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="folder of model.min.js and its shards")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of pictures and samples.lst")
    parser.add_argument("--tfjs", type=Path, help="node_modules with @tensorflow/tfjs, to compare with")
    parser.add_argument("--step", type=int, default=10, help="take every so many pictures (default: %(default)s)")
    parser.add_argument("--run", default="published_by_nsfwjs", help="name of the log files (default: %(default)s)")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

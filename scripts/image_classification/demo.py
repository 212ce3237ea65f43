"""Names what is in pictures: the five classes that a network finds likeliest.

python scripts/image_classification/demo.py --model mobilenetv2_1.0 --input-pic dog.jpg --classes synset.txt
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core import image, nd
from gluoncv.data.transforms.presets.imagenet import transform_eval
from gluoncv.model_zoo import get_model


def main(argv: list[str] | None = None) -> list[list[tuple[str, float]]]:
    args = parse_args(argv)
    net = get_model(args.model, pretrained=args.pretrained or True)
    names = class_names(args.classes)
    found = []
    for path in args.input_pic:
        x = transform_eval(image.imread(str(path)), int(args.input_size / 0.875), args.input_size)
        if args.turned:
            x = x[:, :, ::-1, ::-1]
        probabilities = nd.softmax(net(x))[0]
        best = nd.topk(probabilities, k=5).asnumpy().astype(int)
        found.append([(names.get(int(k), f"class {k}"), float(probabilities[int(k)].asscalar())) for k in best])
        print(path)
        for name, probability in found[-1]:
            print(f"  {probability:6.1%}  {name}")
    return found


def class_names(path: Path | None) -> dict[int, str]:
    """Names by number, from a file with a line a class; a WordNet number in front is left out."""
    if path is None:
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {
        k: line.split(None, 1)[1] if line[:1] == "n" and line[1:2].isdigit() else line for k, line in enumerate(lines)
    }


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="name in the model zoo")
    parser.add_argument("--input-pic", type=Path, nargs="+", required=True, help="pictures")
    parser.add_argument(
        "--pretrained", "--saved-params", help="file, folder or URL of weights (default: the published ones)"
    )
    parser.add_argument("--classes", type=Path, help="file with the name of a class on each line")
    parser.add_argument("--input-size", type=int, default=224, help="sides of the crop (default: %(default)s)")
    parser.add_argument("--turned", action="store_true", help="turn the pictures by 180 degrees, see validate.py")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

"""Names what is in pictures: the five classes that a network finds likeliest, printed and drawn into the pictures.

python scripts/image_classification/demo.py --model mobilenetv2_1.0 --input-pic dog.jpg --save-dir labelled
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core import image, nd
from gluoncv.data.transforms.presets.imagenet import transform_eval
from gluoncv.model_zoo import get_model
from scripts.common.demo import demo_parser, keep
from scripts.common.program import program

# Pixels of a line of text
LINE = 14


@program
def main(argv: list[str] | None = None) -> list[list[tuple[str, float]]]:
    args = parse_args(argv)
    net = get_model(args.model, pretrained=args.pretrained or True)
    names = class_names(args.classes) or dict(enumerate(getattr(net, "classes", ())))
    found = []
    for path in args.images:
        picture = image.imread(str(path))
        x = transform_eval(picture, int(args.input_size / 0.875), args.input_size)
        if args.turned:
            x = x[:, :, ::-1, ::-1]
        probabilities = nd.softmax(net(x))[0]
        best = nd.topk(probabilities, k=5).asnumpy().astype(int)
        found.append([(names.get(int(k), f"class {k}"), float(probabilities[int(k)].asscalar())) for k in best])
        keep(labelled(picture, found[-1]), path, args.save_dir, found[-1], "6.1%")
    return found


def labelled(picture: nd.NDArray, found: list[tuple[str, float]]):
    """The picture (H, W, 3) as a Pillow picture, with a strip below it on which the classes
    and their probabilities stand.
    """
    from PIL import Image, ImageDraw

    height, width, _ = picture.shape
    shown = Image.new("RGB", (width, height + LINE * len(found)))
    shown.paste(Image.fromarray(picture.asnumpy()))
    draw = ImageDraw.Draw(shown)
    for k, (name, probability) in enumerate(found):
        draw.text((4, height + LINE * k + 2), f"{probability:6.1%}  {name}", fill="white")
    return shown


def class_names(path: Path | None) -> dict[int, str]:
    """Names by number, from a file with one line per class; a WordNet number in front is left out."""
    if path is None:
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {
        k: line.split(None, 1)[1] if line[:1] == "n" and line[1:2].isdigit() else line for k, line in enumerate(lines)
    }


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = demo_parser(__doc__, "labelled")
    add = parser.add_argument
    add("--model", required=True, help="name in the model zoo")
    add("--classes", type=Path, help="file with the name of a class on each line (default: those of the network)")
    add("--input-size", type=int, default=224, help="sides of the crop (default: %(default)s)")
    add("--turned", action="store_true", help="turn the pictures by 180 degrees, see validate.py")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

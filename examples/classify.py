"""The five best classes of pictures, by a network of the model zoo with published weights or those of a file.

python examples/classify.py dog.jpg elephant.jpg --model resnet50_v1
python examples/classify.py dog.jpg --model mobilenetv2_1.0 --weights mobilenetv2_1.0.params
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from core import image, nd
from gluoncv.data.transforms.presets.imagenet import transform_eval
from gluoncv.model_zoo import get_model


def main(argv: list[str] | None = None) -> list[list[tuple[int, float]]]:
    """Gives (class, probability) of the five best classes of each picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("pictures", type=Path, nargs="+", help="files")
    add("--model", default="resnet50_v1", help="name in the model zoo (default: %(default)s)")
    add("--weights", help="file of parameters (default: the published ones)")
    add("--names", type=Path, help="file with the name of a class on each line (default: numbers are shown)")
    args = parser.parse_args(argv)
    net = get_model(args.model, pretrained=args.weights or True)
    net.hybridize()
    names = args.names.read_text(encoding="utf-8").splitlines() if args.names else None
    found = []
    for path in args.pictures:
        probabilities = nd.softmax(net(transform_eval(image.imread(str(path)))))[0]
        best = probabilities.topk(k=5).asnumpy().astype(int)
        found.append([(int(k), float(probabilities[int(k)].asscalar())) for k in best])
        print(path)
        for number, share in found[-1]:
            print(f"  {share:.3f}  {names[number] if names else number}")
    return found


if __name__ == "__main__":
    main()

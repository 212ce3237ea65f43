"""A network as a table and as a drawing.

    python examples/visualization.py --model resnet18_v1 --output resnet18

The drawing is the text of a graph, resnet18.gv, which Graphviz turns into a picture: `dot -Tsvg resnet18.gv`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import core as mx
from gluoncv.model_zoo import get_model


def main(argv: list[str] | None = None) -> Path:
    """Gives the file of the drawing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet18_v1", help="name in the model zoo (default: %(default)s)")
    parser.add_argument("--size", type=int, default=224, help="sides of its input (default: %(default)s)")
    parser.add_argument(
        "--output", type=Path, default=Path("network"), help="path without ending (default: %(default)s)"
    )
    args = parser.parse_args(argv)
    net = (
        get_model(args.model, pretrained_base=False) if args.model.endswith(("coco", "voc")) else get_model(args.model)
    )
    net.initialize()
    shape = (1, 3, args.size, args.size)
    symbol = net(mx.sym.var("data"))
    mx.viz.print_summary(symbol, shape={"data": shape})
    drawing = mx.viz.plot_network(symbol, title=args.model, shape={"data": shape}, save_format="svg")
    path = args.output.with_suffix(".gv")
    path.write_text(drawing.source, encoding="utf-8")
    print(f"{args.model} -> {path}")
    return path


if __name__ == "__main__":
    main()

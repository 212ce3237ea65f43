"""`gluon detect` and `gluon segment`: what is where in pictures."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from gluon_cli.answer import Answer
from gluon_cli.zoo import vision_network


def add(command) -> None:
    """Enters the commands."""
    detect = command(
        "detect", help="find things in pictures", description="The things in pictures, with class, score and box."
    )
    detect.add_argument("--threshold", type=float, default=0.5, help="least score (default: %(default)s)")
    detect.add_argument("--size", type=int, default=512, help="shorter side of the input (default: %(default)s)")
    detect.set_defaults(run=run_detect)
    segment = command(
        "segment", help="tell what each pixel of pictures shows", description="The part of each picture by class."
    )
    segment.set_defaults(run=run_segment)
    for made in (detect, segment):
        made.add_argument("name", help="name of a network")
        made.add_argument("pictures", nargs="+", metavar="PICTURE", help="files")
        made.add_argument("--weights", help="a file, folder or name of weights (default: the published ones)")
        made.add_argument("--output", type=Path, metavar="FOLDER", help="write pictures that show it, as NAME.png")


def run_detect(args: Namespace) -> Answer:
    """Class, score and box (left, top, right, bottom, in pixels of the file) of each thing."""
    from core import image
    from gluoncv.data.transforms import presets
    from gluoncv.utils.viz import cv_plot_bbox

    net = _network(args, "detection")
    family = args.name.lower().split("_")[0]
    preset = {"ssd": presets.ssd, "yolo3": presets.yolo}.get(family, presets.rcnn)
    value, lines = [], []
    for path in args.pictures:
        x, shown = preset.load_test(path, short=args.size)
        whole = image.imread(path)
        scale = whole.shape[1] / shown.shape[1]
        classes, scores, boxes = (part[0].asnumpy() for part in net(x)[:3])
        found = [
            {
                "class": net.classes[int(k)],
                "score": float(score),
                "box": [round(float(edge) * scale, 1) for edge in box],
            }
            for k, score, box in zip(classes.ravel(), scores.ravel(), boxes, strict=True)
            if k >= 0 and score >= args.threshold
        ]
        value.append({"input": path, "things": found})
        lines += [path, *(f"  {row['score']:6.1%}  {row['class']}  {row['box']}" for row in found)]
        if args.output:
            drawn = cv_plot_bbox(shown, boxes, scores.ravel(), classes.ravel(), args.threshold, net.classes)
            _keep(drawn, path, args.output)
    return Answer(value, "\n".join(lines))


def run_segment(args: Namespace) -> Answer:
    """The part of each picture that each class takes."""
    import numpy as np

    from core import context, image
    from gluoncv.data import VOC
    from gluoncv.data.transforms.presets.segmentation import test_transform
    from gluoncv.utils.viz import get_color_pallete

    net = _network(args, "segmentation")
    names = ("background", *VOC) if net.nclass == 1 + len(VOC) else [f"class {k}" for k in range(net.nclass)]
    value, lines = [], []
    for path in args.pictures:
        classes = net.predict(test_transform(image.imread(path), context.cpu()))[0].asnumpy().argmax(0)
        numbers, counts = np.unique(classes, return_counts=True)
        order = counts.argsort()[::-1]
        parts = [{"class": names[numbers[k]], "part": float(counts[k]) / classes.size} for k in order]
        value.append({"input": path, "classes": parts})
        lines += [path, *(f"  {row['part']:6.1%}  {row['class']}" for row in parts)]
        if args.output:
            _keep(get_color_pallete(classes), path, args.output)
    return Answer(value, "\n".join(lines))


def _network(args, task):
    from core.base import MXNetError
    from gluoncv.model_zoo import cards, get_model

    name = vision_network(args.name)
    if cards.task_of(name) != task:
        raise MXNetError(f"{name} is a network for {cards.task_of(name)}; `gluon list --task {task}` names others")
    for path in args.pictures:
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no file {path}")
    return get_model(name, pretrained=args.weights or True, pretrained_base=False)


def _keep(picture, path, folder) -> None:
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    picture = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    picture.save(folder / f"{Path(path).stem}.png")

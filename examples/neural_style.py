"""One picture in the style of another (Gatys, Ecker and Bethge, 2016): pixels are learned, the network is not.

    python examples/neural_style.py --content venice-boat.jpg --style starry_night.jpg --weights vgg19 --size 256

What a layer of VGG-19 sees of the content is kept, and of the style how its channels go together. Without --weights the
network has random ones: shapes of the style are lost, its colours come through.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import core as mx
from core import autograd, image, nd
from gluon import nn
from gluoncv.model_zoo import get_model

MEAN, DEVIATION = nd.array([0.485, 0.456, 0.406]), nd.array([0.229, 0.224, 0.225])
STYLE, CONTENT = (1, 6, 11, 20), 29  # layers of VGG-19's features, ReLUs


def main(argv: list[str] | None = None) -> list[float]:
    """Gives the loss of each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--content", type=Path, required=True, help="picture that is painted")
    add("--style", type=Path, required=True, help="picture whose style it gets")
    add("--weights", help="weights of VGG-19: a file, or vgg19 for the published ones (default: random)")
    add("--size", type=int, default=128, help="sides in pixels (default: %(default)s)")
    add("--steps", type=int, default=100, help="of Adam (default: %(default)s)")
    add("--lr", type=float, default=0.05, help="its rate (default: %(default)s)")
    add("--style-weight", type=float, default=1.0, help="of the style against the content (default: %(default)s)")
    add("--output", type=Path, default=Path("styled.png"), help="what is written (default: %(default)s)")
    args = parser.parse_args(argv)
    mx.random.seed(0)
    layers = seen_layers(args.weights)
    content, style = (read(path, args.size) for path in (args.content, args.style))
    # Layers count alike: each is seen over the mean size of what it sees of the style.
    sizes = [float(maps.square().mean().sqrt().asscalar()) for maps in seen(layers, style)]
    wanted = seen(layers, content)[-1] / sizes[-1]
    grams = [gram(maps / size) for maps, size in zip(seen(layers, style), sizes, strict=True)][:-1]

    pixels = content.copy()
    pixels.attach_grad()
    adam = mx.optimizer.create("adam", learning_rate=args.lr)
    state, found = adam.create_state(0, pixels), []
    for step in range(args.steps):
        with autograd.record():
            *maps, shown = (maps / size for maps, size in zip(seen(layers, pixels), sizes, strict=True))
            loss = (shown - wanted).square().mean()
            for ours, theirs in zip(maps, grams, strict=True):
                loss = loss + args.style_weight * (gram(ours) - theirs).square().mean() / len(grams)
        loss.backward()
        adam.update(0, pixels, pixels.grad, state)
        found.append(float(loss.asscalar()))
        if step % 20 == 0:
            print(f"step {step}: loss {found[-1]:.5f}")
    write(pixels, args.output)
    print(f"{args.content} -> {args.output}")
    return found


def seen_layers(weights: str | None) -> nn.HybridSequential:
    """The features of VGG-19 up to the last layer that is looked at."""
    net = get_model("vgg19", pretrained=False if weights is None else True if weights == "vgg19" else weights)
    if weights is None:
        net.initialize(mx.init.MSRAPrelu())
    return net.features[: CONTENT + 1]


def seen(layers, x: nd.NDArray) -> list[nd.NDArray]:
    """What the layers in STYLE, and then that of CONTENT, see."""
    found = []
    for number, layer in enumerate(layers):
        x = layer(x)
        if number in (*STYLE, CONTENT):
            found.append(x)
    return found


def gram(maps: nd.NDArray) -> nd.NDArray:
    """How channels (1, C, H, W) go together, (C, C)."""
    flat = maps.reshape((maps.shape[1], -1))
    return nd.dot(flat, flat.T) / flat.shape[1]


def read(path: Path, size: int) -> nd.NDArray:
    """A picture as the network's input (1, 3, size, size)."""
    pixels = image.imresize(image.imread(str(path)), size, size).astype("float32") / 255
    return ((pixels - MEAN) / DEVIATION).transpose((2, 0, 1)).expand_dims(0)


def write(x: nd.NDArray, path: Path) -> None:
    """Writes such an input as a picture."""
    from PIL import Image

    pixels = (x[0].transpose((1, 2, 0)) * DEVIATION + MEAN).clip(0, 1) * 255
    Image.fromarray(pixels.astype("uint8").asnumpy()).save(path)


if __name__ == "__main__":
    main()

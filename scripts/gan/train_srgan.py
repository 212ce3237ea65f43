"""Trains SRGAN (Ledig et al., 2017): a generator of pictures of four times the size against a discriminator.

    python scripts/gan/train_srgan.py --dataroot pictures --fineSize 384 --num-gpus 1
    python scripts/gan/train_srgan.py --dataroot pictures --fineSize 64 --perceptual-weight 0 --n_epoch_init 10 \\
        --n_epoch 10

The first --n_epoch_init epochs teach the generator alone to come close to the pictures. The samples of every epoch are
drawn to --experiment: small pictures enlarged, what is made of them, and the pictures.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
from core import autograd, image, nd
from gluon.loss import SigmoidBinaryCrossEntropyLoss
from gluoncv.model_zoo import get_model
from scripts.common import parallel
from scripts.common.devices import add_count_argument, add_numbers_argument, contexts, spread
from scripts.common.flags import Parser
from scripts.common.means import Means
from scripts.common.program import program
from scripts.common.run import Run, add_run_arguments
from scripts.common.several import Networks, Trainers
from scripts.gan.options import add_gan_arguments
from scripts.gan.pictures import Folder, save_grid
from scripts.gan.srgan import SCALE, SRDiscriminator, SRGenerator

VGG_LAYERS = 28  # of VGG-19, up to the first convolution of the last group
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
AREA = 3  # interpolation


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = contexts(args)
    run = Run("gan", args, data={})
    pictures = Folder(args.dataroot, Crop(args.fineSize)).take(args.samples)
    batches = parallel.loader(pictures, args.batchSize, last_batch="rollover", num_workers=args.workers)
    generator, discriminator = SRGenerator(args.blocks, args.width), SRDiscriminator(args.width)
    trainers = {}
    for name, net in (("generator", generator), ("discriminator", discriminator)):
        net.initialize(mx.init.Normal(0.02), ctx=devices)
        optimizer = {"learning_rate": args.lr_init, "beta1": args.beta1}
        trainers[name] = parallel.trainer(args, net.collect_params(), "adam", optimizer)
    side = args.fineSize // SCALE
    discriminator(generator(nd.zeros((1, 3, side, side), ctx=devices[0])))  # checkpoints of the first epochs hold both
    losses = Losses(generator, discriminator, args, devices)

    for epoch in run.epochs(
        args.n_epoch_init + args.n_epoch,
        Networks(generator=generator, discriminator=discriminator),
        Trainers(**trainers),
    ):
        alone = epoch <= args.n_epoch_init
        late = epoch - args.n_epoch_init > args.n_epoch // 2
        for trainer in trainers.values():
            trainer.set_learning_rate(args.lr_init * (args.lr_decay if late else 1))
        means = Means(run, args.log_interval)
        for large, small in run.progress(batches, f"epoch {epoch}"):
            parts = list(zip(spread(large, devices), spread(small, devices), strict=True))
            row = {}
            if not alone:
                found = train_step(losses.discriminator, parts, trainers["discriminator"], len(large))
                row["discriminator_loss"] = found["loss"]
            wanted = losses.reconstruction if alone else losses.generator
            row |= train_step(wanted, parts, trainers["generator"], len(large))
            means.add(**row)
        run.epoch_done(epoch, means.row(), samples=len(pictures))
        large, small = large[:4], small[:4]
        enlarged = nd.repeat(nd.repeat(small, SCALE, axis=2), SCALE, axis=3)
        generated = generator(small.as_in_context(devices[0])).as_in_context(small.context)
        sheet = nd.concat(enlarged, generated, large, dim=0)
        parallel.on_first(save_grid, args.experiment / f"epoch_{epoch:04d}.png", sheet, columns=len(large))
    return run.finish("mse")


def train_step(losses, parts, trainer, count: int) -> dict[str, list]:
    """A step on the sums of `losses(large, small)` of each device, which come by name.

    "loss" is the one that counts.
    """
    with autograd.record():
        found = [losses(large, small) for large, small in parts]
    autograd.backward([own["loss"] for own in found])
    trainer.step(count)
    return {name: [own[name] for own in found] for name in found[0]}


class Losses:
    """The losses of both networks, each (B,)."""

    def __init__(self, generator, discriminator, args, devices):
        self._generator, self._discriminator = generator, discriminator
        self._binary = SigmoidBinaryCrossEntropyLoss()
        self._adversarial, self._perceptual = args.adversarial_weight, args.perceptual_weight
        self._features = None
        if self._perceptual:
            features = get_model("vgg19", pretrained=args.vgg_params or True, ctx=devices).features
            self._features = features[:VGG_LAYERS]
            self._features.collect_params().setattr("grad_req", "null")

    def reconstruction(self, large, small):
        """The mean squared error."""
        error = _squared(self._generator(small), large)
        return {"loss": error, "mse": error}

    def discriminator(self, large, small):
        """The cross-entropy of telling real pictures from generated ones."""
        real, fake = self._discriminator(large), self._discriminator(self._generator(small).detach())
        return {"loss": self._binary(real, nd.ones_like(real)) + self._binary(fake, nd.zeros_like(fake))}

    def generator(self, large, small):
        """The squared error, that of VGG's features, and the adversarial loss."""
        fake = self._generator(small)
        score = self._discriminator(fake)
        error = _squared(fake, large)
        loss = error + self._adversarial * self._binary(score, nd.ones_like(score))
        if self._features is not None:
            loss = loss + self._perceptual * _squared(self._features(_shifted(fake)), self._features(_shifted(large)))
        return {"loss": loss, "mse": error}


def _squared(a, b):
    return nd.mean(nd.square(a - b), axis=0, exclude=True)


def _shifted(pictures):
    """Pictures between -1 and 1 as VGG takes them."""
    mean, deviation = (nd.array(v, ctx=pictures.context).reshape((1, 3, 1, 1)) for v in (MEAN, DEVIATION))
    return ((pictures + 1) / 2 - mean) / deviation


class Crop:
    """(a random square of `size` pixels (3, size, size), the same of a quarter of the sides), both between -1 and 1."""

    def __init__(self, size: int):
        self._size = size

    def __call__(self, picture):
        height, width = picture.shape[:2]
        if min(height, width) < self._size:
            picture = image.resize_short(picture, self._size)
            height, width = picture.shape[:2]
        y, x = (np.random.randint(extent - self._size + 1) for extent in (height, width))
        large = picture[y : y + self._size, x : x + self._size]
        small = image.imresize(large, self._size // SCALE, self._size // SCALE, interp=AREA)
        return tuple(nd.transpose(part.astype("float32"), (2, 0, 1)) / 127.5 - 1 for part in (large, small))


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_gan_arguments(parser, batch_size=16, beta1=0.9)
    add = parser.add_argument
    add("--samples", type=int, help="use only the first so many pictures")
    add("--fineSize", type=int, default=384, help="sides of the crops, a multiple of 4 (default: %(default)s)")
    add("--n_epoch_init", type=int, default=100, help="epochs of the generator alone (default: %(default)s)")
    add("--n_epoch", type=int, default=20000, help="epochs of both networks (default: %(default)s)")
    add("--lr_init", type=float, default=1e-4, help="learning rate (default: %(default)s)")
    add("--lr_decay", type=float, default=0.1, help="its factor in the second half of --n_epoch (default: %(default)s)")
    add("--blocks", type=int, default=16, help="residual blocks of the generator (default: %(default)s)")
    add("--width", type=int, default=64, help="channels of both networks (default: %(default)s)")
    add("--adversarial-weight", type=float, default=1e-3, help="weight of passing for real (default: %(default)s)")
    add("--perceptual-weight", type=float, default=0.006, help="weight of VGG's features, 0 for none (default: 0.006)")
    add("--vgg-params", help="file, folder or URL of weights of VGG-19 (default: the published ones)")
    add_count_argument(parser, "--num-gpus", "--ngpu")
    add_numbers_argument(parser, "--gpu_ids")
    add_run_arguments(parser, "srgan")
    args = parser.parse_args(argv)
    if args.fineSize % SCALE or args.fineSize < 64:
        parser.error(f"--fineSize is a multiple of {SCALE} from 64 on, given {args.fineSize}")
    return args


if __name__ == "__main__":
    main()

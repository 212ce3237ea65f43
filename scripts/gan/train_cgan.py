"""Trains CycleGAN (Zhu et al., 2017): two generators that turn pictures of kind A into kind B and back, without pairs.

    python scripts/gan/train_cgan.py --dataroot horse2zebra --gpu_ids 0

The folder holds folders trainA and trainB with pictures. After every epoch a few of both kinds, turned and turned back,
are drawn to --experiment. The pool of earlier generated pictures, which the discriminators see too, begins empty in
every epoch, so that a resumed run repeats.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from core import autograd, nd
from gluon.data import Dataset
from gluon.data.vision import transforms
from gluon.loss import L1Loss, L2Loss
from gluoncv.utils import LRScheduler, LRSequential
from scripts.common import parallel
from scripts.common.devices import own_gpus
from scripts.common.flags import Parser
from scripts.common.means import Means
from scripts.common.program import program
from scripts.common.run import Run, add_run_arguments
from scripts.common.several import Networks, Trainers
from scripts.gan.cycle_gan import GENERATORS, discriminator, generator
from scripts.gan.options import add_gan_arguments
from scripts.gan.pictures import Folder, save_grid


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    device = mx.gpu(*own_gpus([int(args.gpu_ids)])) if args.gpu_ids else mx.cpu()
    run = Run("gan", args, data={})
    pictures = Unpaired(*(Folder(args.dataroot / f"train{kind}", augmentation(args)) for kind in "AB"))
    batches = parallel.loader(pictures, args.batchSize, last_batch="discard", num_workers=args.workers)
    layers = args.n_layers_D if args.which_model_netD == "n_layers" else 3
    generators = {
        f"to_{kind}": generator(args.which_model_netG, args.output_nc, args.ngf, not args.no_dropout) for kind in "BA"
    }
    discriminators = {f"discriminator_{kind}": discriminator(args.ndf, layers) for kind in "AB"}
    nets = Networks(**generators, **discriminators)
    nets.initialize(mx.init.Normal(0.02), ctx=device)
    trainers = {}
    for name, members in (("generators", generators), ("discriminators", discriminators)):
        parameters = [p for net in members.values() for p in net.collect_params().values()]
        optimizer = {"beta1": args.beta1, "learning_rate": args.lr, "lr_scheduler": schedule(args, len(batches))}
        trainers[name] = parallel.trainer(args, parameters, "adam", optimizer)

    for epoch in run.epochs(args.niter + args.niter_decay, nets, Trainers(**trainers), first=args.epoch_count):
        means, pools = Means(run, args.log_interval), [Pool(args.pool_size) for _ in "AB"]
        for a, b in run.progress(batches, f"epoch {epoch}"):
            a, b = a.as_in_context(device), b.as_in_context(device)
            losses, fake_a, fake_b = train_generators(args, nets, a, b, trainers["generators"])
            found = train_discriminators(nets, a, b, pools[0](fake_a), pools[1](fake_b), trainers["discriminators"])
            means.add(**losses, discriminator_loss=found)
        run.epoch_done(epoch, means.row(), samples=len(pictures))
        shown = [a, nets.to_B(a), nets.to_A(nets.to_B(a)), b, nets.to_A(b), nets.to_B(nets.to_A(b))]
        sheet = nd.concat(*(x[:1] for x in shown), dim=0)
        parallel.on_first(save_grid, args.experiment / f"turned_{epoch:04d}.png", sheet, columns=3)
    return run.finish("cycle_loss", "generator_loss", "discriminator_loss")


def train_generators(args, nets, a, b, trainer):
    """A step of both generators: (losses, fake A, fake B)."""
    near, same = L2Loss(), L1Loss()
    with autograd.record():
        fake_b, fake_a = nets.to_B(a), nets.to_A(b)
        scores = [net(fake) for net, fake in ((nets.discriminator_B, fake_b), (nets.discriminator_A, fake_a))]
        fooled = sum(near(score, nd.ones_like(score)) * 2 for score in scores)  # L2Loss has a half
        cycle = args.lambda_A * same(nets.to_A(fake_b), a) + args.lambda_B * same(nets.to_B(fake_a), b)
        total = fooled + cycle
        if args.lambda_idt > 0:
            kept = args.lambda_B * same(nets.to_B(b), b) + args.lambda_A * same(nets.to_A(a), a)
            total = total + args.lambda_idt * kept
    total.backward()
    trainer.step(a.shape[0])
    return {"generator_loss": fooled, "cycle_loss": cycle}, fake_a.detach(), fake_b.detach()


def train_discriminators(nets, a, b, fake_a, fake_b, trainer) -> nd.NDArray:
    """A step of both discriminators; their loss."""
    near = L2Loss()
    with autograd.record():
        loss = 0
        for net, real, fake in ((nets.discriminator_A, a, fake_a), (nets.discriminator_B, b, fake_b)):
            yes, no = net(real), net(fake)
            loss = loss + near(yes, nd.ones_like(yes)) + near(no, nd.zeros_like(no))
    loss.backward()
    trainer.step(a.shape[0])
    return loss


def schedule(args, updates: int) -> LRSequential:
    """A constant rate for --niter epochs, then a straight line to zero."""
    return LRSequential(
        [
            LRScheduler("constant", args.lr, nepochs=args.niter, iters_per_epoch=updates),
            LRScheduler("linear", args.lr, 0, nepochs=args.niter_decay, iters_per_epoch=updates),
        ]
    )


class Pool:
    """Earlier generated pictures, of which every other one takes the place of a new one (Shrivastava et al., 2017)."""

    def __init__(self, size: int):
        self._size, self._pictures = size, []

    def __call__(self, fake: nd.NDArray) -> nd.NDArray:
        if not self._size:
            return fake
        given = []
        for picture in fake:
            if len(self._pictures) < self._size:
                self._pictures.append(picture)
            elif random.random() > 0.5:
                place = random.randrange(self._size)
                picture, self._pictures[place] = self._pictures[place], picture
            given.append(picture)
        return nd.stack(*given)


class Unpaired(Dataset):
    """A picture of A, and a random one of B; as long as the longer of the two."""

    def __init__(self, a: Folder, b: Folder):
        self._a, self._b = a, b

    def __len__(self):
        return max(len(self._a), len(self._b))

    def __getitem__(self, index):
        return self._a[index % len(self._a)], self._b[random.randrange(len(self._b))]


def augmentation(args) -> transforms.Compose:
    """A random crop of --fineSize of the picture at --loadSize, mirrored, between -1 and 1."""
    return transforms.Compose(
        [
            transforms.Resize(args.loadSize),
            transforms.RandomCrop(args.fineSize),
            transforms.RandomFlipLeftRight(),
            transforms.ToTensor(),
            transforms.Normalize(0.5, 0.5),
        ]
    )


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_gan_arguments(parser, batch_size=1, beta1=0.5, pictures="folder with the folders trainA and trainB")
    add = parser.add_argument
    add("--loadSize", type=int, default=286, help="sides of pictures before the crop (default: %(default)s)")
    add("--fineSize", type=int, default=256, help="sides of the crop, a multiple of 4 (default: %(default)s)")
    add("--output_nc", type=int, default=3, help="channels of generated pictures (default: %(default)s)")
    add("--ngf", type=int, default=64, help="channels of the generators' outer maps (default: %(default)s)")
    add("--ndf", type=int, default=64, help="channels of the discriminators' first maps (default: %(default)s)")
    add("--which_model_netG", choices=GENERATORS, default="resnet_9blocks", help="generators (default: %(default)s)")
    add("--which_model_netD", choices=("basic", "n_layers"), default="basic", help="n_layers: see --n_layers_D")
    add("--n_layers_D", type=int, default=3, help="convolutions that halve the size (default: %(default)s)")
    add("--gpu_ids", default="", help="number of a GPU (default: none, the CPU)")
    add("--no_dropout", action=argparse.BooleanOptionalAction, default=True, help="no dropout in the generators")
    add("--epoch_count", type=int, default=1, help="number of the first epoch, after --resume PARAMS (default: 1)")
    add("--lambda_A", type=float, default=10.0, help="weight of A's cycle (default: %(default)s)")
    add("--lambda_B", type=float, default=10.0, help="weight of B's cycle (default: %(default)s)")
    add(
        "--lambda_idt",
        type=float,
        default=0.5,
        help="weight of leaving pictures as they are, over those (default: 0.5)",
    )
    add("--lr", type=float, default=2e-4, help="learning rate (default: %(default)s)")
    add("--pool_size", type=int, default=50, help="earlier generated pictures that are kept (default: %(default)s)")
    add("--niter", type=int, default=100, help="epochs at the full rate (default: %(default)s)")
    add("--niter_decay", type=int, default=100, help="epochs in which it falls to zero (default: %(default)s)")
    add_run_arguments(parser, "cycle_gan", seed=233)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()

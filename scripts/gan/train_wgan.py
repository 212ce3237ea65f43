"""Trains a Wasserstein GAN (Arjovsky et al., 2017): a generator of pictures against a critic with clipped weights.

    python scripts/gan/train_wgan.py --dataset cifar10 --dataroot ../shared/data/cifar10 --imageSize 32 --niter 25
    python scripts/gan/train_wgan.py --dataset folder --dataroot pictures --adam --cuda

Samples of the same noise are drawn after every epoch to --experiment, a grid of pictures.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from core import autograd, nd
from gluon import nn
from gluon.data.vision import CIFAR10, MNIST, transforms
from scripts.common import parallel
from scripts.common.devices import own_gpus
from scripts.common.flags import Parser
from scripts.common.means import Means
from scripts.common.program import program
from scripts.common.run import Run, add_run_arguments
from scripts.common.several import Networks, Trainers
from scripts.gan.options import add_gan_arguments
from scripts.gan.pictures import Folder, save_grid


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    device = mx.gpu(*own_gpus([0])) if args.cuda and args.ngpu else mx.cpu()
    run = Run("gan", args, data={})
    pictures = data_set(args)
    batches = parallel.loader(pictures, args.batchSize, last_batch="discard", num_workers=args.workers)
    generator, critic = make_generator(args), make_critic(args)
    for net, weights in ((generator, args.netG), (critic, args.netD)):
        net.initialize(mx.init.Normal(0.02), ctx=device)
        if weights:
            net.load_parameters(weights, ctx=device)
    trainers = {}
    for name, net, lr in (("generator", generator, args.lrG), ("critic", critic, args.lrD)):
        how = ("adam", {"learning_rate": lr, "beta1": args.beta1}) if args.adam else ("rmsprop", {"learning_rate": lr})
        trainers[name] = parallel.trainer(args, net.collect_params(), *how)
    shown = nd.random.normal(shape=(args.batchSize, args.nz, 1, 1), ctx=device)

    for epoch in run.epochs(args.niter, Networks(generator=generator, critic=critic), Trainers(**trainers)):
        means = Means(run, args.log_interval)
        stream = iter(run.progress(batches, f"epoch {epoch}"))
        while taken := list(itertools.islice(stream, critic_steps(trainers["generator"], args.Diters))):
            for real in taken:
                distance = train_critic(args, critic, generator, real.as_in_context(device), trainers["critic"])
            score = train_generator(args, critic, generator, device, trainers["generator"])
            means.add(distance=distance, generator_loss=score)
        run.epoch_done(epoch, means.row(), samples=len(pictures))
        parallel.on_first(save_grid, args.experiment / f"fake_samples_{epoch:04d}.png", generator(shown))
    return run.finish("distance", "generator_loss")


def critic_steps(trainer, usual: int) -> int:
    """Batches for the critic before the generator's next step: many for its first 25, and for every 500th."""
    done = trainer.optimizer.num_update
    return 100 if done < 25 or done % 500 == 0 else usual


def train_critic(args, critic, generator, real, trainer) -> nd.NDArray:
    """A step of the critic; the estimate of Wasserstein's distance between real and generated pictures."""
    fake = generator(nd.random.normal(shape=(real.shape[0], args.nz, 1, 1), ctx=real.context)).detach()
    with autograd.record():
        distance = critic(real).mean() - critic(fake).mean()
        loss = -distance
    loss.backward()
    trainer.step(1)
    for parameter in critic.collect_params().values():
        if parameter.grad_req != "null":
            parameter.set_data(nd.clip(parameter.data(), args.clamp_lower, args.clamp_upper))
    return distance


def train_generator(args, critic, generator, device, trainer) -> nd.NDArray:
    """A step of the generator; its loss."""
    noise = nd.random.normal(shape=(args.batchSize, args.nz, 1, 1), ctx=device)
    with autograd.record():
        loss = -critic(generator(noise)).mean()
    loss.backward()
    trainer.step(1)
    return loss


# ---------------------------------------------------------------------------------------------- networks


def make_generator(args) -> nn.HybridSequential:
    """Noise (B, nz, 1, 1) to pictures (B, nc, imageSize, imageSize) between -1 and 1 (Radford et al., 2016)."""
    net = nn.HybridSequential()
    if args.mlp_G:
        for _ in range(3):
            net.add(nn.Dense(args.ngf, activation="relu"))
        net.add(nn.Dense(args.nc * args.imageSize**2))
        net.add(nn.HybridLambda(lambda F, x: F.reshape(x, (-1, args.nc, args.imageSize, args.imageSize))))
        return net
    width = args.ngf * args.imageSize // 8
    net.add(nn.Conv2DTranspose(width, 4, 1, 0, use_bias=False), *normal(args), nn.Activation("relu"))
    for _ in doublings(args.imageSize):
        width //= 2
        net.add(nn.Conv2DTranspose(width, 4, 2, 1, use_bias=False), *normal(args), nn.Activation("relu"))
    for _ in range(args.n_extra_layers):
        net.add(nn.Conv2D(width, 3, 1, 1, use_bias=False), *normal(args), nn.Activation("relu"))
    net.add(nn.Conv2DTranspose(args.nc, 4, 2, 1, use_bias=False), nn.Activation("tanh"))
    return net


def make_critic(args) -> nn.HybridSequential:
    """Pictures to one number each, (B, 1): larger for real ones."""
    net = nn.HybridSequential()
    if args.mlp_D:
        net.add(nn.Flatten(), *[nn.Dense(args.ndf, activation="relu") for _ in range(3)], nn.Dense(1))
        return net
    width = args.ndf
    net.add(nn.Conv2D(width, 4, 2, 1, use_bias=False), nn.LeakyReLU(0.2))
    for _ in range(args.n_extra_layers):
        net.add(nn.Conv2D(width, 3, 1, 1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.2))
    for _ in doublings(args.imageSize):
        width *= 2
        net.add(nn.Conv2D(width, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.2))
    net.add(nn.Conv2D(1, 4, 1, 0, use_bias=False), nn.Flatten())
    return net


def normal(args) -> list:
    return [] if args.noBN else [nn.BatchNorm()]


def doublings(size: int) -> list[int]:
    """Sizes of maps between 4 and half of `size`, from 8 on."""
    return [2**k for k in range(3, size.bit_length() - 1)]


# ---------------------------------------------------------------------------------------------- pictures


def data_set(args):
    """Pictures (nc, imageSize, imageSize) between -1 and 1."""
    steps = transforms.Compose(
        [
            transforms.Resize(args.imageSize, keep_ratio=True),
            transforms.CenterCrop(args.imageSize),
            transforms.ToTensor(),
            transforms.Normalize(0.5, 0.5),
        ]
    )
    if args.dataset == "folder":
        found = Folder(args.dataroot, steps)
    else:
        kind = {"cifar10": CIFAR10, "mnist": MNIST}[args.dataset]
        found = kind(str(args.dataroot), train=True).transform(lambda picture, _: steps(picture))
    return found.take(args.samples)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add_gan_arguments(parser, batch_size=64, beta1=0.5, pictures="folder of the data set")
    add("--dataset", choices=("cifar10", "mnist", "folder"), required=True, help="data set")
    add("--samples", type=int, help="use only the first so many pictures")
    add(
        "--imageSize",
        type=int,
        default=64,
        help="sides of the pictures, a power of 2 from 16 on (default: %(default)s)",
    )
    add("--nc", type=int, default=3, help="channels of the pictures (default: %(default)s)")
    add("--nz", type=int, default=100, help="length of the noise (default: %(default)s)")
    add("--ngf", type=int, default=64, help="channels of the generator's last maps (default: %(default)s)")
    add("--ndf", type=int, default=64, help="channels of the critic's first maps (default: %(default)s)")
    add("--niter", type=int, default=25, help="passes over the data (default: %(default)s)")
    add("--lrD", type=float, default=5e-5, help="learning rate of the critic (default: %(default)s)")
    add("--lrG", type=float, default=5e-5, help="learning rate of the generator (default: %(default)s)")
    add("--adam", action="store_true", help="Adam in place of RMSProp")
    add("--cuda", action="store_true", help="train on the first GPU")
    add("--ngpu", type=int, choices=(0, 1), default=1, help="GPUs for --cuda: one at most (default: %(default)s)")
    add("--netG", help="file of weights of the generator to begin with")
    add("--netD", help="file of weights of the critic to begin with")
    add("--clamp_lower", type=float, default=-0.01, help="least weight of the critic (default: %(default)s)")
    add("--clamp_upper", type=float, default=0.01, help="greatest weight of the critic (default: %(default)s)")
    add("--Diters", type=int, default=5, help="steps of the critic for one of the generator (default: %(default)s)")
    add("--noBN", action="store_true", help="no batch normalisation in the generator")
    add("--mlp_G", action="store_true", help="a generator of dense layers")
    add("--mlp_D", action="store_true", help="a critic of dense layers")
    add("--n_extra_layers", type=int, default=0, help="further convolutions in both (default: %(default)s)")
    add_run_arguments(parser, "wgan")
    args = parser.parse_args(argv)
    if args.imageSize < 16 or args.imageSize & (args.imageSize - 1):
        parser.error(f"--imageSize is a power of 2 from 16 on, given {args.imageSize}")
    return args


if __name__ == "__main__":
    main()

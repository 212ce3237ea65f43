"""Trains StyleGAN (Karras et al., 2019): pictures that grow from --init_size to --max_size pixels.

    python scripts/gan/stylegan/prepare_data.py --path pictures --out sizes
    python scripts/gan/stylegan/train.py --path sizes --mixing --sched --gpu_ids 0

A size fades in over --phase pictures and is trained for as many more; it ends with the pass over the data in which that
is reached. --path is what prepare_data.py made, or a folder of pictures. Samples of the same noise are drawn after every
epoch to --out.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import core as mx
from core import autograd, nd
from gluon.data.vision import transforms
from scripts.common import parallel
from scripts.common.devices import own_gpus, spread
from scripts.common.flags import Parser
from scripts.common.means import Means
from scripts.common.program import program
from scripts.common.run import Run, add_run_arguments
from scripts.common.several import Networks, Trainers
from scripts.gan.pictures import Folder, save_grid
from scripts.gan.stylegan import model

PENALTY = {"wgan-gp": 10.0, "r1": 5.0}
# With --sched: learning rates and pictures in a batch, by size.
RATES = {128: 0.0015, 256: 0.002, 512: 0.003, 1024: 0.003}
BATCHES = {4: 512, 8: 256, 16: 128, 32: 64, 64: 32, 128: 32, 256: 32}
MIXED = 0.9  # share of batches with two styles
DECAY = 0.999  # of the mean generator


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    devices = [mx.gpu(number) for number in own_gpus(args.gpu_ids)] or [mx.cpu()]
    run = Run("gan", args, data={})
    widths = [min(width, args.channels) for width in model.WIDTHS[: stage(args.max_size) + 1]]
    generator, mean = (model.StyledGenerator(args.code, widths=widths) for _ in range(2))
    discriminator = model.Discriminator(not args.no_from_rgb_activate, widths)
    nets = {"generator": generator, "discriminator": discriminator, "g_running": mean}
    for net, weights in zip(nets.values(), (args.ckpt_g, args.ckpt_d, args.ckpt_g_running), strict=True):
        net.initialize(ctx=devices)
        if weights:
            net.load_parameters(weights, ctx=devices, ignore_extra=True)
    for parameter in generator.style.collect_params().values():
        parameter.lr_mult = 0.01
    mean.collect_params().setattr("grad_req", "null")
    if not args.ckpt_g_running:
        follow(mean, generator, 0)
    trainers = {
        name: parallel.trainer(
            args, nets[name].collect_params(), "adam", {"learning_rate": args.lr_default, "beta1": 0.0, "beta2": 0.99}
        )
        for name in ("generator", "discriminator")
    }
    shown = nd.random.normal(shape=(16, args.code), ctx=devices[0])

    for epoch in run.epochs(args.num_epochs, Networks(**nets), Trainers(**trainers)):
        means, seen = Means(run, args.log_interval), 0
        step, used, first = growth(args, epoch)
        size = model.sizes(widths)[step]
        batch_size = BATCHES.get(size, 32) if args.sched else args.batch_size
        for trainer in trainers.values():
            trainer.set_learning_rate(RATES.get(size, args.lr_default) if args.sched else args.lr_default)
        pictures = data_set(args.path, size)
        batches = parallel.loader(pictures, batch_size, last_batch="discard")
        if not len(batches):
            raise SystemExit(f"{args.path} has {len(pictures)} pictures, fewer than a batch of {batch_size}")
        alpha = 1.0
        for data in run.progress(batches, f"epoch {epoch}, size {size}"):
            alpha = 1.0 if first else min(1.0, (used + seen + 1) / args.phase)
            real = spread(data, devices)
            noises = [[nd.random.normal(shape=(len(x), args.code), ctx=x.context) for x in real] for _ in range(4)]
            mixed = args.mixing and step > 0 and random.random() < MIXED
            crossover = random.randrange(1, step + 1) if mixed else 0
            pairs = [list(zip(a, b if mixed else [None] * len(b), strict=True)) for a, b in (noises[:2], noises[2:])]
            losses = train_discriminator(args, nets, trainers, real, pairs[0], crossover, step, alpha)
            score = train_generator(nets, trainers, pairs[1], crossover, step, alpha, len(data))
            follow(mean, generator, DECAY)
            means.add(discriminator_loss=losses, generator_loss=score)
            seen += len(data)
        run.epoch_done(epoch, means.row() | {"size": size, "alpha": alpha}, samples=seen)
        parallel.on_first(save_grid, args.out / f"{epoch:06d}.png", mean(shown, step, alpha))
    for name, net in nets.items():
        args.ckpt_dir.mkdir(parents=True, exist_ok=True)
        parallel.on_first(net.save_parameters, str(args.ckpt_dir / f"{name}.params"))
    return run.finish("discriminator_loss", "generator_loss", "size")


def stage(size: int) -> int:
    """The number of the stage whose pictures have so many pixels."""
    return int(math.log2(size)) - 2


def growth(args, epoch: int) -> tuple[int, int, bool]:
    """(stage of an epoch, pictures that it has had before, whether it has nothing to fade in from)."""
    count = len(data_set(args.path, args.init_size))
    first, last = stage(args.init_size), stage(args.max_size)
    step, used = first, 0
    for _ in range(1, epoch):
        used += count
        if used > 2 * args.phase and step < last:
            step, used = step + 1, 0
    return step, used, step == first and not args.ckpt_g


def train_discriminator(args, nets, trainers, real, noise, crossover, step, alpha) -> list[nd.NDArray]:
    """A step of the discriminator; its loss on each device, without the penalty."""
    discriminator, losses, shown = nets["discriminator"], [], []
    share = 1 / sum(len(x) for x in real)
    for x, (first, second) in zip(real, noise, strict=True):
        fake = nets["generator"](first, step, alpha, second, crossover).detach()
        with autograd.record():
            loss, penalty = adversarial(args.loss, discriminator, x, fake, step, alpha)
            losses.append((loss + PENALTY[args.loss] * penalty).sum() * share)
        shown.append(loss)
    autograd.backward(losses)
    trainers["discriminator"].step(1, ignore_stale_grad=True)
    return shown


def adversarial(kind, discriminator, real, fake, step, alpha) -> tuple[nd.NDArray, nd.NDArray]:
    """(loss (B,), penalty (B,)) of a discriminator.

    wgan-gp: gradients between real and generated pictures are to have length 1 (Gulrajani et al., 2017). r1: the
    logistic loss, and gradients at real pictures are to vanish (Mescheder et al., 2018).
    """
    scores = [discriminator(x, step, alpha).reshape((-1,)) for x in (real, fake)]
    if kind == "wgan-gp":
        shares = nd.random.uniform(shape=(len(real), 1, 1, 1), ctx=real.context)
        between = nd.broadcast_mul(real, shares) + nd.broadcast_mul(fake, 1 - shares)
        lengths = nd.sqrt(_squares(discriminator, between, step, alpha) + 1e-12)
        return scores[1] - scores[0], (lengths - 1) ** 2
    loss = nd.Activation(scores[1], act_type="softrelu") + nd.Activation(-scores[0], act_type="softrelu")
    return loss, _squares(discriminator, real, step, alpha)


def _squares(discriminator, x, step, alpha) -> nd.NDArray:
    """The squared lengths (B,) of the gradients of the discriminator at pictures, to be differentiated again."""
    x = x.detach()
    x.attach_grad()
    score = discriminator(x, step, alpha).sum()
    (gradient,) = autograd.grad(score, [x], create_graph=True, retain_graph=True)
    return (gradient**2).sum(axis=(1, 2, 3))


def train_generator(nets, trainers, noise, crossover, step, alpha, count: int) -> list[nd.NDArray]:
    """A step of the generator; its loss on each device."""
    losses = []
    with autograd.record():
        for first, second in noise:
            fake = nets["generator"](first, step, alpha, second, crossover)
            losses.append(-nets["discriminator"](fake, step, alpha).sum() / count)
    autograd.backward(losses)
    trainers["generator"].step(1, ignore_stale_grad=True)
    return losses


def follow(mean, net, decay: float) -> None:
    """Moves the parameters of `mean` towards those of `net`."""
    theirs = net._collect_params_with_prefix()
    for name, parameter in mean._collect_params_with_prefix().items():
        parameter.set_data(
            decay * parameter.data() + (1 - decay) * theirs[name].data().as_in_context(parameter.data().context)
        )


def data_set(path: Path, size: int) -> Folder:
    """Pictures (3, size, size) between -1 and 1, half of them mirrored."""
    prepared = path / str(size)
    steps = [] if prepared.is_dir() else [transforms.Resize(size, keep_ratio=True), transforms.CenterCrop(size)]
    return Folder(
        prepared if prepared.is_dir() else path,
        transforms.Compose(
            [*steps, transforms.RandomFlipLeftRight(), transforms.ToTensor(), transforms.Normalize(0.5, 0.5)]
        ),
    )


def gpus(text: str) -> list[int]:
    """Numbers with commas between; none for -1."""
    return [int(part) for part in text.split(",") if part.strip() and int(part) >= 0]


def power_of_two(text: str) -> int:
    size = int(text)
    if size < 8 or size & (size - 1) or size > 1024:
        raise argparse.ArgumentTypeError(f"a power of 2 from 8 to 1024, given {text}")
    return size


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--path", type=Path, required=True, help="what prepare_data.py made, or a folder of pictures")
    add("--phase", type=int, default=500_000, help="pictures that a size fades in over (default: %(default)s)")
    add("--lr_default", type=float, default=0.0005, help="learning rate (default: %(default)s)")
    add("--sched", action="store_true", help="learning rates and batches that depend on the size")
    add("--init_size", type=power_of_two, default=8, help="first size in pixels (default: %(default)s)")
    add("--max_size", type=power_of_two, default=1024, help="last size in pixels (default: %(default)s)")
    add("--ckpt_g", help="file of weights of the generator to begin with")
    add("--ckpt_d", help="file of weights of the discriminator to begin with")
    add("--ckpt_g_running", help="file of weights of the mean generator to begin with")
    add("--no_from_rgb_activate", action="store_true", help="no activation where colours become maps")
    add("--mixing", action="store_true", help="most pictures have two styles, of coarse and of fine maps")
    add("--loss", choices=tuple(PENALTY), default="wgan-gp", help="loss and penalty (default: %(default)s)")
    add("--gpu_ids", type=gpus, default="-1", help="GPUs with commas between, -1 for the CPU (default: %(default)s)")
    add("--batch-size", type=int, default=16, help="pictures in a batch, without --sched (default: %(default)s)")
    add("--out", type=Path, default=Path("sample"), help="folder of the drawn samples (default: %(default)s)")
    add(
        "--ckpt_dir",
        type=Path,
        default=Path("checkpoint"),
        help="folder of the weights at the end (default: %(default)s)",
    )
    add("--num-epochs", type=int, default=100, help="passes over the data (default: %(default)s)")
    add("--code", type=int, default=model.CODE, help="length of noise and styles (default: %(default)s)")
    add("--channels", type=int, default=512, help="most channels of a map, fewer for trials (default: %(default)s)")
    add("--log-interval", type=int, default=0, metavar="N", help="batches between lines in the log (default: none)")
    add_run_arguments(parser, "stylegan")
    args = parser.parse_args(argv)
    if args.init_size > args.max_size:
        parser.error(f"--init_size is --max_size at most, given {args.init_size} and {args.max_size}")
    return args


if __name__ == "__main__":
    main()

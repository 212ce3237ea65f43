"""`gluon bench`: how long a network takes here."""

from __future__ import annotations

import statistics
import time
from argparse import Namespace

from gluon_cli.answer import Answer
from gluon_cli.zoo import vision_network


def add(command) -> None:
    """Enters the command."""
    bench = command(
        "bench", help="time a network on this machine",
        description="Times a hybridized network with random weights: the median of some runs, in milliseconds.",
    )  # fmt: skip
    bench.add_argument("name", help="name of a network for pictures")
    bench.add_argument("--batch", type=int, default=1, help="pictures at once (default: %(default)s)")
    bench.add_argument("--size", type=int, help="sides of pictures (default: those of the network)")
    bench.add_argument("--runs", type=int, default=20, help="so many runs, after three (default: %(default)s)")
    bench.add_argument("--gpu", action="store_true", help="on the first GPU")
    bench.set_defaults(run=run)


def run(args: Namespace) -> Answer:
    """Milliseconds of a run, and pictures in a second."""
    import core as mx
    from gluoncv.model_zoo import get_model

    if args.batch < 1 or args.runs < 1:
        raise ValueError("--batch and --runs are at least 1")
    device = mx.gpu(0) if args.gpu else mx.cpu()
    net = get_model(vision_network(args.name), pretrained_base=False)
    prepared = net.card.preprocessing
    size = args.size or (getattr(prepared, "size", 0) or getattr(prepared, "resize", 0))
    if not size:
        raise ValueError(f"{args.name}, a network for {net.card.task}, needs --size")
    net.initialize(ctx=device)
    net.hybridize(static_alloc=True, static_shape=True)
    x = mx.nd.random.uniform(shape=(args.batch, 3, size, size), ctx=device)
    times = []
    for k in range(3 + args.runs):
        begin = time.perf_counter()
        net(x)
        mx.nd.waitall()
        times += [1000 * (time.perf_counter() - begin)] * (k >= 3)
    median = statistics.median(times)
    value = {
        "name": net.card.name, "device": str(device), "input": list(x.shape), "runs": args.runs,
        "median_ms": round(median, 3), "fastest_ms": round(min(times), 3),
        "pictures_per_second": round(1000 * args.batch / median, 1),
    }  # fmt: skip
    text = (
        f"{value['median_ms']} ms, at best {value['fastest_ms']} ms: {value['pictures_per_second']} pictures a second"
    )
    return Answer(value, text)
